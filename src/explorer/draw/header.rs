//! The line at the top: where we are, and what goes on.

use crate::domain::{CancelReason, EndedAttempt, RunState, Status};
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::text::{fit, put, put_right};
use crate::explorer::widgets::{counts_text, spinner};
use crate::explorer::{CaseRef, CaseScreen, CommandId, Layout, Model, Screen, command};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

/// Narrower screens do not name the judge.
const JUDGE_FROM: u16 = 90;

pub(crate) fn draw(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    let area = areas.header;
    let right = right_words(model);
    let right_width = (right.width() as u16 + 2).min(area.width / 2);
    put_right(buffer, area.right() - 1, area.y, right_width, &right, theme.style(Role::Accent));
    let room = area.width.saturating_sub(right_width + 2);
    let mut x = area.x + 1;
    match &model.screen {
        Screen::Browse => {
            x += put(buffer, x, area.y, room, "evaltrail  ", theme.style(Role::Title));
            put(buffer, x, area.y, room.saturating_sub(11), &model.title, theme.style(Role::Faint));
        }
        Screen::Case(case) => case_words(model, case, (area, room), theme, buffer),
        Screen::Chat(chat) => {
            let agent = model.sets[chat.set].agent.as_deref().unwrap_or("no agent");
            x += put(buffer, x, area.y, room, "talking to ", theme.style(Role::Title));
            put(buffer, x, area.y, room.saturating_sub(11), agent, theme.style(Role::Title));
        }
        Screen::Edit(edit) => {
            x += put(buffer, x, area.y, room, "edit ", theme.style(Role::Title));
            let file = &model.sets[edit.at.set].path.shown;
            x += put(
                buffer,
                x,
                area.y,
                room.saturating_sub(6),
                &edit.before.eval_id,
                theme.style(Role::Title),
            ) + 2;
            put(buffer, x, area.y, (area.x + 1 + room).saturating_sub(x), file, theme.style(Role::Faint));
        }
        Screen::Run => {
            let id = model.run.as_ref().map(|run| run.plan.run_id.clone()).unwrap_or_default();
            x += put(buffer, x, area.y, room, "run ", theme.style(Role::Title));
            put(buffer, x, area.y, room.saturating_sub(4), &id, theme.style(Role::Faint));
        }
    }
}

/// Which case, what came of it, where in it we are, and which run it is from.
fn case_words(
    model: &Model,
    case: &CaseScreen,
    (area, room): (Rect, u16),
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let mut x = area.x + 1;
    let end = area.x + 1 + room;
    let id = model.eval_id(case.at).to_string();
    let id = fit(&id, usize::from(room).saturating_sub(20)).into_owned();
    x += put(buffer, x, area.y, room, &id, theme.style(Role::Title)) + 2;
    let (words, style) = status_words(model.shown_attempt(), theme);
    x += put(buffer, x, area.y, end.saturating_sub(x), &words, style) + 2;
    if let Some(turn) = model.shown_attempt().and_then(|attempt| attempt.turn) {
        x += put(
            buffer,
            x,
            area.y,
            end.saturating_sub(x),
            &format!("turn {turn} alone"),
            theme.style(Role::Note),
        ) + 2;
    }
    let place = place_words(model, case.turn, case.attempt);
    x += put(buffer, x, area.y, end.saturating_sub(x), &place, theme.style(Role::Faint)) + 2;
    let (words, role) = run_words(model, case.at);
    let left = end.saturating_sub(x);
    if words.width() <= usize::from(left) {
        put(buffer, x, area.y, left, &words, theme.style(role));
    }
}

/// The change on trial: what it is, what flips, what can be done with it.
pub(crate) fn banner(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    let (Some(trial), area) = (&model.trial, areas.banner) else { return };
    if area.is_empty() {
        return;
    }
    let (more, fewer) = trial.counts();
    let counts = match (trial.pending.is_some(), trial.flips.len()) {
        (true, _) => format!("{} rescoring", spinner(model.now)),
        (false, 0) => "no case comes out otherwise".to_string(),
        (false, all) => format!("+{more} pass  -{fewer} pass  {all} flip"),
    };
    let known =
        [(CommandId::Flips, "list"), (CommandId::WriteTrial, "write"), (CommandId::DropTrial, "drop")];
    let can_be_given = |(id, _): &(CommandId, &str)| command(*id).contexts.contains(&model.context());
    let keys = known.into_iter().filter(can_be_given);
    let keys: String = keys.map(|(id, word)| format!("  {} {word}", id.key())).collect();
    let right = format!("{counts}{keys}");
    let width = (right.width() as u16).min(area.width / 2);
    put_right(buffer, area.right() - 1, area.y, width, &right, theme.style(Role::Accent));
    let words = format!("what if  {}", trial.change.words().join(" · "));
    put(buffer, area.x + 1, area.y, area.width.saturating_sub(width + 3), &words, theme.style(Role::Note));
}

fn status_words(attempt: Option<&Arc<EndedAttempt>>, theme: &Theme) -> (String, ratatui::style::Style) {
    match attempt {
        None => ("not run".into(), theme.style(Role::Faint)),
        Some(attempt) if attempt.unsteady => {
            (format!("≈ {}, unsteady", attempt.status.label()), theme.style(Role::Note))
        }
        Some(attempt) => {
            let status = attempt.status;
            (format!("{} {}", status.glyph(), status.label()), theme.status(status))
        }
    }
}

/// Which run the result on the screen is from.
fn run_words(model: &Model, case: CaseRef) -> (String, Role) {
    let Some(outcome) = model.outcomes.get(case) else { return (String::new(), Role::Faint) };
    let run = model.run_words(&outcome.run);
    match model.is_superseded(case) {
        true => (format!("{run}, being run again"), Role::Note),
        false => (run, Role::Faint),
    }
}

fn place_words(model: &Model, turn: usize, attempt: usize) -> String {
    let turns = model.turns_shown().max(1);
    let attempts = model.current_case().and_then(|at| model.outcomes.get(at)).map_or(0, |o| o.attempts.len());
    let attempt =
        if attempts > 1 { format!("   attempt {}/{attempts}  , .", attempt + 1) } else { String::new() };
    let arrows = if turns > 1 { "  ← →" } else { "" };
    format!("turn {}/{turns}{arrows}{attempt}", turn + 1)
}

/// What goes on, or what came of it; on a case, which of the failing ones it is.
fn right_words(model: &Model) -> String {
    if let Some(run) = model.run.as_ref().filter(|run| run.is_live()) {
        return live_words(run, model.now);
    }
    match &model.screen {
        Screen::Case(case) => failing_words(model, case.at),
        _ => {
            let set = model.current_set().map(|set| &model.sets[set]);
            let agent = match set.map(|set| &set.agent) {
                Some(Ok(agent)) => format!("agent {agent}"),
                Some(Err(_)) => "no agent".into(),
                None => String::new(),
            };
            match &model.judge {
                Some(judge) if model.size.0 >= JUDGE_FROM => format!("{agent}   judge {judge}"),
                _ => agent,
            }
        }
    }
}

fn live_words(run: &RunState, now: f64) -> String {
    let how = match run.cancelling {
        None if run.paused => " paused",
        None => "",
        Some(CancelReason::Finish) => " finishing",
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

fn failing_words(model: &Model, at: CaseRef) -> String {
    let failing: Vec<_> = model
        .browse
        .visible
        .iter()
        .filter(|case| model.outcomes.worst(**case).is_some_and(|status| status != Status::Passed))
        .collect();
    match failing.iter().position(|case| **case == at) {
        Some(nth) => {
            let (next, previous) = (CommandId::NextFailing.key(), CommandId::PreviousFailing.key());
            format!("{} of {} failing  {next} {previous}", nth + 1, failing.len())
        }
        None if !failing.is_empty() => format!("{} failing", failing.len()),
        None => String::new(),
    }
}
