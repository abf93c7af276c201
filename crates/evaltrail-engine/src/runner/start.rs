//! Starts a run.

#![expect(
    clippy::disallowed_methods,
    reason = "what is sent is counted by the budgets of the turns"
)]

use super::decided_cases::DecidedCases;
use super::dispatcher::{Dispatcher, DispatcherRequest};
use super::executor::execute;
use super::journal::JournalWriter;
use super::outbox::Outbox;
use super::plan::PreparedRun;
use super::preflight;
use super::results::has_results;
use super::run_resources::RunResources;
use crate::history::ResumedRun;
use crate::judge::{Judges, RequestCancellation};
use crate::store::{AppFolders, JournalError, JudgeResponseCache, RunFolder, RunKey};
use evaltrail_core::domain::{AttemptKey, CancelReason, RunEvent, RunState, WorkedTime};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The capacity of the channels of events and reports. When the listener is slow, further events wait in the outbox,
/// and attempts continue.
const WAITING: usize = 256;

/// A run that was started.
pub struct Run {
    /// The state before the first event: empty, or the attempts of a resumed run.
    pub state: RunState,
    /// The events of the run.
    pub events: mpsc::Receiver<RunEvent>,
    /// Controls the run.
    pub handle: RunHandle,
}

/// Controls a run. Dropping it has no effect on the run.
#[derive(Clone, Debug)]
pub struct RunHandle {
    orders: mpsc::UnboundedSender<DispatcherRequest>,
}

impl RunHandle {
    /// Ends the run early.
    pub fn cancel(&self, reason: CancelReason) {
        let _ = self.orders.send(DispatcherRequest::Cancel(reason));
    }

    /// Pauses the run (no further attempts start), or resumes it.
    pub fn pause(&self, on: bool) {
        let _ = self.orders.send(DispatcherRequest::Pause(on));
    }

    /// Cancels one attempt. `--resume` runs it again.
    pub fn cancel_one(&self, key: AttemptKey) {
        let _ = self.orders.send(DispatcherRequest::CancelOne(key));
    }
}

/// Starts a run, or continues `resumed`. It is recorded in the workspace; if that is not possible, a warning is emitted
/// and the results stay in memory.
pub fn start(mut prepared: PreparedRun, resumed: Option<ResumedRun>, workspace: &Path) -> Run {
    let is_shard = prepared.whole.is_some();
    // The others need to know of a shard without results.
    let is_kept = resumed.is_some() || is_shard;
    let (opened, state) = open_folder(&prepared, resumed, workspace);
    let RecordedRun {
        journal,
        remove_at_end,
        warnings,
    } = record_run(opened, &state, is_kept, is_shard);
    // What a shard does not record is lost for the others.
    let (outstanding_attempts, queue) = match is_shard && journal.is_none() {
        true => (Vec::new(), None),
        false => (state.outstanding(), prepared.queue.take()),
    };
    let (listener, events) = mpsc::channel(WAITING);
    let (orders, order_box) = mpsc::unbounded_channel();
    let (reports, report_box) = mpsc::channel(WAITING);
    let (cancel, judging_ends) = (CancellationToken::new(), CancellationToken::new());
    let ends = RequestCancellation {
        judging: judging_ends.clone(),
        conversations: cancel.clone(),
    };
    let mut shared = resources_of(prepared, &state, ends);
    shared.decided = DecidedCases::new(&state);
    let shared = Arc::new(shared);
    let closing = CancellationToken::new();
    let dispatcher = Dispatcher {
        closing: closing.clone(),
        judging_ends: judging_ends.clone(),
        waiting: None,
        earlier_parts_s: seconds_of_earlier_parts(&state),
        plan: state.plan.clone(),
        left: outstanding_attempts.len(),
        paused: false,
        cancelling: None,
        of_adk: has_results(&state.plan).then(|| state.clone()),
        journal,
        remove_at_end,
        is_journal_behind: false,
        outbox: Outbox::new(listener),
        orders: order_box,
        reports: report_box,
        cancel,
        running: BTreeMap::new(),
        writing: BTreeMap::new(),
    };
    let attempts = execute(
        shared.clone(),
        outstanding_attempts,
        queue,
        reports,
        closing,
        judging_ends,
    );
    tokio::spawn(warn_and_run(shared, dispatcher, warnings, attempts));
    Run {
        state,
        events,
        handle: RunHandle { orders },
    }
}

/// Seconds that the run worked before it was resumed.
fn seconds_of_earlier_parts(state: &RunState) -> f64 {
    let mut worked = WorkedTime::new(&state.plan);
    state
        .finished
        .iter()
        .for_each(|attempt| worked.add(attempt.summary()));
    worked.seconds().unwrap_or(0.0)
}

/// Emits the warnings about a run, and runs its attempts.
async fn warn_and_run(
    shared: Arc<RunResources>,
    mut dispatcher: Dispatcher,
    warnings: Vec<String>,
    attempts: impl Future<Output = ()> + Send,
) {
    let found = preflight::warnings(&shared).await;
    drop(shared);
    warnings
        .into_iter()
        .chain(found)
        .for_each(|warning| dispatcher.warn(warning));
    tokio::join!(attempts, dispatcher.dispatch());
}

/// The folder of the run, and the state before its first event.
fn open_folder(
    prepared: &PreparedRun,
    resumed: Option<ResumedRun>,
    workspace: &Path,
) -> (Result<RunFolder, JournalError>, RunState) {
    let (opened, state) = match resumed {
        Some(run) => (Ok(run.folder), run.state),
        None => {
            let folder = RunFolder::create(workspace, &prepared.plan, RunKey::find());
            (folder, RunState::new(prepared.plan.clone()))
        }
    };
    let opened = opened.and_then(|folder| match &prepared.whole {
        Some(whole) => folder.write_full_plan(whole).map(|()| folder),
        None => Ok(folder),
    });
    (opened, state)
}

/// What the attempts of the run share.
fn resources_of(
    prepared: PreparedRun,
    state: &RunState,
    ends: RequestCancellation,
) -> RunResources {
    let answers =
        AppFolders::find().map(|app_folders| JudgeResponseCache::below(app_folders.answers()));
    let judges = Judges::new(&state.plan.judge, answers)
        .with_grant(prepared.grant)
        .with_cancellation(ends);
    RunResources::new(
        state.plan.clone(),
        (prepared.sets, prepared.notes, prepared.stubs),
        judges,
        prepared.kept,
    )
}

/// Where a run is recorded.
struct RecordedRun {
    /// `None` when the run is not recorded.
    journal: Option<JournalWriter>,
    /// The folder of the run, to be removed if it has no results at the end.
    remove_at_end: Option<PathBuf>,
    /// What is wrong with the record.
    warnings: Vec<String>,
}

/// Opens the journal of a run in its folder.
fn record_run(
    opened: Result<RunFolder, JournalError>,
    state: &RunState,
    is_kept: bool,
    is_shard: bool,
) -> RecordedRun {
    let unsigned = opened
        .as_ref()
        .is_ok_and(|folder| !folder.is_signed())
        .then(unsigned_text);
    let remove_at_end = match (&opened, is_kept) {
        (Ok(folder), false) => Some(folder.path().to_path_buf()),
        _ => None,
    };
    let (journal, warning) = open_or_warn(opened, state, is_shard);
    RecordedRun {
        journal,
        remove_at_end,
        warnings: warning.into_iter().chain(unsigned).collect(),
    }
}

fn unsigned_text() -> String {
    let data = AppFolders::find().map(|app_folders| app_folders.data.display().to_string());
    let folder =
        data.unwrap_or_else(|| "the data folder, which this platform does not define".into());
    format!(
        "the run is not signed, so --resume and --failed will ignore it: cannot write to {folder}"
    )
}

fn open_or_warn(
    opened: Result<RunFolder, JournalError>,
    state: &RunState,
    is_shard: bool,
) -> (Option<JournalWriter>, Option<String>) {
    let why = match opened.map(|folder| JournalWriter::start(folder, state)) {
        Ok(Ok(journal)) => return (Some(journal), None),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    let words = match is_shard {
        true => {
            "nothing is run, because other machines need the records of a shard, and it cannot be recorded"
        }
        false => "the run is not recorded, results are kept in memory",
    };
    (None, Some(format!("{words}: {why}")))
}
