//! `--push`: the run is uploaded to an object store or a shared folder while it goes on. Only one machine runs a shard, and
//! another one continues it if the first one is gone.

use super::Exit;
use super::addresses::{address_in, places, progress};
use super::args::CaseArgs;
use super::output::tell;
use crate::buckets::{Bucket, BucketAddress};
use crate::domain::{PlannedCases, RunPlan, Shard, clean_line};
use crate::history::done_by_earlier_runs;
use crate::process::host_name;
use crate::runner::Prepared;
use crate::store::{
    Claim, ClaimEnd, Claimant, Claimed, PushError, RunPush, claim, copy_pushed_runs, fingerprint,
    shard_claim_name, whole_plan_text,
};
use anyhow::bail;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the run is uploaded.
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

/// Uploads a run on a thread of its own while it goes on.
pub(super) struct Uploader {
    stop: Sender<()>,
    /// Receives a message if another machine took the shard over.
    pub(super) lost: tokio::sync::mpsc::Receiver<()>,
    /// Whether this process still has the shard at the end.
    thread: JoinHandle<Result<bool, PushError>>,
    claimed: ClaimedShard,
    run: String,
}

impl ClaimedShard {
    /// Starts to upload the folder of a run, as soon as it exists.
    pub(super) fn upload(self, run: &Path) -> std::io::Result<Uploader> {
        let (stop, stopped) = channel();
        let (loses, lost) = tokio::sync::mpsc::channel(1);
        let (mut push, mut claim) = (RunPush::new(&self.runs, run), self.claim.clone());
        let upload = move || {
            let mut sent: Option<Instant> = None;
            loop {
                match claim.beat() {
                    Ok(true) => {}
                    Ok(false) => {
                        let _ = loses.try_send(());
                        return Ok(false);
                    }
                    // It is tried again with the next one.
                    Err(error) => tell(&format!("warning: --push: {}", clean_line(&error.to_string()))),
                }
                if sent.is_none_or(|at| at.elapsed() >= EVERY) {
                    match push.send() {
                        Ok(()) => sent = Some(Instant::now()),
                        // The run creates its folder at its start.
                        Err(PushError::Folder { .. }) if sent.is_none() => {}
                        Err(error) => tell(&format!("warning: --push: {}", clean_line(&error.to_string()))),
                    }
                }
                match stopped.recv_timeout(claim.beat_every().min(EVERY)) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return send_rest(&mut push).map(|()| true),
                }
            }
        };
        let thread = std::thread::Builder::new().name("push".into()).spawn(upload)?;
        let run = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Uploader { stop, lost, thread, claimed: self, run })
    }
}

fn send_rest(push: &mut RunPush) -> Result<(), PushError> {
    for _ in 1..TRIES {
        if push.send().is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    push.send()
}

impl Uploader {
    /// Uploads the rest. `exit` is the exit code of a run that ended; `None` if it was interrupted. Errors: the run is not
    /// uploaded completely.
    pub(super) fn finish(self, exit: Option<Exit>) -> anyhow::Result<()> {
        let Uploader { stop, thread, claimed, run, .. } = self;
        drop(stop);
        let address = &claimed.address;
        let Ok(sent) = thread.join() else { bail!("--push: the upload to {address} was aborted") };
        if !sent? {
            bail!("--push: another machine has taken over {}; its results count", claimed.shard.words());
        }
        match exit {
            None => claimed.claim.release()?,
            Some(exit) => claimed.claim.complete(&ClaimEnd { run: run.clone(), exit: exit.code() })?,
        }
        let next = match claimed.shard.of {
            1 => format!(
                "evaltrail {address} explores it, evaltrail merge {address} makes it one of your runs"
            ),
            _ => format!("evaltrail runs {address} lists the shards, evaltrail merge {address} merges them"),
        };
        tell(&format!("run {run} is at {address}; {next}"));
        Ok(())
    }
}
