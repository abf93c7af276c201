//! The title of the case screen.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::{NEXT_FAILING, PREVIOUS_FAILING};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::{fit, put};
use evaltrail_core::analysis::PassCount;
use evaltrail_core::domain::{EndedAttempt, Status};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

/// Draws the id of the case, its status, the turn if it was run alone, and where there is room the run that the result is from,
/// and its set.
pub(crate) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(case) = model.open_case() else {
        return;
    };
    let (mut x, end, room) = (area.x, area.right(), area.width);
    let id = model.shown_id(case.at).to_string();
    let id = fit(
        &id,
        usize::from(room)
            .saturating_sub(20)
            .max(usize::from(room) / 2),
    )
    .into_owned();
    x += put(buffer, x, area.y, room, &id, theme.style(Role::Title)) + 2;
    let words = status_text(model.shown_attempt());
    let style = status_style(model.shown_attempt(), theme);
    x += put(buffer, x, area.y, end.saturating_sub(x), &words, style) + 2;
    let room = usize::from(end.saturating_sub(x));
    if let Some(words) = rate_text(model, case.at, room).filter(|words| words.width() <= room) {
        x += put(
            buffer,
            x,
            area.y,
            end.saturating_sub(x),
            &words,
            theme.style(Role::Note),
        ) + 2;
    }
    if let Some(turn) = model.shown_attempt().and_then(|attempt| attempt.turn) {
        x += put(
            buffer,
            x,
            area.y,
            end.saturating_sub(x),
            &single_turn_text(turn),
            theme.style(Role::Note),
        ) + 2;
    }
    let (words, role) = run_text(model, case.at);
    let set = set_text(model, case.at);
    for (words, role) in [(words, role), (set, Role::Faint)] {
        let left = end.saturating_sub(x);
        if !words.is_empty() && words.width() <= usize::from(left) {
            x += put(buffer, x, area.y, left, &words, theme.style(role)) + 2;
        }
    }
}

/// The set of a case; empty if there is only one.
fn set_text(model: &Model, case: CaseRef) -> String {
    match &model.view.sets[..] {
        [_] => String::new(),
        sets => format!("set {}", sets[case.set].label),
    }
}

/// Number of columns that the title needs without the run that the result is from, and without the rate, which the statuses
/// of the attempts show as well.
pub(crate) fn title_width(model: &Model) -> usize {
    let Some(case) = model.open_case() else {
        return 0;
    };
    let attempt = model.shown_attempt();
    let texts = [
        Some(model.shown_id(case.at).to_string()),
        Some(status_text(attempt)),
        attempt
            .and_then(|attempt| attempt.turn)
            .map(single_turn_text),
    ];
    texts.iter().flatten().map(|text| text.width() + 2).sum()
}

fn single_turn_text(turn: u32) -> String {
    format!("turn {turn} alone")
}

/// How many attempts of a repeated case passed; with the interval of the pass rate, if there is room for it.
fn rate_text(model: &Model, case: CaseRef, room: usize) -> Option<String> {
    let attempts = &model.view.outcomes.get(case)?.attempts;
    let count = PassCount::count(attempts);
    let (low, high) = count.interval().filter(|_| attempts.len() > 1)?;
    let flaky = if count.is_flaky() { "flaky: " } else { "" };
    let (low, high) = (low * 100.0, high * 100.0);
    let rate = format!("{flaky}{} passed", count.describe());
    let with_interval = format!("{rate} (95 %: {low:.0} to {high:.0} %)");
    Some(match with_interval.width() <= room {
        true => with_interval,
        false => rate,
    })
}

fn status_text(attempt: Option<&Arc<EndedAttempt>>) -> String {
    match attempt {
        None => "not run".into(),
        Some(attempt) if attempt.unsteady => format!("≈ {}, unsteady", attempt.status.label()),
        Some(attempt) => format!("{} {}", attempt.status.glyph(), attempt.status.label()),
    }
}

fn status_style(attempt: Option<&Arc<EndedAttempt>>, theme: &Theme) -> Style {
    match attempt {
        None => theme.style(Role::Faint),
        Some(attempt) if attempt.unsteady => theme.style(Role::Note),
        Some(attempt) => theme.status(attempt.status),
    }
}

/// The run that the displayed result is from.
fn run_text(model: &Model, case: CaseRef) -> (String, Role) {
    let Some(outcome) = model.view.outcomes.get(case) else {
        return (String::new(), Role::Faint);
    };
    let run = model.run_text(&outcome.run);
    match model.is_superseded(case) {
        true => (format!("{run}, being run again"), Role::Note),
        false => (run, Role::Faint),
    }
}

/// Width in columns from which the keys for the failing cases are shown.
const NARROW: u16 = 60;

/// The position of the case among those that did not pass.
pub(crate) fn failing_text(model: &Model) -> String {
    let [with_keys, text, _] = failing_texts(model);
    match model.size.0 < NARROW {
        true => text,
        false => with_keys,
    }
}

/// The position of the case among those that did not pass: with the keys that go to the others, without them, and as short as
/// possible.
pub(crate) fn failing_texts(model: &Model) -> [String; 3] {
    let Some(at) = model.open_case().map(|case| case.at) else {
        return Default::default();
    };
    let browse = &model.view.browse;
    let did_not_pass = |case: &&CaseRef| {
        let worst = model.view.outcomes.worst(**case);
        worst.is_some_and(|status| status != Status::Passed)
    };
    let (mut count, mut position) = (0, None);
    for case in browse.visible.iter().filter(did_not_pass) {
        if *case == at {
            position = Some(count);
        }
        count += 1;
    }
    match position {
        Some(position) => {
            let (nth, next, previous) = (position + 1, NEXT_FAILING.key(), PREVIOUS_FAILING.key());
            let text = format!("{nth} of {count} failing");
            let with_keys = format!("{text}  {next} {previous}");
            [with_keys, text, format!("{nth}/{count}")]
        }
        None if count > 0 => {
            let text = format!("{count} failing");
            [text.clone(), text, String::new()]
        }
        None => Default::default(),
    }
}
