//! Completion of names: tools and arguments that sets of the agent call or that it declares, and types of rubrics.

use crate::explorer::shared::case_field::{Adding, CaseField};
use crate::explorer::shared::tools::KnownTools;
use evaltrail_core::domain::EvalCase;

/// The types of rubrics that metrics use.
const KINDS: &[&str] = &[
    "FINAL_RESPONSE_QUALITY",
    "TOOL_USE_QUALITY",
    "TRAJECTORY_QUALITY",
];

/// Completions of the typed text, those that begin with it first; tools of the case's own agent before others.
pub fn completions(
    case: &EvalCase,
    tools: &KnownTools,
    field: &CaseField,
    adding: Option<Adding>,
    typed: &str,
) -> Vec<String> {
    let names: Vec<String> = match (adding, field) {
        (Some(Adding::Call), _) | (None, CaseField::Call(..)) => tools.names_for(case),
        (
            Some(Adding::Argument),
            CaseField::Call(turn, call) | CaseField::Argument(turn, call, _),
        ) => {
            let calls = case
                .turns()
                .get(*turn)
                .map(|turn| turn.calls())
                .unwrap_or_default();
            let Some(call) = calls.get(*call) else {
                return Vec::new();
            };
            let has = |key: &&String| {
                call.args
                    .as_ref()
                    .is_some_and(|args| args.contains_key(*key))
            };
            let known = tools.by_name.get(&call.name).into_iter();
            known
                .flat_map(|arguments| arguments.keys())
                .filter(|key| !has(key))
                .map(|key| format!("{key} = "))
                .collect()
        }
        (None, CaseField::RubricKind(..)) => KINDS.iter().map(|kind| kind.to_string()).collect(),
        _ => Vec::new(),
    };
    let typed = typed.trim().to_lowercase();
    let fits =
        |name: &&String| name.to_lowercase().contains(&typed) && name.to_lowercase() != typed;
    let mut fitting: Vec<String> = names.iter().filter(fits).cloned().collect();
    fitting.sort_by_key(|name| !name.to_lowercase().starts_with(&typed));
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::ToolCall;
    use serde_json::json;

    #[test]
    fn completions_with_prefix_come_first() {
        let mut tools = KnownTools::default();
        for (name, args) in [
            ("get_room", json!({"room": 1, "unit": 2})),
            ("forget", json!({})),
            ("set", json!({})),
        ] {
            tools.see(&ToolCall::new(name, args.as_object().cloned()));
        }
        let case = EvalCase::default();
        let of = |typed: &str| {
            completions(
                &case,
                &tools,
                &CaseField::Calls(0),
                Some(Adding::Call),
                typed,
            )
        };
        assert_eq!(of("get"), ["get_room", "forget"]);
        assert_eq!(of("set"), Vec::<String>::new(), "it is that already");
    }
}
