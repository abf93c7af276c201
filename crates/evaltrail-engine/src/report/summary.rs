//! The summary at the end of a run, for a terminal or a log.

use super::cause_states::{CauseStates, is_new_or_back, state_text};
use super::failures::{
    FailedCase, ListedGroup, change_for, failed_cases, groups_headline, groups_of, listed_groups,
    percent, reason_in_group,
};
use super::metric_table::metric_table;
use super::paint::Paint;
use super::remarks::before_reason;
use super::unscored::unscored_lines;
use evaltrail_core::analysis::{
    CauseTrend, PassCount, RepeatedPass, RepeatedPasses, repeated_passes,
};
use evaltrail_core::domain::{
    AgentSpec, Cause, EndedAttempt, Gate, RunState, Status, clean_line, counted,
};
use std::fmt::Write;
use std::sync::Arc;

/// The sign of a case of which only some attempts passed, as in the explorer.
const FLAKY: &str = "±";
/// The maximum number of causes that are gone, by name.
const MAX_GONE: usize = 5;

/// The maximum numbers of what is listed at the end of a run.
#[derive(Clone, Copy)]
struct Limits {
    /// Cases, each with its own reason.
    failures: usize,
    /// Cases of a group.
    members: usize,
    /// Groups.
    groups: usize,
}

impl Limits {
    fn new(lists_all: bool) -> Limits {
        match lists_all {
            true => Limits {
                failures: usize::MAX,
                members: usize::MAX,
                groups: usize::MAX,
            },
            false => Limits {
                failures: 50,
                members: 10,
                groups: 20,
            },
        }
    }
}

/// How much is printed about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// Only what did not pass.
    Quiet,
    /// A line for each attempt; at the end, the metrics, and why cases did not pass.
    Normal,
    /// The turns and the scores of each attempt, too.
    Verbose,
}

/// How the summary of a run is printed.
#[derive(Clone, Copy, Debug)]
pub struct SummaryStyle {
    /// Whether it is coloured.
    pub paint: Paint,
    /// How much is printed.
    pub verbosity: Verbosity,
    /// Whether all cases that did not pass are listed, however many there are.
    pub lists_all: bool,
}

/// The commands that usually follow a run.
#[derive(Clone, Copy, Debug)]
pub struct NextCommands<'a> {
    /// The workspace as it is named in commands.
    pub workspace: &'a str,
    /// The command that runs the failures again.
    pub rerun: &'a str,
    /// The command that continues the run; `None` if it cannot be continued.
    pub resume: Option<&'a str>,
}

/// The summary at the end of a run: metrics, failures, counts and the next commands.
pub fn run_summary(
    state: &RunState,
    causes: Option<CauseStates<'_>>,
    style: SummaryStyle,
    next: NextCommands<'_>,
) -> String {
    let SummaryStyle {
        paint, verbosity, ..
    } = style;
    let totals = state.totals;
    let mut parts = Vec::new();
    let quarantined = state.quarantined();
    for (count, status) in totals.without(quarantined).each() {
        if count > 0 {
            parts.push(paint.status(status, &format!("{count} {}", status.label())));
        }
    }
    if quarantined.ended() > 0 {
        let words = format!("{} quarantined", quarantined.ended());
        parts.push(paint.status(Status::NotEvaluated, &words));
    }
    if parts.is_empty() {
        parts.push("nothing ran".into());
    }
    let unsteady = state
        .finished
        .iter()
        .filter(|attempt| attempt.unsteady)
        .count();
    if unsteady > 0 {
        parts.push(format!("{unsteady} of them unsteady"));
    }
    let not_run = state.count_outstanding();
    if not_run > 0 {
        parts.push(format!("{not_run} not run"));
    }
    let time = state
        .ended
        .map(|seconds| format!("  in {seconds:.1}s"))
        .unwrap_or_default();
    let counts = format!(
        "{} {}{}{}",
        paint.bold("evaltrail"),
        parts.join(", "),
        of_cases(state),
        paint.faint(&time)
    );
    let table = match verbosity {
        Verbosity::Quiet => String::new(),
        Verbosity::Normal | Verbosity::Verbose => {
            metric_table(state, paint, verbosity == Verbosity::Verbose)
                + &repeats_table(state, paint)
        }
    };
    let failures = failures(state, causes, style) + &gone_text(causes, paint);
    format!(
        "{table}{}{}{}{failures}{counts}{}{}",
        judged(state, paint),
        unscored(state, style),
        endings(state, paint),
        unrecorded(state, paint),
        next_steps(state, paint, next)
    )
}

/// What to say at the end of a run whose results are only in memory; empty if they are recorded.
fn unrecorded(state: &RunState, paint: Paint) -> String {
    let lost = state
        .finished
        .iter()
        .filter(|attempt| attempt.recorded_at().is_none())
        .count();
    let words = match lost {
        0 => return String::new(),
        1 => "1 result is not recorded: it is lost now, except for the reports".to_string(),
        lost => {
            format!("{lost} results are not recorded: they are lost now, except for the reports")
        }
    };
    format!("\n{}", paint.status(Status::Errored, &words))
}

/// " of 26 attempts (13 cases, 2 each)" if cases were repeated, so that the counts add up to a known total.
fn of_cases(state: &RunState) -> String {
    match (state.plan.options.repeat, state.plan.cases.len()) {
        (0 | 1, _) => String::new(),
        (_, cases) if matches!(state.plan.options.gate, Gate::Until(_)) => {
            let cases = counted(cases, "case");
            format!(" of {} attempts ({cases})", state.needed_attempts())
        }
        (repeat, cases) => {
            let noun = if cases == 1 { "case" } else { "cases" };
            format!(
                " of {} attempts ({cases} {noun}, {repeat} each)",
                state.plan.attempts()
            )
        }
    }
}

/// The cases that did not pass: those that share a cause first, then the others, each with how many of its attempts
/// passed and why the first one did not.
fn failures(state: &RunState, causes: Option<CauseStates<'_>>, style: SummaryStyle) -> String {
    let (paint, limits) = (style.paint, Limits::new(style.lists_all));
    let failed = failed_cases(state);
    if failed.is_empty() {
        return String::new();
    }
    let found = groups_of(&failed, causes);
    let headline = groups_headline(&found, failed.len());
    let mut out = format!("\n{}\n", paint.bold("not passed"));
    if let Some(headline) = &headline {
        let _ = writeln!(out, "{headline}\n");
    }
    let groups = listed_groups(&found);
    for group in groups.iter().take(limits.groups) {
        list_group((state, causes), &failed, group, paint, limits, &mut out);
    }
    let more = groups
        .iter()
        .skip(limits.groups)
        .filter(|group| !group.is_heading)
        .count();
    if more > 0 {
        let _ = writeln!(out, "… and {more} more causes");
    }
    if !found.alone.is_empty() && headline.is_some() {
        let _ = writeln!(out, "{}", paint.bold("each for its own reason"));
    }
    let indent = if headline.is_some() { "    " } else { "" };
    for at in found.alone.iter().take(limits.failures) {
        list(
            state,
            None,
            std::iter::once(&failed[*at]),
            1,
            indent,
            paint,
            &mut out,
        );
        let news = failed[*at].news(causes);
        if !news.is_empty() {
            let _ = writeln!(out, "{indent}    {}", paint.bold(&news));
        }
        if let Some(change) = change_for(state, &failed, &[*at]) {
            let words = format!("{indent}    would pass with {}", clean_line(&change));
            let _ = writeln!(out, "{}", paint.faint(&words));
        }
    }
    let unlisted = found.alone.len().saturating_sub(limits.failures);
    if unlisted > 0 {
        let _ = writeln!(out, "{indent}… and {unlisted} more");
    }
    if groups
        .iter()
        .any(|group| !group.is_heading && group.members.len() > limits.members)
        || found.alone.len() > limits.failures
        || more > 0
    {
        let _ = writeln!(
            out,
            "{}",
            paint.faint("the reports list all of them (--report)")
        );
    }
    out.push('\n');
    out
}

/// A group: its size, cause and share, its first cases, and what would make all of them pass.
fn list_group(
    (state, causes): (&RunState, Option<CauseStates<'_>>),
    failed: &[FailedCase],
    group: &ListedGroup,
    paint: Paint,
    limits: Limits,
    out: &mut String,
) {
    let members = &group.members;
    let indent = if group.is_nested { "  " } else { "" };
    let status = failed[members[0]].status;
    let size = paint.status(status, &format!("{} {} ×", status.glyph(), members.len()));
    let share = paint.faint(&percent(members.len(), failed.len()));
    let known = match group.is_heading {
        true => String::new(),
        false => painted_state(causes, &group.shared, paint),
    };
    let _ = writeln!(
        out,
        "{indent}{size} {}  {share}{known}",
        paint.bold(&clean_line(&group.cause))
    );
    let below = format!("{indent}    ");
    if !group.is_heading {
        list(
            state,
            Some(&group.shared),
            members.iter().map(|at| &failed[*at]),
            limits.members,
            &below,
            paint,
            out,
        );
    }
    if let Some(change) = change_for(state, failed, members) {
        let words = format!("{below}all would pass with {}", clean_line(&change));
        let _ = writeln!(out, "{}", paint.faint(&words));
    }
}

/// What became of a cause over the runs, with the space before it; empty if that is not known.
fn painted_state(causes: Option<CauseStates<'_>>, cause: &Cause, paint: Paint) -> String {
    match state_text(causes, cause) {
        known if known.is_empty() => known,
        known if is_new_or_back(causes, cause) => format!("  {}", paint.bold(&known)),
        known => format!("  {}", paint.faint(&known)),
    }
}

/// The causes that the run ended; empty if there is none.
fn gone_text(causes: Option<CauseStates<'_>>, paint: Paint) -> String {
    let gone = causes.map(CauseStates::gone).unwrap_or_default();
    let line = |one: &CauseTrend| format!("  gone: {}\n", clean_line(&one.cause.describe()));
    let mut out: String = gone.iter().take(MAX_GONE).map(|one| line(one)).collect();
    if gone.len() > MAX_GONE {
        let _ = writeln!(
            out,
            "  … and {} more causes are gone",
            gone.len() - MAX_GONE
        );
    }
    match out.is_empty() {
        true => out,
        false => paint.faint(&out) + "\n",
    }
}

/// Lines for failed cases, at most `most`, and how many more there are. Each has the reason of the cause that they share.
fn list<'a>(
    state: &RunState,
    cause: Option<&Cause>,
    cases: impl ExactSizeIterator<Item = &'a FailedCase>,
    most: usize,
    indent: &str,
    paint: Paint,
    out: &mut String,
) {
    let more = cases.len().saturating_sub(most);
    for FailedCase {
        passed,
        evaluated,
        ended,
        key,
        ..
    } in cases.take(most)
    {
        let Some(attempt) = state.attempt(*key) else {
            continue;
        };
        let set = clean_line(&state.plan.case_location(attempt.key.case)).into_owned();
        let is_quarantined = state.plan.cases.quarantine(attempt.key.case).is_some();
        let count = PassCount {
            passed: *passed,
            of: *evaluated,
        };
        let glyph = match is_quarantined {
            true => paint.status(Status::NotEvaluated, "‖"),
            false if count.is_flaky() => paint.status(attempt.status, FLAKY),
            false => paint.status(attempt.status, attempt.status.glyph()),
        };
        let rate = count.describe();
        let rate = if *ended > 1 {
            format!("  {rate}")
        } else {
            String::new()
        };
        let before = before_reason(state, &attempt, state.passes_gate(attempt.key.case));
        let reason = match cause {
            Some(cause) => reason_in_group(&attempt, cause),
            None => attempt.reason_with_model_errors(),
        };
        let reason = format!("{before}{reason}");
        let reason = clean_line(&reason).into_owned();
        let _ = writeln!(
            out,
            "{indent}{glyph} {set} › {}{rate}  {reason}",
            clean_line(attempt.shown_id())
        );
    }
    if more > 0 {
        let _ = writeln!(out, "{indent}… and {more} more");
    }
}

/// The run's id, and the commands that usually follow.
fn next_steps(state: &RunState, paint: Paint, next: NextCommands<'_>) -> String {
    let workspace = next.workspace;
    let is_recorded = |attempt: Arc<EndedAttempt>| attempt.recorded_at().is_some();
    // A run without results is not kept, except for one of several machines.
    let is_kept = state.plan.options.shard.is_some() || state.plan.cases.is_empty();
    if !is_kept && !state.finished.iter().any(is_recorded) {
        return match state.finished.is_empty() {
            true => paint.faint("\nno attempt has a result, so the run is not recorded"),
            false => String::new(),
        };
    }
    let id = clean_line(&state.plan.run_id).into_owned();
    let totals = state.totals;
    let mut lines = vec![format!("run {id}")];
    if totals.failed + totals.errored + totals.not_evaluated > 0 {
        lines.push(match workspace {
            "." => "explore: evaltrail".into(),
            workspace => format!("explore: evaltrail {workspace}"),
        });
        lines.push(format!("rerun:   {}", next.rerun));
    }
    if let Some(resume) = next.resume.filter(|_| state.count_outstanding() > 0) {
        lines.push(format!("resume:  {resume}"));
    }
    // Files of saved responses cannot be edited.
    let is_edited = state
        .plan
        .sets
        .iter()
        .any(|set| set.agent != AgentSpec::Saved);
    if totals.failed > 0 && is_edited {
        let folder = if workspace == "." {
            String::new()
        } else {
            format!(" --in {workspace}")
        };
        lines.push(format!("accept:  evaltrail accept {id}{folder}"));
    }
    lines
        .into_iter()
        .map(|line| format!("\n{}", paint.faint(&line)))
        .collect()
}

/// What the judges of the whole run spent; empty if no judge was called.
fn judged(state: &RunState, paint: Paint) -> String {
    state
        .spent()
        .map(|spent| paint.faint(&format!("judges: {}\n", spent.describe())))
        .unwrap_or_default()
}

/// The requested metrics that could not be computed in some cases, which nothing else says.
fn unscored(state: &RunState, style: SummaryStyle) -> String {
    unscored_lines(state, style.verbosity != Verbosity::Quiet)
        .iter()
        .map(|words| style.paint.status(Status::NotEvaluated, words) + "\n")
        .collect()
}

/// How the calls of tools were answered, and how many conversations ended without an answer of the agent.
fn endings(state: &RunState, paint: Paint) -> String {
    super::remarks::summary_remarks(state)
        .iter()
        .map(|words| paint.faint(words) + "\n")
        .collect()
}

/// pass@k and pass^k, and the number of flaky cases; empty if cases were not repeated.
fn repeats_table(state: &RunState, paint: Paint) -> String {
    let Some(passes) = repeated_passes(state) else {
        return String::new();
    };
    let remarks = passes.remarks().into_iter();
    let remarks: String = remarks
        .map(|words| paint.status(Status::NotEvaluated, &words) + "\n")
        .collect();
    match passes.by_k.is_empty() {
        true => format!("\n{remarks}"),
        false => format!("\n{}{remarks}", passes_by_k(&passes, paint)),
    }
}

/// A row of `k`, a row of pass@k and a row of pass^k.
fn passes_by_k(passes: &RepeatedPasses, paint: Paint) -> String {
    let shown: Vec<_> = passes
        .by_k
        .iter()
        .filter(|of| of.k <= 5 || of.k == passes.by_k.len())
        .collect();
    let row = |name: &str, value: fn(&RepeatedPass) -> f64| {
        let values: Vec<String> = shown
            .iter()
            .map(|of| format!("{:>6.3}", value(of)))
            .collect();
        format!("{name:8}{}\n", values.join(" "))
    };
    let header: Vec<String> = shown.iter().map(|of| format!("{:>6}", of.k)).collect();
    let header = paint.faint(&format!("{:8}{}", "k", header.join(" ")));
    format!(
        "{header}\n{}{}",
        row("pass@k", |of| of.pass_at),
        row("pass^k", |of| of.pass_hat)
    )
}
