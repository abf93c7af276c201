//! The command that runs the failures of a run again, as the run was started.

use super::args::{CaseArgs, RunArgs};
use evaltrail_core::domain::{StubMode, agent_without_secrets};
use evaltrail_engine::report::shell_word;

/// The command. Its agent, criteria and options are those of the run `run_id`, which `--failed` names: the latest results of the
/// files may be of other runs, and the run may have been a part of them. Secrets in the address of the agent are left out.
pub(super) fn rerun_command(cases: &CaseArgs, run: Option<&RunArgs>, run_id: &str) -> String {
    let mut words = vec![format!(
        "evaltrail {}",
        if run.is_some() { "run" } else { "score" }
    )];
    words.extend(cases.paths.iter().map(|path| argument(path)));
    words.push(format!("--failed={}", shell_word(run_id)));
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
    if let Some(run) = run {
        option("repeat", number(run.repeat));
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
    }
    words.extend(cases.no_cache.then(|| "--no-cache".into()));
    words.extend(cases.trust.then(|| "--trust".into()));
    words.join(" ")
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
