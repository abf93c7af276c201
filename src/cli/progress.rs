//! The progress of a run: a line that is redrawn on a terminal, plain lines elsewhere.

use super::output::print_line;
use evaltrail_core::domain::{EndedAttempt, Progress, RunState, Status, clean_line};
use evaltrail_engine::report::{Paint, Verbosity, attempt_line, score_lines, turn_lines};
use std::io::{self, IsTerminal, Write};

pub(super) struct Reporter {
    paint: Paint,
    verbosity: Verbosity,
    /// Whether lines of attempts are printed at all (not under `--json`).
    lines: bool,
    /// Whether the line of counts is drawn, on standard error.
    live: bool,
    drawn: bool,
}

impl Reporter {
    pub(super) fn new(paint: Paint, verbosity: Verbosity, lines: bool) -> Reporter {
        let live = io::stderr().is_terminal()
            && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        Reporter {
            paint,
            verbosity,
            lines,
            live: live && verbosity != Verbosity::Quiet,
            drawn: false,
        }
    }

    pub(super) fn finished(&mut self, state: &RunState, attempt: &EndedAttempt) {
        let passed = attempt.status == Status::Passed;
        let wanted = match self.verbosity {
            Verbosity::Verbose => true,
            Verbosity::Quiet => false,
            Verbosity::Normal => !passed || !self.live,
        };
        if self.lines && wanted {
            self.erase();
            let mut lines = attempt_line(state, attempt, self.paint);
            if self.verbosity == Verbosity::Verbose {
                lines += &score_lines(attempt, self.paint);
                lines += &match attempt.read() {
                    Ok(whole) => turn_lines(&whole, self.paint),
                    Err(why) => format!("\n      the turns cannot be read: {}", clean_line(&why)),
                };
            }
            self.lines = print_line(&lines);
        }
    }

    /// Redraws the line of counts.
    pub(super) fn draw(&mut self, state: &RunState, elapsed: f64) {
        if !self.live {
            return;
        }
        let totals = state.totals;
        let all = state.needed_attempts();
        let doing = state.in_flight.iter().next().map(|(key, lane)| {
            let id = state.plan.cases.eval_id(key.case);
            format!("  {} {}", clean_line(id), doing(lane.doing()))
        });
        let mut connecting = state.connecting.iter();
        let connecting = connecting
            .next()
            .map(|(agent, status)| format!("  {}: {}", clean_line(agent), clean_line(status)));
        let doing = doing.or(connecting);
        let width = terminal_width();
        let line = format!(
            "{}/{all}  ✓ {}  ✗ {}  ! {}  ? {}  {elapsed:.0}s{}",
            totals.ended(),
            totals.passed,
            totals.failed,
            totals.errored,
            totals.not_evaluated,
            doing.unwrap_or_default()
        );
        let line: String = line.chars().take(width.saturating_sub(1)).collect();
        let _ = write!(io::stderr(), "\r\x1b[K{line}");
        let _ = io::stderr().flush();
        self.drawn = true;
    }

    pub(super) fn erase(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(io::stderr(), "\r\x1b[K");
            let _ = io::stderr().flush();
        }
    }
}

fn terminal_width() -> usize {
    crossterm::terminal::size().map_or(80, |(width, _)| usize::from(width.max(20)))
}

fn doing(progress: &Progress) -> String {
    match progress {
        Progress::Connecting => "connecting".into(),
        Progress::Turn { turn, of, .. } => format!("turn {turn}/{of}"),
        Progress::Says(text) | Progress::SaysMore(text) => clean_line(text).into_owned(),
        Progress::Calls(call) => clean_line(call).into_owned(),
        Progress::Answered { tool, .. } => format!("{} answered", clean_line(tool)),
        Progress::Waiting(why) => format!("waiting: {why}"),
        Progress::Retrying { delay_ms, .. } => {
            format!("retrying in {:.1}s", *delay_ms as f64 / 1000.0)
        }
        Progress::Scoring => "scoring".into(),
        Progress::Judging {
            metric,
            answered,
            of,
            ..
        } => {
            format!("judging {answered}/{of} {}", clean_line(metric))
        }
    }
}
