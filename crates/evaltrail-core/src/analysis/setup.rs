//! What agents reported of themselves over the attempts of a run, and what differs between two runs.

use super::coverage::{Declarations, Parameter, ToolSchema};
use crate::domain::{DetailsSource, ReportedSetup};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of differing tools or instructions that are named.
const MAX_NAMED: usize = 4;
/// Maximum number of agents, models and tools of a run that are noted.
const MAX_NOTED: usize = 2_000;

/// What the agents of some attempts reported, by agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSetup(BTreeMap<String, AgentSetup>);

/// What an agent reported in some attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct AgentSetup {
    /// The number of attempts that report a version of its model.
    with_model: usize,
    /// The versions of its models, each with the number of attempts in which it responded.
    models: BTreeMap<String, usize>,
    /// The hash of its instruction; `None` if attempts have different ones.
    instruction: Option<Hashed>,
    /// The hash of the declaration of each of its tools.
    tools: BTreeMap<String, Hashed>,
    /// Who reported instructions and tools.
    sources: BTreeSet<DetailsSource>,
}

/// A hash of what attempts report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Hashed {
    /// It is the same in all attempts.
    Same(u64),
    /// It differs, because it contains values of the conversation.
    Varies,
}

impl Hashed {
    fn with(self, other: Hashed) -> Hashed {
        match self == other {
            true => self,
            false => Hashed::Varies,
        }
    }

    /// Whether both are the same in all attempts, and differ from each other.
    fn differs(self, other: Hashed) -> bool {
        self != other && self != Hashed::Varies && other != Hashed::Varies
    }
}

/// How what was reported differs between two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupChanges {
    /// The versions of models before and after that differ: "gemini-2.5-flash-001 → gemini-2.5-flash-002 in 100 of 100 attempts".
    pub models: Vec<String>,
    /// The agents with another instruction.
    pub instructions: Vec<String>,
    /// The tools with another declaration.
    pub changed_tools: Vec<String>,
    /// The tools that only the second run has.
    pub new_tools: Vec<String>,
    /// The tools that only the first run has.
    pub lost_tools: Vec<String>,
    /// What one of the runs does not report, so that it is not known whether it changed.
    pub not_reported: Vec<&'static str>,
}

impl RunSetup {
    /// Adds what an attempt reports.
    pub fn add(&mut self, setup: &ReportedSetup) {
        let mut with_model = BTreeSet::new();
        for (agent, model) in &setup.models {
            let Some(known) = self.agent(agent) else {
                continue;
            };
            known.with_model += usize::from(with_model.insert(agent));
            if known.models.len() < MAX_NOTED || known.models.contains_key(&**model) {
                *known.models.entry(model.to_string()).or_default() += 1;
            }
        }
        for (agent, hash) in &setup.instructions {
            if let Some(known) = self.agent(agent) {
                let hash = Hashed::Same(*hash);
                known.instruction = Some(known.instruction.map_or(hash, |one| one.with(hash)));
                known.sources.insert(setup.source);
            }
        }
        for ((agent, tool), hash) in &setup.tools {
            if let Some(known) = self.agent(agent) {
                add_hash(&mut known.tools, tool, Hashed::Same(*hash));
                known.sources.insert(setup.source);
            }
        }
    }

    /// What is known of an agent; `None` if there are too many.
    fn agent(&mut self, name: &str) -> Option<&mut AgentSetup> {
        match self.0.len() < MAX_NOTED || self.0.contains_key(name) {
            true => Some(self.0.entry(name.to_string()).or_default()),
            false => None,
        }
    }

    /// What differs in a later run, for the agents that both runs report: a sub-agent that was not called reports nothing. An
    /// instruction or a declaration that is not the same in all attempts of a run is not compared, and neither is what different
    /// sources report.
    pub fn changes_until(&self, later: &RunSetup) -> SetupChanges {
        let mut changes = SetupChanges::default();
        let mut known = [false; 3];
        for (name, before) in &self.0 {
            if let Some(after) = later.0.get(name) {
                let compared = before.compare(after, name, &mut changes);
                known
                    .iter_mut()
                    .zip(compared)
                    .for_each(|(all, one)| *all |= one);
            }
        }
        // Several agents may have the same model and the same tools.
        for names in [
            &mut changes.models,
            &mut changes.changed_tools,
            &mut changes.new_tools,
            &mut changes.lost_tools,
        ] {
            names.sort();
            names.dedup();
        }
        // A tool that another agent has now is neither new nor lost.
        let new = changes.new_tools.clone();
        changes
            .new_tools
            .retain(|tool| !changes.lost_tools.contains(tool));
        changes.lost_tools.retain(|tool| !new.contains(tool));
        let names = ["model version", "instruction", "tool declarations"];
        let unknown = names
            .into_iter()
            .zip(known)
            .filter(|(_, is_known)| !is_known);
        changes.not_reported = unknown.map(|(name, _)| name).collect();
        changes
    }
}

impl AgentSetup {
    /// Adds what differs in a later run. Returns whether models, instruction and tools are known of both.
    fn compare(&self, later: &AgentSetup, name: &str, changes: &mut SetupChanges) -> [bool; 3] {
        let has_models = !self.models.is_empty() && !later.models.is_empty();
        if has_models {
            changes.models.extend(self.model_change(later));
        }
        let is_comparable = self.sources == later.sources;
        let instructions = self.instruction.zip(later.instruction);
        let instructions = instructions.filter(|_| is_comparable);
        if instructions.is_some_and(|(before, after)| before.differs(after)) {
            changes.instructions.push(name.to_string());
        }
        let has_tools = is_comparable && !self.tools.is_empty() && !later.tools.is_empty();
        if has_tools {
            let differs = |(tool, hash): &(&String, &Hashed)| {
                later
                    .tools
                    .get(*tool)
                    .is_some_and(|other| hash.differs(*other))
            };
            let changed = self.tools.iter().filter(differs);
            changes
                .changed_tools
                .extend(changed.map(|(tool, _)| tool.clone()));
            changes.new_tools.extend(missing(&later.tools, &self.tools));
            changes
                .lost_tools
                .extend(missing(&self.tools, &later.tools));
        }
        [has_models, instructions.is_some(), has_tools]
    }

    fn model_change(&self, later: &AgentSetup) -> Option<String> {
        if self.models.keys().eq(later.models.keys()) {
            return None;
        }
        let names = |models: &BTreeMap<String, usize>| {
            models.keys().cloned().collect::<Vec<_>>().join(", ")
        };
        let new = later
            .models
            .iter()
            .filter(|(model, _)| !self.models.contains_key(*model));
        let most = new.map(|(_, count)| count).max();
        let share = most.map(|count| format!(" in {count} of {} attempts", later.with_model));
        Some(format!(
            "{} → {}{}",
            names(&self.models),
            names(&later.models),
            share.unwrap_or_default()
        ))
    }
}

fn add_hash(to: &mut BTreeMap<String, Hashed>, name: &str, hash: Hashed) {
    if let Some(known) = to.get_mut(name) {
        *known = known.with(hash);
    } else if to.len() < MAX_NOTED {
        to.insert(name.to_string(), hash);
    }
}

/// The names that the second lacks.
fn missing<'a>(
    one: &'a BTreeMap<String, Hashed>,
    other: &'a BTreeMap<String, Hashed>,
) -> impl Iterator<Item = String> + 'a {
    one.keys()
        .filter(|name| !other.contains_key(*name))
        .cloned()
}

impl SetupChanges {
    /// The changes, each in words.
    pub fn describe(&self) -> Vec<String> {
        let listed = |what: &str, names: &[String]| match names.len() {
            0 => None,
            count if count > MAX_NAMED => Some(format!(
                "{what} {}, … ({count})",
                names[..MAX_NAMED].join(", ")
            )),
            _ => Some(format!("{what} {}", names.join(", "))),
        };
        let models = self.models.iter().take(MAX_NAMED);
        let model = models.map(|text| format!("the model {text}"));
        let more = self.models.len().saturating_sub(MAX_NAMED);
        let more = (more > 0).then(|| format!("{more} more models"));
        let others = [
            listed("the instruction of", &self.instructions),
            listed("the declaration of", &self.changed_tools),
            listed("new tool", &self.new_tools),
            listed("without tool", &self.lost_tools),
        ];
        model
            .chain(more)
            .chain(others.into_iter().flatten())
            .collect()
    }

    /// Whether nothing is known to differ.
    pub fn is_empty(&self) -> bool {
        self.describe().is_empty()
    }
}

/// How the declaration of a tool differs, each difference in words: "party became required".
pub fn declaration_changes(before: &Declarations, after: &Declarations, tool: &str) -> Vec<String> {
    let schema = |declared: &Declarations| declared.tools.get(tool).cloned().flatten();
    let mut changes = match (schema(before), schema(after)) {
        (Some(before), Some(after)) => schema_changes(&before, &after),
        _ => Vec::new(),
    };
    if before.descriptions.get(tool) != after.descriptions.get(tool) {
        changes.push("the description".into());
    }
    changes
}

fn schema_changes(before: &ToolSchema, after: &ToolSchema) -> Vec<String> {
    let find = |schema: &ToolSchema, name: &str| {
        schema
            .parameters
            .iter()
            .find(|one| one.name == name)
            .cloned()
    };
    let mut changes = Vec::new();
    for parameter in &after.parameters {
        match find(before, &parameter.name) {
            None => {
                let required = if parameter.required { ", required" } else { "" };
                changes.push(format!("new argument {}{required}", parameter.name));
            }
            Some(known) => changes.extend(parameter_change(&known, parameter)),
        }
    }
    let lost = before
        .parameters
        .iter()
        .filter(|one| find(after, &one.name).is_none());
    changes.extend(lost.map(|one| format!("argument {} is gone", one.name)));
    changes
}

fn parameter_change(before: &Parameter, after: &Parameter) -> Option<String> {
    let name = &after.name;
    if before == after {
        return None;
    }
    Some(match (before.required, after.required) {
        (false, true) => format!("{name} became required"),
        (true, false) => format!("{name} became optional"),
        _ if before.kind != after.kind => format!("the type of {name}"),
        _ if before.values != after.values => format!("the allowed values of {name}"),
        _ if before.default != after.default => format!("the default of {name}"),
        _ if before.description != after.description => format!("the description of {name}"),
        _ => format!("the limits of {name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn setup(model: &str, instruction: u64, tools: &[(&str, u64)]) -> ReportedSetup {
        let models = [model].into_iter().filter(|model| !model.is_empty());
        ReportedSetup {
            models: models.map(|model| ("desk".into(), model.into())).collect(),
            instructions: [("desk".into(), instruction)].into(),
            tools: tools
                .iter()
                .map(|(name, hash)| (("desk".into(), (*name).into()), *hash))
                .collect(),
            source: DetailsSource::Description,
        }
    }

    fn run(attempts: &[ReportedSetup]) -> RunSetup {
        let mut run = RunSetup::default();
        attempts.iter().for_each(|one| run.add(one));
        run
    }

    #[test]
    fn only_what_changed_is_named() {
        let before = run(&[
            setup("m-1", 1, &[("book", 1)]),
            setup("m-1", 1, &[("book", 1)]),
        ]);
        let describe = |after: &RunSetup| before.changes_until(after).describe();
        assert_eq!(describe(&before), Vec::<String>::new());
        let model = run(&[
            setup("m-2", 1, &[("book", 1)]),
            setup("m-2", 1, &[("book", 1)]),
        ]);
        assert_eq!(describe(&model), ["the model m-1 → m-2 in 2 of 2 attempts"]);
        let tool = run(&[setup("m-1", 1, &[("book", 2), ("pay", 1)])]);
        assert_eq!(describe(&tool), ["the declaration of book", "new tool pay"]);
        let instruction = run(&[setup("m-1", 9, &[("book", 1)])]);
        assert_eq!(describe(&instruction), ["the instruction of desk"]);
    }

    #[test]
    fn unknown_is_not_unchanged() {
        let (before, without) = (run(&[setup("m-1", 1, &[])]), run(&[setup("", 1, &[])]));
        let changes = before.changes_until(&without);
        assert_eq!(changes.not_reported, ["model version", "tool declarations"]);
        assert!(changes.is_empty());
        let other_source = run(&[ReportedSetup {
            source: DetailsSource::Request,
            ..setup("m-1", 2, &[])
        }]);
        let changes = before.changes_until(&other_source);
        assert_eq!(changes.not_reported, ["instruction", "tool declarations"]);
    }

    #[test]
    fn instruction_with_state_is_not_compared() {
        let before = run(&[setup("m", 1, &[]), setup("m", 2, &[])]);
        let after = run(&[setup("m", 3, &[])]);
        assert!(before.changes_until(&after).is_empty());
    }

    #[test]
    fn declaration_changes_are_named() {
        let declared = |schema: serde_json::Value, about: &str| {
            let mut found = Declarations::default();
            found.add(
                &json!({"tools": [{"name": "book", "description": about, "parameters": schema}]}),
            );
            found
        };
        let schema = |required: &[&str], kind: &str| json!({"type": "object", "properties": {"party": {"type": kind}, "when": {"type": "string"}}, "required": required});
        let before = declared(schema(&["when"], "integer"), "books");
        let changes = |after: &Declarations| declaration_changes(&before, after, "book");
        assert_eq!(changes(&before), Vec::<String>::new());
        let after = declared(schema(&["when", "party"], "integer"), "books");
        assert_eq!(changes(&after), ["party became required"]);
        let after = declared(schema(&["when"], "string"), "books a table");
        assert_eq!(changes(&after), ["the type of party", "the description"]);
    }

    #[test]
    fn uncalled_sub_agents_did_not_change() {
        let pay = ReportedSetup {
            models: [("payer".into(), "m-9".into())].into(),
            instructions: [("payer".into(), 5)].into(),
            tools: [(("payer".into(), "pay".into()), 1)].into(),
            source: DetailsSource::Description,
        };
        let both = run(&[setup("m", 1, &[("book", 1)]), pay]);
        let one = run(&[setup("m", 1, &[("book", 1)])]);
        assert!(both.changes_until(&one).is_empty() && one.changes_until(&both).is_empty());
    }

    #[test]
    fn equal_changes_of_agents_are_named_once() {
        let of_agents = |model: &str, tool: u64, agents: &[&str]| {
            let mut setups = RunSetup::default();
            for agent in agents {
                setups.add(&ReportedSetup {
                    models: [((*agent).into(), model.into())].into(),
                    instructions: BTreeMap::new(),
                    tools: [(((*agent).into(), "search".into()), tool)].into(),
                    source: DetailsSource::Description,
                });
            }
            setups
        };
        let agents = ["a", "b", "c"];
        let (before, after) = (of_agents("m-1", 1, &agents), of_agents("m-2", 2, &agents));
        assert_eq!(
            before.changes_until(&after).describe(),
            [
                "the model m-1 → m-2 in 1 of 1 attempts",
                "the declaration of search"
            ]
        );
    }
}
