//! `evaltrail judge calibrate`: how far the judge can be believed, by the verdicts that people gave.

use super::Exit;
use super::output::{print_json, print_line, print_note};
use clap::Args;
use evaltrail_core::analysis::{
    Calibration, CalibrationVerdict, CorrectedRate, LEAST_RATE, PassCount,
};
use evaltrail_core::domain::{HumanVerdict, RunState, Status, clean_line, counted};
use evaltrail_core::metrics::{Agreement, agreements};
use evaltrail_engine::history::{History, RunSummary};
use evaltrail_engine::runner::{history_of, load_past_run};
use evaltrail_engine::store::read_verdicts;
use evaltrail_engine::workspace::Workspace;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;

/// Maximum number of attempts of the latest run that are read for the pass rates of rubrics.
const MAX_READ: usize = 5_000;

/// Show how often the judge finds what people find, and pass rates that are corrected for its errors
#[derive(Args, Debug)]
#[command(
    after_help = "People's verdicts are those given in the explorer, for a judged case. For each metric and rubric: of what people accept and refuse, how much the judge accepts and refuses (95 % interval of Wilson); Cohen's kappa; agreement, beside that of a judge that always says the same. Calibrated: the lower bounds of both rates are at least 0.80. The corrected rate of the latest run is that of Rogan and Gladen, with the interval of Lang and Reiczigel."
)]
pub(super) struct CalibrateArgs {
    /// Folder with runs and verdicts
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// Print the table as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// What is known of the verdicts of one judge on one metric or rubric.
struct CalibratedVerdicts {
    /// The judge, as its runs name it; `None` if none of them is there any more.
    judge: Option<String>,
    agreement: Agreement,
    calibration: Calibration,
    /// What the judge accepted in the latest run, if that has this metric and this judge.
    latest: Option<PassCount>,
}

impl CalibratedVerdicts {
    fn corrected(&self) -> Option<CorrectedRate> {
        self.calibration.corrected_rate(self.latest?)
    }

    fn name(&self) -> String {
        let Agreement {
            metric, rubric_id, ..
        } = &self.agreement;
        let rubric = rubric_id.as_ref();
        clean_line(&rubric.map_or(metric.clone(), |rubric| format!("{metric} › {rubric}")))
            .into_owned()
    }
}

pub(super) fn calibrate(args: &CalibrateArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.path)?;
    let verdicts = read_verdicts(&workspace.root);
    let history = history_of(&workspace);
    let latest = match verdicts.is_empty() {
        true => None,
        false => latest_judged(&workspace, &history),
    };
    let found = calibrated(&verdicts, &history, latest.as_ref());
    if args.json {
        print_json(&serde_json::to_string_pretty(&as_json(
            &found,
            latest.as_ref(),
        ))?);
        return Ok(Exit::Success);
    }
    if found.is_empty() {
        print_note(
            "there are no verdicts by people: in the explorer, the command `your verdict` on a judged case gives one",
        );
        return Ok(Exit::Success);
    }
    let mut judge = None;
    for one in &found {
        let named = one
            .judge
            .as_deref()
            .unwrap_or("judge of runs that are not here any more");
        if judge != Some(named) {
            print_line(&clean_line(named));
            judge = Some(named);
        }
        lines_of(one).iter().for_each(|line| {
            print_line(line);
        });
    }
    if let Some((run, _)) = &latest {
        let other = found
            .iter()
            .all(|one| one.judge.as_deref() != Some(judge_of(run)));
        if other {
            print_note(&clean_line(&format!(
                "the latest judged run {} has another judge, {}, about which no verdict was given",
                run.run_id,
                judge_of(run)
            )));
        }
    }
    Ok(Exit::Success)
}

/// The judge of a run.
fn judge_of(run: &RunSummary) -> &str {
    run.judge.as_deref().unwrap_or("judge of the criteria")
}

/// The newest run with a judged metric.
fn latest_judged<'a>(
    workspace: &Workspace,
    history: &'a History,
) -> Option<(&'a RunSummary, RunState)> {
    let is_judged = |state: &RunState| {
        let mut attempts = state.finished.iter();
        attempts.any(|attempt| attempt.metrics.iter().any(|metric| metric.judged))
    };
    let whole = history.ours().filter(|run| run.turn.is_none());
    let mut loaded =
        whole.filter_map(|run| Some((run, load_past_run(workspace, history, run).ok()?.state)));
    loaded.find(|(_, state)| is_judged(state))
}

/// The verdicts by judge, metric and rubric.
fn calibrated(
    verdicts: &[HumanVerdict],
    history: &History,
    latest: Option<&(&RunSummary, RunState)>,
) -> Vec<CalibratedVerdicts> {
    let judges: HashMap<&str, &str> = history
        .ours()
        .map(|run| (run.run_id.as_str(), judge_of(run)))
        .collect();
    let mut by_judge: Vec<(Option<&str>, Vec<HumanVerdict>)> = Vec::new();
    for verdict in verdicts {
        let judge = judges.get(verdict.run_id.as_str()).copied();
        match by_judge.iter_mut().find(|(known, _)| *known == judge) {
            Some((_, all)) => all.push(verdict.clone()),
            None => by_judge.push((judge, vec![verdict.clone()])),
        }
    }
    let of_judge = |(judge, verdicts): (Option<&str>, Vec<HumanVerdict>)| {
        let of_latest = latest.filter(|(run, _)| Some(judge_of(run)) == judge);
        let found = agreements(&verdicts)
            .into_iter()
            .filter(|one| one.compared() > 0);
        let found = found.map(|agreement| CalibratedVerdicts {
            judge: judge.map(str::to_string),
            calibration: Calibration::new(&agreement),
            latest: of_latest.and_then(|(_, state)| accepted_in(state, &agreement)),
            agreement,
        });
        found.collect::<Vec<_>>()
    };
    by_judge.into_iter().flat_map(of_judge).collect()
}

/// How much of a run the judge accepted for a metric or rubric, in the first attempt of each case: more attempts of a case depend on
/// each other. `None` if it judged none of it.
fn accepted_in(state: &RunState, of: &Agreement) -> Option<PassCount> {
    let mut count = PassCount::default();
    let mut add = |accepted: bool| {
        count.of += 1;
        count.passed += usize::from(accepted);
    };
    let with_metric = state.finished.iter().filter(|attempt| {
        let mut metrics = attempt.metrics.iter();
        attempt.key.attempt == 1 && metrics.any(|metric| metric.metric == of.metric)
    });
    for attempt in with_metric.take(MAX_READ) {
        match &of.rubric_id {
            None => {
                let mut metrics = attempt.metrics.iter();
                let metric = metrics.find(|metric| metric.metric == of.metric);
                match metric.map(|metric| metric.status) {
                    Some(Status::Passed) => add(true),
                    Some(Status::Failed) => add(false),
                    _ => {}
                }
            }
            Some(rubric) => {
                let Ok(attempt) = attempt.read() else {
                    continue;
                };
                let metrics = attempt
                    .metrics
                    .iter()
                    .filter(|metric| metric.metric == of.metric);
                let rubrics = metrics.flat_map(|metric| &metric.rubrics);
                let score = rubrics
                    .filter(|one| one.rubric_id == *rubric)
                    .find_map(|one| one.score());
                score.into_iter().for_each(|score| add(score >= 0.5));
            }
        }
    }
    (count.of > 0).then_some(count)
}

/// A rate with its interval: "0.92 (0.75–0.98, 23 of 25)".
fn rate_text(count: PassCount) -> String {
    match count.rate().zip(count.interval()) {
        Some((rate, (low, high))) => {
            format!(
                "{rate:.2} ({low:.2}–{high:.2}, {} of {})",
                count.passed, count.of
            )
        }
        None => "not measurable".into(),
    }
}

fn lines_of(one: &CalibratedVerdicts) -> Vec<String> {
    let CalibratedVerdicts {
        agreement,
        calibration,
        ..
    } = one;
    let share =
        |share: Option<f64>| share.map_or("–".into(), |share| format!("{:.0} %", share * 100.0));
    let kappa = agreement
        .kappa()
        .map_or("–".into(), |kappa| format!("{kappa:.2}"));
    let mut lines = vec![
        format!("  {}: {}", one.name(), verdict_text(calibration)),
        format!(
            "    accepts what people accept: {}; refuses what people refuse: {}",
            rate_text(calibration.accepted),
            rate_text(calibration.refused)
        ),
        format!(
            "    agreement {}, of a judge that always says the same {}; kappa {kappa}{}",
            share(agreement.share()),
            share(calibration.constant_agreement()),
            match agreement.no_verdict {
                0 => String::new(),
                count => format!(
                    "; {} without a verdict of the judge",
                    counted(count as usize, "label")
                ),
            }
        ),
    ];
    if let Some(latest) = one.latest {
        let judged = latest.rate().unwrap_or_default() * 100.0;
        let corrected = match one.corrected() {
            Some(CorrectedRate {
                rate,
                interval: (low, high),
            }) => format!(
                "corrected {:.0} % (95 %: {:.0}–{:.0} %)",
                rate * 100.0,
                low * 100.0,
                high * 100.0
            ),
            None => "a corrected rate is not measurable".into(),
        };
        lines.push(format!(
            "    the latest run: {judged:.0} % of {} accepted by the judge, {corrected}",
            counted(latest.of, "case")
        ));
    }
    lines
}

fn verdict_text(calibration: &Calibration) -> String {
    let needed = |count: Option<usize>, what: &str| match count {
        Some(0) => None,
        Some(count) => Some(format!("about {count} more labels that {what}")),
        None => Some(format!(
            "thousands of labels that {what}, or it finds too little of that"
        )),
    };
    match calibration.verdict() {
        CalibrationVerdict::Calibrated => "calibrated".into(),
        CalibrationVerdict::NotMeasurable => {
            "not measurable: labels that accept and labels that refuse are needed".into()
        }
        CalibrationVerdict::NotCalibrated {
            accepting,
            refusing,
        } => {
            let both = [needed(accepting, "accept"), needed(refusing, "refuse")];
            let needed: Vec<String> = both.into_iter().flatten().collect();
            format!(
                "not calibrated, {LEAST_RATE:.2} is needed as the lower bound of both rates: {}",
                needed.join(", ")
            )
        }
    }
}

fn as_json(found: &[CalibratedVerdicts], latest: Option<&(&RunSummary, RunState)>) -> Value {
    let rate = |count: PassCount| {
        json!({"right": count.passed, "labels": count.of, "rate": count.rate(),
               "interval": count.interval().map(|(low, high)| [low, high])})
    };
    let row = |one: &CalibratedVerdicts| {
        let (agreement, calibration) = (&one.agreement, &one.calibration);
        let verdict = match calibration.verdict() {
            CalibrationVerdict::Calibrated => "calibrated",
            CalibrationVerdict::NotCalibrated { .. } => "not_calibrated",
            CalibrationVerdict::NotMeasurable => "not_measurable",
        };
        json!({
            "judge": one.judge, "metric": agreement.metric, "rubric": agreement.rubric_id,
            "verdict": verdict,
            "true_positive": rate(calibration.accepted), "true_negative": rate(calibration.refused),
            "agreement": agreement.share(), "constant_agreement": calibration.constant_agreement(),
            "kappa": agreement.kappa(), "without_verdict": agreement.no_verdict,
            "latest": one.latest.map(|count| json!({"accepted": count.passed, "judged": count.of, "rate": count.rate()})),
            "corrected": one.corrected().map(|of| json!({"rate": of.rate, "interval": [of.interval.0, of.interval.1]})),
        })
    };
    json!({
        "latest_run": latest.map(|(run, _)| json!({"run_id": run.run_id, "judge": judge_of(run)})),
        "least_rate": LEAST_RATE,
        "calibrations": found.iter().map(row).collect::<Vec<_>>(),
    })
}
