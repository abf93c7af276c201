//! Calls of one tool: in which cases, with which arguments and values.

use super::classes::ArgumentClass;
use super::declarations::{Parameter, ToolSchema};
use super::{
    ArgumentCoverage, CallOutcome, CaseSet, CasesByColumn, MAX_COUNTED_VALUES, SchemaKnowledge,
    ToolCoverage,
};
use crate::domain::ToolCall;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The maximum number of combinations of arguments that are counted for each tool.
const MAX_COMBINATIONS: usize = 1_000;

/// What was seen of a tool.
#[derive(Default)]
pub(super) struct SeenTool {
    pub(super) cases: CasesByColumn,
    pub(super) outcomes: BTreeMap<CallOutcome, CaseSet>,
    pub(super) expected_outcomes: BTreeMap<CallOutcome, CaseSet>,
    /// The values of each argument, by their text in JSON.
    values: BTreeMap<String, HashMap<String, (Value, CasesByColumn)>>,
    /// The cases of calls, by the names of their arguments. Calls with unknown arguments are left out.
    combinations: BTreeMap<BTreeSet<String>, CasesByColumn>,
}

/// Whether a call is expected or made.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum CallSide {
    Expected,
    /// By an attempt that passed, or not.
    Called {
        passed: bool,
    },
}

impl CasesByColumn {
    /// Adds a case in which a call is expected or made.
    pub(super) fn see(&mut self, side: CallSide, case: usize) {
        match side {
            CallSide::Expected => self.expected.add(case),
            CallSide::Called { passed } => {
                self.called.add(case);
                if passed {
                    self.passed.add(case);
                }
            }
        }
    }
}

impl SeenTool {
    /// Adds a call of a case. Returns the names of the tool and its arguments of which this call was not counted, because they have
    /// too many combinations or values.
    pub(super) fn add_call(&mut self, at: usize, side: CallSide, call: &ToolCall) -> Vec<String> {
        self.cases.see(side, at);
        let mut uncounted = Vec::new();
        if call.args_unknown {
            return uncounted;
        }
        let arguments = arguments_of(call);
        let combination: BTreeSet<String> =
            arguments.iter().map(|(name, _)| name.clone()).collect();
        if self.combinations.len() < MAX_COMBINATIONS
            || self.combinations.contains_key(&combination)
        {
            self.combinations
                .entry(combination)
                .or_default()
                .see(side, at);
        } else {
            uncounted.push(call.name.clone());
        }
        // Calls of attempts leave room for values of expected calls.
        let most = match side {
            CallSide::Expected => 2 * MAX_COUNTED_VALUES,
            CallSide::Called { .. } => MAX_COUNTED_VALUES,
        };
        for (name, value) in arguments {
            let full_name = format!("{}.{name}", call.name);
            let values = self.values.entry(name).or_default();
            let (text, value) = stored_value(value);
            if values.len() < most || values.contains_key(&text) {
                let (_, cases) = values
                    .entry(text)
                    .or_insert_with(|| (value, CasesByColumn::default()));
                cases.see(side, at);
            } else {
                uncounted.push(full_name);
            }
        }
        uncounted
    }

    /// What is covered of the tool, with what its declaration says of its arguments.
    pub(super) fn coverage(
        self,
        declared: Option<bool>,
        schema: Option<&ToolSchema>,
    ) -> ToolCoverage {
        let parameters = schema.map_or(&[][..], |schema| &schema.parameters);
        let mut arguments: BTreeMap<String, ArgumentCoverage> = BTreeMap::new();
        let is_shown = |name: &&String| {
            !name.contains('.') || parameters.iter().any(|parameter| parameter.name == **name)
        };
        let seen = self.values.keys().filter(is_shown).cloned();
        let declared_names = parameters.iter().map(|parameter| parameter.name.clone());
        for name in seen.chain(declared_names) {
            let argument = self.argument(&name);
            arguments.insert(name, argument);
        }
        for parameter in parameters {
            // Tools of ADK's own have parameters that say nothing about the agent.
            let classes = match declared {
                Some(true) => ArgumentClass::of_parameter(parameter),
                _ => Vec::new(),
            };
            let classes = classes.into_iter().map(|class| {
                let cases = self.cases_of_class(&parameter.name, &class);
                (class, cases)
            });
            let argument = arguments.entry(parameter.name.clone()).or_default();
            argument.classes = classes.collect();
            argument.declaration = Some(parameter.clone());
            (argument.forbidden_in, argument.forbidden_value) = self.forbidden(parameter);
        }
        ToolCoverage {
            declared,
            schema: match schema {
                None => SchemaKnowledge::Unknown,
                Some(schema) if schema.is_open => SchemaKnowledge::Open,
                Some(_) => SchemaKnowledge::Closed,
            },
            cases: self.cases,
            outcomes: self.outcomes,
            expected_outcomes: self.expected_outcomes,
            arguments,
        }
    }

    /// What was seen of an argument, without its classes.
    fn argument(&self, name: &str) -> ArgumentCoverage {
        let values = || self.values.get(name).into_iter().flat_map(HashMap::values);
        let count =
            |is_of: fn(&CasesByColumn) -> bool| values().filter(|(_, cases)| is_of(cases)).count();
        ArgumentCoverage {
            classes: Vec::new(),
            declaration: None,
            forbidden_in: CaseSet::default(),
            forbidden_value: None,
            expected_in: CaseSet::union(values().map(|(_, cases)| &cases.expected)),
            missing_in: CaseSet::union(
                self.combinations_without(name).map(|cases| &cases.expected),
            ),
            expected_values: count(|cases| !cases.expected.is_empty()),
            called_values: count(|cases| !cases.called.is_empty()),
        }
    }

    /// The cases with an expected value that a parameter does not allow, and the first such value in the order of their
    /// texts. Values that were shortened are not checked.
    fn forbidden(&self, parameter: &Parameter) -> (CaseSet, Option<Value>) {
        let values = self.values.get(&parameter.name).into_iter().flatten();
        let mut forbidden: Vec<(&String, &(Value, CasesByColumn))> = values
            .filter(|(text, (value, cases))| {
                !cases.expected.is_empty()
                    && parameter.forbids(value)
                    && stored_value(value).0 == **text
            })
            .collect();
        forbidden.sort_unstable_by_key(|(text, _)| *text);
        let cases = forbidden.iter().map(|(_, (_, cases))| &cases.expected);
        let first = forbidden.first().map(|(_, (value, _))| value.clone());
        (CaseSet::union(cases), first)
    }

    /// The cases of calls without an argument. For a member of an object (`place.city`), only of calls with the object.
    fn combinations_without(&self, argument: &str) -> impl Iterator<Item = &CasesByColumn> + Clone {
        let outer = argument.split_once('.').map(|(outer, _)| outer.to_string());
        let argument = argument.to_string();
        let combinations = self.combinations.iter().filter(move |(names, _)| {
            !names.contains(&argument) && outer.as_ref().is_none_or(|outer| names.contains(outer))
        });
        combinations.map(|(_, cases)| cases)
    }

    /// The cases with a call whose argument is in a class.
    fn cases_of_class(&self, argument: &str, class: &ArgumentClass) -> CasesByColumn {
        if *class == ArgumentClass::Absent {
            return CasesByColumn::union(self.combinations_without(argument));
        }
        let values = self
            .values
            .get(argument)
            .into_iter()
            .flat_map(HashMap::values);
        let within = values.filter(|(value, _)| class.contains(Some(value)));
        CasesByColumn::union(within.map(|(_, cases)| cases))
    }
}

/// The text by which a value is told apart from others, and the value itself. Of a long one, only a short one of the same
/// classes is kept.
fn stored_value(value: &Value) -> (String, Value) {
    /// In bytes of JSON.
    const MAX_KEPT: usize = 200;
    let text = value.to_string();
    if text.len() <= MAX_KEPT {
        return (text, value.clone());
    }
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(&text, &mut hasher);
    let digest = format!("{:016x} {}", std::hash::Hasher::finish(&hasher), text.len());
    let short = match value {
        Value::String(text) => {
            let other = text.chars().find(|c| !c.is_ascii());
            let first = text.trim_start().chars().take(40);
            Value::String(first.chain(other).collect())
        }
        Value::Array(elements) => vec![Value::Null; elements.len().min(3)].into(),
        Value::Object(_) => Map::new().into(),
        other => other.clone(),
    };
    (digest, short)
}

/// The arguments of a call, and the members of those that are objects.
fn arguments_of(call: &ToolCall) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (name, value) in call.args.iter().flatten() {
        found.push((name.clone(), value));
        for (member, value) in value.as_object().into_iter().flatten() {
            found.push((format!("{name}.{member}"), value));
        }
    }
    found
}
