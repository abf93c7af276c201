//! The state of the explorer, and the interfaces of the screen and the dialog that are part of it.

use crate::explorer::shared::active_what_if::ActiveWhatIf;
use crate::explorer::shared::agent_line::AgentLine;
use crate::explorer::shared::case_lines::BodyKey;
use crate::explorer::shared::case_list::{BrowseScreen, BrowseState};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::CaseScreen;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::criteria_edits::CriteriaEdits;
use crate::explorer::shared::effect::{Effect, ResultEffect};
use crate::explorer::shared::from_disk::FromDisk;
use crate::explorer::shared::key::Key;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::message::Mouse;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::outcomes::Outcomes;
use crate::explorer::shared::run_list::RunsState;
use crate::explorer::shared::run_screen::RunScreenState;
use crate::explorer::shared::run_target::RunOverrides;
use crate::explorer::shared::set_tree::{first_node, nodes_of, sorted};
use crate::explorer::shared::set_view::{SetState, SetView, label_sets};
use crate::explorer::shared::theme::Theme;
use crate::explorer::shared::ticket::{Ticket, Tickets};
use crate::explorer::shared::triage::{FinishedTriage, Queue};
use crate::explorer::shared::watching::Watching;
use evaltrail_core::domain::{Decisions, HumanVerdict, RunRef, RunState};
use evaltrail_engine::history::CaseTrends;
use evaltrail_engine::workspace::SetPath;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use tui_input::InputRequest;

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
    pub runs: RunsState,
    /// The keys pressed so far of a multi-key command.
    pub pressed: Vec<Key>,
    /// The values last entered in the run options dialog.
    pub run_overrides: RunOverrides,
    /// The current run, or the last one.
    pub run: Option<RunState>,
    /// Reference to `run`, shared by its results.
    pub current_run: Option<Arc<RunRef>>,
    /// State of the run screen.
    pub run_screen: RunScreenState,
    /// Name of the colour theme.
    pub theme: String,
    /// Whether mouse events are captured; otherwise the terminal handles the mouse.
    pub mouse: bool,
    /// Seconds since the explorer opened.
    pub now: f64,
    /// Number of conversations started so far.
    pub chats: u64,
    /// The source of conversations that was read last, as typed.
    pub capture_source: String,
    /// When the explorer opened, in Unix seconds.
    pub opened_at: f64,
    /// The notice that is currently shown.
    pub notice: Option<Notice>,
    /// The message log, newest last: at most [`MAX_NOTICES`](crate::explorer::shared::notices::MAX_NOTICES) notices.
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
    pub decisions: FromDisk<Decisions>,
    /// The edits of criteria and rules since the start.
    pub criteria_edits: CriteriaEdits,
    /// The triages that were finished since the start.
    pub finished_triages: Vec<FinishedTriage>,
    /// The triage queue, once it was opened. It is kept while another screen is open.
    pub queue: Option<Queue>,
    /// Watch mode.
    pub watching: Watching,
    /// The outcomes of every case over the past runs.
    pub trends: FromDisk<Arc<CaseTrends>>,
    /// How the last run compares with the baseline, if there is one.
    pub vs_baseline: FromDisk<Option<String>>,
    /// Verdicts given by people.
    pub verdicts: FromDisk<Vec<HumanVerdict>>,
}

/// Sets of cases with their results, and what is on the screen of them. The workspace has one; a past run that is opened
/// has another, which is shown until the run is closed.
#[derive(Debug)]
pub struct View {
    /// The eval sets. A set keeps its index for as long as the explorer is open, even when its file is deleted
    /// ([`SetState::Gone`]); new sets are appended. [`BrowseState::nodes`] has the order on the screen.
    pub sets: Vec<SetView>,
    /// The latest results of the cases.
    pub outcomes: Outcomes,
    /// State of the list of sets and cases. It is retained while other screens are open.
    pub browse: BrowseState,
    /// The current screen.
    pub screen: Box<dyn Screen>,
    /// The case in the preview of a list, if any.
    pub preview: Option<Box<CaseScreen>>,
    /// What the preview was built from: the case, the ticket of its file, and
    /// [`crate::explorer::shared::outcomes::CaseOutcome::shown`]. Used to detect that it is out of date.
    pub previewed: Option<(CaseRef, Ticket, Option<u64>)>,
    /// The open dialog, if any.
    pub open_dialog: Option<Box<dyn Dialog>>,
    /// The dialog that a question covers, which came as a reply. It is open again after the answer.
    pub covered_dialog: Option<Box<dyn Dialog>>,
    /// The active what-if: a change of criteria that is not written to files.
    pub what_if: Option<ActiveWhatIf>,
    /// The metric that the user chose for what-if changes of its threshold.
    pub chosen_metric: Option<String>,
    /// Key of the comparison that is being built in the background, if any.
    pub awaited_body: Option<BodyKey>,
}

impl View {
    /// The list of these sets, without results.
    pub(crate) fn new(mut sets: Vec<SetView>) -> View {
        label_sets(&mut sets);
        let nodes = nodes_of(&sets);
        let node = first_node(&nodes);
        View {
            sets,
            outcomes: Outcomes::default(),
            browse: BrowseState::new(nodes, node),
            screen: Box::new(BrowseScreen),
            preview: None,
            previewed: None,
            open_dialog: None,
            covered_dialog: None,
            what_if: None,
            chosen_metric: None,
            awaited_body: None,
        }
    }
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
    pub(crate) damaged: usize,
    /// What is shown again when the run is closed.
    pub(crate) workspace: View,
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
    /// Whether it is about the position of the cursor, so that it is hidden when that may have changed.
    pub is_about_position: bool,
}

/// A screen: its state, and the functions for it.
pub trait Screen: Any + fmt::Debug + Sync {
    /// The functions of the screen.
    fn functions(&self) -> &'static ScreenFunctions;

    /// What commands act on.
    fn target(&self) -> CommandTarget {
        CommandTarget::UnderCursor
    }

    /// The case that is shown, on screens of one case.
    fn case(&self) -> Option<&CaseScreen> {
        None
    }

    /// Mutable version of [`Screen::case`].
    fn case_mut(&mut self) -> Option<&mut CaseScreen> {
        None
    }

    /// Whether something on the screen changes without input.
    fn is_animated(&self) -> bool {
        false
    }

    /// The case that the preview shows, if the screen has room for one.
    fn previewed(&self, _: &Model) -> Option<CaseRef> {
        None
    }

    /// What would be lost if the explorer quit: a question, and an explanation.
    fn unsaved(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Updates cases whose positions changed. Returns false if the case of the screen no longer exists and the list should
    /// be shown.
    fn follow(&mut self, _: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        true
    }
}

/// What the commands of a screen act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandTarget {
    /// The case or the set under the cursor of the list.
    UnderCursor,
    /// A case.
    Case(CaseRef),
    /// A set.
    Set(usize),
}

/// The functions of a screen.
pub struct ScreenFunctions {
    /// Determines which commands apply.
    pub context: Context,
    /// Divides the body into the parts of the screen.
    pub layout: fn(Layout, &Model) -> Layout,
    /// Draws the title into this area of the top line.
    pub title: fn(&Model, Rect, &Theme, &mut Buffer),
    /// The words at the right end of the top line. `None`: the agent and the judge.
    pub status: Option<fn(&Model) -> String>,
    /// Draws the body. Returns the position of the text cursor, if it has one.
    pub draw: fn(&Model, &Layout, &Theme, &mut Buffer) -> Option<Position>,
    /// Moves the cursor, or scrolls.
    pub scroll: fn(&mut Model, Motion),
    /// Handles a click or the wheel.
    pub mouse: fn(&mut Model, Mouse) -> Vec<Effect>,
    /// Opens what is under the cursor.
    pub open: fn(&mut Model) -> Vec<Effect>,
    /// Goes back to the previous screen.
    pub back: fn(&mut Model) -> Vec<Effect>,
    /// The text field of the screen, if it has one.
    pub text: Option<TextEntry>,
}

/// The functions of a screen's text field.
pub struct TextEntry {
    /// Whether commands have priority: only keys that are not bound to a command are text.
    pub commands_first: bool,
    /// Whether the text field is active.
    pub takes: fn(&Model) -> bool,
    /// Handles a key in the text field.
    pub key: fn(&mut Model, Key) -> Vec<Effect>,
    /// Handles pasted text.
    pub paste: fn(&mut Model, &str),
}

/// The keys and the drawing of a dialog. In the methods that get `&mut Model`, `model.view.open_dialog` is empty.
pub trait Dialog: Any + fmt::Debug + Sync {
    /// The context of the commands that apply while the dialog is open. `None`: keys are text or move the cursor.
    fn context(&self) -> Option<Context> {
        None
    }

    /// Handles `tab`, which most dialogs have no use for. `None`: the dialog stays open.
    fn tab(&mut self, _: &mut Model) -> Option<Vec<Effect>> {
        None
    }

    /// Edits the text of the dialog.
    fn edit(&mut self, _: &mut Model, _: InputRequest) {}

    /// Moves the cursor, or scrolls.
    fn scroll(&mut self, _: &mut Model, _: Motion) {}

    /// Handles `esc`. The dialog closes afterwards.
    fn cancel(&mut self, _: &mut Model) {}

    /// Handles `enter`. `None`: the dialog stays open.
    fn choose(&mut self, _: &mut Model) -> Option<Vec<Effect>> {
        Some(Vec::new())
    }

    /// Draws the dialog. Returns the position of the text cursor, if it has one.
    fn draw(
        &self,
        model: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position>;

    /// Handles that the file of a set was read.
    fn on_set_loaded(&mut self, _: &Model) {}

    /// Updates cases whose positions changed. Returns false if the case of the dialog no longer exists and the dialog
    /// should close.
    fn follow(&mut self, _: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        true
    }
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
            runs: RunsState::default(),
            pressed: Vec::new(),
            run_overrides: RunOverrides::default(),
            run: None,
            current_run: None,
            run_screen: RunScreenState::default(),
            theme: "default".into(),
            mouse: true,
            now: 0.0,
            chats: 0,
            capture_source: String::new(),
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
            decisions: FromDisk::default(),
            criteria_edits: CriteriaEdits::default(),
            finished_triages: Vec::new(),
            queue: None,
            watching: Watching::default(),
            trends: FromDisk::default(),
            vs_baseline: FromDisk::default(),
            verdicts: FromDisk::default(),
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
            match self
                .view
                .sets
                .iter_mut()
                .find(|known| known.path.path == path.path.path)
            {
                Some(known) => known.appears_again(path.path),
                None => self.view.sets.push(path),
            }
        }
        label_sets(&mut self.view.sets);
        self.view.browse.nodes = nodes_of(&self.view.sets);
        let at = row.and_then(|row| {
            self.view
                .browse
                .nodes
                .iter()
                .position(|other| *other == row)
        });
        self.view.browse.node = at.unwrap_or_else(|| first_node(&self.view.browse.nodes));
        let sets = &self.view.sets;
        self.view
            .browse
            .selected
            .retain(|case| sets[case.set].exists());
        if self
            .open_case()
            .is_some_and(|case| !sets[case.at.set].exists())
        {
            self.show(BrowseScreen);
        }
    }

    /// Issues a ticket for a new request.
    pub fn ticket(&mut self) -> Ticket {
        self.tickets.issue()
    }

    /// Has the comparison with the baseline and the trends computed again, after a run ended or was removed.
    pub(crate) fn read_summaries_of_runs(&mut self) -> [Effect; 2] {
        [
            Effect::Results(ResultEffect::CompareBaseline(self.ticket())),
            Effect::Results(ResultEffect::ReadTrends(self.ticket())),
        ]
    }
}
