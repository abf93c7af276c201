//! The arguments of `evaltrail bisect`.

use super::run_args::parse_stub_mode;
use clap::Args;
use evaltrail_core::domain::StubMode;

/// Find the commit from which on cases pass less often, by running them at commits between a good and a bad one
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  evaltrail bisect desk/basic.evalset.json:late_return --good v1.2
  evaltrail bisect . --filter 'cause:loan_ids' --good HEAD~40      all cases of a cause at once
  evaltrail bisect desk --good v1.2 --path desk --setup 'uv sync'

The cases, criteria and stubs are those of now; the agent is that of each commit, in a worktree of its own. Your checkout and its index are not touched. Outcomes may depend on chance: each step runs the commit that tells most, and the answer is given with its probability. Attempts of earlier runs count where the agent's files are those of the commit. An interrupted search continues with the same command.")]
pub(super) struct BisectArgs {
    /// Eval sets or folders, with :ID for cases
    #[arg(required = true, value_name = "PATH[:CASE]")]
    pub(super) paths: Vec<String>,
    /// A commit at which the cases passed more often
    #[arg(long, value_name = "COMMIT")]
    pub(super) good: String,
    /// A later commit at which they pass less often
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    pub(super) bad: String,
    /// Only the cases that match, as in the explorer: cause:…, status:failed, tool:…
    #[arg(
        long,
        value_name = "FILTER",
        default_value = "",
        hide_default_value = true
    )]
    pub(super) filter: String,
    /// The agent, by name or address [default: that of the set]
    #[arg(long, value_name = "AGENT")]
    pub(super) agent: Option<String>,
    /// What the agent reads, relative to the top folder of the repository: commits that change nothing there are not told apart
    /// (repeatable) [default: everything but files of evaluations]
    #[arg(long, value_name = "PATH")]
    pub(super) path: Vec<String>,
    /// A command to run in each new worktree first, such as 'uv sync'; not interpreted by a shell
    #[arg(long, value_name = "COMMAND")]
    pub(super) setup: Option<String>,
    /// Attempts of each case in each step
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) attempts: u32,
    /// The search ends after so many attempts [default: 300, and at least 20 steps]
    #[arg(long, value_name = "N")]
    pub(super) max_attempts: Option<usize>,
    /// The probability with which the answer must be right
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = parse_confidence)]
    pub(super) confidence: f64,
    /// Concurrent attempts
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) jobs: Option<u32>,
    /// Answer tools from the stubs of the set, and calls without one with: fail (default), error, live or nearest
    #[arg(long, value_name = "UNMATCHED", num_args = 0..=1, default_missing_value = "fail", require_equals = true, value_parser = parse_stub_mode)]
    pub(super) stubs: Option<StubMode>,
    /// Pass this environment variable on to the agent's program (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(super) env: Vec<String>,
    /// Forget what an interrupted search has found
    #[arg(long)]
    pub(super) restart: bool,
    /// Allow what the files of the folder name, at all commits, without asking
    #[arg(long)]
    pub(super) trust: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl BisectArgs {
    /// The number of attempts after which the search ends.
    pub(super) fn most_attempts(&self, cases: usize) -> usize {
        let steps = 20 * cases * self.attempts as usize;
        self.max_attempts.unwrap_or(steps.max(300))
    }
}

fn parse_confidence(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (0.5..1.0).contains(number));
    number.ok_or_else(|| "write a probability from 0.5 to below 1, such as 0.95".to_string())
}
