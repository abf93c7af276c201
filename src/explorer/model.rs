//! All that the explorer knows.

use crate::domain::{AttemptKey, CaseKey, CaseNotes, EndedAttempt, HumanVerdict, Query, RunRef, RunState};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::commands::Context;
use crate::explorer::commands::key::Key;
use crate::explorer::effect::RunOverrides;
use crate::explorer::outcomes::Outcomes;
use crate::explorer::overlays::Overlay;
use crate::explorer::screens::browse::state::{Browse, Node, Order, Pane};
use crate::explorer::screens::browse::tree::{first_node, nodes_of, sorted};
use crate::explorer::screens::case::body::BodyKey;
use crate::explorer::screens::case::state::CaseScreen;
use crate::explorer::screens::chat::state::{ChatScreen, ChatStatus};
use crate::explorer::screens::edit::state::EditScreen;
use crate::explorer::screens::entry;
use crate::explorer::screens::live::state::LiveScreen;
use crate::explorer::screens::run::state::RunScreen;
use crate::explorer::ticket::{Ticket, Tickets};
use crate::explorer::what_if::Trial;
use crate::formats::{Notes, SetFile};
use crate::history::{PastResult, place};
use crate::workspace::SetPath;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// All that the explorer knows. Owned by the loop; changed by `update` alone.
#[derive(Debug)]
pub struct Model {
    /// Width and height of the terminal.
    pub size: (u16, u16),
    /// The workspace's folder, as shown.
    pub title: String,
    /// Whether the folder is still being looked through.
    pub looking: bool,
    /// The eval sets. A set keeps its index for as long as the explorer is open, even when its file is deleted
    /// ([`SetState::Gone`]); new sets are appended. [`Browse::nodes`] has the order on the screen.
    pub sets: Vec<SetView>,
    /// The latest results of the cases.
    pub outcomes: Outcomes,
    /// The list of sets and cases; it stays while other screens are open.
    pub browse: Browse,
    /// What is shown.
    pub screen: Screen,
    /// The dialog over it.
    pub overlay: Option<Overlay>,
    /// The keys pressed so far of a command with several.
    pub pressed: Vec<Key>,
    /// What the run dialog was left with.
    pub run_overrides: RunOverrides,
    /// The run that goes on, or the last one.
    pub run: Option<RunState>,
    /// What its results refer to.
    pub current_run: Option<Arc<RunRef>>,
    /// What the run screen knows.
    pub run_screen: RunScreen,
    /// The colour theme's name.
    pub theme: String,
    /// Whether the mouse is used here, and not left to the terminal.
    pub mouse: bool,
    /// Seconds since the explorer opened.
    pub now: f64,
    /// How many conversations were begun.
    pub chats: u64,
    /// When it opened, in unix seconds.
    pub opened_at: f64,
    /// What is shown on a line of its own for a while.
    pub notice: Option<Notice>,
    /// The notices so far, the newest last: at most [`NOTICES_AT_MOST`](super::global::NOTICES_AT_MOST).
    pub notices: Vec<Notice>,
    /// Issues the tickets of requests.
    pub tickets: Tickets,
    /// The request whose past results are shown.
    pub history: Ticket,
    /// A change of criteria that is being tried out.
    pub trial: Option<Trial>,
    /// The metric that was chosen to be changed.
    pub chosen_metric: Option<String>,
    /// Set when a comparison is being built elsewhere.
    pub awaited_body: Option<BodyKey>,
    /// The judge that the folder names.
    pub judge: Option<String>,
    /// The agents that the folder has or names.
    pub agents: Vec<String>,
    /// What people said of verdicts.
    pub verdicts: Vec<HumanVerdict>,
    /// Goes up with every verdict of a person.
    pub verdicts_version: u64,
}

/// An eval set on the screen.
#[derive(Clone, Debug)]
pub struct SetView {
    /// The file.
    pub path: SetPath,
    /// What is known of it.
    pub state: SetState,
    /// The agent's name, or why there is none.
    pub agent: Result<String, String>,
    /// What is kept beside the file.
    pub notes: Arc<Notes>,
    /// The file as it was read last. It stays when the file cannot be read any more: the positions of cases
    /// refer to it.
    pub read: Option<Arc<SetFile>>,
    /// The request whose answer is shown.
    pub loaded: Ticket,
    /// Past results of cases that the file as it was read last does not have.
    pub past: Vec<PastResult>,
    /// The same of results that came in since evaltrail began.
    pub waiting: Vec<PastResult>,
    /// How many requests to re-evaluate cases of it are not answered yet.
    pub reevaluating: usize,
    /// Whether an answer to one was about another version of the file, so that outcomes may be of an older case.
    pub is_behind: bool,
    /// The cases looked into, for the filter.
    pub summaries: Option<Arc<Vec<CaseSummary>>>,
}

/// What is known of a set's file.
#[derive(Clone, Debug)]
pub enum SetState {
    /// Being opened.
    Loading,
    /// Its cases are known; the digest tells whether it changed.
    Ready(Arc<SetFile>, String),
    /// It cannot be read.
    Failed(String),
    /// There is no such file any more.
    Gone,
}

/// A case at a glance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseSummary {
    /// How many turns.
    pub turns: usize,
    /// What the user says, lower-cased, for free text.
    pub text: String,
    /// The tools that are expected.
    pub tools: Vec<String>,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

/// What is shown.
#[derive(Debug)]
pub enum Screen {
    /// Sets and cases.
    Browse,
    /// One case. Boxed, since it holds its comparison.
    Case(Box<CaseScreen>),
    /// The run.
    Run,
    /// An attempt of the run while it runs.
    Live(LiveScreen),
    /// A conversation with an agent.
    Chat(Box<ChatScreen>),
    /// A case being edited.
    Edit(Box<EditScreen>),
}

/// A message that is shown for a while, and kept in the message log.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// What it says.
    pub text: String,
    /// Whether something went wrong.
    pub bad: bool,
    /// Until when, on the explorer's clock.
    pub until: f64,
}

impl SetView {
    /// A set whose file has not been opened yet.
    pub fn new(path: SetPath) -> SetView {
        SetView {
            path,
            state: SetState::Loading,
            agent: Err("not looked for yet".into()),
            notes: Arc::default(),
            read: None,
            loaded: Ticket::default(),
            past: Vec::new(),
            waiting: Vec::new(),
            reevaluating: 0,
            is_behind: false,
            summaries: None,
        }
    }

    /// Whether the file exists.
    pub fn is_there(&self) -> bool {
        !matches!(self.state, SetState::Gone)
    }

    fn appears_again(&mut self, path: SetPath) {
        self.path = path;
        if !self.is_there() {
            self.state = SetState::Loading;
        }
    }
}

impl Model {
    /// Whether a question is open about what may be run, or where things may be sent.
    pub fn asks_for_trust(&self) -> bool {
        matches!(self.overlay, Some(Overlay::Trust(_)))
    }

    /// A model of a workspace whose sets are still to be opened.
    pub fn new(title: String, sets: Vec<SetPath>, size: (u16, u16)) -> Model {
        let sets = sorted(sets);
        let nodes = nodes_of(&sets);
        let node = first_node(&nodes);
        Model {
            size,
            title,
            looking: false,
            sets,
            outcomes: Outcomes::default(),
            browse: Browse {
                nodes,
                node,
                visible: Vec::new(),
                cursor: 0,
                offset: 0,
                selected: BTreeSet::new(),
                pane: Pane::Cases,
                filter: String::new(),
                query: Query::default(),
                order: Order::File,
                hidden: BTreeSet::new(),
                preview: None,
                previewed: None,
            },
            screen: Screen::Browse,
            overlay: None,
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
            trial: None,
            chosen_metric: None,
            awaited_body: None,
            judge: None,
            agents: Vec::new(),
            verdicts: Vec::new(),
            verdicts_version: 0,
        }
    }

    /// Takes over another list of sets. Known sets keep their index and what is known of them; the cursor of
    /// the tree stays on its row.
    pub(crate) fn put_sets(&mut self, sets: Vec<SetPath>) {
        let row = self.browse.nodes.get(self.browse.node).cloned();
        for view in &mut self.sets {
            if !sets.iter().any(|path| path.path == view.path.path) {
                view.state = SetState::Gone;
            }
        }
        for path in sorted(sets) {
            match self.sets.iter_mut().find(|known| known.path.path == path.path.path) {
                Some(known) => known.appears_again(path.path),
                None => self.sets.push(path),
            }
        }
        self.browse.nodes = nodes_of(&self.sets);
        let at = row.and_then(|row| self.browse.nodes.iter().position(|other| *other == row));
        self.browse.node = at.unwrap_or_else(|| first_node(&self.browse.nodes));
        let sets = &self.sets;
        self.browse.selected.retain(|case| sets[case.set].is_there());
        if matches!(&self.screen, Screen::Case(case) if !sets[case.at.set].is_there()) {
            self.screen = Screen::Browse;
        }
    }

    /// A ticket for a new request.
    pub fn ticket(&mut self) -> Ticket {
        self.tickets.issue()
    }

    /// Which keys count.
    pub fn context(&self) -> Context {
        let of_dialog = self.overlay.as_ref().and_then(|overlay| overlay.dialog().context());
        of_dialog.unwrap_or_else(|| self.screen_context())
    }

    /// Which keys count on the screen below what lies over it.
    pub fn screen_context(&self) -> Context {
        entry(&self.screen).context
    }

    /// The case that commands are about.
    pub fn current_case(&self) -> Option<CaseRef> {
        match &self.screen {
            Screen::Case(case) => Some(case.at),
            Screen::Edit(edit) => Some(edit.at),
            Screen::Chat(_) => None,
            _ => self.browse.visible.get(self.browse.cursor).copied(),
        }
    }

    /// The set that commands are about.
    pub fn current_set(&self) -> Option<usize> {
        if let Screen::Chat(chat) = &self.screen {
            return Some(chat.set);
        }
        match (self.current_case(), self.browse.nodes.get(self.browse.node)) {
            (Some(case), _) => Some(case.set),
            (None, Some(Node::Set(set))) => Some(*set),
            _ => None,
        }
    }

    /// The sets that are there, in the order of the screen.
    pub fn listed_sets(&self) -> impl Iterator<Item = usize> {
        self.browse.nodes.iter().filter_map(|node| match node {
            Node::Set(set) => Some(*set),
            Node::All | Node::Group(_) => None,
        })
    }

    /// The opened file of a set.
    pub fn file(&self, set: usize) -> Option<&Arc<SetFile>> {
        match &self.sets.get(set)?.state {
            SetState::Ready(file, _) => Some(file),
            _ => None,
        }
    }

    /// A case's id.
    pub fn eval_id(&self, case: CaseRef) -> Cow<'_, str> {
        self.file(case.set).map_or(Cow::Borrowed(""), |file| file.eval_id(case.index))
    }

    /// The case that a run's attempt belongs to: the file may have been edited since the run was planned.
    pub fn case_of(&self, run: &RunState, key: AttemptKey) -> Option<CaseRef> {
        let planned = run.plan.cases.get(key.case)?;
        let path = &run.plan.sets[planned.set].path;
        let set = self.sets.iter().position(|set| set.path.path == *path)?;
        let index = match &self.sets[set].read {
            Some(file) => place(file, &planned.eval_id, &planned.content)?,
            None => planned.index,
        };
        Some(CaseRef { set, index })
    }

    /// Why a case cannot be read.
    pub fn problem_of(&self, case: CaseRef) -> Option<String> {
        self.file(case.set)?.case(case.index).err().map(|problem| problem.to_string())
    }

    /// What identifies a case in whichever version of its file is read next.
    pub fn case_key(&self, case: CaseRef) -> CaseKey {
        let eval_id = self.eval_id(case).into_owned();
        let file = self.file(case.set).filter(|file| file.positions_of(&eval_id).len() > 1);
        CaseKey { content: file.map(|file| file.content_hash(case.index)).unwrap_or_default(), eval_id }
    }

    /// What results of the run that goes on refer to. Shared by them all.
    pub fn run_ref(&mut self, run: &RunState) -> Arc<RunRef> {
        let known = self.current_run.take().filter(|known| known.id == run.plan.run_id);
        let run_ref = known.unwrap_or_else(|| Arc::new(RunRef::of_plan(&run.plan)));
        self.current_run = Some(run_ref.clone());
        run_ref
    }

    /// The case whose comparison is visible: on the case screen, or in the preview of the list.
    pub fn shown_case(&self) -> Option<&CaseScreen> {
        match &self.screen {
            Screen::Case(case) => Some(case),
            Screen::Browse => self.browse.preview.as_deref(),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn shown_case_mut(&mut self) -> Option<&mut CaseScreen> {
        match &mut self.screen {
            Screen::Case(case) => Some(case),
            Screen::Browse => self.browse.preview.as_deref_mut(),
            _ => None,
        }
    }

    /// The attempt whose comparison is visible.
    pub fn shown_attempt(&self) -> Option<&Arc<EndedAttempt>> {
        let case = self.shown_case()?;
        self.outcomes.alone(case.at, case.turn).or_else(|| self.whole_attempt())
    }

    /// The attempt of the whole case that the case screen is at.
    fn whole_attempt(&self) -> Option<&Arc<EndedAttempt>> {
        let case = self.shown_case()?;
        self.outcomes.get(case.at)?.attempts.get(case.attempt)
    }

    /// How many turns the case screen has.
    pub fn turns_shown(&self) -> usize {
        let Some(case) = self.shown_case() else { return 0 };
        match self.whole_attempt() {
            Some(attempt) => attempt.expected_turns.max(attempt.actual_turns),
            None => case.turns,
        }
    }

    /// What is kept of a case beside its file.
    pub fn notes(&self, case: CaseRef) -> Option<&CaseNotes> {
        self.sets.get(case.set)?.notes.of(&self.eval_id(case))
    }

    /// Something moves by itself: frames are needed without any key.
    pub fn is_animated(&self) -> bool {
        let talking = |chat: &ChatScreen| matches!(chat.status, ChatStatus::Opening | ChatStatus::Working(_));
        self.run.as_ref().is_some_and(|run| run.is_live())
            || matches!(&self.screen, Screen::Chat(chat) if talking(chat))
    }
}
