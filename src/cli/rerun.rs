//! The commands that run the failures of a run again, or continue it, as the run was started.

use super::args::{CaseArgs, RunArgs};
use evaltrail_core::domain::{Repeats, StubMode, agent_without_secrets};
use evaltrail_engine::config::ShardChoice;
use evaltrail_engine::report::{secret_note, shell_word};

/// The command. Its agent, criteria and options are those of the run `run_id`, which `--failed` names: the latest results of the
/// files may be of other runs, and the run may have been a part of them. Secrets in the address of the agent are left out, which is said after it.
pub(super) fn rerun_command(cases: &CaseArgs, run: Option<&RunArgs>, run_id: &str) -> String {
    let command = if run.is_some() { "run" } else { "score" };
    let selecting = vec![format!("--failed={}", shell_word(run_id))];
    command_words(command, cases, run, selecting) + note_of_agent(run)
}

/// What to do with the mark in place of a secret of the agent.
fn note_of_agent(run: Option<&RunArgs>) -> &'static str {
    let agent = run.and_then(|run| run.agent.as_deref());
    agent.map_or("", |agent| secret_note(&agent_without_secrets(agent)))
}

/// The command that continues the unfinished run `run_id`; `None` for a run whose results are uploaded, which machines share.
/// The run has the selected cases; only a part of a larger run is selected again, because it is split from all of them.
pub(super) fn resume_command(args: &RunArgs, run_id: &str) -> Option<String> {
    let cases = &args.cases;
    if cases.push.is_some() || cases.queue.is_some() {
        return None;
    }
    let mut words = Vec::new();
    match &cases.shard {
        None => words.push(format!("--resume={}", shell_word(run_id))),
        Some(shard) => {
            words.push("--resume".into());
            words.push(format!("--shard {}", shard_text(shard)));
            words.extend(selecting_options(cases));
        }
    }
    let mut command = command_words("run", cases, Some(args), words);
    for to in &cases.report {
        let file = shell_word(&to.file.display().to_string());
        command += &format!(" --report {}={file}", to.format.name);
    }
    Some(command + note_of_agent(Some(args)))
}

/// The options that select cases.
fn selecting_options(cases: &CaseArgs) -> Vec<String> {
    let failed = cases.failed.as_deref().map(|run| match run {
        "" => "--failed".to_string(),
        run => format!("--failed={}", shell_word(run)),
    });
    let filter =
        (!cases.filter.is_empty()).then(|| format!("--filter {}", shell_word(&cases.filter)));
    let ids = cases
        .ids
        .as_deref()
        .map(|file| format!("--ids {}", argument(&file.display().to_string())));
    let changed = cases.changed.then(|| "--changed".to_string());
    [failed, changed, filter, ids]
        .into_iter()
        .flatten()
        .collect()
}

fn shard_text(shard: &ShardChoice) -> String {
    match shard {
        ShardChoice::Given(shard) => {
            format!("{}/{}:{}", shard.number, shard.of, shard.by.name())
        }
        ShardChoice::Auto(by) => format!("auto:{}", by.name()),
    }
}

/// The selected paths, as in a command.
pub(super) fn case_paths(cases: &CaseArgs) -> String {
    let words: Vec<String> = cases.paths.iter().map(|path| argument(path)).collect();
    words.join(" ")
}

/// A command with these paths and options, those that select the run first.
fn command_words(
    command: &str,
    cases: &CaseArgs,
    run: Option<&RunArgs>,
    selecting: Vec<String>,
) -> String {
    let mut words = vec![format!("evaltrail {command} {}", case_paths(cases))];
    words.extend(selecting);
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name} {}", argument(&value))));
    };
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    if let Some(run) = run {
        option("agent", run.agent.as_deref().map(agent_without_secrets));
        run.env
            .iter()
            .for_each(|name| option("env", Some(name.clone())));
    }
    option(
        "config",
        cases.config.as_ref().map(|file| file.display().to_string()),
    );
    option(
        "metric",
        Some(cases.metric.join(",")).filter(|names| !names.is_empty()),
    );
    option(
        "initial-session",
        cases
            .initial_session
            .as_ref()
            .map(|file| file.display().to_string()),
    );
    option(
        "columns",
        Some(cases.columns.text()).filter(|columns| !columns.is_empty()),
    );
    option("judge", cases.judge.clone());
    option("samples", number(cases.samples));
    option("jobs", number(cases.jobs));
    words.extend(run.map(execution_options).into_iter().flatten());
    words.extend(cases.no_cache.then(|| "--no-cache".into()));
    words.extend(cases.trust.then(|| "--trust".into()));
    words.join(" ")
}

/// The options that only `run` has, except for those that name the agent.
fn execution_options(run: &RunArgs) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name} {}", argument(&value))));
    };
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    option("repeat", run.repeat.map(Repeats::text));
    option("gate", run.gate.map(|gate| gate.name()));
    option(
        "timeout",
        run.timeout.map(|time| format!("{}ms", time.as_millis())),
    );
    option("retries", number(run.retries));
    option("rate", number(run.rate));
    option("turn", number(run.turn));
    run.tool_fault
        .iter()
        .for_each(|fault| option("tool-fault", Some(fault.describe())));
    let mode = |mode: StubMode| {
        StubMode::NAMES
            .iter()
            .find(|(_, one)| *one == mode)
            .map(|(name, _)| *name)
    };
    words.extend(
        run.stubs
            .and_then(mode)
            .map(|name| format!("--stubs={name}")),
    );
    words
}

/// A word that is not taken for an option.
fn argument(text: &str) -> String {
    if text.starts_with('-') {
        format!("./{}", shell_word(text))
    } else {
        shell_word(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::ScoreArgs;
    use super::*;
    use clap::FromArgMatches;

    fn rerun(line: &[&str]) -> String {
        let matches = crate::cli::describe().get_matches_from(line);
        match matches.subcommand() {
            Some(("run", arguments)) => {
                let args = RunArgs::from_arg_matches(arguments).unwrap();
                rerun_command(&args.cases, Some(&args), "1f0c9a7d32be")
            }
            Some(("score", arguments)) => {
                let args = ScoreArgs::from_arg_matches(arguments).unwrap();
                rerun_command(&args.cases, None, "1f0c9a7d32be")
            }
            _ => panic!("another command"),
        }
    }

    #[test]
    fn selection_criteria_and_options_are_repeated() {
        let line = [
            "evaltrail",
            "run",
            "a.evalset.json",
            "two sets/b.json:x,y",
            "--config",
            "c.json",
            "--repeat",
            "2",
            "--trust",
        ];
        assert_eq!(
            rerun(&line),
            "evaltrail run a.evalset.json 'two sets/b.json:x,y' --failed=1f0c9a7d32be --config c.json --repeat 2 --trust"
        );
        let line = [
            "evaltrail",
            "run",
            ".",
            "--agent",
            "cmd:./agent --fast",
            "--env",
            "MODE",
            "--metric",
            "a,b",
            "--gate",
            "80%",
            "--stubs",
            "--tool-fault",
            "book_*=timeout:30s",
            "--timeout",
            "2m",
            "--max-failures",
            "3",
            "-q",
            "--report",
            "json=r.json",
        ];
        assert_eq!(
            rerun(&line),
            "evaltrail run . --failed=1f0c9a7d32be --agent 'cmd:./agent --fast' --env MODE --metric a,b --gate 0.8 --timeout 120000ms --tool-fault 'book_*=timeout:30s' --stubs=fail"
        );
        let line = [
            "evaltrail",
            "score",
            "rows.jsonl",
            "--judge",
            "ollama/qwen3",
            "--samples",
            "3",
            "--no-cache",
        ];
        assert_eq!(
            rerun(&line),
            "evaltrail score rows.jsonl --failed=1f0c9a7d32be --judge ollama/qwen3 --samples 3 --no-cache"
        );
    }

    #[test]
    fn resume_repeats_options_and_names_run() {
        let resume = |line: &[&str]| {
            let matches = crate::cli::describe().get_matches_from(line);
            let (_, arguments) = matches.subcommand().unwrap();
            let args = RunArgs::from_arg_matches(arguments).unwrap();
            resume_command(&args, "1f0c9a7d32be")
        };
        let line = "evaltrail run a b.json:x --failed --filter tool:x --repeat 3 --report json=r.json -j 2";
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(
            resume(&words).unwrap(),
            "evaltrail run a b.json:x --resume=1f0c9a7d32be --jobs 2 --repeat 3 --report json=r.json"
        );
        let words = ["evaltrail", "run", ".", "--changed", "--shard", "2/3"];
        assert_eq!(
            resume(&words).unwrap(),
            "evaltrail run . --resume --shard 2/3:slice --changed"
        );
        assert_eq!(resume(&["evaltrail", "run", ".", "--push", "runs"]), None);
    }

    #[test]
    fn commands_say_where_a_secret_is_left_out() {
        let line = [
            "evaltrail",
            "run",
            ".",
            "--agent",
            "cmd:./agent --api-key SECRET123",
            "--report",
            "json=r.json",
        ];
        let matches = crate::cli::describe().get_matches_from(line);
        let (_, arguments) = matches.subcommand().unwrap();
        let args = RunArgs::from_arg_matches(arguments).unwrap();
        let resume = resume_command(&args, "1f0c9a7d32be").unwrap();
        for command in [rerun(&line), resume] {
            assert!(command.contains("--api-key …"), "{command}");
            assert!(!command.contains("SECRET123"), "{command}");
            let end = "  (write the secret of the agent in place of …)";
            assert!(command.ends_with(end), "{command}");
        }
        assert!(!rerun(&["evaltrail", "run", ".", "--agent", "cmd:./agent"]).contains('…'));
    }

    #[test]
    fn rerun_command_has_run_id_for_any_selection() {
        for option in [
            &["--changed"][..],
            &["--failed"],
            &["--shard", "1/2"],
            &["--fail-fast"],
            &[],
            &["--filter", "status:not_run"],
            &["--turn", "2"],
            &["--ids", "ids.json"],
        ] {
            let line: Vec<&str> = ["evaltrail", "run", "."]
                .into_iter()
                .chain(option.iter().copied())
                .collect();
            let said = rerun(&line);
            assert!(
                said.starts_with("evaltrail run . --failed=1f0c9a7d32be"),
                "{said}"
            );
            let parsed = crate::cli::describe().try_get_matches_from(said.split(' '));
            assert!(parsed.is_ok(), "{said}");
        }
        assert!(rerun(&["evaltrail", "run", ".", "--turn", "2"]).ends_with("--turn 2"));
    }
}
