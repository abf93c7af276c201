//! Coverage: a row for each tool, with the cases that expect it, called it, passed with it, or got an error or no response from it. Choosing
//! a row lists the cases of the marked column.

use crate::explorer::case_list::listing::narrow;
use crate::explorer::shared::case_list::{NarrowedTo, Narrowing, Pane};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::{Effect, ResultEffect};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::notices;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::widgets::picker::{Picker, PickerNote, pick_with_note};
use crate::explorer::widgets::text::{put, put_right};
use evaltrail_core::analysis::{CallOutcome, CaseSet, CoveredAgent, ToolCoverage};
use evaltrail_core::domain::{clean_line, counted};
use evaltrail_engine::runner::CoveredWorkspace;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use tui_input::InputRequest;

/// The columns, with what the cases of each have in common.
const COLUMNS: [(&str, &str); 5] = [
    ("expected", "expect"),
    ("called", "called"),
    ("passed", "passed with"),
    ("call error", "got an error from"),
    ("no response", "got no response from"),
];
/// Of these columns, the numbers are marked if they are not 0; of those before, if they are.
const FIRST_BAD: usize = 3;
/// The shortest name that leaves columns with labels; where it has no room, there are only the numbers.
const NAMES: u16 = 22;
/// Follows the name of a tool that the agent does not declare.
const NOT_DECLARED: &str = "  not declared";
/// The number of notes on a tool that are shown.
const MAX_NOTES: usize = 6;

/// Tools to choose from, by index.
#[derive(Debug)]
pub struct CoverageList {
    /// The matching tools.
    pub picker: Picker<usize>,
    tools: Vec<ToolRow>,
    covered: Arc<CoveredWorkspace>,
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
    /// Index into the agents of the workspace.
    agent: usize,
    /// By column, by the positions in the coverage of the agent.
    cases: [CaseSet; COLUMNS.len()],
    /// The classes of its arguments that no case expects, and the findings.
    notes: Vec<String>,
}

/// Opens the coverage of the sets at the cursor of the tree, and has it read.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let ticket = model.ticket();
    let node = model.view.browse.nodes.get(model.view.browse.node);
    let sets = node.map(|node| model.sets_under(node)).unwrap_or_default();
    let files = sets
        .into_iter()
        .map(|set| model.view.sets[set].path.path.clone())
        .collect();
    let list = CoverageList {
        picker: Picker::new(Vec::new()),
        tools: Vec::new(),
        covered: Arc::default(),
        column: 0,
        progress: ReadingProgress::Reading,
        ticket,
    };
    dialog::open(model, list);
    vec![Effect::Results(ResultEffect::ReadCoverage(ticket, files))]
}

/// Shows the coverage, if the dialog that asked for it is still open.
pub(crate) fn read(
    model: &mut Model,
    ticket: Ticket,
    covered: Arc<CoveredWorkspace>,
) -> Vec<Effect> {
    let list = model
        .dialog_mut::<CoverageList>()
        .filter(|list| list.ticket == ticket);
    let Some(list) = list else {
        return Vec::new();
    };
    let agents = &covered.agents;
    let rows = |(at, agent)| tool_rows(at, agent, agents.len() > 1);
    list.tools = agents.iter().enumerate().flat_map(rows).collect();
    let counts = agents.iter().map(|agent| {
        let coverage = &agent.coverage;
        (coverage.cases.len(), coverage.cases_with_attempts.count())
    });
    let sum = counts.fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1));
    list.progress = ReadingProgress::Done(sum.0, sum.1);
    let notes = covered.notes.join("; ");
    list.covered = covered;
    list.find();
    match notes.is_empty() {
        true => Vec::new(),
        false => notices::notify(model, notes, true),
    }
}

fn tool_rows(at: usize, agent: &CoveredAgent, with_agent: bool) -> Vec<ToolRow> {
    let mut notes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for finding in &agent.coverage.findings {
        if let Some(tool) = finding.problem.tool() {
            let cases = counted(finding.cases.count(), "case");
            let text = format!("{} ({cases})", finding.problem.text());
            notes.entry(tool).or_default().push(text);
        }
    }
    for (tool, argument, labels) in agent.coverage.missing_classes() {
        let text = format!("{argument} is never expected as {}", labels.join(", "));
        notes.entry(tool).or_default().push(text);
    }
    let row = |(name, tool): (&String, &ToolCoverage)| ToolRow {
        name: match (with_agent, &agent.name) {
            (true, Some(agent)) => format!("{agent}: {name}"),
            _ => name.clone(),
        },
        declared: tool.declared,
        agent: at,
        cases: [
            tool.cases.expected.clone(),
            tool.cases.called.clone(),
            tool.cases.passed.clone(),
            with_outcome(tool, CallOutcome::Error),
            with_outcome(tool, CallOutcome::NoResponse),
        ],
        notes: notes.remove(name.as_str()).unwrap_or_default(),
    };
    agent.coverage.tools.iter().map(row).collect()
}

fn with_outcome(tool: &ToolCoverage, outcome: CallOutcome) -> CaseSet {
    tool.outcomes.get(&outcome).cloned().unwrap_or_default()
}

/// The columns of numbers in a list of some width.
struct NumberColumns {
    /// Indices into [`COLUMNS`], with the width of each.
    columns: Vec<(usize, u16)>,
    /// Whether the numbers have labels.
    has_labels: bool,
    /// The marked column.
    marked: usize,
}

impl NumberColumns {
    fn width(&self) -> u16 {
        self.columns.iter().map(|(_, width)| width).sum()
    }
}

impl CoverageList {
    /// Lists the tools that match the typed text.
    fn find(&mut self) {
        let tools = self.tools.iter().enumerate();
        let named = tools.map(|(at, tool)| (at, clean_line(&tool.name).into_owned()));
        self.picker.find(named.collect::<Vec<_>>().into_iter());
    }

    /// The columns of numbers in a list of this width. The last one is left out if it has only zeros.
    fn columns(&self, width: u16) -> NumberColumns {
        let labelled = self.columns_with(true);
        match labelled.width() + NAMES <= width {
            true => labelled,
            false => self.columns_with(false),
        }
    }

    fn columns_with(&self, has_labels: bool) -> NumberColumns {
        let counts = |at: usize| self.tools.iter().map(move |tool| tool.cases[at].count());
        let columns = self.shown_columns().map(|at| {
            let digits = counts(at).max().unwrap_or(0).to_string().len();
            let label = match has_labels {
                true => COLUMNS[at].0.len() + 1,
                false => 0,
            };
            (at, (label + digits + 2) as u16)
        });
        NumberColumns {
            columns: columns.collect(),
            has_labels,
            marked: self.column,
        }
    }

    /// The columns as indices into [`COLUMNS`].
    fn shown_columns(&self) -> impl Iterator<Item = usize> {
        let last = COLUMNS.len() - 1;
        let has_last = self.tools.iter().any(|tool| tool.cases[last].count() > 0);
        0..(last + usize::from(has_last))
    }

    fn headline(&self) -> String {
        match self.progress {
            ReadingProgress::Reading => "coverage: reading the results".into(),
            ReadingProgress::Done(cases, with_results) => {
                let declared = match self.tools.iter().any(|tool| tool.declared.is_some()) {
                    true => "",
                    false => ", declared tools not known",
                };
                let cases = counted(cases, "case");
                format!("coverage of {cases}, {with_results} with results{declared}")
            }
        }
    }

    /// About the tool under the cursor, and the keys.
    fn note(&self) -> Option<String> {
        let tool = &self.tools[self.picker.chosen()?];
        let (label, _) = COLUMNS[self.column];
        let count = counted(tool.cases[self.column].count(), "case");
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
    fn tab(&mut self, _: &mut Model) -> Option<Vec<Effect>> {
        self.column = (self.column + 1) % self.shown_columns().count();
        None
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
        let positions = &self.covered.agents[tool.agent].positions;
        let set_of = |path: &PathBuf| {
            model
                .view
                .sets
                .iter()
                .position(|set| set.path.path == *path)
        };
        let mut sets: BTreeMap<&PathBuf, Option<usize>> = BTreeMap::new();
        let mut cases = BTreeSet::new();
        for case in &tool.cases[self.column].0 {
            let (path, index) = &positions[*case];
            let set = *sets.entry(path).or_insert_with(|| set_of(path));
            cases.extend(set.map(|set| CaseRef { set, index: *index }));
        }
        if cases.is_empty() {
            return None;
        }
        let (_, what) = COLUMNS[self.column];
        let what = Narrowing::Tool(format!("{what} {}", tool.name));
        narrow(model, Some(NarrowedTo { what, cases }));
        model.view.browse.pane = Pane::Cases;
        Some(Vec::new())
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let row = |(at, name): &(usize, String), area: Rect, style: Style, buffer: &mut Buffer| {
            let columns = self.columns(area.width);
            draw_tool(&self.tools[*at], name, &columns, area, style, theme, buffer);
        };
        let (title, note) = (self.headline(), self.note());
        let is_undeclared = |tool: &ToolRow| tool.declared == Some(false);
        let after_name = match self.tools.iter().any(is_undeclared) {
            true => NOT_DECLARED.len() as u16,
            false => 0,
        };
        let beside = PickerNote {
            keys: None,
            note: note.as_deref(),
            beside: self.columns_with(true).width() + after_name + 2,
        };
        Some(pick_with_note(
            &self.picker,
            &title,
            beside,
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
    numbers: &NumberColumns,
    area: Rect,
    style: Style,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let room = area.width.saturating_sub(numbers.width() + 1);
    let (name, name_style) = match tool.declared {
        Some(false) => (
            format!("{name}{NOT_DECLARED}"),
            theme.within(style, theme.style(Role::Failed)),
        ),
        _ => (name.to_string(), style),
    };
    put(buffer, area.x, area.y, room, &name, name_style);
    let mut right = area.right();
    for (at, width) in numbers.columns.iter().rev().copied() {
        let count = tool.cases[at].count();
        let role = match (at == numbers.marked, at, count) {
            (true, ..) => Role::Accent,
            (_, FIRST_BAD.., 1..) => Role::Errored,
            (_, 0..FIRST_BAD, 0) => Role::Failed,
            _ => Role::Faint,
        };
        let text = match numbers.has_labels {
            true => format!("{} {count}", COLUMNS[at].0),
            false => count.to_string(),
        };
        let style = theme.within(style, theme.style(role));
        put_right(buffer, right.saturating_sub(1), area.y, width, &text, style);
        right = right.saturating_sub(width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(tools: &[(&str, usize, usize)]) -> CoverageList {
        let cases = |count: usize| CaseSet((0..count).collect());
        let row = |(name, called, without_response): &(&str, usize, usize)| ToolRow {
            name: name.to_string(),
            declared: None,
            agent: 0,
            cases: [
                cases(*called),
                cases(*called),
                cases(0),
                cases(1),
                cases(*without_response),
            ],
            notes: Vec::new(),
        };
        let mut list = CoverageList {
            picker: Picker::new(Vec::new()),
            tools: tools.iter().map(row).collect(),
            covered: Arc::default(),
            column: 0,
            progress: ReadingProgress::Done(3, 3),
            ticket: Ticket::default(),
        };
        list.find();
        list
    }

    #[test]
    fn calls_without_response_have_a_column() {
        let names = |list: &CoverageList| -> Vec<&str> {
            list.shown_columns().map(|at| COLUMNS[at].0).collect()
        };
        let four = ["expected", "called", "passed", "call error"];
        assert_eq!(names(&list(&[("a", 3, 0)])), four);
        assert_eq!(names(&list(&[("a", 3, 0), ("b", 1, 1)]))[4], "no response");
    }

    #[test]
    fn columns_lose_labels_before_names_are_cut() {
        let wide = list(&[("get_temperature", 100, 0)]);
        assert!(wide.columns(78).has_labels);
        assert!(!wide.columns(60).has_labels);
        assert!(wide.columns(60).width() < 25);
    }
}
