//! Writes a merged run: its plan, and the attempts of the shards.

use super::merge_error::MergeError;
use super::shard_attempts::FoundAttempt;
use super::shard_runs::ShardRun;
use crate::store::{JournalLines, RunFolder, RunKey, SummaryWriter, remove_run};
use evaltrail_core::domain::{
    AttemptKey, EndedAttempt, JudgeUsage, RunEvent, RunPlan, RunState, unix_seconds,
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The number of attempts that are in memory at the same time while they are copied.
const AT_ONCE: usize = 2048;

/// What a merged run is written from.
pub(super) struct MergeSource<'a> {
    pub(super) shards: &'a [ShardRun],
    /// The plan of the merged run.
    pub(super) plan: Arc<RunPlan>,
    /// The attempts of the shards, by their keys in the plan of all shards.
    pub(super) attempts: BTreeMap<AttemptKey, FoundAttempt>,
}

impl MergeSource<'_> {
    /// Writes the merged run, and returns its state. Nothing stays if that fails.
    pub(super) fn write(
        &self,
        workspace: &Path,
        key: Option<RunKey>,
    ) -> Result<RunState, MergeError> {
        // An interrupted merge must not count as one that contains the shards.
        let mut begun = (*self.plan).clone();
        begun.options.merged = Vec::new();
        let folder = RunFolder::create(workspace, &begun, key.clone())?;
        let path = folder.path().to_path_buf();
        self.fill(folder, key.as_ref()).inspect_err(|_| {
            // The error says why there is no merged run.
            let _ = remove_run(&path);
        })
    }

    /// Copies what the shards recorded to the folder of the merged run.
    fn fill(&self, mut folder: RunFolder, key: Option<&RunKey>) -> Result<RunState, MergeError> {
        let mut state = RunState::new(self.plan.clone());
        let summaries = self.copy_attempts(&mut folder, &mut state, key)?;
        let of_cancelled = self
            .shards
            .iter()
            .map(|shard| shard.run.state.spent_on_cancelled)
            .fold(JudgeUsage::default(), JudgeUsage::and);
        if of_cancelled != JudgeUsage::default() {
            folder.append_spent_on_cancelled(of_cancelled)?;
            state.apply(RunEvent::SpentOnCancelled(of_cancelled));
        }
        folder.write_plan(&self.plan)?;
        if state.count_outstanding() == 0 {
            folder.end()?;
            if let Some(summaries) = summaries {
                let _ = folder.end_summaries(summaries);
            }
        }
        // Not synced to disk, which takes longer than all else: after a power failure, the shards can be merged again.
        state.apply(RunEvent::Ended {
            duration_s: duration(&state),
        });
        Ok(state)
    }

    /// Copies the attempts. Returns the summaries to finish, if there are some.
    fn copy_attempts(
        &self,
        folder: &mut RunFolder,
        state: &mut RunState,
        key: Option<&RunKey>,
    ) -> Result<Option<SummaryWriter>, MergeError> {
        let open = |shard: &ShardRun| JournalLines::open(&shard.run, key);
        let journals = self
            .shards
            .iter()
            .map(open)
            .collect::<Result<Vec<_>, _>>()?;
        let (records, mut summaries) = (folder.records(), folder.begin_summaries(state));
        let attempts: Vec<(&AttemptKey, &FoundAttempt)> = self.attempts.iter().collect();
        for some in attempts.chunks(AT_ONCE) {
            let line = |(key, found): &(&AttemptKey, &FoundAttempt)| {
                let position = found.attempt.recorded_at().ok_or("it has no record")?;
                let line = journals[found.shard].line(position)?;
                Ok((line, **key))
            };
            let lines = some
                .par_iter()
                .map(line)
                .collect::<Result<Vec<_>, String>>();
            let positions = folder.append_lines(&lines.map_err(MergeError::Shards)?)?;
            for ((key, found), at) in some.iter().zip(positions) {
                let ended = Arc::new(found.attempt.moved(**key, at, &records));
                // Without the summaries, the journal is read.
                summaries = summaries
                    .and_then(|mut writer| writer.add(ended.clone()).ok().map(|()| writer));
                state.apply(RunEvent::Finished(ended));
            }
        }
        Ok(summaries)
    }
}

/// Seconds from the start of the first attempt to the last response of an agent.
fn duration(state: &RunState) -> f64 {
    let times = |attempt: Arc<EndedAttempt>| {
        let started = unix_seconds(&attempt.started)?;
        Some((started, started + attempt.latency_s.unwrap_or(0.0)))
    };
    let both = |(a, b): (f64, f64), (c, d): (f64, f64)| (a.min(c), b.max(d));
    state
        .finished
        .iter()
        .filter_map(times)
        .reduce(both)
        .map_or(0.0, |(start, end)| end - start)
}
