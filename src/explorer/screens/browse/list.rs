//! The list of cases.

use super::case_row::{QUARANTINED, case_row};
use super::columns::{ColumnWidths, headings, measured_rows};
use super::reason::note_reason;
use crate::explorer::authoring::conditions::can_write_set;
use crate::explorer::case_list::decisions::{quarantine_of, quarantined_totals};
use crate::explorer::shared::case_list::{Pane, TreeNode};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::{CLEAR, NEW_CASE};
use crate::explorer::shared::layout::{Layout, case_rows, inside};
use crate::explorer::shared::list_order::ListOrder;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::set_view::SetState;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::attempts::FLAKY;
use crate::explorer::widgets::text::put_spans;
use crate::explorer::widgets::{counts_text, panel, panel_note, scrollbar};
use evaltrail_core::diff::{Span, wrap_line};
use evaltrail_core::domain::{Totals, clean_line, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::HashSet;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Draws the list into its pane.
pub(super) fn draw(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    let area = areas.main;
    let focused = model.view.browse.pane == Pane::Cases;
    let totals = totals_text(model);
    let room = usize::from(area.width).saturating_sub(totals.width() + 8);
    let inner = panel(area, &list_title(model, room), focused, theme, buffer);
    panel_note(area, area.y, &totals, theme.style(Role::Title), buffer);
    let rows = case_rows(areas);
    let shown = usize::from(rows.height);
    let browse = &model.view.browse;
    let window: Vec<CaseRef> = browse
        .visible
        .iter()
        .skip(browse.offset)
        .take(shown)
        .copied()
        .collect();
    let measured = measured_rows(&browse.visible, &window);
    let columns = ColumnWidths::fit(model, inner.width, &measured, theme);
    if areas.preview.is_empty() {
        note_reason(model, area, theme, buffer);
    }
    headings(&columns, inner, theme, buffer);
    let running = running_cases(model);
    for (row, case) in window.iter().enumerate() {
        let at = browse.offset + row;
        let area = Rect {
            y: rows.y + row as u16,
            height: 1,
            ..rows
        };
        let style = theme.cursor_row(at == browse.cursor, focused);
        buffer.set_style(area, style);
        case_row(
            model,
            *case,
            area,
            &columns,
            (style, running.contains(case)),
            theme,
            buffer,
        );
    }
    scrollbar(
        area,
        browse.offset,
        shown,
        browse.visible.len(),
        theme,
        buffer,
    );
    if browse.visible.is_empty() {
        empty_text(model, rows, theme, buffer);
    }
}

/// What is listed; where there is room, which runs the results are from.
fn list_title(model: &Model, room: usize) -> String {
    let name = match model.view.browse.nodes.get(model.view.browse.node) {
        Some(TreeNode::All) => "all".to_string(),
        Some(TreeNode::Group(name)) => name.clone(),
        Some(TreeNode::Set(set)) => model.view.sets[*set].path.shown.clone(),
        None => String::new(),
    };
    let order = match model.view.browse.order {
        ListOrder::File => String::new(),
        order => format!(" · {}", order.describe()),
    };
    let filter = match model.view.browse.filter.is_empty() {
        true => String::new(),
        false => format!(
            " · {} match /{}",
            model.view.browse.visible.len(),
            model.view.browse.filter
        ),
    };
    let narrowing = match &model.view.browse.narrowing {
        None => String::new(),
        Some(to) => format!(
            "{}: {} · ",
            model.view.browse.visible.len(),
            clean_line(&to.what.describe())
        ),
    };
    let selected = match model.view.browse.selected.len() {
        0 => String::new(),
        count => format!(" · {count} selected"),
    };
    let mut sets = model.sets_at_cursor();
    let is_unreadable = |set: &&usize| model.view.sets[**set].cannot_be_read();
    let unreadable = match sets.iter().filter(is_unreadable).count() {
        0 => String::new(),
        count => format!(" · {} cannot be read", counted(count, "file")),
    };
    sets.retain(|set| model.file(*set).is_some());
    let title = format!("{narrowing}{name}{unreadable}{order}{filter}{selected}");
    match model
        .runs_text(&sets)
        .map(|words| format!("{title} · {words}"))
    {
        Some(with_runs) if with_runs.width() <= room => with_runs,
        _ => cut_to(title, room),
    }
}

/// A text that is cut to a width in columns, with an ellipsis.
fn cut_to(text: String, room: usize) -> String {
    if text.width() <= room {
        return text;
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= room
    };
    text.chars().take_while(fits).collect::<String>() + "…"
}

/// Counts over the sets that are listed; flaky cases and failures of quarantined cases are counted apart. If some cases have
/// results, the number of those that have none follows.
fn totals_text(model: &Model) -> String {
    let browse = &model.view.browse;
    if !browse.filter.is_empty() || browse.narrowing.is_some() {
        return match browse.visible.len() {
            0..=MAX_COUNTED => listed_totals_text(model),
            // Counted for each frame, which would be felt.
            _ => String::new(),
        };
    }
    let sets = model.sets_at_cursor();
    let (mut totals, mut quarantined, mut flaky) = (Totals::default(), 0, 0);
    let mut not_run = 0;
    for set in sets {
        let Some(file) = model.file(set) else {
            continue;
        };
        let (of_set, mut of_flaky) = (
            model.view.outcomes.totals(set),
            model.view.outcomes.flaky(set),
        );
        not_run += file.len().saturating_sub(of_set.ended());
        let (apart, both) = quarantined_totals(model, set);
        of_flaky = of_flaky.without(both);
        totals = totals.and(of_set.without(apart).without(of_flaky));
        quarantined += apart.ended();
        flaky += of_flaky.ended();
    }
    totals_with(totals, (quarantined, flaky, not_run))
}

/// The counts by status, those of quarantined and flaky cases, and of those that were not run.
fn totals_with(totals: Totals, (quarantined, flaky, not_run): (usize, usize, usize)) -> String {
    let mut words = counts_text(totals);
    for (sign, count) in [(QUARANTINED, quarantined), (FLAKY, flaky)] {
        if count > 0 {
            words += &format!("  {sign} {count}");
        }
    }
    if not_run > 0 && !words.is_empty() {
        words += &format!("  {not_run} not run");
    }
    words
}

/// The maximum number of listed cases that are counted by status while a filter is active.
const MAX_COUNTED: usize = 20_000;

/// [`totals_text`] of the listed cases.
fn listed_totals_text(model: &Model) -> String {
    let (mut totals, mut quarantined, mut flaky, mut not_run) = (Totals::default(), 0, 0, 0);
    for case in &model.view.browse.visible {
        match model.view.outcomes.get(*case) {
            None => not_run += 1,
            Some(one) if one.is_failing() && quarantine_of(model, *case).is_some() => {
                quarantined += 1;
            }
            Some(one) if one.is_flaky => flaky += 1,
            Some(one) => totals.add(one.worst),
        }
    }
    totals_with(totals, (quarantined, flaky, not_run))
}

fn running_cases(model: &Model) -> HashSet<CaseRef> {
    let Some(run) = model.live_run() else {
        return HashSet::new();
    };
    run.in_flight
        .keys()
        .filter_map(|key| model.case_of(run, *key))
        .collect()
}

fn empty_text(model: &Model, rows: Rect, theme: &Theme, buffer: &mut Buffer) {
    let failed = match model.view.browse.nodes.get(model.view.browse.node) {
        Some(TreeNode::Set(set)) => match &model.view.sets[*set].state {
            SetState::Failed(why) => Some(why.clone()),
            SetState::Loading => Some("opening…".into()),
            SetState::Gone => Some("the file was deleted".into()),
            SetState::Ready(..) => None,
        },
        _ => None,
    };
    let has_cause = model.view.browse.narrowing.is_some();
    let words = failed.unwrap_or_else(|| match model.view.browse.filter.is_empty() {
        true if has_cause => format!(
            "no case of this cause is here; {} lists all cases",
            CLEAR.key()
        ),
        false => format!("nothing matches the filter; {} clears it", CLEAR.key()),
        true if model.is_searching => "looking through the folder…".into(),
        true if can_write_set(model).is_ok() => format!("no cases; {} adds one", NEW_CASE.key()),
        true => "no cases".into(),
    });
    let span = Span {
        text: clean_line(&words).into_owned(),
        ..Default::default()
    };
    let inner = inside(Rect { x: rows.x, ..rows });
    for (row, line) in wrap_line(&[span], usize::from(inner.width))
        .iter()
        .enumerate()
    {
        if (row as u16) < inner.height {
            let position = (inner.x, inner.y + row as u16);
            put_spans(buffer, position, inner.width, line, theme, Role::Text);
        }
    }
}
