//! The arguments of `run` and `score`, and of what follows them.

use super::arg_values::{ColorWhen, ReportTo, RuleArgs, RunFailOn, parse_report, report_help};
use super::output::{is_output_redirected, paint};
use clap::Args;
use evaltrail_core::domain::{Gate, Repeats, StubMode, ToolFault};
use evaltrail_core::formats::ColumnMap;
use evaltrail_engine::config::ShardChoice;
use evaltrail_engine::report::{SummaryStyle, Verbosity};
use std::path::PathBuf;
use std::time::Duration;

// The headings of the help, in the order in which they are shown.
const AGENT: &str = "Agent";
const EXECUTION: &str = "Execution";
const CASES: &str = "Which cases";
const CRITERIA: &str = "Criteria and judges";
const OUTPUT: &str = "Output";
const RESULT: &str = "Result of the command";
const MACHINES: &str = "Several machines";

const RUN_EXAMPLES: &str = "Examples:
  evaltrail run garden                                 all cases of a folder
  evaltrail run garden/weekend.evalset.json:greeting   one case
  evaltrail run . --agent adk+http://localhost:8000/garden --repeat 5
  evaltrail run . --failed                             what did not pass before
  evaltrail run . --report html=report.html --fail-on broke";

const SCORE_EXAMPLES: &str = "Examples:
  evaltrail score answers.jsonl
  evaltrail score answers.csv --columns prompt=question,response=answer,reference=expected
  evaltrail score . --metric rouge_l_sum,bleu --report html=report.html";

/// The arguments that `run` and `score` share.
#[derive(Args, Debug)]
pub(super) struct CaseArgs {
    /// Files or folders; PATH:id,id selects only these cases; - is standard input
    #[arg(required = true, value_name = "PATH[:ID,ID]")]
    pub(super) paths: Vec<String>,
    /// Only cases whose latest result is not a pass, or that did not pass in RUN
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, default_missing_value = "", help_heading = CASES)]
    pub(super) failed: Option<String>,
    /// Only cases without a result, or that changed since: the case, the criteria or the agent's files
    #[arg(long, conflicts_with = "failed", help_heading = CASES)]
    pub(super) changed: bool,
    /// Only cases that match this filter, e.g. 'tool:set_light -tag:slow'
    #[arg(
        long,
        value_name = "QUERY",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true, help_heading = CASES)]
    pub(super) filter: String,
    /// Only the cases with the ids in this file, a JSON array of texts; - is standard input
    #[arg(long, value_name = "FILE", help_heading = CASES, hide_short_help = true)]
    pub(super) ids: Option<PathBuf>,
    /// Read these columns of data sets as those that evaltrail knows, e.g. prompt=question,reference=answer
    #[arg(long, value_name = "KNOWN=NAME,...", value_parser = ColumnMap::parse, default_value = "", hide_default_value = true, help_heading = CASES, hide_short_help = true)]
    pub(super) columns: ColumnMap,
    /// ADK's initial session file: the session of cases that name none
    #[arg(long, value_name = "FILE", alias = "initial_session_file", help_heading = CASES, hide_short_help = true)]
    pub(super) initial_session: Option<PathBuf>,
    /// File of criteria, in the format of ADK's test_config.json
    #[arg(long, value_name = "FILE", alias = "config_file_path", help_heading = CRITERIA)]
    pub(super) config: Option<PathBuf>,
    /// Additional metrics, with their default options
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = CRITERIA)]
    pub(super) metric: Vec<String>,
    /// Judge model, instead of the configured one: gemini-2.5-flash, openai/gpt-5, ollama/…
    #[arg(long, value_name = "MODEL", help_heading = CRITERIA)]
    pub(super) judge: Option<String>,
    /// Number of judge samples, for criteria that do not specify it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = CRITERIA, hide_short_help = true)]
    pub(super) samples: Option<u32>,
    /// Do not use cached responses of the judge
    #[arg(long, help_heading = CRITERIA, hide_short_help = true)]
    pub(super) no_cache: bool,
    /// Maximum number of attempts that run at the same time [default: 4]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = EXECUTION)]
    pub(super) jobs: Option<u32>,
    /// Allow the programs and addresses in the workspace's files, and keys from .env, without asking
    #[arg(long, help_heading = EXECUTION)]
    pub(super) trust: bool,
    /// Print only what did not pass, and why
    #[arg(short, long, help_heading = OUTPUT)]
    pub(super) quiet: bool,
    /// Print each attempt with its scores, and the expected and actual response and calls of each turn
    #[arg(short, long, help_heading = OUTPUT)]
    pub(super) verbose: bool,
    #[arg(long, help = report_help(), value_name = "FORMAT=FILE", value_parser = parse_report, help_heading = OUTPUT)]
    pub(super) report: Vec<ReportTo>,
    /// Print the JSON report, and nothing else, on standard output
    #[arg(long, help_heading = OUTPUT)]
    pub(super) json: bool,
    /// Indent the JSON report that is written to a file
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(super) pretty: bool,
    /// Replace secrets and the paths of folders in the reports, as `evaltrail export` does
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(super) redact: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto, help_heading = OUTPUT, hide_short_help = true)]
    pub(super) color: ColorWhen,
    /// Print annotations for GitHub Actions, and append the Markdown report to $GITHUB_STEP_SUMMARY
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(super) github: bool,
    /// Exit with 1 only if a case broke since the baseline (`evaltrail runs pin`), one that passed is removed, or cases fail for a new cause
    #[arg(
        long,
        value_enum,
        value_name = "WHAT,...",
        value_delimiter = ',',
        conflicts_with = "max_failures", help_heading = RESULT)]
    pub(super) fail_on: Vec<RunFailOn>,
    /// Exit with 0 if at most N attempts did not pass
    #[arg(long, value_name = "N", help_heading = RESULT, hide_short_help = true)]
    pub(super) max_failures: Option<usize>,
    #[command(flatten, next_help_heading = RESULT)]
    pub(super) rule: RuleArgs,
    /// Only this part of the cases: K/N, or auto, which takes it from the scheduler's environment
    #[arg(long, value_name = "K/N[:slice|hash|time]", value_parser = evaltrail_engine::config::parse_shard, conflicts_with = "fail_on", help_heading = MACHINES, hide_short_help = true)]
    pub(super) shard: Option<ShardChoice>,
    /// Upload the run, while it runs, to gs://, s3://, az:// or a shared folder, as one shard if no other is given
    #[arg(long, value_name = "URL|FOLDER", conflicts_with_all = ["fail_on"], help_heading = MACHINES, hide_short_help = true)]
    pub(super) push: Option<PathBuf>,
    /// Take the cases one by one from a queue in gs://, s3://, az:// or a shared folder, with other machines
    #[arg(long, value_name = "URL|FOLDER", conflicts_with_all = ["shard", "push", "fail_on"], help_heading = MACHINES, hide_short_help = true)]
    pub(super) queue: Option<PathBuf>,
    /// Time without a heartbeat after which another machine takes over (for --push and --queue)
    #[arg(long, value_name = "TIME", value_parser = evaltrail_engine::config::parse_duration, default_value = "2m", help_heading = MACHINES, hide_short_help = true)]
    pub(super) lease: Duration,
}

impl CaseArgs {
    /// How the summary is printed. In a log, and where nothing else says why cases failed, all of them are listed.
    pub(super) fn style(&self) -> SummaryStyle {
        let verbosity = self.verbosity();
        SummaryStyle {
            paint: paint(self.color),
            verbosity,
            lists_all: verbosity != Verbosity::Normal || is_output_redirected(),
        }
    }

    pub(super) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }
}

/// Score the responses that are saved in the files, without running an agent
#[derive(Args, Debug)]
#[command(after_help = SCORE_EXAMPLES)]
pub(super) struct ScoreArgs {
    #[command(flatten)]
    pub(super) cases: CaseArgs,
}

/// Run cases and report the results
#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub(super) struct RunArgs {
    /// Agent by name or address: adk+http://HOST:PORT/APP, a2a+http://HOST:PORT, python:MODULE:NAME, cmd:./program …; docs/agents.md lists all
    #[arg(long, value_name = "NAME|URI", help_heading = AGENT)]
    pub(super) agent: Option<String>,
    /// Environment variable to pass to agents that are started (repeatable)
    #[arg(long, value_name = "NAME", help_heading = AGENT, hide_short_help = true)]
    pub(super) env: Vec<String>,
    /// Number of attempts of each case [default: 1], or until=RATE[,max=N]: until it is known whether its pass rate is at least RATE
    #[arg(long, value_name = "N|until=RATE", value_parser = Repeats::parse, help_heading = EXECUTION)]
    pub(super) repeat: Option<Repeats>,
    /// When a case with several attempts passes: all (default), mean (of each score, like ADK), a share such as 0.8, or until=RATE
    #[arg(long, value_name = "all|mean|RATE", value_parser = Gate::parse, help_heading = EXECUTION, hide_short_help = true)]
    pub(super) gate: Option<Gate>,
    /// Time limit of one attempt, e.g. 90s, 2m [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = evaltrail_engine::config::parse_duration, help_heading = AGENT, hide_short_help = true)]
    pub(super) timeout: Option<Duration>,
    /// Maximum number of retries when an agent is not available [default: 2]
    #[arg(long, value_name = "N", help_heading = AGENT, hide_short_help = true)]
    pub(super) retries: Option<u32>,
    /// Maximum number of attempts started per minute, for agents with a rate limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = AGENT, hide_short_help = true)]
    pub(super) rate: Option<u32>,
    /// Run only this turn of each case, after the expected turns before it
    #[arg(long, value_name = "K", help_heading = CASES, hide_short_help = true)]
    pub(super) turn: Option<u32>,
    /// Resume the newest unfinished run of this selection, or the cases of RUN
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["push", "queue"], help_heading = EXECUTION)]
    pub(super) resume: Option<String>,
    /// Run cases again when they, the criteria or the agent's files change; asks before long or paid runs
    #[arg(long, conflicts_with_all = ["json", "resume", "record", "github", "filter", "ids", "shard", "push", "queue"], help_heading = EXECUTION)]
    pub(super) watch: bool,
    /// Answer tools from stubs, and calls without one with: fail (default), error, live or nearest; off runs the tools
    #[arg(long, value_name = "UNMATCHED", num_args = 0..=1, default_missing_value = "fail", require_equals = true,
          value_parser = parse_stub_mode, help_heading = AGENT)]
    pub(super) stubs: Option<StubMode>,
    /// Make tools fail: 'book_*=timeout:30s', search=error:503 or get=empty (repeatable)
    #[arg(long, value_name = "TOOL=FAULT", value_parser = evaltrail_engine::config::parse_tool_fault, help_heading = AGENT, hide_short_help = true)]
    pub(super) tool_fault: Vec<ToolFault>,
    /// Record what tools answer as stubs, in the file SET.tools.jsonl beside each set
    #[arg(long, conflicts_with_all = ["tool_fault", "watch"], help_heading = AGENT, hide_short_help = true)]
    pub(super) record_tools: bool,
    /// Record what the agent does in a file that `replay:` can replay
    #[arg(long, value_name = "FILE", help_heading = AGENT, hide_short_help = true)]
    pub(super) record: Option<PathBuf>,
    /// Stop starting attempts once N attempts have not passed
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1", require_equals = true,
          value_parser = clap::value_parser!(u64).range(1..), help_heading = EXECUTION, hide_short_help = true)]
    pub(super) fail_fast: Option<u64>,
    #[command(flatten)]
    pub(super) cases: CaseArgs,
}

/// Merge the runs of shards (`run --shard`) into one run, and report on it
#[derive(Args, Debug)]
pub(super) struct MergeArgs {
    /// Where the runs of shards are: the address of --push, or folders that contain them, such as .evaltrail/runs
    #[arg(required = true)]
    pub(super) paths: Vec<PathBuf>,
    /// Folder in whose .evaltrail the merged run is stored: that of the eval sets
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(super) into: PathBuf,
    #[arg(long, help = report_help(), value_name = "FORMAT=FILE", value_parser = parse_report)]
    pub(super) report: Vec<ReportTo>,
    /// Print the JSON report, and nothing else, on standard output
    #[arg(long)]
    pub(super) json: bool,
    /// Indent the JSON report that is written to a file
    #[arg(long)]
    pub(super) pretty: bool,
    /// Exit with 0 if at most N attempts did not pass; missing ones still exit with 1
    #[arg(long, value_name = "N")]
    pub(super) max_failures: Option<usize>,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto)]
    pub(super) color: ColorWhen,
}

pub(super) fn parse_stub_mode(text: &str) -> Result<StubMode, String> {
    let names = StubMode::NAMES.map(|(name, _)| name).join(", ");
    let found = StubMode::NAMES.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, mode)| *mode)
        .ok_or_else(|| format!("write one of {names}"))
}
