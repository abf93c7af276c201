//! A file of cases in any form. The file is indexed when it is opened; a case is parsed when it is accessed.

use super::adk::{eval_case, named_case, turn_list, write_case};
use super::document::{CaseEntry, Document, SetProperties, open_list, open_object};
use super::file_hints::FileHints;
use super::foreign;
use super::form::FileFormat;
use super::index::{self, RootKind};
use super::json::{self, JsonPath, JsonPositions, SyntaxError};
use super::line_size::MAX_LINE;
use super::problem::FileProblem;
use super::read::{JsonNode, Read};
use super::recorded_cases::RecordedCase;
use super::source::Source;
use super::vertex::{self, ColumnMap, DataFrame, FileRows, Table};
use crate::domain::{EvalCase, SessionInput};
use crate::formats::text_lines::{
    as_lines, best_syntax_error, is_json_lines, rows_of_lines, unknown_rows, why_not,
};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use xxhash_rust::xxh3::xxh3_64;

/// A file and the positions of its cases.
#[derive(Clone, Debug)]
pub struct SetFile {
    /// The set's id from the file, else the file's name.
    pub id: String,
    /// The set's other properties.
    pub properties: SetProperties,
    /// The file's form.
    pub form: FileFormat,
    source: Source,
    cases: Cases,
    /// The columns that the user maps.
    columns: ColumnMap,
    /// The session of cases that name none.
    session: Option<Arc<SessionInput>>,
    /// Hashes of the ids with their positions, in that order; computed on first use.
    by_id: OnceLock<Arc<[(u64, u32)]>>,
    /// Cache of positions in the text.
    positions: Arc<JsonPositions>,
}

/// Largest case that is read, in bytes. A larger one would delay every key press by seconds.
const MAX_CASE: u64 = MAX_LINE as u64;

/// The positions of the cases.
#[derive(Clone, Debug)]
enum Cases {
    /// Byte ranges in one document, and the path of the list of cases.
    Document(Vec<CaseEntry>, JsonPath),
    Lines(FileRows),
    Table(Table),
    Frame(DataFrame),
    Recorded(Arc<[RecordedCase]>),
}

/// Files are equal when they share the same source. Texts are not compared, since they may be large.
impl PartialEq for SetFile {
    fn eq(&self, other: &SetFile) -> bool {
        let same_source = match (&self.source, &other.source) {
            (Source::Held(a), Source::Held(b)) => Arc::ptr_eq(a, b),
            (Source::Outside(a), Source::Outside(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        same_source
            && self.id == other.id
            && self.form == other.form
            && self.columns == other.columns
    }
}

impl SetFile {
    /// Finds the cases of a file. `fallback_id` is the id of a set or case without one.
    pub fn open(text: Arc<str>, fallback_id: &str) -> Result<SetFile, FileProblem> {
        SetFile::open_as(text, fallback_id, &FileHints::default())
    }

    /// Like [`SetFile::open`], for a file whose name or columns tell more than its text.
    pub fn open_as(
        text: Arc<str>,
        fallback_id: &str,
        read_as: &FileHints,
    ) -> Result<SetFile, FileProblem> {
        if let Some(what) = foreign::of_text(&text) {
            return Err(FileProblem::here(&text, "an eval set or a data set", what));
        }
        if read_as.is_lines
            && let Some(lines) = rows_of_lines(&text, read_as)?
        {
            return Ok(SetFile::of_lines(
                lines,
                Source::Held(text),
                fallback_id,
                &read_as.columns,
            ));
        }
        let found = match index::root_kind(&text) {
            RootKind::Object => open_object(&text, fallback_id, &read_as.columns),
            RootKind::Array => open_list(&text, fallback_id),
            RootKind::Text | RootKind::Other => Ok(None),
        };
        match found {
            Ok(Some(Document {
                id,
                properties,
                form,
                entries,
                list,
            })) => Ok(SetFile {
                id,
                properties,
                form,
                cases: Cases::Document(entries, list),
                source: Source::Held(text),
                columns: read_as.columns.clone(),
                session: None,
                by_id: OnceLock::new(),
                positions: Arc::default(),
            }),
            Ok(None) => other_forms(text, fallback_id, &read_as.columns),
            Err(error) => match as_lines(&text, &read_as.columns) {
                Some(lines) => Ok(SetFile::of_lines(
                    lines,
                    Source::Held(text),
                    fallback_id,
                    &read_as.columns,
                )),
                None if is_json_lines(&text) => Err(unknown_rows(&text)),
                None => Err(best_syntax_error(&text, error)),
            },
        }
    }

    /// A file of JSON Lines whose rows were indexed while it was streamed.
    pub fn of_lines(
        lines: FileRows,
        source: Source,
        fallback_id: &str,
        columns: &ColumnMap,
    ) -> SetFile {
        SetFile {
            id: fallback_id.to_string(),
            properties: SetProperties::default(),
            form: FileFormat::Lines,
            source,
            cases: Cases::Lines(lines),
            columns: columns.clone(),
            session: None,
            by_id: OnceLock::new(),
            positions: Arc::default(),
        }
    }

    /// The cases of a run as they were when it ran. There is no text.
    pub fn of_recorded(cases: Vec<RecordedCase>, id: &str) -> SetFile {
        SetFile {
            id: id.to_string(),
            properties: SetProperties::default(),
            form: FileFormat::Recorded,
            source: Source::Held(Arc::from("")),
            cases: Cases::Recorded(cases.into()),
            columns: ColumnMap::default(),
            session: None,
            by_id: OnceLock::new(),
            positions: Arc::default(),
        }
    }

    /// Number of cases.
    pub fn len(&self) -> usize {
        match &self.cases {
            Cases::Document(entries, _) => entries.len(),
            Cases::Lines(lines) => lines.len(),
            Cases::Table(table) => table.len(),
            Cases::Frame(frame) => frame.rows.len(),
            Cases::Recorded(cases) => cases.len(),
        }
    }

    /// Whether the file has no cases.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A case's id; empty when the file contains no readable id, and for an index out of range.
    pub fn eval_id(&self, at: usize) -> Cow<'_, str> {
        match &self.cases {
            _ if at >= self.len() => Cow::Borrowed(""),
            Cases::Document(entries, _) => Cow::Borrowed(&entries[at].eval_id),
            Cases::Lines(lines) => lines.id(at),
            Cases::Table(table) => Cow::Borrowed(table.id(at)),
            Cases::Frame(frame) => Cow::Borrowed(frame.id(at)),
            Cases::Recorded(cases) => Cow::Borrowed(&cases[at].eval_id),
        }
    }

    /// The ids of all cases, in order.
    pub fn eval_ids(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.len()).map(|at| self.eval_id(at))
    }

    /// Whether the whole text is in memory. If not, cases are read from the file one by one.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.source, Source::Held(_))
    }

    /// Parses one case.
    pub fn case(&self, at: usize) -> Result<EvalCase, FileProblem> {
        if at >= self.len() {
            return Err(FileProblem::here(
                self.text(),
                &format!("{} cases", at + 1),
                "fewer",
            ));
        }
        if let Some(bytes) = self.bytes_of(at).filter(|bytes| *bytes > MAX_CASE) {
            return Err(FileProblem {
                line: self.line_of(at),
                column: 1,
                path: String::new(),
                expected: format!("a case of at most {} MB", MAX_CASE >> 20),
                found: format!("{} MB", bytes >> 20),
            });
        }
        let case = self.case_in_file(at)?;
        let given = || self.session.as_deref().cloned();
        Ok(EvalCase {
            session_input: case.session_input.or_else(given),
            ..case
        })
    }

    fn case_in_file(&self, at: usize) -> Result<EvalCase, FileProblem> {
        match &self.cases {
            Cases::Document(entries, top) => self.case_of_document(&entries[at], at, top),
            Cases::Lines(lines) => self.case_of_line(lines, at),
            Cases::Table(table) => self.case_of_table(table, at),
            Cases::Frame(frame) => vertex::case(&frame.rows[at], &self.columns, frame.id(at))
                .map_err(|error| {
                    let path = frame.path(at, &error.path);
                    FileProblem::reading_in(&self.positions, self.text(), path, error)
                }),
            Cases::Recorded(cases) => cases[at].case(),
        }
    }

    /// The length of a case's text, if it is known without reading it.
    fn bytes_of(&self, at: usize) -> Option<u64> {
        match &self.cases {
            Cases::Document(entries, _) => Some(entries[at].range.len() as u64),
            Cases::Lines(lines) => Some(lines.range(at).end - lines.range(at).start),
            Cases::Table(_) | Cases::Frame(_) | Cases::Recorded(_) => None,
        }
    }

    /// The first syntax error of a JSON document, whose cases are otherwise parsed one by one: ADK reads none of them. The
    /// rows of JSON Lines and tables do not depend on each other, so an error in one is not one of the file.
    pub fn syntax_problem(&self) -> Option<FileProblem> {
        let Cases::Document(entries, _) = &self.cases else {
            return None;
        };
        let text = self.text();
        if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
            return None;
        }
        // Some texts that serde_json refuses are read as ADK reads them, such as NaN.
        entries.iter().find_map(|entry| {
            let ranges = [Some(&entry.range), entry.asked.as_ref()];
            let mut ranges = ranges.into_iter().flatten();
            ranges.find_map(|range| {
                let error = json::parse(&text[range.clone()]).err()?;
                Some(self.syntax_error_in(range, error))
            })
        })
    }

    fn syntax_error_in(&self, range: &Range<usize>, error: SyntaxError) -> FileProblem {
        let offset = error.offset + range.start;
        FileProblem::syntax_in(
            &self.positions,
            self.text(),
            SyntaxError { offset, ..error },
        )
    }

    fn case_of_document(
        &self,
        entry: &CaseEntry,
        at: usize,
        list: &JsonPath,
    ) -> Result<EvalCase, FileProblem> {
        let text = self.text();
        let value = json::parse(&text[entry.range.clone()])
            .map_err(|error| self.syntax_error_in(&entry.range, error))?;
        let node = JsonNode::top(&value.value);
        let case: Read<EvalCase> = match self.form {
            FileFormat::EvaluationResult => self.case_of_result(entry, node),
            FileFormat::EvalSet => eval_case(node),
            FileFormat::NamedList => named_case(node),
            FileFormat::TurnList => turn_list(node, &entry.eval_id),
            FileFormat::Messages => super::messages::case(node, &entry.eval_id),
            _ => vertex::case(&value.value, &self.columns, &entry.eval_id),
        };
        let top = match self.form {
            FileFormat::TurnList | FileFormat::Messages => list.clone(),
            _ => list.index(at),
        };
        case.map_err(|error| {
            FileProblem::reading_in(&self.positions, text, error.path.below(&top), error)
        })
    }

    /// The scores of a result, with the case of the data set that was scored, if the file contains it. The scores are
    /// shown even if that case cannot be read.
    fn case_of_result(&self, entry: &CaseEntry, scores: JsonNode) -> Read<EvalCase> {
        let scored = vertex::result_case(scores, &entry.eval_id)?;
        let asked = entry
            .asked
            .clone()
            .and_then(|range| json::parse(&self.text()[range]).ok());
        let case =
            asked.and_then(|asked| vertex::case(&asked.value, &self.columns, &entry.eval_id).ok());
        Ok(match case {
            Some(case) => EvalCase {
                recorded: scored.recorded,
                ..case
            },
            None => scored,
        })
    }

    fn case_of_line(&self, lines: &FileRows, at: usize) -> Result<EvalCase, FileProblem> {
        let lost = |found: String| FileProblem {
            line: lines.line(at),
            column: 1,
            path: String::new(),
            expected: "a row".into(),
            found,
        };
        let text = self.source.piece(lines.range(at)).map_err(lost)?;
        // Lines are counted in the file, not in the row.
        let placed = |problem: FileProblem| FileProblem {
            line: problem.line + lines.line(at) - 1,
            ..problem
        };
        let value =
            json::parse(&text).map_err(|error| placed(FileProblem::syntax(&text, error)))?;
        vertex::case(&value.value, &self.columns, &lines.id(at))
            .map_err(|error| placed(FileProblem::reading(&text, &JsonPath::default(), error)))
    }

    fn case_of_table(&self, table: &Table, at: usize) -> Result<EvalCase, FileProblem> {
        let problem = |path: String, expected: String, found: String| FileProblem {
            line: table.line(at),
            column: 1,
            path,
            expected,
            found,
        };
        let row = table
            .row(self.text(), at)
            .map_err(|why| problem(String::new(), "a record of the table".into(), why))?;
        vertex::case(&row, &self.columns, table.id(at))
            .map_err(|error| problem(error.path.to_string(), error.expected, error.found))
    }

    /// The file, with a session for cases that name none.
    pub fn with_session(self, session: Option<Arc<SessionInput>>) -> SetFile {
        SetFile { session, ..self }
    }

    /// What the cases depend on besides the text, as text; empty if there is nothing.
    pub(super) fn hashed_context(&self) -> String {
        let session = self
            .session
            .as_ref()
            .and_then(|session| serde_json::to_string(session).ok());
        format!("{}{}", self.columns.text(), session.unwrap_or_default())
    }

    /// The columns that the user maps.
    pub fn columns(&self) -> &ColumnMap {
        &self.columns
    }

    /// The file's text; empty when it is not in memory.
    pub fn text(&self) -> &str {
        match &self.source {
            Source::Held(text) => text,
            Source::Outside(_) => "",
        }
    }

    /// The file's text, shared; empty when it is not in memory.
    pub fn shared_text(&self) -> Arc<str> {
        match &self.source {
            Source::Held(text) => text.clone(),
            Source::Outside(_) => Arc::from(""),
        }
    }

    /// The byte range of a case in a document; `None` for other forms.
    pub fn range(&self, at: usize) -> Option<Range<usize>> {
        match &self.cases {
            Cases::Document(entries, _) => entries.get(at).map(|entry| entry.range.clone()),
            _ => None,
        }
    }

    /// The text of a case in a document, as it is in the file; `None` for other forms.
    pub fn text_of(&self, at: usize) -> Option<&str> {
        self.range(at).map(|range| &self.text()[range])
    }

    /// The text of a case of any form; for a table and a frame, the row as JSON. `None` when it cannot be read.
    pub fn case_text(&self, at: usize) -> Option<Cow<'_, str>> {
        match &self.cases {
            _ if at >= self.len() => None,
            Cases::Document(entries, _) => {
                Some(Cow::Borrowed(&self.text()[entries[at].range.clone()]))
            }
            Cases::Lines(lines) => self.source.piece(lines.range(at)).ok().map(Cow::Owned),
            Cases::Table(table) => Some(Cow::Owned(table.row(self.text(), at).ok()?.to_string())),
            Cases::Frame(frame) => Some(Cow::Owned(frame.rows[at].to_string())),
            Cases::Recorded(cases) => {
                Some(Cow::Owned(write_case(&cases[at].case().ok()?).to_string()))
            }
        }
    }

    /// The indices of the cases with this id, in the file's order; several when the id is duplicated.
    pub fn positions_of(&self, eval_id: &str) -> impl Iterator<Item = usize> {
        let by_id = self.by_id.get_or_init(|| {
            let hashed = self
                .eval_ids()
                .zip(0..)
                .map(|(id, at)| (xxh3_64(id.as_bytes()), at));
            let mut by_id: Vec<(u64, u32)> = hashed.collect();
            by_id.sort_unstable();
            by_id.into()
        });
        let hash = xxh3_64(eval_id.as_bytes());
        let first = by_id.partition_point(|(other, _)| *other < hash);
        let same_hash = by_id[first..]
            .iter()
            .take_while(move |(other, _)| *other == hash);
        same_hash
            .map(|(_, at)| *at as usize)
            .filter(move |at| self.eval_id(*at) == eval_id)
    }

    /// The offset of the list of cases in the text, if the form has one.
    pub(super) fn list_start(&self) -> Option<usize> {
        match (&self.cases, self.form) {
            (_, FileFormat::TurnList | FileFormat::Messages) => None,
            (Cases::Document(_, list), _) => Some(json::locate(self.text(), list)),
            _ => None,
        }
    }

    /// The line on which a case begins, from 1.
    pub fn line_of(&self, at: usize) -> usize {
        match &self.cases {
            _ if at >= self.len() => 1,
            Cases::Document(entries, _) => {
                self.positions
                    .position(self.text(), entries[at].range.start)
                    .0
            }
            Cases::Lines(lines) => lines.line(at),
            Cases::Table(table) => table.line(at),
            Cases::Frame(frame) => {
                let first = frame.rows[at].as_object().and_then(|row| row.keys().next());
                let path = first
                    .map(|key| JsonPath::default().key(key))
                    .unwrap_or_default();
                self.positions
                    .line_and_column(self.text(), &frame.path(at, &path))
                    .0
            }
            Cases::Recorded(_) => 1,
        }
    }
}

/// Opens a file that is not in one of ADK's forms: lines, a table or a frame.
fn other_forms(
    text: Arc<str>,
    fallback_id: &str,
    columns: &ColumnMap,
) -> Result<SetFile, FileProblem> {
    if let Some(lines) = as_lines(&text, columns) {
        return Ok(SetFile::of_lines(
            lines,
            Source::Held(text),
            fallback_id,
            columns,
        ));
    }
    let opened = match index::root_kind(&text) {
        RootKind::Object | RootKind::Array => json::parse(&text)
            .ok()
            .and_then(|parsed| DataFrame::find(&parsed.value, columns))
            .map(|frame| (FileFormat::Frame, Cases::Frame(frame))),
        _ => Table::parse(&text, columns).map(|table| (FileFormat::Table, Cases::Table(table))),
    };
    match opened {
        Some((form, cases)) => {
            let id = fallback_id.to_string();
            let source = Source::Held(text);
            Ok(SetFile {
                id,
                properties: SetProperties::default(),
                form,
                cases,
                source,
                columns: columns.clone(),
                session: None,
                by_id: OnceLock::new(),
                positions: Arc::default(),
            })
        }
        None => Err(why_not(&text)),
    }
}
