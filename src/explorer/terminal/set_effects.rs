//! Executes the effects on files of sets, and reads what the workspace says about them.

use crate::explorer::sets::edited_cases::{reevaluated, requested_cases};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::effect::SetEffect;
use crate::explorer::shared::found_drafts::FoundDrafts;
use crate::explorer::shared::message::{Msg, SetMsg};
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::terminal::effects::{EffectExecutor, LoopEvent};
use crate::explorer::terminal::load_sets::{load_set, summarise};
use crate::explorer::terminal::run_request::configured_run;
use crate::explorer::terminal::task_context::TaskContext;
use crate::explorer::terminal::tools;
use evaltrail_core::analysis::MutationKind;
use evaltrail_core::domain::{AgentSpec, EndedAttempt};
use evaltrail_core::formats::SetFile;
use evaltrail_engine::agents::declared_tools;
use evaltrail_engine::runner::{
    DerivedDraftRequest, SetDrafts, add_missing_answers, agent_questions, derive_drafts,
};
use evaltrail_engine::store::{AppFolders, FileEdit, Trust};
use evaltrail_engine::workspace::{SetPath, Workspace, agent_for};
use std::sync::Arc;

impl EffectExecutor {
    pub(crate) fn sets(&mut self, effect: SetEffect) {
        match effect {
            SetEffect::Load { set, ticket } => {
                self.elsewhere(move |context| Some(load_set(context, set, ticket)))
            }
            SetEffect::Rediscover => self.rediscover(),
            SetEffect::Summarise { set, digest, file } => {
                self.after_results(move |_| summarise(set, digest, &file))
            }
            SetEffect::Reevaluate {
                set,
                digest,
                file,
                notes,
                cases,
            } => self.elsewhere(move |_| {
                let results = reevaluated(&file, &notes, &cases);
                Some(Msg::Sets(SetMsg::Reevaluated {
                    set,
                    digest,
                    requested: requested_cases(&cases),
                    results,
                }))
            }),
            SetEffect::CollectTools(set) => self.collect_tools(set),
            SetEffect::ListAgents => self.list_agents(),
            SetEffect::ReadConfigured(ticket, sets) => self.read_configured(ticket, sets),
            SetEffect::FindAnswers(case, attempt) => self.elsewhere(move |context| {
                let found = found_answers(context, case, &attempt);
                Some(Msg::Sets(SetMsg::AnswersFound(found)))
            }),
            SetEffect::FindDrafts { set, file, derives } => self.elsewhere(move |context| {
                let found = found_drafts(context, set, &file, derives);
                Some(Msg::Sets(SetMsg::DraftsFound(set, found)))
            }),
        }
    }

    fn rediscover(&self) {
        let (back, opened, columns) =
            (self.back.clone(), self.opened.clone(), self.columns.clone());
        self.workers.spawn_blocking(move || {
            let arrival = match Workspace::open_with(&opened, &columns) {
                Ok(workspace) => LoopEvent::Workspace(Box::new(workspace)),
                Err(error) => LoopEvent::Msg(Msg::Failed(error.to_string())),
            };
            let _ = back.blocking_send(arrival);
        });
    }

    /// The tools that the sets of the same agent call, and then those that it declares as well, where it may be reached.
    fn collect_tools(&self, set: usize) {
        let (workspace, sets, back) =
            (self.workspace.clone(), self.sets.clone(), self.back.clone());
        self.workers.spawn(async move {
            let of_sets = tokio::task::spawn_blocking(move || {
                let agent = |set: &SetPath| agent_for(&workspace, set, None, None).ok();
                let own = agent(&sets[set]);
                let is_of_agent = |other: &&SetPath| match (&own, agent(other)) {
                    (Some((own, _)), Some((other, _))) => *own == other,
                    (own, other) => own.is_none() && other.is_none(),
                };
                let tools = tools::tools_of_sets(sets.iter().filter(is_of_agent), &sets[set]);
                let spec = own.map(|(_, spec)| spec);
                (tools, spec.filter(|spec| is_allowed(&workspace, spec)))
            });
            let Ok((mut tools, spec)) = of_sets.await else {
                return;
            };
            let _ = back
                .send(LoopEvent::Msg(Msg::Sets(SetMsg::ToolsCollected(
                    set,
                    tools.clone(),
                ))))
                .await;
            let Some(spec) = spec else { return };
            for tool in declared_tools(&spec).await {
                tools.declare(tool);
            }
            let _ = back
                .send(LoopEvent::Msg(Msg::Sets(SetMsg::ToolsCollected(
                    set, tools,
                ))))
                .await;
        });
    }

    /// The agents of the workspace, with what those say that run already and may be contacted.
    fn list_agents(&self) {
        let (workspace, back) = (self.workspace.clone(), self.back.clone());
        self.workers.spawn(async move {
            let agents = tools::agent_lines(&workspace).await;
            let _ = back
                .send(LoopEvent::Msg(Msg::Sets(SetMsg::AgentsListed(agents))))
                .await;
        });
    }

    /// Reads what a run of these sets would use.
    fn read_configured(&self, ticket: Ticket, sets: Vec<(usize, Arc<SetFile>)>) {
        self.elsewhere(move |context| {
            let configured = configured_run(context, &sets);
            Some(Msg::Sets(SetMsg::Configured(ticket, Box::new(configured))))
        });
    }
}

/// Whether what it takes to reach an agent was allowed before.
fn is_allowed(workspace: &Workspace, agent: &AgentSpec) -> bool {
    let trust = Trust::load(AppFolders::find().as_ref());
    agent_questions(workspace, agent)
        .iter()
        .all(|question| trust.allows(&question.fingerprint))
}

/// The change that adds stubs for the calls of an attempt that no stub answered.
fn found_answers(
    context: &TaskContext,
    case: CaseRef,
    attempt: &EndedAttempt,
) -> Result<(String, FileEdit), String> {
    let attempt = attempt.read()?;
    let missing = attempt
        .tool_use
        .as_ref()
        .map_or(&[][..], |tool_use| &tool_use.missing);
    let set = &context.sets[case.set].path;
    let recording = add_missing_answers(&context.workspace, set, &attempt.eval_id, missing)?;
    let job = recording.job.ok_or("nothing would change")?;
    Ok((recording.words, job))
}

/// At most as many drafts are derived at once.
const MAX_DERIVED: usize = 20;

/// The drafts of a set; if there are none, those that can be derived from its cases.
fn found_drafts(
    context: &TaskContext,
    set: usize,
    file: &SetFile,
    derives: bool,
) -> Result<FoundDrafts, String> {
    let path = &context.sets[set];
    let (drafts, _) = SetDrafts::read(&path.path)?.without_stale(file);
    if !derives || drafts.cases().next().is_some() {
        return Ok(FoundDrafts::Listed(Arc::new(drafts)));
    }
    let derived = derive_drafts(&DerivedDraftRequest {
        workspace: &context.workspace,
        set: (path, file),
        sources: None,
        declared: &[],
        kinds: &MutationKind::ALL,
        seed: 0,
        most: MAX_DERIVED,
        existing: &drafts.drafts,
        date: &jiff::Zoned::now().date().to_string(),
    });
    let count = derived.drafts.len();
    Ok(FoundDrafts::Derived(drafts.adding(&derived.drafts), count))
}
