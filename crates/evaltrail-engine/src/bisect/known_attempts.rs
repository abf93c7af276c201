//! Attempts of earlier runs that tell of a commit what running it again would tell.

use super::git::{Commit, Worktrees};
use crate::history::RunSummary;
use crate::runner::{history_of, load_past_run};
use crate::workspace::{Workspace, agent_files_hash};
use evaltrail_core::analysis::PassCount;
use evaltrail_core::domain::{AgentSpec, PlannedSet, RunPlan, RunState};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Maximum number of earlier runs that are read, the newest first.
const MAX_RUNS: usize = 50;

/// Attempts of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownAttempts {
    /// The position of the commit.
    pub commit: usize,
    /// The attempts of each case of the plan.
    pub counts: Vec<PassCount>,
}

/// The attempts of the cases of a plan that were recorded at one of the commits: with the same contents, criteria, agent, judge and
/// answers of tools, and with the files in the agent's folder as the commit has them, which is checked in a worktree. Runs of agents whose
/// files are not known are left out.
pub async fn known_attempts(
    workspace: &Workspace,
    plan: &RunPlan,
    commits: &[Commit],
    worktrees: &Worktrees,
    checkout: &Path,
) -> Vec<KnownAttempts> {
    let history = history_of(workspace);
    let positions: HashMap<&str, usize> = commits
        .iter()
        .enumerate()
        .map(|(at, commit)| (commit.id.as_str(), at))
        .collect();
    let at_commit = |run: &RunSummary| positions.get(run.commit.as_deref()?).copied();
    let runs = history.ours().filter(|run| run.turn.is_none());
    let runs: Vec<(&RunSummary, usize)> = runs
        .filter_map(|run| Some((run, at_commit(run)?)))
        .take(MAX_RUNS)
        .collect();
    let mut known = Vec::new();
    for (run, commit) in runs {
        let Ok(loaded) = load_past_run(workspace, &history, run) else {
            continue;
        };
        let id = &commits[commit].id;
        if worktrees.check_out(id).await.is_err() {
            continue;
        }
        let is_clean = |set: &PlannedSet| has_files_of(set, checkout, &worktrees.path(id));
        let counts = counts_of(plan, &loaded.state, is_clean);
        if counts.iter().any(|count| count.of > 0) {
            known.push(KnownAttempts { commit, counts });
        }
    }
    known
}

/// Whether the agent of a set had the files of a worktree.
fn has_files_of(set: &PlannedSet, checkout: &Path, worktree: &Path) -> bool {
    let folder = set.app_dir.as_deref();
    let below = folder.and_then(|folder| folder.strip_prefix(checkout).ok());
    let hash = below.and_then(|below| agent_files_hash(&worktree.join(below)));
    hash.is_some() && hash == set.agent_files
}

/// Whether two agents are the same, as far as plans are stored: without the variables of programs, and with their folders relative to
/// the workspace.
fn is_same_agent(a: &AgentSpec, b: &AgentSpec) -> bool {
    let stored = |agent: &AgentSpec| {
        let mut agent = agent.clone();
        if let Some(program) = agent.program_mut() {
            program.variables.clear();
            program.cwd = PathBuf::new();
        }
        agent
    };
    stored(a) == stored(b)
}

/// The attempts of the cases of a plan in an earlier run.
fn counts_of(
    plan: &RunPlan,
    run: &RunState,
    is_clean: impl Fn(&PlannedSet) -> bool,
) -> Vec<PassCount> {
    let mut counts = vec![PassCount::default(); plan.cases.len()];
    for (number, set) in plan.sets.iter().enumerate() {
        let is_same = |other: &&PlannedSet| {
            let (a, b) = (set.without_secrets(), other.without_secrets());
            (a.path == b.path
                && a.criteria == b.criteria
                && a.tools == b.tools
                && a.stubs == b.stubs)
                && a.user == b.user
                && is_same_agent(&a.agent, &b.agent)
        };
        let same = run.plan.sets.iter().find(is_same);
        let Some(other) = same.filter(|_| run.plan.judge == plan.judge) else {
            continue;
        };
        if !is_clean(other) {
            continue;
        }
        let cases = &run.plan.cases;
        let of_set = (0..cases.len()).filter(|at| run.plan.set_of(*at).path == other.path);
        let by_name: HashMap<(&str, &str), usize> = of_set
            .map(|at| ((cases.eval_id(at), cases.content_hash(at)), at))
            .collect();
        for case in (0..plan.cases.len()).filter(|case| plan.cases.set_of(*case) == number) {
            let name = (plan.cases.eval_id(case), plan.cases.content_hash(case));
            if let Some(at) = by_name.get(&name) {
                counts[case] = PassCount::count(&run.attempts_of(*at));
            }
        }
    }
    counts
}
