//! What can be said on the command line.

use crate::report::ReportFormat;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// A terminal explorer for agent evaluations.
#[derive(Parser, Debug)]
#[command(
    name = "evaltrail",
    version,
    about = "Explore agent evaluations: which cases failed, where they left the trail, and why",
    args_conflicts_with_subcommands = true,
    after_help = "Exit codes: 0 all passed, 1 something failed, errored or was not evaluated, 2 the call or an input is wrong, 130 interrupted."
)]
pub(super) struct Cli {
    /// Folder or file to explore
    pub(super) path: Option<PathBuf>,
    /// Colour theme: default, dark, light, high-contrast, colour-blind, mono, or one of your config.toml
    #[arg(long)]
    pub(super) theme: Option<String>,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// Run cases and report
    Run(Box<RunArgs>),
    /// Score saved responses: what the files say an agent already did; no agent is asked
    Score(Box<ScoreArgs>),
    /// List eval sets, cases, agents and last results
    List(ListArgs),
    /// Is this file right? What would ADK refuse or lose?
    Check(CheckArgs),
    /// The metrics: what each needs, says and means
    Metrics(MetricsArgs),
    /// Say hello to the judge: model, latency, and whether it can be trusted
    Judge(JudgeArgs),
    /// Convert legacy tests and other forms to ADK eval sets, or to Vertex JSON Lines
    Convert(ConvertArgs),
    /// Accept what the agent did in a run as expected: shows the change, and writes it with --write
    Accept(AcceptArgs),
    /// Keep a conversation as a case: of a run, an ADK session, a recording or a trace
    Capture(CaptureArgs),
    /// Edit a case in $EDITOR, or take an edit back
    Edit(EditArgs),
    /// Make an eval set, or a case in one
    New(NewArgs),
    /// Explore the built-in sample workspace: no agent, key or network needed
    Demo(DemoArgs),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// What running and scoring have in common.
#[derive(Args, Debug)]
pub(super) struct CaseArgs {
    /// Files or folders; PATH:id,id takes only these cases
    #[arg(required = true, value_name = "PATH[:ID,ID]")]
    pub(super) paths: Vec<String>,
    /// Criteria, in the form of ADK's test_config.json
    #[arg(long, value_name = "FILE", alias = "config_file_path")]
    pub(super) config: Option<PathBuf>,
    /// Metrics to score as well, with their default options
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(super) metric: Vec<String>,
    /// Only the cases that match, e.g. 'tool:set_light -tag:slow'
    #[arg(long, value_name = "QUERY", default_value = "", allow_hyphen_values = true)]
    pub(super) filter: String,
    /// The model that judges, instead of the configured one: gemini-2.5-flash, openai/gpt-5, ollama/…
    #[arg(long, value_name = "MODEL")]
    pub(super) judge: Option<String>,
    /// How often a judge is asked where the criterion does not say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) samples: Option<u32>,
    /// Ask the judge again also what it answered before
    #[arg(long)]
    pub(super) no_cache: bool,
    /// Cases at once
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) jobs: Option<u32>,
    /// Only the cases that did not pass the last time
    #[arg(long)]
    pub(super) failed: bool,
    /// Write a report: json, junit, markdown, html, csv, vertex or evaluation-result (repeatable)
    #[arg(long, value_name = "FORMAT=FILE", value_parser = parse_report)]
    pub(super) report: Vec<ReportTo>,
    /// Print the JSON report on standard output, and nothing else there
    #[arg(long)]
    pub(super) json: bool,
    /// Allow, without asking, the programs and addresses that the workspace names and keys of its .env
    #[arg(long)]
    pub(super) trust: bool,
    /// When to colour
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto)]
    pub(super) color: ColorWhen,
    /// Say only what did not pass
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// Say also what passed, on a terminal too
    #[arg(short, long)]
    pub(super) verbose: bool,
}

#[derive(Args, Debug)]
pub(super) struct ScoreArgs {
    #[command(flatten)]
    pub(super) cases: CaseArgs,
}

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) cases: CaseArgs,
    /// Agent by name or address: adk+http://HOST:PORT/APP, cmd:./program, replay:recording.jsonl
    #[arg(long, value_name = "NAME|URI")]
    pub(super) agent: Option<String>,
    /// Pass this variable of the environment on to the agents that are started; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(super) env: Vec<String>,
    /// Attempts of each case
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) repeat: Option<u32>,
    /// Limit for one attempt, e.g. 120s, 2m
    #[arg(long, value_name = "TIME", value_parser = crate::config::parse_duration)]
    pub(super) timeout: Option<Duration>,
    /// How often to try again what may be tried again
    #[arg(long, value_name = "N")]
    pub(super) retries: Option<u32>,
    /// Attempts begun a minute at most, for agents that limit how often they are asked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) rate: Option<u32>,
    /// Run only this turn of the cases, on the history that each expects before it
    #[arg(long, value_name = "K")]
    pub(super) turn: Option<u32>,
    /// Go on with the newest unfinished run of this selection
    #[arg(long)]
    pub(super) resume: bool,
    /// Write what the agent did to a recording that `replay:` plays
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct ListArgs {
    /// Folder or file
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// List the cases too
    #[arg(long)]
    pub(super) cases: bool,
    /// Print the list as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// Files or folders
    #[arg(required = true)]
    pub(super) paths: Vec<PathBuf>,
    /// What ADK would refuse counts as an error
    #[arg(long)]
    pub(super) strict: bool,
}

#[derive(Args, Debug)]
pub(super) struct MetricsArgs {
    /// Tell all of these metrics, or of those whose names begin so
    pub(super) names: Vec<String>,
    /// Print the table as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct JudgeArgs {
    /// Folder whose judge it is
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// The model, instead of the configured one
    #[arg(long, value_name = "MODEL")]
    pub(super) judge: Option<String>,
    /// Allow, without asking, the address that the folder names and keys of its .env
    #[arg(long)]
    pub(super) trust: bool,
    /// Forget what judges answered before, in all folders, and ask nothing
    #[arg(long)]
    pub(super) forget: bool,
}

#[derive(Args, Debug)]
pub(super) struct ConvertArgs {
    /// The file to convert
    pub(super) input: PathBuf,
    /// The file to write: .evalset.json for ADK, .jsonl for Vertex
    #[arg(short, long)]
    pub(super) output: PathBuf,
    /// What to write, when the ending does not say it
    #[arg(long, value_enum)]
    pub(super) to: Option<ConvertTo>,
    /// The session of ADK's older test files
    #[arg(long, value_name = "FILE")]
    pub(super) initial_session: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConvertTo {
    Adk,
    Vertex,
}

#[derive(Args, Debug)]
pub(super) struct AcceptArgs {
    /// The run: `last`, or the beginning of its id, or its folder
    pub(super) run: String,
    /// The cases, by id; all that did not pass when none is named
    #[arg(value_name = "CASE")]
    pub(super) cases: Vec<String>,
    /// Write the files, instead of showing what would change
    #[arg(long)]
    pub(super) write: bool,
    /// Take over only this
    #[arg(long, value_enum)]
    pub(super) only: Option<AcceptOnly>,
    /// Which repetition
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) attempt: u32,
    /// The folder whose run it is
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AcceptOnly {
    Calls,
    Response,
}

#[derive(Args, Debug)]
pub(super) struct CaptureArgs {
    /// run:RUN, http://HOST:PORT/apps/APP/users/USER/sessions/ID, a recording, or a trace (OTLP or Jaeger JSON)
    pub(super) source: String,
    /// The file, and the new case in it
    #[arg(long, value_name = "FILE:CASE")]
    pub(super) into: String,
    /// Which case of the run or recording, or which conversation of the trace
    #[arg(long, value_name = "ID")]
    pub(super) case: Option<String>,
    /// The turns to keep: 2, 1-3 or 2-
    #[arg(long, value_name = "RANGE")]
    pub(super) turns: Option<String>,
    /// The application of the case's session
    #[arg(long, value_name = "NAME")]
    pub(super) app: Option<String>,
    /// Show what would change, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Args, Debug)]
pub(super) struct EditArgs {
    /// The file and the case: lights.evalset.json:lights_off
    #[arg(value_name = "FILE[:CASE]")]
    pub(super) target: String,
    /// Take the case's JSON from here instead of opening an editor; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["undo", "redo"])]
    pub(super) from: Option<PathBuf>,
    /// Show what would change, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Take the last edit of the file back
    #[arg(long, conflicts_with = "redo")]
    pub(super) undo: bool,
    /// Make the edit again that was taken back
    #[arg(long)]
    pub(super) redo: bool,
}

#[derive(Args, Debug)]
pub(super) struct NewArgs {
    /// The file, and the case to make in it: lights.evalset.json:lights_off
    #[arg(value_name = "FILE[:CASE]")]
    pub(super) target: String,
    /// What the user says; once for each turn
    #[arg(long, value_name = "TEXT")]
    pub(super) user: Vec<String>,
    /// The expected response; once for each turn
    #[arg(long, value_name = "TEXT")]
    pub(super) response: Vec<String>,
    /// The application of the case's session
    #[arg(long, value_name = "NAME")]
    pub(super) app: Option<String>,
    /// What the set is for
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct DemoArgs {
    /// Copy the sample workspace here and keep it, instead of a temporary folder
    #[arg(long, value_name = "FOLDER")]
    pub(super) to: Option<PathBuf>,
    /// Colour theme
    #[arg(long)]
    pub(super) theme: Option<String>,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// A report to write.
#[derive(Clone, Debug)]
pub(super) struct ReportTo {
    pub(super) format: ReportFormat,
    pub(super) file: PathBuf,
}

fn parse_report(text: &str) -> Result<ReportTo, String> {
    let (format, file) = text.split_once('=').ok_or("write FORMAT=FILE, for example json=report.json")?;
    let format = ReportFormat::named(format).ok_or_else(|| {
        let known: Vec<&str> = ReportFormat::ALL.iter().map(|format| format.name()).collect();
        format!("{format:?} is no format; there are {}", known.join(", "))
    })?;
    if file.is_empty() {
        return Err("the file is missing".into());
    }
    Ok(ReportTo { format, file: PathBuf::from(file) })
}
