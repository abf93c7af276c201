//! The table of commands. Key bindings, hints, help, palette, the manual page and `docs/keys.md` are generated from
//! it. To add a command, define it in one of the files of this folder and add a line to [`COMMANDS`].

pub(crate) mod authoring;
pub mod bindings;
mod chatting;
pub(crate) mod editing;
pub mod enabled;
pub(crate) mod general;
pub mod keymap;
mod list;
mod navigation;
mod results;
mod running;
mod runs;
mod triage;
pub(crate) mod what_if;

pub use authoring::*;
pub use chatting::*;
pub use editing::*;
pub use general::*;
pub use list::*;
pub use navigation::*;
pub use results::*;
pub use running::*;
pub use runs::*;
pub use triage::*;
pub use what_if::*;

use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices::notify;
use enabled::always;
use std::fmt;
use std::sync::LazyLock;

/// The screens that show results.
const SCREENS: &[Context] = &[Context::Browse, Context::Case, Context::Run];
const ANY_SCREEN: &[Context] = &[
    Context::Browse,
    Context::Case,
    Context::Run,
    Context::Live,
    Context::Runs,
    Context::Trends,
    Context::Comparison,
    Context::ComparedCase,
    Context::Queue,
    Context::Edit,
];
/// The screens of one case.
const ONE_CASE: &[Context] = &[Context::Case, Context::Queue];
/// The screens on which a case can be looked at.
const LIST_OR_CASE: &[Context] = &[Context::Browse, Context::Case, Context::Queue];
/// The screens of two runs.
const OF_TWO_RUNS: &[Context] = &[Context::Comparison, Context::ComparedCase];
const LISTS: &[Context] = &[Context::Browse, Context::Case];
const LIST_OR_ENDED_RUN: &[Context] = &[Context::Browse, Context::Run];
const SCROLLED: &[Context] = &[
    Context::Browse,
    Context::Case,
    Context::Run,
    Context::Live,
    Context::Runs,
    Context::Trends,
    Context::Comparison,
    Context::ComparedCase,
    Context::Queue,
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
    Context::Runs,
    Context::Trends,
    Context::Comparison,
    Context::ComparedCase,
    Context::Queue,
    Context::Edit,
    Context::Chat,
    Context::Reading,
    Context::Confirm,
    Context::Trust,
    Context::Proposal,
];

/// The groups of commands in the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CommandGroup {
    Run,
    Results,
    Runs,
    Triage,
    WhatIf,
    Author,
    List,
    Move,
    Edit,
    Chat,
    General,
}

impl CommandGroup {
    /// All groups, in the order of the help.
    pub const ALL: &[CommandGroup] = &[
        CommandGroup::Run,
        CommandGroup::Results,
        CommandGroup::Triage,
        CommandGroup::Runs,
        CommandGroup::WhatIf,
        CommandGroup::Author,
        CommandGroup::List,
        CommandGroup::Edit,
        CommandGroup::Chat,
        CommandGroup::Move,
        CommandGroup::General,
    ];

    /// Heading of the group.
    pub fn title(self) -> &'static str {
        match self {
            CommandGroup::Run => "Run",
            CommandGroup::Results => "Results",
            CommandGroup::Runs => "Past runs",
            CommandGroup::Triage => "Triage",
            CommandGroup::WhatIf => "What if",
            CommandGroup::Author => "Cases and sets",
            CommandGroup::List => "List",
            CommandGroup::Move => "Move",
            CommandGroup::Edit => "Edit",
            CommandGroup::Chat => "Chat",
            CommandGroup::General => "General",
        }
    }
}

/// What a command does to files and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It changes none, so that it works in a past run.
    Reads,
    /// It changes some.
    Changes,
}

/// Executes a command of the list, which is shown first if the screen is that of a run.
fn in_list(model: &mut Model, run: fn(&mut Model) -> Vec<Effect>) -> Vec<Effect> {
    if model.is_on(Context::Run) {
        model.show(BrowseScreen);
    }
    run(model)
}

/// The fields that most commands share. A command that does not say that it reads is one that changes.
const BASE: Command = Command {
    id: &CommandName {
        name: "",
        default_keys: &[],
    },
    help: "",
    hint: None,
    hint_now: None,
    group: CommandGroup::General,
    access: Access::Changes,
    contexts: &[],
    enabled: always,
    run: |_| Vec::new(),
};

/// A command, started by a key or from the palette.
pub struct Command {
    /// Its name and keys.
    pub id: &'static CommandName,
    /// Description, without a full stop.
    pub help: &'static str,
    /// Text in the hints in the bottom line. Commands without one are not shown there.
    pub hint: Option<&'static str>,
    /// The hint that says what the command would act on now, used instead of `hint`: "run 7 selected".
    /// Empty: no hint now.
    pub hint_now: Option<fn(&Model) -> String>,
    /// Group in the help.
    pub group: CommandGroup,
    /// Whether the command works in a past run, in which nothing can be changed.
    pub access: Access,
    /// Where the command is available.
    pub contexts: &'static [Context],
    /// Whether the command is enabled now.
    pub enabled: fn(&Model) -> Enabled,
    /// Executes the command.
    pub run: fn(&mut Model) -> Vec<Effect>,
}

impl Command {
    /// Name for the palette, messages and the configuration of keys; unique in each context.
    pub fn name(&self) -> &'static str {
        self.id.name
    }

    /// The keys of the command: those from the user's configuration, else the default ones.
    pub fn keys(&self) -> &'static [&'static str] {
        self.id.keys()
    }

    /// The first key of the command, for messages that mention it.
    pub fn key(&self) -> &'static str {
        self.id.key()
    }

    /// Whether the command is enabled now. In a past run, commands that change something are not.
    pub fn is_enabled(&self, model: &Model) -> Enabled {
        if model.opened_run.is_some() && self.access == Access::Changes {
            return Err(only_read());
        }
        (self.enabled)(model)
    }

    /// Runs the command if it is enabled, otherwise shows why it is not.
    pub(crate) fn start(&self, model: &mut Model) -> Vec<Effect> {
        match self.is_enabled(model) {
            Ok(()) => (self.run)(model),
            Err(why) => notify(model, format!("{}: {why}", self.name()), false),
        }
    }

    /// Whether the command is available in a context.
    pub fn is_in(&self, context: Context) -> bool {
        self.contexts.contains(&context)
    }

    /// The names of the screens where the command is available: "list, case". Empty if it is one of a dialog.
    pub fn screens(&self) -> String {
        let screens = self.contexts.iter().filter_map(|context| context.screen());
        screens.collect::<Vec<_>>().join(", ")
    }
}

fn only_read() -> &'static str {
    static WORDS: LazyLock<String> = LazyLock::new(|| {
        format!(
            "a past run is open, which cannot be changed; {} goes back",
            CLEAR.key()
        )
    });
    &WORDS
}

impl PartialEq for Command {
    fn eq(&self, other: &Command) -> bool {
        std::ptr::eq(self.id, other.id)
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({})", self.id.name)
    }
}

/// The keys of a command, as shown in the help.
pub fn hint_keys(command: &'static Command) -> String {
    command.keys().join("  ")
}

/// A hint such as "u undo"; `None` if the command is not available or not enabled on this screen.
pub fn hint(model: &Model, command: &'static Command) -> Option<String> {
    let can_be_given = command.is_in(model.screen_context()) && command.is_enabled(model).is_ok();
    can_be_given.then(|| format!("{} {}", command.key(), command.id.name))
}

/// Prefix keys, with the common name of the commands behind them.
pub static PREFIXES: &[(&str, &str)] = &[("w", "what if"), ("c", "case, set"), ("m", "metrics")];

/// All commands. Hints are shown in this order.
pub static COMMANDS: &[&Command] = &[
    &OPEN,
    &QUEUE_ACCEPT,
    &QUEUE_RUN,
    &QUEUE_RELAX,
    &QUEUE_QUARANTINE,
    &QUEUE_COMMENT,
    &QUEUE_SKIP,
    &QUEUE_UNDO,
    &QUEUE_FINISH,
    &QUEUE_NEXT,
    &QUEUE_PREVIOUS,
    &ACCEPT,
    &NEXT_FAILING,
    &EDIT,
    &RUN,
    &SCORE,
    &RERUN_FAILED,
    &APPLY_SUGGESTION,
    &ACCEPT_ALL,
    &EDIT_VALUE,
    &BACK,
    &CLEAR,
    &SELECT,
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
    &COMPARE_TAB,
    &TIMELINE,
    &JUDGES,
    &METRICS_TAB,
    &VERDICT,
    &AGREEMENT,
    &DIFFERENCES_ONLY,
    &FOLD,
    &UNFOLD,
    &CANCEL,
    &PAUSE,
    &CANCEL_ALL,
    &RESUME,
    &FILTER,
    &CAUSES,
    &TRIAGE,
    &RUN_WITH,
    &WATCH,
    &WATCH_FILES,
    &RUN_CHANGED,
    &COMPARE_RUNS,
    &COMPARE_BASELINE,
    &WITHOUT_EXPECTED,
    &MARK_RUN,
    &NAME_RUN,
    &PIN_RUN,
    &EXPORT_RUN,
    &DELETE_RUN,
    &NEXT_COMPARED,
    &PREVIOUS_COMPARED,
    &RUNS,
    &REPEAT,
    &TRENDS,
    &PREVIOUS_RUN,
    &NEXT_RUN,
    &SWITCH_PANE,
    &QUEUE_ACCEPT_GROUP,
    &QUEUE_RUN_GROUP,
    &QUEUE_RELAX_GROUP,
    &QUEUE_QUARANTINE_GROUP,
    &QUEUE_COMMENT_GROUP,
    &QUEUE_SKIP_GROUP,
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
    &NEXT_TRAJECTORY,
    &JUMP,
    &SELECT_ALL,
    &SORT,
    &COLUMNS,
    &RUN_TURN,
    &JUDGE_AGAIN,
    &SCORE_OUTDATED,
    &STATISTICS,
    &COVERAGE,
    &METRICS,
    &NEXT_METRIC,
    &MATCH_TYPE,
    &IGNORE_ARGUMENTS,
    &LOWER_THRESHOLD,
    &RAISE_THRESHOLD,
    &RULE,
    &CHANGED_CASES,
    &WRITE_WHAT_IF,
    &DROP_WHAT_IF,
    &UNDO,
    &REDO,
    &NEW_CASE,
    &COPY_CASE,
    &MOVE_CASES,
    &DELETE_CASES,
    &RENAME,
    &NEW_SET,
    &CAPTURE,
    &DRAFTS,
    &TAGS,
    &QUARANTINE,
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
    &SAMPLE,
    &SUSPEND,
    &LEAVE,
    &QUIT,
    &CONFIRM,
    &REFUSE,
    &ALLOW,
    &DENY,
];
