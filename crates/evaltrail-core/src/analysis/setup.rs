//! What agents reported of themselves over the attempts of a run, and what differs between two runs.

use super::coverage::{Declarations, Parameter, ToolSchema};
use crate::domain::{DetailsSource, ReportedSetup};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of differing tools or instructions that are named.
const MAX_NAMED: usize = 4;

/// What the agents of some attempts reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSetup {
    /// The number of attempts that report a version of a model.
    pub with_model: usize,
    /// The versions of models, each with the number of attempts in which it responded.
    pub models: BTreeMap<String, usize>,
    /// The hashes of the instruction of each agent.
    instructions: BTreeMap<String, BTreeSet<u64>>,
    /// The hashes of the declaration of each tool.
    tools: BTreeMap<String, BTreeSet<u64>>,
    /// Who reported instructions and tools.
    sources: BTreeSet<DetailsSource>,
}

/// How what was reported differs between two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupChanges {
    /// The versions of models before and after, if they differ: "gemini-2.5-flash-001 → gemini-2.5-flash-002 in 100 of 100 attempts".
    pub models: Option<String>,
    /// The agents with another instruction.
    pub instructions: Vec<String>,
    /// The tools with another declaration.
    pub changed_tools: Vec<String>,
    /// The tools that only the second run has.
    pub new_tools: Vec<String>,
    /// The tools that only the first run has.
    pub lost_tools: Vec<String>,
    /// What one of the runs does not report, so that it is not known whether it changed.
    pub not_reported: Vec<&'static str>,
}

impl RunSetup {
    /// Adds what an attempt reports.
    pub fn add(&mut self, setup: &ReportedSetup) {
        self.with_model += usize::from(!setup.models.is_empty());
        for model in &setup.models {
            *self.models.entry(model.to_string()).or_default() += 1;
        }
        let add = |to: &mut BTreeMap<String, BTreeSet<u64>>, hashes: &[(Box<str>, u64)]| {
            for (name, hash) in hashes {
                to.entry(name.to_string()).or_default().insert(*hash);
            }
        };
        add(&mut self.instructions, &setup.instructions);
        add(&mut self.tools, &setup.tools);
        if !setup.instructions.is_empty() || !setup.tools.is_empty() {
            self.sources.insert(setup.source);
        }
    }

    /// Adds what other attempts report.
    pub fn merge(&mut self, other: &RunSetup) {
        self.with_model += other.with_model;
        for (model, count) in &other.models {
            *self.models.entry(model.clone()).or_default() += count;
        }
        let add = |to: &mut BTreeMap<String, BTreeSet<u64>>,
                   from: &BTreeMap<String, BTreeSet<u64>>| {
            for (name, hashes) in from {
                to.entry(name.clone()).or_default().extend(hashes);
            }
        };
        add(&mut self.instructions, &other.instructions);
        add(&mut self.tools, &other.tools);
        self.sources.extend(&other.sources);
    }

    /// What differs in a later run. An instruction or a declaration that is not the same in all attempts of a run, because it contains
    /// values of the conversation, is not compared, and neither is what different sources report.
    pub fn changes_until(&self, later: &RunSetup) -> SetupChanges {
        let mut changes = SetupChanges::default();
        match (self.models.is_empty(), later.models.is_empty()) {
            (false, false) => changes.models = self.model_change(later),
            _ => changes.not_reported.push("model version"),
        }
        let is_comparable = self.sources == later.sources;
        match is_comparable && !self.instructions.is_empty() && !later.instructions.is_empty() {
            true => changes.instructions = differing(&self.instructions, &later.instructions),
            false => changes.not_reported.push("instruction"),
        }
        match is_comparable && !self.tools.is_empty() && !later.tools.is_empty() {
            true => {
                changes.changed_tools = differing(&self.tools, &later.tools);
                changes.new_tools = missing(&later.tools, &self.tools);
                changes.lost_tools = missing(&self.tools, &later.tools);
            }
            false => changes.not_reported.push("tool declarations"),
        }
        changes
    }

    fn model_change(&self, later: &RunSetup) -> Option<String> {
        if self.models.keys().eq(later.models.keys()) {
            return None;
        }
        let names =
            |models: &BTreeMap<String, usize>| -> Vec<String> { models.keys().cloned().collect() };
        let new = |model: &&String| !self.models.contains_key(*model);
        let most = later
            .models
            .keys()
            .filter(new)
            .filter_map(|new| later.models.get(new))
            .max();
        let share = most.map(|count| format!(" in {count} of {} attempts", later.with_model));
        Some(format!(
            "{} → {}{}",
            names(&self.models).join(", "),
            names(&later.models).join(", "),
            share.unwrap_or_default()
        ))
    }
}

/// The names under which both have exactly one hash, and another one.
fn differing(
    before: &BTreeMap<String, BTreeSet<u64>>,
    after: &BTreeMap<String, BTreeSet<u64>>,
) -> Vec<String> {
    let differs = |(name, hashes): &(&String, &BTreeSet<u64>)| {
        let other = after.get(*name);
        other.is_some_and(|other| hashes.len() == 1 && other.len() == 1 && other != *hashes)
    };
    before
        .iter()
        .filter(differs)
        .map(|(name, _)| name.clone())
        .collect()
}

/// The names that the second lacks.
fn missing(
    one: &BTreeMap<String, BTreeSet<u64>>,
    other: &BTreeMap<String, BTreeSet<u64>>,
) -> Vec<String> {
    one.keys()
        .filter(|name| !other.contains_key(*name))
        .cloned()
        .collect()
}

impl SetupChanges {
    /// The changes, each in words.
    pub fn describe(&self) -> Vec<String> {
        let listed = |what: &str, names: &[String]| match names.len() {
            0 => None,
            count if count > MAX_NAMED => Some(format!(
                "{what} {}, … ({count})",
                names[..MAX_NAMED].join(", ")
            )),
            _ => Some(format!("{what} {}", names.join(", "))),
        };
        let model = self.models.iter().map(|text| format!("the model {text}"));
        let others = [
            listed("the instruction of", &self.instructions),
            listed("the declaration of", &self.changed_tools),
            listed("new tool", &self.new_tools),
            listed("without tool", &self.lost_tools),
        ];
        model.chain(others.into_iter().flatten()).collect()
    }

    /// Whether nothing is known to differ.
    pub fn is_empty(&self) -> bool {
        self.describe().is_empty()
    }
}

/// How the declaration of a tool differs, each difference in words: "party became required".
pub fn declaration_changes(before: &Declarations, after: &Declarations, tool: &str) -> Vec<String> {
    let schema = |declared: &Declarations| declared.tools.get(tool).cloned().flatten();
    let mut changes = match (schema(before), schema(after)) {
        (Some(before), Some(after)) => schema_changes(&before, &after),
        _ => Vec::new(),
    };
    if before.descriptions.get(tool) != after.descriptions.get(tool) {
        changes.push("the description".into());
    }
    changes
}

fn schema_changes(before: &ToolSchema, after: &ToolSchema) -> Vec<String> {
    let find = |schema: &ToolSchema, name: &str| {
        schema
            .parameters
            .iter()
            .find(|one| one.name == name)
            .cloned()
    };
    let mut changes = Vec::new();
    for parameter in &after.parameters {
        match find(before, &parameter.name) {
            None => {
                let required = if parameter.required { ", required" } else { "" };
                changes.push(format!("new argument {}{required}", parameter.name));
            }
            Some(known) => changes.extend(parameter_change(&known, parameter)),
        }
    }
    let lost = before
        .parameters
        .iter()
        .filter(|one| find(after, &one.name).is_none());
    changes.extend(lost.map(|one| format!("argument {} is gone", one.name)));
    changes
}

fn parameter_change(before: &Parameter, after: &Parameter) -> Option<String> {
    let name = &after.name;
    if before == after {
        return None;
    }
    Some(match (before.required, after.required) {
        (false, true) => format!("{name} became required"),
        (true, false) => format!("{name} became optional"),
        _ if before.kind != after.kind => format!("the type of {name}"),
        _ if before.values != after.values => format!("the allowed values of {name}"),
        _ if before.default != after.default => format!("the default of {name}"),
        _ if before.description != after.description => format!("the description of {name}"),
        _ => format!("the limits of {name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn setup(model: &str, instruction: u64, tools: &[(&str, u64)]) -> ReportedSetup {
        let models = [model].into_iter().filter(|model| !model.is_empty());
        ReportedSetup {
            models: models.map(Box::from).collect(),
            instructions: [("desk".into(), instruction)].into(),
            tools: tools
                .iter()
                .map(|(name, hash)| ((*name).into(), *hash))
                .collect(),
            source: DetailsSource::Description,
        }
    }

    fn run(attempts: &[ReportedSetup]) -> RunSetup {
        let mut run = RunSetup::default();
        attempts.iter().for_each(|one| run.add(one));
        run
    }

    #[test]
    fn only_what_changed_is_named() {
        let before = run(&[
            setup("m-1", 1, &[("book", 1)]),
            setup("m-1", 1, &[("book", 1)]),
        ]);
        let describe = |after: &RunSetup| before.changes_until(after).describe();
        assert_eq!(describe(&before), Vec::<String>::new());
        let model = run(&[
            setup("m-2", 1, &[("book", 1)]),
            setup("m-2", 1, &[("book", 1)]),
        ]);
        assert_eq!(describe(&model), ["the model m-1 → m-2 in 2 of 2 attempts"]);
        let tool = run(&[setup("m-1", 1, &[("book", 2), ("pay", 1)])]);
        assert_eq!(describe(&tool), ["the declaration of book", "new tool pay"]);
        let instruction = run(&[setup("m-1", 9, &[("book", 1)])]);
        assert_eq!(describe(&instruction), ["the instruction of desk"]);
    }

    #[test]
    fn unknown_is_not_unchanged() {
        let (before, without) = (run(&[setup("m-1", 1, &[])]), run(&[setup("", 1, &[])]));
        let changes = before.changes_until(&without);
        assert_eq!(changes.not_reported, ["model version", "tool declarations"]);
        assert!(changes.is_empty());
        let other_source = run(&[ReportedSetup {
            source: DetailsSource::Request,
            ..setup("m-1", 2, &[])
        }]);
        let changes = before.changes_until(&other_source);
        assert_eq!(changes.not_reported, ["instruction", "tool declarations"]);
    }

    #[test]
    fn instruction_with_state_is_not_compared() {
        let before = run(&[setup("m", 1, &[]), setup("m", 2, &[])]);
        let after = run(&[setup("m", 3, &[])]);
        assert!(before.changes_until(&after).is_empty());
    }

    #[test]
    fn declaration_changes_are_named() {
        let declared = |schema: serde_json::Value, about: &str| {
            let mut found = Declarations::default();
            found.add(
                &json!({"tools": [{"name": "book", "description": about, "parameters": schema}]}),
            );
            found
        };
        let schema = |required: &[&str], kind: &str| json!({"type": "object", "properties": {"party": {"type": kind}, "when": {"type": "string"}}, "required": required});
        let before = declared(schema(&["when"], "integer"), "books");
        let changes = |after: &Declarations| declaration_changes(&before, after, "book");
        assert_eq!(changes(&before), Vec::<String>::new());
        let after = declared(schema(&["when", "party"], "integer"), "books");
        assert_eq!(changes(&after), ["party became required"]);
        let after = declared(schema(&["when"], "string"), "books a table");
        assert_eq!(changes(&after), ["the type of party", "the description"]);
    }
}
