//! Coverage: a row for each tool, with the cases that expect it, called it, passed with it, or got an error from it. Choosing
//! a row lists the cases of the marked column.

use crate::analysis::{CallOutcome, CaseSet, CoveredAgent};
use crate::domain::{clean_line, counted};
use crate::explorer::case_list::listing::narrow;
use crate::explorer::shared::case_list::{NarrowedTo, Narrowing, Pane};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::{Effect, ResultEffect};
use crate::explorer::shared::key::{Key, KeyCode};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::notices;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::widgets::picker::{Picker, pick_with_note};
use crate::explorer::widgets::text::{put, put_right};
use crate::runner::CoveredWorkspace;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tui_input::InputRequest;

/// The columns, with what the cases of each have in common.
const COLUMNS: [(&str, &str); 4] = [
    ("expected", "expect"),
    ("called", "called"),
    ("passed", "passed with"),
    ("error", "got an error from"),
];
/// Columns of the screen for each.
const COLUMN_WIDTH: u16 = 13;
/// A list of fewer columns has only the numbers.
const WIDE: u16 = 70;
const NARROW_COLUMN_WIDTH: u16 = 6;
/// The number of notes on a tool that are shown.
const MAX_NOTES: usize = 6;

/// Tools to choose from, by index.
#[derive(Debug)]
pub struct CoverageList {
    /// The matching tools.
    pub picker: Picker<usize>,
    tools: Vec<ToolRow>,
    /// Index into [`COLUMNS`].
    column: usize,
    progress: ReadingProgress,
    ticket: Ticket,
}

#[derive(Debug)]
enum ReadingProgress {
    /// The results are being read.
    Reading,
    /// The number of cases, and of those with results.
    Done(usize, usize),
}

#[derive(Debug)]
struct ToolRow {
    /// With its agent, if there are several.
    name: String,
    /// Whether the agent declares it; `None` if that is not known.
    declared: Option<bool>,
    /// By column.
    cases: [BTreeSet<CaseRef>; COLUMNS.len()],
    /// The classes of its arguments that no case expects, and the findings.
    notes: Vec<String>,
}

/// Opens the coverage of the sets at the cursor of the tree, and has it read.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let ticket = model.ticket();
    let list = CoverageList {
        picker: Picker::new(Vec::new()),
        tools: Vec::new(),
        column: 0,
        progress: ReadingProgress::Reading,
        ticket,
    };
    dialog::open(model, list);
    vec![Effect::Results(ResultEffect::ReadCoverage(ticket))]
}

/// Shows the coverage, if the dialog that asked for it is still open.
pub(crate) fn read(model: &mut Model, ticket: Ticket, covered: &CoveredWorkspace) -> Vec<Effect> {
    let node = model.view.browse.nodes.get(model.view.browse.node);
    let listed: BTreeSet<usize> = node
        .map(|node| model.sets_under(node))
        .unwrap_or_default()
        .into_iter()
        .collect();
    let sets: BTreeMap<&Path, usize> = listed
        .iter()
        .map(|set| (model.view.sets[*set].path.path.as_path(), *set))
        .collect();
    let several = covered.agents.len() > 1;
    let (mut tools, mut counts) = (Vec::new(), (0, 0));
    for agent in &covered.agents {
        let places = places_of(agent, &sets);
        counts.0 += places.iter().flatten().count();
        counts.1 += with_results(agent, &places);
        tools.extend(tool_rows(agent, &places, several));
    }
    let notes = covered.notes.clone();
    let Some(list) = model
        .dialog_mut::<CoverageList>()
        .filter(|list| list.ticket == ticket)
    else {
        return Vec::new();
    };
    list.tools = tools;
    list.progress = ReadingProgress::Done(counts.0, counts.1);
    list.find();
    match notes.is_empty() {
        true => Vec::new(),
        false => notices::notify(model, notes.join("; "), true),
    }
}

/// Where each case of an agent is listed; `None` if it is not.
fn places_of(agent: &CoveredAgent, sets: &BTreeMap<&Path, usize>) -> Vec<Option<CaseRef>> {
    let place = |(path, index): &(std::sync::Arc<std::path::PathBuf>, usize)| {
        let set = *sets.get(path.as_path())?;
        Some(CaseRef { set, index: *index })
    };
    agent.positions.iter().map(place).collect()
}

/// The number of listed cases with results.
fn with_results(agent: &CoveredAgent, places: &[Option<CaseRef>]) -> usize {
    let cases = &agent.coverage.cases_with_attempts.0;
    cases.iter().filter(|case| places[**case].is_some()).count()
}

fn tool_rows(agent: &CoveredAgent, places: &[Option<CaseRef>], with_agent: bool) -> Vec<ToolRow> {
    let listed = |cases: &CaseSet| -> BTreeSet<CaseRef> {
        cases.0.iter().filter_map(|case| places[*case]).collect()
    };
    if places.iter().all(Option::is_none) {
        return Vec::new();
    }
    let mut notes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for finding in &agent.coverage.findings {
        if let Some(tool) = finding.problem.tool() {
            notes.entry(tool).or_default().push(finding.problem.text());
        }
    }
    for (tool, argument, labels) in agent.coverage.missing_classes() {
        let text = format!("{argument} is never expected as {}", labels.join(", "));
        notes.entry(tool).or_default().push(text);
    }
    let row = |(name, tool): (&String, &crate::analysis::ToolCoverage)| {
        let errors = tool.outcomes.get(&CallOutcome::Error);
        ToolRow {
            name: match (with_agent, &agent.name) {
                (true, Some(agent)) => format!("{agent}: {name}"),
                _ => name.clone(),
            },
            declared: tool.declared,
            cases: [
                listed(&tool.cases.expected),
                listed(&tool.cases.called),
                listed(&tool.cases.passed),
                errors.map(listed).unwrap_or_default(),
            ],
            notes: notes.remove(name.as_str()).unwrap_or_default(),
        }
    };
    agent.coverage.tools.iter().map(row).collect()
}

impl CoverageList {
    /// Lists the tools that match the typed text.
    fn find(&mut self) {
        let tools = self.tools.iter().enumerate();
        let named = tools.map(|(at, tool)| (at, clean_line(&tool.name).into_owned()));
        self.picker.find(named.collect::<Vec<_>>().into_iter());
    }

    fn headline(&self) -> String {
        match self.progress {
            ReadingProgress::Reading => "coverage: reading the results".into(),
            ReadingProgress::Done(cases, with_results) => {
                let declared = match self.tools.iter().any(|tool| tool.declared.is_some()) {
                    true => "",
                    false => ", declared tools not known",
                };
                format!("coverage of {cases} cases, {with_results} with results{declared}")
            }
        }
    }

    /// About the tool under the cursor, and the keys.
    fn note(&self) -> Option<String> {
        let tool = &self.tools[self.picker.chosen()?];
        let (label, _) = COLUMNS[self.column];
        let count = counted(tool.cases[self.column].len(), "case");
        let keys = format!("enter list {count} ({label})  ·  tab next column");
        let notes = tool.notes.iter().take(MAX_NOTES);
        let lines: Vec<String> = [keys]
            .into_iter()
            .chain(notes.map(|note| clean_line(note).into_owned()))
            .collect();
        Some(lines.join("  ·  "))
    }
}

impl Dialog for CoverageList {
    fn own_key(&mut self, key: Key) -> bool {
        let is_tab = key.code == KeyCode::Tab;
        if is_tab {
            self.column = (self.column + 1) % COLUMNS.len();
        }
        is_tab
    }

    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        self.picker.input.handle(request);
        self.find();
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.picker.scroll(motion);
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let tool = &self.tools[self.picker.chosen()?];
        let cases = tool.cases[self.column].clone();
        if cases.is_empty() {
            return None;
        }
        let (_, what) = COLUMNS[self.column];
        let what = Narrowing::Tool(format!("{what} {}", tool.name));
        narrow(model, Some(NarrowedTo { what, cases }));
        model.view.browse.pane = Pane::Cases;
        Some(Vec::new())
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        for cases in self.tools.iter_mut().flat_map(|tool| &mut tool.cases) {
            *cases = cases.iter().filter_map(|case| new(*case)).collect();
        }
        true
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let row = |(at, name): &(usize, String), area: Rect, style: Style, buffer: &mut Buffer| {
            draw_tool(
                &self.tools[*at],
                name,
                self.column,
                area,
                (style, theme),
                buffer,
            );
        };
        let (title, note) = (self.headline(), self.note());
        Some(pick_with_note(
            &self.picker,
            &title,
            note.as_deref(),
            areas,
            theme,
            buffer,
            row,
        ))
    }
}

/// Draws a tool: its name, and the number of cases of each column. The marked column has the colour of accents.
fn draw_tool(
    tool: &ToolRow,
    name: &str,
    column: usize,
    area: Rect,
    (style, theme): (Style, &Theme),
    buffer: &mut Buffer,
) {
    let width = match area.width >= WIDE {
        true => COLUMN_WIDTH,
        false => NARROW_COLUMN_WIDTH,
    };
    let room = area.width.saturating_sub(width * COLUMNS.len() as u16 + 1);
    let (name, name_style) = match tool.declared {
        Some(false) => (
            format!("{name}  not declared"),
            theme.within(style, theme.style(Role::Failed)),
        ),
        _ => (name.to_string(), style),
    };
    put(buffer, area.x, area.y, room, &name, name_style);
    for (at, ((label, _), cases)) in COLUMNS.iter().zip(&tool.cases).enumerate() {
        let count = cases.len();
        let role = match (at == column, at, count) {
            (true, ..) => Role::Accent,
            (_, 3, 1..) => Role::Errored,
            (_, 0..3, 0) => Role::Failed,
            _ => Role::Faint,
        };
        let text = match area.width >= WIDE {
            true => format!("{label} {count}"),
            false => count.to_string(),
        };
        let right = area.right() - width * (COLUMNS.len() - 1 - at) as u16;
        let style = theme.within(style, theme.style(role));
        put_right(buffer, right.saturating_sub(1), area.y, width, &text, style);
    }
}
