//! The changes of files that change criteria: thresholds and options to `test_config.json` next to the sets, rules to
//! `evaltrail.toml`.

use anyhow::Context;
use evaltrail_core::domain::{Criterion, MatchRule, float_of};
use evaltrail_core::formats::adk::change_criteria;
use evaltrail_core::formats::json::TextChange;
use evaltrail_core::metrics::WhatIf;
use evaltrail_engine::config::{CRITERIA_FILE, DefinedMetric, FILE_NAME};
use evaltrail_engine::store::{FileAction, FileEdit};
use evaltrail_engine::workspace::{SetPath, Workspace, default_criteria, open_set, read_text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// The changes of files that a change of criteria makes. Errors: the new text of a file cannot be built.
pub(crate) fn jobs(
    workspace: &Workspace,
    sets: &[&SetPath],
    change: &WhatIf,
) -> anyhow::Result<Vec<FileEdit>> {
    let mut jobs = Vec::new();
    let criteria = WhatIf {
        rules: Vec::new(),
        ..change.clone()
    };
    if !criteria.is_empty() {
        let has_rules = !change.rules.is_empty() || !workspace.config.rules.is_empty();
        jobs = criteria_jobs(workspace, sets, &criteria, has_rules)?;
    }
    let is_new = |rule: &&MatchRule| !workspace.config.rules.contains(rule);
    let rules: Vec<MatchRule> = change.rules.iter().filter(is_new).cloned().collect();
    if !rules.is_empty() {
        let path = workspace.root.join(FILE_NAME);
        let before = if path.is_file() {
            Some(read_text(&path)?)
        } else {
            None
        };
        let after = with_rules(before.clone().unwrap_or_default(), &rules)?;
        jobs.push(job_of(path, before, after));
    }
    Ok(jobs)
}

/// The changes of the files of criteria beside the sets. Errors: a threshold is in none of them.
fn criteria_jobs(
    workspace: &Workspace,
    sets: &[&SetPath],
    change: &WhatIf,
    has_rules: bool,
) -> anyhow::Result<Vec<FileEdit>> {
    let mut jobs = Vec::new();
    let mut unplaced: BTreeSet<String> = change.thresholds.keys().cloned().collect();
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    for set in sets {
        let config = set.path.with_file_name(CRITERIA_FILE);
        if !seen.insert(config.clone()) {
            continue;
        }
        let (before, defaults) = match config.is_file() {
            true => (Some(read_text(&config)?), Vec::new()),
            false => (None, deciding_defaults(set)?),
        };
        let mut is_changed = false;
        let changed = change_criteria(before.as_deref(), &defaults, |criteria| {
            let now = with_defined(workspace, criteria.clone(), change);
            let left = change.unplaced_thresholds(&now, has_rules);
            unplaced.retain(|metric| left.contains(metric));
            let after = change.apply_to_file(now.clone(), has_rules);
            is_changed = after != now;
            if is_changed { after } else { criteria }
        });
        let changed = changed.with_context(|| config.display().to_string())?;
        // Without a change, no file with the defaults is created.
        if is_changed && before.as_deref() != Some(changed.as_str()) {
            jobs.push(job_of(config, before, changed));
        }
    }
    let names: Vec<String> = unplaced.into_iter().collect();
    anyhow::ensure!(
        names.is_empty(),
        "no criterion of the listed sets has the threshold of {}, which may be one of the run",
        names.join(", ")
    );
    Ok(jobs)
}

/// The criteria with the metrics of the workspace whose thresholds change. A threshold in the file of criteria takes
/// precedence over that of the metric's definition.
fn with_defined(
    workspace: &Workspace,
    mut criteria: Vec<Criterion>,
    change: &WhatIf,
) -> Vec<Criterion> {
    let is_named = |metric: &&DefinedMetric| {
        metric.threshold.is_some() && change.thresholds.contains_key(&metric.name)
    };
    for metric in workspace.config.metrics.iter().filter(is_named) {
        if !criteria.iter().any(|one| one.name() == metric.name) {
            criteria.push(Criterion::new(&metric.name, metric.threshold));
        }
    }
    criteria
}

/// The default criteria of a set that decide.
fn deciding_defaults(set: &SetPath) -> anyhow::Result<Vec<Criterion>> {
    let defaults = default_criteria(&open_set(set)?.file).into_iter();
    Ok(defaults
        .filter(|criterion| criterion.threshold.is_some())
        .collect())
}

fn job_of(path: PathBuf, before: Option<String>, after: String) -> FileEdit {
    let action = match before {
        Some(before) => {
            let change = TextChange::one(0, &before, &after);
            FileAction::Change(Arc::from(before), change)
        }
        None => FileAction::Create(after),
    };
    FileEdit { path, action }
}

/// The criteria of a set: path, text of the file if it exists, and the text to edit. Without a file, the latter
/// contains the default criteria.
pub(crate) fn text_of(set: &SetPath) -> anyhow::Result<(PathBuf, Option<Arc<str>>, String)> {
    let path = set.path.with_file_name(CRITERIA_FILE);
    if path.is_file() {
        let text = read_text(&path).with_context(|| path.display().to_string())?;
        return Ok((path, Some(Arc::from(text.as_str())), text));
    }
    let text = change_criteria(None, &deciding_defaults(set)?, |criteria| criteria)?;
    Ok((path, None, text))
}

/// Appends rules to the text of a configuration file, in the form that the documentation uses: one line for each key.
fn with_rules(mut text: String, rules: &[MatchRule]) -> anyhow::Result<String> {
    if !text.is_empty() {
        text.push_str(if text.ends_with('\n') { "" } else { "\n" });
    }
    for rule in rules {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str("[[match]]\n");
        for (key, value) in serde_json::to_value(rule)?
            .as_object()
            .into_iter()
            .flatten()
        {
            writeln!(text, "{key} = {}", to_toml(value)?)?;
        }
    }
    Ok(text)
}

/// A JSON value as TOML. The serializer of `toml` cannot be used: with `arbitrary_precision`, a number of `serde_json`
/// becomes a table. Errors: the value contains null, which TOML does not have.
fn to_toml(value: &Value) -> anyhow::Result<toml::Value> {
    Ok(match value {
        Value::Null => anyhow::bail!("evaltrail.toml cannot contain null"),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match (number.as_i64(), float_of(number)) {
            (Some(integer), _) => integer.into(),
            (None, Some(float)) => float.into(),
            (None, None) => anyhow::bail!("{number} is too large for evaltrail.toml"),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => values
            .iter()
            .map(to_toml)
            .collect::<Result<Vec<_>, _>>()?
            .into(),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| Ok((key.clone(), to_toml(value)?));
            members
                .iter()
                .map(member)
                .collect::<anyhow::Result<toml::Table>>()?
                .into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_engine::config::ConfigFile;
    use std::path::Path;

    /// The text of the file of criteria that a change writes for a set with this file of criteria, under a rule.
    fn written(config: Option<&str>, thresholds: &[(&str, f64)]) -> anyhow::Result<Option<String>> {
        let folder = tempfile::tempdir()?;
        let set = folder.path().join("x.evalset.json");
        std::fs::write(&set, r#"{"eval_set_id": "x", "eval_cases": []}"#)?;
        if let Some(config) = config {
            std::fs::write(folder.path().join(CRITERIA_FILE), config)?;
        }
        let thresholds = thresholds
            .iter()
            .map(|(metric, at)| (metric.to_string(), *at));
        let change = WhatIf {
            thresholds: thresholds.collect(),
            ..WhatIf::default()
        };
        let workspace = Workspace::open(folder.path())?;
        let set = SetPath::of_file(&set, folder.path());
        let jobs = criteria_jobs(&workspace, &[&set], &change, true)?;
        Ok(jobs.into_iter().next().map(|job| match job.action {
            FileAction::Create(text) => text,
            FileAction::Change(before, change) => change.apply(&before).unwrap(),
            _ => String::new(),
        }))
    }

    #[test]
    fn threshold_under_a_rule_is_written() {
        let text = written(None, &[("trajectory_match", 0.95)])
            .unwrap()
            .unwrap();
        assert!(
            text.contains(r#""tool_trajectory_avg_score": 0.95"#),
            "{text}"
        );
        let config = r#"{"criteria": {"trajectory_exact_match": {"threshold": 1.0}}}"#;
        let text = written(Some(config), &[("trajectory_match", 0.9)]).unwrap();
        assert_eq!(text.unwrap(), config.replace("1.0", "0.9"));
        assert_eq!(
            written(None, &[("tool_trajectory_avg_score", 1.0)]).unwrap(),
            None
        );
        let why = written(None, &[("rouge_l", 0.5)]).unwrap_err().to_string();
        assert!(why.contains("rouge_l"), "{why}");
    }

    #[test]
    fn rules_written_are_rules_read() {
        let rules = [
            MatchRule::parse("set_* updates.status ignore").unwrap(),
            MatchRule::parse("* limit tolerance 5").unwrap(),
            MatchRule::parse("log optional").unwrap(),
        ];
        let before = "# mine\n[run]\njobs = 2";
        let text = with_rules(before.into(), &rules).unwrap();
        assert_eq!(
            text.strip_prefix(before).unwrap(),
            "\n\n[[match]]\ntool = \"set_*\"\nargs = { \"updates.status\" = \"ignore\" }\n\n\
             [[match]]\ntool = \"*\"\nargs = { limit = { tolerance = 5 } }\n\n\
             [[match]]\ntool = \"log\"\noptional = true\n"
        );
        let file = ConfigFile::parse(&text, Path::new("/w")).unwrap();
        assert_eq!((file.rules.as_slice(), file.jobs), (&rules[..], Some(2)));
        let again = with_rules(text, &rules[..1]).unwrap();
        assert_eq!(
            ConfigFile::parse(&again, Path::new("/w"))
                .unwrap()
                .rules
                .len(),
            4
        );
    }
}
