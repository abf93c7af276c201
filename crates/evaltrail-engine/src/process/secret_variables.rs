//! The secrets in the environment.

use std::path::Path;

/// Secret values, without those that are paths of files or folders of this machine. `values` finds them; its argument returns
/// the value of an environment variable that is set.
pub(crate) fn secrets_of_environment(
    values: impl FnOnce(&dyn Fn(&str) -> Option<String>) -> Vec<String>,
) -> Vec<String> {
    let mut found = values(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    found.retain(|value| !is_path(value));
    found
}

/// Whether a value is the path of something that exists, as in `GOOGLE_APPLICATION_CREDENTIALS`.
fn is_path(value: &str) -> bool {
    let in_home = value.strip_prefix("~/").zip(std::env::var_os("HOME"));
    match in_home {
        Some((rest, home)) => Path::new(&home).join(rest).exists(),
        None => value.starts_with(['/', '.']) && Path::new(value).exists(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_exist_are_no_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key.json");
        std::fs::write(&file, "{}").unwrap();
        let values = [
            file.display().to_string(),
            "/canary+slash".into(),
            ".canary".into(),
            "~canary".into(),
        ];
        let found = secrets_of_environment(|_| values.to_vec());
        // A path of Windows does not begin with a slash, and is masked.
        let is_left_out = cfg!(unix);
        assert_eq!(found.contains(&values[0]), !is_left_out);
        assert!(
            values[1..].iter().all(|value| found.contains(value)),
            "{found:?}"
        );
    }
}
