//! Claims of machines on parts of a run, as objects: only one machine executes each part, and another one takes it over if
//! the first one writes no more heartbeats.
//!
//! ```text
//! plan                      the digest of the run's plan
//! claims/<name>/000001      the first claim: created only if it does not exist
//! claims/<name>/beat        the heartbeat of the machine that has the claim
//! claims/<name>/released    the last claim that was given up
//! claims/<name>/done        the part is complete
//! ```

use crate::buckets::{Bucket, BucketError, StoredObject};
use evaltrail_core::domain::Shard;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The part of the lease after which the machine that has a claim writes another heartbeat.
const BEATS: u32 = 6;
/// The maximum size of the objects, in bytes.
const MAX_BYTES: u64 = 64 << 10;
/// The longest lease of another machine that is waited for.
const MAX_LEASE: Duration = Duration::from_secs(3600);
/// The number of claims on one part. Other numbers are not evaltrail's.
const MAX_CLAIMS: u32 = 999_999;
const FOLDER: &str = "claims";
/// The object with the digest of the plan of the run to which a folder of runs belongs.
const PLAN: &str = "plan";
const BEAT: &str = "beat";
const RELEASED: &str = "released";
const DONE: &str = "done";

/// What is known about the machine that has a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claimant {
    /// The name of the machine, and the number of the process.
    pub host: String,
    /// When it made the claim (RFC 3339).
    pub since: String,
    /// The time without a heartbeat after which its claims may be taken over, in seconds.
    #[serde(default)]
    pub lease_s: u64,
}

/// The end of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimEnd {
    /// The run of the part.
    pub run: String,
}

/// A claim that this process has.
#[derive(Clone, Debug)]
pub struct Claim {
    bucket: Bucket,
    generation: u32,
    lease: Duration,
    beats: u64,
}

/// The outcome of a claim.
#[derive(Debug)]
pub enum ClaimOutcome {
    /// This process has it. The second value tells whether another one had it before.
    Won(Claim, bool),
    /// Another machine has it.
    Taken(Claimant),
    /// The part is complete.
    Done(ClaimEnd),
}

/// What is known about a part.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimState {
    /// Nobody has claimed it.
    Open,
    /// A machine has claimed it, and wrote a heartbeat this many seconds ago by this machine's clock.
    Held(Claimant, i64),
    /// The machine that had it gave it up.
    Released,
    /// It is complete.
    Done(ClaimEnd),
    /// The objects of the claim cannot be read. Contains the message.
    Unreadable(String),
}

/// Marks a folder of runs as that of the run with this digest of its plan. Returns `false` if it is that of another run.
pub fn mark_runs_folder(runs: &Bucket, digest: &str) -> Result<bool, BucketError> {
    match runs.create(PLAN, digest.as_bytes().to_vec()) {
        Ok(_) => Ok(true),
        Err(BucketError::Exists(_)) => Ok(runs.read(PLAN, MAX_BYTES)?.0 == digest.as_bytes()),
        Err(error) => Err(error),
    }
}

/// The name of the claim on a shard of the run with this digest of its plan.
pub fn shard_claim_name(shard: Shard, whole: &str) -> String {
    let Shard { number, of, by } = shard;
    format!(
        "shard-{number}-of-{of}-{}-{}",
        by.name(),
        whole.get(..16).unwrap_or(whole)
    )
}

/// Claims a part of a run in a folder of runs. If another machine has it, this waits for a heartbeat of that machine,
/// for at most the lease, and says so before.
pub fn claim(
    runs: &Bucket,
    name: &str,
    own: &Claimant,
    lease: Duration,
    mut waits: impl FnMut(&Claimant),
) -> Result<ClaimOutcome, BucketError> {
    let bucket = runs.below(FOLDER).below(name);
    let mut seen: Option<(String, Instant, Duration)> = None;
    loop {
        let objects = bucket.list()?.objects;
        let named = |name: &str| objects.iter().find(|object| object.name == name);
        if named(DONE).is_some() {
            return Ok(ClaimOutcome::Done(read_json(&bucket, DONE)?));
        }
        let generation = newest(&objects);
        let free = generation == 0 || released(&bucket, &objects)? == generation;
        if !free {
            let (last, object) = newest_heartbeat(&objects, generation);
            match &seen {
                None => {
                    let claimant = claimant(&bucket, generation);
                    waits(&claimant);
                    // The other machine writes heartbeats as its own lease says.
                    let lease = lease.max(Duration::from_secs(claimant.lease_s).min(MAX_LEASE));
                    let age = Duration::from_secs(
                        unix_now()
                            .saturating_sub(object.map_or(0, |beat| beat.written))
                            .max(0) as u64,
                    );
                    // Clocks may differ, so that a heartbeat is waited for in any case.
                    let patience = if age > lease { lease / 3 } else { lease };
                    seen = Some((last, Instant::now(), patience));
                }
                Some((before, _, _)) if *before != last => {
                    return Ok(ClaimOutcome::Taken(claimant(&bucket, generation)));
                }
                Some(_) => {}
            }
            if seen
                .as_ref()
                .is_some_and(|(_, since, patience)| since.elapsed() < *patience)
            {
                std::thread::sleep(lease / (BEATS * 4));
                continue;
            }
        }
        if generation + 1 >= MAX_CLAIMS {
            let why = format!(
                "{}: the claim {generation} is not one of evaltrail's; delete it",
                bucket.address()
            );
            return Err(BucketError::Other(why));
        }
        let text = json(own);
        match bucket.create(&generation_name(generation + 1), text) {
            Ok(_) => {
                let claim = Claim {
                    bucket,
                    generation: generation + 1,
                    lease,
                    beats: 0,
                };
                return Ok(ClaimOutcome::Won(claim, generation > 0));
            }
            // Another machine was faster.
            Err(BucketError::Exists(_)) => seen = None,
            Err(error) => return Err(error),
        }
    }
}

/// The states of the parts that were claimed in a folder of runs, by name.
pub fn claim_states(runs: &Bucket) -> Result<BTreeMap<String, ClaimState>, BucketError> {
    let all = runs.below(FOLDER);
    let mut by_name: BTreeMap<String, Vec<StoredObject>> = BTreeMap::new();
    for object in all.list()?.objects {
        if let Some((name, rest)) = object.name.split_once('/') {
            let rest = rest.to_string();
            by_name
                .entry(name.to_string())
                .or_default()
                .push(StoredObject {
                    name: rest,
                    ..object
                });
        }
    }
    let state = |(name, objects): (String, Vec<StoredObject>)| {
        let state = state_of(&all.below(&name), &objects);
        (
            name,
            state.unwrap_or_else(|error| ClaimState::Unreadable(error.to_string())),
        )
    };
    Ok(by_name.into_iter().map(state).collect())
}

fn state_of(bucket: &Bucket, objects: &[StoredObject]) -> Result<ClaimState, BucketError> {
    if objects.iter().any(|object| object.name == DONE) {
        return Ok(ClaimState::Done(read_json(bucket, DONE)?));
    }
    let generation = newest(objects);
    if generation == 0 {
        return Ok(ClaimState::Open);
    }
    if released(bucket, objects)? == generation {
        return Ok(ClaimState::Released);
    }
    let (_, object) = newest_heartbeat(objects, generation);
    let age = unix_now() - object.map_or(0, |object| object.written);
    Ok(ClaimState::Held(claimant(bucket, generation), age.max(0)))
}

impl Claim {
    /// How often a heartbeat is due.
    pub fn heartbeat_interval(&self) -> Duration {
        self.lease / BEATS
    }

    /// Writes a heartbeat. Returns `false` if another machine has taken the part over.
    pub fn beat(&mut self) -> Result<bool, BucketError> {
        if self
            .bucket
            .object(&generation_name(self.generation + 1))?
            .is_some()
        {
            return Ok(false);
        }
        self.beats += 1;
        self.bucket.put(
            BEAT,
            format!("{} {}", self.generation, self.beats).into_bytes(),
        )?;
        Ok(true)
    }

    /// Gives the claim up, so that another machine continues at once.
    pub fn release(&self) -> Result<(), BucketError> {
        self.bucket
            .put(RELEASED, self.generation.to_string().into_bytes())
            .map(drop)
    }

    /// Marks the part as complete.
    pub fn complete(&self, end: &ClaimEnd) -> Result<(), BucketError> {
        match self.bucket.create(DONE, json(end)) {
            Err(BucketError::Exists(_)) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn generation_name(generation: u32) -> String {
    format!("{generation:06}")
}

/// The number of the newest claim; 0 if there is none.
fn newest(objects: &[StoredObject]) -> u32 {
    let number = |object: &StoredObject| {
        object
            .name
            .parse::<u32>()
            .ok()
            .filter(|number| *number < MAX_CLAIMS)
    };
    objects.iter().filter_map(number).max().unwrap_or(0)
}

/// The number of the last claim that was given up; 0 if there is none.
fn released(bucket: &Bucket, objects: &[StoredObject]) -> Result<u32, BucketError> {
    if !objects.iter().any(|object| object.name == RELEASED) {
        return Ok(0);
    }
    let (text, _) = bucket.read(RELEASED, MAX_BYTES)?;
    Ok(String::from_utf8_lossy(&text).trim().parse().unwrap_or(0))
}

/// The versions of the objects that the machine with the claim writes, and the newest of them.
fn newest_heartbeat(objects: &[StoredObject], generation: u32) -> (String, Option<&StoredObject>) {
    let name = generation_name(generation);
    let written: Vec<&StoredObject> = objects
        .iter()
        .filter(|object| object.name == name || object.name == BEAT)
        .collect();
    let versions: Vec<&str> = written.iter().map(|object| object.etag.as_str()).collect();
    (
        versions.join(" "),
        written.into_iter().max_by_key(|object| object.written),
    )
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn read_json<T: for<'de> Deserialize<'de>>(bucket: &Bucket, name: &str) -> Result<T, BucketError> {
    let (text, _) = bucket.read(name, MAX_BYTES)?;
    let told = |_| {
        let object = bucket.address().join(name);
        BucketError::Other(format!(
            "{object} is damaged; delete it, and the next machine takes the shard"
        ))
    };
    serde_json::from_slice(&text).map_err(told)
}

/// The machine with a claim. A claim that was not written completely has no name.
fn claimant(bucket: &Bucket, generation: u32) -> Claimant {
    let unknown = || Claimant {
        host: "an unknown machine".into(),
        since: "an unknown time".into(),
        lease_s: 0,
    };
    read_json(bucket, &generation_name(generation)).unwrap_or_else(|_| unknown())
}

fn unix_now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buckets::BucketAddress;

    const LEASE: Duration = Duration::from_millis(240);

    fn runs() -> (tempfile::TempDir, Bucket) {
        let folder = tempfile::tempdir().unwrap();
        let bucket = Bucket::open(&BucketAddress::of_folder(folder.path()).unwrap()).unwrap();
        (folder, bucket)
    }

    fn own(host: &str) -> Claimant {
        Claimant {
            host: host.into(),
            since: "2026-11-20T10:00:00Z".into(),
            lease_s: 0,
        }
    }

    #[test]
    fn one_of_two_machines_has_a_claim() {
        let (_folder, runs) = runs();
        let ClaimOutcome::Won(mut claim, false) =
            super::claim(&runs, "shard-1", &own("a"), LEASE, |_| ()).unwrap()
        else {
            panic!()
        };
        std::thread::scope(|scope| {
            let (stop, stopped) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || {
                while stopped.recv_timeout(claim.heartbeat_interval()).is_err() {
                    assert!(claim.beat().unwrap());
                }
            });
            let mut waited = Vec::new();
            let second = super::claim(&runs, "shard-1", &own("b"), LEASE, |who| {
                waited.push(who.clone())
            });
            assert!(matches!(second.unwrap(), ClaimOutcome::Taken(who) if who == own("a")));
            assert_eq!(waited, [own("a")]);
            stop.send(()).unwrap();
        });
        let states = claim_states(&runs).unwrap();
        assert!(
            matches!(&states["shard-1"], ClaimState::Held(who, _) if *who == own("a")),
            "{states:?}"
        );
        assert_eq!(states.len(), 1);
    }

    #[test]
    fn expired_claim_passes_to_another_machine() {
        let (_folder, runs) = runs();
        let ClaimOutcome::Won(mut first, _) =
            super::claim(&runs, "s", &own("a"), LEASE, |_| ()).unwrap()
        else {
            panic!()
        };
        assert!(first.beat().unwrap());
        let taken = super::claim(&runs, "s", &own("b"), LEASE, |_| ()).unwrap();
        let ClaimOutcome::Won(mut second, true) = taken else {
            panic!("{taken:?}")
        };
        assert!(!first.beat().unwrap(), "the first one learns of it");
        assert!(second.beat().unwrap());
        second.release().unwrap();
        assert_eq!(claim_states(&runs).unwrap()["s"], ClaimState::Released);
        let ClaimOutcome::Won(third, true) =
            super::claim(&runs, "s", &own("c"), LEASE, |_| panic!()).unwrap()
        else {
            panic!()
        };
        let end = ClaimEnd { run: "r".into() };
        third.complete(&end).unwrap();
        let last = super::claim(&runs, "s", &own("d"), LEASE, |_| ()).unwrap();
        assert!(matches!(last, ClaimOutcome::Done(found) if found == end));
    }
}
