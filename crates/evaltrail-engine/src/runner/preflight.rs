//! Checks before a run: criteria that cannot be evaluated are reported as warnings. The rest of the run proceeds.

use super::run_resources::RunResources;
use evaltrail_core::domain::Rubric;
use evaltrail_core::formats::adk;
use evaltrail_core::metrics::criterion_rubrics;
use std::collections::BTreeMap;

/// The number of cases whose rubrics are checked. Problems of further cases appear in their results.
const LOOKED_INTO: usize = 2000;

/// The warnings: judges that are not available, rubrics that cannot be evaluated.
pub(super) async fn warnings(shared: &RunResources) -> Vec<String> {
    let mut found = judges(shared).await;
    found.extend(cache(shared));
    found.extend(rubrics(shared));
    found.extend(rubrics_of_criteria(shared));
    found.extend(rubrics_of_cases(shared));
    found
}

/// Models that do not exist or reject the key, with the metrics that need them.
async fn judges(shared: &RunResources) -> Vec<String> {
    let mut by_model: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for metric in shared
        .judged
        .iter()
        .flatten()
        .filter_map(|(_, metric)| metric.as_ref().ok())
    {
        let names = by_model
            .entry(shared.judges.judge_name(metric))
            .or_default();
        let name = metric.criterion().metric.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut warnings = Vec::new();
    for (model, names) in by_model {
        if let Err(error) = shared.judges.probe(&model).await {
            warnings.push(format!("not evaluated: {}; {error}", names.join(", ")));
        }
    }
    warnings
}

/// Responses of judges that are requested, and charged, in each run.
fn cache(shared: &RunResources) -> Option<String> {
    let problem = shared
        .judges
        .cache_problem()
        .filter(|_| shared.judged.iter().flatten().next().is_some())?;
    Some(format!(
        "responses of judges are not cached, and all are requested: {problem}"
    ))
}

/// Rubric metrics for which some cases have no rubrics or a duplicate id: the number of cases, and the first one.
fn rubrics(shared: &RunResources) -> Vec<String> {
    let mut found: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    let cases = shared.plan.cases.iter().take(LOOKED_INTO);
    for planned in cases.filter(|case| !shared.judged[case.set].is_empty()) {
        let Ok(case) = shared.sets[planned.set].case(planned.index) else {
            continue;
        };
        let turns: Vec<&[Rubric]> = case.turns().iter().map(|turn| &turn.rubrics[..]).collect();
        for metric in shared.judged[planned.set]
            .iter()
            .filter_map(|(_, metric)| metric.as_ref().ok())
        {
            if let Some(why) = metric.rubric_problem(&case.rubrics, &turns) {
                let of = found.entry(metric.criterion().metric.as_str()).or_default();
                of.0 += 1;
                if of.0 == 1 {
                    of.1 = format!("{}: {why}", planned.eval_id);
                }
            }
        }
    }
    let words = |(metric, (count, first)): (&str, (usize, String))| match count {
        1 => format!("not evaluated: {metric} of {first}"),
        count => format!("not evaluated: {metric} of {count} cases; first {first}"),
    };
    found.into_iter().map(words).collect()
}

/// Rubrics of criteria that a judge cannot evaluate.
fn rubrics_of_criteria(shared: &RunResources) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for metric in shared
        .judged
        .iter()
        .flatten()
        .filter_map(|(_, metric)| metric.as_ref().ok())
    {
        let rubrics = criterion_rubrics(metric.criterion()).unwrap_or_default();
        let words = adk::wrong_rubrics_of_criterion(&rubrics).into_iter();
        found.extend(words.map(|words| format!("{}: {words}", metric.criterion().metric)));
    }
    found.dedup();
    found
}

/// Rubrics of cases that a judge cannot evaluate or that no metric uses: the number of cases, and the first one.
fn rubrics_of_cases(shared: &RunResources) -> Option<String> {
    let cases = shared.plan.cases.iter().take(LOOKED_INTO);
    let mut wrong = cases
        .filter(|case| !shared.judged[case.set].is_empty())
        .filter_map(|planned| {
            let case = shared.sets[planned.set].case(planned.index).ok()?;
            let words = adk::wrong_rubrics_of_case(&case);
            (!words.is_empty()).then(|| format!("{}: {}", planned.eval_id, words.join("; ")))
        });
    let first = wrong.next()?;
    Some(match wrong.count() {
        0 => format!("rubrics of {first}"),
        more => format!("rubrics of {first}; and of {more} more (`evaltrail check` names all)"),
    })
}
