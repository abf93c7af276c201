//! The tree of sets, the list of cases, and the preview of one.

use super::{empty, list};
use crate::explorer::screens::browse::update::tree_offset;
use crate::explorer::shared::case_list::{Pane, TreeNode};
use crate::explorer::shared::layout::{Layout, TWO_PANES_FROM, with_preview};
use crate::explorer::shared::model::{Model, OpenedRun};
use crate::explorer::shared::set_view::SetState;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shown_case::preview;
use crate::explorer::widgets::text::{put, put_right};
use crate::explorer::widgets::{panel, scrollbar};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout as Layouts, Position, Rect};
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

/// Columns of the tree, from `WIDE_TREE_FROM` columns on and on narrower screens.
const TREE_WIDTH: u16 = 28;
const MAX_TREE_WIDTH: u16 = 44;
const TREE_NARROW: u16 = 20;
const WIDE_TREE_FROM: u16 = 140;
/// Width of the screen from which the tree is as wide as its names need. On narrower screens reasons need the room.
const FITTED_TREE_FROM: u16 = 110;

pub(crate) fn layout(base: Layout, model: &Model) -> Layout {
    let body = base.body;
    if is_empty(model) {
        return Layout {
            left: Rect::default(),
            main: body,
            ..base
        };
    }
    if body.width >= TWO_PANES_FROM {
        let tree = tree_width(model, body.width);
        let [left, rest] =
            Layouts::horizontal([Constraint::Length(tree), Constraint::Fill(1)]).areas(body);
        let [main, preview] = with_preview(body, rest, model.view.browse.visible.len());
        return Layout {
            left,
            main,
            preview,
            ..base
        };
    }
    match model.view.browse.pane {
        Pane::Sets => Layout {
            left: body,
            main: Rect::default(),
            ..base
        },
        Pane::Cases => Layout {
            left: Rect::default(),
            main: body,
            ..base
        },
    }
}

/// The folder that was opened, or the past run.
pub(crate) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    match &model.opened_run {
        Some(opened) => {
            let words = run_title(model, opened);
            put(
                buffer,
                area.x,
                area.y,
                area.width,
                &words,
                theme.style(Role::Note),
            );
        }
        None => folder_title(model, area, theme, buffer),
    }
}

/// The name of the past run, and the attempts that it lacks.
fn run_title(model: &Model, opened: &OpenedRun) -> String {
    if model.is_renewed {
        let left = match opened.not_run {
            0 => "all attempts ended".to_string(),
            1 => "1 attempt left; new results appear here".into(),
            count => format!("{count} attempts left; new results appear here"),
        };
        return format!("{}: {left}", model.title);
    }
    let not_run = match opened.not_run {
        0 => String::new(),
        1 => "; 1 attempt was not run".into(),
        count => format!("; {count} attempts were not run"),
    };
    let name = opened.name.as_deref().unwrap_or(&opened.run.id);
    format!(
        "past {}: {name}, as it was{not_run}",
        model.run_text(&opened.run)
    )
}

/// Draws the name of the folder and how its last run compares with the baseline.
fn folder_title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let used = put(
        buffer,
        area.x,
        area.y,
        area.width,
        "evaltrail  ",
        theme.style(Role::Title),
    );
    let room = area.width.saturating_sub(used);
    let folder = put(
        buffer,
        area.x + used,
        area.y,
        room,
        &model.title,
        theme.style(Role::Faint),
    );
    if let Some(words) = &*model.vs_baseline {
        let room = room.saturating_sub(folder);
        // A part that is cut anywhere could be misread: the counts alone, with fewer words, are the shortest form.
        let counts = words.split(';').next().unwrap_or_default();
        let forms = [
            format!("   last run {words}"),
            format!("   last run {counts}"),
            format!("   {counts}"),
        ];
        let fits = |words: &&String| words.width() <= usize::from(room);
        if let Some(words) = forms.iter().find(fits) {
            put(
                buffer,
                area.x + used + folder,
                area.y,
                room,
                words,
                theme.style(Role::Text),
            );
        }
    }
}

pub(crate) fn draw(
    model: &Model,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    if is_empty(model) {
        empty::draw(model, areas.main, theme, buffer);
        return None;
    }
    if !areas.left.is_empty() {
        tree(model, areas.left, theme, buffer);
    }
    if !areas.main.is_empty() {
        list::draw(model, areas, theme, buffer);
    }
    if !areas.preview.is_empty() {
        preview::draw(model, areas.preview, theme, buffer);
    }
    None
}

/// The width of the tree on a screen with this width: all names are whole, up to a limit.
fn tree_width(model: &Model, screen: u16) -> u16 {
    /// Columns for the border, the indentation and the counts.
    const BESIDE_NAME: usize = 14;
    let (least, most) = match screen {
        WIDE_TREE_FROM.. => (TREE_WIDTH, MAX_TREE_WIDTH),
        FITTED_TREE_FROM..WIDE_TREE_FROM => (TREE_NARROW, screen / 4),
        _ => (TREE_NARROW, TREE_NARROW),
    };
    let names = model.view.sets.iter().map(|set| set.path.stem.width());
    let wanted = names.max().unwrap_or(0) + BESIDE_NAME;
    u16::try_from(wanted).unwrap_or(most).clamp(least, most)
}

fn tree(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let focused = model.view.browse.pane == Pane::Sets;
    let title = match model.view.browse.filter.as_str() {
        "" => "Eval sets".to_string(),
        filter => format!("Eval sets · /{filter}"),
    };
    let inner = panel(area, &title, focused, theme, buffer);
    let rows = usize::from(inner.height);
    let first = tree_offset(model, rows);
    for (at, node) in model
        .view
        .browse
        .nodes
        .iter()
        .enumerate()
        .skip(first)
        .take(rows)
    {
        let row = Rect {
            y: inner.y + (at - first) as u16,
            height: 1,
            ..inner
        };
        let style = theme.cursor_row(at == model.view.browse.node, focused);
        buffer.set_style(row, style);
        match node {
            TreeNode::All => {
                let style = theme.within(style, theme.style(Role::Title));
                set_totals(model, node, row, style, theme, buffer);
                put(buffer, row.x + 1, row.y, row.width / 2, "all", style);
            }
            TreeNode::Group(name) => {
                put(
                    buffer,
                    row.x + 1,
                    row.y,
                    row.width - 1,
                    &format!("▾ {name}"),
                    theme.within(style, theme.style(Role::Title)),
                );
            }
            TreeNode::Set(set) => set_row(model, *set, row, style, theme, buffer),
        }
    }
    scrollbar(
        area,
        first,
        rows,
        model.view.browse.nodes.len(),
        theme,
        buffer,
    );
}

/// Whether the folder has no eval sets.
fn is_empty(model: &Model) -> bool {
    model.view.browse.nodes.is_empty() && !model.is_searching
}

fn set_row(model: &Model, set: usize, row: Rect, style: Style, theme: &Theme, buffer: &mut Buffer) {
    let view = &model.view.sets[set];
    let totals = model.view.outcomes.totals(set);
    let (note, note_style) = match &view.state {
        SetState::Loading => ("…".to_string(), theme.style(Role::Faint)),
        SetState::Failed(_) => ("!".to_string(), theme.style(Role::Bad)),
        SetState::Gone => ("deleted".to_string(), theme.style(Role::Bad)),
        SetState::Ready(file, _) => match totals.ended() {
            0 => (format!("{}", file.len()), theme.style(Role::Faint)),
            _ => {
                let all_passed = totals.passed == totals.ended();
                let role = match (all_passed, totals.failed + totals.errored) {
                    (true, _) => Role::Passed,
                    (false, 0) => Role::NotEvaluated,
                    (false, _) => Role::Failed,
                };
                (
                    format!("{}/{}", totals.passed, file.len()),
                    theme.style(role),
                )
            }
        },
    };
    let used = put_right(
        buffer,
        row.right() - 1,
        row.y,
        row.width / 2,
        &note,
        theme.within(style, note_style),
    );
    put(
        buffer,
        row.x + 3,
        row.y,
        row.width.saturating_sub(used + 5),
        &view.path.stem,
        style,
    );
}

/// How many cases of a row's sets passed, of how many.
fn set_totals(
    model: &Model,
    node: &TreeNode,
    row: Rect,
    style: Style,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let (mut passed, mut ended, mut all) = (0, 0, 0);
    for set in model
        .sets_under(node)
        .into_iter()
        .filter(|set| model.file(*set).is_some())
    {
        let totals = model.view.outcomes.totals(set);
        passed += totals.passed;
        ended += totals.ended();
        all += model.file(set).map_or(0, |file| file.len());
    }
    let words = if ended == 0 {
        format!("{all}")
    } else {
        format!("{passed}/{all}")
    };
    put_right(
        buffer,
        row.right() - 1,
        row.y,
        row.width / 2,
        &words,
        theme.within(style, theme.style(Role::Faint)),
    );
}
