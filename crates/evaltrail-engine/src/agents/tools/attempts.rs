//! The attempts that are under way at an agent, to which calls of its tools belong.

use super::received::ReceiveError;
use crate::stubs::AttemptTools;
use evaltrail_core::domain::ToolCall;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The attempts that are under way.
#[derive(Debug)]
pub(super) struct OpenAttempts {
    /// By the id of the session.
    open: Mutex<HashMap<String, Arc<AttemptTools>>>,
    /// Lets one attempt run at a time, until a call has said to which attempt it belongs. `None` if every call says it.
    gate: Option<Arc<Semaphore>>,
    is_gate_open: AtomicBool,
}

/// An attempt that is under way. Its calls are answered until this is dropped.
#[derive(Debug)]
pub struct AttemptRegistration {
    attempts: Arc<OpenAttempts>,
    id: String,
    #[expect(dead_code, reason = "released with the admission")]
    permit: Option<OwnedSemaphorePermit>,
}

impl OpenAttempts {
    /// `is_sure` tells whether every call says to which attempt it belongs.
    pub(super) fn new(is_sure: bool) -> OpenAttempts {
        let gate = (!is_sure).then(|| Arc::new(Semaphore::new(1)));
        OpenAttempts {
            open: Mutex::default(),
            gate,
            is_gate_open: AtomicBool::new(false),
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Arc<AttemptTools>>> {
        self.open.lock()
    }

    /// Lets an attempt start, as soon as its calls can be told apart from those of other attempts.
    pub(super) async fn register_attempt(
        self: &Arc<Self>,
        id: &str,
        tools: Arc<AttemptTools>,
    ) -> AttemptRegistration {
        let permit = match &self.gate {
            Some(gate) => gate.clone().acquire_owned().await.ok(),
            None => None,
        };
        self.open().insert(id.to_string(), tools);
        AttemptRegistration {
            attempts: self.clone(),
            id: id.to_string(),
            permit,
        }
    }

    /// The attempt of a session.
    pub(super) fn of_session(&self, id: &str) -> Option<Arc<AttemptTools>> {
        self.open().get(id).cloned()
    }

    /// The attempt that a call names by its session. After the first such call, attempts no longer wait for each other.
    pub(super) fn attempt_of_call(&self, id: &str) -> Option<Arc<AttemptTools>> {
        let found = self.of_session(id)?;
        if let Some(gate) = &self.gate
            && !self.is_gate_open.swap(true, Ordering::Relaxed)
        {
            gate.add_permits(Semaphore::MAX_PERMITS / 2);
        }
        Some(found)
    }

    /// Whether a call was allowed in an attempt to reach its tool before.
    pub(super) fn take_allowed(&self, call: &ToolCall) -> bool {
        let open = self.open();
        let is_in_one = |exactly: bool| {
            open.values()
                .any(|attempt| attempt.take_allowed(call, exactly))
        };
        is_in_one(true) || is_in_one(false)
    }

    /// Makes all attempts errored that are under way: a call of one of them could not be answered as specified.
    pub(super) fn fail_all(&self, why: &str) {
        self.open().values().for_each(|attempt| attempt.fail(why));
    }

    /// Makes the attempt of a session, or all if it is not known, errored if a call was refused because of a limit of
    /// evaltrail: the agent sees a tool that fails.
    pub(super) fn refused(&self, why: ReceiveError, session: Option<&str>) {
        let Some(limit) = why.exceeded_limit() else {
            return;
        };
        let why = format!("evaltrail could not receive a call of a tool: {limit}");
        match session.and_then(|session| self.of_session(session)) {
            Some(attempt) => attempt.fail(&why),
            None => self.fail_all(&why),
        }
    }

    /// The only attempt that is under way.
    pub(super) fn only(&self) -> Option<Arc<AttemptTools>> {
        let open = self.open();
        open.values().next().filter(|_| open.len() == 1).cloned()
    }
}

impl Drop for AttemptRegistration {
    fn drop(&mut self) {
        self.attempts.open().remove(&self.id);
    }
}
