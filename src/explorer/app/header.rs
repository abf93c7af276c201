//! The line at the top: the title of the screen, and the state of the run or what the screen shows. Below it, the
//! banner of the active what-if.

use crate::explorer::commands::Command;
use crate::explorer::commands::what_if::{CHANGED_CASES, DROP_WHAT_IF, WRITE_WHAT_IF};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::{put, put_right};
use crate::explorer::widgets::{counts_text, spinner};
use evaltrail_core::domain::{CancelReason, RunState};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

/// Width in columns from which the judge is shown.
const JUDGE_FROM: u16 = 90;

pub(crate) fn draw(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    let area = areas.header;
    if area.is_empty() {
        return;
    }
    let right = right_text(model);
    let right_width = (right.width() as u16 + 2).min(area.width / 3 * 2);
    put_right(
        buffer,
        area.right() - 1,
        area.y,
        right_width,
        &right,
        theme.style(Role::Accent),
    );
    let title = Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(right_width + 2),
        ..area
    };
    (model.view.screen.functions().title)(model, title, theme, buffer);
}

/// Draws the active what-if: the change, its effect on the cases, and the keys for it.
pub(crate) fn banner(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    let (Some(what_if), area) = (&model.view.what_if, areas.banner) else {
        return;
    };
    if area.is_empty() {
        return;
    }
    let (more, fewer) = what_if.counts();
    let counts = match (what_if.pending.is_some(), what_if.status_changes.len()) {
        (true, _) => format!("{} rescoring", spinner(model.now)),
        (false, 0) => "no case changes".to_string(),
        (false, all) if all == more + fewer => format!("+{more} pass, {fewer} break"),
        (false, all) => format!("+{more} pass, {fewer} break, {all} change"),
    };
    // On a small screen, the last ones are cut.
    let known = [
        (
            &DROP_WHAT_IF,
            if what_if.is_written { "close" } else { "drop" },
        ),
        (&WRITE_WHAT_IF, "write"),
        (&CHANGED_CASES, "list"),
    ];
    let can_be_given = |(command, _): &(&Command, &str)| {
        command.is_in(model.context())
            && (command.enabled)(model).is_ok()
            && !(what_if.is_written && **command == WRITE_WHAT_IF)
    };
    let keys = known.into_iter().filter(can_be_given);
    let keys: String = keys
        .map(|(id, word)| format!("  {} {word}", id.key()))
        .collect();
    let right = format!("{counts}{keys}");
    let width = (right.width() as u16).min(area.width / 3 * 2);
    put_right(
        buffer,
        area.right() - 1,
        area.y,
        width,
        &right,
        theme.style(Role::Accent),
    );
    let state = if what_if.is_written {
        "what if, written to files"
    } else {
        "what if"
    };
    let words = format!("{state}  {}", what_if.change.describe().join(" · "));
    put(
        buffer,
        area.x + 1,
        area.y,
        area.width.saturating_sub(width + 3),
        &words,
        theme.style(Role::Note),
    );
}

/// The live run and its counts; else, on the case screen, the position among the failing cases; else agent and judge.
fn right_text(model: &Model) -> String {
    if let Some(run) = model.run.as_ref().filter(|run| run.is_live()) {
        return live_text(run, model.now);
    }
    match model.view.screen.functions().status {
        Some(status) => status(model),
        None => agent_and_judge(model),
    }
}

fn agent_and_judge(model: &Model) -> String {
    let set = model.current_set().map(|set| &model.view.sets[set]);
    let agent = match set.map(|set| &set.agent) {
        Some(Ok(agent)) => format!("agent {agent}"),
        Some(Err(_)) => "no agent".into(),
        None => String::new(),
    };
    let watching = if model.watching.is_on {
        "watching   "
    } else {
        ""
    };
    match &model.judge {
        Some(judge) if model.size.0 >= JUDGE_FROM => format!("{watching}{agent}   judge {judge}"),
        _ => format!("{watching}{agent}"),
    }
}

fn live_text(run: &RunState, now: f64) -> String {
    let how = match run.cancelling {
        None if run.paused => " paused",
        None => "",
        Some(CancelReason::Finish | CancelReason::FinishConversations) => " finishing",
        Some(CancelReason::Stop) => " stopping",
    };
    format!(
        "{}{how} {}/{}  {}",
        spinner(now),
        run.totals.ended(),
        run.plan.attempts(),
        counts_text(run.totals)
    )
}
