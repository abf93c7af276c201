//! A planned run with the agent of another checkout: the same cases, criteria and stubs, and the program of a worktree.

use crate::runner::{PreparedRun, RunIdentity};
use crate::store::{read_file, write_whole};
use evaltrail_core::domain::{AgentSpec, ProgramSpec, RunPlan};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The run that was planned in a checkout, with the agents of a worktree and this number of attempts of each case. `is_tracked`
/// tells whether git has a path, relative to the top folder: what it does not have, such as the programs of a virtual
/// environment, is that of the checkout. Errors: an agent is no program of the checkout, so that it is the same one in every
/// commit.
pub fn relocated_run(
    prepared: &PreparedRun,
    (checkout, worktree): (&Path, &Path),
    attempts: u32,
    is_tracked: &dyn Fn(&Path) -> bool,
) -> Result<PreparedRun, String> {
    let relocation = Relocation {
        checkout,
        worktree,
        is_tracked,
    };
    let mut plan: RunPlan = (*prepared.plan).clone();
    let RunIdentity { run_id, started } = RunIdentity::now();
    (plan.run_id, plan.started) = (run_id, started);
    plan.options.repeat = attempts;
    for set in &mut plan.sets {
        set.agent = relocation.agent(&set.agent).ok_or_else(|| {
            format!(
                "{}: it is no program of this repository, so that it is the same in every commit",
                set.agent.label()
            )
        })?;
        // ADK keeps results of the user's checkout only.
        set.app_dir = None;
    }
    Ok(PreparedRun {
        plan: Arc::new(plan),
        ..prepared.clone()
    })
}

/// Copies the files `.env` beside the agents of a run, and in the folders above, into a worktree, where git does not have them: agents
/// read their keys there. Errors: one cannot be copied.
pub fn copy_env_files(
    plan: &RunPlan,
    (checkout, worktree): (&Path, &Path),
    copies: &mut EnvCopies,
) -> io::Result<()> {
    let programs = plan.sets.iter().filter_map(|set| set.agent.program());
    let folders = plan.sets.iter().filter_map(|set| set.app_dir.as_deref());
    let folders = folders.chain(programs.map(|program| program.cwd.as_path()));
    let all: BTreeSet<&Path> = folders.flat_map(Path::ancestors).collect();
    for below in all
        .into_iter()
        .filter_map(|folder| folder.strip_prefix(checkout).ok())
    {
        let (from, to) = (
            checkout.join(below).join(ENV_FILE),
            worktree.join(below).join(ENV_FILE),
        );
        let is_missing = !to.exists() && worktree.join(below).is_dir();
        if is_missing && from.is_file() {
            write_whole(&to, &read_file(&from, MAX_ENV)?)?;
            copies.0.push(to);
        }
    }
    Ok(())
}

/// Copies of `.env` files in worktrees. Dropping this deletes them; one that cannot be deleted stays where only the user can read it,
/// and goes with its worktree.
#[derive(Debug, Default)]
pub struct EnvCopies(Vec<PathBuf>);

impl Drop for EnvCopies {
    fn drop(&mut self) {
        for copy in &self.0 {
            let _ = std::fs::remove_file(copy);
        }
    }
}

/// The name of the files with keys.
const ENV_FILE: &str = ".env";
/// Maximum size of such a file, in bytes.
const MAX_ENV: u64 = 1 << 20;

struct Relocation<'a> {
    checkout: &'a Path,
    worktree: &'a Path,
    is_tracked: &'a dyn Fn(&Path) -> bool,
}

impl Relocation<'_> {
    /// The agent of the worktree; `None` if evaltrail starts no program of the checkout for it.
    fn agent(&self, agent: &AgentSpec) -> Option<AgentSpec> {
        let mut agent = agent.clone();
        if let AgentSpec::Python { function, .. } = &mut agent {
            *function = self.text(function);
        }
        let program = agent.program_mut()?;
        *program = self.program(program)?;
        Some(agent)
    }

    /// The program with the paths of the worktree; `None` if it does not run in the checkout.
    fn program(&self, program: &ProgramSpec) -> Option<ProgramSpec> {
        let below = program.cwd.strip_prefix(self.checkout).ok()?;
        let cwd = self.worktree.join(below);
        let argv = program.argv.iter().enumerate();
        let argv = argv.map(|(at, part)| self.argument(part, at == 0, &program.cwd));
        let variables = program.variables.iter();
        let variables = variables.map(|(name, value)| (name.clone(), self.text(value)));
        Some(ProgramSpec {
            argv: argv.collect(),
            cwd,
            variables: variables.collect(),
            ..program.clone()
        })
    }

    /// A part of a command line. A program by a relative path that git does not have is that of the checkout.
    fn argument(&self, part: &str, is_program: bool, cwd: &Path) -> String {
        let has_folder = part.contains(std::path::is_separator);
        if is_program && has_folder && Path::new(part).is_relative() {
            let path: PathBuf = cwd.join(part).components().collect();
            let is_own = path
                .strip_prefix(self.checkout)
                .is_ok_and(|below| (self.is_tracked)(below));
            return match is_own {
                true => part.to_string(),
                false => path.display().to_string(),
            };
        }
        self.text(part)
    }

    /// A text with paths in the checkout becomes one with paths in the worktree, as far as git has them: a path, a list of paths, or
    /// an option with one (`--root=PATH`).
    fn text(&self, text: &str) -> String {
        let separators = ['=', if cfg!(windows) { ';' } else { ':' }];
        let parts = text.split_inclusive(separators);
        parts.map(|part| self.path(part, &separators)).collect()
    }

    /// A part of a text with the separator that ends it.
    fn path(&self, part: &str, separators: &[char]) -> String {
        let path = part.trim_end_matches(separators);
        let end = &part[path.len()..];
        match Path::new(path).strip_prefix(self.checkout) {
            Ok(below) if below.as_os_str().is_empty() => {
                format!("{}{end}", self.worktree.display())
            }
            Ok(below) if (self.is_tracked)(below) => {
                format!("{}{end}", self.worktree.join(below).display())
            }
            _ => part.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::AgentServer;

    #[test]
    fn only_what_git_has_is_relocated() {
        let relocation = Relocation {
            checkout: Path::new("/repo"),
            worktree: Path::new("/cache/ab12"),
            is_tracked: &|path: &Path| path.starts_with("desk") || path.starts_with("run.sh"),
        };
        let program = |argv: &[&str], cwd: &str| {
            let argv = argv.iter().map(|part| part.to_string()).collect();
            ProgramSpec::new(argv, cwd.into())
        };
        let adk = [
            "/repo/.venv/bin/adk",
            "api_server",
            "--port",
            "{port}",
            "/repo/desk",
            "/repo",
        ];
        let found = relocation.program(&program(&adk, "/repo/desk")).unwrap();
        let expected = [
            "/repo/.venv/bin/adk",
            "api_server",
            "--port",
            "{port}",
            "/cache/ab12/desk",
            "/cache/ab12",
        ];
        assert_eq!(found.argv, expected);
        assert_eq!(found.cwd, Path::new("/cache/ab12/desk"));
        let own = relocation
            .program(&program(&["./run.sh", "x/y"], "/repo"))
            .unwrap();
        assert_eq!(own.argv, ["./run.sh", "x/y"]);
        let built = relocation
            .program(&program(&["target/agent"], "/repo"))
            .unwrap();
        assert_eq!(built.argv, ["/repo/target/agent"], "git does not have it");
        assert_eq!(relocation.program(&program(&["x"], "/elsewhere")), None);
        assert_eq!(
            relocation.text("--root=/repo/desk"),
            "--root=/cache/ab12/desk"
        );
        let listed = relocation.text("/repo/desk:/repo/.venv/lib:/usr/lib");
        assert_eq!(listed, "/cache/ab12/desk:/repo/.venv/lib:/usr/lib");
        assert_eq!(
            relocation.text("http://127.0.0.1:80"),
            "http://127.0.0.1:80"
        );
    }

    #[test]
    fn agents_that_do_not_change_are_refused() {
        let relocation = Relocation {
            checkout: Path::new("/repo"),
            worktree: Path::new("/cache/ab12"),
            is_tracked: &|_| true,
        };
        let replay = AgentSpec::Replay {
            path: "/repo/a.jsonl".into(),
            speed: 0,
            fallback: None,
        };
        assert_eq!(relocation.agent(&replay), None);
        let url = AgentSpec::Adk {
            server: AgentServer::Url("http://127.0.0.1:1".into()),
            app: "desk".into(),
            agent_name: None,
        };
        assert_eq!(relocation.agent(&url), None);
    }
}
