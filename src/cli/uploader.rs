//! The threads of a run that other machines see: one writes heartbeats, one uploads.

use super::interrupts::InterruptFlag;
use super::output::print_note;
use anyhow::bail;
use evaltrail_core::domain::{AttemptKey, RunPlan, Shard, clean_line};
use evaltrail_engine::buckets::{Bucket, BucketAddress, BucketError};
use evaltrail_engine::report::shell_word;
use evaltrail_engine::store::{CaseQueue, Claim, ClaimEnd, PushError, RunPush};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the run of a shard is uploaded at least.
const INTERVAL: Duration = Duration::from_secs(30);
/// How often the run of a worker of a queue is uploaded at least: its cases are done only then.
const EVERY_OF_QUEUE: Duration = Duration::from_secs(2);
/// The number of times that the last upload is tried.
const TRIES: u32 = 3;
/// The time limit of the last upload, and that after an interruption: a scheduler kills the process soon.
const ENDS_WITHIN: Duration = Duration::from_secs(600);
const INTERRUPTED_FOR: Duration = Duration::from_secs(8);
/// The time after which the folder of the run must be there.
const BEGINS_WITHIN: Duration = Duration::from_secs(30);

/// What this process holds, so that other machines leave it alone.
#[derive(Clone)]
pub(super) enum ClaimedWork {
    /// A shard.
    Shard(Claim),
    /// Cases of a queue, each of which has so many attempts.
    Cases(Arc<CaseQueue>, u32),
}

impl ClaimedWork {
    fn heartbeat_interval(&self) -> Duration {
        match self {
            ClaimedWork::Shard(claim) => claim.heartbeat_interval(),
            ClaimedWork::Cases(queue, _) => queue.heartbeat_interval(),
        }
    }

    fn upload_every(&self) -> Duration {
        match self {
            ClaimedWork::Shard(claim) => claim.heartbeat_interval().min(INTERVAL),
            ClaimedWork::Cases(queue, _) => (queue.heartbeat_interval() / 2).min(EVERY_OF_QUEUE),
        }
    }

    /// Writes a heartbeat. Returns `false` if another machine has taken over.
    fn beat(&mut self) -> Result<bool, BucketError> {
        match self {
            ClaimedWork::Shard(claim) => claim.beat(),
            ClaimedWork::Cases(queue, _) => queue.beat().map(|()| true),
        }
    }

    /// Uploads what was written since the last time.
    fn send(&self, push: &mut RunPush) -> Result<(), PushError> {
        let sent = push.send()?;
        self.mark(&sent)
    }

    /// Uploads what was written since the last time, and what is no longer there.
    fn send_rest(&self, push: &mut RunPush) -> Result<(), PushError> {
        self.send(push)?;
        let sent = push.confirm()?;
        self.mark(&sent)
    }

    /// Marks the cases of a queue as done whose attempts are uploaded.
    fn mark(&self, sent: &[AttemptKey]) -> Result<(), PushError> {
        if let ClaimedWork::Cases(queue, repeat) = self {
            queue.uploaded(sent, *repeat)?;
        }
        Ok(())
    }
}

fn warn(error: &dyn std::fmt::Display) {
    print_note(&format!("warning: {}", clean_line(&error.to_string())));
}

/// Writes heartbeats on a thread of its own, until it is dropped.
pub(super) struct Heartbeat {
    held: ClaimedWork,
    /// Dropped to end the thread.
    stop: Sender<()>,
    /// Ends with `false` if another machine has taken over.
    thread: JoinHandle<bool>,
    /// Receives why the run must stop.
    stops: tokio::sync::mpsc::Receiver<String>,
    says_stop: tokio::sync::mpsc::Sender<String>,
}

impl Heartbeat {
    pub(super) fn start(held: ClaimedWork) -> std::io::Result<Heartbeat> {
        let (stop, stopped) = channel();
        let (says_stop, stops) = tokio::sync::mpsc::channel(2);
        let (mut beating, says) = (held.clone(), says_stop.clone());
        let beat = move || {
            loop {
                match beating.beat() {
                    Ok(true) => {}
                    Ok(false) => {
                        let _ = says.try_send("another machine has taken over this shard".into());
                        return false;
                    }
                    // It is tried again with the next one; the upload reports errors of the store.
                    Err(_) => {}
                }
                if stopped.recv_timeout(beating.heartbeat_interval())
                    != Err(RecvTimeoutError::Timeout)
                {
                    return true;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("heartbeat".into())
            .spawn(beat)?;
        Ok(Heartbeat {
            held,
            stop,
            thread,
            stops,
            says_stop,
        })
    }
}

/// A shard that this process has claimed.
pub(super) struct ClaimedShard {
    pub(super) address: BucketAddress,
    pub(super) claim: Claim,
    pub(super) shard: Shard,
    /// The plan of the shard, if earlier runs did some of its cases.
    pub(super) continued: Option<Box<RunPlan>>,
}

/// The runs of other machines whose results belong to those of a run.
pub(super) enum PeerRuns {
    None,
    /// Those of the shard with this plan.
    OfShard(Box<RunPlan>),
    /// Those of all workers of the queue.
    OfQueue,
}

/// What is uploaded.
pub(super) enum UploadTarget {
    /// The run of a shard.
    Shard(Box<ClaimedShard>),
    /// The run of a worker of a queue.
    Cases(Arc<CaseQueue>),
}

/// Uploads a run on a thread of its own while it goes on.
pub(super) struct Uploader {
    stop: Sender<()>,
    /// Receives the outcome of the upload.
    uploaded: Receiver<Result<RunPush, PushError>>,
    heartbeat: Heartbeat,
    what: UploadTarget,
    run: String,
}

impl Uploader {
    /// Starts to upload the folder of a run, as soon as it exists.
    pub(super) fn start(
        runs: &Bucket,
        what: UploadTarget,
        heartbeat: Heartbeat,
        run: &Path,
    ) -> std::io::Result<Uploader> {
        let (stop, stopped) = channel();
        let (push, held, says) = (
            RunPush::new(runs, run),
            heartbeat.held.clone(),
            heartbeat.says_stop.clone(),
        );
        let (done, uploaded) = channel();
        let work = move || {
            let _ = done.send(upload(&held, push, &stopped, &says));
        };
        std::thread::Builder::new()
            .name("upload".into())
            .spawn(work)?;
        let run = run
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(Uploader {
            stop,
            uploaded,
            heartbeat,
            what,
            run,
        })
    }

    /// Waits until the run must stop, and returns why; `None` if it never must.
    pub(super) async fn must_stop(&mut self) -> Option<String> {
        self.heartbeat.stops.recv().await
    }

    /// Uploads the rest, and returns the runs of other machines that belong to this one. `attempts` is the number of
    /// attempts of a run that ended; `None` if it was interrupted. Errors: the run is not uploaded completely, or another
    /// machine has taken over.
    pub(super) fn finish(self, attempts: Option<usize>) -> anyhow::Result<PeerRuns> {
        let Uploader {
            stop,
            uploaded,
            heartbeat,
            what,
            run,
        } = self;
        drop(stop);
        let sent = wait_for_upload(
            &uploaded,
            if attempts.is_none() {
                INTERRUPTED_FOR
            } else {
                ENDS_WITHIN
            },
        );
        drop(heartbeat.stop);
        let mut claimed = match what {
            UploadTarget::Cases(queue) => {
                queue.leave()?;
                return sent.map(|_| PeerRuns::OfQueue);
            }
            UploadTarget::Shard(claimed) => claimed,
        };
        let is_held =
            sent.is_err() || (heartbeat.thread.join().unwrap_or(true) && claimed.claim.beat()?);
        let (address, shard) = (&claimed.address, claimed.shard);
        if !is_held {
            bail!(
                "--push: another machine has taken over {}; its results count",
                shard.describe()
            );
        }
        // Whatever is missing, another machine may continue at once.
        let released = |error: anyhow::Error| {
            let _ = claimed.claim.release();
            error
        };
        let push = sent.map_err(|error| {
            released(error.context(format!(
                "not all results are at {address}; they are in run {run} on this machine, and the same command runs again what \
                 is missing"
            )))
        })?;
        match attempts {
            None => claimed.claim.release()?,
            Some(attempts) if push.attempts() < attempts => {
                let missing = attempts - push.attempts();
                return Err(released(anyhow::anyhow!(
                    "--push: the results of {missing} of {attempts} attempts could not be recorded, so that they are not at \
                     {address}; the same command runs them again"
                )));
            }
            Some(_) => claimed.claim.complete(&ClaimEnd { run: run.clone() })?,
        }
        let argument = shell_word(&address.to_string());
        let next = match shard.of {
            1 => format!(
                "evaltrail {argument} explores it, evaltrail merge {argument} makes it one of your runs"
            ),
            _ => format!(
                "evaltrail runs {argument} lists the shards, evaltrail merge {argument} merges them"
            ),
        };
        print_note(&format!("run {run} is at {address}; {next}"));
        Ok(match claimed.continued {
            Some(part) => PeerRuns::OfShard(part),
            None => PeerRuns::None,
        })
    }
}

/// Waits until the rest is uploaded. Errors: the upload failed, took longer than the limit, or was interrupted.
fn wait_for_upload(
    uploaded: &Receiver<Result<RunPush, PushError>>,
    limit: Duration,
) -> anyhow::Result<RunPush> {
    /// The time after which the user is told what is waited for.
    const SAID_AFTER: Duration = Duration::from_secs(2);
    let began = Instant::now();
    let (interrupted, mut is_said) = (InterruptFlag::listen()?, false);
    while began.elapsed() < limit {
        match uploaded.recv_timeout(Duration::from_millis(100)) {
            Ok(sent) => return Ok(sent?),
            Err(RecvTimeoutError::Disconnected) => bail!("the upload was aborted"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if !is_said && began.elapsed() > SAID_AFTER {
            is_said = true;
            print_note(&format!(
                "uploading the rest, for at most {} s; Ctrl-C ends that",
                limit.as_secs()
            ));
        }
        if interrupted.is_set() {
            bail!("the upload was interrupted");
        }
    }
    bail!("the upload took longer than {} s", limit.as_secs())
}

/// Uploads a run until it is told to stop, and then the rest.
fn upload(
    held: &ClaimedWork,
    mut push: RunPush,
    stopped: &Receiver<()>,
    says: &tokio::sync::mpsc::Sender<String>,
) -> Result<RunPush, PushError> {
    let (began, mut has_begun, mut is_failing) = (Instant::now(), false, false);
    loop {
        match held.send(&mut push) {
            Ok(()) => {
                if std::mem::take(&mut is_failing) {
                    print_note("the upload works again");
                }
                has_begun = true;
            }
            // The run creates its folder at its start.
            Err(PushError::Folder { .. }) if !has_begun && began.elapsed() < BEGINS_WITHIN => {}
            Err(error @ PushError::Folder { .. }) => {
                let _ = says.try_send(format!("the run cannot be uploaded: {error}"));
                return Err(error);
            }
            Err(error) => {
                if !std::mem::replace(&mut is_failing, true) {
                    warn(&format!(
                        "the upload failed, and is tried again and again: {error}"
                    ));
                }
            }
        }
        if stopped.recv_timeout(held.upload_every()) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    for _ in 1..TRIES {
        if held.send_rest(&mut push).is_ok() {
            return Ok(push);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    held.send_rest(&mut push).map(|()| push)
}
