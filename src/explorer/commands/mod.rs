//! The one table of commands. The key map, the footer, the help, the palette, the manual and the
//! README's key table come from it. Adding a command is one entry here and one arm in `update`.

mod authoring;
mod enabled;
pub mod key;
pub mod keymap;
mod table;

use crate::explorer::model::Model;
use std::sync::LazyLock;

/// A thing a person can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CommandId {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Left,
    Right,
    Open,
    Back,
    Clear,
    Leave,
    Quit,
    Select,
    SelectAll,
    Run,
    Score,
    RerunFailed,
    Pause,
    Cancel,
    CancelAll,
    NextFailing,
    PreviousFailing,
    Filter,
    Palette,
    Jump,
    Help,
    Copy,
    Editor,
    Theme,
    SwitchPane,
    Watch,
    Timeline,
    NextAttempt,
    PreviousAttempt,
    Sort,
    ToggleMouse,
    Suspend,
    MatchType,
    IgnoreArgs,
    LowerThreshold,
    RaiseThreshold,
    NextMetric,
    Rule,
    Flips,
    WriteTrial,
    DropTrial,
    Metrics,
    Statistics,
    Judges,
    JudgeAgain,
    RunTurn,
    Opinion,
    Agreement,
    Yes,
    No,
    NextPiece,
    PreviousPiece,
    Accept,
    AcceptAll,
    Undo,
    Redo,
    Save,
    SaveBeside,
    Discard,
    Edit,
    EditField,
    AddField,
    RemoveField,
    DuplicateField,
    FieldUp,
    FieldDown,
    FieldInEditor,
    CaseInEditor,
    SaveCase,
    NewCase,
    CopyCase,
    MoveCases,
    DeleteCases,
    Rename,
    NewSet,
    Tags,
    Criteria,
    Chat,
    KeepChat,
    ChatState,
    ChatAgain,
    ChatBack,
    ChatForth,
    LeaveChat,
    Variants,
}

impl CommandId {
    /// Its first key, for sentences that name it.
    pub fn key(self) -> &'static str {
        command(self).keys.first().copied().unwrap_or_default()
    }

    /// Whether it is about the change on trial.
    pub(crate) fn is_about_trial(self) -> bool {
        use CommandId as C;
        matches!(
            self,
            C::MatchType
                | C::IgnoreArgs
                | C::LowerThreshold
                | C::RaiseThreshold
                | C::NextMetric
                | C::Rule
                | C::Flips
                | C::WriteTrial
                | C::DropTrial
        )
    }
}

/// "u undo", where the command can be given on this screen now.
pub fn hint(model: &Model, id: CommandId) -> Option<String> {
    let command = command(id);
    let can_be_given = command.contexts.contains(&model.screen_context()) && (command.enabled)(model).is_ok();
    can_be_given.then(|| format!("{} {}", id.key(), command.name))
}

/// Where a command can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Context {
    Browse,
    Case,
    Run,
    Help,
    Confirm,
    Proposal,
    Edit,
    Chat,
}

/// An entry of the table.
pub struct Command {
    /// Which command.
    pub id: CommandId,
    /// Its name in the palette.
    pub name: &'static str,
    /// What it does, in a few words.
    pub help: &'static str,
    /// A shorter word for the footer; commands without one are not shown there.
    pub hint: Option<&'static str>,
    /// Where it can be given.
    pub contexts: &'static [Context],
    /// The default keys.
    pub keys: &'static [&'static str],
    /// Why it cannot be given now, if it cannot.
    pub enabled: fn(&Model) -> Result<(), &'static str>,
}

/// Every command there is, in the footer's order.
pub static COMMANDS: LazyLock<Vec<&'static Command>> = LazyLock::new(|| {
    let first = table::LOOKING.iter().position(|command| command.id == CommandId::NextFailing).unwrap_or(0);
    let (first, rest) = table::LOOKING.split_at(first);
    first.iter().chain(authoring::AUTHORING).chain(rest).collect()
});

/// The entry of a command.
pub fn command(id: CommandId) -> &'static Command {
    // Every id has an entry; a test looks.
    COMMANDS.iter().find(|command| command.id == id).copied().unwrap_or(COMMANDS[0])
}
