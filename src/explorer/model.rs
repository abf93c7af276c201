//! The state of the explorer.

use crate::domain::{
    AttemptKey, CaseKey, CaseNotes, Decisions, EndedAttempt, HumanVerdict, RunRef, RunState,
};
use crate::explorer::agent_line::AgentLine;
use crate::explorer::case_ref::CaseRef;
use crate::explorer::dialogs::Dialog;
use crate::explorer::effect::{ReadFiles, RunOverrides};
use crate::explorer::key::Key;
use crate::explorer::outcomes::Outcomes;
use crate::explorer::screens::browse::state::{Browse, Node};
use crate::explorer::screens::browse::tree::{first_node, group_of, nodes_of, sorted};
use crate::explorer::screens::case::body_lines::BodyKey;
use crate::explorer::screens::case::state::CaseScreen;
use crate::explorer::screens::chat::state::{ChatScreen, ChatStatus};
use crate::explorer::screens::comparison::state::ComparisonScreen;
use crate::explorer::screens::edit::state::EditScreen;
use crate::explorer::screens::live::state::LiveScreen;
use crate::explorer::screens::queue::state::Queue;
use crate::explorer::screens::run::state::RunScreen;
use crate::explorer::screens::runs::state::RunsScreen;
use crate::explorer::screens::trends::state::TrendsScreen;
use crate::explorer::set_view::{SetState, SetView};
use crate::explorer::ticket::{Ticket, Tickets};
use crate::explorer::watching::state::Watching;
use crate::explorer::what_if::Trial;
use crate::formats::SetFile;
use crate::history::{CaseTrends, place};
use crate::workspace::SetPath;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// The state of the explorer. Owned by the event loop; only `update` changes it.
#[derive(Debug)]
pub struct Model {
    /// Width and height of the terminal, in cells.
    pub size: (u16, u16),
    /// The workspace's folder, as displayed.
    pub title: String,
    /// The opened folder, or the folder of the opened file.
    pub folder: PathBuf,
    /// Whether the search for eval sets in the folder is still in progress.
    pub is_searching: bool,
    /// The sets on the screen, their results, and what is shown of them.
    pub view: View,
    /// The past run that is shown in place of the workspace, if one is open.
    pub opened_run: Option<Box<OpenedRun>>,
    /// Whether a run from a file was opened instead of a folder: closing it quits.
    pub is_run_file: bool,
    /// Whether machines work on the opened run: newer results arrive by themselves.
    pub is_renewed: bool,
    /// State of the screen of past runs while another screen is open.
    pub runs: RunsScreen,
    /// The keys pressed so far of a multi-key command.
    pub pressed: Vec<Key>,
    /// The values last entered in the run options dialog.
    pub run_overrides: RunOverrides,
    /// The current run, or the last one.
    pub run: Option<RunState>,
    /// Reference to `run`, shared by its results.
    pub current_run: Option<Arc<RunRef>>,
    /// State of the run screen.
    pub run_screen: RunScreen,
    /// Name of the colour theme.
    pub theme: String,
    /// Whether mouse events are captured; otherwise the terminal handles the mouse.
    pub mouse: bool,
    /// Seconds since the explorer opened.
    pub now: f64,
    /// Number of conversations started so far.
    pub chats: u64,
    /// When the explorer opened, in Unix seconds.
    pub opened_at: f64,
    /// The notice that is currently shown.
    pub notice: Option<Notice>,
    /// The message log, newest last: at most [`NOTICES_AT_MOST`](super::global::NOTICES_AT_MOST) notices.
    pub notices: Vec<Notice>,
    /// Issues the tickets of requests.
    pub tickets: Tickets,
    /// Ticket of the request whose past results are shown.
    pub history: Ticket,
    /// Ticket of the last request for results that another program may have recorded.
    pub others_results: Ticket,
    /// The judge that the workspace's configuration names.
    pub judge: Option<String>,
    /// The agents found in the workspace or named in its configuration.
    pub agents: Vec<String>,
    /// What the agents of the workspace say about themselves, as far as they were asked.
    pub agent_lines: Vec<AgentLine>,
    /// The name of the user, for decisions; may be empty.
    pub author: String,
    /// The current decisions on failures.
    pub decisions: Decisions,
    /// The triage queue, once it was opened. It is kept while another screen is open.
    pub queue: Option<Queue>,
    /// Watch mode.
    pub watching: Watching,
    /// The outcomes of every case over the past runs.
    pub trends: Arc<CaseTrends>,
    /// How the last run compares with the baseline, if there is one.
    pub vs_baseline: Option<String>,
    /// Verdicts given by people.
    pub verdicts: Vec<HumanVerdict>,
    /// Increases whenever `verdicts` changes.
    pub verdicts_version: u64,
}

/// Sets of cases with their results, and what is on the screen of them. The workspace has one; a past run that is opened
/// has another, which is shown until the run is closed.
#[derive(Debug)]
pub struct View {
    /// The eval sets. A set keeps its index for as long as the explorer is open, even when its file is deleted
    /// ([`SetState::Gone`]); new sets are appended. [`Browse::nodes`] has the order on the screen.
    pub sets: Vec<SetView>,
    /// The latest results of the cases.
    pub outcomes: Outcomes,
    /// State of the list of sets and cases. It is retained while other screens are open.
    pub browse: Browse,
    /// The current screen.
    pub screen: Screen,
    /// The open dialog, if any.
    pub open_dialog: Option<Box<dyn Dialog>>,
    /// The active what-if: a change of criteria that is not written to files.
    pub trial: Option<Trial>,
    /// The metric that the user chose for what-if changes of its threshold.
    pub chosen_metric: Option<String>,
    /// Key of the comparison that is being built in the background, if any.
    pub awaited_body: Option<BodyKey>,
}

impl View {
    /// The list of these sets, without results.
    pub(crate) fn new(sets: Vec<SetView>) -> View {
        let nodes = nodes_of(&sets);
        let node = first_node(&nodes);
        View {
            sets,
            outcomes: Outcomes::default(),
            browse: Browse::new(nodes, node),
            screen: Screen::Browse,
            open_dialog: None,
            trial: None,
            chosen_metric: None,
            awaited_body: None,
        }
    }
}

/// The screens.
#[derive(Debug)]
pub enum Screen {
    /// The list of sets and cases.
    Browse,
    /// One case. Boxed because the state is large.
    Case(Box<CaseScreen>),
    /// The current run, or the last one.
    Run,
    /// An attempt in flight.
    Live(LiveScreen),
    /// The past runs.
    Runs(RunsScreen),
    /// The sets over the past runs.
    Trends(Box<TrendsScreen>),
    /// Two runs and what became of their cases.
    Comparison(Box<ComparisonScreen>),
    /// A conversation with an agent.
    Chat(Box<ChatScreen>),
    /// The editor of a case.
    Edit(Box<EditScreen>),
}

/// A past run that is shown in place of the workspace.
#[derive(Debug)]
pub struct OpenedRun {
    /// The run.
    pub run: Arc<RunRef>,
    /// The name that a person gave it.
    pub name: Option<String>,
    /// The number of attempts of its plan that did not end.
    pub not_run: usize,
    /// The number of its attempts that cannot be shown.
    pub(super) damaged: usize,
    /// What is shown again when the run is closed.
    pub(super) workspace: View,
}

/// A message that is shown for a limited time and saved in the message log.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The text of the message.
    pub text: String,
    /// Whether it is an error.
    pub bad: bool,
    /// When to hide it, in seconds since the explorer opened.
    pub until: f64,
    /// What it is about: the message log has the latest notice about each topic.
    pub topic: String,
    /// The number of notices about the topic so far.
    pub count: u32,
}

impl Model {
    /// Creates the model of a workspace whose sets have not been opened yet.
    pub fn new(title: String, sets: Vec<SetPath>, size: (u16, u16)) -> Model {
        Model {
            size,
            title,
            folder: PathBuf::new(),
            is_searching: false,
            view: View::new(sorted(sets)),
            opened_run: None,
            is_run_file: false,
            is_renewed: false,
            runs: RunsScreen::default(),
            pressed: Vec::new(),
            run_overrides: RunOverrides::default(),
            run: None,
            current_run: None,
            run_screen: RunScreen::default(),
            theme: "default".into(),
            mouse: true,
            now: 0.0,
            chats: 0,
            opened_at: 0.0,
            notice: None,
            notices: Vec::new(),
            tickets: Tickets::default(),
            history: Ticket::default(),
            others_results: Ticket::default(),
            judge: None,
            agents: Vec::new(),
            agent_lines: Vec::new(),
            author: String::new(),
            decisions: Decisions::default(),
            queue: None,
            watching: Watching::default(),
            trends: Arc::default(),
            vs_baseline: None,
            verdicts: Vec::new(),
            verdicts_version: 0,
        }
    }

    /// Updates the list of sets. Known sets keep their index and state; the cursor of the tree stays on its row.
    pub(crate) fn put_sets(&mut self, sets: Vec<SetPath>) {
        let row = self.view.browse.nodes.get(self.view.browse.node).cloned();
        for view in &mut self.view.sets {
            if !sets.iter().any(|path| path.path == view.path.path) {
                view.state = SetState::Gone;
            }
        }
        for path in sorted(sets) {
            match self.view.sets.iter_mut().find(|known| known.path.path == path.path.path) {
                Some(known) => known.appears_again(path.path),
                None => self.view.sets.push(path),
            }
        }
        self.view.browse.nodes = nodes_of(&self.view.sets);
        let at = row.and_then(|row| self.view.browse.nodes.iter().position(|other| *other == row));
        self.view.browse.node = at.unwrap_or_else(|| first_node(&self.view.browse.nodes));
        let sets = &self.view.sets;
        self.view.browse.selected.retain(|case| sets[case.set].exists());
        if matches!(&self.view.screen, Screen::Case(case) if !sets[case.at.set].exists()) {
            self.view.screen = Screen::Browse;
        }
    }

    /// Issues a ticket for a new request.
    pub fn ticket(&mut self) -> Ticket {
        self.tickets.issue()
    }

    /// The case that commands act on.
    pub fn current_case(&self) -> Option<CaseRef> {
        match &self.view.screen {
            Screen::Case(case) => Some(case.at),
            Screen::Edit(edit) => Some(edit.at),
            Screen::Chat(_) => None,
            _ => self.view.browse.visible.get(self.view.browse.cursor).copied(),
        }
    }

    /// The set that commands act on.
    pub fn current_set(&self) -> Option<usize> {
        if let Screen::Chat(chat) = &self.view.screen {
            return Some(chat.set);
        }
        match (self.current_case(), self.view.browse.nodes.get(self.view.browse.node)) {
            (Some(case), _) => Some(case.set),
            (None, Some(Node::Set(set))) => Some(*set),
            _ => None,
        }
    }

    /// The sets whose files exist, in the order of the tree.
    pub fn listed_sets(&self) -> impl Iterator<Item = usize> {
        self.view.browse.nodes.iter().filter_map(|node| match node {
            Node::Set(set) => Some(*set),
            Node::All | Node::Group(_) => None,
        })
    }

    /// The sets whose cases are listed.
    pub fn sets_at_cursor(&self) -> Vec<usize> {
        let row = self.view.browse.nodes.get(self.view.browse.node);
        row.map(|row| self.sets_under(row)).unwrap_or_default()
    }

    /// The sets whose cases are listed when the cursor of the tree is on this row.
    pub fn sets_under(&self, node: &Node) -> Vec<usize> {
        match node {
            Node::All => self.listed_sets().collect(),
            Node::Set(set) => vec![*set],
            Node::Group(name) => {
                self.listed_sets().filter(|&at| group_of(&self.view.sets[at]) == *name).collect()
            }
        }
    }

    /// The file of a set, if it is loaded.
    pub fn file(&self, set: usize) -> Option<&Arc<SetFile>> {
        match &self.view.sets.get(set)?.state {
            SetState::Ready(file, _) => Some(file),
            _ => None,
        }
    }

    /// The `eval_id` of a case; empty if its file is not loaded.
    pub fn eval_id(&self, case: CaseRef) -> Cow<'_, str> {
        self.file(case.set).map_or(Cow::Borrowed(""), |file| file.eval_id(case.index))
    }

    /// The id of a case as shown: with its position in the file if another case has the same id.
    pub fn shown_id(&self, case: CaseRef) -> Cow<'_, str> {
        let Some(file) = self.file(case.set) else { return Cow::Borrowed("") };
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
            SetState::Ready(file, digest) => Some((view.path.path.clone(), (file.clone(), digest.clone()))),
            _ => None,
        };
        self.view.sets.iter().filter_map(read).collect()
    }

    /// The case that an attempt of a run belongs to. Takes into account that the file may have been edited since the
    /// run was planned.
    pub fn case_of(&self, run: &RunState, key: AttemptKey) -> Option<CaseRef> {
        let planned = run.plan.cases.get(key.case)?;
        let path = &run.plan.sets[planned.set].path;
        let set = self.view.sets.iter().position(|set| set.path.path == *path)?;
        let index = match &self.view.sets[set].read {
            Some(file) => place(file, &planned.eval_id, &planned.content)?,
            None => planned.index,
        };
        Some(CaseRef { set, index })
    }

    /// Why a case cannot be read.
    pub fn problem_of(&self, case: CaseRef) -> Option<String> {
        self.file(case.set)?.case(case.index).err().map(|problem| problem.to_string())
    }

    /// A key that identifies the case in later versions of its file.
    pub fn case_key(&self, case: CaseRef) -> CaseKey {
        let eval_id = self.eval_id(case).into_owned();
        let file = self.file(case.set).filter(|file| file.positions_of(&eval_id).nth(1).is_some());
        CaseKey { content: file.map(|file| file.content_hash(case.index)).unwrap_or_default(), eval_id }
    }

    /// The reference to a run that all of its results share.
    pub fn run_ref(&mut self, run: &RunState) -> Arc<RunRef> {
        let known = self.current_run.take().filter(|known| known.id == run.plan.run_id);
        let run_ref = known.unwrap_or_else(|| Arc::new(RunRef::of_plan(&run.plan)));
        self.current_run = Some(run_ref.clone());
        run_ref
    }

    /// The case whose comparison is visible, on the case screen or in the preview of the list.
    pub fn shown_case(&self) -> Option<&CaseScreen> {
        match &self.view.screen {
            Screen::Case(case) => Some(case),
            Screen::Browse => self.view.browse.preview.as_deref(),
            _ => None,
        }
    }

    /// Mutable version of [`Model::shown_case`].
    pub(crate) fn shown_case_mut(&mut self) -> Option<&mut CaseScreen> {
        match &mut self.view.screen {
            Screen::Case(case) => Some(case),
            Screen::Browse => self.view.browse.preview.as_deref_mut(),
            _ => None,
        }
    }

    /// The attempt whose comparison is visible.
    pub fn shown_attempt(&self) -> Option<&Arc<EndedAttempt>> {
        let case = self.shown_case()?;
        self.view.outcomes.alone(case.at, case.turn).or_else(|| self.whole_attempt())
    }

    /// The current attempt of the visible case; never an attempt of a single turn.
    fn whole_attempt(&self) -> Option<&Arc<EndedAttempt>> {
        let case = self.shown_case()?;
        self.view.outcomes.get(case.at)?.attempts.get(case.attempt)
    }

    /// Number of turns of the visible case.
    pub fn turns_shown(&self) -> usize {
        let Some(case) = self.shown_case() else { return 0 };
        match self.whole_attempt() {
            Some(attempt) => attempt.expected_turns.max(attempt.actual_turns),
            None => case.turns,
        }
    }

    /// The notes on a case that are stored next to its file.
    pub fn notes(&self, case: CaseRef) -> Option<&CaseNotes> {
        self.view.sets.get(case.set)?.notes.of(&self.eval_id(case))
    }

    /// Whether something on the screen changes without input, so that frames are drawn regularly.
    pub fn is_animated(&self) -> bool {
        let talking = |chat: &ChatScreen| matches!(chat.status, ChatStatus::Opening | ChatStatus::Working(_));
        self.run.as_ref().is_some_and(|run| run.is_live())
            || matches!(&self.view.screen, Screen::Chat(chat) if talking(chat))
    }
}
