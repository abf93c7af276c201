//! Which of several conversations add the most to what the cases of an agent cover.

use super::{ArgumentClass, CallOutcome, CaseSet, Coverage, is_built_in};
use std::cmp::Reverse;

/// Something that a case can cover.
#[derive(Clone, Debug, PartialEq)]
pub enum CoverageItem {
    /// A call of a tool.
    Tool(String),
    /// A call of a tool that ends in this way.
    Outcome(String, CallOutcome),
    /// A call with a value of this class: tool, argument, class.
    Argument(String, String, ArgumentClass),
    /// A call of a tool directly after one of another.
    Pair(String, String),
    /// The tools that a whole conversation calls, in order.
    Sequence(Vec<String>),
    /// A transfer to an agent.
    Transfer(String),
    /// An initial session state with this key.
    State(String),
}

impl CoverageItem {
    /// The item in a few words.
    pub fn text(&self) -> String {
        match self {
            CoverageItem::Tool(tool) => tool.clone(),
            CoverageItem::Outcome(tool, outcome) => format!("{tool}: {}", outcome.label()),
            CoverageItem::Argument(tool, argument, class) => {
                format!("{tool}.{argument}: {}", class.label())
            }
            CoverageItem::Pair(first, second) => format!("{first} → {second}"),
            CoverageItem::Sequence(tools) if tools.is_empty() => "no calls".into(),
            CoverageItem::Sequence(tools) if tools.len() <= 3 => {
                format!("sequence {}", tools.join(", "))
            }
            CoverageItem::Sequence(tools) => format!("sequence of {} calls", tools.len()),
            CoverageItem::Transfer(agent) => format!("transfer to {agent}"),
            CoverageItem::State(key) => format!("initial state of {key}"),
        }
    }
}

/// A case that covers something that neither the cases before the candidates nor the candidates chosen before it do.
#[derive(Clone, Debug, PartialEq)]
pub struct Addition {
    /// Position among the candidates.
    pub candidate: usize,
    /// What it covers first.
    pub items: Vec<CoverageItem>,
}

impl Coverage {
    /// Chooses among the last cases, the candidates, those that together cover the most that the other cases do not: in each
    /// step the one that adds the most items, of equal ones the one with the fewest turns, then the first one (greedy set
    /// cover). `turns` is the number of turns of each candidate. There are at most `most`, and fewer if no other adds
    /// anything.
    pub fn best_additions(&self, turns: &[usize], most: usize) -> Vec<Addition> {
        let first = self.cases.len() - turns.len();
        let items = self.uncovered_items(first);
        let mut left: Vec<Vec<usize>> = vec![Vec::new(); turns.len()];
        for (at, (_, cases)) in items.iter().enumerate() {
            cases.0.iter().for_each(|case| left[case - first].push(at));
        }
        let mut is_covered = vec![false; items.len()];
        let mut additions: Vec<Addition> = Vec::new();
        while additions.len() < most {
            let best = (0..turns.len())
                .max_by_key(|at| (left[*at].len(), Reverse(turns[*at]), Reverse(*at)))
                .filter(|at| !left[*at].is_empty());
            let Some(candidate) = best else { break };
            let added = std::mem::take(&mut left[candidate]);
            added.iter().for_each(|item| is_covered[*item] = true);
            for items in &mut left {
                items.retain(|item| !is_covered[*item]);
            }
            let items = added.into_iter().map(|item| items[item].0.clone());
            additions.push(Addition {
                candidate,
                items: items.collect(),
            });
        }
        additions
    }

    /// What cases from a position on cover, and no case before them, with these cases.
    fn uncovered_items(&self, first: usize) -> Vec<(CoverageItem, CaseSet)> {
        let mut items: Vec<(CoverageItem, CaseSet)> = Vec::new();
        let mut add = |item: CoverageItem, cases: &CaseSet| {
            if cases.0.first().is_some_and(|case| *case >= first) {
                items.push((item, cases.clone()));
            }
        };
        for (name, tool) in self.tools.iter().filter(|(name, _)| !is_built_in(name)) {
            add(CoverageItem::Tool(name.clone()), &tool.cases.expected);
            for outcome in CallOutcome::ALL {
                let sides = [&tool.outcomes, &tool.expected_outcomes];
                let cases = CaseSet::union(sides.iter().filter_map(|side| side.get(&outcome)));
                add(CoverageItem::Outcome(name.clone(), outcome), &cases);
            }
            for (argument, of) in &tool.arguments {
                let item = |class: &ArgumentClass| {
                    CoverageItem::Argument(name.clone(), argument.clone(), class.clone())
                };
                for (class, cases) in &of.classes {
                    add(item(class), &cases.expected);
                }
                if of.classes.is_empty() {
                    add(item(&ArgumentClass::Given), &of.expected_in);
                    add(item(&ArgumentClass::Absent), &of.missing_in);
                }
            }
        }
        for ((first, second), pair) in &self.pairs {
            let item = CoverageItem::Pair(first.clone(), second.clone());
            add(item, &pair.cases.expected);
        }
        for (tools, cases) in &self.sequences {
            add(CoverageItem::Sequence(tools.clone()), &cases.expected);
        }
        for (name, agent) in &self.agents {
            add(
                CoverageItem::Transfer(name.clone()),
                &agent.transfers.expected,
            );
        }
        for (key, state) in &self.state {
            let cases = CaseSet::union(state.initial.iter().map(|(_, cases)| cases));
            add(CoverageItem::State(key.clone()), &cases);
        }
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{CoverageCollector, CoveredCase};
    use crate::domain::{
        Attempt, AttemptKey, Content, Invocation, ToolCall, ToolResponse, Trajectory, captured_case,
    };
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    /// A conversation of one turn with these calls, each with its response.
    fn conversation(calls: &[(&str, Value)]) -> Vec<Invocation> {
        let response = |(name, response): &(&str, Value)| ToolResponse {
            name: name.to_string(),
            response: response.clone(),
            ..ToolResponse::default()
        };
        let call = |(name, _): &(&str, Value)| ToolCall::new(*name, None);
        vec![Invocation {
            user: Content::text("user", "go"),
            trajectory: Trajectory::Listed {
                calls: calls.iter().map(call).collect(),
                responses: calls.iter().map(response).collect(),
                texts: Vec::new(),
            },
            ..Invocation::default()
        }]
    }

    fn collected(cases: &[Vec<Invocation>]) -> Coverage {
        let mut collector = CoverageCollector::default();
        for (at, turns) in cases.iter().enumerate() {
            let key = AttemptKey {
                case: at,
                attempt: 1,
            };
            let attempt = Arc::new(Attempt {
                actual: turns.clone().into(),
                ..Attempt::blank(key, "a")
            });
            collector.add_case(CoveredCase {
                name: &format!("case {at}"),
                case: &captured_case("a", turns, None, 0.0),
                attempts: &[attempt],
            });
        }
        collector.finish()
    }

    fn chosen(additions: &[Addition]) -> Vec<(usize, Vec<String>)> {
        let texts = |addition: &Addition| {
            let texts = addition.items.iter().map(CoverageItem::text);
            (addition.candidate, texts.collect())
        };
        additions.iter().map(texts).collect()
    }

    #[test]
    fn candidates_that_add_most_are_chosen_first() {
        let ok = json!({"result": "yes"});
        let cases = [
            conversation(&[("look", ok.clone())]),
            // The candidates.
            conversation(&[("look", ok.clone())]),
            conversation(&[("look", json!({"error": "no bed"}))]),
            conversation(&[("look", ok.clone()), ("water", ok.clone())]),
            conversation(&[("look", ok.clone()), ("water", ok)]),
            conversation(&[]),
        ];
        let coverage = collected(&cases);
        let best = chosen(&coverage.best_additions(&[1; 5], 10));
        let text = |items: &[&str]| items.iter().map(|item| item.to_string()).collect();
        assert_eq!(
            best,
            [
                (
                    2,
                    text(&[
                        "water",
                        "water: answered",
                        "look → water",
                        "sequence look, water"
                    ])
                ),
                (1, text(&["look: error"])),
                (4, text(&["no calls"])),
            ]
        );
        assert_eq!(coverage.best_additions(&[1; 5], 1).len(), 1);
        // Of equal ones, the one with fewer turns.
        let shorter = coverage.best_additions(&[1, 1, 3, 2, 1], 1);
        assert_eq!(shorter[0].candidate, 3);
    }

    proptest! {
        /// All that the candidates cover is covered by the chosen ones, each of which adds something, less and less.
        #[test]
        fn chosen_candidates_cover_what_all_do(
            cases in prop::collection::vec(prop::collection::vec(0..6usize, 0..5), 1..14),
            known in 0..3usize,
        ) {
            let names = ["a", "b", "c", "d", "e", "f"];
            let calls = |case: &Vec<usize>| {
                let calls: Vec<(&str, Value)> =
                    case.iter().map(|tool| (names[*tool], json!({"result": 1}))).collect();
                conversation(&calls)
            };
            let conversations: Vec<Vec<Invocation>> = cases.iter().map(calls).collect();
            let known = known.min(cases.len());
            let candidates = cases.len() - known;
            let coverage = collected(&conversations);
            let best = coverage.best_additions(&vec![1; candidates], usize::MAX);
            prop_assert!(best.windows(2).all(|two| two[0].items.len() >= two[1].items.len()));
            prop_assert!(best.iter().all(|addition| !addition.items.is_empty()));
            let different: BTreeSet<usize> = best.iter().map(|addition| addition.candidate).collect();
            prop_assert_eq!(different.len(), best.len());
            // With the chosen ones as cases, no other candidate adds anything.
            let (of_known, of_candidates) = conversations.split_at(known);
            let mut all = of_known.to_vec();
            all.extend(different.iter().map(|at| of_candidates[*at].clone()));
            all.extend(of_candidates.iter().cloned());
            prop_assert_eq!(collected(&all).best_additions(&vec![1; candidates], 1), vec![]);
        }
    }
}
