//! The arguments of the command line.

pub(super) use super::arg_values::{ColorWhen, FailOn, ReportTo, RuleArgs};
pub(super) use super::run_args::{CaseArgs, MergeArgs, RunArgs, ScoreArgs};

use super::arg_values::{comparison_report_help, parse_comparison_report, parse_min, parse_waived};
use clap::{Args, Parser, Subcommand, ValueEnum};
use evaltrail_core::analysis::CoverageShare;
use evaltrail_core::formats::ColumnMap;
use std::path::PathBuf;

/// A terminal explorer for agent evaluations.
#[derive(Parser, Debug)]
#[command(
    name = "evaltrail",
    version,
    about = "Explore agent evaluations: which cases failed, where they differ from what is expected, and why",
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  evaltrail demo                       explore a sample workspace
  evaltrail                            explore the eval sets of this folder
  evaltrail run . --agent NAME         run all cases, and report the results
  evaltrail run . --failed             run again what did not pass
  evaltrail help run                   all options of a command

Exit codes: 0 all passed, 1 something failed, errored or was not evaluated, 2 invalid usage or input, or an agent that cannot be used, 130 interrupted."
)]
pub(super) struct Cli {
    /// Folder or file to explore
    pub(super) path: Option<PathBuf>,
    /// Colour theme: default, dark, light, high-contrast, colour-blind, mono, or one from your config.toml
    #[arg(long)]
    pub(super) theme: Option<String>,
    /// Read these columns of data sets as those that evaltrail knows, e.g. prompt=question,reference=answer
    #[arg(long, value_name = "KNOWN=NAME,...", value_parser = ColumnMap::parse, default_value = "", hide_default_value = true)]
    pub(super) columns: ColumnMap,
    #[command(subcommand)]
    pub(super) command: Option<CliCommand>,
}

#[derive(Subcommand, Debug)]
pub(super) enum CliCommand {
    /// Run cases and report the results
    Run(Box<RunArgs>),
    /// Score the responses that are saved in the files, without running an agent
    Score(Box<ScoreArgs>),
    /// List eval sets, cases, agents and the latest results
    List(ListArgs),
    /// List the agents of a folder, or check whether one answers
    #[command(args_conflicts_with_subcommands = true, visible_alias = "agent")]
    Agents(AgentsArgs),
    /// Check files for errors, and for what ADK would reject or drop
    Check(CheckArgs),
    /// Show which tools the cases exercise, with which arguments, and what nothing tests
    Coverage(CoverageArgs),
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
    /// Merge the runs of shards (`run --shard`) into one run, and report on it
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

#[derive(Args, Debug)]
pub(super) struct ListArgs {
    /// Folder or file; PATH:id,id lists only these cases
    #[arg(default_value = ".", value_name = "PATH[:ID,ID]")]
    pub(super) path: String,
    /// Read these columns of data sets as those that evaltrail knows, e.g. prompt=question,reference=answer
    #[arg(long, value_name = "KNOWN=NAME,...", value_parser = ColumnMap::parse, default_value = "", hide_default_value = true)]
    pub(super) columns: ColumnMap,
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
    /// Read these columns of data sets as those that evaltrail knows, e.g. prompt=question,reference=answer
    #[arg(long, value_name = "KNOWN=NAME,...", value_parser = ColumnMap::parse, default_value = "", hide_default_value = true)]
    pub(super) columns: ColumnMap,
    /// Treat what ADK would refuse as an error
    #[arg(long)]
    pub(super) strict: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  evaltrail coverage                                    all agents of this folder
  evaltrail coverage . --min tools=0.9 --require 'pay_*'    for CI: exit code 1 if it is less
  evaltrail coverage . --waive 'debug_*=only for developers'
  evaltrail coverage . --declarations tools.json        tools of an agent whose results do not name them

A number is a number of cases. Expected: the expected side of a case asks for the tool. Called: an attempt of the latest results called it. Passed: an attempt that passed did. The tools that an agent declares are read from --declarations and --ask-agents, else from its results, if they contain them; without declarations nothing is a share of all tools.")]
pub(super) struct CoverageArgs {
    /// Folder or file; PATH:id,id takes only these cases
    #[arg(default_value = ".", value_name = "PATH[:ID,ID]")]
    pub(super) path: String,
    /// Only the cases of this agent
    #[arg(long, value_name = "NAME")]
    pub(super) agent: Option<String>,
    /// Read the tools that the agent declares from this JSON file: ADK's app-info, the tools of an OpenAI request, or MCP's
    /// tools/list (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(super) declarations: Vec<PathBuf>,
    /// Ask agents which tools they declare: servers that run already, and that may be contacted
    #[arg(long)]
    pub(super) ask_agents: bool,
    /// Demand a share, e.g. tools=0.9; the shares are tools, called, passed, arguments and pairs (repeatable)
    #[arg(long, value_name = "SHARE=NUMBER", value_parser = parse_min)]
    pub(super) min: Vec<(CoverageShare, f64)>,
    /// Demand that a case expects each tool whose name matches, with * and ? (repeatable)
    #[arg(long, value_name = "TOOLS")]
    pub(super) require: Vec<String>,
    /// Leave tools out of every share, with the reason (repeatable)
    #[arg(long, value_name = "TOOLS=REASON", value_parser = parse_waived)]
    pub(super) waive: Vec<(String, String)>,
    /// Read these columns of data sets as those that evaltrail knows, e.g. prompt=question,reference=answer
    #[arg(long, value_name = "KNOWN=NAME,...", value_parser = ColumnMap::parse, default_value = "", hide_default_value = true)]
    pub(super) columns: ColumnMap,
    /// Print the coverage as JSON, with the cases behind each number
    #[arg(long)]
    pub(super) json: bool,
    /// Print the coverage as Markdown
    #[arg(long, conflicts_with_all = ["json", "html"])]
    pub(super) markdown: bool,
    /// Print the coverage as one HTML page
    #[arg(long, conflicts_with = "json")]
    pub(super) html: bool,
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

#[derive(Subcommand, Debug)]
pub(super) enum AgentsCommand {
    /// Connect to an agent, and print what it says about itself and does with a prompt
    Check(AgentCheckArgs),
    /// Find out what an agent is, show one turn, and add it to evaltrail.toml
    Init(AgentInitArgs),
}

#[derive(Args, Debug)]
pub(super) struct AgentInitArgs {
    /// Address of a server, MODULE:NAME or FILE.py:NAME of a Python object, or folder of an agent of ADK or LangGraph
    #[arg(value_name = "URL|MODULE:NAME|FOLDER")]
    pub(super) target: String,
    /// Folder whose evaltrail.toml gets the entry
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// Name of the agent; by default its own
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Message to send for the turn that is shown
    #[arg(long, value_name = "TEXT", default_value = "Hello")]
    pub(super) prompt: String,
    /// Print the entry and the turn, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Allow the program of the agent without asking
    #[arg(long)]
    pub(super) trust: bool,
}

#[derive(Args, Debug)]
pub(super) struct AgentCheckArgs {
    /// The agent, by name or address
    pub(super) agent: String,
    /// Folder with the agent's configuration
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// Message to send; prints the calls and the response, and for a template the value that each path found
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
    /// Read these columns of data sets as those that evaltrail knows, e.g. prompt=question,reference=answer
    #[arg(long, value_name = "KNOWN=NAME,...", value_parser = ColumnMap::parse, default_value = "", hide_default_value = true)]
    pub(super) columns: ColumnMap,
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
    /// Folder, or the address of --push, whose shards are listed
    #[arg(default_value = ".")]
    pub(super) folder: PathBuf,
    /// List only the newest N
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<usize>,
    /// Keep listing the shards at an address until all are complete
    #[arg(long, conflicts_with = "json")]
    pub(super) watch: bool,
    /// Print the list as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand, Debug)]
pub(super) enum RunsAction {
    /// Keep a run when old ones are removed, and make it the baseline that later runs are compared with
    Pin(OneRunArgs),
    /// Unpin a run: later runs are no longer compared with it, and it may be removed as an old one
    Unpin(OneRunArgs),
    /// Name a run; without NAME, remove its name
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
    /// Replace the file if it exists
    #[arg(long)]
    pub(super) force: bool,
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
    #[arg(long, help = comparison_report_help(), value_name = "FORMAT=FILE", value_parser = parse_comparison_report)]
    pub(super) report: Vec<ReportTo>,
    /// Exit with 1 if a case broke, or a case that passed is removed (`broke,removed` for both)
    #[arg(long, value_enum, value_name = "WHAT,...", value_delimiter = ',')]
    pub(super) fail_on: Vec<FailOn>,
    #[command(flatten)]
    pub(super) rule: RuleArgs,
    /// The folder of the runs
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
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
    Intermediate,
    Response,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  evaltrail capture session.json --into lights.evalset.json:night_routine
  evaltrail capture traces.json --case c1 --turns 2- --into lights.evalset.json:after_dark
  evaltrail capture --best 20 traces/*.json --into lights.evalset.json

With --best, a conversation adds something if no case of the same agent in the folder of the file has it: a tool that is called, how its calls end, a class of values of an argument, two tools one after the other, the sequence of all calls, a transfer, a key of the initial state. What the agent did becomes what is expected: check the new cases, or run them.")]
pub(super) struct CaptureArgs {
    /// run:RUN, http://HOST:PORT/apps/APP/users/USER/sessions/ID, or a file: a session of ADK, a list of messages, a
    /// recording, or a trace (OTLP or Jaeger JSON); several with --best
    #[arg(required = true, value_name = "SOURCE")]
    pub(super) sources: Vec<String>,
    /// The file, and the id of the new case; with --best only the file
    #[arg(long, value_name = "FILE:CASE")]
    pub(super) into: String,
    /// Which case of the run or recording, or which conversation of the trace
    #[arg(long, value_name = "ID")]
    pub(super) case: Option<String>,
    /// The turns to save: 2, 1-3 or 2-
    #[arg(long, value_name = "RANGE")]
    pub(super) turns: Option<String>,
    /// Save at most N conversations, those that together add the most to what the cases cover
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["case", "turns"])]
    pub(super) best: Option<u32>,
    /// Read the tools that the agent declares from this JSON file, to know the classes of their arguments (repeatable; see
    /// `evaltrail help coverage`)
    #[arg(long, value_name = "FILE", requires = "best")]
    pub(super) declarations: Vec<PathBuf>,
    /// Leave out turns that have no user message
    #[arg(long)]
    pub(super) user_turns_only: bool,
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
    #[arg(long, conflicts_with_all = ["undo", "redo"])]
    pub(super) dry_run: bool,
    /// Undo the last edit of the file, or of the criteria, notes or stubs beside it
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
