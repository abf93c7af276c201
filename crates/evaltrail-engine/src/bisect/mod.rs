//! The search for the commit from which on cases pass less often: the commits of git, a worktree for each that is run, and what is
//! known so far.
//!
//! ```text
//! commits between two ─▶ states: commits that differ in nothing that an agent reads are one
//! plan of now ─relocate─▶ the same cases and criteria, with the agent of a worktree ─▶ runner ─▶ outcomes
//! outcomes ─▶ record (stored after each state, so that the search can continue) ─▶ Bisection ─▶ next state
//! ```

mod agent_in_worktree;
mod git;
mod known_attempts;
mod record;
mod states;

pub use agent_in_worktree::{EnvCopies, copy_env_files, relocated_run};
pub use git::{Commit, GitError, GitRepository, Worktrees, run_setup, short_commit};
pub use known_attempts::{KnownAttempts, known_attempts};
pub use record::{BisectionFile, SearchFolder, SearchRecord, StateRecord, remove_old_searches};
pub use states::{CodeState, code_states};
