//! Which of several conversations add the most to what the cases of an agent cover.

use super::{ArgumentClass, CallOutcome, CaseSet, Coverage, is_built_in};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

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
                format!("exactly {}", tools.join(" → "))
            }
            CoverageItem::Sequence(tools) => format!("another sequence of {} calls", tools.len()),
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
    /// The items that no case and no addition before it covers.
    pub items: Vec<CoverageItem>,
}

/// A case that may be added.
#[derive(Clone, Copy, Debug)]
pub struct CandidateCase {
    /// Number of turns.
    pub turns: usize,
    /// Of the candidates of a group, at most one is added.
    pub group: u64,
}

/// The candidates that are worth adding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BestAdditions {
    /// Best first.
    pub additions: Vec<Addition>,
    /// The number of other candidates that would still add something.
    pub others: usize,
    /// The number of those that would only add a sequence of calls.
    pub others_with_sequence: usize,
}

impl Coverage {
    /// Chooses among the last cases, the candidates, those that together cover the most that the other cases do not: in each
    /// step the one that adds the most items, of equal ones the one with the fewest turns, then the first one (greedy set
    /// cover). There are at most `most`, and fewer if no other adds anything. There must be at least as many cases as `candidates`.
    pub fn best_additions(&self, candidates: &[CandidateCase], most: usize) -> BestAdditions {
        let first = self.cases.len() - candidates.len();
        let mut cover = GreedyCover::new(self.uncovered_items(first), first, candidates);
        let mut additions: Vec<Addition> = Vec::new();
        while additions.len() < most
            && let Some(candidate) = cover.best()
        {
            let items = cover.add(candidate);
            additions.push(Addition { candidate, items });
        }
        let (others, others_with_sequence) = cover.others();
        BestAdditions {
            additions,
            others,
            others_with_sequence,
        }
    }

    /// The items that cases from the position `first` on cover, and no case before it does. With each, the cases that cover it.
    fn uncovered_items(&self, first: usize) -> Vec<(CoverageItem, CaseSet)> {
        let mut items: Vec<(CoverageItem, CaseSet)> = Vec::new();
        let mut add = |item: CoverageItem, cases: &CaseSet| {
            if cases.0.first().is_some_and(|case| *case >= first) {
                items.push((item, cases.clone()));
            }
        };
        for (name, tool) in self.tools.iter().filter(|(name, _)| !is_built_in(name)) {
            add(CoverageItem::Tool(name.clone()), &tool.cases.expected);
            for (outcome, cases) in &tool.expected_outcomes {
                // Cases that were run have the outcomes of their attempts as well.
                let made = tool.outcomes.get(outcome);
                if made.is_none_or(|made| made.0.first().is_none_or(|case| *case >= first)) {
                    add(CoverageItem::Outcome(name.clone(), *outcome), cases);
                }
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

/// Items and the candidates that cover them, while candidates are chosen.
struct GreedyCover<'a> {
    candidates: &'a [CandidateCase],
    /// The items that are not covered yet, each with the candidates that cover it.
    items: Vec<Option<(CoverageItem, Vec<usize>)>>,
    /// The items of each candidate, by position in `items`.
    items_of: Vec<Vec<usize>>,
    /// How many items each candidate would add.
    counts: Vec<usize>,
    /// Candidates with the count that each had when it was put here, the best one on top.
    queue: BinaryHeap<(usize, Reverse<usize>, Reverse<usize>)>,
    groups: HashMap<u64, Vec<usize>>,
}

impl<'a> GreedyCover<'a> {
    /// `first` is the case of the first candidate.
    fn new(
        items: Vec<(CoverageItem, CaseSet)>,
        first: usize,
        candidates: &'a [CandidateCase],
    ) -> GreedyCover<'a> {
        let mut items_of: Vec<Vec<usize>> = vec![Vec::new(); candidates.len()];
        let mut groups: HashMap<u64, Vec<usize>> = HashMap::new();
        let of_candidates = |(item, cases): (CoverageItem, CaseSet)| {
            (item, cases.0.iter().map(|case| case - first).collect())
        };
        let items: Vec<Option<(CoverageItem, Vec<usize>)>> =
            items.into_iter().map(of_candidates).map(Some).collect();
        for (item, (_, covering)) in items.iter().flatten().enumerate() {
            covering.iter().for_each(|at| items_of[*at].push(item));
        }
        let counts: Vec<usize> = items_of.iter().map(Vec::len).collect();
        let mut queue = BinaryHeap::new();
        for (at, candidate) in candidates.iter().enumerate() {
            groups.entry(candidate.group).or_default().push(at);
            queue.push((counts[at], Reverse(candidate.turns), Reverse(at)));
        }
        GreedyCover {
            candidates,
            items,
            items_of,
            counts,
            queue,
            groups,
        }
    }

    /// The candidate that adds most; `None` if none adds anything. Counts only fall, so one whose count is as it was put into
    /// the queue is the best.
    fn best(&mut self) -> Option<usize> {
        while let Some((count, turns, Reverse(at))) = self.queue.pop() {
            match self.counts[at] {
                0 => {}
                now if now == count => return Some(at),
                now => self.queue.push((now, turns, Reverse(at))),
            }
        }
        None
    }

    /// Adds a candidate. Returns the items that it adds.
    fn add(&mut self, candidate: usize) -> Vec<CoverageItem> {
        let mut added = Vec::new();
        for item in &self.items_of[candidate] {
            if let Some((item, covering)) = self.items[*item].take() {
                covering.iter().for_each(|at| self.counts[*at] -= 1);
                added.push(item);
            }
        }
        // At most one candidate of a group is added.
        let group = self.candidates[candidate].group;
        for other in self.groups.remove(&group).unwrap_or_default() {
            for item in std::mem::take(&mut self.items_of[other]) {
                if let Some((_, covering)) = &mut self.items[item] {
                    covering.retain(|at| *at != other);
                }
            }
            self.counts[other] = 0;
        }
        added
    }

    /// How many candidates would add something, and how many of them only a sequence of calls.
    fn others(&self) -> (usize, usize) {
        let is_only_sequence = |at: &usize| {
            let left = self.items_of[*at]
                .iter()
                .filter_map(|item| self.items[*item].as_ref());
            left.into_iter()
                .all(|(item, _)| matches!(item, CoverageItem::Sequence(_)))
        };
        let others: Vec<usize> = (0..self.counts.len())
            .filter(|at| self.counts[*at] > 0)
            .collect();
        let only_sequence = others.iter().filter(|at| is_only_sequence(at)).count();
        (others.len(), only_sequence)
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
        let of_turns = |turns: &[usize]| -> Vec<CandidateCase> {
            let candidates = turns.iter().zip(0..);
            candidates
                .map(|(turns, group)| CandidateCase {
                    turns: *turns,
                    group,
                })
                .collect()
        };
        let best = coverage.best_additions(&of_turns(&[1; 5]), 10);
        assert_eq!((best.others, best.others_with_sequence), (0, 0));
        let best = chosen(&best.additions);
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
                        "exactly look → water"
                    ])
                ),
                (1, text(&["look: error"])),
                (4, text(&["no calls"])),
            ]
        );
        let one = coverage.best_additions(&of_turns(&[1; 5]), 1);
        assert_eq!(
            (one.additions.len(), one.others, one.others_with_sequence),
            (1, 2, 1)
        );
        // Of equal ones, the one with fewer turns.
        let shorter = coverage.best_additions(&of_turns(&[1, 1, 3, 2, 1]), 1);
        assert_eq!(shorter.additions[0].candidate, 3);
        // Of a group, the best one.
        let mut grouped = of_turns(&[1; 5]);
        (grouped[1].group, grouped[2].group) = (9, 9);
        let best = coverage.best_additions(&grouped, 10).additions;
        assert_eq!(
            best.iter().map(|one| one.candidate).collect::<Vec<_>>(),
            [2, 4]
        );
    }

    proptest! {
        /// All that the candidates cover is covered by the chosen ones, each of which adds something, less and less.
        #[test]
        fn chosen_candidates_cover_the_same(
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
            let of_count = |count: usize| -> Vec<CandidateCase> {
                (0..count as u64).map(|group| CandidateCase { turns: 1, group }).collect()
            };
            let best = coverage.best_additions(&of_count(candidates), usize::MAX).additions;
            prop_assert!(best.windows(2).all(|two| two[0].items.len() >= two[1].items.len()));
            prop_assert!(best.iter().all(|addition| !addition.items.is_empty()));
            let different: BTreeSet<usize> = best.iter().map(|addition| addition.candidate).collect();
            prop_assert_eq!(different.len(), best.len());
            // With the chosen ones as cases, no other candidate adds anything.
            let (of_known, of_candidates) = conversations.split_at(known);
            let mut all = of_known.to_vec();
            all.extend(different.iter().map(|at| of_candidates[*at].clone()));
            all.extend(of_candidates.iter().cloned());
            let more = collected(&all).best_additions(&of_count(candidates), 1);
            prop_assert_eq!(more, BestAdditions::default());
        }
    }
}
