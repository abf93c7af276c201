//! The line at the top: the title of the screen, and the state of the run or what the screen shows. Below it, the
//! banner of the active what-if.

use crate::explorer::commands::Command;
use crate::explorer::commands::SCORE_OUTDATED;
use crate::explorer::commands::what_if::{CHANGED_CASES, DROP_WHAT_IF, WRITE_WHAT_IF};
use crate::explorer::shared::active_what_if::ActiveWhatIf;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::{fit, put, put_right};
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
    let text = BannerText {
        change: what_if.change.describe().join(" · "),
        states: match what_if.is_written {
            true => ["what if, written to files", "written what-if"],
            false => ["what if"; 2],
        },
        counts: counts_texts(what_if, model.now),
        keys: banner_keys(model, what_if),
    };
    let (left, right) = text.fitted(usize::from(area.width));
    let width = right.width() as u16;
    let end = area.right() - 1;
    let accent = theme.style(Role::Accent);
    put_right(buffer, end, area.y, width, &right, accent);
    let used = if width == 0 { 2 } else { width + 3 };
    let room = area.width.saturating_sub(used);
    let note = theme.style(Role::Note);
    put(buffer, area.x + 1, area.y, room, &left, note);
}

/// The keys for a what-if, with what they do.
fn banner_keys(model: &Model, what_if: &ActiveWhatIf) -> Vec<String> {
    let drop = if what_if.is_written { "close" } else { "drop" };
    let known = [
        (&DROP_WHAT_IF, drop),
        (&SCORE_OUTDATED, "score again"),
        (&WRITE_WHAT_IF, "write"),
        (&CHANGED_CASES, "list"),
    ];
    let hidden = match what_if.is_written {
        true => &WRITE_WHAT_IF,
        false => &SCORE_OUTDATED,
    };
    let can_be_given = |(command, _): &(&Command, &str)| {
        command.is_in(model.context()) && (command.enabled)(model).is_ok() && **command != *hidden
    };
    let keys = known.into_iter().filter(can_be_given);
    keys.map(|(id, word)| format!("  {} {word}", id.key()))
        .collect()
}

/// The effect of a what-if on the cases, in full and short.
fn counts_texts(what_if: &ActiveWhatIf, now: f64) -> [String; 2] {
    let (more, fewer) = what_if.counts();
    let all = what_if.status_changes.len();
    let others = match all == more + fewer {
        true => String::new(),
        false => format!(", {all} change"),
    };
    match (what_if.pending.is_some(), all) {
        (true, _) => {
            let spinner = spinner(now);
            [format!("{spinner} rescoring"), spinner.to_string()]
        }
        (false, 0) => ["no case changes", "no change"].map(str::to_string),
        (false, _) => [
            format!("+{more} pass, {fewer} break{others}"),
            format!("+{more} −{fewer}{others}"),
        ],
    }
}

/// What the banner has to show.
struct BannerText {
    change: String,
    /// What is before the change, in full and short.
    states: [&'static str; 2],
    /// The effect on the cases, in full and short.
    counts: [String; 2],
    /// The most important key first.
    keys: Vec<String>,
}

impl BannerText {
    /// The left and the right part of the banner. To keep the change whole, the counts are shortened, then the state; then
    /// keys are left out, and at last the counts. A change that is too long even for that has a third of the width at least.
    fn fitted(&self, width: usize) -> (String, String) {
        let left = |state: &str| format!("{state}  {}", self.change);
        let right = |counts: &str, keys: usize| format!("{counts}{}", self.keys[..keys].concat());
        let ([state, short_state], [counts, short_counts]) = (self.states, &self.counts);
        let all = self.keys.len();
        let whole = [
            (left(state), right(counts, all)),
            (left(state), right(short_counts, all)),
        ];
        let fewer_keys = (0..=all)
            .rev()
            .map(|keys| (left(short_state), right(short_counts, keys)));
        let alone = (left(short_state), String::new());
        let fits = |(left, right): &(String, String)| {
            let gap = if right.is_empty() { 2 } else { 4 };
            left.width() + gap + right.width() <= width
        };
        let mut choices = whole.into_iter().chain(fewer_keys).chain([alone]);
        choices.find(fits).unwrap_or_else(|| {
            let right = right(short_counts, all);
            (left(short_state), fit(&right, width / 3 * 2).into_owned())
        })
    }
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
        run.needed_attempts(),
        counts_text(run.totals)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banner_keeps_change_whole_at_each_width() {
        let text = BannerText {
            change: "water_bed: litres tolerance 1".into(),
            states: ["what if, written to files", "written what-if"],
            counts: ["+12 pass, 3 break".into(), "+12 −3".into()],
            keys: vec!["  w x close".into(), "  w f list".into()],
        };
        let right = |width| {
            let (left, right) = text.fitted(width);
            assert!(left.ends_with(&text.change), "{width}: {left}");
            assert!(left.width() + right.width() + 2 <= width, "{width}");
            right
        };
        assert_eq!(right(120), "+12 pass, 3 break  w x close  w f list");
        assert_eq!(right(90), "+12 −3  w x close  w f list");
        assert_eq!(right(78), "+12 −3  w x close  w f list");
        assert_eq!(right(70), "+12 −3  w x close");
        assert_eq!(right(57), "+12 −3");
        assert_eq!(right(50), "");
        let (left, right) = text.fitted(40);
        assert_eq!(left, "written what-if  water_bed: litres tolerance 1");
        assert_eq!(right, "+12 −3  w x close  w f li…", "it is cut in any case");
    }
}
