//! The commits that `evaltrail bisect` searches.

use super::bisect_args::BisectArgs;
use anyhow::{Context, bail};
use evaltrail_engine::bisect::{CodeState, Commit, GitRepository, code_states, short_commit};
use evaltrail_engine::workspace::Workspace;

/// The commits of a search, and their states.
pub(super) struct OpenedHistory {
    pub(super) repository: GitRepository,
    /// The oldest first.
    pub(super) commits: Vec<Commit>,
    pub(super) states: Vec<CodeState>,
}

impl OpenedHistory {
    pub(super) async fn open(
        args: &BisectArgs,
        workspace: &Workspace,
    ) -> anyhow::Result<OpenedHistory> {
        let repository = GitRepository::open(&workspace.root).await?;
        let good = repository.commit_id(&args.good).await.context("--good")?;
        let bad = repository.commit_id(&args.bad).await.context("--bad")?;
        let commits = repository.commits(&good, &bad).await?;
        let states = code_states(&commits, &args.path);
        if states.len() < 2 {
            bail!(
                "{} and {} do not differ in anything that the agent reads",
                short_commit(&good),
                short_commit(&bad)
            );
        }
        Ok(OpenedHistory {
            repository,
            commits,
            states,
        })
    }

    /// The commit that is run for a state: the one that made it.
    pub(super) fn commit(&self, state: usize) -> &Commit {
        &self.commits[self.states[state].first]
    }
}
