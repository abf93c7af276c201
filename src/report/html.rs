//! One self-contained page: no scripts, fonts or links. All external data is escaped.

use super::attempts::{attempts_in_order, no_score_text, titled};
use super::failures::{
    change_for, failed_cases, groups_headline, groups_of, listed_groups, percent,
};
use super::format::{BASE, ReportFormat};
use super::open_command::{export_command, open_command};
use super::remarks::{MODEL_ERROR_SIGN, run_remarks, why_not_counted};
use crate::analysis::repeated_passes;
use crate::domain::{
    EndedAttempt, Invocation, MetricResult, ModelError, RunState, Status, clean, compared_texts,
    score_text, seconds_text, statistic_text, value_text,
};
use crate::formats::HTML_TITLE;
use crate::metrics::aggregates;
use std::fmt::Write;
use std::io;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;\
    color:#1c1f23;background:#fff}table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.2rem .7rem;\
    text-align:left;border-bottom:1px solid #ddd;vertical-align:top}td.n,th.n{text-align:right}\
    pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0;font:13px/1.45 ui-monospace,monospace}\
    summary{cursor:pointer;padding:.2rem 0}.passed{color:#1a7f37}.failed{color:#c62828}.errored{color:#8e24aa}\
    .not_evaluated{color:#9a6700}.informational{color:#666}td.half{width:50%}.nested{margin-left:1.5rem}\
    @media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181c}td,th{border-color:#333}\
    .passed{color:#4cc38a}.failed{color:#ff6b6b}.errored{color:#d58cf0}.not_evaluated{color:#e0b450}}";

/// One HTML page without scripts.
pub(super) const REPORT: ReportFormat = ReportFormat {
    name: "html",
    write: write_html_report,
    ..BASE
};

/// Writes the report of a run. Errors: those of `to`, and attempts that cannot be read.
fn write_html_report(state: &RunState, to: &mut dyn io::Write) -> io::Result<()> {
    let mut out =
        String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n");
    let _ = writeln!(
        out,
        "{HTML_TITLE}{}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        text(&state.plan.run_id)
    );
    let _ = writeln!(
        out,
        "<h1>Agent evaluation</h1>\n<p>{}, run {}, {}</p>",
        text(&state.plan.agent_label()),
        text(&state.plan.run_id),
        text(&state.plan.started)
    );
    out.push_str("<p>");
    for (count, status) in state
        .totals
        .each()
        .into_iter()
        .filter(|(count, _)| *count > 0)
    {
        let _ = write!(
            out,
            "<span class=\"{}\">{} {count} {}</span> &nbsp; ",
            status.key(),
            status.glyph(),
            status.label()
        );
    }
    out.push_str("</p>\n");
    for words in run_remarks(state) {
        let _ = writeln!(out, "<p>{}</p>", text(&words));
    }
    metrics(state, &mut out);
    repeats(state, &mut out);
    if state.totals.passed < state.totals.ended() {
        let command = text(&export_command(&state.plan));
        let _ = writeln!(
            out,
            "<p><code>{command}</code>, in the folder of the run, writes the file that the commands below open.</p>"
        );
    }
    groups(state, &mut out);
    for at in 0..state.plan.cases.len() {
        let passes_gate = state.passes_gate(at);
        for attempt in state.attempts_of(at) {
            case(state, &attempt, passes_gate, &mut out)?;
            to.write_all(std::mem::take(&mut out).as_bytes())?;
        }
    }
    to.write_all(out.as_bytes())?;
    to.write_all(b"</body>\n</html>\n")
}

/// What failed cases share: a block for each cause, with the names of its cases.
fn groups(state: &RunState, out: &mut String) {
    let failed = failed_cases(state);
    let found = groups_of(&failed);
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
        let class = if group.is_nested {
            " class=\"nested\""
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "<details{class}><summary>{count} × {cause} ({share})</summary>"
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
            let set = state.plan.set_name(attempt.key.case);
            let (status, name) = (attempt.status, text(&attempt.eval_id));
            let glyph = format!("<span class=\"{}\">{}</span>", status.key(), status.glyph());
            let not_counted = why_not_counted(state, &attempt, state.passes_gate(attempt.key.case));
            let _ = writeln!(
                out,
                "<li>{glyph} {} › {name}: {}",
                text(&set),
                text(&format!(
                    "{not_counted}{}",
                    attempt.reason_with_model_errors()
                ))
            );
        }
        out.push_str("</ul></details>\n");
    }
    out.push_str("<h2>All attempts</h2>\n");
}

fn metrics(state: &RunState, out: &mut String) {
    out.push_str("<table><tr><th>metric");
    for head in [
        "mean", "std", "valid", "errored", "total", "min", "median", "p90", "p95",
    ] {
        let _ = write!(out, "<th class=\"n\">{head}");
    }
    out.push_str("</tr>\n");
    let number = |value: Option<f64>| value.map_or("—".into(), statistic_text);
    for of in titled(state, aggregates(attempts_in_order(state))) {
        let _ = write!(
            out,
            "<tr><td>{}{}",
            text(&of.metric),
            text(&no_score_text(&of))
        );
        let counts = [of.valid, of.errored, of.total].map(|count| count.to_string());
        let cells = [number(of.mean), number(of.std)].into_iter().chain(counts);
        for value in cells.chain([of.min, of.median, of.p90, of.p95].map(number)) {
            let _ = write!(out, "<td class=\"n\">{value}");
        }
        out.push_str("</tr>\n");
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

fn case(
    state: &RunState,
    ended: &EndedAttempt,
    passes_gate: bool,
    out: &mut String,
) -> io::Result<()> {
    let attempt = ended.read_to_write()?;
    let set = state.plan.set_name(attempt.key.case);
    let open = if attempt.status == Status::Passed {
        ""
    } else {
        " open"
    };
    let status = attempt.status;
    let _ = writeln!(
        out,
        "<details{open}><summary><span class=\"{}\">{} {}</span> {} › {}{}{}</summary>",
        status.key(),
        status.glyph(),
        status.label(),
        text(&set),
        text(&ended.title(u32::MAX)),
        match attempt.latency_s {
            Some(_) => format!(" ({})", seconds_text(attempt.latency_s)),
            None => String::new(),
        },
        ended.model_error_text().map_or(String::new(), |words| {
            let words = text(&format!(
                "{MODEL_ERROR_SIGN} {words}; ADK status: {}",
                attempt.adk_status.label()
            ));
            format!(
                " <span class=\"{}\">{words}</span>",
                Status::NotEvaluated.key()
            )
        })
    );
    if let Some(error) = &attempt.error {
        let _ = writeln!(out, "<pre class=\"errored\">{}</pre>", text(error));
    }
    let remarks = ended.end_remarks();
    if !remarks.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", text(&remarks));
    }
    let not_counted = why_not_counted(state, ended, passes_gate);
    if !not_counted.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"not_evaluated\">{}</p>",
            text(not_counted.trim_end_matches([':', ' ']))
        );
    }
    if status != Status::Passed {
        let command = open_command(&state.plan, &attempt.eval_id);
        let _ = writeln!(out, "<p>to open it: <code>{}</code></p>", text(&command));
    }
    scores(&attempt.metrics, out);
    for turn in 0..attempt.expected.len().max(attempt.actual.len()) {
        let (expected, actual) = (attempt.expected.get(turn), attempt.actual.get(turn));
        let user = expected
            .or(actual)
            .map(|turn| turn.user.shown_text())
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "<p><b>user</b> {}</p>\n<table style=\"width:100%\"><tr><th>expected<th>actual</tr>",
            text(&user)
        );
        let _ = writeln!(
            out,
            "<tr><td class=\"half\"><pre>{}</pre><td class=\"half\"><pre>{}</pre></tr></table>",
            side(expected),
            side(actual)
        );
    }
    out.push_str("</details>\n");
    Ok(())
}

/// The metrics of an attempt: status, score, threshold and explanation.
fn scores(metrics: &[MetricResult], out: &mut String) {
    out.push_str("<table>\n");
    for metric in metrics {
        let (score, threshold) = match (metric.score(), metric.threshold) {
            (Some(score), Some(threshold)) => compared_texts(score, threshold),
            (score, threshold) => {
                let text = |value: Option<f64>| value.map(score_text).unwrap_or_default();
                (text(score), text(threshold))
            }
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"{}\">{} {}<td class=\"n\">{}<td class=\"n\">{}<td>{}</tr>",
            metric.status.key(),
            metric.status.glyph(),
            text(&metric.metric),
            score,
            threshold,
            text(&metric.explanation)
        );
    }
    out.push_str("</table>\n");
}

fn side(turn: Option<&Invocation>) -> String {
    let Some(turn) = turn else {
        return String::new();
    };
    let authors = turn.trajectory.call_authors();
    let mut lines: Vec<String> = turn
        .calls()
        .iter()
        .enumerate()
        .map(|(at, call)| {
            let args = call
                .args
                .clone()
                .map(|args| value_text(&args.into()))
                .unwrap_or_default();
            let author = authors
                .get(at)
                .map(|author| format!("{author}: "))
                .unwrap_or_default();
            format!("{author}{} {args}", call.name)
        })
        .collect();
    let intermediate = turn.intermediate_responses();
    lines.extend(
        intermediate
            .iter()
            .map(|response| format!("{}: {}", response.author, response.text())),
    );
    lines.extend(turn.model_errors().map(ModelError::describe));
    lines.push(turn.response_text());
    text(&lines.join("\n"))
}

/// Escapes a text for HTML.
fn text(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
