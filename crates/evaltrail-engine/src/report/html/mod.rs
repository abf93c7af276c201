//! One self-contained page: no scripts, fonts or links to elsewhere. All external data is escaped. What did not pass comes
//! first, with its reason; each attempt has an anchor.

mod case;
mod charts;
mod compared;
mod escape;
mod trends;

use super::attempts::{attempts_in_order, no_score_text, titled};
use super::cause_states::{CauseStates, state_text};
use super::failures::{
    change_for, failed_cases, groups_headline, groups_of, listed_groups, percent, reason_in_group,
};
use super::format::{BASE, EarlierRuns, ReportFormat};
use super::open_command::export_command;
use super::remarks::{before_reason, run_remarks};
use case::{anchor, case, has_passed_or_scored};
use charts::{attempts_of_cases, distribution};
use escape::text;
use evaltrail_core::analysis::repeated_passes;
use evaltrail_core::domain::{
    Criterion, EndedAttempt, RunPlan, RunState, Status, counted, score_text, seconds_text,
    statistic_text, worst_attempt,
};
use evaltrail_core::formats::HTML_TITLE;
use evaltrail_core::metrics::aggregates;
use std::fmt::Write;
use std::io;
use std::sync::Arc;
use trends::trends_over_runs;

const STYLE: &str = include_str!("style.css");
/// Maximum number of failures in the list at the top of the page.
const MAX_LISTED: usize = 1000;

/// One HTML page without scripts.
pub(super) const REPORT: ReportFormat = ReportFormat {
    name: "html",
    ending: "html",
    write: write_html_report,
    has_trends: true,
    ..BASE
};

/// Writes the report of a run. Errors: those of `to`, and attempts that cannot be read.
fn write_html_report(
    state: &RunState,
    earlier: EarlierRuns<'_>,
    to: &mut dyn io::Write,
) -> io::Result<()> {
    let mut out = page_begin(&format!("{HTML_TITLE}{}", text(&state.plan.run_id)));
    headline(state, &mut out);
    facts(state, &mut out);
    for words in run_remarks(state) {
        let _ = writeln!(out, "<p>{}</p>", text(&words));
    }
    if let Some(baseline) = earlier.baseline {
        let _ = writeln!(
            out,
            "<h2>Compared with the baseline</h2>\n<pre>{}</pre>",
            text(baseline.words)
        );
    }
    let is_passed = |at: &usize| {
        let attempts = state.attempts_of(*at);
        attempts.iter().all(|one| has_passed_or_scored(one.status))
    };
    let (passed, others): (Vec<usize>, Vec<usize>) =
        (0..state.plan.cases.len()).partition(is_passed);
    not_passed(state, &others, &mut out);
    groups(state, earlier.causes, &mut out);
    out.push_str("<h2>Metrics</h2>\n");
    metrics(state, &mut out);
    differing_criteria(&state.plan, &mut out);
    if let Some(trends) = earlier.trends {
        trends_over_runs(trends, &mut out);
    }
    repeats(state, &mut out);
    attempts_of_cases(state, &mut out);
    for (title, cases) in [("Not passed", &others), ("Passed, or only scored", &passed)] {
        let has_any = cases.iter().any(|at| !state.attempts_of(*at).is_empty());
        if has_any {
            let _ = writeln!(out, "<h2>{title}</h2>");
        }
        for at in cases {
            let passes_gate = state.passes_gate(*at);
            for attempt in state.attempts_of(*at) {
                case(state, &attempt, passes_gate, &mut out)?;
                to.write_all(std::mem::take(&mut out).as_bytes())?;
            }
        }
    }
    to.write_all(out.as_bytes())?;
    to.write_all(b"</body>\n</html>\n")
}

/// Escapes a text for HTML.
pub(super) fn escaped(raw: &str) -> String {
    text(raw)
}

/// The begin of a page, up to its body. `title` is the begin of the element `title`, escaped.
pub(super) fn page_begin(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         {title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    )
}

/// The number of attempts by status.
fn headline(state: &RunState, out: &mut String) {
    out.push_str("<h1>Agent evaluation</h1>\n<p class=\"counts\">");
    let counts = state.totals.each().into_iter();
    for (count, status) in counts.filter(|(count, _)| *count > 0) {
        let _ = write!(
            out,
            "<span class=\"{}\">{} {count} {}</span> ",
            status.key(),
            status.glyph(),
            status.label()
        );
    }
    let cases = counted(state.plan.cases.len(), "case");
    let of = match state.plan.options.repeat {
        1 => cases,
        _ => format!("{} of {cases}", counted(state.totals.ended(), "attempt")),
    };
    let _ = writeln!(out, "<span>of {of}</span></p>");
}

/// What was run: agent, run, time, commit and, if it is the same for all sets, the criteria.
fn facts(state: &RunState, out: &mut String) {
    let plan = &state.plan;
    let started = plan.started.get(..19).unwrap_or(&plan.started);
    let mut facts = vec![
        ("agent", plan.agent_label()),
        ("run", plan.run_id.clone()),
        ("started", format!("{} UTC", started.replace('T', " "))),
    ];
    if let Some(seconds) = state.ended {
        facts.push(("took", seconds_text(Some(seconds))));
    }
    if let Some(commit) = &plan.commit {
        facts.push(("commit", commit.clone()));
    }
    if plan.options.repeat > 1 {
        facts.push(("attempts of each case", plan.options.repeat.to_string()));
    }
    if let [(criteria, _)] = &criteria_of_sets(plan)[..] {
        facts.push(("criteria", criteria.clone()));
    }
    out.push_str("<table class=\"facts\">\n");
    for (name, value) in facts {
        let _ = writeln!(out, "<tr><th>{name}<td>{}</tr>", text(&value));
    }
    if let distinct @ 2.. = criteria_of_sets(plan).len() {
        let _ = writeln!(
            out,
            "<tr><th>criteria<td><a href=\"#criteria\">{distinct} different ones</a></tr>"
        );
    }
    out.push_str("</table>\n");
}

/// The different criteria, each with the files of its sets, in the order of the sets.
fn criteria_of_sets(plan: &RunPlan) -> Vec<(String, Vec<&str>)> {
    let mut distinct: Vec<(String, Vec<&str>)> = Vec::new();
    for set in &plan.sets {
        let criteria = criteria_text(&set.criteria);
        match distinct.iter_mut().find(|(known, _)| *known == criteria) {
            Some((_, files)) => files.push(&set.file),
            None => distinct.push((criteria, vec![&set.file])),
        }
    }
    distinct
}

/// The criteria of each set, if they differ.
fn differing_criteria(plan: &RunPlan, out: &mut String) {
    let distinct = criteria_of_sets(plan);
    if distinct.len() < 2 {
        return;
    }
    out.push_str("<h2 id=\"criteria\">Criteria</h2>\n<table class=\"wide\">\n");
    for (criteria, files) in distinct {
        let files: Vec<String> = files.into_iter().map(text).collect();
        let _ = writeln!(
            out,
            "<tr><td>{}<td>{}</tr>",
            text(&criteria),
            files.join("<br>")
        );
    }
    out.push_str("</table>\n");
}

/// The criteria that decide, with their thresholds.
fn criteria_text(criteria: &[Criterion]) -> String {
    let one = |criterion: &Criterion| {
        let threshold = criterion.threshold?;
        Some(format!("{} {}", criterion.metric, score_text(threshold)))
    };
    let all: Vec<String> = criteria.iter().filter_map(one).collect();
    if all.is_empty() {
        "none with a threshold".into()
    } else {
        all.join(", ")
    }
}

/// The cases that did not pass, each with the reason of the attempt that represents it, and a link to each attempt.
fn not_passed(state: &RunState, cases: &[usize], out: &mut String) {
    let attempts = cases.iter().map(|at| state.attempts_of(*at));
    let is_listed = |attempts: &Vec<Arc<EndedAttempt>>| {
        let mut statuses = attempts.iter().map(|attempt| attempt.status);
        statuses.any(|status| !has_passed_or_scored(status))
    };
    let mut listed = attempts.filter(is_listed).peekable();
    if listed.peek().is_none() {
        return;
    }
    out.push_str("<h2>What did not pass, and why</h2>\n<table class=\"wide\">\n");
    for attempts in listed.by_ref().take(MAX_LISTED) {
        let Some(attempt) = worst_attempt(&attempts) else {
            continue;
        };
        let status = attempt.status;
        let set = state.plan.case_location(attempt.key.case);
        let before = before_reason(state, attempt, state.passes_gate(attempt.key.case));
        let _ = writeln!(
            out,
            "<tr><td class=\"{}\">{}<td><a href=\"#{}\">{} › {}</a>{}<td>{}</tr>",
            status.key(),
            status.glyph(),
            anchor(attempt),
            text(&set),
            text(&attempt.title(1)),
            links_to_attempts(&attempts),
            text(&format!("{before}{}", attempt.reason_with_model_errors()))
        );
    }
    out.push_str("</table>\n");
    match listed.count() {
        0 => {}
        more => {
            let _ = writeln!(out, "<p>… and {more} more, below</p>");
        }
    }
    let command = text(&export_command(&state.plan));
    let _ = writeln!(
        out,
        "<p>To open these cases in evaltrail, run <code>{command}</code> in the folder of the run; the command at each case below opens the file that it writes.</p>"
    );
}

/// The signs of several attempts of a case, each with a link, and how many passed; empty for a single one.
fn links_to_attempts(attempts: &[Arc<EndedAttempt>]) -> String {
    if attempts.len() < 2 {
        return String::new();
    }
    let link = |attempt: &Arc<EndedAttempt>| {
        let (status, anchor) = (attempt.status, anchor(attempt));
        let (class, sign) = (status.key(), status.glyph());
        format!("<a class=\"attempt {class}\" href=\"#{anchor}\">{sign}</a>")
    };
    let signs: String = attempts.iter().map(link).collect();
    let has_passed = |attempt: &&Arc<EndedAttempt>| attempt.status == Status::Passed;
    let passed = attempts.iter().filter(has_passed).count();
    format!(" {signs} {passed}/{}", attempts.len())
}

/// What failed cases share: a block for each cause, with the names of its cases.
fn groups(state: &RunState, states: Option<CauseStates<'_>>, out: &mut String) {
    let failed = failed_cases(state);
    let found = groups_of(&failed, states);
    let Some(headline) = groups_headline(&found, failed.len()) else {
        return;
    };
    let _ = writeln!(out, "<h2>{}</h2>", text(&headline));
    for group in listed_groups(&found) {
        let (count, cause) = (group.members.len(), text(&group.cause));
        let share = percent(count, failed.len());
        if group.is_heading {
            let change = change_for(state, &failed, &group.members);
            let change = change.map(|change| format!(" All would pass with {}", text(&change)));
            let _ = writeln!(
                out,
                "<p>{count} × {cause} ({share}):{}</p>",
                change.unwrap_or_default()
            );
            continue;
        }
        let known = match state_text(states, &group.shared) {
            known if known.is_empty() => known,
            known => format!(" <b>{}</b>", text(&known)),
        };
        let class = if group.is_nested {
            " class=\"nested\""
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "<details{class}><summary>{count} × {cause} ({share}){known}</summary>"
        );
        if let Some(change) = change_for(state, &failed, &group.members) {
            let _ = writeln!(out, "<p>All would pass with {}</p>", text(&change));
        }
        out.push_str("<ul>\n");
        for attempt in group
            .members
            .iter()
            .filter_map(|at| failed[*at].attempt(state))
        {
            let set = state.plan.case_location(attempt.key.case);
            let (status, name) = (attempt.status, text(&attempt.eval_id));
            let glyph = format!("<span class=\"{}\">{}</span>", status.key(), status.glyph());
            let before = before_reason(state, &attempt, state.passes_gate(attempt.key.case));
            let _ = writeln!(
                out,
                "<li>{glyph} {} › {name}: {}",
                text(&set),
                text(&format!(
                    "{before}{}",
                    reason_in_group(&attempt, &group.shared)
                ))
            );
        }
        out.push_str("</ul></details>\n");
    }
}

fn metrics(state: &RunState, out: &mut String) {
    out.push_str("<table><tr><th>metric");
    for header in [
        "mean", "std", "valid", "errored", "total", "min", "median", "p90", "p95",
    ] {
        let _ = write!(out, "<th class=\"n\">{header}");
    }
    out.push_str("<th>distribution</tr>\n");
    let number = |value: Option<f64>| value.map_or("—".into(), statistic_text);
    for of in &titled(state, aggregates(attempts_in_order(state))) {
        let _ = write!(
            out,
            "<tr><td>{}{}",
            text(&of.metric),
            text(&no_score_text(of))
        );
        let counts = [of.valid, of.errored, of.total].map(|count| count.to_string());
        let cells = [number(of.mean), number(of.std)].into_iter().chain(counts);
        for value in cells.chain([of.min, of.median, of.p90, of.p95].map(number)) {
            let _ = write!(out, "<td class=\"n\">{value}");
        }
        let _ = writeln!(out, "<td>{}</tr>", distribution(of));
    }
    out.push_str("</table>\n");
}

/// pass@k and pass^k of a run whose cases were repeated, and how many cases are flaky.
fn repeats(state: &RunState, out: &mut String) {
    let Some(passes) = repeated_passes(state) else {
        return;
    };
    if !passes.by_k.is_empty() {
        out.push_str("<table><tr><th>k<th class=\"n\">pass@k<th class=\"n\">pass^k</tr>\n");
    }
    for of in &passes.by_k {
        let cells = [of.pass_at, of.pass_hat].map(|value| format!("<td class=\"n\">{value:.3}"));
        let _ = writeln!(out, "<tr><td>{}{}</tr>", of.k, cells.concat());
    }
    if !passes.by_k.is_empty() {
        out.push_str("</table>\n");
    }
    for words in passes.remarks() {
        let _ = writeln!(out, "<p>{}</p>", text(&words));
    }
}
