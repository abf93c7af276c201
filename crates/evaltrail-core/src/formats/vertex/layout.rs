//! Rows of other tools: their columns are renamed to those of Vertex, which `row` reads.
//!
//! ```text
//! ragas              user_input, response, reference, reference_tool_calls
//! deepeval, agentv,  input, actual_output │ output, expected_output │ expected │ ideal │ target,
//! Inspect, OpenAI      tools_called, expected_tools
//! LangSmith          inputs {…}, outputs {…} (the reference), or outputs beside reference_outputs {…}
//! OpenAI (hosted)    item {…}, sample {output_text}
//! promptfoo          vars {…}, assert [{type, value}]; in a table, `__expected`
//! ```

use super::calls::{decoded, is_nothing as is_empty_cell};
use super::columns::{ColumnMap, value_at};
use super::turns::is_structure;
use super::{COLUMNS, turns};
use crate::formats::json::{JsonPath, Step};
use crate::formats::read::{JsonNode, Read, ReadError, lookup, same_name};
use crate::formats::vertex::column_names::{
    ANSWERS, CALLS, INPUT, OUTCOMES, PROMPTS, REFERENCE_ASSERTS, TRIGGERS,
};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A row whose columns are those of Vertex, and from where each renamed one is.
pub(in crate::formats) struct Recognised<'a> {
    pub(in crate::formats) row: Cow<'a, Value>,
    renamed: Vec<(String, Vec<Step>)>,
}

impl Recognised<'_> {
    /// An error in the row as an error in the file: its path begins with the column of the file.
    pub(in crate::formats) fn in_file(&self, error: ReadError) -> ReadError {
        let Some(Step::Key(first)) = error.path.0.first() else {
            return error;
        };
        let Some((_, from)) = self.renamed.iter().find(|(known, _)| known == first) else {
            return error;
        };
        let steps = from.iter().chain(&error.path.0[1..]).cloned().collect();
        ReadError {
            path: JsonPath(steps),
            ..error
        }
    }
}

/// Whether a column with this name can be the one by which a row is recognised.
pub(in crate::formats) fn is_known_name(name: &str, columns: &ColumnMap) -> bool {
    COLUMNS.contains(&name) && name != "eval_case_id" && name != "evalCaseId"
        || TRIGGERS.iter().any(|known| same_name(name, known))
        || columns.reads(name)
}

/// Whether a row is one of a data set: one of its columns is known, here or by the mapping.
pub(in crate::formats) fn is_known(row: &Map<String, Value>, columns: &ColumnMap) -> bool {
    let has_value = |name: &String, value: &Value| match name.as_str() {
        // Ordinary words, which are columns of a data set only if they contain an object.
        "inputs" => object(value).is_some() || turns::message_list(value).is_some(),
        "item" | "vars" => object(value).is_some(),
        "contents" | "values" | "events" => value.is_array() || value.is_object(),
        _ => true,
    };
    row.iter()
        .any(|(name, value)| is_known_name(name, columns) && has_value(name, value))
        || row.get("turns").is_some_and(turns::is_conversation)
}

/// What a file without known columns lacks, as an expectation.
pub(in crate::formats) const NEEDED: &str = "a column that evaltrail knows (prompt, messages, input, reference, response, reference_trajectory, …)";

/// The columns that were found in such a file, and what to do.
pub(in crate::formats) fn found_columns<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    /// More columns are not listed.
    const MAX_LISTED: usize = 12;
    let names: Vec<&str> = names.into_iter().collect();
    let mut listed: Vec<String> = names
        .iter()
        .take(MAX_LISTED)
        .map(|name| shortened(name))
        .collect();
    if names.len() > MAX_LISTED {
        listed.push(format!("and {} more", names.len() - MAX_LISTED));
    }
    format!(
        "the columns {}; map them with --columns prompt=NAME,reference=NAME or with [columns] in evaltrail.toml",
        listed.join(", ")
    )
}

fn shortened(name: &str) -> String {
    const MAX_CHARS: usize = 40;
    match name.chars().count() > MAX_CHARS {
        true => format!("{}…", name.chars().take(MAX_CHARS).collect::<String>()),
        false => name.to_string(),
    }
}

/// Renames the columns of a row, by the mapping and then by the names of other tools.
pub(in crate::formats) fn recognise<'a>(
    row: &'a Value,
    columns: &ColumnMap,
) -> Read<Recognised<'a>> {
    let node = JsonNode::top(row);
    let cells = node.object()?;
    if !is_known(cells, columns) {
        return Err(ReadError {
            path: JsonPath::default(),
            expected: NEEDED.into(),
            found: found_columns(cells.keys().map(String::as_str)),
        });
    }
    if !columns
        .pairs()
        .any(|(_, from)| value_at(cells, from).is_some())
        && is_native(cells)
    {
        return Ok(Recognised {
            row: Cow::Borrowed(row),
            renamed: Vec::new(),
        });
    }
    let mut renaming = Renaming {
        cells: cells.clone(),
        renamed: Vec::new(),
    };
    renaming.by_map(columns);
    renaming.by_layout()?;
    Ok(Recognised {
        row: Cow::Owned(Value::Object(renaming.cells)),
        renamed: renaming.renamed,
    })
}

/// Whether a row has no columns of other tools.
fn is_native(row: &Map<String, Value>) -> bool {
    !row.contains_key("turns")
        && TRIGGERS
            .iter()
            .chain(OUTCOMES.iter().map(|(name, _)| name))
            .all(|name| lookup(row, name).is_none_or(|(_, value)| is_nothing(value)))
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(is_empty_cell)
}

/// An object, also one that is written as a text in a cell.
fn object(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map.clone()),
        Value::String(text) if text.trim_start().starts_with('{') => match decoded(text)? {
            Value::Object(map) => Some(map),
            _ => None,
        },
        _ => None,
    }
}

/// The list of calls in an object, also one of names, and its key.
fn calls_in(object: &Map<String, Value>) -> Option<(String, Value)> {
    let is_call = |call: &Value| {
        call.is_object() || call.as_str().is_some_and(|name| !name.trim().is_empty())
    };
    let is_calls = |value: &Value| {
        value
            .as_array()
            .is_some_and(|calls| calls.iter().all(is_call))
    };
    let mut found = CALLS.iter().filter_map(|name| lookup(object, name));
    found
        .find(|(_, value)| is_calls(value))
        .map(|(name, value)| (name.clone(), value.clone()))
}

struct Renaming {
    cells: Map<String, Value>,
    renamed: Vec<(String, Vec<Step>)>,
}

impl Renaming {
    fn has(&self, name: &str) -> bool {
        lookup(&self.cells, name).is_some_and(|(_, value)| !is_nothing(value))
    }

    fn set(&mut self, known: &str, from: Vec<Step>, value: Value) {
        if let Some(other) = lookup(&self.cells, known).map(|(name, _)| name.clone()) {
            self.cells.remove(&other);
        }
        self.cells.insert(known.to_string(), value);
        self.renamed.push((known.to_string(), from));
    }

    /// Renames a column, unless the row has the known one.
    fn rename(&mut self, from: &str, known: &str) {
        let Some((name, value)) = lookup(&self.cells, from) else {
            return;
        };
        let (name, value) = (name.clone(), value.clone());
        if !is_nothing(&value) && !self.has(known) {
            self.cells.remove(&name);
            self.set(known, vec![Step::Key(name)], value);
        }
    }

    fn by_map(&mut self, columns: &ColumnMap) {
        let before = self.cells.clone();
        let mut taken = Vec::new();
        let mut found = Vec::new();
        for (known, from) in columns.pairs() {
            let Some((column, value)) = value_at(&before, from) else {
                continue;
            };
            let steps = match column == from {
                true => {
                    taken.push(column.clone());
                    vec![Step::Key(column.clone())]
                }
                false => from.split('.').map(step).collect(),
            };
            found.push((known.to_string(), steps, value.clone()));
        }
        for column in taken {
            self.cells.remove(&column);
        }
        for (known, steps, value) in found {
            self.set(&known, steps, value);
        }
    }

    fn by_layout(&mut self) -> Read<()> {
        self.conversation_turns();
        self.ragas();
        self.objects("inputs", "outputs")?;
        self.items()?;
        self.vars()?;
        self.expected_cell();
        if self.has("input") || self.has("input_messages") {
            self.input()?;
        }
        OUTCOMES
            .iter()
            .for_each(|(from, known)| self.rename(from, known));
        Ok(())
    }

    /// A conversation of deepeval: `turns` with roles, and the tools that were called beside each message.
    fn conversation_turns(&mut self) {
        let Some(list) = self
            .cells
            .get("turns")
            .filter(|list| turns::is_conversation(list))
        else {
            return;
        };
        if self.has("messages") || self.has("outputs") {
            return;
        }
        let list = turns::with_tool_calls(list);
        self.cells.remove("turns");
        self.set("outputs", vec![Step::Key("turns".into())], list);
    }

    fn ragas(&mut self) {
        let Some((_, value)) = lookup(&self.cells, "user_input") else {
            return;
        };
        // A list is the whole conversation with the agent.
        let is_conversation = turns::message_list(value).is_some();
        self.rename(
            "user_input",
            if is_conversation { "outputs" } else { "prompt" },
        );
    }

    /// Rows with the inputs and the outputs as objects. Outputs are the reference, unless one stands beside them, or the row is a
    /// run of LangSmith.
    fn objects(&mut self, inputs: &str, outputs: &str) -> Read<()> {
        let Some(given) = self.cells.get(inputs).and_then(object) else {
            return Ok(());
        };
        let has_reference = self
            .cells
            .get("reference_outputs")
            .and_then(object)
            .is_some();
        if !self.has("prompt") && !self.has("messages") {
            self.take(inputs, given, PROMPTS, "prompt")?;
        }
        if has_reference {
            self.open("reference_outputs", "reference", "reference_trajectory")?;
        }
        let mut references = INPUT
            .iter()
            .chain(OUTCOMES)
            .filter(|(_, known)| *known == "reference");
        let is_done = has_reference
            || self.has("reference")
            || self.has("run_type")
            || references.any(|(name, _)| *name != outputs && self.has(name));
        match is_done {
            true => self.open(outputs, "response", "predicted_trajectory"),
            false => self.open(outputs, "reference", "reference_trajectory"),
        }
    }

    /// Opens an object of outputs: its answer, and its calls.
    fn open(&mut self, column: &str, answer: &str, trajectory: &str) -> Read<()> {
        let Some(mut found) = self.cells.get(column).and_then(object) else {
            return Ok(());
        };
        if let Some((name, calls)) = calls_in(&found).filter(|_| !self.has(trajectory)) {
            found.remove(&name);
            self.set(trajectory, path(column, &name), calls);
        }
        match self.has(answer) {
            true => Ok(()),
            false => self.take(column, found, ANSWERS, answer),
        }
    }

    /// Takes the calls out of an object that stays in the row.
    fn take_calls(&mut self, column: &str, object: &Map<String, Value>, trajectory: &str) {
        if let Some((name, calls)) = calls_in(object).filter(|_| !self.has(trajectory)) {
            self.cells.remove(&format!("{column}.{name}"));
            self.set(trajectory, path(column, &name), calls);
        }
    }

    /// Takes the value of the most telling key, or of the only one, from an object. What is left of the object stays
    /// in the row, each key as a column `OBJECT.KEY`.
    fn take(
        &mut self,
        column: &str,
        mut object: Map<String, Value>,
        names: &[&str],
        known: &str,
    ) -> Read<()> {
        object.retain(|_, value| !is_nothing(value));
        // Messages beside other keys, such as those of a state, are taken without them.
        let has = |key: &str| lookup(&object, key).is_some();
        let is_whole = !has("messages") || has("system") || has("system_instruction");
        let whole = Value::Object(object.clone());
        if is_whole && is_structure(&whole) {
            self.cells.remove(column);
            self.set(known, vec![Step::Key(column.into())], whole);
            return Ok(());
        }
        let telling = names
            .iter()
            .find_map(|name| lookup(&object, name))
            .map(|(name, _)| name.clone());
        let only = || object.keys().next().filter(|_| object.len() == 1).cloned();
        let Some(name) = telling.or_else(only) else {
            if object.is_empty() {
                self.cells.remove(column);
                return Ok(());
            }
            let keys: Vec<String> = object.keys().map(|key| format!("{column}.{key}")).collect();
            return Err(ReadError {
                path: JsonPath(vec![Step::Key(column.into())]),
                expected: format!("one key that is the {known}"),
                found: found_columns(keys.iter().map(String::as_str)),
            });
        };
        let value = object.remove(&name).unwrap_or_default();
        self.cells.remove(column);
        for (key, rest) in object {
            self.cells.insert(format!("{column}.{key}"), rest);
        }
        self.set(known, path(column, &name), value);
        Ok(())
    }

    /// A row of OpenAI's hosted evals: `item` has the columns of the data set, `sample` what the model answered.
    fn items(&mut self) -> Read<()> {
        let Some(item) = self.cells.get("item").and_then(object) else {
            return Ok(());
        };
        let mut rest = item.clone();
        if !self.has("prompt") && !self.has("messages") {
            self.take("item", item, PROMPTS, "prompt")?;
            let used = self
                .renamed
                .last()
                .and_then(|(_, steps)| steps.last().cloned());
            if let Some(Step::Key(used)) = used {
                rest.remove(&used);
            }
        }
        let answer = ANSWERS
            .iter()
            .find_map(|name| lookup(&rest, name))
            .map(|(name, _)| name.clone());
        if let Some(name) = answer.filter(|_| !self.has("reference")) {
            let value = rest.remove(&name).unwrap_or_default();
            self.cells.remove(&format!("item.{name}"));
            self.set("reference", path("item", &name), value);
        }
        self.take_calls("item", &rest, "reference_trajectory");
        let sample = self.cells.get("sample").and_then(object);
        if let Some(sample) = &sample {
            self.take_calls("sample", sample, "predicted_trajectory");
        }
        let text = sample
            .as_ref()
            .and_then(|sample| sample.get("output_text"))
            .filter(|text| !is_nothing(text));
        if let Some(text) = text.filter(|_| !self.has("response")).cloned() {
            self.set("response", path("sample", "output_text"), text);
        }
        Ok(())
    }

    /// A test of promptfoo. Its assertions stay in the row; the one that contains a reference is read.
    fn vars(&mut self) -> Read<()> {
        let Some(vars) = self.cells.get("vars").and_then(object) else {
            return Ok(());
        };
        self.take_calls("vars", &vars, "reference_trajectory");
        if !self.has("prompt") && !self.has("messages") {
            self.take("vars", vars, PROMPTS, "prompt")?;
        }
        let asserts = self.cells.get("assert").and_then(Value::as_array);
        let is_reference = |one: &&Value| {
            one.get("type")
                .and_then(Value::as_str)
                .is_some_and(|kind| REFERENCE_ASSERTS.contains(&kind))
        };
        let mut values = asserts
            .into_iter()
            .flatten()
            .filter(is_reference)
            .filter_map(|one| one.get("value"));
        let first = values.next().cloned();
        let is_clear = values.all(|other| Some(other) == first.as_ref());
        if let Some(value) =
            first.filter(|value| is_clear && value.is_string() && !self.has("reference"))
        {
            self.set("reference", path("assert", "value"), value);
        }
        Ok(())
    }

    /// A table of promptfoo: `__expected` is an assertion, and the only other column is the prompt.
    fn expected_cell(&mut self) {
        let Some(Value::String(text)) = self.cells.get("__expected").cloned() else {
            return;
        };
        let others: Vec<String> = self
            .cells
            .keys()
            .filter(|name| !name.starts_with("__"))
            .cloned()
            .collect();
        if let ([only], false) = (others.as_slice(), self.has("prompt")) {
            self.rename(&only.clone(), "prompt");
        }
        let kind = text
            .split_once(':')
            .map(|(kind, value)| (kind.trim(), value.trim()));
        let reference = match kind {
            Some((kind, value))
                if REFERENCE_ASSERTS.contains(&kind.split('(').next().unwrap_or(kind)) =>
            {
                Some(value)
            }
            // `contains: x`, `javascript: …`, `not-equals: x`: no text to compare with.
            Some((kind, _)) if !kind.is_empty() && kind.chars().all(is_of_kind) => None,
            _ => Some(text.trim()),
        };
        if let Some(reference) = reference.filter(|_| !self.has("reference")) {
            let value = Value::String(reference.to_string());
            self.cells.remove("__expected");
            self.set("reference", vec![Step::Key("__expected".into())], value);
        }
    }

    fn input(&mut self) -> Read<()> {
        if self.has("prompt") || self.has("messages") {
            return Ok(());
        }
        for (from, known) in INPUT {
            let value = lookup(&self.cells, from).and_then(|(name, value)| {
                let is_content = value.get("parts").is_some() || value.get("role").is_some();
                Some((name.clone(), object(value).filter(|_| !is_content)?))
            });
            match (value, *known) {
                (Some((name, given)), "prompt") => self.take(&name, given, PROMPTS, known)?,
                (Some((name, given)), "reference" | "response") if !self.has(known) => {
                    let names = ANSWERS
                        .iter()
                        .any(|answer| lookup(&given, answer).is_some());
                    match names || given.len() == 1 {
                        true => self.take(&name, given, ANSWERS, known)?,
                        // A structured answer is compared as JSON.
                        false => self.rename(from, known),
                    }
                }
                _ => self.rename(from, known),
            }
        }
        Ok(())
    }
}

fn is_of_kind(c: char) -> bool {
    c.is_ascii_lowercase() || c == '-' || c == '(' || c == ')' || c == '.' || c.is_ascii_digit()
}

fn path(column: &str, key: &str) -> Vec<Step> {
    vec![Step::Key(column.into()), Step::Key(key.into())]
}

fn step(text: &str) -> Step {
    text.parse()
        .map_or_else(|_| Step::Key(text.to_string()), Step::Index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::EvalCase;
    use serde_json::json;

    fn read(row: Value, columns: &str) -> Result<EvalCase, String> {
        let columns = ColumnMap::parse(columns).unwrap();
        super::super::case(&row, &columns, "x").map_err(|error| error.to_string())
    }

    /// The prompt, the reference, the response, and the names of the expected and of the made calls.
    fn summary(row: Value) -> (String, String, String, Vec<String>, Vec<String>) {
        let case = read(row.clone(), "").unwrap_or_else(|error| panic!("{error}: {row}"));
        let last = case.turns().last().unwrap();
        let done = case.saved.as_ref().and_then(|saved| saved.turns.last());
        let names = |turn: &crate::domain::Invocation| {
            turn.calls()
                .iter()
                .map(|call| call.name.clone())
                .collect::<Vec<_>>()
        };
        (
            last.user.scored_text(),
            last.response_text(),
            done.map(|turn| turn.response_text()).unwrap_or_default(),
            names(last),
            done.map(names).unwrap_or_default(),
        )
    }

    #[test]
    fn row_layouts_of_other_tools_are_read() {
        let user = json!({"role": "user", "content": "q"});
        let said = |text: &str| json!({"role": "assistant", "content": text});
        let call = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
        let text = |text: &str| text.to_string();
        let q = || text("q");
        let none = Vec::<String>::new;
        let f = || vec![text("f")];
        let table = [
            (
                json!({"user_input": "q", "reference": "r", "response": "a"}),
                (q(), text("r"), text("a"), none(), none()),
            ),
            (
                json!({"user_input": [user, call, said("a")], "reference_tool_calls": [{"name": "f", "args": {}}]}),
                (q(), text(""), text("a"), f(), f()),
            ),
            (
                json!({"input": "q", "actual_output": "a", "expected_output": "r",
                       "tools_called": [{"name": "f", "input_parameters": {"x": 1}}], "expected_tools": []}),
                (q(), text("r"), text("a"), none(), f()),
            ),
            (
                json!({"inputs": {"question": "q"}, "outputs": {"answer": "r"}}),
                (q(), text("r"), text(""), none(), none()),
            ),
            (
                json!({"inputs": {"a": "q"}, "outputs": {"answer": "a"}, "reference_outputs": {"answer": "r"}}),
                (q(), text("r"), text("a"), none(), none()),
            ),
            (
                json!({"inputs": {"question": "q"}, "outputs": {"answer": "a"}, "reference": "r"}),
                (q(), text("r"), text("a"), none(), none()),
            ),
            (
                json!({"inputs": {"question": "q"}, "outputs": {"answer": "a"}, "expected_output": "r"}),
                (q(), text("r"), text("a"), none(), none()),
            ),
            (
                json!({"run_type": "chain", "inputs": {"question": "q"}, "outputs": {"messages": [call, said("a")]}}),
                (q(), text(""), text("a"), none(), f()),
            ),
            (
                json!({"inputs": {"messages": [user]}, "outputs": {"messages": [call, said("r")]}}),
                (q(), text("r"), text(""), f(), none()),
            ),
            (
                json!({"input": [{"role": "system", "content": "s"}, user], "ideal": "r"}),
                (q(), text("r"), text(""), none(), none()),
            ),
            (
                json!({"input": "q", "ideal": ["r"]}),
                (q(), text("r"), text(""), none(), none()),
            ),
            (
                json!({"item": {"question": "q", "correct_label": "r"}, "sample": {"output_text": "a"}}),
                (q(), text("r"), text("a"), none(), none()),
            ),
            (
                json!({"id": 1, "input": "q", "target": "r"}),
                (q(), text("r"), text(""), none(), none()),
            ),
            (
                json!({"id": "x", "input_messages": [user], "expected_messages": [said("r")]}),
                (q(), text("r"), text(""), none(), none()),
            ),
            (
                json!({"vars": {"question": "q"}, "assert": [{"type": "contains", "value": "x"}, {"type": "equals", "value": "r"}]}),
                (q(), text("r"), text(""), none(), none()),
            ),
            (
                json!({"frage": "q", "__expected": "r"}),
                (q(), text("r"), text(""), none(), none()),
            ),
            (
                json!({"frage": "q", "__expected": "equals: r"}),
                (q(), text("r"), text(""), none(), none()),
            ),
            (
                json!({"frage": "q", "__expected": "contains: r"}),
                (q(), text(""), text(""), none(), none()),
            ),
            (
                json!({"input": {"question": "q"}, "expectedOutput": "r"}),
                (q(), text("r"), text(""), none(), none()),
            ),
            (
                json!({"turns": [user, {"role": "assistant", "content": "a", "tools_called": [{"name": "f"}]}]}),
                (q(), text(""), text("a"), none(), f()),
            ),
            (
                json!({"inputs": "{'question': 'q'}", "outputs": "{'answer': 'r'}"}),
                (q(), text("r"), text(""), none(), none()),
            ),
        ];
        for (row, expected) in table {
            assert_eq!(summary(row.clone()), expected, "{row}");
        }
    }

    /// A list of names instead of calls is read in every layout. The arguments are not known, so that the calls are compared by
    /// name.
    #[test]
    fn names_of_tools_are_calls_in_every_layout() {
        let names = ["f", "g"];
        let user = json!({"role": "user", "content": "q"});
        let rows = [
            json!({"prompt": "q", "reference_trajectory": names, "predicted_trajectory": names}),
            json!({"input": "q", "expected_steps": names, "actual_steps": names}),
            json!({"prompt": "q", "expected_tools": names, "tools_called": names}),
            json!({"input": "q", "expected_tools": names, "tools_called": names}),
            json!({"prompt": "q", "expected_tool_calls": names, "actual_tool_calls": names}),
            json!({"input": "q", "expected_trajectory": "['f', 'g']", "actual_trajectory": "[\"f\", \"g\"]"}),
            json!({"user_input": "q", "reference_tool_calls": names, "predicted_trajectory": names}),
            json!({"inputs": {"question": "q"}, "outputs": {"trajectory": names}, "predicted_trajectory": names}),
            json!({"inputs": {"question": "q"}, "outputs": {"steps": names, "answer": "a"},
                   "reference_outputs": {"expected_steps": names, "answer": "r"}}),
            json!({"item": {"question": "q", "expected_tools": names}, "sample": {"output_tools": names}}),
            json!({"vars": {"question": "q", "expected_steps": names}, "actual_steps": names}),
            json!({"turns": [user, {"role": "assistant", "content": "a", "tools_called": names}]}),
        ];
        for row in rows {
            let case = read(row.clone(), "").unwrap_or_else(|error| panic!("{error}: {row}"));
            let done = case
                .saved
                .as_ref()
                .and_then(|saved| saved.turns.last())
                .unwrap();
            for turn in [case.turns().last().unwrap(), done] {
                let is_expected = row.get("turns").is_some() && turn.calls().is_empty();
                let found: Vec<&str> = turn.calls().iter().map(|call| call.name.as_str()).collect();
                assert!(is_expected || found == names, "{found:?} {row}");
            }
            let is_unknown =
                |call: &&crate::domain::ToolCall| call.args_unknown || row.get("turns").is_some();
            assert!(done.calls().iter().all(is_unknown), "{row}");
        }
    }

    #[test]
    fn errors_have_the_path_in_the_file() {
        let said = |row: Value, columns: &str| read(row, columns).unwrap_err();
        assert!(
            said(json!({"input": "q", "target": ["a", "b"]}), "")
                .starts_with("$.target: expected one text")
        );
        let error = said(json!({"inputs": {"a": "x", "b": "y"}, "outputs": {}}), "");
        assert!(
            error.starts_with("$.inputs: expected one key that is the prompt"),
            "{error}"
        );
        assert!(error.contains("inputs.a, inputs.b"), "{error}");
        let mapped = said(
            json!({"way": "[oops", "q": "x"}),
            "prompt=q,reference_trajectory=way",
        );
        assert!(
            mapped.starts_with("$.way: expected a list of calls"),
            "{mapped}"
        );
        let unknown = said(json!({"question": "q", "answer": "a"}), "");
        assert!(
            unknown.contains("found the columns question, answer; map them with --columns"),
            "{unknown}"
        );
    }

    #[test]
    fn mapped_columns_override_detected_columns() {
        let row =
            json!({"item": {"ticket": {"text": "q"}}, "gold": "r", "response": "a", "note": "n"});
        let case = read(row, "prompt=item.ticket.text,reference=gold").unwrap();
        let last = &case.turns()[0];
        assert_eq!(
            (last.user.scored_text(), last.response_text()),
            ("q".into(), "r".into())
        );
        assert_eq!(case.extra["note"], "n");
        assert!(last.is_data && case.missing_prompt().is_none());
        let other = read(json!({"question": "q", "response": "a"}), "").unwrap();
        assert!(
            other
                .missing_prompt()
                .unwrap()
                .contains("its other columns are question")
        );
    }

    #[test]
    fn a_reference_without_content_is_none() {
        for reference in [
            json!(null),
            json!(""),
            json!({}),
            json!({"response": null}),
            json!({"parts": []}),
        ] {
            let case = read(json!({"prompt": "q", "reference": reference}), "").unwrap();
            assert!(case.turns()[0].lacks_reference(), "{reference}");
        }
    }
}
