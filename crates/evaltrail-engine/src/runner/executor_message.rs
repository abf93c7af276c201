//! The messages from the executor to the dispatcher.

use evaltrail_core::domain::{Attempt, AttemptKey, JudgeUsage, Progress, RunEvent};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Whether an attempt that ended was written to the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JournalStatus {
    Written,
    /// It may be written later, or by another machine.
    Later,
    /// No journal can take it.
    Never,
}

/// A message from the executor to the dispatcher.
pub(super) enum ExecutorMessage {
    /// Requests to start an attempt. Dropping the channel refuses.
    StartRequested(AttemptKey, oneshot::Sender<CancellationToken>),
    /// How an agent is connected.
    Connection(RunEvent),
    /// The progress of an attempt.
    Progress(AttemptKey, Progress),
    /// The attempts ended, which have the slots of one. These stay occupied until the dispatcher replies or drops the
    /// channel.
    Done(Vec<Arc<Attempt>>, oneshot::Sender<JournalStatus>),
    /// Something that the user should know.
    Warning(String),
    /// An attempt is not needed, because its case is decided.
    Superfluous,
    /// The attempt was cancelled, after its judges spent this.
    Dropped(AttemptKey, JudgeUsage),
    /// The requests of judges that were cancelled, at the end of the run.
    CancelledRequests(JudgeUsage),
    /// The attempt failed because of an error in evaltrail itself.
    Broke(AttemptKey, String, oneshot::Sender<JournalStatus>),
}
