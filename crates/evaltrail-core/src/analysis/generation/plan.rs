//! What is planned: the gaps of a coverage that a case can close, in the order of their use.

use super::plan_request::{PlanFocus, PlanRequest};
use super::planned::{PlannedDraft, PlannedGap};
use super::stated_class::can_be_stated;
use crate::analysis::coverage::{ArgumentCoverage, Parameter, ToolCoverage};
use crate::domain::{JsonKind, TRANSFER_TOOL};

/// Requests out of scope that are planned.
const MAX_OUT_OF_SCOPE: usize = 3;

/// The cases to write, in the order of their use: tools that no case expects, then classes of arguments, pairs, transfers, missing
/// arguments, changes of mind, requests out of scope. Equal requests have equal plans; with a larger count, a plan is longer and
/// begins the same.
pub fn plan_cases(request: &PlanRequest<'_>) -> Vec<PlannedDraft> {
    let steps: [fn(&PlanRequest<'_>) -> Vec<PlannedGap>; 7] = [
        unexpected_tools,
        unexpected_classes,
        unexpected_pairs,
        unexpected_transfers,
        missing_arguments,
        changes_of_mind,
        out_of_scope,
    ];
    let gaps = steps.iter().flat_map(|step| step(request));
    let unknown = gaps.filter(|gap| !request.known.contains(&gap.describe()));
    let planned = unknown.take(request.count).map(|gap| PlannedDraft {
        persona: request.persona(&gap),
        gap,
    });
    planned.collect()
}

fn unexpected_tools(request: &PlanRequest<'_>) -> Vec<PlannedGap> {
    let tools = request.tools().into_iter();
    let unexpected = tools.filter(|(_, tool)| tool.cases.expected.is_empty());
    unexpected
        .map(|(name, _)| PlannedGap::Tool(name.to_string()))
        .collect()
}

/// The classes that no case expects and a user can state: in turn one of each tool, and within a tool one of each argument.
fn unexpected_classes(request: &PlanRequest<'_>) -> Vec<PlannedGap> {
    let gaps = |tool: &str, argument: &str, of: &ArgumentCoverage| -> Vec<PlannedGap> {
        let is_required = of.declaration.as_ref().is_some_and(|one| one.required);
        let classes = of.classes.iter();
        classes
            .filter(|(class, cases)| cases.expected.is_empty() && can_be_stated(class, is_required))
            .map(|(class, _)| PlannedGap::Argument {
                tool: tool.to_string(),
                argument: argument.to_string(),
                class: class.clone(),
            })
            .collect()
    };
    let of_tool = |(tool, covered): (&str, &ToolCoverage)| {
        let arguments = covered.arguments.iter();
        in_turn(
            arguments
                .map(|(argument, of)| gaps(tool, argument, of))
                .collect(),
        )
    };
    in_turn(request.tools().into_iter().map(of_tool).collect())
}

/// The pairs between which data flowed in an attempt, and that no case expects.
fn unexpected_pairs(request: &PlanRequest<'_>) -> Vec<PlannedGap> {
    let pairs = request.coverage.feasible_pairs();
    let unexpected = pairs.filter(|((first, second), pair)| {
        pair.cases.expected.is_empty()
            && request.can_plan(first)
            && request.can_plan(second)
            && (request.includes(first) || request.includes(second))
    });
    unexpected
        .map(|((first, second), _)| PlannedGap::Pair {
            first: first.clone(),
            second: second.clone(),
        })
        .collect()
}

/// The declared agents to which no case expects a transfer, if there are transfers at all. An agent that acted although nothing was
/// transferred to it is the one that conversations begin with.
fn unexpected_transfers(request: &PlanRequest<'_>) -> Vec<PlannedGap> {
    let coverage = request.coverage;
    let is_known = coverage.tools.contains_key(TRANSFER_TOOL)
        || request.declared.tools.contains_key(TRANSFER_TOOL)
        || request.declared.agents.len() > 1;
    if !is_known || *request.focus != PlanFocus::Gaps {
        return Vec::new();
    }
    let agents = coverage.agents.iter().filter(|(name, agent)| {
        let is_root = request.declared.root_agent.as_ref() == Some(*name);
        let acts_first = !agent.acted.is_empty() && agent.transfers.called.is_empty();
        let is_declared = request.declared.agents.contains(*name);
        is_declared && !is_root && !acts_first && agent.transfers.expected.is_empty()
    });
    agents
        .map(|(name, _)| PlannedGap::Transfer(name.clone()))
        .collect()
}

/// Required arguments that only the user knows: in turn one of each tool.
fn missing_arguments(request: &PlanRequest<'_>) -> Vec<PlannedGap> {
    let is_from_user = |parameter: &&&Parameter| {
        let has_choice = !matches!(parameter.kind, Some(JsonKind::Boolean | JsonKind::Object));
        parameter.required
            && parameter.default.is_none()
            && parameter.values.len() != 1
            && has_choice
    };
    let of_tool = |(tool, parameters): (&str, Vec<&Parameter>)| -> Vec<PlannedGap> {
        let missing = parameters.iter().filter(is_from_user);
        missing
            .map(|parameter| PlannedGap::MissingArgument {
                tool: tool.to_string(),
                argument: parameter.name.clone(),
            })
            .collect()
    };
    in_turn(request.parameters().into_iter().map(of_tool).collect())
}

/// One for each tool with an argument that can have another value, a required one if possible.
fn changes_of_mind(request: &PlanRequest<'_>) -> Vec<PlannedGap> {
    let can_change = |parameter: &&&Parameter| {
        let is_plain = matches!(parameter.kind, Some(JsonKind::Text | JsonKind::Number));
        is_plain && parameter.values.len() != 1
    };
    let tools = request.parameters().into_iter();
    let changes = tools.filter_map(|(tool, parameters)| {
        let mut changing = parameters.iter().filter(can_change);
        let first = changing.clone().next();
        let parameter = changing.find(|parameter| parameter.required).or(first)?;
        Some(PlannedGap::ChangeOfMind {
            tool: tool.to_string(),
            argument: parameter.name.clone(),
        })
    });
    changes.collect()
}

fn out_of_scope(request: &PlanRequest<'_>) -> Vec<PlannedGap> {
    match request.focus {
        PlanFocus::Gaps => (1..=MAX_OUT_OF_SCOPE).map(PlannedGap::OutOfScope).collect(),
        PlanFocus::Tool(_) => Vec::new(),
    }
}

/// The elements of several lists: the first of each, then the second of each, and so on.
fn in_turn<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let mut rest: Vec<std::vec::IntoIter<T>> = lists.into_iter().map(Vec::into_iter).collect();
    let mut found = Vec::new();
    while !rest.is_empty() {
        rest.retain_mut(|list| match list.next() {
            Some(element) => {
                found.push(element);
                true
            }
            None => false,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::{attempt, case, coverage, declared, turn};
    use super::*;
    use crate::analysis::coverage::{Declarations, WaivedTools};
    use crate::domain::{Attempt, EvalCase, InvocationEvent, ToolResponse, Trajectory};
    use serde_json::json;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    /// A request that owns what it is about.
    struct OwnedRequest {
        cases: Vec<(EvalCase, Vec<Arc<Attempt>>)>,
        declared: Declarations,
        waived: WaivedTools,
        focus: PlanFocus,
        count: usize,
        seed: u64,
        known: BTreeSet<String>,
    }

    impl OwnedRequest {
        fn new(cases: Vec<EvalCase>) -> OwnedRequest {
            OwnedRequest {
                cases: cases.into_iter().map(|case| (case, Vec::new())).collect(),
                declared: declared(),
                waived: WaivedTools::default(),
                focus: PlanFocus::Gaps,
                count: 100,
                seed: 1,
                known: BTreeSet::new(),
            }
        }

        fn plan(&self) -> Vec<PlannedDraft> {
            plan_cases(&PlanRequest {
                coverage: &coverage(&self.cases),
                declared: &self.declared,
                waived: &self.waived,
                focus: &self.focus,
                count: self.count,
                seed: self.seed,
                known: &self.known,
            })
        }

        fn lines(&self) -> Vec<String> {
            self.plan().iter().map(PlannedDraft::describe).collect()
        }
    }

    /// A case that expects both tools and most classes of their arguments.
    fn usual() -> EvalCase {
        let calls = [
            ("look", json!({"bed": "roses"})),
            ("water", json!({"bed": "roses", "litres": 2})),
            ("water", json!({"bed": "röses"})),
            ("look", json!({"bed": "röses"})),
        ];
        case("usual", vec![turn("Water the roses", &calls)])
    }

    #[test]
    fn gaps_are_planned_in_the_order_of_use() {
        let planned = OwnedRequest::new(Vec::new()).lines();
        let place = |line: &str| {
            let found = planned.iter().position(|one| one == line);
            found.unwrap_or_else(|| panic!("{line} is not in {planned:?}"))
        };
        let in_order = [
            "tool water",
            "water.litres: absent",
            "transfer to roses_agent",
            "water without bed",
            "water, then another bed",
            "out of scope 1",
        ];
        assert!(in_order.map(place).is_sorted(), "{planned:?}");
        assert_eq!(planned.last().unwrap(), "out of scope 3");
        let different: BTreeSet<&String> = planned.iter().collect();
        assert_eq!(different.len(), planned.len());
    }

    #[test]
    fn equal_requests_have_equal_plans() {
        let request = OwnedRequest::new(vec![usual()]);
        assert_eq!(request.plan(), request.plan());
        assert!(!request.plan().is_empty());
    }

    #[test]
    fn expected_tools_and_classes_are_left_out() {
        let planned = OwnedRequest::new(vec![usual()]).lines();
        for covered in [
            "tool water",
            "tool look",
            "water.litres: absent",
            "water.litres: 2",
            "water.bed: not ASCII",
        ] {
            assert!(!planned.contains(&covered.to_string()), "{covered}");
        }
        for gap in [
            "tool move_pot",
            "water.litres: limit 1",
            "water.litres: other number",
        ] {
            assert!(planned.contains(&gap.to_string()), "{gap}: {planned:?}");
        }
    }

    #[test]
    fn classes_are_planned_in_turn_over_tools() {
        let planned = OwnedRequest::new(Vec::new()).lines();
        let classes = planned.iter().filter(|line| line.contains(": "));
        let first = classes.map(|line| line.split('.').next().unwrap()).take(3);
        let first: BTreeSet<&str> = first.collect();
        assert_eq!(first, ["look", "move_pot", "water"].into(), "{planned:?}");
        assert_eq!(
            in_turn(vec![vec![1, 2, 3], vec![], vec![4, 5]]),
            [1, 4, 2, 5, 3]
        );
    }

    #[test]
    fn known_and_waived_gaps_are_not_planned() {
        let all = OwnedRequest::new(Vec::new()).lines();
        let request = OwnedRequest {
            known: ["tool water", "out of scope 2"].map(String::from).into(),
            waived: WaivedTools(vec![("move_*".into(), "old".into())]),
            ..OwnedRequest::new(Vec::new())
        };
        let is_left = |line: &&String| !request.known.contains(*line) && !line.contains("move_pot");
        let left: Vec<&String> = all.iter().filter(is_left).collect();
        assert_eq!(request.lines().iter().collect::<Vec<_>>(), left);
        assert!(all.len() > left.len() + 2);
    }

    #[test]
    fn smaller_count_is_beginning_of_plan() {
        let all = OwnedRequest::new(Vec::new()).plan();
        for count in [0, 1, 5] {
            let request = OwnedRequest {
                count,
                ..OwnedRequest::new(Vec::new())
            };
            assert_eq!(request.plan(), all[..count]);
        }
    }

    #[test]
    fn focus_leaves_only_gaps_of_the_tool() {
        let planned = |tool: &str| {
            let request = OwnedRequest {
                focus: PlanFocus::Tool(tool.into()),
                ..OwnedRequest::new(Vec::new())
            };
            request.lines()
        };
        let water = planned("water");
        assert!(
            water.len() > 5 && water.iter().all(|line| line.contains("water")),
            "{water:?}"
        );
        assert!(planned(TRANSFER_TOOL).is_empty() && planned("drain").is_empty());
    }

    #[test]
    fn seed_orders_tools_and_chooses_personas() {
        let plan = |seed| {
            let request = OwnedRequest {
                seed,
                ..OwnedRequest::new(Vec::new())
            };
            request.plan()
        };
        let first: BTreeSet<String> = (0..20).map(|seed| plan(seed)[0].describe()).collect();
        assert_eq!(
            first.len(),
            3,
            "each tool is first for some seed: {first:?}"
        );
        let one = plan(1);
        let personas: BTreeSet<&str> = one.iter().map(|one| one.persona.name()).collect();
        assert_eq!(personas.len(), 3);
        let gaps =
            |seed| -> BTreeSet<String> { plan(seed).iter().map(PlannedDraft::describe).collect() };
        assert_eq!(gaps(1), gaps(2), "the seed does not choose the gaps");
    }

    /// A case that expects no calls, with an attempt that calls `look` and then `water` with this bed.
    fn with_flow(bed: &str) -> (EvalCase, Vec<Arc<Attempt>>) {
        let mut made = turn(
            "Water",
            &[("look", json!({})), ("water", json!({"bed": bed}))],
        );
        if let Trajectory::Listed { responses, .. } = &mut made.trajectory {
            let answers = [json!({"bed": "bed-4711"}), json!({"result": "ok"})];
            responses.extend(answers.map(|response| ToolResponse {
                response,
                ..ToolResponse::default()
            }));
        }
        (case("a", vec![turn("Hi", &[])]), vec![attempt(vec![made])])
    }

    #[test]
    fn pairs_with_data_flow_are_planned() {
        let planned = |bed: &str, focus: PlanFocus| {
            let request = OwnedRequest {
                cases: vec![with_flow(bed)],
                focus,
                ..OwnedRequest::new(Vec::new())
            };
            request.lines().contains(&"look then water".to_string())
        };
        assert!(planned("bed-4711", PlanFocus::Gaps));
        assert!(!planned("other bed", PlanFocus::Gaps), "no data flows");
        for (tool, expected) in [("look", true), ("water", true), ("move_pot", false)] {
            assert_eq!(
                planned("bed-4711", PlanFocus::Tool(tool.into())),
                expected,
                "{tool}"
            );
        }
    }

    #[test]
    fn expected_and_waived_pairs_are_not_planned() {
        let expecting = turn("Go", &[("look", json!({})), ("water", json!({}))]);
        let planned = |others: Vec<EvalCase>, waived: &str| {
            let mut request = OwnedRequest::new(others);
            request.cases.push(with_flow("bed-4711"));
            request.waived = WaivedTools(vec![(waived.into(), "old".into())]);
            request.lines().contains(&"look then water".to_string())
        };
        assert!(planned(Vec::new(), "move_pot"));
        assert!(!planned(vec![case("b", vec![expecting])], "move_pot"));
        assert!(!planned(Vec::new(), "look") && !planned(Vec::new(), "water"));
    }

    #[test]
    fn transfers_that_no_case_expects_are_planned() {
        let args = json!({"agent_name": "roses_agent"});
        let known = case("a", vec![turn("Roses", &[(TRANSFER_TOOL, args)])]);
        let has = |cases: Vec<EvalCase>, agent: &str| {
            let lines = OwnedRequest::new(cases).lines();
            lines.contains(&format!("transfer to {agent}"))
        };
        assert!(has(Vec::new(), "roses_agent"));
        assert!(!has(vec![known.clone()], "roses_agent") && has(vec![known], "home"));
    }

    #[test]
    fn transfers_lead_to_declared_other_agents() {
        let event = |author: &str| InvocationEvent {
            author: author.into(),
            ..InvocationEvent::default()
        };
        let args = json!({"agent_name": "weather_agent"});
        let mut acted = turn("Hi", &[]);
        acted.trajectory = Trajectory::Events(vec![event("home")]);
        let attempts = vec![
            attempt(vec![acted]),
            attempt(vec![turn("Hi", &[(TRANSFER_TOOL, args)])]),
        ];
        let request = OwnedRequest {
            cases: vec![(case("a", vec![turn("Hi", &[])]), attempts)],
            ..OwnedRequest::new(Vec::new())
        };
        let lines = request.lines();
        let transfers = lines.iter().filter(|line| line.starts_with("transfer"));
        assert_eq!(transfers.collect::<Vec<_>>(), ["transfer to roses_agent"]);
    }

    #[test]
    fn nothing_transfers_to_the_root_agent() {
        let mut request = OwnedRequest::new(Vec::new());
        request.declared.root_agent = Some("home".into());
        let lines = request.lines();
        let transfers = lines.iter().filter(|line| line.starts_with("transfer"));
        assert_eq!(transfers.collect::<Vec<_>>(), ["transfer to roses_agent"]);
    }

    #[test]
    fn single_agent_has_no_transfers() {
        let mut request = OwnedRequest::new(Vec::new());
        request.declared.agents = ["roses_agent".to_string()].into();
        let kinds: BTreeSet<&str> = request.plan().iter().map(|one| one.gap.name()).collect();
        assert!(!kinds.contains("transfer") && kinds.len() == 5, "{kinds:?}");
    }

    #[test]
    fn missing_arguments_are_those_of_the_user() {
        let mut request = OwnedRequest::new(Vec::new());
        let properties = json!({"city": {"type": "string"}, "loud": {"type": "boolean"},
            "unit": {"enum": ["c"]}, "days": {"type": "integer", "default": 1}, "note": {"type": "string"}});
        let schema =
            json!({"properties": properties, "required": ["city", "loud", "unit", "days"]});
        request.declared.tools.clear();
        request.declared.add_tool("look", Some(&schema));
        let lines = request.lines();
        let missing = lines.iter().filter(|line| line.contains(" without "));
        assert_eq!(missing.collect::<Vec<_>>(), ["look without city"]);
        assert!(
            lines.contains(&"look, then another city".to_string()),
            "{lines:?}"
        );
        assert!(
            !lines.iter().any(|line| line.contains("water")),
            "water is not declared"
        );
    }
}
