//! What commands print, as reviewed texts.

use crate::common::{both, evaltrail, output};
use insta::assert_snapshot;
use std::path::Path;

/// What changes from run to run.
const FILTERS: [(&str, &str); 9] = [
    (r"\b[0-9a-f]{12}\b", "[run]"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d UTC)?", "[started]"),
    // An attempt that takes less than a millisecond has no time.
    (r"(?m)^([✓✗!] [^\n]*?)  \d+\.\d+s", "$1"),
    (r"\b\d+\.\d+s\b", "[time]"),
    (r"(?m)^latency_in_seconds .*\n", ""),
    (
        r"(?m)^( *)invocation_duration_v1 .*$",
        "${1}invocation_duration_v1 [times]",
    ),
    (r"\(p [0-9.]+", "(p [p]"),
    (r"  +\d+\.\d  (\d+ sets?|garden)", "  [seconds]  $1"),
    (r"/tmp/[^ :]*\.tmp\w+", "[folder]"),
];

/// The sample workspace, in which commands are run.
struct Sample {
    home: tempfile::TempDir,
    folder: tempfile::TempDir,
}

impl Sample {
    fn new() -> Sample {
        let sample = Sample {
            home: tempfile::tempdir().unwrap(),
            folder: tempfile::tempdir().unwrap(),
        };
        let mut demo = evaltrail(sample.home.path());
        output(demo.args(["demo", "--to"]).arg(sample.root()));
        // Without the waits of the recordings.
        let config = sample.root().join("evaltrail.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        let text = text.replace(
            "recording = \"recordings/garden",
            "speed = 0\nrecording = \"recordings/garden",
        );
        std::fs::write(&config, text).unwrap();
        sample
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("demo")
    }

    /// Both streams of a command and its exit code.
    fn run(&self, line: &str) -> String {
        self.run_in(&self.root(), line)
    }

    fn run_in(&self, folder: &Path, line: &str) -> String {
        let mut command = evaltrail(self.home.path());
        command.current_dir(folder).args(line.split(' '));
        let out = output(&mut command);
        let code = out.status.code().unwrap();
        format!("$ evaltrail {line}\n{}\nexit code {code}", both(&out))
    }
}

/// One after the other, so that the lines are in one order.
const RUN: &str = "run garden --trust --jobs 1";

#[test]
fn run_prints_each_reason_once() {
    let sample = Sample::new();
    insta::with_settings!({ filters => FILTERS }, {
        assert_snapshot!("command_run", sample.run(RUN));
        assert_snapshot!("command_run_quiet", sample.run(&format!("{RUN} --quiet")));
        assert_snapshot!("command_list", sample.run("list --cases"));
        assert_snapshot!("command_runs", sample.run("runs"));
        assert_snapshot!("command_compare", sample.run("compare"));
        assert_snapshot!("command_run_verbose", sample.run("run garden/weekend.evalset.json:evening_plan --trust -v"));
    });
}

/// A metric that was asked for and could not be computed is said in every mode, and is not a success.
#[test]
fn metric_without_any_value_fails_run() {
    let sample = Sample::new();
    let line = "run garden/weekend.evalset.json:greeting --trust --metric hallucinations_v1 --judge openai/x";
    let why = "openai/x needs a key: set OPENAI_API_KEY";
    let quiet = sample.run(&format!("{line} -q"));
    for words in [
        &format!("\nhallucinations_v1: not evaluated in 1 of 1 case: {why}\n"),
        "1 passed",
        "--metric hallucinations_v1: no case has a value",
        "exit code 1",
    ] {
        assert!(quiet.contains(words), "{words}: {quiet}");
    }
    let normal = sample.run(line);
    let row = |metric: &str| normal.lines().find(|line| line.starts_with(metric));
    assert!(
        row("hallucinations_v1 ").is_some_and(|row| row.ends_with(why)),
        "{normal}"
    );
    assert!(
        row("tool_trajectory_avg_score ").is_some(),
        "what decides is there: {normal}"
    );
    assert!(!normal.contains("not evaluated in"), "{normal}");
}

/// The example of docs/coverage.md.
#[test]
fn coverage_lists_tools_and_gaps() {
    let sample = Sample::new();
    sample.run(RUN);
    insta::with_settings!({ filters => FILTERS }, {
        assert_snapshot!("command_coverage", sample.run("coverage garden"));
        assert_snapshot!("command_coverage_markdown", sample.run("coverage garden --markdown"));
    });
}

#[test]
fn help_has_groups_and_examples() {
    let sample = Sample::new();
    assert_snapshot!("command_help", sample.run("--help"));
    assert_snapshot!("command_run_short_help", sample.run("run -h"));
    assert_snapshot!("command_run_help", sample.run("run --help"));
}

/// The help of each subcommand but `run`, which has its own text.
#[test]
fn every_subcommand_has_help() {
    const COMMANDS: &str = "score list agents check coverage metrics judge convert runs compare merge export open accept \
                            capture edit new demo completions man";
    let sample = Sample::new();
    let helps = COMMANDS
        .split_whitespace()
        .map(|command| sample.run(&format!("{command} --help")));
    let helps: Vec<String> = helps.collect();
    assert_snapshot!("command_helps", helps.join("\n\n"));
}

/// What each report and each report of a comparison has in it.
#[test]
fn every_report_is_reviewed() {
    const REPORTS: [&str; 8] = [
        "json",
        "junit",
        "markdown",
        "html",
        "csv",
        "vertex",
        "vertex-summary",
        "evaluation-result",
    ];
    let sample = Sample::new();
    let score = |folder: &str| {
        let reports: String = REPORTS
            .iter()
            .map(|name| format!(" --report {name}={folder}-{name}"))
            .collect();
        sample.run(&format!(
            "score saved_answers/answers.jsonl --jobs 1 -q --pretty{reports}"
        ));
    };
    score("first");
    // Another answer, so that the comparison has something to show.
    let answers = sample.root().join("saved_answers/answers.jsonl");
    let text = std::fs::read_to_string(&answers).unwrap();
    std::fs::write(
        &answers,
        text.replacen("\"response\": \"", "\"response\": \"Well, ", 2),
    )
    .unwrap();
    score("second");
    sample.run("compare --report json=compared-json --report markdown=compared-markdown");
    let filters = [
        FILTERS.as_slice(),
        &[
            (r"\bin \d+\.\d s\b", "in [time]"),
            (r"(?s)<style>.*?</style>", "<style>[style]</style>"),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:[\d.]+Z?", "[instant]"),
            (
                r#""(latency_s|seconds|duration_s|time)": ?[\d.e-]+"#,
                "\"$1\": [seconds]",
            ),
            (r#"time="[\d.]+""#, "time=\"[seconds]\""),
        ],
    ]
    .concat();
    insta::with_settings!({ filters => filters }, {
        for name in REPORTS {
            let text = std::fs::read_to_string(sample.root().join(format!("second-{name}"))).unwrap();
            assert_snapshot!(format!("report_{name}"), text);
        }
        for name in ["json", "markdown"] {
            let text = std::fs::read_to_string(sample.root().join(format!("compared-{name}"))).unwrap();
            assert_snapshot!(format!("compared_{name}"), text);
        }
    });
}

/// An error says what, where and why, and what to do next.
#[test]
fn errors_are_reviewed() {
    const LINES: [&str; 17] = [
        "run",
        "run gardn",
        "run garden:nowhere",
        "run garden/weekend.evalset.json:evening_pla",
        "run garden --trust --config nowhere.json",
        "run garden --trust --metric tool_trajectory_avg",
        "run garden --trust --repeat 0",
        "run garden --trust --report pdf=x.pdf",
        "run garden --trust --report json=nowhere/x.json",
        "score garden",
        "compare",
        "export nowhere",
        "open nowhere.evaltrail",
        "accept last",
        "edit garden/weekend.evalset.json:nowhere --dry-run",
        "new garden/weekend.evalset.json:greeting --user hi",
        "convert garden/weekend.evalset.json -o x.txt",
    ];
    let sample = Sample::new();
    let texts: Vec<String> = LINES.iter().map(|line| sample.run(line)).collect();
    insta::with_settings!({ filters => FILTERS }, {
        assert_snapshot!("command_errors", texts.join("\n\n"));
    });
}

#[test]
fn malformed_files_stop_command_with_excerpt() {
    let sample = Sample::new();
    let file = sample.root().join("garden/weekend.evalset.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\"eval_cases\"", "eval_cases\"", 1)).unwrap();
    let config = sample.root().join("library_desk/test_config.json");
    std::fs::write(
        &config,
        "{\n  \"criteria\": {\"response_match_score\": \"high\"}\n}\n",
    )
    .unwrap();
    insta::with_settings!({ filters => FILTERS }, {
        assert_snapshot!("command_run_malformed", sample.run("run . --trust"));
        assert_snapshot!("command_check_malformed", sample.run("check ."));
    });
    assert!(
        !sample.root().join(".evaltrail/runs").exists(),
        "nothing was run"
    );
}

/// A syntax error inside a case is one of the file: ADK reads no case of it. Unlike a row of JSON Lines.
#[test]
fn syntax_error_in_a_case_stops_command() {
    let sample = Sample::new();
    let file = sample.root().join("garden/weekend.evalset.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, after) = text.rsplit_once(",\n").unwrap();
    std::fs::write(&file, format!("{before}\n{after}")).unwrap();
    insta::with_settings!({ filters => FILTERS }, {
        assert_snapshot!("command_run_missing_comma", sample.run("run . --trust"));
        assert_snapshot!("command_list_missing_comma", sample.run("list garden"));
    });
    let rows =
        "{\"prompt\": \"a\", \"response\": \"b\", \"reference\": \"b\"}\n{\"prompt\" \"a\"}\n";
    std::fs::write(sample.root().join("rows.jsonl"), rows).unwrap();
    let scored = sample.run("score rows.jsonl");
    assert!(
        scored.contains("1 passed") || scored.contains("✓ 1"),
        "{scored}"
    );
}

/// The same reason for several files is printed once.
#[test]
fn unknown_agent_is_one_error() {
    let sample = Sample::new();
    insta::with_settings!({ filters => FILTERS }, {
        assert_snapshot!("command_run_unknown_agent", sample.run("run . --trust --agent gardn"));
    });
}

/// In a log, every case that did not pass is listed with its reason, however many there are.
#[test]
fn all_reasons_are_in_logs() {
    let rows: String = (0..80)
        .map(|n| {
            format!("{{\"prompt\": \"p{n}\", \"response\": \"no\", \"reference\": \"yes {n}\"}}\n")
        })
        .collect();
    let workspace = crate::common::TestWorkspace::new(&[("rows.jsonl", rows)]);
    for option in ["--quiet", "--color=never"] {
        let mut command = evaltrail(&workspace.path().join("home"));
        command
            .current_dir(workspace.path())
            .args(["score", "rows.jsonl", option]);
        let printed = both(&output(&mut command));
        let reasons = printed.matches(" of 2 expected words, 1 more (").count();
        assert_eq!(reasons, 80, "{option}: {printed}");
    }
}
