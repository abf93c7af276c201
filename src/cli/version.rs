//! `evaltrail --version`: which program this is, and how it was installed.

use std::path::Path;

/// The commit of the source, set when a release is built.
const COMMIT: Option<&str> = option_env!("EVALTRAIL_COMMIT");

/// The version, the commit, the platform, and how the program was installed.
pub(super) fn version() -> String {
    let commit = COMMIT.map(|commit| format!("commit {}, ", &commit[..commit.len().min(12)]));
    let program = std::env::current_exe().and_then(dunce::canonicalize).ok();
    let installed = program
        .as_deref()
        .and_then(installed_by)
        .map(|by| format!(", {by}"))
        .unwrap_or_default();
    format!(
        "{} ({}{}{installed})",
        env!("CARGO_PKG_VERSION"),
        commit.unwrap_or_default(),
        platform()
    )
}

/// The platform for which the program was built, as `x86_64-linux-gnu`.
fn platform() -> String {
    let library = match () {
        () if cfg!(target_env = "gnu") => "-gnu",
        () if cfg!(target_env = "musl") => "-musl",
        () if cfg!(target_env = "msvc") => "-msvc",
        () => "",
    };
    format!(
        "{}-{}{library}",
        std::env::consts::ARCH,
        std::env::consts::OS
    )
}

/// How a program was installed, as its path tells; `None` if it does not.
fn installed_by(program: &Path) -> Option<&'static str> {
    let has = |name: &str| program.components().any(|part| part.as_os_str() == name);
    let has_both = |outer: &str, inner: &str| {
        let parts: Vec<_> = program.components().map(|part| part.as_os_str()).collect();
        parts
            .windows(2)
            .any(|pair| pair[0] == outer && pair[1] == inner)
    };
    match () {
        () if has("node_modules") => Some("installed by npm"),
        () if has_both("uv", "tools") || has("archive-v0") => Some("installed by uv"),
        () if has("pipx") => Some("installed by pipx"),
        () if has("Cellar") || has("homebrew") => Some("installed by Homebrew"),
        () if has_both(".cargo", "bin") => Some("installed by cargo"),
        () if has_both("target", "debug") || has_both("target", "release") => Some("built here"),
        () if is_of_python(program) => Some("installed by pip"),
        () => None,
    }
}

/// Whether the program is in an environment of Python.
fn is_of_python(program: &Path) -> bool {
    let environment = program.parent().and_then(Path::parent);
    environment.is_some_and(|folder| folder.join("pyvenv.cfg").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_shows_the_installation_method() {
        for (path, by) in [
            ("/home/u/.cargo/bin/evaltrail", Some("installed by cargo")),
            (
                "/home/u/.local/share/uv/tools/evaltrail/bin/evaltrail",
                Some("installed by uv"),
            ),
            (
                "/home/u/.cache/uv/archive-v0/x1/bin/evaltrail",
                Some("installed by uv"),
            ),
            (
                "/opt/homebrew/Cellar/evaltrail/0.1.0/bin/evaltrail",
                Some("installed by Homebrew"),
            ),
            (
                "/p/node_modules/@evaltrail/linux-x64/bin/evaltrail",
                Some("installed by npm"),
            ),
            ("/p/target/release/evaltrail", Some("built here")),
            ("/usr/bin/evaltrail", None),
        ] {
            assert_eq!(installed_by(Path::new(path)), by, "{path}");
        }
        let environment = tempfile::tempdir().unwrap();
        std::fs::File::create(environment.path().join("pyvenv.cfg")).unwrap();
        assert_eq!(
            installed_by(&environment.path().join("bin/evaltrail")),
            Some("installed by pip")
        );
    }
}
