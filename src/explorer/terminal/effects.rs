//! Executes effects on tasks and blocking threads; their results come back as messages.

use crate::explorer::dialogs::causes::changes_for_groups;
use crate::explorer::sets::edited_cases::{reevaluated, requested_cases};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::effect::{
    CaptureTarget, ChatEffect, EditEffect, HistoryEffect, ReadFiles, ResultEffect, RunTarget,
    SetEffect,
};
use crate::explorer::shared::message::{
    ChatMsg, EditMsg, Msg, OpenedSet, ResultMsg, RunMsg, SetLoaded, SetMsg,
};
use crate::explorer::shared::set_view::CaseSummary;
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::shared::watching::CasesToRunAgain;
use crate::explorer::shown_case::body::build_body;
use crate::explorer::terminal::newer_run::NewerRun;
use crate::explorer::terminal::past::{history, trends};
use crate::explorer::terminal::paths::{folder_of, with_home};
use crate::explorer::terminal::run_request::{
    ChosenCase, GivenConsents, configured_run, left_out, prepare,
};
use crate::explorer::terminal::task_context::TaskContext;
use crate::explorer::terminal::{captures, chat, criteria, edits, runs, tools};
use crate::explorer::what_if::rescored;
use evaltrail_core::domain::{AgentSpec, EndedAttempt, SessionInput};
use evaltrail_core::formats::{ColumnMap, SetFile};
use evaltrail_engine::agents::declared_tools;
use evaltrail_engine::runner::{
    self, ChangedCase, CoverageRequest, Run, RunHandle, Selection, TrustQuestion,
    add_missing_answers, agent_questions,
};
use evaltrail_engine::store::{
    AppFolders, EditLog, FileEdit, Trust, read_decisions, read_verdicts, save_decisions,
    save_verdicts,
};
use evaltrail_engine::workspace::{
    SetPath, Watch, Workspace, agent_for, open_set, read_notes, stubs_text,
};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;

/// How long work that is not urgent waits for past results.
const RESULTS_FIRST: Duration = Duration::from_millis(500);
/// What comes back to the loop.
pub(crate) enum LoopEvent {
    /// A message for the model.
    Msg(Msg),
    /// What the folder holds now.
    Workspace(Box<Workspace>),
    /// Changed files are reported for as long as this is held.
    Watching(Watch),
    /// Changed results are reported for as long as this is held.
    WatchingResults(Watch),
    /// A run in motion: the loop listens to it.
    Run(Box<Run>),
}

/// Executes effects.
pub(crate) struct EffectExecutor {
    /// The threads on which tasks run.
    pub(crate) workers: Handle,
    pub(crate) workspace: Arc<Workspace>,
    /// What was opened: a folder or a file.
    pub(crate) opened: PathBuf,
    /// The columns of data sets that are mapped on the command line.
    pub(crate) columns: ColumnMap,
    /// The sets in the model's order.
    pub(crate) sets: Arc<Vec<SetPath>>,
    /// When the first files were read: what changed since then, before anyone watched, is read again.
    pub(crate) since: SystemTime,
    pub(crate) back: Sender<LoopEvent>,
    pub(crate) run: Option<RunHandle>,
    pub(crate) places: Option<AppFolders>,
    /// Takes the messages to the agent, while a chat is open.
    pub(crate) chat: Option<Sender<String>>,
    /// Cancelled when past results are in the model for the first time.
    pub(crate) results_placed: CancellationToken,
    /// Fingerprints of keys that a person does not want used: not asked about again in this session.
    pub(crate) declined: BTreeSet<String>,
}

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
        }
    }

    pub(crate) fn results(&mut self, effect: ResultEffect) {
        match effect {
            ResultEffect::Rescore {
                ticket,
                change,
                before,
            } => self.elsewhere(move |_| {
                let rescored = Box::new(rescored(&before, &change));
                Some(Msg::Results(ResultMsg::Rescored(ticket, rescored)))
            }),
            ResultEffect::RelaxGroups(ticket, groups) => self.elsewhere(move |_| {
                let changes = changes_for_groups(&groups);
                Some(Msg::Results(ResultMsg::GroupsRelaxed(ticket, changes)))
            }),
            ResultEffect::ReadCoverage(ticket, files) => self.elsewhere(move |context| {
                let covered = runner::coverage_of_workspace(
                    &context.workspace,
                    &CoverageRequest {
                        files: Some(&files),
                        ..CoverageRequest::default()
                    },
                );
                Some(Msg::Results(ResultMsg::CoverageRead(
                    ticket,
                    Arc::new(covered),
                )))
            }),
            ResultEffect::Forget(outcomes) => self.elsewhere(move |_| {
                drop(outcomes);
                None
            }),
            ResultEffect::PlanCriteria(change, sets) => self.elsewhere(move |context| {
                let paths: Vec<&SetPath> = sets
                    .iter()
                    .filter_map(|set| context.sets.get(*set))
                    .collect();
                let planned = criteria::jobs(&context.workspace, &paths, &change);
                let planned = planned.map_err(|error| format!("{error:#}"));
                Some(Msg::Results(ResultMsg::CriteriaPlanned(change, planned)))
            }),
            // At once, as the verdicts below, so that they are written in the order in which they were made.
            ResultEffect::SaveDecisions(decisions) => {
                self.report_if_unsaved(
                    "decisions",
                    save_decisions(&self.workspace.root, &decisions),
                );
            }
            ResultEffect::SaveVerdicts(verdicts) => {
                self.report_if_unsaved("verdicts", save_verdicts(&self.workspace.root, &verdicts));
            }
            ResultEffect::BuildBody(key, compared) => self.elsewhere(move |_| {
                let body = build_body(&compared, key.view);
                Some(Msg::Results(ResultMsg::BodyBuilt(key, Arc::new(body))))
            }),
            ResultEffect::ReadAttempt(key, attempt) => self.elsewhere(move |_| {
                Some(Msg::Results(ResultMsg::AttemptRead(key, attempt.read())))
            }),
            ResultEffect::CompareBaseline(ticket) => self.compare_with_baseline(ticket),
            ResultEffect::ReadTrends(ticket) => self.read_trends(ticket),
            ResultEffect::ReadDecisions(ticket) => self.read_decisions(ticket),
            ResultEffect::ReadVerdicts(ticket) => self.read_verdicts(ticket),
            ResultEffect::ReadAgain(ticket, files) => self.read_history(ticket, files),
        }
    }

    /// Reports that something could not be saved.
    fn report_if_unsaved(&self, what: &str, saved: io::Result<()>) {
        if let Err(error) = saved {
            let failed = Msg::Failed(format!("the {what} are not saved: {error}"));
            self.elsewhere(move |_| Some(failed));
        }
    }

    fn read_decisions(&self, ticket: Ticket) {
        self.elsewhere(move |context| {
            let decisions = read_decisions(&context.workspace.root);
            Some(Msg::Results(ResultMsg::Decisions(ticket, decisions)))
        });
    }

    fn read_verdicts(&self, ticket: Ticket) {
        self.elsewhere(move |context| {
            let verdicts = read_verdicts(&context.workspace.root);
            Some(Msg::Results(ResultMsg::Verdicts(ticket, verdicts)))
        });
    }

    pub(crate) fn past_runs(&self, effect: HistoryEffect) {
        self.elsewhere(move |context| Some(runs::reply(context, effect)));
    }

    pub(crate) fn edits(&mut self, effect: EditEffect) {
        let log = EditLog::in_folder(self.places.as_ref());
        match effect {
            EditEffect::Make {
                words,
                jobs,
                anywhere,
            } => self.elsewhere(move |context| {
                Some(edits::make(
                    &log,
                    &context.workspace.root,
                    &words,
                    &jobs,
                    anywhere,
                ))
            }),
            EditEffect::ReadConversations { source, target } => {
                self.read_conversations(source, target)
            }
            EditEffect::UndoOrRedo {
                reversal,
                shown,
                confirmed,
            } => {
                let (opened, since) = (self.opened.clone(), self.since);
                self.elsewhere(move |_| {
                    let expected = (reversal, shown, since);
                    let asked = edits::unexpected_edit(&log, &opened, expected, confirmed);
                    Some(match asked {
                        Some(edit) => Msg::Edits(EditMsg::UnexpectedEdit(reversal, edit)),
                        None => edits::undo_or_redo(&log, &opened, reversal),
                    })
                })
            }
        }
    }

    fn read_conversations(&self, source: String, target: CaptureTarget) {
        let (back, folder) = (self.back.clone(), folder_of(&self.opened));
        let (workspace, sets) = (self.workspace.clone(), self.sets.clone());
        self.workers.spawn(async move {
            let read = runner::recorded_conversations(&with_home(&source), &folder).await;
            let ranking = tokio::task::spawn_blocking(move || {
                let found = read.as_deref().unwrap_or_default();
                let additions = captures::additions(
                    &workspace,
                    (&sets, &target),
                    (&folder, &with_home(&source)),
                    found,
                );
                let msg = EditMsg::Conversations {
                    source,
                    target,
                    found: read,
                    additions,
                };
                LoopEvent::Msg(Msg::Edits(msg))
            });
            if let Ok(msg) = ranking.await {
                let _ = back.send(msg).await;
            }
        });
    }

    pub(crate) fn chat(&mut self, effect: ChatEffect) {
        match effect {
            ChatEffect::Open {
                set,
                session,
                number,
                granted,
            } => self.open_chat(set, session, number, granted),
            ChatEffect::Send(text) => {
                if let Some(chat) = &self.chat {
                    let _ = chat.try_send(text);
                }
            }
            ChatEffect::Close => self.chat = None,
        }
    }

    /// Begins a conversation, once what it starts is allowed. The one before ends.
    fn open_chat(
        &mut self,
        set: usize,
        session: SessionInput,
        number: u64,
        granted: Vec<TrustQuestion>,
    ) {
        self.chat = None;
        let prepared = chat::prepare(
            &self.workspace,
            &self.sets[set],
            &session,
            &granted,
            self.places.as_ref(),
        );
        let back = self.back.clone();
        match prepared {
            Ok((spec, opening)) => {
                let (events, mut arrive) = tokio::sync::mpsc::channel(64);
                let entered = self.workers.enter();
                self.chat = Some(runner::chat(spec, opening, events));
                drop(entered);
                self.workers.spawn(async move {
                    while let Some(event) = arrive.recv().await {
                        let msg = Msg::Chat(number, ChatMsg::Event(event));
                        if back.send(LoopEvent::Msg(msg)).await.is_err() {
                            return;
                        }
                    }
                });
            }
            Err(msg) => {
                self.workers.spawn(async move {
                    let _ = back.send(LoopEvent::Msg(Msg::Chat(number, msg))).await;
                });
            }
        }
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
                let tools = tools::tools_of_sets(sets.iter().filter(is_of_agent));
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

    /// Reads the past results. `files` are the files that were read already.
    pub(crate) fn read_history(&self, ticket: Ticket, files: ReadFiles) {
        // If reading them fails, nothing waits for them.
        let failed = self.results_placed.clone().drop_guard();
        self.elsewhere(move |context| {
            let results = history(context, &files);
            failed.disarm();
            Some(Msg::Results(ResultMsg::History { ticket, results }))
        });
        self.read_verdicts(ticket);
        self.compare_with_baseline(ticket);
        self.read_trends(ticket);
        self.read_decisions(ticket);
    }

    fn read_trends(&self, ticket: Ticket) {
        self.after_results(move |context| {
            let trends = Arc::new(trends(context));
            Some(Msg::Results(ResultMsg::Trends(ticket, trends)))
        });
    }

    /// Compares the last run with the baseline.
    fn compare_with_baseline(&self, ticket: Ticket) {
        self.after_results(move |context| {
            let compared = runs::compared_with_baseline(context);
            Some(Msg::Results(ResultMsg::BaselineCompared(ticket, compared)))
        });
    }

    /// Reads the opened run again whenever machines have uploaded results, until the explorer ends.
    pub(crate) fn renew(&self, mut newer: NewerRun) {
        /// The shortest time between two reads.
        const INTERVAL: Duration = Duration::from_secs(10);
        /// The longest part of the time that is spent on reading.
        const PART: u32 = 10;
        let context = TaskContext {
            workspace: self.workspace.clone(),
            sets: self.sets.clone(),
        };
        let back = self.back.clone();
        std::thread::spawn(move || {
            let (mut unread, mut is_failing, mut pause) = (None, false, INTERVAL);
            loop {
                std::thread::sleep(pause);
                let began = Instant::now();
                let read = newer().and_then(|run| {
                    unread = run.or(unread.take());
                    unread
                        .as_ref()
                        .map(|run| runs::renewed(&context, run))
                        .transpose()
                });
                pause = INTERVAL.max(began.elapsed() * PART);
                let was_failing = std::mem::replace(&mut is_failing, read.is_err());
                let msg = match read {
                    Ok(Some(msg)) => {
                        unread = None;
                        msg
                    }
                    Err(why) if !was_failing => {
                        Msg::Failed(format!("newer results cannot be read: {why}"))
                    }
                    Ok(None) | Err(_) => continue,
                };
                if back.blocking_send(LoopEvent::Msg(msg)).is_err() {
                    return;
                }
            }
        });
    }

    /// Reads what a run of these sets would use.
    fn read_configured(&self, ticket: Ticket, sets: Vec<(usize, Arc<SetFile>)>) {
        self.elsewhere(move |context| {
            let configured = configured_run(context, &sets);
            Some(Msg::Sets(SetMsg::Configured(ticket, Box::new(configured))))
        });
    }

    /// Finds the cases that changed since their latest results.
    pub(crate) fn find_changed(&self, ticket: Ticket) {
        self.elsewhere(move |context| {
            let selections: Vec<Selection> =
                context.sets.iter().cloned().map(Selection::all).collect();
            let changed = runner::changed_cases(&context.workspace, &selections);
            let of_set = |(set, cases): (&SetPath, Option<Vec<ChangedCase>>)| {
                let path = set.path.clone();
                cases
                    .unwrap_or_default()
                    .into_iter()
                    .map(move |case| (path.clone(), case))
            };
            let cases = context
                .sets
                .iter()
                .zip(changed.of_selections)
                .flat_map(of_set)
                .collect();
            let changed = CasesToRunAgain {
                cases,
                options: context.workspace.config.run_options(),
            };
            Some(Msg::Run(RunMsg::ChangedFound(ticket, Box::new(changed))))
        });
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

    fn elsewhere(&self, work: impl FnOnce(&TaskContext) -> Option<Msg> + Send + 'static) {
        self.workers.spawn_blocking(self.task(work));
    }

    /// Like `elsewhere`, for work that is not urgent: it does not take the processors from the first reading of past
    /// results, unless that takes long.
    fn after_results(&self, work: impl FnOnce(&TaskContext) -> Option<Msg> + Send + 'static) {
        let (task, results_placed) = (self.task(work), self.results_placed.clone());
        self.workers.spawn(async move {
            let _ = tokio::time::timeout(RESULTS_FIRST, results_placed.cancelled()).await;
            tokio::task::spawn_blocking(task);
        });
    }

    /// The work with its context; its reply is sent to the loop.
    fn task<W>(&self, work: W) -> impl FnOnce() + Send + use<W>
    where
        W: FnOnce(&TaskContext) -> Option<Msg> + Send + 'static,
    {
        let context = TaskContext {
            workspace: self.workspace.clone(),
            sets: self.sets.clone(),
        };
        let back = self.back.clone();
        move || {
            if let Some(msg) = work(&context) {
                let _ = back.blocking_send(LoopEvent::Msg(msg));
            }
        }
    }

    /// Starts a run of these cases. Their keys are of the files as the person saw them.
    pub(crate) fn start(
        &self,
        cases: Vec<ChosenCase>,
        granted: Vec<TrustQuestion>,
        against: RunTarget,
    ) {
        let context = TaskContext {
            workspace: self.workspace.clone(),
            sets: self.sets.clone(),
        };
        let (back, places) = (self.back.clone(), self.places.clone());
        let allowed = GivenConsents {
            granted,
            declined: self.declined.clone(),
        };
        self.workers.spawn(async move {
            let root = context.workspace.root.clone();
            let started = tokio::task::spawn_blocking(move || {
                let prepared = prepare(&context, cases, allowed, against, places.as_ref())?;
                let left_out = left_out(&prepared);
                let run = runner::start(prepared, None, &root);
                let removed = runner::remove_old(&context.workspace);
                let left_out = left_out.map(|words| Msg::Run(RunMsg::LeftOut(words)));
                Ok((run, [removed.map(Msg::Notice), left_out]))
            })
            .await;
            let arrivals = match started {
                // The notices come after the screen of the run.
                Ok(Ok((run, notices))) => {
                    let notices = notices.into_iter().flatten().map(LoopEvent::Msg);
                    std::iter::once(LoopEvent::Run(Box::new(run)))
                        .chain(notices)
                        .collect()
                }
                Ok(Err(msg)) => vec![LoopEvent::Msg(Msg::Run(msg))],
                Err(error) => vec![LoopEvent::Msg(Msg::Failed(error.to_string()))],
            };
            for arrival in arrivals {
                let _ = back.send(arrival).await;
            }
        });
    }
}

fn load_set(context: &TaskContext, set: usize, ticket: Ticket) -> Msg {
    Msg::Sets(SetMsg::Loaded(loaded(
        &context.workspace,
        &context.sets[set],
        set,
        ticket,
    )))
}

/// Opens a set and finds its agent.
pub(crate) fn loaded(
    workspace: &Workspace,
    path: &SetPath,
    set: usize,
    ticket: Ticket,
) -> SetLoaded {
    let result = open_set(path)
        .map_err(|error| error.to_string())
        .map(|open| {
            let first = (!open.file.is_empty())
                .then(|| open.file.case(0).ok())
                .flatten();
            let app = first
                .and_then(|case| case.session_input)
                .map(|input| input.app_name);
            let agent = agent_for(workspace, path, app.as_deref(), None);
            let agent = agent.map(|(name, _)| name).map_err(|error| error.0);
            let notes = read_notes(&path.path);
            let stubs = stubs_text(&path.path).map(Arc::from);
            OpenedSet {
                file: Arc::new(open.file),
                digest: open.digest,
                agent,
                notes,
                stubs,
            }
        });
    SetLoaded {
        set,
        ticket,
        result,
    }
}

fn summarise(set: usize, digest: String, file: &SetFile) -> Option<Msg> {
    // A file too large to be held is too large to be looked through for every filter.
    let summaries = file
        .is_in_memory()
        .then(|| (0..file.len()).map(|index| summary(file, index)).collect())?;
    Some(Msg::Sets(SetMsg::Summarised {
        set,
        digest,
        summaries: Arc::new(summaries),
    }))
}

fn summary(file: &SetFile, index: usize) -> CaseSummary {
    let case = match file.case(index) {
        Ok(case) => case,
        Err(problem) => {
            return CaseSummary {
                problem: Some(problem.to_string()),
                ..CaseSummary::default()
            };
        }
    };
    let mut summary = CaseSummary {
        turns: case.turns().len(),
        ..CaseSummary::default()
    };
    for turn in case.turns() {
        summary
            .text
            .push_str(&turn.user.shown_text().to_lowercase());
        summary.text.push('\n');
        for call in turn.calls() {
            if !summary.tools.contains(&call.name) {
                summary.tools.push(call.name.clone());
            }
        }
    }
    summary
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
