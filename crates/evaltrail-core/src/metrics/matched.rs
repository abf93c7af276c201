//! evaltrail's own trajectory metrics: calls are paired one to one, with as many pairs as possible, under the rules
//! of `[[match]]`. They have their own names, since neither ADK nor Vertex AI defines them.

use super::criterion_error::CriterionError;
use super::matching::Matcher;
use super::measure::{Evidence, Measure, Outcome, TurnScore, by_turn, unknown_calls};
use super::options::{flag_option, word_option};
use super::replaced::{ReplacedMetric, replaced_equality};
use super::trajectory::{about_call, changed_arguments, changed_call};
use crate::domain::{Criterion, Finding, FindingRule, Invocation, MatchType, ToolCall};

/// When two trajectories match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchMode {
    /// The same calls in the same order, nothing else.
    #[default]
    Strict,
    /// The same calls, nothing else, in the order of the agent's messages; the calls of one message in any order.
    StrictByMessage,
    /// The expected calls in order, others between them allowed.
    InOrder,
    /// The same calls in any order, nothing else.
    Unordered,
    /// Nothing but expected calls; some may be missing.
    Subset,
    /// All expected calls in any order, others allowed.
    Superset,
}

impl MatchMode {
    /// The match type of ADK that is the same.
    fn match_type(self) -> Option<MatchType> {
        match self {
            MatchMode::Strict => Some(MatchType::Exact),
            MatchMode::InOrder => Some(MatchType::InOrder),
            MatchMode::Superset => Some(MatchType::AnyOrder),
            MatchMode::StrictByMessage | MatchMode::Unordered | MatchMode::Subset => None,
        }
    }
}

const MODES: &[(&str, MatchMode)] = &[
    ("strict", MatchMode::Strict),
    ("exact", MatchMode::Strict),
    ("strict_by_message", MatchMode::StrictByMessage),
    ("in_order", MatchMode::InOrder),
    ("unordered", MatchMode::Unordered),
    ("subset", MatchMode::Subset),
    ("superset", MatchMode::Superset),
    ("any_order", MatchMode::Superset),
];

/// Why `strict_by_message` has no score.
const UNKNOWN_MESSAGES: &str =
    "the recorded events do not tell which calls the agent made in one message";

/// Why a rule about calls cannot be checked.
const UNKNOWN_ARGUMENTS: &str = "a rule is about the arguments of a call, and the arguments of a call of that tool are not known";

/// The value computed from the pairing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MatchReading {
    /// 1 or 0, by the mode.
    Match,
    Precision,
    Recall,
    F1,
}

/// One of the metrics with its rules.
pub(super) struct MatchedCalls {
    reading: MatchReading,
    mode: MatchMode,
    matcher: Matcher,
    /// The metric that decides about turns in which no rule is about a call.
    replaced: Option<ReplacedMetric>,
}

impl MatchedCalls {
    pub(super) fn new(
        reading: MatchReading,
        criterion: &Criterion,
    ) -> Result<Self, CriterionError> {
        let expected = "strict, strict_by_message, in_order, unordered, subset or superset";
        let mode = word_option(criterion, "mode", MODES, expected)?.unwrap_or_default();
        let ignore_args = flag_option(criterion, "ignore_args", "ignoreArgs")?;
        let equality = match reading {
            MatchReading::Match => replaced_equality(criterion)?,
            _ => None,
        };
        let replaced = equality
            .zip(mode.match_type())
            .and_then(|(equality, kind)| ReplacedMetric::new(equality, kind, ignore_args));
        let matcher = Matcher::compile(&criterion.rules, ignore_args)?;
        Ok(MatchedCalls {
            reading,
            mode,
            matcher: matcher.with_equality(equality.unwrap_or_default()),
            replaced,
        })
    }
}

impl Measure for MatchedCalls {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        match self.replaced {
            None => by_turn(evidence, |expected, actual| self.own_turn(expected, actual)),
            Some(replaced) => replaced.by_turn(evidence, |expected, actual| {
                match self.is_untouched(expected, actual) {
                    true => replaced.turn(expected, actual),
                    false => self.own_turn(expected, actual),
                }
            }),
        }
    }
}

impl MatchedCalls {
    /// Whether no rule decides about a turn, or about how its calls are compared.
    fn is_untouched(&self, expected: &Invocation, actual: &Invocation) -> bool {
        if !actual.trajectory.is_known() {
            return !self.matcher.counts_calls();
        }
        let calls = actual.calls();
        self.by_rules(&calls).is_none()
            && (!expected.trajectory.is_known()
                || !self.matcher.compares_any(&expected.calls(), &calls))
    }

    fn own_turn(&self, expected: &Invocation, actual: &Invocation) -> TurnScore {
        let calls = actual.calls();
        if let Some(why) = unknown_calls(expected, actual) {
            let is_violated = self.replaced.is_some() && actual.trajectory.is_known();
            let decided = is_violated.then(|| self.by_rules(&calls)).flatten();
            return decided.unwrap_or_else(|| TurnScore::unscored(why));
        }
        let messages = actual.trajectory.calls_per_message();
        let needs_messages =
            self.reading == MatchReading::Match && self.mode == MatchMode::StrictByMessage;
        if needs_messages && messages.is_none() {
            return self
                .by_rules(&calls)
                .unwrap_or_else(|| TurnScore::unscored(UNKNOWN_MESSAGES));
        }
        self.turn(&expected.calls(), &calls, &messages.unwrap_or_default())
    }

    /// The score of a turn. `messages` has the number of calls in each message of the agent; only `strict_by_message`
    /// reads it.
    fn turn(&self, expected: &[&ToolCall], actual: &[&ToolCall], messages: &[usize]) -> TurnScore {
        match self.reading {
            MatchReading::Match => self
                .by_rules(actual)
                .unwrap_or_else(|| self.decide(expected, actual, messages)),
            _ => self.share(expected, actual),
        }
    }

    fn share(&self, expected: &[&ToolCall], actual: &[&ToolCall]) -> TurnScore {
        let pairing = self.matcher.pairing(expected, actual);
        let paired = pairing.iter().flatten().count();
        let excused = (0..expected.len())
            .filter(|&at| pairing[at].is_none() && self.matcher.is_optional(expected[at]));
        let needed = expected.len() - excused.count();
        // Without any calls, precision and recall are 1.
        let of = |count: usize| {
            if count == 0 {
                1.0
            } else {
                paired as f64 / count as f64
            }
        };
        let (precision, recall) = (of(actual.len()), of(needed));
        let score = match self.reading {
            MatchReading::Precision => precision,
            MatchReading::Recall => recall,
            _ if precision + recall == 0.0 => 0.0,
            _ => 2.0 * precision * recall / (precision + recall),
        };
        let measured = format!(
            "{paired} of {needed} expected calls matched, {} made",
            actual.len()
        );
        let extras = self.reading != MatchReading::Recall;
        TurnScore::scored(score, measured)
            .because(self.unpaired(expected, actual, &pairing, extras))
    }

    /// The turn if rules about calls decide it, or depend on arguments that are not known. The shares are of pairs of calls,
    /// for which these rules are not read.
    fn by_rules(&self, actual: &[&ToolCall]) -> Option<TurnScore> {
        if self.reading != MatchReading::Match {
            return None;
        }
        let violations = self.matcher.violations(actual);
        match violations.is_empty() {
            false => Some(TurnScore::scored(0.0, "").because(violations)),
            true => self
                .matcher
                .is_undecided(actual)
                .then(|| TurnScore::unscored(UNKNOWN_ARGUMENTS)),
        }
    }

    fn decide(
        &self,
        expected: &[&ToolCall],
        actual: &[&ToolCall],
        messages: &[usize],
    ) -> TurnScore {
        let fits = match self.mode {
            MatchMode::Strict => self.strict(expected, actual),
            MatchMode::StrictByMessage => self.by_message(expected, actual, messages),
            MatchMode::InOrder => self.in_order(expected, actual),
            MatchMode::Unordered => {
                self.all_needed(expected, actual) && self.all_made(expected, actual)
            }
            MatchMode::Subset => self.all_made(expected, actual),
            MatchMode::Superset => self.all_needed(expected, actual),
        };
        if fits {
            return TurnScore::scored(
                1.0,
                format!("{} expected, {} made", expected.len(), actual.len()),
            );
        }
        let extras = !matches!(self.mode, MatchMode::InOrder | MatchMode::Superset);
        let pairing = self.matcher.pairing(expected, actual);
        let mut found = self.unpaired(expected, actual, &pairing, extras);
        if found.is_empty() {
            found.push(Finding::new(FindingRule::OrderDiffers));
        }
        TurnScore::scored(0.0, "").because(found)
    }

    /// Compares both lists in order; an optional call may be skipped.
    fn strict(&self, expected: &[&ToolCall], actual: &[&ToolCall]) -> bool {
        // reached[j]: the expected calls so far can be matched with the first j actual ones.
        let mut reached = vec![false; actual.len() + 1];
        reached[0] = true;
        for call in expected {
            let optional = self.matcher.is_optional(call);
            let mut next = vec![false; actual.len() + 1];
            for j in (0..=actual.len()).filter(|&j| reached[j]) {
                next[j] |= optional;
                if j < actual.len() && self.matcher.same(call, actual[j]) {
                    next[j + 1] = true;
                }
            }
            reached = next;
        }
        reached[actual.len()]
    }

    /// Compares the agent's messages in order, each with as many of the next expected calls, in any order; an optional call
    /// may be skipped.
    fn by_message(&self, expected: &[&ToolCall], actual: &[&ToolCall], messages: &[usize]) -> bool {
        // reached[i]: the first i expected calls can be matched with the messages so far.
        let mut reached = vec![false; expected.len() + 1];
        reached[0] = true;
        let mut rest = actual;
        for &count in messages {
            let (message, after) = rest.split_at(count.min(rest.len()));
            rest = after;
            let mut next = vec![false; expected.len() + 1];
            for from in (0..=expected.len()).filter(|&from| reached[from]) {
                for to in self.ends(expected, from, count) {
                    let part = &expected[from..to];
                    next[to] = next[to]
                        || (self.all_needed(part, message) && self.all_made(part, message));
                }
            }
            reached = next;
        }
        let are_optional = |from: usize| {
            expected[from..]
                .iter()
                .all(|call| self.matcher.is_optional(call))
        };
        (0..=expected.len()).any(|from| reached[from] && are_optional(from))
    }

    /// The ends of the parts of the expected calls from `from` that can match a message with `count` calls.
    fn ends(
        &self,
        expected: &[&ToolCall],
        from: usize,
        count: usize,
    ) -> std::ops::RangeInclusive<usize> {
        let mut needed = 0;
        let mut end = from;
        for call in &expected[from..] {
            needed += usize::from(!self.matcher.is_optional(call));
            if needed > count {
                break;
            }
            end += 1;
        }
        from + count..=end
    }

    fn in_order(&self, expected: &[&ToolCall], actual: &[&ToolCall]) -> bool {
        let mut rest = actual.iter();
        let mut needed = expected
            .iter()
            .filter(|call| !self.matcher.is_optional(call));
        needed.all(|call| rest.any(|other| self.matcher.same(call, other)))
    }

    /// Whether every required call can be paired.
    fn all_needed(&self, expected: &[&ToolCall], actual: &[&ToolCall]) -> bool {
        let needed: Vec<&ToolCall> = expected
            .iter()
            .copied()
            .filter(|call| !self.matcher.is_optional(call))
            .collect();
        self.matcher
            .pairing(&needed, actual)
            .iter()
            .all(Option::is_some)
    }

    /// Whether every call that was made can be paired.
    fn all_made(&self, expected: &[&ToolCall], actual: &[&ToolCall]) -> bool {
        self.matcher
            .pairing(expected, actual)
            .iter()
            .flatten()
            .count()
            == actual.len()
    }

    /// Findings for unpaired calls: changed, missing and, with `extras`, extra ones.
    fn unpaired(
        &self,
        expected: &[&ToolCall],
        actual: &[&ToolCall],
        pairing: &[Option<usize>],
        extras: bool,
    ) -> Vec<Finding> {
        let mut left: Vec<usize> = (0..actual.len())
            .filter(|at| !pairing.contains(&Some(*at)))
            .collect();
        let mut found = Vec::new();
        for (at, call) in expected
            .iter()
            .enumerate()
            .filter(|(at, _)| pairing[*at].is_none())
        {
            match left
                .iter()
                .position(|&other| actual[other].name == call.name)
            {
                Some(other) => {
                    let other = actual[left.remove(other)];
                    let differences = self.matcher.differences(call, other);
                    // Absent arguments and empty ones have no argument that differs.
                    found.extend(match differences.is_empty() {
                        true => changed_call(at, call, other),
                        false => changed_arguments(at, call, differences),
                    });
                }
                None if self.matcher.is_optional(call) => {}
                None => found.push(about_call(FindingRule::CallMissing, at, call)),
            }
        }
        if extras {
            found.extend(
                left.iter()
                    .map(|&at| about_call(FindingRule::CallExtra, at, actual[at])),
            );
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::MatchRule;
    use serde_json::json;

    fn calls(names: &str) -> Vec<ToolCall> {
        names
            .chars()
            .map(|name| ToolCall::new(name.to_string(), Some(Default::default())))
            .collect()
    }

    fn score(
        reading: MatchReading,
        mode: &str,
        rules: Vec<MatchRule>,
        expected: &str,
        actual: &str,
    ) -> f64 {
        let options = json!({"mode": mode}).as_object().cloned().unwrap();
        let metric = MatchedCalls::new(
            reading,
            &Criterion {
                options,
                rules,
                ..Criterion::default()
            },
        )
        .unwrap();
        let (e, a) = (calls(expected), calls(actual));
        metric
            .turn(
                &e.iter().collect::<Vec<_>>(),
                &a.iter().collect::<Vec<_>>(),
                &[],
            )
            .score
            .unwrap()
    }

    /// Whether calls match under `strict_by_message`: a letter is a call, and a space separates messages.
    fn is_by_message(rules: Vec<MatchRule>, expected: &str, messages: &str) -> bool {
        let options = json!({"mode": "strict_by_message"})
            .as_object()
            .cloned()
            .unwrap();
        let criterion = Criterion {
            options,
            rules,
            ..Criterion::default()
        };
        let metric = MatchedCalls::new(MatchReading::Match, &criterion).unwrap();
        let (e, a) = (calls(expected), calls(&messages.replace(' ', "")));
        let counts: Vec<usize> = messages.split_whitespace().map(str::len).collect();
        let turn = metric.turn(
            &e.iter().collect::<Vec<_>>(),
            &a.iter().collect::<Vec<_>>(),
            &counts,
        );
        turn.score == Some(1.0)
    }

    #[test]
    fn calls_of_one_message_match_in_any_order() {
        for (expected, messages, fits) in [
            ("abc", "a b c", true),
            ("abc", "ba c", true),
            ("abc", "cab", true),
            ("abc", "b a c", false),
            ("abc", "a cb", true),
            ("abcd", "ba dc", true),
            ("abcd", "ca bd", false),
            ("abc", "ab", false),
            ("ab", "ab c", false),
            ("aab", "ba a", false),
            ("aba", "ba a", true),
            ("", "", true),
            ("", "a", false),
            ("a", "", false),
        ] {
            assert_eq!(
                is_by_message(vec![], expected, messages),
                fits,
                "{expected} against {messages}"
            );
        }
        let optional = || {
            vec![MatchRule {
                tool: "o".into(),
                optional: true,
                ..MatchRule::default()
            }]
        };
        for (expected, messages, fits) in [
            ("aob", "a b", true),
            ("aob", "ba", true),
            ("aob", "oa b", true),
            ("aob", "b o a", false),
            ("oao", "a", true),
            ("oo", "", true),
            ("aob", "a o b o", false),
        ] {
            assert_eq!(
                is_by_message(optional(), expected, messages),
                fits,
                "{expected} against {messages}"
            );
        }
    }

    #[test]
    fn unknown_messages_are_not_evaluated() {
        use crate::domain::{Content, Invocation, InvocationEvent, Part, Status, Trajectory};
        let turn = |trajectory| Invocation {
            trajectory,
            ..Invocation::default()
        };
        let listed = |names| {
            turn(Trajectory::Listed {
                calls: calls(names),
                responses: vec![],
                texts: vec![],
            })
        };
        let parts = |names| {
            calls(names).into_iter().map(|call| Part {
                call: Some(call),
                ..Part::default()
            })
        };
        let event = |names, is_message| InvocationEvent {
            content: Some(Content {
                role: None,
                parts: parts(names).collect(),
            }),
            is_message,
            ..InvocationEvent::default()
        };
        let mut criterion = Criterion::new("trajectory_match", Some(1.0));
        criterion.options = json!({"mode": "strict_by_message"})
            .as_object()
            .cloned()
            .unwrap();
        let score = |actual| {
            crate::metrics::score(
                &criterion,
                &Evidence::turns(Some(&[listed("ab")]), &[actual]),
            )
        };
        let told = score(turn(Trajectory::Events(vec![event("ba", true)])));
        assert_eq!((told.score(), told.status), (Some(1.0), Status::Passed));
        for actual in [
            listed("ab"),
            turn(Trajectory::Events(vec![event("ba", false)])),
        ] {
            let result = score(actual);
            assert_eq!(
                (result.score(), result.status),
                (None, Status::NotEvaluated)
            );
            assert!(
                result.explanation.contains("in one message"),
                "{}",
                result.explanation
            );
        }
        let mut ruled = criterion.clone();
        ruled.rules = vec![toml::from_str("tool = \"b\"\nforbidden = true\n").unwrap()];
        let result = crate::metrics::score(
            &ruled,
            &Evidence::turns(Some(&[listed("ab")]), &[listed("ab")]),
        );
        assert_eq!(
            result.score(),
            Some(0.0),
            "a forbidden call does not depend on messages"
        );
        ruled.rules = vec![
            toml::from_str("tool = \"b\"\nforbidden = true\nargs = { x = { contains = \"y\" } }\n")
                .unwrap(),
        ];
        let names = turn(Trajectory::Listed {
            calls: vec![crate::domain::ToolCall::named("b")],
            responses: vec![],
            texts: vec![],
        });
        let result = crate::metrics::score(
            &ruled,
            &Evidence::turns(
                Some(std::slice::from_ref(&names)),
                std::slice::from_ref(&names),
            ),
        );
        assert_eq!(
            (result.score(), result.status),
            (None, Status::NotEvaluated),
            "{}",
            result.explanation
        );
        assert_eq!(
            score(listed("a")).score(),
            Some(0.0),
            "a single call is in a message of its own"
        );
    }

    /// Expected and actual calls; then strict, in_order, unordered, subset, superset.
    #[test]
    fn each_mode_matches_its_calls() {
        let table = [
            ("ab", "ab", [1, 1, 1, 1, 1]),
            ("ab", "ba", [0, 0, 1, 1, 1]),
            ("ab", "aXb", [0, 1, 0, 0, 1]),
            ("ab", "bXa", [0, 0, 0, 0, 1]),
            ("ab", "a", [0, 0, 0, 1, 0]),
            ("a", "aa", [0, 1, 0, 0, 1]),
            ("", "", [1, 1, 1, 1, 1]),
            ("", "a", [0, 1, 0, 0, 1]),
        ];
        for (expected, actual, fits) in table {
            let modes = ["strict", "in_order", "unordered", "subset", "superset"];
            let found =
                modes.map(|mode| score(MatchReading::Match, mode, vec![], expected, actual) as i32);
            assert_eq!(found, fits, "{expected} against {actual}");
        }
    }

    #[test]
    fn optional_forbidden_and_counted_calls() {
        let rule = |tool: &str| MatchRule {
            tool: tool.into(),
            ..MatchRule::default()
        };
        let optional = || {
            vec![MatchRule {
                optional: true,
                ..rule("b")
            }]
        };
        for mode in ["strict", "in_order", "unordered", "superset"] {
            assert_eq!(
                score(MatchReading::Match, mode, optional(), "abc", "ac"),
                1.0,
                "{mode}"
            );
            assert_eq!(
                score(MatchReading::Match, mode, optional(), "abc", "abc"),
                1.0,
                "{mode}"
            );
            assert_eq!(
                score(MatchReading::Match, mode, optional(), "abc", "ab"),
                0.0,
                "{mode}"
            );
        }
        let forbidden = vec![MatchRule {
            forbidden: true,
            ..rule("X*")
        }];
        assert_eq!(
            score(MatchReading::Match, "superset", forbidden, "a", "aX"),
            0.0
        );
        let most = vec![MatchRule {
            max: Some(1),
            ..rule("a")
        }];
        assert_eq!(score(MatchReading::Match, "superset", most, "a", "aa"), 0.0);
        let least = vec![MatchRule {
            min: Some(2),
            ..rule("a")
        }];
        assert_eq!(score(MatchReading::Match, "superset", least, "a", "a"), 0.0);
    }

    #[test]
    fn precision_recall_and_f1_pair_one_to_one() {
        let all = |e, a| {
            [
                MatchReading::Precision,
                MatchReading::Recall,
                MatchReading::F1,
            ]
            .map(|r| score(r, "strict", vec![], e, a))
        };
        assert_eq!(all("a", "aa"), [0.5, 1.0, 2.0 / 3.0]);
        assert_eq!(all("abcd", "abc"), [1.0, 0.75, 6.0 / 7.0]);
        assert_eq!(all("", ""), [1.0, 1.0, 1.0]);
        assert_eq!(all("a", ""), [1.0, 0.0, 0.0]);
        assert_eq!(all("", "a"), [0.0, 1.0, 0.0]);
    }
}
