//! The search of `evaltrail bisect`: worktrees, runs with their agents, and what is known so far.

use super::Exit;
use super::bisect_args::BisectArgs;
use super::bisect_history::OpenedHistory;
use super::bisect_text::{answer_json, conclusion, progress_line};
use super::live_run::run_in_private;
use super::output::{print_json, print_line, print_note};
use anyhow::{Context, bail};
use evaltrail_core::analysis::{Bisection, BisectionVerdict, PassCount};
use evaltrail_core::domain::{PlannedSet, ProgramSpec, RunState, Status, clean_line, counted};
use evaltrail_engine::bisect::{
    BisectionFile, CodeState, Commit, EnvCopies, GitError, SearchFolder, Worktrees, copy_env_files,
    known_attempts, relocated_run, remove_old_searches, run_setup, short_commit,
};
use evaltrail_engine::process::{PrivateFolder, Runtimes};
use evaltrail_engine::runner::PreparedRun;
use evaltrail_engine::workspace::Workspace;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// A search in progress.
pub(super) struct Search<'a> {
    args: &'a BisectArgs,
    workspace: &'a Workspace,
    prepared: PreparedRun,
    history: OpenedHistory,
    folder: SearchFolder,
    worktrees: Worktrees,
    file: BisectionFile,
    bisection: Bisection,
    /// The files with keys in worktrees.
    copies: EnvCopies,
    /// The attempts that this search has made, over all interruptions.
    attempts: usize,
}

impl<'a> Search<'a> {
    /// Begins a search or continues an interrupted one, with what earlier runs tell.
    pub(super) fn open(
        args: &'a BisectArgs,
        workspace: &'a Workspace,
        prepared: PreparedRun,
        history: OpenedHistory,
        runtimes: &Runtimes,
    ) -> anyhow::Result<Search<'a>> {
        let workers = runtimes.workers();
        workers.block_on(remove_old_searches(&history.repository));
        let folder = search_folder(args, &prepared, &history)?;
        let worktrees = Worktrees::new(history.repository.clone(), folder.worktrees());
        if args.restart {
            print_left_over(&workers.block_on(worktrees.remove()));
            let _ = std::fs::remove_file(folder.file());
        }
        let file = BisectionFile::open(folder.file());
        let file = file.with_context(|| folder.file().display().to_string())?;
        let cases = prepared.plan.cases.len();
        let mut search = Search {
            bisection: Bisection::new(cases, history.states.len()),
            args,
            workspace,
            prepared,
            history,
            folder,
            worktrees,
            file,
            copies: EnvCopies::default(),
            attempts: 0,
        };
        search.print_beginning();
        search.add_recorded();
        search.add_known(runtimes);
        Ok(search)
    }

    fn print_beginning(&self) {
        let OpenedHistory {
            commits, states, ..
        } = &self.history;
        let plan = &self.prepared.plan;
        print_note(&format!(
            "{} between {} and {}, {} of what the agent reads; {} of {}, at most {} attempts",
            counted(commits.len(), "commit"),
            short_commit(&commits[0].id),
            short_commit(&commits[commits.len() - 1].id),
            counted(states.len(), "state"),
            counted(plan.cases.len(), "case"),
            counted(plan.sets.len(), "set"),
            self.most_attempts()
        ));
    }

    fn most_attempts(&self) -> usize {
        self.args.most_attempts(self.prepared.plan.cases.len())
    }

    /// Adds what an interrupted search has found.
    fn add_recorded(&mut self) {
        for state in 0..self.history.states.len() {
            let Some(record) = self.file.record.states.get(&self.history.commit(state).id) else {
                continue;
            };
            let counts: Vec<PassCount> = record.counts().collect();
            let is_skipped = record.skipped.is_some();
            self.add(state, &counts);
            if is_skipped {
                self.bisection.skip(state);
            }
        }
        if self.attempts > 0 {
            print_note(&format!(
                "continues a search with {}; --restart forgets them",
                counted(self.attempts, "attempt")
            ));
        }
    }

    /// Adds attempts of the cases in a state, as those of this search.
    fn add(&mut self, state: usize, counts: &[PassCount]) {
        for (case, count) in counts.iter().enumerate() {
            self.bisection.add(case, state, *count);
            self.attempts += count.of;
        }
    }

    /// Adds what earlier runs tell.
    fn add_known(&mut self, runtimes: &Runtimes) {
        let known = known_attempts(
            self.workspace,
            &self.prepared.plan,
            &self.history.commits,
            &self.worktrees,
            &self.history.repository.root,
        );
        let mut all = 0;
        for one in runtimes.workers().block_on(known) {
            let is_of = |state: &CodeState| (state.first..=state.last).contains(&one.commit);
            let Some(state) = self.history.states.iter().position(is_of) else {
                continue;
            };
            for (case, count) in one.counts.iter().enumerate() {
                self.bisection.add(case, state, *count);
                all += count.of;
            }
        }
        if all > 0 {
            print_note(&format!(
                "{} of earlier runs count",
                counted(all, "attempt")
            ));
        }
    }

    /// Runs states until the answer is known. Returns whether it was interrupted.
    pub(super) fn run(&mut self, runtimes: &Runtimes) -> anyhow::Result<bool> {
        let last = self.history.states.len() - 1;
        // That of the bad end tells whether errors are what is searched.
        if self.file.record.searches_errors.is_none() && self.step(last, runtimes)? {
            return Ok(true);
        }
        let has_good = self.bisection.attempts_in(std::iter::once(0)).of > 0;
        if !has_good && !self.bisection.is_skipped(0) && self.step(0, runtimes)? {
            return Ok(true);
        }
        for (end, name) in [(0, "good"), (last, "bad")] {
            let commit = &self.history.commit(end).id;
            if self.bisection.is_skipped(end) {
                bail!(
                    "the cases cannot be run at the {name} commit {}: choose another one",
                    short_commit(commit)
                );
            }
        }
        while self.bisection.verdict(self.args.confidence) == BisectionVerdict::Undecided
            && self.attempts < self.most_attempts()
        {
            let Some(next) = self.bisection.next_commit() else {
                break;
            };
            if self.step(next, runtimes)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs the cases with the code of a state. Returns whether it was interrupted.
    fn step(&mut self, state: usize, runtimes: &Runtimes) -> anyhow::Result<bool> {
        let commit = self.history.commit(state).clone();
        let ran = match self.prepare_worktree(&commit, runtimes)? {
            Ok(prepared) => self.run_prepared(prepared, state, runtimes)?,
            Err(why) => AttemptsOfState::CannotRun(why),
        };
        let has_attempts = self.bisection.attempts_in(std::iter::once(state)).of > 0;
        match ran {
            AttemptsOfState::Interrupted => return Ok(true),
            AttemptsOfState::CannotRun(why) if has_attempts => {
                bail!(
                    "the cases could be run at {} before, but not now: {why}",
                    short_commit(&commit.id)
                );
            }
            AttemptsOfState::CannotRun(why) => {
                print_note(&clean_line(&format!(
                    "{} cannot be run, and is left out: {why}",
                    short_commit(&commit.id)
                )));
                self.bisection.skip(state);
                self.file.skip(&commit.id, why)?;
            }
            AttemptsOfState::Ended(counts) => {
                self.file.add(&commit.id, &counts)?;
                self.add(state, &counts);
                let likely = self.bisection.posterior();
                print_note(&progress_line(
                    &self.history.commits,
                    &self.history.states,
                    state,
                    &counts,
                    &likely,
                ));
            }
        }
        Ok(false)
    }

    /// Runs the cases with the agent of a state.
    fn run_prepared(
        &mut self,
        prepared: PreparedRun,
        state: usize,
        runtimes: &Runtimes,
    ) -> anyhow::Result<AttemptsOfState> {
        // Attempts are read from the folder until it is dropped.
        let folder = PrivateFolder::create("bisect")?;
        let (ended, interrupted) = run_in_private(prepared, folder.path(), runtimes)?;
        if interrupted {
            return Ok(AttemptsOfState::Interrupted);
        }
        if state + 1 == self.history.states.len() {
            let searches = &mut self.file.record.searches_errors;
            searches.get_or_insert_with(|| has_only_errors(&ended));
        }
        let counts_errors = self.file.record.searches_errors == Some(true);
        Ok(attempts_of(&ended, counts_errors))
    }

    /// Checks a commit out and prepares it. Returns the run with its agent, or why its code cannot be run.
    fn prepare_worktree(
        &mut self,
        commit: &Commit,
        runtimes: &Runtimes,
    ) -> anyhow::Result<Result<PreparedRun, String>> {
        let workers = runtimes.workers();
        let checkout = self.history.repository.root.clone();
        let worktree = self.worktrees.path(&commit.id);
        workers.block_on(self.worktrees.check_out(&commit.id))?;
        let roots = (checkout.as_path(), worktree.as_path());
        copy_env_files(&self.prepared.plan, roots, &mut self.copies)?;
        if !self.worktrees.is_prepared(&commit.id) {
            if let Some(setup) = &self.args.setup {
                let argv = setup.split_whitespace().map(str::to_string).collect();
                let program = ProgramSpec::new(argv, worktree.clone());
                if let Err(why) = workers.block_on(run_setup(&program)) {
                    return Ok(Err(why.to_string()));
                }
            }
            self.worktrees.mark_prepared(&commit.id)?;
        }
        let head = &self.history.commits[self.history.commits.len() - 1].id;
        let tracked = self.tracked_paths(&[&commit.id, head], workers)?;
        let is_tracked = |path: &Path| tracked.get(path).copied().unwrap_or(false);
        let run = relocated_run(&self.prepared, roots, self.args.attempts, &is_tracked);
        Ok(Ok(run.map_err(anyhow::Error::msg)?))
    }

    /// Which of the paths that the agents' programs name are in one of these commits, relative to the top folder.
    fn tracked_paths(
        &self,
        commits: &[&str],
        workers: &tokio::runtime::Handle,
    ) -> Result<HashMap<PathBuf, bool>, GitError> {
        let mut tracked = HashMap::new();
        let checkout = &self.history.repository.root;
        for path in self
            .prepared
            .plan
            .sets
            .iter()
            .flat_map(|set| named_paths(set.agent.program()))
        {
            let Ok(below) = path.strip_prefix(checkout) else {
                continue;
            };
            let leads_up = below.components().any(|part| part == Component::ParentDir);
            if tracked.contains_key(below) || below.as_os_str().is_empty() || leads_up {
                continue;
            }
            let mut has_it = false;
            for commit in commits {
                has_it |= workers.block_on(self.history.repository.has_path(commit, below))?;
            }
            tracked.insert(below.to_path_buf(), has_it);
        }
        Ok(tracked)
    }

    /// Prints the answer, and removes what is no longer needed.
    pub(super) fn conclude(self, runtimes: &Runtimes, interrupted: bool) -> anyhow::Result<Exit> {
        let verdict = self.bisection.verdict(self.args.confidence);
        let OpenedHistory {
            commits, states, ..
        } = &self.history;
        match self.args.json {
            true => {
                let found = answer_json(commits, states, &self.bisection, verdict, self.attempts);
                print_json(&serde_json::to_string_pretty(&found)?);
            }
            false => {
                for line in conclusion(commits, states, &self.bisection, verdict, self.attempts) {
                    print_line(&line);
                }
            }
        }
        if verdict != BisectionVerdict::Undecided {
            print_left_over(&runtimes.workers().block_on(self.worktrees.remove()));
            self.folder.remove();
        } else {
            print_note(
                "the same command continues the search; --max-attempts N allows more attempts",
            );
        }
        Ok(match verdict {
            _ if interrupted => Exit::Interrupted,
            BisectionVerdict::Found { .. } => Exit::Success,
            BisectionVerdict::NoChange(_) | BisectionVerdict::Undecided => Exit::Failures,
        })
    }
}

/// Says which worktrees could not be removed.
fn print_left_over(folders: &[PathBuf]) {
    for folder in folders {
        print_note(&format!("{} could not be removed", folder.display()));
    }
}

/// The folder of a search: that of an interrupted one for the same commits, cases and agents.
fn search_folder(
    args: &BisectArgs,
    prepared: &PreparedRun,
    history: &OpenedHistory,
) -> anyhow::Result<SearchFolder> {
    let plan = &prepared.plan;
    let (first, last) = (
        &history.commits[0].id,
        &history.commits[history.commits.len() - 1].id,
    );
    let root = history.repository.root.display().to_string();
    let cases: Vec<String> = (0..plan.cases.len())
        .map(|at| {
            let file = &plan.set_of(at).file;
            format!(
                "{file} {} {}",
                plan.cases.eval_id(at),
                plan.cases.content_hash(at)
            )
        })
        .collect();
    // What else decides about the outcomes.
    let sets = plan.sets.iter().map(|set| PlannedSet {
        digest: String::new(),
        agent_files: None,
        file_cases: None,
        ..set.without_secrets()
    });
    let sets = serde_json::to_string(&sets.collect::<Vec<_>>())?;
    let judge = serde_json::to_string(&plan.judge.without_secrets())?;
    let options = format!("{} {}", plan.options.timeout_ms, plan.options.retries);
    let paths = args.path.join("\n");
    let setup = args.setup.as_deref().unwrap_or_default();
    let mut parts = vec![
        &*root, &**first, &**last, &sets, &judge, &options, &paths, setup,
    ];
    parts.extend(cases.iter().map(String::as_str));
    Ok(SearchFolder::create(&parts)?)
}

/// The paths that a command line names: the program, its arguments, options and lists in them, and values of its variables.
fn named_paths(program: Option<&ProgramSpec>) -> Vec<PathBuf> {
    let Some(program) = program else {
        return Vec::new();
    };
    let values = program.variables.iter().map(|(_, value)| value);
    let texts = program.argv.iter().chain(values);
    let list = if cfg!(windows) { ';' } else { ':' };
    let parts = texts.flat_map(|text| text.split(['=', list]));
    parts
        .map(|part| program.cwd.join(part).components().collect())
        .collect()
}

/// What running the cases with the code of a commit showed.
enum AttemptsOfState {
    /// The attempts by case.
    Ended(Vec<PassCount>),
    /// The agent does not start, or no attempt could be evaluated.
    CannotRun(String),
    Interrupted,
}

/// The attempts by case. `counts_errors`: an agent that does not start, and attempts that all errored, are failures.
fn attempts_of(state: &RunState, counts_errors: bool) -> AttemptsOfState {
    let plan = &state.plan;
    let unavailable = state.unavailable.first();
    if counts_errors && unavailable.is_some() {
        let of = plan.options.repeat as usize;
        return AttemptsOfState::Ended(vec![PassCount { passed: 0, of }; plan.cases.len()]);
    }
    if let Some(agent) = unavailable {
        return AttemptsOfState::CannotRun(agent.error.clone());
    }
    let counts: Vec<PassCount> = (0..plan.cases.len())
        .map(|case| PassCount::count(&state.attempts_of(case)))
        .collect();
    let is_without_result = counts.iter().all(|count| count.of == 0);
    match is_without_result || (!counts_errors && has_only_errors(state)) {
        true => {
            let mut reasons = state
                .finished
                .iter()
                .map(|one| one.reason_with_model_errors());
            AttemptsOfState::CannotRun(reasons.next().unwrap_or_default())
        }
        false => AttemptsOfState::Ended(counts),
    }
}

/// Whether the agent did not start, or each attempt errored.
fn has_only_errors(state: &RunState) -> bool {
    let mut attempts = state.finished.iter();
    attempts.all(|attempt| attempt.status == Status::Errored)
}
