//! Comparison of two runs, case by case.

use super::statistics::{mcnemar, wilcoxon};
use crate::domain::{AgentSpec, EndedAttempt, RunState, Status};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// What became of a case from the first run to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CaseFate {
    /// It passed in the first run, and did not pass in the second.
    Broke,
    /// It did not pass in the first run, and passed in the second.
    Fixed,
    /// The case was edited between the runs, so that its outcomes cannot be compared.
    Edited,
    /// It was not evaluated in one of the runs, so that its outcomes cannot be compared.
    NotEvaluated,
    /// It did not pass in either run.
    StillFailing,
    /// It passed in both runs.
    StillPassing,
    /// It has a result in the first run only.
    OnlyBefore,
    /// It has a result in the second run only.
    OnlyAfter,
}

impl CaseFate {
    /// All, in display order.
    pub const ALL: [CaseFate; 8] = [
        CaseFate::Broke,
        CaseFate::Fixed,
        CaseFate::Edited,
        CaseFate::NotEvaluated,
        CaseFate::StillFailing,
        CaseFate::StillPassing,
        CaseFate::OnlyBefore,
        CaseFate::OnlyAfter,
    ];

    /// The name in JSON.
    pub fn key(self) -> &'static str {
        match self {
            CaseFate::Broke => "broke",
            CaseFate::Fixed => "fixed",
            CaseFate::Edited => "edited",
            CaseFate::NotEvaluated => "not_evaluated",
            CaseFate::StillFailing => "still_failing",
            CaseFate::StillPassing => "still_passing",
            CaseFate::OnlyBefore => "only_before",
            CaseFate::OnlyAfter => "only_after",
        }
    }
}

/// A condition that differs between the two results of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangedCondition {
    /// The criteria.
    Criteria,
    /// The agent.
    Agent,
    /// How tools were answered: from stubs, from other stubs, or live.
    Tools,
    /// The judge. Only for cases with a judged metric.
    Judge,
    /// The allowed variant that the score is based on: what the agent did may be allowed now, and was not before.
    Variant,
    /// The case's id or file.
    Name,
}

impl ChangedCondition {
    /// The name for display and in JSON.
    pub fn label(self) -> &'static str {
        match self {
            ChangedCondition::Criteria => "criteria",
            ChangedCondition::Agent => "agent",
            ChangedCondition::Tools => "answers of tools",
            ChangedCondition::Judge => "judge",
            ChangedCondition::Variant => "variant",
            ChangedCondition::Name => "name",
        }
    }
}

/// A case of either run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedCase {
    /// Position in the plan of the first run.
    pub before: Option<usize>,
    /// Position in the plan of the second run.
    pub after: Option<usize>,
    /// What became of it.
    pub fate: CaseFate,
    /// What else differs between the two results.
    pub changed: Vec<ChangedCondition>,
}

/// A metric over the cases that have a score in both runs and were not edited.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedMetric {
    /// The criterion's metric, label included.
    pub metric: String,
    /// The number of cases.
    pub cases: usize,
    /// The mean in the first run. The score of a case is the mean over its attempts.
    pub before: f64,
    /// The mean in the second run.
    pub after: f64,
    /// The p-value of [`wilcoxon`]; `None` if no score differs.
    pub p: Option<f64>,
}

/// Two runs, compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunComparison {
    /// Every case of either run: in the order of the second run, then those of the first run only.
    pub cases: Vec<ComparedCase>,
    /// The metrics in the order of the second run.
    pub metrics: Vec<ComparedMetric>,
}

impl RunComparison {
    /// The cases of one fate.
    pub fn of(&self, fate: CaseFate) -> impl Iterator<Item = &ComparedCase> {
        self.cases.iter().filter(move |case| case.fate == fate)
    }

    /// The cases that passed in the first run and do not pass in the second: those that broke, and those that are not
    /// evaluated any more. Cases that were edited or are quarantined in the second run are left out.
    pub fn passed_only_before<'a>(
        &'a self,
        before: &'a RunState,
        after: &'a RunState,
    ) -> impl Iterator<Item = &'a ComparedCase> {
        let is_lost = move |case: &&ComparedCase| match (case.fate, case.before, case.after) {
            (CaseFate::Broke | CaseFate::NotEvaluated, Some(a), Some(b)) => {
                after.plan.cases.quarantine(b).is_none()
                    && passed(before, a) == Some(true)
                    && passed(after, b) != Some(true)
            }
            _ => false,
        };
        self.cases.iter().filter(move |case| is_lost(case))
    }

    /// The p-value of the exact McNemar test over the cases that broke and those that were fixed.
    pub fn p(&self) -> f64 {
        mcnemar(self.of(CaseFate::Broke).count(), self.of(CaseFate::Fixed).count())
    }
}

/// What is compared of a run beside its attempts, without texts of agents: for a run that is not stored as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunConditions {
    /// For each set of the plan, the label of its agent.
    pub agents: Vec<String>,
    /// The label of the judge.
    pub judge: Option<String>,
    /// For each case of the plan, a hash of what was expected; `None` if it is not known.
    pub expectations: Vec<Option<u128>>,
    /// For each case of the plan, the allowed variant that its score is based on.
    pub variants: Vec<Option<String>>,
}

impl RunConditions {
    /// The conditions of a run.
    pub fn of(run: &RunState) -> RunConditions {
        let cases = || 0..run.plan.cases.len();
        RunConditions {
            agents: run.plan.sets.iter().map(|set| set.agent_label()).collect(),
            judge: run.plan.judge.label(),
            expectations: cases().map(|case| expectation_of(&run.into(), case)).collect(),
            variants: cases().map(|case| variant_of(&run.into(), case)).collect(),
        }
    }
}

/// A run to compare.
#[derive(Clone, Copy, Debug)]
pub struct RunToCompare<'a> {
    /// Its plan and attempts.
    pub state: &'a RunState,
    /// Its conditions, if plan and attempts do not contain them.
    pub conditions: Option<&'a RunConditions>,
}

impl RunToCompare<'_> {
    /// The labels of the agents, joined for a headline.
    pub fn agent_label(&self) -> String {
        match self.conditions {
            None => self.state.plan.agent_label(),
            Some(conditions) => {
                let mut labels = conditions.agents.clone();
                labels.dedup();
                labels.join(", ")
            }
        }
    }
}

impl<'a> From<&'a RunState> for RunToCompare<'a> {
    fn from(state: &'a RunState) -> RunToCompare<'a> {
        RunToCompare { state, conditions: None }
    }
}

impl Deref for RunToCompare<'_> {
    type Target = RunState;

    fn deref(&self) -> &RunState {
        self.state
    }
}

/// Compares two runs. A case is identified by its file and id; with several cases of one id, by its content, then by
/// its order. A case that is missing in one run is the same as one that is missing in the other if their expected
/// turns, state, rubrics and scenario are equal: it was renamed or moved. A case counts as passed if all its attempts
/// passed; an error of the agent counts as not passed.
pub fn compare_runs<'a>(
    before: impl Into<RunToCompare<'a>>,
    after: impl Into<RunToCompare<'a>>,
) -> RunComparison {
    let (before, after) = (&before.into(), &after.into());
    let pairs = paired(before, after);
    let cases: Vec<ComparedCase> = pairs.iter().map(|(a, b)| compared_case(before, after, *a, *b)).collect();
    let metrics = compared_metrics(before, after, &cases);
    RunComparison { cases, metrics }
}

type Pair = (Option<usize>, Option<usize>);

/// The cases of the second run with those of the first run, then those of the first run alone.
fn paired(before: &RunToCompare, after: &RunToCompare) -> Vec<Pair> {
    let mut found: HashMap<usize, usize> = HashMap::new();
    let mut lost: Vec<usize> = cases_with_results(before).collect();
    pair_by(before, after, &mut lost, &mut found, |run, case| {
        Some((name_of(run, case), run.plan.cases.content(case)))
    });
    pair_by(before, after, &mut lost, &mut found, |run, case| Some(name_of(run, case)));
    pair_by(before, after, &mut lost, &mut found, expectation_of);
    let here = cases_with_results(after).map(|at| (found.get(&at).copied(), Some(at)));
    here.chain(lost.into_iter().map(|at| (Some(at), None))).collect()
}

/// Pairs the cases of the second run that are not in `found` with the cases of the first run in `lost` that have the
/// same key, in their order.
fn pair_by<'a, K: Eq + Hash>(
    before: &'a RunToCompare<'a>,
    after: &'a RunToCompare<'a>,
    lost: &mut Vec<usize>,
    found: &mut HashMap<usize, usize>,
    key: impl Fn(&'a RunToCompare<'a>, usize) -> Option<K>,
) {
    let open: Vec<usize> = cases_with_results(after).filter(|at| !found.contains_key(at)).collect();
    if lost.is_empty() || open.is_empty() {
        return;
    }
    let mut by_key: HashMap<K, VecDeque<usize>> = HashMap::new();
    for &at in lost.iter() {
        if let Some(key) = key(before, at) {
            by_key.entry(key).or_default().push_back(at);
        }
    }
    let mut paired: HashSet<usize> = HashSet::new();
    for at in open {
        let same = key(after, at).and_then(|key| by_key.get_mut(&key)?.pop_front());
        if let Some(other) = same {
            found.insert(at, other);
            paired.insert(other);
        }
    }
    lost.retain(|at| !paired.contains(at));
}

fn cases_with_results(run: &RunState) -> impl Iterator<Item = usize> {
    (0..run.plan.cases.len()).filter(|at| run.has_ended(*at))
}

fn name_of(run: &RunState, case: usize) -> (&Path, &str) {
    (run.plan.set_of(case).path.as_path(), run.plan.cases.eval_id(case))
}

fn is_same_content(before: &RunState, a: usize, after: &RunState, b: usize) -> bool {
    before.plan.cases.content(a) == after.plan.cases.content(b)
}

/// A hash of what is expected of a case: turns, session state, rubrics and scenario. `None` for an attempt that cannot
/// be read, and for one with neither turns nor a scenario, such as that of a line that is not JSON: such cases are not
/// the same case.
fn expectation_of(run: &RunToCompare, case: usize) -> Option<u128> {
    if let Some(conditions) = run.conditions {
        return conditions.expectations.get(case).copied().flatten();
    }
    let attempt = run.attempts_of(case).first()?.read().ok()?;
    if attempt.expected.is_empty() && attempt.scenario.is_none() {
        return None;
    }
    let expected = (&attempt.expected, &attempt.expected_state, &attempt.rubrics, &attempt.scenario);
    Some(xxhash_rust::xxh3::xxh3_128(&serde_json::to_vec(&expected).ok()?))
}

fn compared_case(
    before: &RunToCompare,
    after: &RunToCompare,
    a: Option<usize>,
    b: Option<usize>,
) -> ComparedCase {
    let (fate, changed) = match (a, b) {
        (Some(a), Some(b)) => (fate_of(before, a, after, b), changed_conditions(before, a, after, b)),
        (Some(_), None) => (CaseFate::OnlyBefore, Vec::new()),
        (None, _) => (CaseFate::OnlyAfter, Vec::new()),
    };
    ComparedCase { before: a, after: b, fate, changed }
}

fn fate_of(before: &RunToCompare, a: usize, after: &RunToCompare, b: usize) -> CaseFate {
    if is_edited(before, a, after, b) {
        return CaseFate::Edited;
    }
    match (passed(before, a), passed(after, b)) {
        (Some(true), Some(true)) => CaseFate::StillPassing,
        (Some(true), Some(false)) => CaseFate::Broke,
        (Some(false), Some(true)) => CaseFate::Fixed,
        (Some(false), Some(false)) => CaseFate::StillFailing,
        (None, _) | (_, None) => CaseFate::NotEvaluated,
    }
}

/// Whether all attempts of a case passed. `None` if an attempt was not evaluated and none failed or errored.
fn passed(run: &RunState, case: usize) -> Option<bool> {
    let attempts = run.attempts_of(case);
    let has = |status: Status| attempts.iter().any(|attempt| attempt.status == status);
    match has(Status::Failed) || has(Status::Errored) {
        true => Some(false),
        false => attempts.iter().all(|attempt| attempt.status == Status::Passed).then_some(true),
    }
}

/// Whether the case is not the same in both runs. A renamed case was found by its equal expectation. Where the responses
/// are saved in the cases, new responses are what is compared, so that only what is expected counts.
fn is_edited(before: &RunToCompare, a: usize, after: &RunToCompare, b: usize) -> bool {
    if name_of(before, a) != name_of(after, b) || is_same_content(before, a, after, b) {
        return false;
    }
    let is_saved = |run: &RunToCompare, case: usize| run.plan.set_of(case).agent == AgentSpec::Saved;
    let both_saved = is_saved(before, a) && is_saved(after, b);
    let expectation = expectation_of(before, a).filter(|_| both_saved);
    expectation.is_none() || expectation != expectation_of(after, b)
}

fn changed_conditions(
    before: &RunToCompare,
    a: usize,
    after: &RunToCompare,
    b: usize,
) -> Vec<ChangedCondition> {
    let (old, new) = (before.plan.set_of(a), after.plan.set_of(b));
    let is_judged = |run: &RunToCompare, case: usize| {
        run.attempts_of(case).iter().any(|attempt| attempt.metrics.iter().any(|metric| metric.judged))
    };
    let judged = is_judged(before, a) || is_judged(after, b);
    let has = [
        (ChangedCondition::Criteria, old.criteria != new.criteria),
        (ChangedCondition::Agent, is_other_agent(before, a, after, b)),
        (ChangedCondition::Tools, old.tools != new.tools || old.stubs != new.stubs),
        (ChangedCondition::Judge, judged && is_other_judge(before, after)),
        (ChangedCondition::Variant, variant_of(before, a) != variant_of(after, b)),
        (ChangedCondition::Name, name_of(before, a) != name_of(after, b)),
    ];
    has.into_iter().filter(|(_, differs)| *differs).map(|(condition, _)| condition).collect()
}

/// Whether the agents differ. With a run that is not stored as a whole, their labels are compared.
fn is_other_agent(before: &RunToCompare, a: usize, after: &RunToCompare, b: usize) -> bool {
    let label = |run: &RunToCompare, case: usize| {
        let set = run.plan.cases.set(case);
        let known = run.conditions.and_then(|conditions| conditions.agents.get(set).cloned());
        known.unwrap_or_else(|| run.plan.sets[set].agent_label())
    };
    match before.conditions.or(after.conditions) {
        None => before.plan.set_of(a).agent != after.plan.set_of(b).agent,
        Some(_) => label(before, a) != label(after, b),
    }
}

fn is_other_judge(before: &RunToCompare, after: &RunToCompare) -> bool {
    let label = |run: &RunToCompare| match run.conditions {
        Some(conditions) => conditions.judge.clone(),
        None => run.plan.judge.label(),
    };
    match before.conditions.or(after.conditions) {
        None => before.plan.judge != after.plan.judge,
        Some(_) => label(before) != label(after),
    }
}

/// The allowed variant that a score of the case is based on.
fn variant_of(run: &RunToCompare, case: usize) -> Option<String> {
    match run.conditions {
        Some(conditions) => conditions.variants.get(case)?.clone(),
        None => {
            run.state.attempts_of(case).into_iter().find_map(|attempt| attempt.variant().map(str::to_string))
        }
    }
}

fn compared_metrics(
    before: &RunToCompare,
    after: &RunToCompare,
    cases: &[ComparedCase],
) -> Vec<ComparedMetric> {
    let comparable = cases.iter().filter(|case| case.fate != CaseFate::Edited);
    let pairs: Vec<(usize, usize)> = comparable.filter_map(|case| case.before.zip(case.after)).collect();
    // One pass over the cases: the summaries of their attempts are compressed in the order of the cases.
    let mut found: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for (a, b) in pairs {
        let (a, b) = (before.attempts_of(a), after.attempts_of(b));
        for metric in b.iter().flat_map(|attempt| &attempt.metrics) {
            if !found.iter().any(|(name, _)| *name == metric.metric) {
                found.push((metric.metric.clone(), Vec::new()));
            }
        }
        for (name, scores) in &mut found {
            scores.extend(score(&a, name).zip(score(&b, name)));
        }
    }
    found.into_iter().filter_map(|(metric, scores)| compared_metric(metric, &scores)).collect()
}

/// Compares the scores of a metric in two runs, case by case.
fn compared_metric(metric: String, scores: &[(f64, f64)]) -> Option<ComparedMetric> {
    let cases = scores.len();
    let mean = |of: fn(&(f64, f64)) -> f64| scores.iter().map(of).sum::<f64>() / cases as f64;
    // Means of equal scores in another order may differ in their last digits.
    let differences: Vec<f64> = scores.iter().map(|(a, b)| ((b - a) * 1e9).round() / 1e9).collect();
    (cases > 0).then(|| ComparedMetric {
        metric,
        cases,
        before: mean(|(a, _)| *a),
        after: mean(|(_, b)| *b),
        p: wilcoxon(&differences),
    })
}

/// The mean score over the attempts of a case that have one.
fn score(attempts: &[Arc<EndedAttempt>], metric: &str) -> Option<f64> {
    let of = |attempt: &Arc<EndedAttempt>| attempt.metrics.iter().find(|one| one.metric == metric)?.score;
    let scores: Vec<f64> = attempts.iter().filter_map(of).collect();
    (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Attempt, AttemptKey, Content, Criterion, Invocation, JudgeSpec, PlannedCase, PlannedCases,
        PlannedSet, RunEvent, RunOptions, RunPlan, UserSpec,
    };
    use crate::metrics::unscored;

    /// A case: file, id, content, and whether each of its attempts passed.
    type Case<'a> = (&'a str, &'a str, &'a str, &'a [bool]);

    fn run(cases: &[Case], change: impl Fn(&mut RunPlan)) -> RunState {
        let mut files: Vec<&str> = cases.iter().map(|(file, ..)| *file).collect();
        files.dedup();
        let set = |file: &&str| PlannedSet {
            stubs: None,
            tools: Default::default(),
            id: file.to_string(),
            file: file.to_string(),
            path: file.into(),
            digest: String::new(),
            agent: AgentSpec::Kept,
            agent_name: String::new(),
            agent_jobs: None,
            file_cases: None,
            app_dir: None,
            criteria: Vec::new(),
            user: UserSpec::default(),
        };
        let planned = |(index, (file, id, content, _)): (usize, &Case)| PlannedCase {
            set: files.iter().position(|other| other == file).unwrap(),
            index,
            eval_id: id.to_string().into(),
            content: content.to_string().into(),
            quarantine: None,
        };
        let mut plan = RunPlan {
            commit: None,
            run_id: "r".into(),
            started: String::new(),
            sets: files.iter().map(set).collect(),
            cases: PlannedCases::of(cases.iter().enumerate().map(planned)).unwrap(),
            options: RunOptions::default(),
            judge: JudgeSpec::standard(),
        };
        change(&mut plan);
        let mut state = RunState::new(Arc::new(plan));
        for (case, (_, id, content, attempts)) in cases.iter().enumerate() {
            for (at, passed) in attempts.iter().enumerate() {
                let status = if *passed { Status::Passed } else { Status::Failed };
                let criterion = Criterion::new("m", Some(0.5));
                let mut metric = unscored(&criterion, 0, status, "");
                metric.score = Some(f64::from(u8::from(*passed)));
                // The turns are those of the content without the name that ends it.
                let said = content.split('@').next().unwrap();
                let turn = Invocation { user: Content::text("user", said), ..Invocation::default() };
                let key = AttemptKey { case, attempt: at as u32 + 1 };
                let attempt = Attempt {
                    status,
                    metrics: vec![metric],
                    expected: vec![turn].into(),
                    ..Attempt::blank(key, id)
                };
                state.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(attempt))));
            }
        }
        state
    }

    /// The cases of each fate by their id in the second run, else in the first.
    fn fates(before: &[Case], after: &[Case]) -> Vec<(&'static str, Vec<String>)> {
        let (a, b) = (run(before, |_| {}), run(after, |_| {}));
        let compared = compare_runs(&a, &b);
        let id = |case: &ComparedCase| match (case.before, case.after) {
            (_, Some(at)) => b.plan.cases.eval_id(at).to_string(),
            (at, None) => a.plan.cases.eval_id(at.unwrap()).to_string(),
        };
        let of = |fate: CaseFate| (fate.key(), compared.of(fate).map(id).collect::<Vec<_>>());
        CaseFate::ALL.into_iter().map(of).filter(|(_, ids)| !ids.is_empty()).collect()
    }

    #[test]
    fn each_planted_difference_is_in_its_list() {
        const YES: &[bool] = &[true];
        const NO: &[bool] = &[false];
        let before: &[Case] = &[
            ("s", "breaks", "1", YES),
            ("s", "mends", "2", NO),
            ("s", "stays", "3", YES),
            ("s", "fails", "4", NO),
            ("s", "golden", "5", NO),
            ("s", "old name", "6@old", YES),
            ("s", "moves", "7@s", YES),
            ("s", "gone", "8", YES),
            ("s", "never ran", "9", &[]),
            ("s", "shaky", "10", &[true, true]),
        ];
        let after: &[Case] = &[
            ("s", "new", "11", NO),
            ("s", "breaks", "1", NO),
            ("s", "mends", "2", YES),
            ("s", "stays", "3", YES),
            ("s", "fails", "4", NO),
            ("s", "golden", "5 edited", YES),
            ("s", "new name", "6@new", NO),
            ("s", "never ran", "9", YES),
            ("s", "shaky", "10", &[true, false]),
            ("t", "moves", "7@t", YES),
        ];
        let strings = |ids: &[&str]| ids.iter().map(|id| id.to_string()).collect::<Vec<_>>();
        assert_eq!(
            fates(before, after),
            [
                ("broke", strings(&["breaks", "new name", "shaky"])),
                ("fixed", strings(&["mends"])),
                ("edited", strings(&["golden"])),
                ("still_failing", strings(&["fails"])),
                ("still_passing", strings(&["stays", "moves"])),
                ("only_before", strings(&["gone"])),
                ("only_after", strings(&["new", "never ran"])),
            ]
        );
    }

    #[test]
    fn what_was_not_evaluated_is_neither_broken_nor_fixed() {
        let cases: &[Case] = &[("s", "a", "1", &[true]), ("s", "b", "2", &[false])];
        let before = run(cases, |_| {});
        let mut after = run(&[("s", "a", "1", &[]), ("s", "b", "2", &[])], |_| {});
        for (case, status) in [(0, Status::NotEvaluated), (1, Status::Errored)] {
            let attempt = Attempt { status, ..Attempt::blank(AttemptKey { case, attempt: 1 }, "x") };
            after.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(attempt))));
        }
        let fates = |a: &RunState, b: &RunState| -> Vec<CaseFate> {
            compare_runs(a, b).cases.iter().map(|case| case.fate).collect()
        };
        assert_eq!(fates(&before, &after), [CaseFate::NotEvaluated, CaseFate::StillFailing]);
        assert_eq!(fates(&after, &before), [CaseFate::NotEvaluated, CaseFate::StillFailing]);
    }

    #[test]
    fn an_edit_of_the_expected_state_is_no_fix() {
        let with_state = |content: &'static str, passed: bool, state: i32| {
            let mut run = run(&[("s", "a", content, &[])], |plan| plan.sets[0].agent = AgentSpec::Saved);
            let status = if passed { Status::Passed } else { Status::Failed };
            let expected_state = Some(serde_json::json!({"lamp": state}));
            let key = AttemptKey { case: 0, attempt: 1 };
            let expected = vec![Invocation::default()].into();
            let attempt = Attempt { status, expected, expected_state, ..Attempt::blank(key, "a") };
            run.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(attempt))));
            run
        };
        let fate = |after: &RunState| compare_runs(&with_state("1", false, 1), after).cases[0].fate;
        assert_eq!(fate(&with_state("2", true, 2)), CaseFate::Edited);
        assert_eq!(fate(&with_state("2", true, 1)), CaseFate::Fixed);
    }

    #[test]
    fn cases_of_which_nothing_is_expected_are_not_taken_for_one_another() {
        let broken = |id: &'static str| {
            let mut run = run(&[("s", id, id, &[])], |_| {});
            let key = AttemptKey { case: 0, attempt: 1 };
            let attempt = Attempt { status: Status::Errored, ..Attempt::blank(key, id) };
            run.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(attempt))));
            run
        };
        let found = compare_runs(&broken("line 2"), &broken("line 9"));
        let fates: Vec<CaseFate> = found.cases.iter().map(|case| case.fate).collect();
        assert_eq!(fates, [CaseFate::OnlyAfter, CaseFate::OnlyBefore]);
    }

    #[test]
    fn equal_ids_are_told_apart_by_content_then_by_order() {
        let before: &[Case] =
            &[("s", "a", "1", &[true]), ("s", "a", "2", &[false]), ("s", "a", "3", &[true])];
        let after: &[Case] = &[("s", "a", "2", &[false]), ("s", "a", "1", &[true]), ("s", "a", "4", &[true])];
        let found = compare_runs(&run(before, |_| {}), &run(after, |_| {}));
        let pairs: Vec<_> = found.cases.iter().map(|case| (case.before, case.after, case.fate)).collect();
        assert_eq!(
            pairs,
            [
                (Some(1), Some(0), CaseFate::StillFailing),
                (Some(0), Some(1), CaseFate::StillPassing),
                (Some(2), Some(2), CaseFate::Edited),
            ]
        );
    }

    #[test]
    fn new_saved_responses_are_compared_and_new_expectations_are_not() {
        let saved = |plan: &mut RunPlan| plan.sets[0].agent = AgentSpec::Saved;
        let before = run(&[("s", "a", "1@old response", &[false]), ("s", "b", "2", &[false])], saved);
        let after = run(&[("s", "a", "1@new response", &[true]), ("s", "b", "3", &[true])], saved);
        let fates: Vec<CaseFate> = compare_runs(&before, &after).cases.iter().map(|case| case.fate).collect();
        assert_eq!(fates, [CaseFate::Fixed, CaseFate::Edited]);
    }

    #[test]
    fn changed_conditions_are_told_and_edited_cases_are_in_no_number() {
        let cases: &[Case] = &[("s", "a", "1", &[true]), ("s", "b", "2", &[true])];
        let later: &[Case] = &[("s", "a", "1", &[false]), ("s", "b", "edited", &[false])];
        let after = run(later, |plan| {
            plan.sets[0].criteria.push(Criterion::new("other", None));
            plan.sets[0].agent_name = "shown under another name".into();
        });
        let found = compare_runs(&run(cases, |_| {}), &after);
        assert_eq!(found.cases[0].changed, [ChangedCondition::Criteria]);
        let metric = &found.metrics[0];
        assert_eq!((metric.cases, metric.before, metric.after, metric.p), (1, 1.0, 0.0, Some(1.0)));
        assert_eq!(found.p(), 1.0);
        let ids = ["1", "2", "3", "4", "5", "6"];
        let six = |passed: &'static [bool]| ids.map(|id| ("s", id, id, passed));
        let found = compare_runs(&run(&six(&[true]), |_| {}), &run(&six(&[false]), |_| {}));
        assert!((found.p() - 0.03125).abs() < 1e-12, "six of six broke");
        assert_eq!(found.metrics[0].p, Some(0.03125));
    }
}
