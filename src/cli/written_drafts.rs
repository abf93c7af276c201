//! `evaltrail generate --model`: has a model write drafts for what no case tests.

use super::Exit;
use super::coverage::read_declarations;
use super::generate_args::GenerateArgs;
use super::interrupts::Interrupts;
use super::open_drafts::{OpenDrafts, draft_lines};
use super::output::{print_line, print_note, print_progress};
use super::trust;
use anyhow::bail;
use evaltrail_core::analysis::{Declarations, PlanFocus};
use evaltrail_core::domain::{
    JudgeSpec, JudgeUsage, clean_line, counted, did_you_mean, score_text,
};
use evaltrail_core::metrics::JudgeOptions;
use evaltrail_engine::agents::probe_server;
use evaltrail_engine::config::is_agent_address;
use evaltrail_engine::judge::{JudgeGrant, Judges};
use evaltrail_engine::report::shell_word;
use evaltrail_engine::runner::{
    DraftPlan, DraftPlanRequest, SetDrafts, ToolSource, WritingOptions, WrittenDrafts,
    agent_questions, allowed_destinations, missing_keys, plan_drafts, write_planned_drafts,
    writer_questions,
};
use evaltrail_engine::store::{AppFolders, JudgeResponseCache};
use evaltrail_engine::workspace::{Workspace, agent_named};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The time limit for the agent to say which tools it has, in addition to the start of its server.
const DESCRIBES_WITHIN: Duration = Duration::from_secs(30);
/// Planned drafts and reasons that are printed.
const SHOWN: usize = 40;

/// Plans drafts, has the model write them, and stores them beside the set.
pub(super) fn write_drafts(
    args: &GenerateArgs,
    model: &str,
    open: &OpenDrafts,
) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut declared = read_declarations(&args.declarations)?;
    let mut about = String::new();
    if let Some(agent) = &args.agent {
        let Some(described) = runtime.block_on(described_agent(args, agent, &open.workspace))?
        else {
            return Ok(Exit::UsageError);
        };
        declared.extend(described.tools);
        about = described.about;
    }
    let plan = plan_drafts(&DraftPlanRequest {
        workspace: &open.workspace,
        set: (&open.set, &open.file),
        agent: args
            .agent
            .as_deref()
            .filter(|agent| !is_agent_address(agent)),
        declared: &declared,
        focus: &args.focus,
        most: args.count as usize,
        seed: args.seed,
        existing: &open.drafts.drafts,
    });
    for note in &plan.notes {
        print_note(&clean_line(note));
    }
    if plan.declared.tools.is_empty() {
        bail!(
            "no tools of the agent are known: --agent NAME asks the agent for them, --declarations FILE reads them from a file"
        );
    }
    if let PlanFocus::Tool(tool) = &args.focus
        && !plan.declared.tools.contains_key(tool)
    {
        let meant = did_you_mean(tool, plan.declared.tools.keys());
        bail!("--for: the agent declares no tool {tool:?}{meant}");
    }
    if plan.planned.is_empty() {
        print_note("nothing is left to plan: cases or drafts exist for all that was found");
        return Ok(Exit::Success);
    }
    print_plan(&plan);
    if args.dry_run {
        print_note("no model was asked and nothing was written, because of --dry-run");
        return Ok(Exit::Success);
    }
    let Some(judges) = permitted_model(args, model, &open.workspace)? else {
        return Ok(Exit::UsageError);
    };
    let model = judges.model_for(&JudgeOptions::default());
    let written = runtime.block_on(write_until_interrupted(
        plan,
        args,
        (&judges, &model),
        &about,
    ))?;
    store(open, &written)
}

/// What an agent says about itself.
struct DescribedAgent {
    tools: Option<ToolSource>,
    about: String,
}

/// Asks an agent for its tools, after the permission to start or to contact it. `None` if that is not given.
async fn described_agent(
    args: &GenerateArgs,
    agent: &str,
    workspace: &Workspace,
) -> anyhow::Result<Option<DescribedAgent>> {
    let (name, spec) = agent_named(workspace, agent)?;
    let questions = agent_questions(workspace, &spec);
    if !is_agent_address(agent) && !trust::allowed(&questions, args.trust)? {
        return Ok(None);
    }
    let description = match probe_server(&spec, DESCRIBES_WITHIN).await {
        Ok(description) => description,
        Err(error) => bail!("{name}: {}", error.message),
    };
    let mut declarations = Declarations::default();
    // It names the agents as well.
    declarations.add(&description.app_info);
    for tool in &description.tools {
        declarations.add_tool(&tool.name, tool.schema.as_ref());
        declarations.describe_tool(&tool.name, &tool.description);
    }
    Ok(Some(DescribedAgent {
        tools: (!declarations.tools.is_empty()).then(|| ToolSource {
            agent: None,
            source: format!("the agent {name}"),
            declarations,
        }),
        about: description.purpose(),
    }))
}

/// What is planned, a line for each.
fn print_plan(plan: &DraftPlan) {
    let width = plan.planned.iter().map(|one| one.gap.name().len()).max();
    for planned in plan.planned.iter().take(SHOWN) {
        let kind = format!("{:1$}", planned.gap.name(), width.unwrap_or(0));
        print_line(&format!("{kind}  {}", clean_line(&planned.describe())));
    }
    if plan.planned.len() > SHOWN {
        print_line(&format!("… {} more", plan.planned.len() - SHOWN));
    }
    let planned = plan.planned.len();
    print_note(&format!(
        "{} planned, beside {} of the agent; {} to {} requests to the model",
        counted(planned, "case"),
        counted(plan.cases, "case"),
        planned * 2,
        planned * 4,
    ));
}

/// The model, with what the user allowed. `None` if the permission is missing.
fn permitted_model(
    args: &GenerateArgs,
    model: &str,
    workspace: &Workspace,
) -> anyhow::Result<Option<Judges>> {
    let configured = workspace.config.judge.clone();
    let configured = configured.unwrap_or_else(JudgeSpec::standard);
    let spec = configured.with_choice(Some(model.to_string()), None);
    let answers = AppFolders::find().map(|folders| JudgeResponseCache::below(folders.answers()));
    let judges = Judges::new(&spec, answers);
    let models = [judges.model_for(&JudgeOptions::default())];
    let questions = writer_questions(workspace, &spec, &models);
    if !trust::allowed(&questions, args.trust)? {
        return Ok(None);
    }
    let folders = workspace.agents.iter().map(|agent| agent.path.clone());
    let offer = missing_keys(
        workspace,
        &spec,
        &models,
        folders.chain([workspace.root.clone()]),
    );
    let keys = offer.map(|offer| trust::allowed_keys(offer, args.trust));
    Ok(Some(judges.with_grant(JudgeGrant {
        destinations: allowed_destinations(&questions),
        keys: keys.transpose()?.unwrap_or_default(),
    })))
}

/// Has the model write the drafts. Ctrl-C ends that; what was written until then is kept.
async fn write_until_interrupted(
    plan: DraftPlan,
    args: &GenerateArgs,
    (judges, model): (&Judges, &str),
    about_agent: &str,
) -> anyhow::Result<WrittenDrafts> {
    if let Err(error) = judges.probe(model).await {
        bail!("{}: {}", clean_line(model), clean_line(&error.message));
    }
    let ends = CancellationToken::new();
    let mut interrupts = Interrupts::listen()?;
    let total = plan.planned.len();
    let date = jiff::Zoned::now().date().to_string();
    let options = WritingOptions {
        judges,
        model,
        about_agent,
        language: &args.language,
        seed: args.seed,
        date: &date,
        ends: &ends,
    };
    let show = |done: usize| {
        let text = format!("{done} of {} written", counted(total, "planned case"));
        print_progress(&text, done == total);
    };
    show(0);
    let mut writing = std::pin::pin!(write_planned_drafts(plan, options, show));
    loop {
        tokio::select! {
            written = &mut writing => return Ok(written),
            _ = interrupts.next() => ends.cancel(),
        }
    }
}

/// Stores the drafts beside the set, and prints them with what became of the others.
fn store(open: &OpenDrafts, written: &WrittenDrafts) -> anyhow::Result<Exit> {
    for (about, why) in written.reasons.iter().take(SHOWN) {
        print_note(&clean_line(&format!("left out: {about}: {why}")));
    }
    for line in draft_lines(&written.drafts.iter().collect::<Vec<_>>()) {
        print_line(&line);
    }
    print_note(&summary(written));
    if let Some(why) = &written.stopped {
        print_note(&clean_line(&format!("stopped: {why}")));
    }
    let exit = match (written.interrupted, &written.stopped) {
        (true, _) => Exit::Interrupted,
        (false, Some(_)) => Exit::UsageError,
        (false, None) => Exit::Success,
    };
    if written.drafts.is_empty() {
        return Ok(exit);
    }
    let words = format!("generate {}", counted(written.drafts.len(), "draft"));
    // The file may have changed while the model wrote.
    let now = SetDrafts::read(&open.set.path).map_err(anyhow::Error::msg)?;
    open.make(&words, &[now.adding_new(&written.drafts)])?;
    let file = shell_word(&open.set.path.display().to_string());
    print_note(&format!(
        "they are in {}; `evaltrail drafts {file}:ID` shows one, `evaltrail drafts {file} --verify` runs the agent with them",
        open.shown_path()
    ));
    Ok(exit)
}

/// How many drafts were asked for and kept, why others were not, and what that cost.
fn summary(written: &WrittenDrafts) -> String {
    let refused: usize = written.refused.values().sum();
    let asked = written.drafts.len() + refused;
    let reasons: Vec<String> = written
        .refused
        .iter()
        .map(|(label, count)| format!("{count} {label}"))
        .collect();
    let reasons = match reasons.is_empty() {
        true => String::new(),
        false => format!("; left out: {}", reasons.join(", ")),
    };
    format!(
        "asked for {asked}, kept {}{reasons} · {}",
        written.drafts.len(),
        cost(&written.spent)
    )
}

/// The number of requests, and the cost if prices are configured.
fn cost(spent: &JudgeUsage) -> String {
    let requests = counted(spent.asked as usize, "request");
    let cached = match spent.cached {
        0 => String::new(),
        cached => format!(", {cached} answered from the cache"),
    };
    let cost = spent
        .cost
        .map(|cost| format!(", cost {}", score_text(cost)));
    format!("{requests}{cached}{}", cost.unwrap_or_default())
}
