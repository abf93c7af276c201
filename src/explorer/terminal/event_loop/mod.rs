//! The event loop. It owns the model, passes messages to `update`, executes effects, and draws frames.

#![expect(clippy::disallowed_methods, reason = "it draws")]

mod opening;
mod released;

use crate::explorer::app::draw::draw;
use crate::explorer::app::update::update;
use crate::explorer::opened_run;
use crate::explorer::shared::case_list::TreeNode;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::effect::{Effect, RunEffect, TerminalEffect};
use crate::explorer::shared::message::{Msg, ResultMsg, RunMsg, SetMsg};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::run_target::RunTarget;
use crate::explorer::shared::theme::Theme;
use crate::explorer::terminal::effects::{EffectExecutor, LoopEvent};
use crate::explorer::terminal::frames::Frames;
use crate::explorer::terminal::guard::{Guard, TerminalScreen};
use crate::explorer::terminal::keys::KeyInput;
use crate::explorer::terminal::newer_run::NewerRun;
use crate::explorer::terminal::{clipboard, guard as terminal, input};
use evaltrail_core::domain::{RunEvent, clean_json};
use evaltrail_core::formats::ColumnMap;
use evaltrail_engine::process::Runtimes;
use evaltrail_engine::runner::TrustQuestion;
use evaltrail_engine::store::WorkspacePreferences;
use evaltrail_engine::workspace::{SetPath, Watch, Workspace};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc};

/// Maximum number of run events in one message, so that a burst of events causes one update and one frame.
const BATCH: usize = 256;

/// Options of the explorer.
pub struct Explorer {
    /// The folder or file to open.
    pub opened: PathBuf,
    /// The title of the workspace.
    pub title: String,
    /// The requested theme.
    pub theme: Option<String>,
    /// The run to show instead of the folder.
    pub run: Option<OpenedRunFile>,
    /// The columns of data sets that are mapped on the command line.
    pub columns: ColumnMap,
}

/// A run from a file, to be shown instead of a folder.
pub struct OpenedRunFile {
    /// The folder into which it was unpacked.
    pub run: PathBuf,
    /// Id of the case to open.
    pub case: Option<String>,
    /// Reads what machines have uploaded of the run since; `None` if the run does not change.
    pub newer: Option<NewerRun>,
}

struct EventLoop {
    model: Model,
    theme: Theme,
    /// The value of `model.theme` that `theme` was built for.
    theme_of: String,
    screen: TerminalScreen,
    frames: Frames,
    executor: EffectExecutor,
    arrivals: mpsc::Receiver<LoopEvent>,
    run_events: Option<mpsc::Receiver<RunEvent>>,
    keys: KeyInput,
    /// Notified when the process continues after it was stopped from outside.
    resumed: Arc<Notify>,
    /// Whether the open trust question has been drawn.
    is_question_shown: bool,
    began: Instant,
    true_colour: bool,
    no_colour: bool,
    left: Option<ExplorerExit>,
    /// Reports changed files until it is dropped.
    _watch: Option<Watch>,
    /// Reports changed results until it is dropped.
    _watch_of_results: Option<Watch>,
}

/// Why the explorer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplorerExit {
    /// The user quit.
    Quit,
    /// The user wants to see the sample workspace.
    OpenSample,
}

/// Runs the explorer until the user quits.
pub fn explore(explorer: Explorer) -> io::Result<ExplorerExit> {
    terminal::install_panic_hook();
    let signals = terminal::listen_to_signals()?;
    let runtimes = Runtimes::start()?;
    let workers = runtimes.workers().clone();
    let outcome = runtimes.run(async {
        let (opened, first) = EventLoop::open(explorer, signals, workers)?;
        opened.go(first).await
    });
    runtimes.end_within(Duration::from_millis(500));
    outcome
}

impl EventLoop {
    async fn go(mut self, first: Vec<Effect>) -> io::Result<ExplorerExit> {
        let _guard = Guard;
        first
            .into_iter()
            .try_for_each(|effect| self.effect(effect))?;
        self.draw_if_due()?;
        let files = opened_run::in_workspace(&mut self.model, |model| model.read_files());
        self.executor.read_history(self.model.ticket(), files);
        self.executor.watch();
        self.executor.watch_results();
        let leaving = loop {
            if let Some(leaving) = self.left {
                break leaving;
            }
            self.wait().await?;
            self.draw_if_due()?;
        };
        self.remember();
        Ok(leaving)
    }

    /// Waits for the next event, and handles it.
    async fn wait(&mut self) -> io::Result<()> {
        let due = self.frames.due();
        let run = &mut self.run_events;
        let run_event = async {
            match run {
                Some(run) => run.recv().await,
                None => std::future::pending().await,
            }
        };
        let frame = async {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            event = self.keys.next() => match event {
                Ok(event) => self.input(event)?,
                // The terminal is gone. Either the signal thread exits the process, or the loop ends here.
                Err(_) => self.left = Some(ExplorerExit::Quit),
            },
            Some(arrival) = self.arrivals.recv() => self.arrival(arrival)?,
            event = run_event => match event {
                Some(event) => self.run_event(event)?,
                None => self.run_events = None,
            },
            () = self.resumed.notified() => self.come_back()?,
            () = frame => {}
        }
        Ok(())
    }

    fn input(&mut self, event: crossterm::event::Event) -> io::Result<()> {
        let is_key = matches!(
            event,
            crossterm::event::Event::Key(_) | crossterm::event::Event::Paste(_)
        );
        if is_key && self.model.is_trust_dialog_open() && !self.is_question_shown {
            return Ok(());
        }
        if matches!(event, crossterm::event::Event::Resize(..)) {
            // After a resize another part of the question is visible.
            self.is_question_shown = false;
        }
        if let Some(msg) = input::message(event) {
            self.frames.after_input();
            self.take(msg)?;
        }
        Ok(())
    }

    fn arrival(&mut self, arrival: LoopEvent) -> io::Result<()> {
        self.frames.after_reply();
        match arrival {
            LoopEvent::Msg(msg) => {
                let are_results = matches!(msg, Msg::Results(ResultMsg::History { .. }));
                self.take(msg)?;
                if are_results {
                    self.executor.results_placed.cancel();
                }
                Ok(())
            }
            LoopEvent::Workspace(workspace) => self.workspace(*workspace),
            LoopEvent::Watching(watch) => {
                self._watch = Some(watch);
                Ok(())
            }
            LoopEvent::WatchingResults(watch) => {
                self._watch_of_results = Some(watch);
                Ok(())
            }
            LoopEvent::Run(run) => {
                self.executor.run = Some(run.handle);
                self.run_events = Some(run.events);
                self.take(Msg::Run(RunMsg::Started(Box::new(run.state))))
            }
        }
    }

    /// Updates the workspace after a search for files. The order of sets is that of the model.
    fn workspace(&mut self, workspace: Workspace) -> io::Result<()> {
        let effects = update(
            &mut self.model,
            Msg::Sets(SetMsg::Found(workspace.sets.clone())),
        );
        self.model.judge = judge_of(&workspace);
        self.model.agents = workspace.agent_names();
        let other_folders = self.executor.workspace.folders != workspace.folders;
        self.executor.workspace = Arc::new(workspace);
        let sets = opened_run::in_workspace(&mut self.model, |model| paths_of_sets(model));
        let other_sets = *self.executor.sets != sets;
        self.executor.sets = Arc::new(sets);
        if other_sets {
            let files = opened_run::in_workspace(&mut self.model, |model| model.read_files());
            self.executor.read_history(self.model.ticket(), files);
        }
        if other_folders {
            self.executor.watch();
            self.executor.watch_results();
        }
        effects
            .into_iter()
            .try_for_each(|effect| self.effect(effect))
    }

    /// Handles an event of the run, together with the events that are already queued.
    fn run_event(&mut self, first: RunEvent) -> io::Result<()> {
        let events = match &mut self.run_events {
            Some(waiting) => batch(first, waiting),
            None => vec![first],
        };
        self.frames.after_event();
        self.take(Msg::Run(RunMsg::Events(events)))
    }

    fn take(&mut self, msg: Msg) -> io::Result<()> {
        let now = self.began.elapsed().as_secs_f64();
        update(&mut self.model, Msg::Tick(now));
        let effects = update(&mut self.model, msg);
        for effect in effects {
            self.effect(effect)?;
        }
        Ok(())
    }

    fn effect(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Terminal(effect) => return self.terminal(effect),
            Effect::Run(effect) => self.run(effect),
            Effect::Sets(effect) => self.executor.sets(effect),
            Effect::Results(effect) => self.executor.results(effect),
            Effect::History(effect) => self.executor.past_runs(effect),
            Effect::Edits(effect) => self.executor.edits(effect),
            Effect::Chat(effect) => self.executor.chat(effect),
            Effect::Request(request) => {
                debug_assert!(false, "`update` carries it out: {request:?}")
            }
        }
        Ok(())
    }

    fn terminal(&mut self, effect: TerminalEffect) -> io::Result<()> {
        match effect {
            TerminalEffect::Copy(text) => {
                let told = match clipboard::copy(&clean_json(&text)) {
                    Ok(words) => Msg::Notice(words),
                    Err(error) => Msg::Failed(format!("not copied: {error}")),
                };
                self.take(told)
            }
            TerminalEffect::OpenEditor { path, line } => self.edit(path, line),
            TerminalEffect::EditText {
                text,
                name,
                ending,
                of,
            } => self.edit_text(&text, &name, ending, of),
            TerminalEffect::EditCriteria(set) => self.edit_criteria(set),
            TerminalEffect::CaptureMouse(true) => {
                crossterm::execute!(io::stdout(), crossterm::event::EnableMouseCapture)
            }
            TerminalEffect::CaptureMouse(false) => {
                crossterm::execute!(io::stdout(), crossterm::event::DisableMouseCapture)
            }
            TerminalEffect::Suspend => self.suspend(),
            TerminalEffect::Quit => {
                self.left = Some(ExplorerExit::Quit);
                Ok(())
            }
            TerminalEffect::OpenSample => {
                self.left = Some(ExplorerExit::OpenSample);
                Ok(())
            }
        }
    }

    fn run(&mut self, effect: RunEffect) {
        match (effect, &self.executor.run) {
            (RunEffect::Start(cases, against), _) => self.start(cases, Vec::new(), against),
            (RunEffect::StartTrusted(cases, granted, against), _) => {
                self.start(cases, granted, against)
            }
            (RunEffect::DeclineKeys(questions), _) => {
                self.executor
                    .declined
                    .extend(questions.into_iter().map(|question| question.fingerprint));
            }
            (RunEffect::FindChanged(ticket), _) => self.executor.find_changed(ticket),
            (RunEffect::Cancel(reason), Some(run)) => run.cancel(reason),
            (RunEffect::Pause(on), Some(run)) => run.pause(on),
            (RunEffect::CancelAttempt(key), Some(run)) => run.cancel_one(key),
            (RunEffect::Cancel(_) | RunEffect::Pause(_) | RunEffect::CancelAttempt(_), None) => {}
        }
    }

    fn start(&mut self, cases: Vec<CaseRef>, granted: Vec<TrustQuestion>, against: RunTarget) {
        // The cases are those of the workspace, although a past run may be open.
        let chosen = opened_run::in_workspace(&mut self.model, |model| {
            cases
                .into_iter()
                .map(|case| (case, model.case_key(case)))
                .collect()
        });
        self.executor.start(chosen, granted, against);
    }

    fn draw_if_due(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if !self.frames.take(now) {
            return Ok(());
        }
        update(
            &mut self.model,
            Msg::Tick(now.duration_since(self.began).as_secs_f64()),
        );
        self.change_theme();
        self.forget_typed_before_a_question();
        let (model, theme) = (&self.model, &self.theme);
        let screen = &mut self.screen;
        terminal::draw_in_terminal(|| {
            crossterm::queue!(
                screen.backend_mut(),
                crossterm::terminal::BeginSynchronizedUpdate
            )?;
            screen.draw(|frame| {
                if let Some(cursor) = draw(model, theme, frame.buffer_mut()) {
                    frame.set_cursor_position(cursor);
                }
            })?;
            crossterm::execute!(
                screen.backend_mut(),
                crossterm::terminal::EndSynchronizedUpdate
            )
        })?;
        self.is_question_shown = self.model.is_trust_dialog_open();
        panic_if_requested();
        self.next_frame();
        Ok(())
    }

    /// Discards keys that were typed before the trust question was drawn, so that they do not answer it.
    fn forget_typed_before_a_question(&mut self) {
        if self.model.is_trust_dialog_open() && !self.is_question_shown {
            self.keys.forget();
        }
    }

    /// Schedules the next frame if something is animated or a notice has to be hidden later.
    fn next_frame(&mut self) {
        if self.model.is_animated() {
            self.frames.after_event();
        }
        if let Some(notice) = &self.model.notice {
            self.frames
                .at(self.began + Duration::from_secs_f64(notice.until.max(0.0)));
        }
    }

    fn change_theme(&mut self) {
        if self.model.theme == self.theme_of {
            return;
        }
        if let Ok(theme) = theme_named(&self.model.theme, self.true_colour, self.no_colour) {
            self.theme = theme;
        }
        self.theme_of.clone_from(&self.model.theme);
    }

    fn remember(&mut self) {
        opened_run::close(&mut self.model);
        let Some(app_folders) = &self.executor.app_folders else {
            return;
        };
        let model = &self.model;
        let set = match model.view.browse.nodes.get(model.view.browse.node) {
            Some(TreeNode::Set(set)) => Some(model.view.sets[*set].path.shown.clone()),
            _ => None,
        };
        let case = set.is_some().then(|| model.current_case()).flatten();
        let state = WorkspacePreferences {
            theme: Some(model.theme.clone()),
            set,
            case: case.map(|case| case.index),
            filter: model.view.browse.filter.clone(),
            order: model.view.browse.order.describe().to_string(),
            hidden_columns: model
                .view
                .browse
                .hidden
                .iter()
                .map(|column| column.name().to_string())
                .collect(),
        };
        // Failing to save this state is not worth an error on exit.
        let _ = state.save(app_folders, &self.executor.workspace.root);
    }
}

/// An event and the queued ones, in order: at most [`BATCH`], the rest stays in the channel.
fn batch(first: RunEvent, waiting: &mut mpsc::Receiver<RunEvent>) -> Vec<RunEvent> {
    let rest = std::iter::from_fn(|| waiting.try_recv().ok());
    std::iter::once(first).chain(rest).take(BATCH).collect()
}

/// The paths of the sets, in the model's order.
fn paths_of_sets(model: &Model) -> Vec<SetPath> {
    let sets = model.view.sets.iter();
    sets.map(|set| set.path.clone()).collect()
}

/// Label of the judge in the workspace's configuration.
fn judge_of(workspace: &Workspace) -> Option<String> {
    workspace
        .config
        .judge
        .as_ref()
        .and_then(|judge| judge.label())
}

/// Panics if the environment requests it, so that tests can check the terminal after a panic. Debug builds only.
fn panic_if_requested() {
    if cfg!(debug_assertions) && std::env::var_os("EVALTRAIL_TEST_PANIC").is_some() {
        panic!("a test asked for this");
    }
}

/// The theme with this name, or `mono` if `NO_COLOR` is set.
fn theme_named(
    name: &str,
    true_colour: bool,
    no_colour: bool,
) -> Result<Theme, crate::explorer::shared::theme::ThemeError> {
    Theme::named(if no_colour { "mono" } else { name }, true_colour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_batch_loses_no_event() {
        let sent = 3 * BATCH;
        let (sender, mut waiting) = mpsc::channel(sent);
        let event = |at: usize| RunEvent::Warning(at.to_string());
        (1..sent).for_each(|at| sender.try_send(event(at)).unwrap());
        let mut seen = batch(event(0), &mut waiting);
        assert_eq!(seen.len(), BATCH);
        while let Ok(next) = waiting.try_recv() {
            seen.extend(batch(next, &mut waiting));
        }
        assert_eq!(seen, (0..sent).map(event).collect::<Vec<_>>());
    }
}
