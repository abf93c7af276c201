//! What is replaced before data leaves the machine, or goes to version control: secrets, and paths of folders.

use crate::process::secrets_of_environment;
use crate::store::read_text_file;
use crate::workspace::Workspace;
use evaltrail_core::domain::{
    CustomMetric, PlannedSet, ProgramSpec, REDACTED, RunPlan, Secrets, may_be_secret_name,
};
use evaltrail_core::formats::read_dotenv;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A shorter value is not replaced, because it occurs in other texts, too.
const SHORTEST_SECRET: usize = 8;
/// Largest `.env` file that is read, in bytes.
const MAX_DOTENV: u64 = 1 << 20;

/// Credentials that are recognised by their form: in addresses and headers, options of programs, keys of well-known
/// services, tokens, private keys.
static CREDENTIALS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?P<address>://)[^/@\s\x22]+@",
        r"|(?P<before>(?i:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{12,}",
        r"|(?P<query>[?&;](?i:[a-z0-9_.-]*(?:key|token|secret|password|passwd|pwd|cred|credentials?|cookie|signature)|sig|auth|pass|pat|sid)=)[^&\s\x22]+",
        r"|(?P<option>--?[A-Za-z-]*(?i:key|token|secret|pass|pwd|cookie|cred|auth|webhook)[A-Za-z-]*=)\S+",
        r"|(?P<hook>\bhooks\.slack\.com/[a-z]+/|\bdiscord(?:app)?\.com/api/webhooks/|\.webhook\.office\.com/)[A-Za-z0-9@/_.-]+",
        r"|\bsk[-_][A-Za-z0-9_-]{16,}|\b[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|AIza[0-9A-Za-z_-]{30,}",
        r"|ya29\.[0-9A-Za-z_-]{16,}|\bgh[pousr]_[0-9A-Za-z]{20,}|github_pat_[0-9A-Za-z_]{20,}|\bglpat-[0-9A-Za-z_-]{16,}",
        r"|\bhf_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}|xox[abprs]-[0-9A-Za-z-]{10,}",
        r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        r"|(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
    ))
    .expect("a valid pattern")
});

/// What is replaced.
#[derive(Debug, Default)]
pub(super) struct Redaction {
    secrets: Secrets,
    /// Folders, with what takes their place.
    folders: Vec<(String, &'static str)>,
}

impl Redaction {
    /// The secrets and folders of a workspace and a run: values of environment variables and of `.env` files whose names
    /// suggest secrets, or that agents, judges and metrics are given.
    pub(super) fn for_run(workspace: &Workspace, plan: Option<&RunPlan>) -> Redaction {
        let mut folders: BTreeSet<PathBuf> = [workspace.root.clone()].into();
        for set in plan.iter().flat_map(|plan| &plan.sets) {
            folders.extend(set.path.parent().map(Path::to_path_buf));
            folders.extend(set.app_dir.clone());
        }
        let text = |folder: &PathBuf| read_text_file(&folder.join(".env"), MAX_DOTENV).ok();
        let files = folders.iter().filter_map(text);
        let mut values: Vec<(String, String)> = files.flat_map(|text| read_dotenv(&text)).collect();
        values.extend(std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }));
        let named = plan.map(named_variables).unwrap_or_default();
        let is_secret = |name: &str| named.contains(name) || may_be_secret_name(name);
        let secrets = values
            .into_iter()
            .filter(|(name, value)| is_secret(name) && value.trim().len() >= SHORTEST_SECRET)
            .map(|(_, value)| value);
        let sent = plan
            .into_iter()
            .flat_map(|plan| &plan.sets)
            .flat_map(|set| {
                let mut values = secrets_of_environment(|variable| {
                    let of_metrics =
                        metric_programs(set).flat_map(|program| program.secret_values(variable));
                    set.agent
                        .secret_values(variable)
                        .into_iter()
                        .chain(of_metrics)
                        .collect()
                });
                values.extend(set.tools.secret_values());
                values
            });
        let secrets = Secrets::new(secrets.chain(sent));
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let folder = |path: PathBuf, shown| {
            (path.components().count() > 2).then(|| (path.display().to_string(), shown))
        };
        let root = folder(workspace.root.clone(), ".");
        let folders = root
            .into_iter()
            .chain(home.and_then(|home| folder(home, "~")))
            .collect();
        Redaction { secrets, folders }
    }

    /// The same, but paths stay as they are.
    pub(super) fn of_secrets(self) -> Redaction {
        Redaction {
            folders: Vec::new(),
            ..self
        }
    }

    /// Masks secrets in all strings and numbers of a value, and in the names of its members unless they are ordinary words.
    pub(super) fn redact(&self, value: &mut Value) {
        self.secrets.mask_value(value);
        self.redact_forms(value);
        self.redact_names(value);
    }

    /// Masks secrets in the names of members. Names that evaltrail writes are ordinary words and stay unchanged.
    fn redact_names(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_names(item)),
            Value::Object(members) => {
                members
                    .values_mut()
                    .for_each(|member| self.redact_names(member));
                let is_word = |name: &str| {
                    name.bytes()
                        .all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
                };
                let redacted = |name: &str| (!is_word(name)).then(|| self.redacted(name));
                if members
                    .keys()
                    .any(|name| redacted(name).is_some_and(|new| new != *name))
                {
                    let named = std::mem::take(members).into_iter();
                    *members = named
                        .map(|(name, member)| (redacted(&name).unwrap_or(name), member))
                        .collect();
                }
            }
            _ => {}
        }
    }

    /// Replaces the folders, and the credentials that are recognised by their form.
    fn redact_forms(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.without_forms(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_forms(item)),
            Value::Object(members) => members
                .values_mut()
                .for_each(|member| self.redact_forms(member)),
            Value::Number(_) | Value::Null | Value::Bool(_) => {}
        }
    }

    /// A text without secrets, and without the names of folders.
    pub(super) fn redacted(&self, text: &str) -> String {
        self.without_forms(&self.secrets.mask(text))
    }

    fn without_forms(&self, text: &str) -> String {
        let mut text = text.to_string();
        for (folder, shown) in &self.folders {
            text = without_folder(&text, folder, shown);
        }
        let keep = |found: &regex::Captures| {
            let part = |name: &str| {
                found
                    .name(name)
                    .map_or("", |part| part.as_str())
                    .to_string()
            };
            let address = part("address");
            let at = if address.is_empty() { "" } else { "@" };
            let before: String = ["before", "query", "option", "hook"].map(part).concat();
            format!("{address}{before}{REDACTED}{at}")
        };
        CREDENTIALS.replace_all(&text, keep).into_owned()
    }
}

/// The programs of a set's metrics.
fn metric_programs(set: &PlannedSet) -> impl Iterator<Item = &ProgramSpec> {
    let custom = set
        .criteria
        .iter()
        .filter_map(|criterion| criterion.custom.as_ref());
    custom
        .filter_map(CustomMetric::program)
        .map(|program| &program.program)
}

/// The names of the variables that the agents, their commands for tokens, the judges and the metrics of a run are given.
fn named_variables(plan: &RunPlan) -> BTreeSet<String> {
    let of_set = |set: &PlannedSet| -> Vec<String> {
        let programs = set
            .agent
            .program()
            .into_iter()
            .chain(set.agent.token_command())
            .chain(metric_programs(set));
        programs.flat_map(|program| program.env.clone()).collect()
    };
    let mut names: BTreeSet<String> = plan.sets.iter().flat_map(of_set).collect();
    let sent = plan.sets.iter().flat_map(|set| set.agent.sent_variables());
    names.extend(sent.map(str::to_string));
    names.extend(plan.judge.key_env.clone());
    names
}

/// A text in which a folder is replaced where it is a whole folder, and not the beginning of another name.
fn without_folder(text: &str, folder: &str, shown: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(folder) {
        let (before, found) = rest.split_at(at);
        let after = &found[folder.len()..];
        let begins = before
            .chars()
            .next_back()
            .is_none_or(|c| !c.is_alphanumeric() && !"/._-".contains(c));
        let ends = after
            .chars()
            .next()
            .is_none_or(|c| c == '/' || !(c.is_alphanumeric() || "._-".contains(c)));
        out.push_str(before);
        out.push_str(if begins && ends { shown } else { folder });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_recognised_by_their_form() {
        for (text, shown) in [
            ("http://me:pass@host/x", "http://[redacted]@host/x"),
            (
                "Authorization: Bearer abc.def-ghi_jkl",
                "Authorization: Bearer [redacted]",
            ),
            (
                "https://h/x?a=1&token=abc123&b=2",
                "https://h/x?a=1&token=[redacted]&b=2",
            ),
            (
                "serve --api-key=abc --port=1",
                "serve --api-key=[redacted] --port=1",
            ),
            (
                "key sk-proj-abcdefghijklmnop123 used",
                "key [redacted] used",
            ),
            ("ghp_abcdefghijklmnopqrst0123", "[redacted]"),
            ("github_pat_abcdefghijklmnopqrst0123", "[redacted]"),
            (
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig-nature",
                "[redacted]",
            ),
            (
                "https://hooks.slack.com/services/T0/B0/canary",
                "https://hooks.slack.com/services/[redacted]",
            ),
            (
                "discord.com/api/webhooks/12/canary_x",
                "discord.com/api/webhooks/[redacted]",
            ),
            (
                "an ordinary text about a bearer of news",
                "an ordinary text about a bearer of news",
            ),
            ("https://example.com/a@b", "https://example.com/a@b"),
            ("task-1234567890abcdefgh", "task-1234567890abcdefgh"),
        ] {
            assert_eq!(Redaction::default().redacted(text), shown);
        }
    }

    #[test]
    fn secrets_in_member_names_are_replaced() {
        let secrets = Secrets::new(["canary-12".to_string(), "response".to_string()]);
        let redaction = Redaction {
            secrets,
            folders: Vec::new(),
        };
        let mut value = serde_json::json!({"response": {"args": [{"by canary-12": 1, "sk-proj-abcdefghijklmnop123": 2}]}});
        redaction.redact(&mut value);
        assert_eq!(
            value,
            serde_json::json!({"response": {"args": [{"by [redacted]": 1, REDACTED: 2}]}})
        );
    }

    #[test]
    fn only_whole_folders_are_replaced() {
        for (text, shown) in [
            ("/home/me/w/a.json: no", "./a.json: no"),
            ("in /home/me/w", "in ."),
            ("/home/me/words", "/home/me/words"),
            ("http://x/home/me/w/a", "http://x/home/me/w/a"),
        ] {
            assert_eq!(without_folder(text, "/home/me/w", "."), shown);
        }
    }
}
