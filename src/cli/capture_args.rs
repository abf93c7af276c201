//! The arguments of `evaltrail capture`.

use clap::Args;
use std::path::PathBuf;

/// Save a conversation from a run, an ADK session, a recording or a trace as a case
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
