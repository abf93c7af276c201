//! `evaltrail run` and `evaltrail score` as subcommands.

use super::Exit;
use super::addresses::copy_case_inputs;
use super::adk_eval_arguments::with_agent;
use super::args::{RunArgs, ScoreArgs};
use super::run::{run, score};
use super::subcommand::CliCommand;
use super::watch::run_and_watch;

impl CliCommand for RunArgs {
    const NAME: &'static str = "run";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_case_inputs(&mut self.cases)
    }

    fn run(self) -> anyhow::Result<Exit> {
        let args = with_agent(self);
        if args.watch {
            run_and_watch(&args)
        } else {
            run(&args)
        }
    }
}

impl CliCommand for ScoreArgs {
    const NAME: &'static str = "score";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_case_inputs(&mut self.cases)
    }

    fn run(self) -> anyhow::Result<Exit> {
        score(self)
    }
}
