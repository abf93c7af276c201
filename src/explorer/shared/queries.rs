//! What the model says about sets, cases and attempts.

use crate::explorer::shared::case_list::TreeNode;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::CaseScreen;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::ReadFiles;
use crate::explorer::shared::model::{CommandTarget, Model};
use crate::explorer::shared::older_criteria::OlderCriteria;
use crate::explorer::shared::set_tree::group_of;
use crate::explorer::shared::set_view::{SetState, SetView};
use evaltrail_core::domain::{AttemptKey, CaseKey, CaseNotes, EndedAttempt, RunRef, RunState};
use evaltrail_core::formats::SetFile;
use evaltrail_engine::config::{CRITERIA_FILE, FILE_NAME};
use evaltrail_engine::history::find_case;
use evaltrail_engine::store::MAX_ATTEMPTS;
use jiff::Timestamp;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Model {
    /// The case that commands act on.
    pub fn current_case(&self) -> Option<CaseRef> {
        match self.view.screen.target() {
            CommandTarget::Case(case) => Some(case),
            CommandTarget::Set(_) => None,
            CommandTarget::UnderCursor => self
                .view
                .browse
                .visible
                .get(self.view.browse.cursor)
                .copied(),
        }
    }

    /// The set that commands act on.
    pub fn current_set(&self) -> Option<usize> {
        if let CommandTarget::Set(set) = self.view.screen.target() {
            return Some(set);
        }
        match (
            self.current_case(),
            self.view.browse.nodes.get(self.view.browse.node),
        ) {
            (Some(case), _) => Some(case.set),
            (None, Some(TreeNode::Set(set))) => Some(*set),
            _ => None,
        }
    }

    /// The file of the set that commands act on.
    pub fn current_set_path(&self) -> Option<PathBuf> {
        let set = self.view.sets.get(self.current_set()?)?;
        Some(set.path.path.clone())
    }

    /// The sets whose files exist, in the order of the tree.
    pub fn listed_sets(&self) -> impl Iterator<Item = usize> {
        self.view.browse.nodes.iter().filter_map(|node| match node {
            TreeNode::Set(set) => Some(*set),
            TreeNode::All | TreeNode::Group(_) => None,
        })
    }

    /// The sets whose cases are listed.
    pub fn sets_at_cursor(&self) -> Vec<usize> {
        let row = self.view.browse.nodes.get(self.view.browse.node);
        row.map(|row| self.sets_under(row)).unwrap_or_default()
    }

    /// The sets whose cases are listed when the cursor of the tree is on this row.
    pub fn sets_under(&self, node: &TreeNode) -> Vec<usize> {
        match node {
            TreeNode::All => self.listed_sets().collect(),
            TreeNode::Set(set) => vec![*set],
            TreeNode::Group(name) => self
                .listed_sets()
                .filter(|&at| group_of(&self.view.sets[at]) == *name)
                .collect(),
        }
    }

    /// The file of a set, if it is loaded.
    pub fn file(&self, set: usize) -> Option<&Arc<SetFile>> {
        match &self.view.sets.get(set)?.state {
            SetState::Ready(file, _) => Some(file),
            _ => None,
        }
    }

    /// The file of a set or, while it cannot be read, its last version.
    pub fn last_file(&self, set: usize) -> Option<&Arc<SetFile>> {
        let view = self.view.sets.get(set)?;
        match &view.state {
            SetState::Ready(file, _) => Some(file),
            SetState::Failed(_) => view.read.as_ref(),
            SetState::Loading | SetState::Gone => None,
        }
    }

    /// The `eval_id` of a case; empty if its file is not loaded.
    pub fn eval_id(&self, case: CaseRef) -> Cow<'_, str> {
        self.file(case.set)
            .map_or(Cow::Borrowed(""), |file| file.eval_id(case.index))
    }

    /// The id of a case as shown: with its position in the file if another case has the same id.
    pub fn shown_id(&self, case: CaseRef) -> Cow<'_, str> {
        let Some(file) = self.last_file(case.set) else {
            return Cow::Borrowed("");
        };
        let id = file.eval_id(case.index);
        let is_repeated = file.positions_of(&id).nth(1).is_some();
        match (id.is_empty(), is_repeated) {
            (true, false) => Cow::Borrowed("(no id)"),
            (true, true) => Cow::Owned(format!("(no id, case {})", case.index + 1)),
            (false, true) => Cow::Owned(format!("{id} (case {})", case.index + 1)),
            (false, false) => id,
        }
    }

    /// The files that were read, except those that cannot be read any more.
    pub fn read_files(&self) -> ReadFiles {
        let read = |view: &SetView| match &view.state {
            SetState::Ready(file, digest) => {
                Some((view.path.path.clone(), (file.clone(), digest.clone())))
            }
            _ => None,
        };
        self.view.sets.iter().filter_map(read).collect()
    }

    /// How the criteria of a case's result differ from the current ones; `None` if they do not, if that is not known, and while a
    /// what-if replaces the criteria.
    pub fn older_criteria(&self, case: CaseRef) -> Option<OlderCriteria> {
        match self.view.what_if {
            Some(_) => None,
            None => self.older_criteria_of_result(case),
        }
    }

    /// The same, also while a what-if is active.
    pub(crate) fn older_criteria_of_result(&self, case: CaseRef) -> Option<OlderCriteria> {
        let run = &self.view.outcomes.get(case)?.run;
        let started: Timestamp = run.started.parse().ok()?;
        let set = self.view.sets.get(case.set)?;
        let beside = set.path.path.with_file_name(CRITERIA_FILE);
        let is_of_case =
            |path: &Path| path == beside || path.file_name() == Some(FILE_NAME.as_ref());
        if let Some(path) = self.criteria_edits.changed_since(started, is_of_case) {
            let name = path.file_name()?.to_string_lossy().into_owned();
            return Some(OlderCriteria::Edited(name));
        }
        let now = set.criteria.filter(|_| self.opened_run.is_none())?;
        let mut runs = self.trends.runs.iter();
        let of_run = runs.rfind(|one| one.run_id == run.id)?;
        let then = of_run.criteria_of(&set.path.path)?;
        (then != now).then_some(OlderCriteria::Other)
    }

    /// The case that an attempt of a run belongs to. Takes into account that the file may have been edited since the
    /// run was planned.
    pub fn case_of(&self, run: &RunState, key: AttemptKey) -> Option<CaseRef> {
        let planned = run.plan.cases.get(key.case)?;
        let path = &run.plan.sets[planned.set].path;
        let set = self
            .view
            .sets
            .iter()
            .position(|set| set.path.path == *path)?;
        let index = match &self.view.sets[set].read {
            Some(file) => find_case(file, &planned.eval_id, &planned.content)?,
            // Outcomes need memory for every position up to the last one, and a plan of another user may claim any position.
            None => Some(planned.index).filter(|index| *index < MAX_ATTEMPTS)?,
        };
        Some(CaseRef { set, index })
    }

    /// Why a case cannot be read, as the summary of its set says. Without a summary, the case is read.
    pub fn problem_of(&self, case: CaseRef) -> Option<Cow<'_, str>> {
        let set = self.view.sets.get(case.set)?;
        match &set.summaries {
            Some(summaries) => {
                let problem = summaries.get(case.index)?.problem.as_deref()?;
                Some(Cow::Borrowed(problem))
            }
            None => {
                let problem = self.file(case.set)?.case(case.index).err()?;
                Some(Cow::Owned(problem.to_string()))
            }
        }
    }

    /// The same, if it is known without reading the case.
    pub fn known_problem_of(&self, case: CaseRef) -> Option<&str> {
        let summaries = self.view.sets.get(case.set)?.summaries.as_ref()?;
        summaries.get(case.index)?.problem.as_deref()
    }

    /// A key that identifies the case in later versions of its file.
    pub fn case_key(&self, case: CaseRef) -> CaseKey {
        let eval_id = self.eval_id(case).into_owned();
        let file = self
            .file(case.set)
            .filter(|file| file.positions_of(&eval_id).nth(1).is_some());
        CaseKey {
            content: file
                .map(|file| file.content_hash(case.index))
                .unwrap_or_default(),
            eval_id,
        }
    }

    /// The reference to a run that all of its results share.
    pub fn run_ref(&mut self, run: &RunState) -> Arc<RunRef> {
        let known = self
            .current_run
            .take()
            .filter(|known| known.id == run.plan.run_id);
        let run_ref = known.unwrap_or_else(|| Arc::new(RunRef::of_plan(&run.plan)));
        self.current_run = Some(run_ref.clone());
        run_ref
    }

    /// Whether the screen is a list that shows a preview of the case under the cursor if there is room.
    pub fn has_preview(&self) -> bool {
        self.is_on(Context::Browse) || self.is_on(Context::Run)
    }

    /// The case whose comparison is visible, on the case screen or in the preview of a list.
    pub fn shown_case(&self) -> Option<&CaseScreen> {
        match self.has_preview() {
            true => self.view.preview.as_deref(),
            false => self.open_case(),
        }
    }

    /// Mutable version of [`Model::shown_case`].
    pub(crate) fn shown_case_mut(&mut self) -> Option<&mut CaseScreen> {
        match self.has_preview() {
            true => self.view.preview.as_deref_mut(),
            false => self.open_case_mut(),
        }
    }

    /// The attempt whose comparison is visible.
    pub fn shown_attempt(&self) -> Option<&Arc<EndedAttempt>> {
        let case = self.shown_case()?;
        self.view
            .outcomes
            .single_turn_attempt(case.at, case.turn)
            .or_else(|| self.full_attempt())
    }

    /// The current attempt of the visible case; never an attempt of a single turn.
    fn full_attempt(&self) -> Option<&Arc<EndedAttempt>> {
        let case = self.shown_case()?;
        self.view.outcomes.get(case.at)?.attempts.get(case.attempt)
    }

    /// Number of turns of the visible case.
    pub fn turns_shown(&self) -> usize {
        let Some(case) = self.shown_case() else {
            return 0;
        };
        match self.full_attempt() {
            Some(attempt) => attempt.expected_turns.max(attempt.actual_turns),
            None => case.turns,
        }
    }

    /// The notes on a case that are stored next to its file.
    pub fn notes(&self, case: CaseRef) -> Option<&CaseNotes> {
        self.view
            .sets
            .get(case.set)?
            .notes
            .for_case(&self.eval_id(case))
    }

    /// Whether something on the screen changes without input, so that frames are drawn regularly.
    pub fn is_animated(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.is_live()) || self.view.screen.is_animated()
    }
}
