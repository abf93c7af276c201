//! The one table of commands. Key bindings, hints, help, palette, the manual and `docs/keys.md` come from it. A command is
//! one entry in the file of its family, and one line in [`COMMANDS`].

mod authoring;
pub mod bindings;
mod chatting;
mod editing;
pub mod enabled;
mod general;
pub mod key;
pub mod keymap;
mod list;
mod navigation;
mod results;
mod running;
mod what_if;

pub use authoring::*;
pub use chatting::*;
pub use editing::*;
pub use general::*;
pub use list::*;
pub use navigation::*;
pub use results::*;
pub use running::*;
pub use what_if::*;

use super::effect::Effect;
use super::model::Model;
use enabled::Enabled;
use std::fmt;

/// Where a command can be given: on a screen, or while a dialog of a kind is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Context {
    Browse,
    Case,
    Run,
    /// An attempt while it runs.
    Live,
    Edit,
    Chat,
    /// A dialog that is only read.
    Reading,
    /// A yes-or-no question.
    Confirm,
    /// The question of what may be started, connected to or used.
    Trust,
    /// A change of files before it is made.
    Proposal,
}

impl Context {
    /// What the screen is called; none for a dialog.
    pub fn screen(self) -> Option<&'static str> {
        match self {
            Context::Browse => Some("list"),
            Context::Case => Some("case"),
            Context::Run => Some("run"),
            Context::Live => Some("attempt"),
            Context::Edit => Some("edit"),
            Context::Chat => Some("chat"),
            Context::Reading | Context::Confirm | Context::Trust | Context::Proposal => None,
        }
    }
}

/// The screens where results are.
const SCREENS: &[Context] = &[Context::Browse, Context::Case, Context::Run];
const ANY_SCREEN: &[Context] = &[Context::Browse, Context::Case, Context::Run, Context::Live, Context::Edit];
const LISTS: &[Context] = &[Context::Browse, Context::Case];
const SCROLLED: &[Context] = &[
    Context::Browse,
    Context::Case,
    Context::Run,
    Context::Live,
    Context::Edit,
    Context::Reading,
    Context::Confirm,
    Context::Trust,
    Context::Proposal,
];
const EVERYWHERE: &[Context] = &[
    Context::Browse,
    Context::Case,
    Context::Run,
    Context::Live,
    Context::Edit,
    Context::Chat,
    Context::Reading,
    Context::Confirm,
    Context::Trust,
    Context::Proposal,
];

/// The headings under which help lists commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Group {
    Run,
    Results,
    WhatIf,
    Author,
    List,
    Move,
    Edit,
    Chat,
    General,
}

impl Group {
    /// All groups, in the order of the help.
    pub const ALL: &[Group] = &[
        Group::Run,
        Group::Results,
        Group::WhatIf,
        Group::Author,
        Group::List,
        Group::Edit,
        Group::Chat,
        Group::Move,
        Group::General,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Group::Run => "Run",
            Group::Results => "Results",
            Group::WhatIf => "What if",
            Group::Author => "Cases and sets",
            Group::List => "List",
            Group::Move => "Move",
            Group::Edit => "Edit",
            Group::Chat => "Chat",
            Group::General => "General",
        }
    }
}

/// A direction of scrolling, or of a cursor in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Motion {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
}

impl Motion {
    /// A cursor after the motion, in a list of `count` rows of which `page` are visible.
    pub fn of(self, cursor: usize, count: usize, page: usize) -> usize {
        let last = count.saturating_sub(1);
        let page = page.max(1);
        match self {
            Motion::Up => cursor.saturating_sub(1),
            Motion::Down => (cursor + 1).min(last),
            Motion::PageUp => cursor.saturating_sub(page),
            Motion::PageDown => (cursor + page).min(last),
            Motion::Top => 0,
            Motion::Bottom => last,
        }
    }
}

/// A command: what a key, the palette or the mouse can do.
pub struct Command {
    /// Unique; shown in the palette and in messages.
    pub name: &'static str,
    /// One sentence, without a full stop.
    pub help: &'static str,
    /// The word in the hints at the bottom; commands without one are not shown there.
    pub hint: Option<&'static str>,
    /// What it would act on now, for the hint: "run *7 selected*".
    pub scope: Option<fn(&Model) -> String>,
    /// Its heading in the help.
    pub group: Group,
    /// Where it can be given.
    pub contexts: &'static [Context],
    /// Its keys: [`key::parse_key`], several in sequence with spaces between, for example `w m`.
    pub default_keys: &'static [&'static str],
    /// Why it cannot be given now, if it cannot.
    pub enabled: fn(&Model) -> Enabled,
    /// What it does.
    pub run: fn(&mut Model) -> Vec<Effect>,
}

impl Command {
    /// Its first key, for sentences that name it.
    pub fn key(&'static self) -> &'static str {
        self.keys().first().copied().unwrap_or_default()
    }

    /// Whether it can be given in a context.
    pub fn is_in(&self, context: Context) -> bool {
        self.contexts.contains(&context)
    }
}

impl PartialEq for Command {
    fn eq(&self, other: &Command) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({})", self.name)
    }
}

/// Its keys as help lists them.
pub fn hint_keys(command: &'static Command) -> String {
    command.keys().join("  ")
}

/// "u undo", where the command can be given on this screen now.
pub fn hint(model: &Model, command: &'static Command) -> Option<String> {
    let can_be_given = command.is_in(model.screen_context()) && (command.enabled)(model).is_ok();
    can_be_given.then(|| format!("{} {}", command.key(), command.name))
}

/// Keys that begin others, and what those have in common.
pub static PREFIXES: &[(&str, &str)] = &[("w", "what if"), ("c", "case, set"), ("m", "metrics")];

/// Every command, the most important hints first.
pub static COMMANDS: &[&Command] = &[
    &OPEN,
    &BACK,
    &SELECT,
    &RUN,
    &SCORE,
    &RERUN_FAILED,
    &APPLY_SUGGESTION,
    &ACCEPT,
    &ACCEPT_ALL,
    &EDIT,
    &KEEP_CHAT,
    &CHAT_STATE,
    &LEAVE_CHAT,
    &CHAT_AGAIN,
    &EDIT_FIELD,
    &ADD_FIELD,
    &REMOVE_FIELD,
    &FIELD_UP,
    &FIELD_DOWN,
    &SAVE_CASE,
    &SAVE,
    &SAVE_BESIDE,
    &DISCARD,
    &NEXT_FAILING,
    &COMPARE_TAB,
    &TIMELINE,
    &JUDGES,
    &METRICS_TAB,
    &DIFFERENCES_ONLY,
    &CANCEL,
    &PAUSE,
    &CANCEL_ALL,
    &FILTER,
    &WATCH,
    &SWITCH_PANE,
    &PALETTE,
    &HELP,
    &UP,
    &DOWN,
    &PAGE_UP,
    &PAGE_DOWN,
    &TOP,
    &BOTTOM,
    &BESIDE_UP,
    &BESIDE_DOWN,
    &LEFT,
    &RIGHT,
    &PREVIOUS_FAILING,
    &NEXT_DIFFERENCE,
    &PREVIOUS_DIFFERENCE,
    &NEXT_ATTEMPT,
    &PREVIOUS_ATTEMPT,
    &JUMP,
    &SELECT_ALL,
    &CLEAR,
    &SORT,
    &COLUMNS,
    &RUN_WITH,
    &RUN_TURN,
    &JUDGE_AGAIN,
    &VERDICT,
    &AGREEMENT,
    &STATISTICS,
    &METRICS,
    &NEXT_METRIC,
    &MATCH_TYPE,
    &IGNORE_ARGUMENTS,
    &LOWER_THRESHOLD,
    &RAISE_THRESHOLD,
    &RULE,
    &FLIPS,
    &WRITE_TRIAL,
    &DROP_TRIAL,
    &UNDO,
    &REDO,
    &NEW_CASE,
    &COPY_CASE,
    &MOVE_CASES,
    &DELETE_CASES,
    &RENAME,
    &NEW_SET,
    &TAGS,
    &VARIANTS,
    &CRITERIA,
    &EDITOR,
    &CHAT,
    &DUPLICATE_FIELD,
    &FIELD_IN_EDITOR,
    &CASE_IN_EDITOR,
    &CHAT_BACK,
    &CHAT_FORTH,
    &MESSAGES,
    &COPY,
    &THEME,
    &TOGGLE_MOUSE,
    &SUSPEND,
    &LEAVE,
    &QUIT,
    &CONFIRM,
    &REFUSE,
    &ALLOW,
    &DENY,
];
