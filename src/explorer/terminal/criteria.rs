//! The changes of files that change criteria: thresholds and options to `test_config.json` next to the sets, rules to
//! `evaltrail.toml`.

use anyhow::Context;
use evaltrail_core::domain::{MatchRule, float_of};
use evaltrail_core::formats::adk::change_criteria;
use evaltrail_core::formats::json::TextChange;
use evaltrail_core::metrics::WhatIf;
use evaltrail_engine::config::{CRITERIA_FILE, FILE_NAME};
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
        let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
        for set in sets {
            let config = set.path.with_file_name(CRITERIA_FILE);
            if !seen.insert(config.clone()) {
                continue;
            }
            let before = if config.is_file() {
                Some(read_text(&config)?)
            } else {
                None
            };
            let defaults = match &before {
                Some(_) => Vec::new(),
                None => default_criteria(&open_set(set)?.file),
            };
            let deciding: Vec<_> = defaults
                .into_iter()
                .filter(|criterion| criterion.threshold.is_some())
                .collect();
            let changed = change_criteria(before.as_deref(), &deciding, |criteria_now| {
                criteria.apply(criteria_now)
            });
            let changed = changed.with_context(|| config.display().to_string())?;
            if before.as_deref() != Some(changed.as_str()) {
                jobs.push(job_of(config, before, changed));
            }
        }
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
    let defaults = default_criteria(&open_set(set)?.file);
    let deciding: Vec<_> = defaults
        .into_iter()
        .filter(|criterion| criterion.threshold.is_some())
        .collect();
    let text = change_criteria(None, &deciding, |criteria| criteria)?;
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
