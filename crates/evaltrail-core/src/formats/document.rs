//! Documents that contain a list of cases: the positions of the cases, and the members beside the list.

use super::form::FileFormat;
use super::index;
use super::json::{self, JsonPath, SyntaxError};
use super::messages::is_list_of_messages;
use super::vertex::{COLUMNS, ColumnMap, LineIndexer, is_known};
use std::ops::Range;

/// A document whose cases were found.
pub(super) struct Document {
    pub(super) id: String,
    pub(super) properties: SetProperties,
    pub(super) form: FileFormat,
    pub(super) entries: Vec<CaseEntry>,
    /// The path of the list.
    pub(super) list: JsonPath,
}

/// The properties of a set besides its id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetProperties {
    /// A human-readable name.
    pub name: Option<String>,
    /// A human-readable description.
    pub description: Option<String>,
    /// When it was created, in Unix seconds.
    pub created: Option<f64>,
}

/// One case of a document, before it is parsed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CaseEntry {
    pub(super) eval_id: String,
    pub(super) range: Range<usize>,
    /// In an evaluation result, the position of the case that was scored.
    pub(super) asked: Option<Range<usize>>,
}

impl CaseEntry {
    fn new(eval_id: String, range: Range<usize>) -> CaseEntry {
        CaseEntry {
            eval_id,
            range,
            asked: None,
        }
    }
}

/// The keys of a case's id in a data set.
const DATASET_IDS: &[&str] = &["eval_case_id", "evalCaseId", "eval_id", "id"];

/// Finds the cases of an object. `None` when it contains no list of cases.
pub(super) fn open_object(
    text: &str,
    fallback_id: &str,
    columns: &ColumnMap,
) -> Result<Option<Document>, SyntaxError> {
    let mut id = None;
    let mut properties = SetProperties::default();
    let mut list = None;
    let mut dataset = None;
    let lists = ["eval_cases", "evalCases", "eval_case_results"];
    let outline = index::outline(text, &lists)?;
    for (key, range) in outline.members {
        match key.as_str() {
            "eval_set_id" | "evalSetId" => id = text_at(text, range),
            "name" => properties.name = text_at(text, range),
            "description" => properties.description = text_at(text, range),
            "creation_timestamp" | "creationTimestamp" => {
                properties.created = number_at(text, range)
            }
            "evaluation_dataset" | "evaluationDataset" => dataset = Some(range),
            key if lists.contains(&key) => list = Some((key.to_string(), range)),
            _ => {}
        }
    }
    let Some((key, range)) = list else {
        return Ok(None);
    };
    if !text[range.clone()].starts_with('[') {
        return Ok(None);
    }
    let Some(form) = form_of_list(text, &key, outline.elements.first(), columns) else {
        return Ok(None);
    };
    let elements = outline.elements.into_iter();
    let entries = match form {
        FileFormat::EvaluationResult => {
            let asked = dataset
                .map(|range| cases_of_dataset(text, range))
                .unwrap_or_default();
            elements
                .map(|range| result_entry(text, range, &asked))
                .collect()
        }
        FileFormat::Dataset => elements
            .map(|range| CaseEntry::new(dataset_id(text, &range, columns), range))
            .collect(),
        _ => elements
            .map(|range| CaseEntry::new(id_of(text, &range, &["eval_id", "evalId"]), range))
            .collect(),
    };
    let id = id.unwrap_or_else(|| fallback_id.to_string());
    Ok(Some(Document {
        id,
        properties,
        form,
        entries,
        list: JsonPath::default().key(&key),
    }))
}

fn dataset_id(text: &str, range: &Range<usize>, columns: &ColumnMap) -> String {
    let id = id_of(text, range, DATASET_IDS);
    if id.is_empty() {
        id_from_prompt(text, range, columns)
    } else {
        id
    }
}

/// A result refers to its case by the index in the data set, which agents-cli writes beside the results.
fn result_entry(text: &str, range: Range<usize>, asked: &[Range<usize>]) -> CaseEntry {
    let index = id_of(text, &range, &["eval_case_index", "evalCaseIndex"]);
    let asked = index
        .parse()
        .ok()
        .and_then(|at: usize| asked.get(at).cloned());
    let named = asked
        .as_ref()
        .map(|case| id_of(text, case, DATASET_IDS))
        .filter(|id| !id.is_empty());
    CaseEntry {
        eval_id: named.unwrap_or_else(|| format!("case-{index}")),
        range,
        asked,
    }
}

/// The cases of `evaluation_dataset`, which is an object, or a list with one object for each candidate. All candidates
/// have the same cases.
fn cases_of_dataset(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let is_list = text[range.clone()].starts_with('[');
    let first = match is_list {
        true => index::elements(text, range)
            .ok()
            .and_then(|items| items.into_iter().next()),
        false => Some(range),
    };
    let list =
        first.and_then(
            |first| match index::pick(text, first, [&["eval_cases", "evalCases"]]) {
                Ok([list]) => list,
                _ => None,
            },
        );
    list.and_then(|list| index::elements(text, list).ok())
        .unwrap_or_default()
}

/// The form of a document with a list of cases. The eval sets and results of ADK and of Vertex have the same top-level
/// keys, so the first element decides.
fn form_of_list(
    text: &str,
    key: &str,
    first: Option<&Range<usize>>,
    columns: &ColumnMap,
) -> Option<FileFormat> {
    let is_row = |range: &Range<usize>| {
        let parsed = json::parse(&text[range.clone()]).ok();
        parsed.is_some_and(|parsed| {
            parsed
                .value
                .as_object()
                .is_some_and(|row| is_known(row, columns))
        })
    };
    let has = |range: &Range<usize>, keys: &'static [&'static str]| {
        matches!(index::pick(text, range.clone(), [keys]), Ok([Some(_)]))
    };
    match (key, first) {
        ("eval_case_results", Some(first)) if has(first, &["response_candidate_results"]) => {
            Some(FileFormat::EvaluationResult)
        }
        ("eval_case_results", _) => None,
        (_, Some(first))
            if has(
                first,
                &[
                    "conversation",
                    "conversation_scenario",
                    "conversationScenario",
                ],
            ) =>
        {
            Some(FileFormat::EvalSet)
        }
        (_, Some(first)) if has(first, COLUMNS) || is_row(first) => Some(FileFormat::Dataset),
        _ => Some(FileFormat::EvalSet),
    }
}

/// Finds the cases of a list. `None` when its elements are neither of ADK's older forms, nor messages.
pub(super) fn open_list(text: &str, fallback_id: &str) -> Result<Option<Document>, SyntaxError> {
    let document = |form, entries| Document {
        id: fallback_id.to_string(),
        properties: SetProperties::default(),
        form,
        entries,
        list: JsonPath::default(),
    };
    let items = index::elements(text, 0..text.len())?;
    // ADK reads an empty list as a set without cases.
    let Some(first) = items.first() else {
        return Ok(Some(document(FileFormat::NamedList, Vec::new())));
    };
    let is_messages = is_message(&text[first.clone()]);
    if !is_messages && !text[first.clone()].starts_with('{') {
        return Ok(None);
    }
    let whole = || {
        let start = text.find('[').unwrap_or(0);
        vec![CaseEntry::new(
            fallback_id.to_string(),
            start..text.trim_end().len(),
        )]
    };
    if is_messages {
        return Ok(Some(document(FileFormat::Messages, whole())));
    }
    let (form, entries) = match index::pick(text, first.clone(), [&["data"], &["query"]])? {
        [Some(_), _] => {
            let entry = |range| CaseEntry::new(id_of(text, &range, &["name"]), range);
            (
                FileFormat::NamedList,
                items.into_iter().map(entry).collect(),
            )
        }
        [None, Some(_)] => (FileFormat::TurnList, whole()),
        [None, None] => return Ok(None),
    };
    Ok(Some(document(form, entries)))
}

/// Whether the first element of a list is a message, and not a row of a data set.
fn is_message(element: &str) -> bool {
    let Ok(parsed) = json::parse(element) else {
        return false;
    };
    let is_row = ["prompt", "messages", "reference", "query"]
        .into_iter()
        .any(|key| parsed.value.get(key).is_some());
    // A message with an unknown role is refused with its position.
    let has_role = parsed.value.get("role").is_some();
    !is_row && (has_role || is_list_of_messages(&serde_json::Value::Array(vec![parsed.value])))
}

fn id_of(text: &str, range: &Range<usize>, keys: &[&str]) -> String {
    match index::pick(text, range.clone(), [keys]) {
        Ok([Some(range)]) => match json::parse(&text[range]).map(|parsed| parsed.value) {
            Ok(serde_json::Value::String(id)) => id,
            Ok(serde_json::Value::Number(id)) if keys != ["eval_id", "evalId"] => id.to_string(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// The id of a case without one, computed from its prompt.
fn id_from_prompt(text: &str, range: &Range<usize>, columns: &ColumnMap) -> String {
    let mut indexer = LineIndexer::new(columns.clone());
    indexer.push(text[range.clone()].replace('\n', " ").as_bytes());
    indexer.finish().id(0).into_owned()
}

fn text_at(text: &str, range: Range<usize>) -> Option<String> {
    let parsed = json::parse(&text[range]).ok()?;
    parsed.value.as_str().map(str::to_string)
}

fn number_at(text: &str, range: Range<usize>) -> Option<f64> {
    crate::formats::read::lax_float(&json::parse(&text[range]).ok()?.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ADK and Vertex use this key; the elements of the list differ.
    #[test]
    fn first_element_decides_the_form() {
        let columns = ColumnMap::default();
        let form = |element: &str| {
            form_of_list(element, "eval_cases", Some(&(0..element.len())), &columns)
        };
        assert_eq!(
            form(r#"{"eval_id": "a", "conversation": []}"#),
            Some(FileFormat::EvalSet)
        );
        assert_eq!(
            form(r#"{"prompt": "hello", "reference": "hi"}"#),
            Some(FileFormat::Dataset)
        );
        assert_eq!(
            form(r#"{"eval_id": "a"}"#),
            Some(FileFormat::EvalSet),
            "ADK's own error says what is missing"
        );
        assert_eq!(
            form_of_list("", "eval_cases", None, &columns),
            Some(FileFormat::EvalSet)
        );
    }

    #[test]
    fn every_form_has_its_own_description() {
        let forms = [
            FileFormat::EvalSet,
            FileFormat::NamedList,
            FileFormat::TurnList,
            FileFormat::Dataset,
            FileFormat::EvaluationResult,
            FileFormat::Lines,
            FileFormat::Table,
            FileFormat::Frame,
            FileFormat::Messages,
        ];
        let words: std::collections::BTreeSet<&str> =
            forms.iter().map(|form| form.label()).collect();
        assert_eq!(words.len(), forms.len());
        assert!(words.contains("JSON Lines") && words.contains("evaluation dataset"));
    }
}
