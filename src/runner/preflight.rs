//! What a judge cannot do as things are: told before anything runs. The rest runs.

use super::attempt::Shared;
use crate::domain::Rubric;
use std::collections::BTreeMap;

/// Cases that are looked into for rubrics; of more, the results will tell.
const LOOKED_INTO: usize = 2000;

/// The warnings: judges that cannot be asked, rubrics that cannot be answered.
pub(super) async fn warnings(shared: &Shared) -> Vec<String> {
    let mut found = judges(shared).await;
    found.extend(rubrics(shared));
    found
}

/// Models that are not there or take no key, with the metrics that want them.
async fn judges(shared: &Shared) -> Vec<String> {
    let mut by_model: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for metric in shared.judged.iter().flatten().filter_map(|(_, metric)| metric.as_ref().ok()) {
        let names = by_model.entry(shared.judges.who(metric)).or_default();
        let name = metric.criterion().metric.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut warnings = Vec::new();
    for (model, names) in by_model {
        if let Err(error) = shared.judges.ready(&model).await {
            warnings.push(format!("not evaluated: {}; {error}", names.join(", ")));
        }
    }
    warnings
}

/// Rubric metrics for which some case has no rubrics, or one id twice: how many, and the first.
fn rubrics(shared: &Shared) -> Vec<String> {
    let mut found: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    let cases = shared.plan.cases.iter().take(LOOKED_INTO);
    for planned in cases.filter(|case| !shared.judged[case.set].is_empty()) {
        let Ok(case) = shared.sets[planned.set].case(planned.index) else { continue };
        let turns: Vec<&[Rubric]> = case.turns().iter().map(|turn| &turn.rubrics[..]).collect();
        for metric in shared.judged[planned.set].iter().filter_map(|(_, metric)| metric.as_ref().ok()) {
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
