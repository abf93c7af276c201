//! What-if changes of criteria, applied to existing results.

use super::registry::direction_of;
use super::results::status_of;
use super::rules::{
    TRAJECTORY_MATCH, replace_with_trajectory_match, trajectory_options, with_rules,
};
use super::scorer::Scorer;
use super::variants::configured;
use crate::domain::{Attempt, Criterion, Finding, MatchRule, MatchType, MetricResult, Status};
use serde_json::Value;
use std::collections::BTreeMap;

const ADK_TRAJECTORY: &str = "tool_trajectory_avg_score";

/// A change to criteria.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WhatIf {
    /// How trajectories are compared.
    pub match_type: Option<MatchType>,
    /// Whether only tool names are compared.
    pub ignore_args: Option<bool>,
    /// Thresholds by metric, label included.
    pub thresholds: BTreeMap<String, f64>,
    /// Rules for comparing calls, in addition to existing ones.
    pub rules: Vec<MatchRule>,
}

impl WhatIf {
    /// Whether the change is empty.
    pub fn is_empty(&self) -> bool {
        *self == WhatIf::default()
    }

    /// Adds another relaxation, found while this change was applied: its match type and thresholds take precedence.
    /// What two different rules for one argument accept is accepted by ignoring it.
    pub fn add(&mut self, other: WhatIf) {
        self.match_type = other.match_type.or(self.match_type);
        self.ignore_args = other.ignore_args.or(self.ignore_args);
        self.thresholds.extend(other.thresholds);
        for rule in other.rules {
            let of_argument = rule
                .argument()
                .map(|path| (rule.tool.clone(), path.to_string()));
            let known = self.rules.iter_mut().find(|known| {
                let argument = known
                    .argument()
                    .map(|path| (known.tool.clone(), path.to_string()));
                **known == rule || argument.is_some() && argument == of_argument
            });
            match (known, of_argument) {
                (None, _) => self.rules.push(rule),
                (Some(known), Some((tool, path))) if *known != rule => {
                    *known = match known.has_tolerance() && rule.has_tolerance() {
                        true => rule,
                        false => MatchRule::about(&tool, &path, "ignore".into()),
                    };
                }
                (Some(_), _) => {}
            }
        }
    }

    /// A short description of each part of the change.
    pub fn describe(&self) -> Vec<String> {
        let mut said: Vec<String> = Vec::new();
        said.extend(self.match_type.map(|kind| kind.name().to_string()));
        said.extend(self.ignore_args.map(|on| {
            if on {
                "arguments ignored"
            } else {
                "arguments count"
            }
            .to_string()
        }));
        said.extend(
            self.thresholds
                .iter()
                .map(|(metric, threshold)| format!("{metric} at {threshold}")),
        );
        said.extend(self.rules.iter().map(MatchRule::describe));
        said
    }

    /// Applies the change to criteria.
    pub fn apply(&self, criteria: Vec<Criterion>) -> Vec<Criterion> {
        let by_name = self.match_type.is_some() || self.ignore_args.is_some();
        // Each of Vertex AI's metrics has one match type: another match type needs `trajectory_match`.
        let criteria = match by_name {
            true => replace_with_trajectory_match(criteria, &[], |name| name != ADK_TRAJECTORY),
            false => criteria,
        };
        let changed = criteria
            .into_iter()
            .map(|criterion| self.changed(criterion))
            .collect::<Vec<_>>();
        if self.rules.is_empty() {
            return changed;
        }
        let held = changed.iter().find(|criterion| !criterion.rules.is_empty());
        let mut rules = held
            .map(|criterion| criterion.rules.clone())
            .unwrap_or_default();
        rules.extend(self.rules.clone());
        with_rules(changed, &rules)
    }

    fn changed(&self, mut criterion: Criterion) -> Criterion {
        if let Some(threshold) = self.thresholds.get(&criterion.metric) {
            criterion.threshold = Some(*threshold);
            if !criterion.options.is_empty() {
                criterion
                    .options
                    .insert("threshold".into(), (*threshold).into());
            }
        }
        if criterion.name() == ADK_TRAJECTORY || criterion.name() == TRAJECTORY_MATCH {
            let ours = criterion.name() == TRAJECTORY_MATCH;
            if let Some(kind) = self.match_type {
                let (key, value) = match (ours, kind) {
                    (false, kind) => ("match_type", kind.name()),
                    (true, MatchType::Exact) => ("mode", "strict"),
                    (true, MatchType::InOrder) => ("mode", "in_order"),
                    (true, MatchType::AnyOrder) => ("mode", "superset"),
                };
                criterion.options.remove("matchType");
                criterion.options.insert(key.into(), value.into());
            }
            if let Some(ignore) = self.ignore_args {
                criterion.options.remove("ignoreArgs");
                criterion
                    .options
                    .insert("ignore_args".into(), ignore.into());
            }
        }
        criterion
    }
}

/// Rescores attempts under a change. Metrics are built once for all attempts with the same criteria.
pub struct Rescorer<'a> {
    change: &'a WhatIf,
    lists: Vec<CriteriaList>,
}

/// The criteria of some attempts, before and after the change.
struct CriteriaList {
    /// Their source: name, threshold and written criterion of each result.
    written: Vec<(String, Option<f64>, Option<Value>)>,
    /// The unchanged criteria, each with the index of its result in the attempt.
    before: Vec<(usize, Criterion)>,
    after: Vec<Criterion>,
    scorer: Scorer,
}

impl CriteriaList {
    fn new(metrics: &[MetricResult], change: &WhatIf) -> CriteriaList {
        let before = configured(metrics);
        let after = change.apply(
            before
                .iter()
                .map(|(_, criterion)| criterion.clone())
                .collect(),
        );
        let written = |metric: &MetricResult| {
            (
                metric.metric.clone(),
                metric.threshold,
                metric.criterion.clone(),
            )
        };
        let scorer = Scorer::without_added_metrics(&after);
        CriteriaList {
            written: metrics.iter().map(written).collect(),
            before,
            after,
            scorer,
        }
    }

    fn are_of(&self, metrics: &[MetricResult]) -> bool {
        let same = |((name, threshold, written), metric): (
            &(String, Option<f64>, Option<Value>),
            &MetricResult,
        )| {
            *name == metric.metric && *threshold == metric.threshold && *written == metric.criterion
        };
        self.written.len() == metrics.len() && self.written.iter().zip(metrics).all(same)
    }

    /// The result of a criterion that is not computed again: it is unchanged, or a judge or a program gave its score.
    fn known(&self, at: usize, attempt: &Attempt) -> Option<MetricResult> {
        let criterion = &self.after[at];
        let (position, before) = self
            .before
            .iter()
            .find(|(_, other)| other.metric == criterion.metric)?;
        let known = &attempt.metrics[*position];
        // With variants, metrics that compare calls are computed again.
        let is_decided = attempt.variants.is_empty() || trajectory_options(criterion).is_none();
        if before == criterion && is_decided {
            return Some(known.clone());
        }
        (!self.scorer.is_computed(at)).then(|| compared_with(known, criterion))
    }
}

impl<'a> Rescorer<'a> {
    /// Creates a rescorer for a change.
    pub fn new(change: &'a WhatIf) -> Rescorer<'a> {
        Rescorer {
            change,
            lists: Vec::new(),
        }
    }

    /// The attempt as evaluated under the change. Errored attempts stay errored; scores of judges and programs stay
    /// the same, and are compared with the new thresholds.
    pub fn rescore(&mut self, attempt: &Attempt) -> Attempt {
        if attempt.status == Status::Errored {
            return attempt.clone();
        }
        let list = self.list_of(&attempt.metrics);
        let mut again = Attempt {
            metrics: Vec::new(),
            asked: attempt.asked.clone(),
            eval_id: attempt.eval_id.clone(),
            started: attempt.started.clone(),
            error: attempt.error.clone(),
            expected: attempt.expected.clone(),
            actual: attempt.actual.clone(),
            expected_state: attempt.expected_state.clone(),
            actual_state: attempt.actual_state.clone(),
            rubrics: attempt.rubrics.clone(),
            variants: attempt.variants.clone(),
            scenario: attempt.scenario.clone(),
            variables: attempt.variables.clone(),
            session_id: attempt.session_id.clone(),
            user_id: attempt.user_id.clone(),
            tool_use: attempt.tool_use.clone(),
            ..*attempt
        };
        list.scorer
            .evaluate(&mut again, |at| list.known(at, attempt));
        again
    }

    fn list_of(&mut self, metrics: &[MetricResult]) -> &CriteriaList {
        let at = self
            .lists
            .iter()
            .position(|list| list.are_of(metrics))
            .unwrap_or_else(|| {
                // Usually, each eval set has one list. If each case of a file has its own, lists are built repeatedly.
                if self.lists.len() >= MAX_LISTS {
                    self.lists.clear();
                }
                self.lists.push(CriteriaList::new(metrics, self.change));
                self.lists.len() - 1
            });
        &self.lists[at]
    }
}

/// Maximum number of criteria lists in memory.
const MAX_LISTS: usize = 64;

/// A known score, compared with another threshold.
fn compared_with(known: &MetricResult, criterion: &Criterion) -> MetricResult {
    let status = match known.score() {
        None => known.status,
        score => status_of(direction_of(criterion), score, criterion.threshold),
    };
    let mut result = MetricResult {
        threshold: criterion.threshold,
        status,
        ..known.clone()
    };
    if status == Status::Failed && result.findings.is_empty() {
        result.findings.push(Finding::threshold_missed(
            known.score(),
            criterion.threshold,
        ));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ADK's metric accepts another match type; each of Vertex AI's has a fixed one, so `trajectory_match` replaces
    /// it.
    #[test]
    fn match_type_replaces_vertex_metric_not_adk() {
        let change = WhatIf {
            match_type: Some(MatchType::InOrder),
            ..WhatIf::default()
        };
        let names = |name: &str| -> Vec<String> {
            let changed = change.apply(vec![Criterion::new(name, Some(1.0))]);
            changed
                .iter()
                .filter(|one| one.threshold.is_some())
                .map(|one| one.name().to_string())
                .collect()
        };
        assert_eq!(
            names("tool_trajectory_avg_score"),
            ["tool_trajectory_avg_score"]
        );
        assert_ne!(names("trajectory_exact_match"), ["trajectory_exact_match"]);
    }

    #[test]
    fn rules_for_same_argument_are_merged() {
        let of = |rule: &str| WhatIf {
            rules: vec![MatchRule::parse(rule).unwrap()],
            ..WhatIf::default()
        };
        let added = |first: &str, second: &str| {
            let mut change = of(first);
            change.add(of(second));
            change.describe().join(" + ")
        };
        assert_eq!(added("t n case", "t n case"), "t: n case");
        assert_eq!(added("t n case", "t n contains"), "t: n ignore");
        assert_eq!(added("t n default 1", "t n case"), "t: n ignore");
        assert_eq!(added("t n case", "t m case"), "t: n case + t: m case");
        assert_eq!(
            added("t n tolerance 2", "t n tolerance 5"),
            "t: n tolerance 5"
        );
        assert_eq!(added("t n case", "t optional"), "t: n case + t: optional");
    }
}
