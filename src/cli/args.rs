//! The arguments of the command line.

use crate::config::ShardChoice;
use crate::domain::{StubMode, ToolFault};
use crate::report::ReportFormat;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// A terminal explorer for agent evaluations.
#[derive(Parser, Debug)]
#[command(
    name = "evaltrail",
    version,
    about = "Explore agent evaluations: which cases failed, where they differ from what is expected, and why",
    args_conflicts_with_subcommands = true,
    after_help = "Exit codes: 0 all passed, 1 something failed, errored or was not evaluated, 2 invalid usage or input, 130 interrupted."
)]
pub(super) struct Cli {
    /// Folder or file to explore
    pub(super) path: Option<PathBuf>,
    /// Colour theme: default, dark, light, high-contrast, colour-blind, mono, or one from your config.toml
    #[arg(long)]
    pub(super) theme: Option<String>,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// Run cases and report the results
    Run(Box<RunArgs>),
    /// Score the responses that are saved in the files, without running an agent
    Score(Box<ScoreArgs>),
    /// List eval sets, cases, agents and the latest results
    List(ListArgs),
    /// List the agents of a folder, or check whether one answers
    #[command(args_conflicts_with_subcommands = true, visible_alias = "agent")]
    Agents(AgentsArgs),
    /// Check files for errors, and for what ADK would refuse or lose
    Check(CheckArgs),
    /// List the metrics, or describe some of them
    Metrics(MetricsArgs),
    /// Check the judge: model, latency, and whether planted verdicts mislead it
    Judge(JudgeArgs),
    /// Convert legacy tests and other formats to ADK eval sets, or to Vertex JSON Lines
    Convert(ConvertArgs),
    /// List the runs of a folder, or name, pin or delete one
    #[command(args_conflicts_with_subcommands = true)]
    Runs(RunsArgs),
    /// Compare two runs case by case: what broke, what was fixed, and whether it is more than noise
    Compare(CompareArgs),
    /// Merge the runs of shards (`run --shard`) to one run, and report on it
    Merge(MergeArgs),
    /// Write a run, without known secrets, to one file, which `evaltrail open` opens on any machine
    Export(ExportArgs),
    /// Explore a run from the file that evaltrail export wrote
    Open(OpenArgs),
    /// Accept what the agent did in a run as expected: shows the change, or writes it with --write
    Accept(AcceptArgs),
    /// Save a conversation from a run, an ADK session, a recording or a trace as a case
    Capture(CaptureArgs),
    /// Edit a case in $EDITOR, or undo an edit
    Edit(EditArgs),
    /// Create an eval set, or a case in one
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

/// The arguments that `run` and `score` share.
#[derive(Args, Debug)]
pub(super) struct CaseArgs {
    /// Files or folders; PATH:id,id selects only these cases
    #[arg(required = true, value_name = "PATH[:ID,ID]")]
    pub(super) paths: Vec<String>,
    /// File of criteria, in the format of ADK's test_config.json
    #[arg(long, value_name = "FILE", alias = "config_file_path")]
    pub(super) config: Option<PathBuf>,
    /// Additional metrics, with their default options
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(super) metric: Vec<String>,
    /// Only cases that match this filter, e.g. 'tool:set_light -tag:slow'
    #[arg(long, value_name = "QUERY", default_value = "", allow_hyphen_values = true)]
    pub(super) filter: String,
    /// Judge model, instead of the configured one: gemini-2.5-flash, openai/gpt-5, ollama/…
    #[arg(long, value_name = "MODEL")]
    pub(super) judge: Option<String>,
    /// Number of judge samples, for criteria that do not specify it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) samples: Option<u32>,
    /// Do not use cached responses of the judge
    #[arg(long)]
    pub(super) no_cache: bool,
    /// Maximum number of attempts that run at the same time
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) jobs: Option<u32>,
    /// Only cases whose latest result is not a pass
    #[arg(long)]
    pub(super) failed: bool,
    /// Only cases without a result, or that changed since: the case, the criteria or the agent's files
    #[arg(long, conflicts_with = "failed")]
    pub(super) changed: bool,
    /// Only this part of the cases: K/N, or auto, which takes it from the scheduler's environment
    #[arg(long, value_name = "K/N[:slice|hash|time]", value_parser = crate::config::parse_shard, conflicts_with = "fail_on")]
    pub(super) shard: Option<ShardChoice>,
    /// Write a report: json, junit, markdown, html, csv, vertex, vertex-summary or evaluation-result (repeatable)
    #[arg(long, value_name = "FORMAT=FILE", value_parser = parse_report)]
    pub(super) report: Vec<ReportTo>,
    /// Print the JSON report, and nothing else, on standard output
    #[arg(long)]
    pub(super) json: bool,
    /// Allow the programs and addresses in the workspace's files, and keys from .env, without asking
    #[arg(long)]
    pub(super) trust: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto)]
    pub(super) color: ColorWhen,
    /// Exit with 0 if at most N attempts did not pass
    #[arg(long, value_name = "N")]
    pub(super) max_failures: Option<usize>,
    /// Exit with 1 only if a case broke since the baseline (`evaltrail runs pin`)
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "max_failures")]
    pub(super) fail_on: Option<FailOn>,
    /// Print annotations for GitHub Actions, and append the Markdown report to $GITHUB_STEP_SUMMARY
    #[arg(long)]
    pub(super) github: bool,
    /// Print only cases that did not pass
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// Print cases that passed as well, also on a terminal
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
    /// Agent by name or address: adk+http://HOST:PORT/APP, a2a+http://HOST:PORT, python:MODULE:NAME, cmd:./program …; docs/agents.md lists all
    #[arg(long, value_name = "NAME|URI")]
    pub(super) agent: Option<String>,
    /// Environment variable to pass to agents that are started (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(super) env: Vec<String>,
    /// Number of attempts of each case
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) repeat: Option<u32>,
    /// Time limit of one attempt, e.g. 120s, 2m
    #[arg(long, value_name = "TIME", value_parser = crate::config::parse_duration)]
    pub(super) timeout: Option<Duration>,
    /// Maximum number of retries when an agent is not available
    #[arg(long, value_name = "N")]
    pub(super) retries: Option<u32>,
    /// Maximum number of attempts started per minute, for agents with a rate limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) rate: Option<u32>,
    /// Run only this turn of each case, after the expected turns before it
    #[arg(long, value_name = "K")]
    pub(super) turn: Option<u32>,
    /// Resume the newest unfinished run of this selection
    #[arg(long)]
    pub(super) resume: bool,
    /// Run cases again when they, the criteria or the agent's files change; long or paid runs are asked about
    #[arg(long, conflicts_with_all = ["json", "resume", "record", "github", "filter", "shard"])]
    pub(super) watch: bool,
    /// Answer tools from stubs, and calls without one with: fail (default), error, live or nearest; off runs the tools
    #[arg(long, value_name = "UNMATCHED", num_args = 0..=1, default_missing_value = "fail", require_equals = true,
          value_parser = parse_stub_mode)]
    pub(super) stubs: Option<StubMode>,
    /// Make tools fail: 'book_*=timeout:30s', search=error:503 or get=empty (repeatable)
    #[arg(long, value_name = "TOOL=FAULT", value_parser = crate::config::parse_tool_fault)]
    pub(super) tool_fault: Vec<ToolFault>,
    /// Record what tools answer as stubs, in the file SET.tools.jsonl beside each set
    #[arg(long, conflicts_with_all = ["tool_fault", "watch"])]
    pub(super) record_tools: bool,
    /// Record what the agent does in a file that `replay:` can replay
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    /// Start no more attempts after N attempts did not pass
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1", require_equals = true,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) fail_fast: Option<u64>,
}

#[derive(Args, Debug)]
pub(super) struct MergeArgs {
    /// Folders with runs of shards, at any depth: .evaltrail/runs, or the artefacts of a CI job
    #[arg(required = true)]
    pub(super) paths: Vec<PathBuf>,
    /// Folder in whose .evaltrail the merged run is stored: that of the eval sets
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(super) into: PathBuf,
    /// Write a report: json, junit, markdown, html, csv, vertex, vertex-summary or evaluation-result (repeatable)
    #[arg(long, value_name = "FORMAT=FILE", value_parser = parse_report)]
    pub(super) report: Vec<ReportTo>,
    /// Print the JSON report, and nothing else, on standard output
    #[arg(long)]
    pub(super) json: bool,
    /// Exit with 0 if at most N attempts did not pass; missing ones still exit with 1
    #[arg(long, value_name = "N")]
    pub(super) max_failures: Option<usize>,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto)]
    pub(super) color: ColorWhen,
}

#[derive(Args, Debug)]
pub(super) struct ListArgs {
    /// Folder or file
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// List the cases as well
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
    /// Treat what ADK would refuse as an error
    #[arg(long)]
    pub(super) strict: bool,
}

#[derive(Args, Debug)]
pub(super) struct MetricsArgs {
    /// Describe the metrics whose names begin with these prefixes
    pub(super) names: Vec<String>,
    /// Print the table as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct AgentsArgs {
    /// Folder whose agents to list
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(subcommand)]
    pub(super) command: Option<AgentsCommand>,
}

#[derive(clap::Subcommand, Debug)]
pub(super) enum AgentsCommand {
    /// Connect to an agent, and print what it says about itself and does with a prompt
    Check(AgentCheckArgs),
}

#[derive(Args, Debug)]
pub(super) struct AgentCheckArgs {
    /// The agent, by name or address
    pub(super) agent: String,
    /// Folder with the agent's configuration
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// Message to send; prints the calls and the response, and for a template what each path found
    #[arg(long, value_name = "TEXT")]
    pub(super) prompt: Option<String>,
    /// Allow the program or the address in the folder's files without asking
    #[arg(long)]
    pub(super) trust: bool,
}

#[derive(Args, Debug)]
pub(super) struct JudgeArgs {
    /// Folder whose judge to check
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// Model, instead of the configured one
    #[arg(long, value_name = "MODEL")]
    pub(super) judge: Option<String>,
    /// Allow the address in the folder's files, and keys from .env, without asking
    #[arg(long)]
    pub(super) trust: bool,
    /// Delete the cached responses of judges, for all folders, and exit
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
    /// Output format, if the file extension does not determine it
    #[arg(long, value_enum)]
    pub(super) to: Option<ConvertTo>,
    /// File with the initial session, for ADK's older test files
    #[arg(long, value_name = "FILE")]
    pub(super) initial_session: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConvertTo {
    Adk,
    Vertex,
}

#[derive(Args, Debug)]
pub(super) struct RunsArgs {
    #[command(subcommand)]
    pub(super) action: Option<RunsAction>,
    /// Folder or file
    #[arg(default_value = ".")]
    pub(super) folder: PathBuf,
    /// List only the newest N
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<usize>,
    /// Print the list as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand, Debug)]
pub(super) enum RunsAction {
    /// Keep a run when old ones are removed, and make it the baseline that later runs are compared with
    Pin(OneRunArgs),
    /// Keep a run no longer
    Unpin(OneRunArgs),
    /// Give a run a name; without NAME, remove its name
    Name {
        #[command(flatten)]
        run: OneRunArgs,
        /// The name
        name: Option<String>,
    },
    /// Delete a run
    Delete(OneRunArgs),
}

#[derive(Args, Debug)]
pub(super) struct OneRunArgs {
    /// The run: `last`, `previous`, the beginning of its id, its name, or its folder
    pub(super) run: String,
    /// The folder of the runs
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct ExportArgs {
    /// The run: `last`, `previous`, the beginning of its id, its name, or its folder
    #[arg(default_value = "last")]
    pub(super) run: String,
    /// The file; by default run-ID.evaltrail
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// The folder of the runs
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct OpenArgs {
    /// The file
    pub(super) file: PathBuf,
    /// Id of the case to open
    pub(super) case: Option<String>,
    /// Colour theme
    #[arg(long)]
    pub(super) theme: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct CompareArgs {
    /// The first run: `last`, `previous`, `baseline`, the beginning of its id, its name, or its folder
    #[arg(default_value = "previous")]
    pub(super) first: String,
    /// The second run
    #[arg(default_value = "last")]
    pub(super) second: String,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Write the comparison to a file: json or markdown (repeatable)
    #[arg(long, value_name = "FORMAT=FILE", value_parser = parse_comparison_report)]
    pub(super) report: Vec<ReportTo>,
    /// Exit with 1 if a case broke
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) fail_on: Option<FailOn>,
    /// The folder of the runs
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailOn {
    Broke,
}

#[derive(Args, Debug)]
pub(super) struct AcceptArgs {
    /// The run: `last`, `previous`, the beginning of its id, or its folder
    pub(super) run: String,
    /// Ids of the cases; by default all that did not pass
    #[arg(value_name = "CASE")]
    pub(super) cases: Vec<String>,
    /// Write the files, instead of showing what would change
    #[arg(long)]
    pub(super) write: bool,
    /// Accept only this part
    #[arg(long, value_enum)]
    pub(super) only: Option<AcceptOnly>,
    /// Number of the attempt
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) attempt: u32,
    /// The folder of the run
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
    /// The file, and the id of the new case
    #[arg(long, value_name = "FILE:CASE")]
    pub(super) into: String,
    /// Which case of the run or recording, or which conversation of the trace
    #[arg(long, value_name = "ID")]
    pub(super) case: Option<String>,
    /// The turns to save: 2, 1-3 or 2-
    #[arg(long, value_name = "RANGE")]
    pub(super) turns: Option<String>,
    /// The application of the case's session
    #[arg(long, value_name = "NAME")]
    pub(super) app: Option<String>,
    /// Show what would change, without writing
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Args, Debug)]
pub(super) struct EditArgs {
    /// The file and the case: lights.evalset.json:lights_off
    #[arg(value_name = "FILE[:CASE]")]
    pub(super) target: String,
    /// Read the case's JSON from this file instead of opening an editor; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["undo", "redo"])]
    pub(super) from: Option<PathBuf>,
    /// Show what would change, without writing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Undo the last edit of the file
    #[arg(long, conflicts_with = "redo")]
    pub(super) undo: bool,
    /// Redo the edit that was undone
    #[arg(long)]
    pub(super) redo: bool,
}

#[derive(Args, Debug)]
pub(super) struct NewArgs {
    /// The file, and the case to create in it: lights.evalset.json:lights_off
    #[arg(value_name = "FILE[:CASE]")]
    pub(super) target: String,
    /// The user's message; once for each turn
    #[arg(long, value_name = "TEXT")]
    pub(super) user: Vec<String>,
    /// The expected response; once for each turn
    #[arg(long, value_name = "TEXT")]
    pub(super) response: Vec<String>,
    /// The application of the case's session
    #[arg(long, value_name = "NAME")]
    pub(super) app: Option<String>,
    /// Description of the set
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct DemoArgs {
    /// Copy the sample workspace to this folder instead of a temporary one
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

fn parse_stub_mode(text: &str) -> Result<StubMode, String> {
    let names = StubMode::NAMES.map(|(name, _)| name).join(", ");
    let found = StubMode::NAMES.iter().find(|(name, _)| *name == text);
    found.map(|(_, mode)| *mode).ok_or_else(|| format!("write one of {names}"))
}

fn parse_report(text: &str) -> Result<ReportTo, String> {
    let (format, file) = text.split_once('=').ok_or("write FORMAT=FILE, for example json=report.json")?;
    let format = ReportFormat::named(format).ok_or_else(|| {
        let known: Vec<&str> = ReportFormat::ALL.iter().map(|format| format.name()).collect();
        format!("unknown format {format:?}; the formats are {}", known.join(", "))
    })?;
    if file.is_empty() {
        return Err("the file is missing".into());
    }
    Ok(ReportTo { format, file: PathBuf::from(file) })
}

fn parse_comparison_report(text: &str) -> Result<ReportTo, String> {
    let to = parse_report(text)?;
    match to.format {
        ReportFormat::Json | ReportFormat::Markdown => Ok(to),
        other => Err(format!("a comparison is written as json or markdown, not as {}", other.name())),
    }
}
