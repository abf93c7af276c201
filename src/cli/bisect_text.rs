//! What `evaltrail bisect` prints.

use evaltrail_core::analysis::{Bisection, BisectionVerdict, ChangePosterior, PassCount};
use evaltrail_core::domain::{clean_line, counted};
use evaltrail_engine::bisect::{CodeState, Commit, short_commit};
use serde_json::{Value, json};

/// The number of steps of the picture of a posterior.
const PICTURE: usize = 32;

/// What a step showed, and how likely each change is after it: a block for each part of the commits.
pub(super) fn progress_line(
    commits: &[Commit],
    states: &[CodeState],
    state: usize,
    counts: &[PassCount],
    likely: &ChangePosterior,
) -> String {
    let sum = sum_of(counts.iter().copied());
    let commit = short_commit(&commits[states[state].first].id);
    let (best, probability) = likeliest(likely);
    let hint = match probability > likely.none {
        true => format!(
            "{:>4} {}",
            percent(probability),
            short_commit(&commits[states[best].first].id)
        ),
        false => format!("{:>4} no change", percent(likely.none)),
    };
    format!(
        "{commit}  {:>7} passed  │{}│  {hint}",
        format!("{}/{}", sum.passed, sum.of),
        picture(likely)
    )
}

/// The probabilities of the changes as blocks, the oldest at the left, as high as their share of the highest one.
fn picture(likely: &ChangePosterior) -> String {
    let changes = &likely.changes[1..];
    let width = PICTURE.min(changes.len());
    let part = |at: usize| {
        changes[at * changes.len() / width..(at + 1) * changes.len() / width]
            .iter()
            .sum::<f64>()
    };
    let parts: Vec<f64> = (0..width).map(part).collect();
    let most = parts.iter().copied().fold(0.0, f64::max);
    let block = |part: f64| match (part / most * 8.0).round() as usize {
        0 => ' ',
        eighths => ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][eighths.min(8) - 1],
    };
    parts.into_iter().map(block).collect()
}

/// The most likely change, and its probability.
fn likeliest(likely: &ChangePosterior) -> (usize, f64) {
    let changes = likely.changes.iter().copied().enumerate().skip(1);
    changes
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .unwrap_or((1, 0.0))
}

fn sum_of(counts: impl Iterator<Item = PassCount>) -> PassCount {
    counts.fold(PassCount::default(), |sum, one| PassCount {
        passed: sum.passed + one.passed,
        of: sum.of + one.of,
    })
}

/// The answer in lines.
pub(super) fn conclusion(
    commits: &[Commit],
    states: &[CodeState],
    bisection: &Bisection,
    verdict: BisectionVerdict,
    attempts: usize,
) -> Vec<String> {
    let made = format!("{} made by this search", counted(attempts, "attempt"));
    let line = |state: usize| commit_line(&commits[states[state].first]);
    match verdict {
        BisectionVerdict::Found {
            first,
            last,
            probability,
        } => {
            let probability = percent(probability);
            let heading = match first == last {
                true => format!("the change is, with {probability}:"),
                false => format!(
                    "the change is one of these, with {probability}; those before the last cannot be run:"
                ),
            };
            let before = passed_text(bisection.attempts_in(0..first));
            let after = passed_text(bisection.attempts_in(last..states.len()));
            let evidence = format!("before it {before}, from it on {after}; {made}");
            let suspects = (first..=last).map(line);
            std::iter::once(heading)
                .chain(suspects)
                .chain([evidence])
                .collect()
        }
        BisectionVerdict::NoChange(probability) => vec![format!(
            "no fall of the pass rate by 10 points or more between these commits, with {}: {}; {made}",
            percent(probability),
            passed_text(bisection.attempts_in(0..states.len()))
        )],
        BisectionVerdict::Undecided => undecided(&bisection.posterior(), &made, line),
    }
}

/// That nothing is decided, with the most likely changes.
fn undecided(
    likely: &ChangePosterior,
    made: &str,
    commit: impl Fn(usize) -> String,
) -> Vec<String> {
    let mut ranked: Vec<(usize, f64)> =
        likely.changes.iter().copied().enumerate().skip(1).collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let line = |(state, probability): (usize, f64)| {
        format!("{:>4}  {}", percent(probability), commit(state))
    };
    let heading = format!(
        "not decided; no change: {}; {made}. The most likely changes:",
        percent(likely.none)
    );
    let shown = ranked
        .into_iter()
        .take(5)
        .filter(|(_, probability)| *probability >= 0.01);
    std::iter::once(heading).chain(shown.map(line)).collect()
}

fn passed_text(of: PassCount) -> String {
    format!("{} of {} attempts passed", of.passed, of.of)
}

fn percent(probability: f64) -> String {
    // Never certain.
    format!("{:.0} %", (probability * 100.0).min(99.0))
}

fn commit_line(commit: &Commit) -> String {
    let text = format!(
        "{}  {}  {}  {}",
        short_commit(&commit.id),
        commit.day,
        commit.author,
        commit.subject
    );
    clean_line(&text).into_owned()
}

/// The answer as JSON.
pub(super) fn answer_json(
    commits: &[Commit],
    states: &[CodeState],
    bisection: &Bisection,
    verdict: BisectionVerdict,
    attempts: usize,
) -> Value {
    let likely = bisection.posterior();
    let commit = |at: usize| {
        let commit = &commits[at];
        json!({"commit": commit.id, "author": commit.author, "day": commit.day, "subject": commit.subject})
    };
    let (name, probability, found) = match verdict {
        BisectionVerdict::Found {
            first,
            last,
            probability,
        } => (
            "found",
            Some(probability),
            (first..=last)
                .map(|state| commit(states[state].first))
                .collect(),
        ),
        BisectionVerdict::NoChange(probability) => ("no_change", Some(probability), Vec::new()),
        BisectionVerdict::Undecided => ("undecided", None, Vec::new()),
    };
    let state = |at: usize| {
        let count = bisection.attempts_in(std::iter::once(at));
        json!({"commit": commits[states[at].first].id, "commits": states[at].last + 1 - states[at].first,
               "passed": count.passed, "attempts": count.of, "skipped": bisection.is_skipped(at),
               "probability": likely.changes[at]})
    };
    json!({
        "verdict": name,
        "probability": probability,
        "commits": found,
        "attempts": attempts,
        "no_change": likely.none,
        "states": (0..states.len()).map(state).collect::<Vec<_>>(),
    })
}
