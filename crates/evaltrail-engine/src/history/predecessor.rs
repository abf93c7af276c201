//! The earlier run with which a run is compared unless another one is named.

use super::run_summary::{RunSource, RunSummary};

/// The run with which `run` is compared: of `earlier` runs, newest first, the first that certainly ran all its cases, because it
/// ran its sets as a whole; else the first of the same sets; else the newest. Foreign runs, and runs of another turn, are left
/// out.
pub fn predecessor<'a>(
    run: &RunSummary,
    earlier: impl Iterator<Item = &'a RunSummary> + Clone,
) -> Option<&'a RunSummary> {
    let usable = || {
        let is_like = |one: &&RunSummary| one.is_usable() && one.turn == run.turn;
        earlier.clone().filter(is_like)
    };
    let has_same_sets =
        |one: &RunSummary| one.set_count() == run.set_count() && one.set_keys() == run.set_keys();
    usable()
        .find(|one| has_all_cases(one, run))
        .or_else(|| usable().find(|one| has_same_sets(one)))
        .or_else(|| usable().next())
}

/// Whether a run certainly contains each case of another: it ran all sets of the other as a whole.
fn has_all_cases(one: &RunSummary, of: &RunSummary) -> bool {
    let RunSource::Evaltrail { sets, .. } = &of.source else {
        return false;
    };
    sets.iter().all(|set| {
        one.set(&set.path)
            .is_some_and(|set| set.is_whole == Some(true))
    })
}

#[cfg(test)]
mod tests {
    use super::super::run_summary::{SetCount, SetResults};
    use super::*;
    use std::path::PathBuf;

    /// A run of these sets, each as a whole or not.
    fn run(id: &str, sets: &[(&str, bool)]) -> RunSummary {
        let set = |(path, is_whole): &(&str, bool)| SetCount {
            path: PathBuf::from(path),
            cases: 1,
            is_whole: Some(*is_whole),
            agent: String::new(),
            agent_files: None,
            setup: Default::default(),
            criteria: Vec::new(),
            criteria_id: 0,
            scoring: Default::default(),
            results: SetResults::default(),
        };
        RunSummary {
            run_id: id.into(),
            path: PathBuf::from(id),
            started: String::new(),
            commit: None,
            source: RunSource::Evaltrail {
                sets: sets.iter().map(set).collect(),
                is_foreign: false,
            },
            agent: String::new(),
            criteria: Vec::new(),
            judge: None,
            duration_s: None,
            spent: None,
            turn: None,
            attempts: 0,
            totals: Default::default(),
            ended: true,
            number: 0,
            shard: None,
            merged: Vec::new(),
            is_in_merged: false,
        }
    }

    #[test]
    fn run_of_all_cases_precedes_newer_part() {
        let found = |of: &RunSummary, earlier: &[RunSummary]| {
            predecessor(of, earlier.iter()).map(|run| run.run_id.clone())
        };
        let (part, other) = (run("part", &[("a", false)]), run("other", &[("b", true)]));
        let (whole, all) = (
            run("whole", &[("a", true)]),
            run("all", &[("a", true), ("b", true)]),
        );
        let latest = run("latest", &[("a", false)]);
        let earlier = [other.clone(), part.clone(), all.clone(), whole];
        assert_eq!(found(&latest, &earlier).unwrap(), "all");
        assert_eq!(found(&latest, &earlier[3..]).unwrap(), "whole");
        assert_eq!(found(&latest, &earlier[..2]).unwrap(), "part");
        assert_eq!(found(&latest, &earlier[..1]).unwrap(), "other");
        let of_turn = RunSummary {
            turn: Some(1),
            ..all
        };
        assert_eq!(found(&latest, &[of_turn]), None);
    }
}
