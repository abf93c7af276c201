//! What-if changes of criteria, applied to existing results.

use super::registry::direction_of;
use super::replaced::IN_PLACE_OF;
use super::results::status_of;
use super::rules::{
    TRAJECTORY_MATCH, is_replaced_by, replace_with_trajectory_match, replacement_of,
    trajectory_options, with_rules,
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

    /// Whether the change consists of rules, so that no file of criteria changes.
    pub fn has_only_rules(&self) -> bool {
        let without_rules = WhatIf {
            rules: Vec::new(),
            ..self.clone()
        };
        without_rules.is_empty()
    }

    /// Adds another relaxation, found while this change was applied: its match type and thresholds take precedence.
    /// What two different rules for one argument accept is accepted by ignoring it.
    pub fn add(&mut self, other: WhatIf) {
        self.match_type = other.match_type.or(self.match_type);
        self.ignore_args = other.ignore_args.or(self.ignore_args);
        for (metric, threshold) in other.thresholds {
            self.set_threshold(&metric, threshold);
        }
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

    /// Changes the threshold of a metric. A metric and the one that replaces it under rules have one threshold.
    pub fn set_threshold(&mut self, metric: &str, threshold: f64) {
        let is_other = |known: &str| is_replaced_by(known, metric) || is_replaced_by(metric, known);
        self.thresholds.retain(|known, _| !is_other(known));
        self.thresholds.insert(metric.to_string(), threshold);
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
        let held = criteria
            .iter()
            .find(|criterion| !criterion.rules.is_empty());
        let mut rules = held
            .map(|criterion| criterion.rules.clone())
            .unwrap_or_default();
        rules.extend(self.rules.clone());
        let changed = self.with_options(criteria, !rules.is_empty());
        match self.rules.is_empty() {
            true => changed,
            false => with_rules(changed, &rules),
        }
    }

    /// Applies the change to the criteria of a file, which contains no rules. `has_rules` is whether the workspace has some.
    pub fn apply_to_file(&self, criteria: Vec<Criterion>, has_rules: bool) -> Vec<Criterion> {
        self.with_options(criteria, has_rules || !self.rules.is_empty())
    }

    /// Applies all of the change but the rules. With rules, the metrics that they replace will not decide.
    fn with_options(&self, criteria: Vec<Criterion>, has_rules: bool) -> Vec<Criterion> {
        let by_name = self.match_type.is_some() || self.ignore_args.is_some();
        let has_own_match = criteria
            .iter()
            .any(|criterion| criterion.name() == TRAJECTORY_MATCH);
        let with_threshold = |criterion: Criterion| {
            let is_replaced =
                !has_own_match && (has_rules || by_name && criterion.name() != ADK_TRAJECTORY);
            self.with_threshold(criterion, is_replaced)
        };
        let criteria: Vec<Criterion> = criteria.into_iter().map(with_threshold).collect();
        // Each of Vertex AI's metrics has one match type: another match type needs `trajectory_match`.
        let criteria = match by_name {
            true => replace_with_trajectory_match(criteria, &[], |name| name != ADK_TRAJECTORY),
            false => criteria,
        };
        criteria
            .into_iter()
            .map(|criterion| self.with_match_type(criterion))
            .collect()
    }

    /// The names of the metrics whose thresholds the change contains and that none of these criteria has.
    pub fn unplaced_thresholds(&self, criteria: &[Criterion], has_rules: bool) -> Vec<String> {
        let after = self.apply_to_file(criteria.to_vec(), has_rules);
        let is_placed = |(metric, threshold): &(&String, &f64)| {
            let is_of = |criterion: &&Criterion| {
                criterion.metric == **metric || is_replaced_by(&criterion.metric, metric)
            };
            let mut own = after.iter().filter(is_of);
            own.any(|criterion| criterion.threshold == Some(**threshold))
        };
        let unplaced = self.thresholds.iter().filter(|one| !is_placed(one));
        unplaced.map(|(metric, _)| metric.clone()).collect()
    }

    /// The threshold of the change for a criterion, which is that of the metric that replaces it if one will.
    fn threshold_for(&self, criterion: &Criterion, is_replaced: bool) -> Option<f64> {
        let of = |metric: &str| self.thresholds.get(metric).copied();
        let replacement = replacement_of(criterion).filter(|_| is_replaced);
        let replaced = criterion.options.get(IN_PLACE_OF).and_then(Value::as_str);
        let replaced = replaced.map(|name| {
            let label = criterion.metric.strip_prefix(TRAJECTORY_MATCH);
            format!("{name}{}", label.unwrap_or_default())
        });
        replacement
            .and_then(|metric| of(&metric))
            .or_else(|| of(&criterion.metric))
            .or_else(|| replaced.and_then(|metric| of(&metric)))
    }

    fn with_threshold(&self, mut criterion: Criterion, is_replaced: bool) -> Criterion {
        // A metric that rules replaced stays informational.
        let stays = criterion.threshold.is_none() && criterion.options.contains_key("threshold");
        if let Some(threshold) = self
            .threshold_for(&criterion, is_replaced)
            .filter(|_| !stays)
        {
            criterion.threshold = Some(threshold);
            if !criterion.options.is_empty() {
                criterion
                    .options
                    .insert("threshold".into(), threshold.into());
            }
        }
        criterion
    }

    fn with_match_type(&self, mut criterion: Criterion) -> Criterion {
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
            setup: attempt.setup.clone(),
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

    /// The deciding criteria with their thresholds.
    fn deciding(criteria: &[Criterion]) -> Vec<(&str, f64)> {
        let deciding = criteria.iter();
        deciding
            .filter_map(|one| Some((one.metric.as_str(), one.threshold?)))
            .collect()
    }

    #[test]
    fn rule_and_threshold_apply_in_any_order() {
        let rule = || vec![MatchRule::parse("t n ignore").unwrap()];
        for name in ["tool_trajectory_avg_score", "trajectory_exact_match:x"] {
            let criteria = || vec![Criterion::new(name, Some(1.0))];
            let replacing = name.find(':').map_or("", |at| &name[at..]);
            let replacing = format!("{TRAJECTORY_MATCH}{replacing}");
            // The threshold was changed before the rule, after it, and where the file has the rule already.
            let mut of_both = [name, &replacing].map(|metric| WhatIf {
                thresholds: [(metric.to_string(), 0.5)].into(),
                rules: rule(),
                ..WhatIf::default()
            });
            for change in &of_both {
                let changed = change.apply(criteria());
                assert_eq!(deciding(&changed), [(replacing.as_str(), 0.5)]);
                let ruled = change.apply(with_rules(criteria(), &rule()));
                assert_eq!(deciding(&ruled), [(replacing.as_str(), 0.5)]);
                let written = change.apply_to_file(criteria(), false);
                assert_eq!(deciding(&written), [(name, 0.5)]);
                assert_eq!(change.unplaced_thresholds(&criteria(), false), [""; 0]);
            }
            of_both[0].set_threshold(&replacing, 0.25);
            assert_eq!(of_both[0].thresholds, [(replacing, 0.25)].into());
        }
    }

    #[test]
    fn threshold_without_criterion_is_unplaced() {
        let change = |metric: &str| WhatIf {
            thresholds: [(metric.to_string(), 0.5)].into(),
            ..WhatIf::default()
        };
        let criteria = [Criterion::new("tool_trajectory_avg_score", Some(1.0))];
        let unplaced =
            |metric: &str, has_rules| change(metric).unplaced_thresholds(&criteria, has_rules);
        assert_eq!(unplaced("trajectory_match", true), [""; 0]);
        assert_eq!(unplaced("trajectory_match", false), ["trajectory_match"]);
        assert_eq!(
            unplaced("session_state_match", true),
            ["session_state_match"]
        );
    }

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
