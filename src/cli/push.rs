//! `--push` and `--queue`: the run is uploaded to an object store or a shared folder while it goes on. Only one machine runs
//! a shard, or a case of a queue, and another one continues it if the first one is gone.

use super::Exit;
use super::addresses::{address_in, places, progress};
use super::args::CaseArgs;
use super::output::tell;
use crate::buckets::{Bucket, BucketAddress, BucketError};
use crate::domain::{PlannedCases, RunPlan, RunState, Shard, clean_line};
use crate::history::{MergedRun, done_by_earlier_runs, merge_shards};
use crate::process::host_name;
use crate::runner::{Prepared, Stamp};
use crate::store::{
    CaseQueue, Claim, ClaimEnd, Claimant, Claimed, PushError, RunKey, RunPush, claim, copy_pushed_runs,
    fingerprint, run_path, shard_claim_name, whole_plan_text,
};
use anyhow::bail;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the run is uploaded at least.
const EVERY: Duration = Duration::from_secs(30);
/// The number of times that the last upload is tried.
const TRIES: u32 = 3;

/// A shard that this process has claimed.
pub(super) struct ClaimedShard {
    address: BucketAddress,
    runs: Bucket,
    claim: Claim,
    shard: Shard,
}

/// What to do about a shard.
pub(super) enum ShardClaim {
    /// Run it.
    Run(Box<ClaimedShard>),
    /// There is nothing to run.
    Nothing(Exit),
}

/// The address of `--push`; a path is that of a folder.
pub(super) fn push_address(path: &Path) -> anyhow::Result<BucketAddress> {
    match address_in(path)? {
        Some(address) => Ok(address),
        None => Ok(BucketAddress::of_folder(&std::path::absolute(path)?)),
    }
}

/// Claims the shard of a run. The cases that an earlier run of it did are taken out of the plan.
pub(super) fn claim_shard(
    cases: &CaseArgs,
    to: &Path,
    prepared: &mut Prepared,
    workspace: &Path,
) -> anyhow::Result<ShardClaim> {
    let (Some(whole), Some(shard)) = (prepared.whole.clone(), prepared.plan.options.shard) else {
        bail!("--push: the run is no shard");
    };
    let address = push_address(to)?;
    if let Some(folder) = address.local_path() {
        std::fs::create_dir_all(folder)?;
    }
    let runs = Bucket::open(&address)?;
    let whole = whole_plan_text(&whole, workspace)?.into_bytes();
    let name = shard_claim_name(shard, &fingerprint(&[&whole]));
    let waits = |who: &Claimant| {
        tell(&format!(
            "{}: claimed by {} at {}; waiting for a sign of life, for at most {} s",
            shard.words(),
            clean_line(&who.host),
            clean_line(&who.since),
            cases.lease.as_secs()
        ));
    };
    match claim(&runs, &name, &claimant(), cases.lease, waits)? {
        Claimed::Done(end) => {
            let run = clean_line(&end.run).into_owned();
            tell(&format!(
                "{} is complete at {address}, as run {run}; push to another address for a new run",
                shard.words()
            ));
            Ok(ShardClaim::Nothing(Exit::Code(end.exit)))
        }
        Claimed::Taken(who) => {
            tell(&format!(
                "{} is being run by {}; this process does nothing",
                shard.words(),
                clean_line(&who.host)
            ));
            Ok(ShardClaim::Nothing(Exit::UsageError))
        }
        Claimed::Won(claim, is_continued) => {
            let claimed = ClaimedShard { address, runs, claim, shard };
            if is_continued {
                leave_out_done(&claimed, prepared, &whole)?;
            }
            Ok(ShardClaim::Run(Box::new(claimed)))
        }
    }
}

/// Takes the cases out of the plan that earlier runs of the shard did.
fn leave_out_done(claimed: &ClaimedShard, prepared: &mut Prepared, whole: &[u8]) -> anyhow::Result<()> {
    let folder = copy_pushed_runs(&claimed.address, &places()?, &mut progress(&claimed.address));
    // The machine that had the shard may have ended before it uploaded anything.
    let Ok(folder) = folder else { return Ok(()) };
    let done = done_by_earlier_runs(&folder, whole, claimed.shard);
    let plan = &prepared.plan;
    let is_left = |case: &usize| !done.contains(&(plan.cases.set(*case), plan.cases.index(*case)));
    let left: Vec<usize> = (0..plan.cases.len()).filter(is_left).collect();
    let of = plan.cases.len();
    let cases = PlannedCases::of(left.iter().filter_map(|case| plan.cases.get(*case)))?;
    tell(&format!(
        "{}: continued; {} of {of} cases are done at {}",
        claimed.shard.words(),
        of - cases.len(),
        claimed.address
    ));
    prepared.plan = Arc::new(RunPlan { cases, ..plan.without_cases() });
    Ok(())
}

fn claimant() -> Claimant {
    let since = jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_else(|_| jiff::Timestamp::now());
    Claimant { host: format!("{} (process {})", host_name(), std::process::id()), since: since.to_string() }
}

/// What a process that uploads a run holds.
enum Holding {
    /// A shard.
    Shard(Claim),
    /// Cases of a queue, each of which has so many attempts.
    Cases(Arc<CaseQueue>, u32),
}

impl Holding {
    /// How often a sign of life is due.
    fn beat_every(&self) -> Duration {
        match self {
            Holding::Shard(claim) => claim.beat_every(),
            Holding::Cases(queue, _) => queue.beat_every(),
        }
    }

    /// How often the run is uploaded. The cases of a queue are done only when they are uploaded.
    fn upload_every(&self) -> Duration {
        match self {
            Holding::Shard(claim) => claim.beat_every().min(EVERY),
            Holding::Cases(queue, _) => (queue.beat_every() / 2).min(Duration::from_secs(2)),
        }
    }

    /// Shows a sign of life. Returns `false` if another machine has taken over.
    fn beat(&mut self) -> Result<bool, BucketError> {
        match self {
            Holding::Shard(claim) => claim.beat(),
            Holding::Cases(queue, _) => queue.beat().map(|()| true),
        }
    }

    /// Uploads what was written since the last time.
    fn send(&self, push: &mut RunPush) -> Result<(), PushError> {
        let sent = push.send()?;
        if let Holding::Cases(queue, repeat) = self {
            queue.uploaded(&sent, *repeat)?;
        }
        Ok(())
    }
}

/// Uploads a run on a thread of its own while it goes on.
pub(super) struct Uploader {
    stop: Sender<()>,
    /// Receives a message if another machine took the shard over.
    pub(super) lost: tokio::sync::mpsc::Receiver<()>,
    /// Whether this process still has the shard at the end.
    thread: JoinHandle<Result<bool, PushError>>,
    what: Uploaded,
    run: String,
}

/// What is uploaded.
enum Uploaded {
    Shard(ClaimedShard),
    Cases(BucketAddress, Arc<CaseQueue>),
}

impl ClaimedShard {
    /// Starts to upload the folder of a run, as soon as it exists.
    pub(super) fn upload(self, run: &Path) -> std::io::Result<Uploader> {
        let holding = Holding::Shard(self.claim.clone());
        let runs = self.runs.clone();
        Uploader::start(&runs, Uploaded::Shard(self), holding, run)
    }
}

/// Joins the machines that take the cases of a plan from a queue, and starts to upload the folder of this machine's run.
pub(super) fn join_queue(
    cases: &CaseArgs,
    to: &Path,
    prepared: &mut Prepared,
    workspace: &Path,
) -> anyhow::Result<Uploader> {
    let Some(whole) = prepared.whole.clone() else { bail!("--queue: the run has no plan for all machines") };
    let address = push_address(to)?;
    if let Some(folder) = address.local_path() {
        std::fs::create_dir_all(folder)?;
    }
    let runs = Bucket::open(&address)?;
    let digest = fingerprint(&[whole_plan_text(&whole, workspace)?.as_bytes()]);
    if !CaseQueue::begin(&runs, &digest)? {
        bail!(
            "--queue {address}: it is the queue of another plan: files, criteria or options differ. Use another address for a \
             new run"
        );
    }
    let plan = &prepared.plan;
    let queue = Arc::new(CaseQueue::new(&runs, &digest, &plan.run_id, plan.cases.len(), cases.lease));
    queue.beat()?;
    let holding = Holding::Cases(queue.clone(), plan.options.repeat);
    let run = run_path(workspace, &plan.run_id);
    let uploader = Uploader::start(&runs, Uploaded::Cases(address, queue.clone()), holding, &run)?;
    prepared.queue = Some(queue);
    Ok(uploader)
}

/// Merges the runs of all machines that took cases from a queue to a run of the workspace.
pub(super) fn merged_queue(to: &Path, workspace: &Path) -> anyhow::Result<RunState> {
    let address = push_address(to)?;
    let folder = copy_pushed_runs(&address, &places()?, &mut progress(&address))?;
    let place = (workspace, &*Stamp::now().run_id);
    let MergedRun { state, remarks, .. } = merge_shards(&[folder], place, &HashSet::new(), RunKey::find())?;
    remarks.iter().for_each(|remark| tell(&clean_line(remark)));
    Ok(state)
}

/// Uploads a run until it is told to stop. Returns whether this process still holds what it runs.
fn upload(
    holding: &mut Holding,
    push: &mut RunPush,
    stopped: &Receiver<()>,
    loses: &tokio::sync::mpsc::Sender<()>,
) -> Result<bool, PushError> {
    let warn =
        |error: &dyn std::fmt::Display| tell(&format!("warning: --push: {}", clean_line(&error.to_string())));
    let (mut beaten, mut sent): (Option<Instant>, Option<Instant>) = (None, None);
    loop {
        if beaten.is_none_or(|at| at.elapsed() >= holding.beat_every()) {
            match holding.beat() {
                Ok(true) => beaten = Some(Instant::now()),
                Ok(false) => {
                    let _ = loses.try_send(());
                    return Ok(false);
                }
                // It is tried again with the next upload.
                Err(error) => warn(&error),
            }
        }
        match holding.send(push) {
            Ok(()) => sent = Some(Instant::now()),
            // The run creates its folder at its start.
            Err(PushError::Folder { .. }) if sent.is_none() => {}
            Err(error) => warn(&error),
        }
        match stopped.recv_timeout(holding.upload_every()) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return send_rest(holding, push).map(|()| true),
        }
    }
}

fn send_rest(holding: &Holding, push: &mut RunPush) -> Result<(), PushError> {
    for _ in 1..TRIES {
        if holding.send(push).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    holding.send(push)
}

impl Uploader {
    fn start(runs: &Bucket, what: Uploaded, mut holding: Holding, run: &Path) -> std::io::Result<Uploader> {
        let (stop, stopped) = channel();
        let (loses, lost) = tokio::sync::mpsc::channel(1);
        let mut push = RunPush::new(runs, run);
        let work = move || upload(&mut holding, &mut push, &stopped, &loses);
        let thread = std::thread::Builder::new().name("push".into()).spawn(work)?;
        let run = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Uploader { stop, lost, thread, what, run })
    }

    /// Uploads the rest. `exit` is the exit code of a run that ended; `None` if it was interrupted. Errors: the run is not
    /// uploaded completely.
    pub(super) fn finish(self, exit: Option<Exit>) -> anyhow::Result<()> {
        let Uploader { stop, thread, what, run, .. } = self;
        drop(stop);
        let address = match &what {
            Uploaded::Shard(claimed) => &claimed.address,
            Uploaded::Cases(address, _) => address,
        };
        let Ok(sent) = thread.join() else { bail!("the upload to {address} was aborted") };
        let is_held = sent?;
        let claimed = match what {
            Uploaded::Cases(_, queue) => return Ok(queue.leave()?),
            Uploaded::Shard(claimed) => claimed,
        };
        let (address, shard) = (&claimed.address, claimed.shard);
        if !is_held {
            bail!("--push: another machine has taken over {}; its results count", shard.words());
        }
        match exit {
            None => claimed.claim.release()?,
            Some(exit) => claimed.claim.complete(&ClaimEnd { run: run.clone(), exit: exit.code() })?,
        }
        let next = match shard.of {
            1 => format!(
                "evaltrail {address} explores it, evaltrail merge {address} makes it one of your runs"
            ),
            _ => format!("evaltrail runs {address} lists the shards, evaltrail merge {address} merges them"),
        };
        tell(&format!("run {run} is at {address}; {next}"));
        Ok(())
    }
}
