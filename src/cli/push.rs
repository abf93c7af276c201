//! `--push` and `--queue`: the run is uploaded to an object store or a shared folder while it goes on. Only one machine runs
//! a shard, or a case of a queue, and another one continues it if the first one is gone.

use super::Exit;
use super::addresses::{address_in, copy_runs, print_when_slow, title_of_copy};
use super::args::CaseArgs;
use super::output::print_note;
use super::uploader::{ClaimedShard, ClaimedWork, Heartbeat, PeerRuns, UploadTarget, Uploader};
use anyhow::{Context, bail};
use evaltrail_core::domain::counted;
use evaltrail_core::domain::{PlannedCases, RunPlan, RunState, Shard, clean_line};
use evaltrail_engine::buckets::{Bucket, BucketAddress};
use evaltrail_engine::history::{MergedRun, done_by_earlier_runs, merge_one_shard, merge_shards};
use evaltrail_engine::process::host_name;
use evaltrail_engine::runner::{PreparedRun, RunIdentity};
use evaltrail_engine::store::{
    CaseQueue, ClaimOutcome, Claimant, CopyError, MAX_QUEUED, RunKey, claim, fingerprint,
    full_plan_text, mark_runs_folder, run_path, shard_claim_name,
};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What this machine does of a run.
pub(super) enum ShardClaim {
    /// Its shard, or cases of the queue. The run is uploaded.
    Run(Box<Uploader>),
    /// All of it: it is not shared.
    Alone,
    /// Nothing.
    Nothing(Exit),
}

/// The address of `--push`; a path is that of a folder.
pub(super) fn push_address(path: &Path) -> anyhow::Result<BucketAddress> {
    match address_in(path)? {
        Some(address) => Ok(address),
        None => BucketAddress::of_folder(&std::path::absolute(path)?).map_err(anyhow::Error::msg),
    }
}

/// Opens the folder for the runs of a plan, and returns its address and the digest of the plan. Errors: for example that it is
/// that of another run.
fn open_runs_folder(
    flag: &str,
    to: &Path,
    prepared: &PreparedRun,
    workspace: &Path,
) -> anyhow::Result<(BucketAddress, Bucket, Vec<u8>)> {
    let (Some(whole), Some(shard)) = (&prepared.whole, prepared.plan.options.shard) else {
        bail!("{flag}: the run has no plan for all machines");
    };
    let address = push_address(to)?;
    let of_sets = address_of_folder(workspace)?;
    let below = format!("{address}/");
    if of_sets.is_some_and(|of_sets| address == of_sets || of_sets.to_string().starts_with(&below))
    {
        bail!("{flag} {address}: the eval sets are there; use a place of its own for each run");
    }
    if let Some(folder) = address.local_path() {
        std::fs::create_dir_all(&folder).with_context(|| format!("{flag} {}", folder.display()))?;
    }
    let _waiting = print_when_slow(&address);
    let runs = Bucket::open(&address)?;
    let text = full_plan_text(whole, workspace)?.into_bytes();
    let split = format!("{} {}", shard.of, shard.by.name());
    if !mark_runs_folder(&runs, &fingerprint(&[&text, split.as_bytes()]))? {
        bail!(
            "{flag} {address}: it is the place of another run: files, criteria, options or the number of shards differ. Use \
             another address for a new run"
        );
    }
    Ok((address, runs, text))
}

/// The address of a workspace's folder, or of that of which it is a copy; `None` if it has none.
fn address_of_folder(workspace: &Path) -> anyhow::Result<Option<BucketAddress>> {
    match title_of_copy(workspace) {
        Some(address) => BucketAddress::parse(&address)
            .map(Some)
            .map_err(anyhow::Error::msg),
        None => Ok(BucketAddress::of_folder(workspace).ok()),
    }
}

/// Claims the shard of a run. The cases that an earlier run of it did are taken out of the plan.
pub(super) fn claim_shard(
    cases: &CaseArgs,
    to: &Path,
    prepared: &mut PreparedRun,
    workspace: &Path,
) -> anyhow::Result<ShardClaim> {
    let (address, runs, whole) = open_runs_folder("--push", to, prepared, workspace)?;
    let Some(shard) = prepared.plan.options.shard else {
        bail!("--push: the run is no shard")
    };
    let name = shard_claim_name(shard, &fingerprint(&[&whole]));
    let waits = |who: &Claimant| {
        print_note(&format!(
            "{}: claimed by {} at {}; waiting for a heartbeat, for at most {} s",
            shard.describe(),
            clean_line(&who.host),
            clean_line(&who.since),
            cases.lease.as_secs().max(who.lease_s)
        ));
    };
    match claim(&runs, &name, &claimant(cases.lease), cases.lease, waits)? {
        ClaimOutcome::Done(_) => Ok(ShardClaim::Nothing(exit_of_complete(
            cases, &address, shard, prepared, &whole,
        )?)),
        ClaimOutcome::Taken(who) => {
            print_note(&format!(
                "{} is being run by {}; this process does nothing",
                shard.describe(),
                clean_line(&who.host)
            ));
            Ok(ShardClaim::Nothing(Exit::UsageError))
        }
        ClaimOutcome::Won(claim, is_continued) => {
            let heartbeat = Heartbeat::start(ClaimedWork::Shard(claim.clone()))?;
            let mut claimed = ClaimedShard {
                address,
                claim,
                shard,
                continued: None,
            };
            if is_continued {
                let left_out = leave_out_done(&mut claimed, prepared, &whole);
                left_out.inspect_err(|_| {
                    // Another machine may try it at once.
                    let _ = claimed.claim.release();
                })?;
            }
            let run = run_path(workspace, &prepared.plan.run_id);
            let uploader = Uploader::start(
                &runs,
                UploadTarget::Shard(Box::new(claimed)),
                heartbeat,
                &run,
            )?;
            Ok(ShardClaim::Run(Box::new(uploader)))
        }
    }
}

/// The exit code of a shard that is marked as complete, by the results at the address.
fn exit_of_complete(
    cases: &CaseArgs,
    address: &BucketAddress,
    shard: Shard,
    prepared: &PreparedRun,
    whole: &[u8],
) -> anyhow::Result<Exit> {
    let folder = copy_runs(address)?;
    let done = done_by_earlier_runs(&folder, whole, shard);
    done.problems
        .iter()
        .for_each(|problem| print_note(&clean_line(problem)));
    let plan = &prepared.plan;
    let is_missing = |case: &usize| {
        !done
            .cases
            .contains(&(plan.cases.set_of(*case), plan.cases.index_in_file(*case)))
    };
    let missing = (0..plan.cases.len()).filter(is_missing).count();
    let (words, all) = (shard.describe(), plan.cases.len());
    if missing > 0 {
        print_note(&format!(
            "{words} is marked as complete at {address}, but the results of {missing} of {all} cases are missing there; push \
             to another address to run them"
        ));
        return Ok(Exit::Failures);
    }
    let failed = counted(done.failed, "attempt");
    print_note(&format!(
        "{words} is complete at {address}: {all} cases, {failed} did not pass; push to another address for a new run"
    ));
    Ok(if done.failed > cases.max_failures.unwrap_or(0) {
        Exit::Failures
    } else {
        Exit::Success
    })
}

/// Takes the cases out of the plan that earlier runs of the shard did.
fn leave_out_done(
    claimed: &mut ClaimedShard,
    prepared: &mut PreparedRun,
    whole: &[u8],
) -> anyhow::Result<()> {
    let folder = match copy_runs(&claimed.address) {
        // The machine that had the shard ended before it uploaded anything.
        Err(error) if matches!(error.downcast_ref(), Some(CopyError::Refused(_))) => return Ok(()),
        folder => folder?,
    };
    let done = done_by_earlier_runs(&folder, whole, claimed.shard);
    done.problems
        .iter()
        .for_each(|problem| print_note(&clean_line(problem)));
    let plan = &prepared.plan;
    let is_left = |case: &usize| {
        !done
            .cases
            .contains(&(plan.cases.set_of(*case), plan.cases.index_in_file(*case)))
    };
    let left: Vec<usize> = (0..plan.cases.len()).filter(is_left).collect();
    let of = plan.cases.len();
    let cases = PlannedCases::new(left.iter().filter_map(|case| plan.cases.get(*case)))?;
    let failed = match done.failed {
        0 => String::new(),
        failed => format!(", of which {} did not pass", counted(failed, "attempt")),
    };
    print_note(&format!(
        "{}: continued; {} of {of} cases are done at {}{failed}",
        claimed.shard.describe(),
        of - cases.len(),
        claimed.address
    ));
    let part = RunPlan {
        cases,
        ..plan.without_cases()
    };
    claimed.continued = Some(Box::new(
        (*std::mem::replace(&mut prepared.plan, Arc::new(part))).clone(),
    ));
    Ok(())
}

fn claimant(lease: Duration) -> Claimant {
    let since = jiff::Timestamp::now()
        .round(jiff::Unit::Second)
        .unwrap_or_else(|_| jiff::Timestamp::now());
    let host = format!("{} (process {})", host_name(), std::process::id());
    Claimant {
        host,
        since: since.to_string(),
        lease_s: lease.as_secs(),
    }
}

/// Joins the machines that take the cases of a plan from a queue, and starts to upload the folder of this machine's run.
pub(super) fn join_queue(
    cases: &CaseArgs,
    to: &Path,
    prepared: &mut PreparedRun,
    workspace: &Path,
) -> anyhow::Result<Uploader> {
    let (address, runs, whole) = open_runs_folder("--queue", to, prepared, workspace)?;
    let digest = fingerprint(&[&whole]);
    let plan = &prepared.plan;
    if plan.cases.len() > MAX_QUEUED {
        bail!(
            "--queue {address}: {} cases are more than {MAX_QUEUED}; use --shard and --push",
            plan.cases.len()
        );
    }
    let queue = Arc::new(CaseQueue::new(
        &runs,
        &digest,
        &plan.run_id,
        plan.cases.len(),
        cases.lease,
    ));
    queue.beat()?;
    let heartbeat = Heartbeat::start(ClaimedWork::Cases(queue.clone(), plan.options.repeat))?;
    let run = run_path(workspace, &plan.run_id);
    let uploader = Uploader::start(&runs, UploadTarget::Cases(queue.clone()), heartbeat, &run)?;
    prepared.queue = Some(queue);
    Ok(uploader)
}

/// Merges the runs of other machines with the own one to a run of the workspace.
pub(super) fn merged_runs(
    to: &Path,
    others: PeerRuns,
    workspace: &Path,
) -> anyhow::Result<Option<RunState>> {
    if matches!(others, PeerRuns::None) {
        return Ok(None);
    }
    let folder = copy_runs(&push_address(to)?)?;
    let run_id = RunIdentity::now().run_id;
    let MergedRun { state, remarks, .. } = match others {
        PeerRuns::OfShard(part) => {
            merge_one_shard(&folder, workspace, &run_id, &part, RunKey::find())?
        }
        _ => merge_shards(
            &[folder],
            workspace,
            &run_id,
            &HashSet::new(),
            RunKey::find(),
        )?,
    };
    remarks
        .iter()
        .for_each(|remark| print_note(&clean_line(remark)));
    Ok(Some(state))
}
