//! Export of a run to a file that can be opened elsewhere, without secrets.

use crate::formats::read_dotenv;
use crate::store::{LoadedRun, export_run};
use crate::workspace::{Workspace, dotenv_near};
use regex::Regex;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A shorter value is not replaced, because it occurs in other texts, too.
const SHORTEST_SECRET: usize = 8;
/// What takes the place of a secret.
const REDACTED: &str = "[redacted]";
/// Words in the names of variables with secrets.
const SECRET_NAMES: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"];

/// Credentials that are recognised by their form: in addresses and headers, keys of well-known services, private keys.
static CREDENTIALS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?P<before>://)[^/@\s\x22]+@",
        r"|(?i:(?P<header>bearer\s+))[A-Za-z0-9._~+/=-]{12,}",
        r"|sk-[A-Za-z0-9_-]{16,}|AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{16,}|gh[pousr]_[0-9A-Za-z]{20,}",
        r"|AKIA[0-9A-Z]{16}|xox[abprs]-[0-9A-Za-z-]{10,}",
        r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
    ))
    .expect("a valid pattern")
});

/// Writes a run to a file. Values of environment variables and of `.env` files whose names say that they are secret,
/// and texts that look like credentials, are replaced; so are the paths of the workspace and of the home folder.
pub fn export(workspace: &Workspace, run: &LoadedRun, to: &Path) -> std::io::Result<()> {
    let replaced = replacements(workspace, run);
    export_run(run, &workspace.root, to, |line| redacted(line, &replaced))
}

/// Texts and what takes their place, the longest first.
fn replacements(workspace: &Workspace, run: &LoadedRun) -> Vec<(String, String)> {
    let mut folders: Vec<PathBuf> = vec![workspace.root.clone()];
    for set in &run.state.plan.sets {
        folders.extend(set.path.parent().map(Path::to_path_buf));
        folders.extend(set.app_dir.clone());
    }
    folders.sort();
    folders.dedup();
    let files = folders.iter().filter_map(|folder| dotenv_near(folder)).map(|(_, text)| text);
    let mut values: Vec<(String, String)> = files.flat_map(|text| read_dotenv(&text)).collect();
    values.extend(
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
    );
    let is_secret = |name: &str| {
        let name = name.to_uppercase();
        SECRET_NAMES.iter().any(|word| name.contains(word))
    };
    let mut replaced: Vec<(String, String)> = values
        .into_iter()
        .filter(|(name, value)| is_secret(name) && value.trim().len() >= SHORTEST_SECRET)
        .flat_map(|(_, value)| spellings(value.trim()))
        .map(|value| (value, REDACTED.to_string()))
        .collect();
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.components().count() > 2);
    for (path, shown) in [(Some(workspace.root.clone()), "."), (home, "~")] {
        let path = path.map(|path| path.display().to_string()).filter(|path| path.len() > 1);
        replaced.extend(path.map(|path| (path, shown.to_string())));
    }
    replaced.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    replaced.dedup();
    replaced
}

/// A secret as it is, as it is in JSON, and as it is in an address.
fn spellings(value: &str) -> Vec<String> {
    let json = serde_json::Value::from(value).to_string();
    let json = json[1..json.len() - 1].to_string();
    let url: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let mut all = vec![value.to_string(), json, url];
    all.dedup();
    all
}

fn redacted(line: &str, replaced: &[(String, String)]) -> String {
    let mut line = line.to_string();
    for (text, shown) in replaced {
        if line.contains(text.as_str()) {
            line = line.replace(text.as_str(), shown);
        }
    }
    let keep = |found: &regex::Captures| {
        let before = found.name("before").map_or("", |part| part.as_str());
        let header = found.name("header").map_or("", |part| part.as_str());
        let at = if before.is_empty() { "" } else { "@" };
        format!("{before}{header}{REDACTED}{at}")
    };
    CREDENTIALS.replace_all(&line, keep).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_recognised_by_their_form() {
        for (text, shown) in [
            ("http://me:pass@host/x", "http://[redacted]@host/x"),
            ("Authorization: Bearer abc.def-ghi_jkl", "Authorization: Bearer [redacted]"),
            ("key sk-proj-abcdefghijklmnop123 used", "key [redacted] used"),
            ("ghp_abcdefghijklmnopqrst0123", "[redacted]"),
            ("an ordinary text about a bearer of news", "an ordinary text about a bearer of news"),
            ("https://example.com/a@b", "https://example.com/a@b"),
        ] {
            assert_eq!(redacted(text, &[]), shown);
        }
    }

    #[test]
    fn a_secret_is_replaced_in_every_spelling() {
        let secret = "a\"b/c+d \\e";
        let replaced: Vec<(String, String)> =
            spellings(secret).into_iter().map(|text| (text, REDACTED.to_string())).collect();
        let line = serde_json::json!({"text": secret}).to_string();
        assert_eq!(redacted(&line, &replaced), r#"{"text":"[redacted]"}"#);
        assert_eq!(redacted("?key=a%22b%2Fc%2Bd+%5Ce", &replaced), "?key=[redacted]");
    }
}
