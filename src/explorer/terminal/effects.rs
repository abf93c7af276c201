//! The executor of effects: it starts tasks and blocking threads, whose results come back as messages.

use crate::explorer::shared::effect::HistoryEffect;
use crate::explorer::shared::message::Msg;
use crate::explorer::terminal::runs;
use crate::explorer::terminal::task_context::TaskContext;
use evaltrail_core::formats::ColumnMap;
use evaltrail_engine::runner::{Run, RunHandle};
use evaltrail_engine::store::AppFolders;
use evaltrail_engine::workspace::{SetPath, Watch, Workspace};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
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
    pub(crate) app_folders: Option<AppFolders>,
    /// Takes the messages to the agent, while a chat is open.
    pub(crate) chat: Option<Sender<String>>,
    /// Cancelled when past results are in the model for the first time.
    pub(crate) results_placed: CancellationToken,
    /// Fingerprints of keys that a person does not want used: not asked about again in this session.
    pub(crate) declined: BTreeSet<String>,
}

impl EffectExecutor {
    pub(crate) fn past_runs(&self, effect: HistoryEffect) {
        self.elsewhere(move |context| Some(runs::reply(context, effect)));
    }

    /// What a task that starts now works on.
    pub(super) fn context(&self) -> TaskContext {
        TaskContext {
            workspace: self.workspace.clone(),
            sets: self.sets.clone(),
        }
    }

    /// Executes work on a blocking thread.
    pub(super) fn elsewhere(
        &self,
        work: impl FnOnce(&TaskContext) -> Option<Msg> + Send + 'static,
    ) {
        self.workers.spawn_blocking(self.task(work));
    }

    /// Like `elsewhere`, for work that is not urgent: it does not take the processors from the first reading of past
    /// results, unless that takes long.
    pub(super) fn after_results(
        &self,
        work: impl FnOnce(&TaskContext) -> Option<Msg> + Send + 'static,
    ) {
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
        let context = self.context();
        let back = self.back.clone();
        move || {
            if let Some(msg) = work(&context) {
                let _ = back.blocking_send(LoopEvent::Msg(msg));
            }
        }
    }
}
