//! A queue of cases in an object store or a shared folder, from which several machines take cases one by one.
//!
//! ```text
//! <address>/queue/<digest of the plan>/claims/0000042.0001   case 42, by the first machine that took it: its worker id
//! <address>/queue/<digest of the plan>/claims/0000042.0002   the machine that took it over
//! <address>/queue/<digest of the plan>/done/0000042          its results are uploaded
//! <address>/queue/<digest of the plan>/workers/<id>          heartbeats
//! <address>/queue/<digest of the plan>/gone/<id>             the worker ended
//! ```

use crate::buckets::{Bucket, BucketError};
use evaltrail_core::domain::AttemptKey;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

/// The part of the lease after which a worker writes another heartbeat.
const BEATS: u32 = 6;
/// The number of cases in a row that others took, after which all claims are listed again.
const CONFLICTS: usize = 8;
/// The number of claims on one case. Other numbers are not evaltrail's.
const MAX_CLAIMS: u32 = 9_999;
/// The maximum number of cases of a queue: each has two objects or more.
pub const MAX_QUEUED: usize = 90_000;
/// The maximum size of a claim, in bytes.
const MAX_BYTES: u64 = 4096;

/// A queue, for one worker.
#[derive(Debug)]
pub struct CaseQueue {
    bucket: Bucket,
    worker: String,
    lease: Duration,
    cases: usize,
    known: Mutex<KnownQueue>,
}

/// What a worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextCase {
    /// It runs this case.
    Run(usize),
    /// Other workers have the last cases; it asks again later.
    Wait,
    /// All cases are done.
    Finished,
}

/// What this worker knows about the queue.
#[derive(Debug, Default)]
struct KnownQueue {
    /// Whether the queue was listed.
    is_read: bool,
    /// The case with which the search for the next one begins.
    next: usize,
    /// The number of the newest claim of each case that was taken.
    claims: BTreeMap<usize, u32>,
    done: BTreeSet<usize>,
    own: HashSet<usize>,
    /// The workers of claims that were read.
    workers: HashMap<(usize, u32), String>,
    /// The newest heartbeat of each worker, and when it was seen first.
    signs: HashMap<String, (String, Instant)>,
    gone: HashSet<String>,
    /// The attempts of each own case that are uploaded.
    uploaded: HashMap<usize, BTreeSet<u32>>,
    beats: u64,
}

impl CaseQueue {
    /// A queue of so many cases below a folder of runs, for a worker with this id. `digest` is that of the plan.
    pub fn new(
        runs: &Bucket,
        digest: &str,
        worker: &str,
        cases: usize,
        lease: Duration,
    ) -> CaseQueue {
        let bucket = runs
            .below("queue")
            .below(digest.get(..16).unwrap_or(digest));
        // Workers begin at different cases, so that they rarely try to take the same one.
        let seed = worker.bytes().fold(7_usize, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(usize::from(byte))
        });
        let known = KnownQueue {
            next: seed % cases.max(1),
            ..KnownQueue::default()
        };
        CaseQueue {
            bucket,
            worker: worker.to_string(),
            lease,
            cases,
            known: Mutex::new(known),
        }
    }

    /// How often a heartbeat is due.
    pub fn heartbeat_interval(&self) -> Duration {
        self.lease / BEATS
    }

    fn known(&self) -> MutexGuard<'_, KnownQueue> {
        self.known.lock()
    }

    /// Writes a heartbeat.
    pub fn beat(&self) -> Result<(), BucketError> {
        let beats = {
            let mut known = self.known();
            known.beats += 1;
            known.beats
        };
        self.bucket
            .put(
                &format!("workers/{}", self.worker),
                beats.to_string().into_bytes(),
            )
            .map(drop)
    }

    /// Tells the others that this worker ended, so that they take its cases at once.
    pub fn leave(&self) -> Result<(), BucketError> {
        self.bucket
            .put(&format!("gone/{}", self.worker), Vec::new())
            .map(drop)
    }

    /// The number of cases that are done.
    pub fn done(&self) -> usize {
        self.known().done.len()
    }

    /// Takes the next case. What the others did is read at the beginning, when they were faster several times in a row,
    /// and when no case seems to be open; not for every case, because that takes time in proportion to all cases.
    pub fn next(&self) -> Result<NextCase, BucketError> {
        let mut conflicts = if self.known().is_read { 0 } else { CONFLICTS };
        loop {
            if conflicts >= CONFLICTS {
                self.refresh()?;
                conflicts = 0;
            }
            let Some(case) = self.open_case() else { break };
            match self.take(case, 1)? {
                true => return Ok(NextCase::Run(case)),
                false => conflicts += 1,
            }
        }
        self.refresh()?;
        if self.known().done.len() >= self.cases {
            return Ok(NextCase::Finished);
        }
        match self.abandoned()? {
            Some((case, claim)) if self.take(case, claim + 1)? => Ok(NextCase::Run(case)),
            _ => Ok(NextCase::Wait),
        }
    }

    /// The next case that nobody has taken.
    fn open_case(&self) -> Option<usize> {
        let known = self.known();
        let after = (known.next..self.cases).chain(0..known.next);
        let is_open = |case: &usize| !known.claims.contains_key(case) && !known.done.contains(case);
        after.into_iter().find(is_open)
    }

    /// Claims a case. Returns `false` if another worker was faster.
    fn take(&self, case: usize, claim: u32) -> Result<bool, BucketError> {
        let is_own = match self
            .bucket
            .create(&claim_name(case, claim), self.worker.clone().into_bytes())
        {
            Ok(_) => true,
            // It may be the own one, whose confirmation was lost.
            Err(BucketError::Exists(_)) => {
                self.worker_of(case, claim)?.as_deref() == Some(&self.worker)
            }
            Err(error) => return Err(error),
        };
        let mut known = self.known();
        known.claims.insert(case, claim);
        known.next = case + 1;
        if is_own {
            known.own.insert(case);
            known.workers.insert((case, claim), self.worker.clone());
        }
        Ok(is_own)
    }

    /// Reads what the others did.
    fn refresh(&self) -> Result<(), BucketError> {
        let list = |folder: &str| {
            self.bucket
                .below(folder)
                .list()
                .map(|listing| listing.objects)
        };
        let (claims, done) = (list("claims")?, list("done")?);
        let (workers, gone) = (list("workers")?, list("gone")?);
        let mut known = self.known();
        known.is_read = true;
        for object in claims {
            let parsed = object.name.split_once('.').and_then(|(case, claim)| {
                Some((case.parse::<usize>().ok()?, claim.parse::<u32>().ok()?))
            });
            // Other names are not evaltrail's.
            let parsed = parsed.filter(|(case, claim)| *case < self.cases && *claim < MAX_CLAIMS);
            if let Some((case, claim)) = parsed {
                let newest = known.claims.entry(case).or_insert(claim);
                *newest = claim.max(*newest);
            }
        }
        let done = done
            .iter()
            .filter_map(|object| object.name.parse::<usize>().ok());
        known.done.extend(done.filter(|case| *case < self.cases));
        known
            .gone
            .extend(gone.into_iter().map(|object| object.name));
        for object in workers {
            let seen = known
                .signs
                .entry(object.name)
                .or_insert_with(|| (String::new(), Instant::now()));
            if seen.0 != object.etag {
                *seen = (object.etag, Instant::now());
            }
        }
        Ok(())
    }

    /// A case whose worker is gone, or wrote no heartbeat for the lease, with its newest claim.
    fn abandoned(&self) -> Result<Option<(usize, u32)>, BucketError> {
        let open: Vec<(usize, u32)> = {
            let known = self.known();
            let is_open = |(case, _): &(&usize, &u32)| {
                !known.done.contains(case) && !known.own.contains(case)
            };
            known
                .claims
                .iter()
                .filter(is_open)
                .map(|(case, claim)| (*case, *claim))
                .collect()
        };
        for (case, claim) in open {
            // A claim that cannot be read any more is nobody's.
            let Some(worker) = self.worker_of(case, claim)? else {
                return Ok(Some((case, claim)));
            };
            let mut known = self.known();
            // A worker that never wrote a heartbeat has one from now on.
            let (_, since) = known
                .signs
                .entry(worker.clone())
                .or_insert_with(|| (String::new(), Instant::now()));
            let is_silent = since.elapsed() > self.lease;
            if is_silent || known.gone.contains(&worker) || worker == self.worker {
                return Ok(Some((case, claim)));
            }
        }
        Ok(None)
    }

    /// The worker of a claim; `None` if the claim is gone.
    fn worker_of(&self, case: usize, claim: u32) -> Result<Option<String>, BucketError> {
        if let Some(worker) = self.known().workers.get(&(case, claim)) {
            return Ok(Some(worker.clone()));
        }
        let worker = match self.bucket.read(&claim_name(case, claim), MAX_BYTES) {
            Ok((worker, _)) => String::from_utf8_lossy(&worker).into_owned(),
            Err(BucketError::Missing(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.known().workers.insert((case, claim), worker.clone());
        Ok(Some(worker))
    }

    /// Marks a case as done whose results cannot be recorded: another machine could not record them either.
    pub fn give_up(&self, case: usize) -> Result<(), BucketError> {
        self.mark_done(case)
    }

    fn mark_done(&self, case: usize) -> Result<(), BucketError> {
        match self
            .bucket
            .create(&format!("done/{case:07}"), self.worker.clone().into_bytes())
        {
            Ok(_) | Err(BucketError::Exists(_)) => {
                self.known().done.insert(case);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Adds uploaded attempts, and marks the cases as done of which all `repeat` attempts are uploaded.
    pub fn uploaded(&self, attempts: &[AttemptKey], repeat: u32) -> Result<(), BucketError> {
        let complete: Vec<usize> = {
            let mut known = self.known();
            for key in attempts {
                known
                    .uploaded
                    .entry(key.case)
                    .or_default()
                    .insert(key.attempt);
            }
            let is_complete =
                |(_, numbers): &(&usize, &BTreeSet<u32>)| numbers.len() >= repeat as usize;
            let cases = known
                .uploaded
                .iter()
                .filter(is_complete)
                .map(|(case, _)| *case);
            cases.filter(|case| !known.done.contains(case)).collect()
        };
        complete
            .into_iter()
            .try_for_each(|case| self.mark_done(case))
    }
}

fn claim_name(case: usize, claim: u32) -> String {
    format!("claims/{case:07}.{claim:04}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buckets::BucketAddress;

    const LEASE: Duration = Duration::from_millis(200);

    fn bucket_in_folder() -> (tempfile::TempDir, Bucket) {
        let folder = tempfile::tempdir().unwrap();
        let bucket = Bucket::open(&BucketAddress::of_folder(folder.path()).unwrap()).unwrap();
        (folder, bucket)
    }

    fn done(queue: &CaseQueue, case: usize) {
        queue
            .uploaded(&[AttemptKey { case, attempt: 1 }], 1)
            .unwrap();
    }

    #[test]
    fn each_case_is_taken_once() {
        let (_folder, bucket) = bucket_in_folder();
        let taken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for worker in ["a", "b", "c", "d"] {
                let (bucket, taken) = (&bucket, &taken);
                scope.spawn(move || {
                    let queue = CaseQueue::new(bucket, "plan", worker, 40, LEASE);
                    queue.beat().unwrap();
                    loop {
                        match queue.next().unwrap() {
                            NextCase::Run(case) => {
                                taken.lock().push(case);
                                done(&queue, case);
                            }
                            NextCase::Wait => std::thread::yield_now(),
                            NextCase::Finished => return,
                        }
                    }
                });
            }
        });
        let mut taken = taken.into_inner();
        taken.sort_unstable();
        assert_eq!(taken, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn cases_of_lost_worker_are_reassigned() {
        let (_folder, bucket) = bucket_in_folder();
        let queue = |worker| CaseQueue::new(&bucket, "plan", worker, 2, LEASE);
        let (first, second) = (queue("a"), queue("b"));
        first.beat().unwrap();
        second.beat().unwrap();
        let NextCase::Run(of_first) = first.next().unwrap() else {
            panic!()
        };
        let NextCase::Run(of_second) = second.next().unwrap() else {
            panic!()
        };
        assert_ne!(of_first, of_second);
        done(&second, of_second);
        assert_eq!(
            second.next().unwrap(),
            NextCase::Wait,
            "the first worker is alive"
        );
        let began = Instant::now();
        let taken = loop {
            match second.next().unwrap() {
                NextCase::Wait => std::thread::yield_now(),
                next => break next,
            }
        };
        assert_eq!(taken, NextCase::Run(of_first), "without a heartbeat");
        assert!(began.elapsed() >= LEASE / 2);
        // No heartbeat is awaited from a worker that announced its end.
        second.leave().unwrap();
        let third = queue("c");
        assert_eq!(third.next().unwrap(), NextCase::Run(of_first));
        done(&third, of_first);
        assert_eq!(third.next().unwrap(), NextCase::Finished);
        assert_eq!(first.next().unwrap(), NextCase::Finished);
    }
}
