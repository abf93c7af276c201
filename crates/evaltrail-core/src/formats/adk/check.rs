//! Checks of ADK's files: what evaltrail cannot read, and what ADK would refuse or lose.

use super::check_rubrics;
use super::result_file::ADK_RESULT;
use super::schema::{self, SchemaProblem, SchemaVerdict};
use crate::domain::{EvalCase, VerdictParsing, counted, did_you_mean};
use crate::formats::index::{RootKind, root_kind};
use crate::formats::json::{self, JsonPath, JsonPositions};
use crate::formats::read::{describe, lookup, same_name};
use crate::formats::{FileFormat, FileProblem, SetFile};
use crate::metrics::{
    CriterionError, JudgedMetric, adk_knows_model, criterion_rubrics, unknown_options,
};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// How bad an issue is, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// evaltrail cannot read it.
    Error,
    /// evaltrail reads it; ADK refuses the file.
    Refused,
    /// ADK reads it and loses it when it saves, or treats it in a surprising way.
    Warning,
}

/// A problem found in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The JSON path; empty for a text that is not JSON.
    pub path: String,
    /// What is wrong, as a message.
    pub message: String,
}

/// Names to which a file may refer.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownNames<'a> {
    /// The metrics that the workspace defines.
    pub metrics: &'a [String],
    /// The agents of the workspace. Names of agents are not checked if there is none.
    pub agents: &'a [String],
}

/// Checks an eval set, a config (a file with `criteria`) or a result. The content determines which of them it is,
/// except that a file whose name ends with `test_config.json` is always checked as a config.
pub fn check_text(text: &str, file_name: &str, names: KnownNames<'_>) -> Vec<Issue> {
    let parsed = match json::parse(text) {
        Ok(parsed) => parsed,
        Err(error) => return vec![problem(FileProblem::syntax(text, error))],
    };
    let checker = Checker {
        text,
        positions: JsonPositions::default(),
        names,
    };
    let named = file_name.ends_with("test_config.json");
    let mut issues = match &parsed.value {
        _ if named => checker.config(&parsed.value),
        Value::Object(map) if is_result(map) => checker.result(),
        Value::Object(map) if is_config(map) => checker.config(&parsed.value),
        Value::String(_) if root_kind(text) == RootKind::Text => checker.result(),
        _ => checker.eval_set(&parsed.value, file_name),
    };
    issues.extend(parsed.duplicates.iter().map(|path| {
        checker.at(
            Severity::Warning,
            path,
            "this key is given more than once; the last one counts".into(),
        )
    }));
    if text.starts_with('\u{FEFF}') {
        issues.push(checker.at(
            Severity::Refused,
            &JsonPath::default(),
            "the file begins with a byte order mark, which ADK does not read".into(),
        ));
    }
    issues.sort_by_key(|issue| (issue.line, issue.column, issue.severity));
    issues
}

/// The turns that cannot be run, since there is nothing to send.
fn without_user_message(case: &EvalCase, path: &JsonPath) -> Vec<(JsonPath, String)> {
    let turns = case
        .turns()
        .iter()
        .enumerate()
        .filter(|(_, turn)| turn.user.parts.is_empty());
    let turns = turns.map(|(at, _)| path.key("conversation").index(at));
    turns
        .map(|path| {
            (
                path,
                "the turn has no user message, so the case cannot be run".to_string(),
            )
        })
        .collect()
}

/// `a, b, c and 7 others`
fn shortened_list(names: &[String]) -> String {
    const MAX_NAMES: usize = 5;
    let shown = names[..names.len().min(MAX_NAMES)].join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown,
        more => format!("{shown} and {}", counted(more, "other")),
    }
}

/// The agent that the session of a case names, and where.
fn named_agent<'a>(case: &'a Value, path: &JsonPath) -> Option<(JsonPath, &'a str)> {
    let (input_key, input) = lookup(case.as_object()?, "session_input")?;
    let (app_key, app) = lookup(input.as_object()?, "app_name")?;
    let app = app.as_str().filter(|app| !app.is_empty())?;
    Some((path.key(input_key).key(app_key), app))
}

fn is_config(map: &serde_json::Map<String, Value>) -> bool {
    let config = ["criteria", "custom_metrics", "user_simulator_config"];
    let cases = map.keys().any(|key| same_name(key, "eval_cases"));
    !cases
        && (map.is_empty()
            || map
                .keys()
                .any(|key| config.iter().any(|name| same_name(key, name))))
}

fn is_result(map: &serde_json::Map<String, Value>) -> bool {
    lookup(map, "eval_case_results").is_some()
}

fn problem(problem: FileProblem) -> Issue {
    Issue {
        severity: Severity::Error,
        line: problem.line,
        column: problem.column,
        message: format!("expected {}, found {}", problem.expected, problem.found),
        path: problem.path,
    }
}

struct Checker<'a> {
    text: &'a str,
    positions: JsonPositions,
    names: KnownNames<'a>,
}

impl Checker<'_> {
    fn at(&self, severity: Severity, path: &JsonPath, message: String) -> Issue {
        let (line, column) = self.positions.line_and_column(self.text, path);
        Issue {
            severity,
            line,
            column,
            path: path.to_string(),
            message,
        }
    }

    fn finding(&self, finding: SchemaProblem) -> Issue {
        let SchemaProblem {
            verdict,
            path,
            expected,
            found,
        } = finding;
        match verdict {
            SchemaVerdict::Refuses => self.at(
                Severity::Refused,
                &path,
                format!("ADK refuses this file: expected {expected}, found {found}"),
            ),
            SchemaVerdict::Loses => self.at(
                Severity::Warning,
                &path,
                format!("ADK loses {found} when it saves the file"),
            ),
        }
    }

    fn eval_set(&self, value: &Value, file_name: &str) -> Vec<Issue> {
        let file_stem = file_name.strip_suffix(".evalset.json").unwrap_or_default();
        let file = match SetFile::open(Arc::from(self.text), file_stem) {
            Ok(file) => file,
            Err(error) => return vec![problem(error)],
        };
        let mut issues: Vec<Issue> = (0..file.len())
            .filter_map(|at| file.case(at).err())
            .map(problem)
            .collect();
        let known = issues.len();
        match file.form {
            FileFormat::EvalSet => issues.extend(self.new_form(value)),
            FileFormat::NamedList => issues.extend(self.named_list(value)),
            FileFormat::TurnList => issues.push(self.turn_list(file_name)),
            _ => {}
        }
        // A value that cannot be read at all is reported once.
        let told: HashSet<(usize, usize)> =
            issues[..known].iter().map(|i| (i.line, i.column)).collect();
        let mut at = 0;
        issues.retain(|issue| {
            at += 1;
            at <= known || !told.contains(&(issue.line, issue.column))
        });
        issues.extend(self.same_ids(&file));
        issues.extend(self.rubrics(&file, value));
        issues.extend(self.criteria_of_cases(value));
        issues.extend(self.unknown_agents(value));
        issues.extend(self.other_name(&file, file_stem));
        issues
    }

    fn new_form(&self, value: &Value) -> Vec<Issue> {
        let top = JsonPath::default();
        let mut findings = schema::check(&schema::EVAL_SET, value, &top);
        // A camelCase key at the top is already reported as missing, so it is not also reported as lost.
        findings.retain(|finding| match finding.path.0.last() {
            Some(json::Step::Key(key)) => {
                finding.verdict == SchemaVerdict::Refuses
                    || schema::EVAL_SET.snake_of(key).is_none()
            }
            _ => true,
        });
        if let Some((key, cases)) = value.as_object().and_then(|map| lookup(map, "eval_cases"))
            && key != "eval_cases"
        {
            for (at, case) in cases.as_array().into_iter().flatten().enumerate() {
                findings.extend(schema::check(
                    &schema::EVAL_CASE,
                    case,
                    &top.key(key).index(at),
                ));
            }
        }
        findings
            .into_iter()
            .map(|finding| self.finding(finding))
            .collect()
    }

    fn named_list(&self, value: &Value) -> Vec<Issue> {
        let cases = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let null_session = |case: &Value| case.get("initial_session").is_some_and(Value::is_null);
        let mut issues: Vec<Issue> = cases
            .iter()
            .enumerate()
            .filter(|(_, case)| null_session(case))
            .map(|(at, _)| {
                let path = JsonPath::default().index(at).key("initial_session");
                self.at(
                    Severity::Refused,
                    &path,
                    "ADK refuses this file: expected an object, found null".into(),
                )
            })
            .collect();
        issues.push(self.at(
            Severity::Warning,
            &JsonPath::default(),
            "the older form: `adk eval` can save its results only when it is run from the file's own folder".into(),
        ));
        issues
    }

    /// A test file is meant for AgentEvaluator; under another name it cannot be used at all.
    fn turn_list(&self, file_name: &str) -> Issue {
        let severity = match file_name.ends_with(".test.json") {
            true => Severity::Warning,
            false => Severity::Refused,
        };
        let words = "a list of turns is read by ADK's AgentEvaluator alone; `adk eval` and `adk web` refuse it";
        self.at(severity, &JsonPath::default(), words.into())
    }

    fn same_ids(&self, file: &SetFile) -> Vec<Issue> {
        let mut first = HashMap::new();
        let mut issues = Vec::new();
        for (at, eval_id) in file.eval_ids().enumerate() {
            if let Some(before) = first.insert(eval_id.clone(), at) {
                issues.push(Issue {
                    severity: Severity::Refused,
                    line: file.line_of(at),
                    column: 1,
                    path: format!("$.eval_cases[{at}]"),
                    message: format!(
                        "the id {eval_id:?} is already used by case {}; `adk eval` refuses to run the file",
                        before + 1
                    ),
                });
            }
        }
        issues
    }

    fn rubrics(&self, file: &SetFile, value: &Value) -> Vec<Issue> {
        let Some((key, _)) = value.as_object().and_then(|map| lookup(map, "eval_cases")) else {
            return Vec::new();
        };
        let cases = (0..file.len()).filter_map(|at| Some((at, file.case(at).ok()?)));
        let top = JsonPath::default().key(key);
        let found = cases.flat_map(|(at, case)| {
            let rubrics = check_rubrics::of_case(&case, &top.index(at));
            rubrics
                .into_iter()
                .chain(without_user_message(&case, &top.index(at)))
                .collect::<Vec<_>>()
        });
        found
            .map(|(path, message)| self.at(Severity::Warning, &path, message))
            .collect()
    }

    /// Criteria in a case: ADK preserves the key, and neither ADK nor evaltrail reads it.
    fn criteria_of_cases(&self, value: &Value) -> Vec<Issue> {
        let cases = value.as_object().and_then(|map| lookup(map, "eval_cases"));
        let Some((key, Value::Array(cases))) = cases else {
            return Vec::new();
        };
        let has_criteria = |(_, case): &(usize, &Value)| case.get("criteria").is_some();
        let path = |at: usize| JsonPath::default().key(key).index(at).key("criteria");
        let message = "criteria of a case have no effect: they apply to a whole set, in test_config.json beside it";
        let issue =
            |(at, _): (usize, &Value)| self.at(Severity::Warning, &path(at), message.into());
        cases
            .iter()
            .enumerate()
            .filter(has_criteria)
            .map(issue)
            .collect()
    }

    /// The agents that cases name and the workspace does not have, each at the first case that names it.
    fn unknown_agents(&self, value: &Value) -> Vec<Issue> {
        let cases = value.as_object().and_then(|map| lookup(map, "eval_cases"));
        let Some((cases_key, Value::Array(cases))) = cases else {
            return Vec::new();
        };
        let mut unknown: BTreeMap<&str, (JsonPath, usize)> = BTreeMap::new();
        for (at, case) in cases.iter().enumerate() {
            let Some((path, app)) =
                named_agent(case, &JsonPath::default().key(cases_key).index(at))
            else {
                continue;
            };
            let agents = self.names.agents;
            if !agents.is_empty() && !agents.iter().any(|agent| agent == app) {
                unknown.entry(app).or_insert((path, 0)).1 += 1;
            }
        }
        let issue = |(app, (path, count)): (&str, (JsonPath, usize))| {
            let message = format!(
                "no agent is called {app:?}, but {} name{} it; agents: {}{}",
                counted(count, "case"),
                if count == 1 { "s" } else { "" },
                shortened_list(self.names.agents),
                did_you_mean(app, self.names.agents)
            );
            self.at(Severity::Warning, &path, message)
        };
        unknown.into_iter().map(issue).collect()
    }

    fn other_name(&self, file: &SetFile, file_stem: &str) -> Option<Issue> {
        let differs =
            file.form == FileFormat::EvalSet && !file_stem.is_empty() && file.id != file_stem;
        differs.then(|| {
            let path = JsonPath::default().key("eval_set_id");
            let message = format!(
                "the id {:?} is not the file's name {file_stem:?}; `adk web` cannot run such a set",
                file.id
            );
            self.at(Severity::Warning, &path, message)
        })
    }

    fn config(&self, value: &Value) -> Vec<Issue> {
        let config = match super::read_config(self.text) {
            Ok(config) => config,
            Err(error) => return vec![problem(error)],
        };
        let path = JsonPath::default().key("criteria");
        let mut issues = Vec::new();
        if config.criteria.is_empty() {
            let message =
                "no criteria: nothing can pass, and ADK counts every case as failed".into();
            issues.push(self.at(Severity::Warning, &path, message));
        }
        for criterion in &config.criteria {
            let path = path.key(&criterion.metric);
            let rubrics = criterion_rubrics(criterion).unwrap_or_default();
            let found = check_rubrics::of_criterion(&rubrics, &path).into_iter();
            issues.extend(found.map(|(path, message)| self.at(Severity::Warning, &path, message)));
            for (key, message) in unknown_options(criterion) {
                issues.push(self.at(Severity::Warning, &path.key(key), message));
            }
            let message = match unusable(criterion) {
                Some(why) => why,
                None if config.custom_metrics.contains_key(criterion.name()) => continue,
                None if self
                    .names
                    .metrics
                    .iter()
                    .any(|name| name == criterion.name()) =>
                {
                    continue;
                }
                None => match crate::metrics::usable(criterion) {
                    Ok(()) => {
                        let unreachable = crate::metrics::unreachable_threshold(criterion);
                        issues
                            .extend(unreachable.map(|why| self.at(Severity::Warning, &path, why)));
                        continue;
                    }
                    // A run that calls an agent refuses it, and ADK ends with a KeyError.
                    Err(why @ CriterionError::Unknown { .. }) => {
                        let message = format!("{why}; `evaltrail metrics` lists them");
                        issues.push(self.at(Severity::Error, &path, message));
                        continue;
                    }
                    Err(why) => why.to_string(),
                },
            };
            let message = format!("not evaluated: {message}");
            issues.push(self.at(Severity::Warning, &path, message));
        }
        issues.extend(self.simulated_user(value));
        let keys = [
            "criteria",
            "custom_metrics",
            "user_simulator_config",
            "live_model_config",
        ];
        for key in value.as_object().into_iter().flat_map(|map| map.keys()) {
            if !keys.iter().any(|name| same_name(key, name)) {
                let message = format!("ADK ignores the unknown key {key:?}");
                issues.push(self.at(Severity::Warning, &JsonPath::default().key(key), message));
            }
        }
        issues
    }

    /// A simulated user that ADK refuses, or that evaltrail cannot simulate.
    fn simulated_user(&self, value: &Value) -> Option<Issue> {
        let (key, user) = lookup(value.as_object()?, "user_simulator_config")?;
        let path = JsonPath::default().key(key).key("type");
        let (severity, message) = match user.get("type")? {
            Value::Null => return None,
            Value::String(kind) if kind == "llm_backed" => return None,
            Value::String(kind) if kind == "llm_audio" => {
                let message = "evaltrail does not simulate users of type \"llm_audio\": scenarios are not run";
                (Severity::Warning, message.to_string())
            }
            other => {
                let expected = "llm_backed or llm_audio";
                let message = format!(
                    "ADK refuses this file: expected {expected}, found {}",
                    describe(other)
                );
                (Severity::Refused, message)
            }
        };
        Some(self.at(severity, &path, message))
    }

    /// The problems of a result. One without a problem is no set all the same.
    fn result(&self) -> Vec<Issue> {
        let file = match super::ResultFile::open(Arc::from(self.text)) {
            Err(error) => return vec![problem(error)],
            Ok(file) => file,
        };
        let problems = (0..file.entries.len()).filter_map(|at| file.attempt(at).err());
        let mut issues: Vec<Issue> = problems.map(problem).collect();
        if issues.is_empty() {
            let message = format!(
                "{ADK_RESULT} and not an eval set: it is read only from .adk/eval_history in the folder of its agent"
            );
            issues.push(self.at(Severity::Warning, &JsonPath::default(), message));
        }
        issues
    }
}

/// Options of judges and rubrics that ADK itself refuses when it builds the metric.
fn unusable(criterion: &crate::domain::Criterion) -> Option<String> {
    let path = JsonPath::default();
    if let Some(options) = criterion.option("judge_model_options", "judgeModelOptions") {
        if let Some(finding) = schema::check(&schema::JUDGE_MODEL_OPTIONS, options, &path).first() {
            return Some(format!(
                "judge_model_options: expected {}, found {}",
                finding.expected, finding.found
            ));
        }
        for (snake, camel) in [
            ("num_samples", "numSamples"),
            ("parallelism_limit", "parallelismLimit"),
        ] {
            let value = options.get(camel).or_else(|| options.get(snake));
            if let Some(value) = value
                .filter(|value| crate::formats::read::lax_float(value).is_some_and(|n| n < 1.0))
            {
                return Some(format!(
                    "{snake}: expected at least 1, found {}",
                    describe(value)
                ));
            }
        }
    }
    if let Ok(Some(metric)) = JudgedMetric::new(criterion, VerdictParsing::Adk, None)
        && let Some(model) = metric
            .options()
            .model
            .as_ref()
            .filter(|model| !adk_knows_model(model))
    {
        return Some(format!(
            "ADK does not know the model {model:?}; [judge] of evaltrail.toml can name its provider"
        ));
    }
    let rubrics = criterion.option("rubrics", "rubrics")?;
    let findings = schema::check_type(&schema::CRITERION_RUBRICS, rubrics, &path);
    findings.first().map(|finding| {
        format!(
            "rubrics: expected {}, found {}",
            finding.expected, finding.found
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue_lines(text: &str, name: &str) -> Vec<String> {
        let word = |issue: &Issue| {
            format!(
                "{:?} {}:{} {}",
                issue.severity, issue.line, issue.column, issue.message
            )
        };
        check_text(text, name, KnownNames::default())
            .iter()
            .map(word)
            .collect()
    }

    #[test]
    fn issues_have_line_column_and_path() {
        let text = "{\n  \"eval_set_id\": \"s\", \"colour\": 1,\n  \"eval_cases\": [{\"eval_id\": 7, \"conversation\": []}]\n}";
        let issues = check_text(text, "s.evalset.json", KnownNames::default());
        let positions: Vec<_> = issues
            .iter()
            .map(|i| (i.severity, i.line, i.column, i.path.as_str()))
            .collect();
        assert_eq!(
            positions,
            [
                (Severity::Warning, 2, 33, "$.colour"),
                (Severity::Error, 3, 30, "$.eval_cases[0].eval_id")
            ]
        );
    }

    #[test]
    fn unknown_agents_of_cases_are_reported_once() {
        let case = |id: &str, app: &str| {
            format!(
                r#"{{"eval_id": "{id}", "conversation": [], "session_input": {{"app_name": "{app}", "user_id": "u"}}}}"#
            )
        };
        let cases = [
            case("a", "home"),
            case("b", "hone"),
            case("c", "hone"),
            case("d", ""),
        ];
        let set = format!(
            r#"{{"eval_set_id": "s", "eval_cases": [{}]}}"#,
            cases.join(", ")
        );
        let agents = ["home".to_string(), "garden".to_string()];
        let issues = |agents| {
            let names = KnownNames {
                agents,
                ..KnownNames::default()
            };
            check_text(&set, "s.evalset.json", names)
        };
        let of_agents: Vec<(String, String)> = issues(&agents)
            .into_iter()
            .filter(|issue| issue.path.ends_with("app_name"))
            .map(|issue| (issue.path, issue.message))
            .collect();
        let message = "no agent is called \"hone\", but 2 cases name it; agents: home, garden; did you mean \"home\"?";
        let path = "$.eval_cases[1].session_input.app_name";
        assert_eq!(of_agents, [(path.to_string(), message.to_string())]);
        assert!(
            issues(&[])
                .iter()
                .all(|issue| !issue.path.ends_with("app_name"))
        );
    }

    #[test]
    fn values_adk_refuses_or_drops_are_reported() {
        let set = |id: &str, cases: &str| {
            format!("{{\"eval_set_id\": \"{id}\", \"eval_cases\": [{cases}]}}")
        };
        let twice = "{\"eval_id\": \"a\", \"conversation\": []}, {\"eval_id\": \"a\", \"conversation\": []}";
        let issues = check_text(&set("s", twice), "s.evalset.json", KnownNames::default());
        assert_eq!(issues[0].severity, Severity::Refused);
        assert!(issues[0].message.contains("already used by case 1"));
        assert!(
            issue_lines(&set("other", ""), "s.evalset.json")[0]
                .contains("`adk web` cannot run such a set")
        );
        assert!(
            issue_lines(&format!("\u{feff}{}", set("s", "")), "s.evalset.json")[0]
                .contains("byte order mark")
        );
        let config = "{\"criteria\": {\"response_match_score\": 1}, \"criteria\": {\"response_match_score\": 0.5}}";
        assert!(issue_lines(config, "test_config.json")[0].contains("more than once"));
        let above = "{\"criteria\": {\"response_match_score\": 1.5}}";
        assert!(
            issue_lines(above, "test_config.json")[0]
                .contains("no score of response_match_score reaches")
        );
        let turns = "[{\"query\": \"q\"}]";
        assert!(issue_lines(turns, "x.test.json")[0].starts_with("Warning"));
        assert!(issue_lines(turns, "x.evalset.json")[0].starts_with("Refused"));
        for result in [
            "{\"eval_case_results\": []}",
            "\"{\\\"eval_case_results\\\": []}\"",
        ] {
            let lines = issue_lines(result, "x.json");
            assert!(
                lines.len() == 1 && lines[0].contains("a result of ADK and not an eval set"),
                "{result}: {lines:?}"
            );
        }
    }
}
