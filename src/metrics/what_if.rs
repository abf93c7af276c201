//! What if the criteria were others? A change that is tried out on outcomes that are there already.

use super::registry::{self, Scored};
use super::rules::{MATCH, ours_instead, with_rules};
use super::{Evidence, info, status_of};
use crate::domain::{
    Attempt, Criterion, MatchRule, MatchType, MetricResult, Status, adk_status, case_status,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const ADK: &str = "tool_trajectory_avg_score";

/// A change to criteria.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WhatIf {
    /// How trajectories are compared.
    pub match_type: Option<MatchType>,
    /// Whether names alone count.
    pub ignore_args: Option<bool>,
    /// Thresholds by metric, label included.
    pub thresholds: BTreeMap<String, f64>,
    /// Rules for comparing calls, beside those that hold already.
    pub rules: Vec<MatchRule>,
}

impl WhatIf {
    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        *self == WhatIf::default()
    }

    /// The change in a few words, one for each part.
    pub fn words(&self) -> Vec<String> {
        let mut said: Vec<String> = Vec::new();
        said.extend(self.match_type.map(|kind| kind.name().to_string()));
        said.extend(
            self.ignore_args.map(|on| if on { "arguments ignored" } else { "arguments count" }.to_string()),
        );
        said.extend(self.thresholds.iter().map(|(metric, threshold)| format!("{metric} at {threshold}")));
        said.extend(self.rules.iter().map(MatchRule::words));
        said
    }

    /// The criteria as they would be.
    pub fn apply(&self, criteria: Vec<Criterion>) -> Vec<Criterion> {
        let by_name = self.match_type.is_some() || self.ignore_args.is_some();
        // Vertex's metrics are each of one match type: another one is another metric, which is ours.
        let criteria = match by_name {
            true => ours_instead(criteria, &[], |name| name != ADK),
            false => criteria,
        };
        let changed = criteria.into_iter().map(|criterion| self.changed(criterion)).collect::<Vec<_>>();
        if self.rules.is_empty() {
            return changed;
        }
        let held = changed.iter().find(|criterion| !criterion.rules.is_empty());
        let mut rules = held.map(|criterion| criterion.rules.clone()).unwrap_or_default();
        rules.extend(self.rules.clone());
        with_rules(changed, &rules)
    }

    fn changed(&self, mut criterion: Criterion) -> Criterion {
        if let Some(threshold) = self.thresholds.get(&criterion.metric) {
            criterion.threshold = Some(*threshold);
            if !criterion.options.is_empty() {
                criterion.options.insert("threshold".into(), (*threshold).into());
            }
        }
        if criterion.name() == ADK || criterion.name() == MATCH {
            let ours = criterion.name() == MATCH;
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
                criterion.options.insert("ignore_args".into(), ignore.into());
            }
        }
        criterion
    }
}

/// Rescores attempts under a change. Criteria are made ready once, however many attempts share them.
pub struct Rescorer<'a> {
    change: &'a WhatIf,
    ready: Vec<(Criterion, Scored)>,
}

impl<'a> Rescorer<'a> {
    /// A rescorer for a change.
    pub fn new(change: &'a WhatIf) -> Rescorer<'a> {
        Rescorer { change, ready: Vec::new() }
    }

    /// The attempt as it would have come out. What broke stays broken; what a judge or a program said stays,
    /// and is held against the new threshold.
    pub fn rescore(&mut self, attempt: &Attempt) -> Attempt {
        if attempt.status == Status::Errored {
            return attempt.clone();
        }
        let before: Vec<Criterion> = attempt.metrics.iter().map(criterion_of).collect();
        let after = self.change.apply(before.clone());
        let evidence = Evidence::of(attempt);
        let metrics: Vec<MetricResult> = after
            .iter()
            .map(|criterion| {
                let at = before.iter().position(|other| other.metric == criterion.metric);
                match at.map(|at| (&before[at], &attempt.metrics[at])) {
                    Some((same, result)) if same == criterion => result.clone(),
                    Some((_, result)) => self.anew(criterion, &evidence, Some(result)),
                    None => self.anew(criterion, &evidence, None),
                }
            })
            .collect();
        Attempt {
            status: case_status(&metrics),
            adk_status: adk_status(&metrics),
            metrics,
            ..attempt.clone()
        }
    }

    fn anew(
        &mut self,
        criterion: &Criterion,
        evidence: &Evidence,
        known: Option<&MetricResult>,
    ) -> MetricResult {
        let at = match self.ready.iter().position(|(other, _)| other == criterion) {
            Some(at) => at,
            None => {
                self.ready.push((criterion.clone(), Scored::of(criterion)));
                self.ready.len() - 1
            }
        };
        let scored = &self.ready[at].1;
        match known {
            Some(known) if !scored.is_computed() => held_against(known, criterion),
            _ => scored.score(evidence),
        }
    }
}

/// A score that is known, under another threshold.
fn held_against(known: &MetricResult, criterion: &Criterion) -> MetricResult {
    let direction = info(criterion.name()).map_or(super::Direction::Higher, |metric| metric.direction);
    let status = match known.score {
        None => known.status,
        score => status_of(direction, score, criterion.threshold),
    };
    MetricResult { threshold: criterion.threshold, status, ..known.clone() }
}

/// The criterion behind a result.
pub fn criterion_of(metric: &MetricResult) -> Criterion {
    let mut criterion = Criterion::new(&metric.metric, metric.threshold);
    if let Some(Value::Object(options)) = &metric.criterion {
        // What a plain threshold is written as holds no options.
        let plain = options.len() == 2 && options.contains_key("include_intermediate_responses_in_final");
        criterion.options = if plain { Map::new() } else { options.clone() };
        let rules = criterion.options.remove(registry::RULES);
        criterion.rules = rules.and_then(|rules| serde_json::from_value(rules).ok()).unwrap_or_default();
    }
    criterion
}
