//! A case that is planned: what it tests, before anything of it is written.

use crate::analysis::coverage::ArgumentClass;

/// A case to write.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedDraft {
    /// What no case tests yet and this one does.
    pub gap: PlannedGap,
    /// How the user writes.
    pub persona: UserPersona,
}

impl PlannedDraft {
    /// The gap on one line, see [`PlannedGap::describe`].
    pub fn describe(&self) -> String {
        self.gap.describe()
    }
}

/// What no case tests.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedGap {
    /// A call of this tool.
    Tool(String),
    /// A call with a value of a class.
    Argument {
        /// The tool.
        tool: String,
        /// The argument; inside an object with its name: `address.city`.
        argument: String,
        /// The class.
        class: ArgumentClass,
    },
    /// A call of a tool directly after one of another tool.
    Pair {
        /// The first tool.
        first: String,
        /// The second tool.
        second: String,
    },
    /// A request without a required argument, so that the agent must ask for it.
    MissingArgument {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
    /// The n-th request that needs no tool of the agent, from 1.
    OutOfScope(usize),
    /// A request that the user makes again with another value of an argument.
    ChangeOfMind {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
    /// A transfer to this agent.
    Transfer(String),
}

impl PlannedGap {
    /// The name of the kind in options and files.
    pub fn name(&self) -> &'static str {
        match self {
            PlannedGap::Tool(_) => "tool",
            PlannedGap::Argument { .. } => "argument",
            PlannedGap::Pair { .. } => "pair",
            PlannedGap::MissingArgument { .. } => "missing_argument",
            PlannedGap::OutOfScope(_) => "out_of_scope",
            PlannedGap::ChangeOfMind { .. } => "change_of_mind",
            PlannedGap::Transfer(_) => "transfer",
        }
    }

    /// The gap on one line. The same gap is always described by the same words, and another one by others.
    pub fn describe(&self) -> String {
        match self {
            PlannedGap::Tool(tool) => format!("tool {tool}"),
            PlannedGap::Argument {
                tool,
                argument,
                class,
            } => format!("{tool}.{argument}: {}", class.label()),
            PlannedGap::Pair { first, second } => format!("{first} then {second}"),
            PlannedGap::MissingArgument { tool, argument } => format!("{tool} without {argument}"),
            PlannedGap::OutOfScope(number) => format!("out of scope {number}"),
            PlannedGap::ChangeOfMind { tool, argument } => {
                format!("{tool}, then another {argument}")
            }
            PlannedGap::Transfer(agent) => format!("transfer to {agent}"),
        }
    }

    /// The tools that it is about.
    pub fn tools(&self) -> Vec<&str> {
        match self {
            PlannedGap::Tool(tool)
            | PlannedGap::Argument { tool, .. }
            | PlannedGap::MissingArgument { tool, .. }
            | PlannedGap::ChangeOfMind { tool, .. } => vec![tool],
            PlannedGap::Pair { first, second } => vec![first, second],
            PlannedGap::OutOfScope(_) | PlannedGap::Transfer(_) => Vec::new(),
        }
    }

    /// The argument that it is about, if there is one.
    pub fn argument(&self) -> Option<&str> {
        match self {
            PlannedGap::Argument { argument, .. }
            | PlannedGap::MissingArgument { argument, .. }
            | PlannedGap::ChangeOfMind { argument, .. } => Some(argument),
            PlannedGap::Tool(_)
            | PlannedGap::Pair { .. }
            | PlannedGap::OutOfScope(_)
            | PlannedGap::Transfer(_) => None,
        }
    }

    /// The agent that it is about, if there is one.
    pub fn agent(&self) -> Option<&str> {
        match self {
            PlannedGap::Transfer(agent) => Some(agent),
            _ => None,
        }
    }

    /// The argument that the user does not mention, if there is one.
    pub fn argument_left_out(&self) -> Option<&str> {
        match self {
            PlannedGap::MissingArgument { argument, .. }
            | PlannedGap::Argument {
                argument,
                class: ArgumentClass::Absent,
                ..
            } => Some(argument),
            _ => None,
        }
    }
}

/// How a user writes. The names are those of ADK's personas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserPersona {
    /// Knows the subject.
    Expert,
    /// Knows little of it.
    Novice,
    /// Tests the agent.
    Evaluator,
}

impl UserPersona {
    /// All of them.
    pub const ALL: [UserPersona; 3] = [
        UserPersona::Expert,
        UserPersona::Novice,
        UserPersona::Evaluator,
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            UserPersona::Expert => "EXPERT",
            UserPersona::Novice => "NOVICE",
            UserPersona::Evaluator => "EVALUATOR",
        }
    }

    /// The persona in a sentence, for a prompt.
    pub fn description(self) -> &'static str {
        match self {
            UserPersona::Expert => {
                "Knows the subject well, writes in a professional tone, and says exactly what is wanted in few words."
            }
            UserPersona::Novice => {
                "Knows little of the subject, and writes in everyday words as in a conversation."
            }
            UserPersona::Evaluator => {
                "Tests the agent: writes as in a conversation, and gives all details at once."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::gap_of_each_kind;
    use super::*;
    use serde_json::json;

    #[test]
    fn each_gap_has_its_own_line() {
        let gaps = gap_of_each_kind();
        let of_class = PlannedGap::Argument {
            tool: "water".into(),
            argument: "litres".into(),
            class: ArgumentClass::Is(json!(1)),
        };
        assert_eq!(
            (of_class.describe().as_str(), of_class.name()),
            ("water.litres: 1", gaps[1].name())
        );
        assert_eq!(
            gaps.each_ref().map(PlannedGap::describe),
            [
                "tool water",
                "water.litres: absent",
                "look then water",
                "water without bed",
                "out of scope 2",
                "water, then another bed",
                "transfer to roses_agent",
            ]
        );
        let left_out: Vec<&str> = gaps
            .iter()
            .filter_map(PlannedGap::argument_left_out)
            .collect();
        assert_eq!(left_out, ["litres", "bed"]);
        let names: std::collections::BTreeSet<&str> = gaps.iter().map(PlannedGap::name).collect();
        assert_eq!(names.len(), gaps.len());
    }

    #[test]
    fn personas_have_the_names_of_adk() {
        let names = UserPersona::ALL.map(UserPersona::name);
        assert_eq!(names, ["EXPERT", "NOVICE", "EVALUATOR"]);
        assert!(
            UserPersona::ALL
                .iter()
                .all(|one| one.description().ends_with('.'))
        );
    }
}
