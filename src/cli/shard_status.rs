//! `evaltrail runs ADDRESS`: the progress of the shards that machines upload to one address.

use super::Exit;
use super::addresses::{address_in, copy_runs, copy_runs_quietly, print_when_slow};
use super::args::ColorWhen;
use super::output::{paint, print_json, print_note, print_over};
use evaltrail_core::domain::counted;
use evaltrail_core::domain::{Shard, ShardBy, Status, Totals, clean_line};
use evaltrail_engine::buckets::{Bucket, BucketAddress};
use evaltrail_engine::history::{PushedShards, ShardProgress, pushed_shards};
use evaltrail_engine::report::{Paint, shell_word};
use evaltrail_engine::store::{ClaimState, claim_states, has_pushed_runs, shard_claim_name};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The address of runs that were uploaded, if a path stands for one: an address, or a folder with such runs.
pub(super) fn pushed_at(path: &Path) -> anyhow::Result<Option<BucketAddress>> {
    match address_in(path)? {
        Some(address) if is_pushed_to(&address)? => Ok(Some(address)),
        Some(_) => Ok(None),
        None if has_pushed_runs(path) => {
            let address = BucketAddress::of_folder(&std::path::absolute(path)?);
            address.map(Some).map_err(anyhow::Error::msg)
        }
        None => Ok(None),
    }
}

/// Whether machines push runs to an address.
fn is_pushed_to(address: &BucketAddress) -> anyhow::Result<bool> {
    let _waiting = print_when_slow(address);
    let (folders, _) = Bucket::open(address)?.folders()?;
    Ok(folders
        .iter()
        .any(|folder| ["claims", "queue"].contains(&folder.as_str())))
}

/// The path of a folder with the runs at a path, which is that of a copy if they were uploaded.
pub(super) fn runs_below(path: &Path) -> anyhow::Result<PathBuf> {
    match address_in(path)?.map_or_else(|| pushed_at(path), |address| Ok(Some(address)))? {
        Some(address) => Ok(copy_runs(&address)?),
        None => Ok(std::path::absolute(path)?),
    }
}

/// One shard.
struct ShardRow {
    number: u32,
    claim: ClaimState,
    progress: ShardProgress,
    /// Whether machines take its cases from a queue.
    is_queue: bool,
}

/// The shards of a run.
struct ShardStatus {
    address: BucketAddress,
    shards: PushedShards,
    rows: Vec<ShardRow>,
}

/// Prints how far the shards at an address are; with `--watch` again and again until all are complete.
pub(super) fn show_shard_status(
    address: &BucketAddress,
    as_json: bool,
    watch: bool,
) -> anyhow::Result<Exit> {
    const INTERVAL: Duration = Duration::from_secs(10);
    let mut before: Option<String> = None;
    loop {
        let folder = if before.is_none() {
            copy_runs(address)?
        } else {
            copy_runs_quietly(address)?
        };
        let status = ShardStatus::read(address, &folder)?;
        if as_json {
            print_json(&serde_json::to_string_pretty(&status.json())?);
            return Ok(Exit::Success);
        }
        let text = status.text(paint(ColorWhen::Auto));
        if before.as_ref() != Some(&text) {
            let lines = before.map_or(0, |before| before.lines().count());
            status
                .shards
                .problems
                .iter()
                .for_each(|problem| print_note(&clean_line(problem)));
            if !print_over(&text, lines) {
                return Ok(Exit::Success);
            }
            before = Some(text);
        }
        if !watch || status.rows.iter().all(ShardRow::is_complete) {
            return Ok(Exit::Success);
        }
        std::thread::sleep(INTERVAL);
    }
}

impl ShardStatus {
    /// Reads the claims at an address, and the copy of its runs.
    fn read(address: &BucketAddress, folder: &Path) -> anyhow::Result<ShardStatus> {
        let mut shards =
            pushed_shards(folder).map_err(|why| anyhow::anyhow!("{address}: {why}"))?;
        let mut states = claim_states(&Bucket::open(address)?)?;
        let is_queue = shards.shard.by == ShardBy::Queue;
        let mut row = |number| {
            let name = shard_claim_name(
                Shard {
                    number,
                    ..shards.shard
                },
                &shards.whole,
            );
            let claim = states.remove(&name).unwrap_or(ClaimState::Open);
            let progress = shards.progress.remove(&number).unwrap_or_default();
            ShardRow {
                number,
                claim,
                progress,
                is_queue,
            }
        };
        let rows = (1..=shards.shard.of).map(&mut row).collect();
        Ok(ShardStatus {
            address: address.clone(),
            shards,
            rows,
        })
    }

    fn text(&self, paint: Paint) -> String {
        let mut lines = vec![headline(&self.address, &self.shards, &self.rows)];
        lines.push(paint.faint(&format!(
            "{:>5} {:>11} {:>7} {:>7} {:>7} {:>10}  {:<13} {}",
            "shard", "done", "passed", "failed", "errored", "not judged", "run", "state"
        )));
        lines.extend(self.rows.iter().map(|row| line(row, paint)));
        lines.join("\n")
    }

    fn json(&self) -> Value {
        json_of(&self.address, &self.shards, &self.rows)
    }
}

fn totals(rows: &[ShardRow]) -> Totals {
    rows.iter().fold(
        Totals::default(),
        |sum,
         ShardRow {
             progress: ShardProgress { totals, .. },
             ..
         }| Totals {
            passed: sum.passed + totals.passed,
            failed: sum.failed + totals.failed,
            errored: sum.errored + totals.errored,
            not_evaluated: sum.not_evaluated + totals.not_evaluated,
        },
    )
}

fn headline(address: &BucketAddress, shards: &PushedShards, rows: &[ShardRow]) -> String {
    let sum = totals(rows);
    let complete = rows.iter().filter(|row| row.is_complete()).count();
    let of = shards.shard.of;
    let parts = match shards.shard.by {
        ShardBy::Queue if complete > 0 => "the queue is empty".to_string(),
        ShardBy::Queue => "the queue is not empty".to_string(),
        _ => format!("{complete} of {} complete", counted(of as usize, "shard")),
    };
    let next = match complete == of as usize {
        true => format!("; evaltrail merge {}", shell_word(&address.to_string())),
        false => String::new(),
    };
    format!(
        "{address}: {} of {} done, {} passed, {} failed, {} errored, {} not judged; {parts}{next}",
        sum.ended(),
        counted(shards.attempts, "attempt"),
        sum.passed,
        sum.failed,
        sum.errored,
        sum.not_evaluated,
    )
}

impl ShardRow {
    fn is_complete(&self) -> bool {
        let is_marked = match self.claim {
            ClaimState::Done(_) => true,
            // A run that was copied there has no claim.
            ClaimState::Open => self.progress.is_complete,
            _ => false,
        };
        is_marked && self.progress.totals.ended() >= self.progress.attempts
    }

    fn state(&self) -> String {
        const CONTINUED: &str = "the same command continues it";
        match &self.claim {
            _ if self.is_complete() => "complete".into(),
            _ if self.is_queue => format!("queue of {}", counted(self.progress.runs, "machine")),
            ClaimState::Open if self.progress.run_id.is_empty() => "not started".into(),
            ClaimState::Open | ClaimState::Released => format!("interrupted; {CONTINUED}"),
            ClaimState::Held(who, age) if *age > who.lease_s.max(1) as i64 * 2 => {
                format!("no heartbeat of {} for {age} s; {CONTINUED}", who.host)
            }
            ClaimState::Held(who, age) => {
                format!("running on {}, last heartbeat {age} s ago", who.host)
            }
            ClaimState::Done(_) => "marked as complete, but results are missing".into(),
            ClaimState::Unreadable(why) => why.clone(),
        }
    }
}

fn line(row: &ShardRow, paint: Paint) -> String {
    let ShardProgress {
        run_id,
        attempts,
        totals,
        ..
    } = &row.progress;
    let done = match run_id.is_empty() {
        true => "·".to_string(),
        false => format!("{}/{attempts}", totals.ended()),
    };
    let count = |status: Status, count: usize, width: usize| match count {
        0 => format!("{:>width$}", "·"),
        _ => paint.status(status, &format!("{count:>width$}")),
    };
    let run = if run_id.is_empty() {
        "·".into()
    } else {
        clean_line(run_id)
    };
    format!(
        "{:>5} {done:>11} {} {} {} {}  {run:<13} {}",
        row.number,
        count(Status::Passed, totals.passed, 7),
        count(Status::Failed, totals.failed, 7),
        count(Status::Errored, totals.errored, 7),
        count(Status::NotEvaluated, totals.not_evaluated, 10),
        clean_line(&row.state())
    )
}

fn json_of(address: &BucketAddress, shards: &PushedShards, rows: &[ShardRow]) -> Value {
    let each = |row: &ShardRow| {
        let ShardProgress {
            run_id,
            attempts,
            totals,
            ..
        } = &row.progress;
        let (host, age) = match &row.claim {
            ClaimState::Held(who, age) => (Some(who.host.clone()), Some(*age)),
            _ => (None, None),
        };
        json!({
            "shard": row.number,
            "run_id": (!run_id.is_empty()).then_some(run_id),
            "complete": row.is_complete(),
            "state": row.state(),
            "host": host,
            "last_heartbeat_s": age,
            "attempts": attempts,
            "totals": totals,
        })
    };
    json!({
        "evaltrail": env!("CARGO_PKG_VERSION"),
        "address": address.to_string(),
        "shards": shards.shard.of,
        "by": shards.shard.by,
        "attempts": shards.attempts,
        "totals": totals(rows),
        "problems": shards.problems,
        "parts": rows.iter().map(each).collect::<Vec<_>>(),
    })
}
