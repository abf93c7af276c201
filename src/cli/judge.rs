//! `evaltrail judge`: checks whether the judge is available, and whether its verdicts on prepared responses are right.

use super::Exit;
use super::addresses::copy_at;
use super::calibrate::{CalibrateArgs, calibrate};
use super::output::{print_line, print_note};
use super::subcommand::CliCommand;
use super::trust;
use clap::{Args, Subcommand};
use evaltrail_core::domain::{JudgeSpec, clean_line};
use evaltrail_core::metrics::JudgeOptions;
use evaltrail_engine::judge::{JudgeCheckResult, JudgeGrant, Judges};
use evaltrail_engine::runner::{allowed_destinations, judge_questions, missing_keys};
use evaltrail_engine::store::{AppFolders, JudgeResponseCache};
use evaltrail_engine::workspace::Workspace;
use std::path::PathBuf;
use std::time::Instant;

/// Check the judge: model, latency, and whether planted verdicts mislead it
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct JudgeArgs {
    #[command(subcommand)]
    pub(super) about: Option<JudgeCommand>,
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

/// What else is asked about the judge.
#[derive(Subcommand, Debug)]
pub(super) enum JudgeCommand {
    Calibrate(CalibrateArgs),
}

impl CliCommand for JudgeArgs {
    const NAME: &'static str = "judge";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        match &mut self.about {
            Some(JudgeCommand::Calibrate(args)) => copy_at(&mut args.path),
            None => copy_at(&mut self.path),
        }
    }

    fn run(self) -> anyhow::Result<Exit> {
        match &self.about {
            Some(JudgeCommand::Calibrate(args)) => calibrate(args),
            None => judge(self),
        }
    }
}

pub(super) fn judge(args: JudgeArgs) -> anyhow::Result<Exit> {
    let answers =
        AppFolders::find().map(|app_folders| JudgeResponseCache::below(app_folders.answers()));
    if args.forget {
        let count = answers.map_or(Ok(0), |answers| answers.clear())?;
        print_line(&format!("deleted {count} cached responses of judges"));
        return Ok(Exit::Success);
    }
    let workspace = Workspace::open(&args.path)?;
    let configured = workspace
        .config
        .judge
        .clone()
        .unwrap_or_else(JudgeSpec::standard);
    // No cache: the check is about the judge's current responses.
    let spec = JudgeSpec {
        cache: false,
        ..configured.with_choice(args.judge, None)
    };
    let judges = Judges::new(&spec, None);
    let model = judges.model_for(&JudgeOptions::default());
    let questions = judge_questions(&workspace, &spec, std::slice::from_ref(&model));
    if !trust::allowed(&questions, args.trust)? {
        return Ok(Exit::UsageError);
    }
    let folders = workspace
        .agents
        .iter()
        .map(|agent| agent.path.clone())
        .chain([workspace.root.clone()]);
    let offer = missing_keys(&workspace, &spec, std::slice::from_ref(&model), folders);
    let keys = offer
        .map(|offer| trust::allowed_keys(offer, args.trust))
        .transpose()?;
    let grant = JudgeGrant {
        destinations: allowed_destinations(&questions),
        keys: keys.unwrap_or_default(),
    };
    let judges = judges.with_grant(grant);
    if judges.is_replay() {
        print_line("the judge is a recording; there is no model to check");
        return Ok(Exit::Success);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(describe(&judges, &model))
}

async fn describe(judges: &Judges, model: &str) -> anyhow::Result<Exit> {
    if let Err(error) = judges.probe(model).await {
        print_note(&format!(
            "{}: {}",
            clean_line(model),
            clean_line(&error.message)
        ));
        return Ok(Exit::UsageError);
    }
    let began = Instant::now();
    let probed = judges.canary(&mut ()).await;
    let each = began.elapsed().as_secs_f64() / probed.len().max(1) as f64;
    print_line(&format!("{}  {each:.2} s per response", clean_line(model)));
    if let Some(words) = judges.form_text(model) {
        print_line(words);
    }
    if let Some(limit) = judges.spec().spending_limit {
        print_line(&format!("spending limit {limit} per run"));
    }
    print_line("\nverdicts on prepared responses:");
    probed.iter().for_each(|probed| {
        print_line(&line(probed));
    });
    let wrong = probed.iter().filter(|probed| !probed.is_fine()).count();
    match wrong {
        0 => print_line("\nno verdict is wrong"),
        count => print_line(&format!(
            "\n{count} of {} responses did not get the right verdict",
            probed.len()
        )),
    };
    Ok(if wrong == 0 {
        Exit::Success
    } else {
        Exit::Failures
    })
}

fn line(probed: &JudgeCheckResult) -> String {
    let sign = if probed.is_fine() { "✓" } else { "✗" };
    let found = match probed.found {
        Some(true) => "valid",
        Some(false) => "invalid",
        None => "no verdict",
    };
    let why = if probed.is_fine() {
        String::new()
    } else {
        format!("  {}", clean_line(&probed.why))
    };
    format!("  {sign} {:<32} {found}{why}", probed.probe.name)
}
