//! New cases for what no case tests: which ones are written, what a model is asked to write, and whether its replies can be used.
//!
//! ```text
//! coverage ──plan_cases──▶ PlannedDraft ──blueprint_prompt──▶ (model) ──parse, check──▶ Blueprint
//!     Blueprint ──wording_prompt──▶ (model) ──parse, check──▶ texts of the user ──generated_case──▶ EvalCase
//!     EvalCase ──KnownConversations──▶ whether it exists already ──(attempts)──classify_draft──▶ DraftVerdict
//! ```
//!
//! Code decides what is tested, and a model only writes it. What it writes is checked without a model, and then by running the agent:
//! a case is verified if several attempts do what the blueprint says, which the agent does not see.

mod blueprint;
mod blueprint_check;
mod blueprint_problem;
mod case;
mod classify;
mod declaration_text;
mod found_argument;
mod gap_check;
mod known;
mod plan;
mod plan_request;
mod planned;
mod prompts;
mod reply;
mod requirement;
mod stated_class;
mod stated_values;
mod wording;

pub use blueprint::{ArgumentSource, Blueprint, BlueprintCall, BlueprintTurn, parse_blueprint};
pub use blueprint_check::check_blueprint;
pub use blueprint_problem::BlueprintProblem;
pub use case::generated_case;
pub use classify::classify_draft;
pub use declaration_text::declaration_json;
pub use known::KnownConversations;
pub use plan::plan_cases;
pub use plan_request::{PlanFocus, PlanRequest};
pub use planned::{PlannedDraft, PlannedGap, UserPersona};
pub use prompts::{PromptContext, blueprint_prompt, repair_prompt, wording_prompt};
pub use wording::{WordingProblem, check_wording, parse_wording};

#[cfg(test)]
mod tests {
    use super::blueprint::{Blueprint, parse_blueprint};
    use super::planned::PlannedGap;
    use crate::analysis::coverage::{
        ArgumentClass, Coverage, CoverageCollector, CoveredCase, Declarations,
    };
    use crate::domain::{
        Attempt, AttemptKey, Content, Conversation, EvalCase, Invocation, Status, ToolCall,
        Trajectory,
    };
    use serde_json::{Value, json};
    use std::sync::Arc;

    /// A turn with a user text and calls.
    pub(super) fn turn(user: &str, calls: &[(&str, Value)]) -> Invocation {
        let calls = calls
            .iter()
            .map(|(name, args)| ToolCall::new(*name, args.as_object().cloned()));
        Invocation {
            user: Content::text("user", user),
            trajectory: Trajectory::Listed {
                calls: calls.collect(),
                responses: Vec::new(),
                texts: Vec::new(),
            },
            ..Invocation::default()
        }
    }

    pub(super) fn case(id: &str, turns: Vec<Invocation>) -> EvalCase {
        EvalCase {
            eval_id: id.into(),
            conversation: Conversation::Turns(turns),
            ..EvalCase::default()
        }
    }

    /// An attempt that passed.
    pub(super) fn attempt(turns: Vec<Invocation>) -> Arc<Attempt> {
        let key = AttemptKey {
            case: 0,
            attempt: 1,
        };
        Arc::new(Attempt {
            status: Status::Passed,
            actual: turns.into(),
            ..Attempt::blank(key, "a")
        })
    }

    /// The tools `look` (bed: required), `water` (bed: required, 1 to 20 litres, by default 2) and `move_pot` (where to is an
    /// object with a required bed and one of two rows, pots are a list); the agents `home` and `roses_agent`.
    pub(super) fn declared() -> Declarations {
        let mut declared = Declarations::default();
        let look = json!({"properties": {"bed": {"type": "string"}}, "required": ["bed"]});
        let water = json!({"required": ["bed"], "properties": {"bed": {"type": "string"},
            "litres": {"type": "integer", "minimum": 1, "maximum": 20, "default": 2}}});
        let place = json!({"type": "object", "required": ["bedName"], "properties": {
            "bedName": {"type": "string"}, "row": {"enum": ["front", "back"]}}});
        let move_pot = json!({"required": ["where_to"], "properties": {"where_to": place,
            "pots": {"type": "array"}}});
        assert!(
            declared.add(&json!({"agents": {"roses_agent": {}, "home": {"tools": [
                {"name": "look", "description": "Looks at a bed.", "parameters": look},
                {"name": "water", "description": "Waters a bed.", "parameters": water},
                {"name": "move_pot", "parameters": move_pot},
            ]}}}))
        );
        declared
    }

    pub(super) fn coverage(cases: &[(EvalCase, Vec<Arc<Attempt>>)]) -> Coverage {
        let mut collector = CoverageCollector::default();
        collector.declare(&declared(), "a file");
        for (case, attempts) in cases {
            collector.add_case(CoveredCase {
                name: "case",
                case,
                attempts,
            });
        }
        collector.finish()
    }

    /// A gap of each kind, about the tools and agents of [`declared`].
    pub(super) fn gap_of_each_kind() -> [PlannedGap; 7] {
        let (tool, argument) = (|| "water".to_string(), || "bed".to_string());
        [
            PlannedGap::Tool(tool()),
            PlannedGap::Argument {
                tool: tool(),
                argument: "litres".into(),
                class: ArgumentClass::Absent,
            },
            PlannedGap::Pair {
                first: "look".into(),
                second: tool(),
            },
            PlannedGap::MissingArgument {
                tool: tool(),
                argument: argument(),
            },
            PlannedGap::OutOfScope(2),
            PlannedGap::ChangeOfMind {
                tool: tool(),
                argument: argument(),
            },
            PlannedGap::Transfer("roses_agent".into()),
        ]
    }

    /// A blueprint with these turns and this state, as a model writes it.
    pub(super) fn blueprint(turns: Value, state: Value) -> Blueprint {
        let reply = json!({"turns": turns, "state": state}).to_string();
        parse_blueprint(&reply).unwrap()
    }
}
