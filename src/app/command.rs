//! The one table of commands. The key map, the footer, the help, the palette, the manual and the
//! README's key table come from it. Adding a command is one entry here and one arm in `update`.

use super::model::{Model, Screen};
use crate::domain::Status;

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
    Yes,
    No,
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

const SCREENS: &[Context] = &[Context::Browse, Context::Case, Context::Run];
const SCROLLED: &[Context] = &[Context::Browse, Context::Case, Context::Run, Context::Help];
const LISTS: &[Context] = &[Context::Browse, Context::Case];

fn always(_: &Model) -> Result<(), &'static str> {
    Ok(())
}

const fn entry(
    id: CommandId,
    name: &'static str,
    help: &'static str,
    contexts: &'static [Context],
    keys: &'static [&'static str],
) -> Command {
    Command { id, name, help, hint: None, contexts, keys, enabled: always }
}

const fn shown(command: Command, hint: &'static str) -> Command {
    Command { hint: Some(hint), ..command }
}

const fn when(command: Command, enabled: fn(&Model) -> Result<(), &'static str>) -> Command {
    Command { enabled, ..command }
}

/// Every command there is. The order is the footer's.
pub static COMMANDS: &[Command] = &[
    shown(
        entry(
            CommandId::Open,
            "open",
            "open what is under the cursor",
            &[Context::Browse, Context::Run],
            &["enter"],
        ),
        "open",
    ),
    shown(
        entry(
            CommandId::Back,
            "back",
            "go back",
            &[Context::Case, Context::Run, Context::Help],
            &["esc", "q"],
        ),
        "back",
    ),
    shown(
        when(
            entry(
                CommandId::Select,
                "select",
                "select the case, or take it out again",
                &[Context::Browse],
                &["space"],
            ),
            has_case,
        ),
        "select",
    ),
    shown(
        when(
            entry(
                CommandId::Run,
                "run",
                "run the selected cases, or the one under the cursor, or the set",
                LISTS,
                &["r"],
            ),
            can_run,
        ),
        "run",
    ),
    shown(
        when(
            entry(
                CommandId::RerunFailed,
                "rerun failed",
                "run again what did not pass, of what is listed",
                SCREENS,
                &["R"],
            ),
            can_rerun,
        ),
        "rerun failed",
    ),
    shown(
        when(
            entry(
                CommandId::NextFailing,
                "next failing",
                "go to the next case that did not pass",
                LISTS,
                &["n"],
            ),
            has_failing,
        ),
        "next failing",
    ),
    when(
        entry(
            CommandId::PreviousFailing,
            "previous failing",
            "go to the previous case that did not pass",
            LISTS,
            &["N"],
        ),
        has_failing,
    ),
    shown(
        when(
            entry(
                CommandId::Timeline,
                "timeline",
                "events of the turn as they happened, with tool responses; again for the comparison",
                &[Context::Case],
                &["v"],
            ),
            has_attempt,
        ),
        "timeline",
    ),
    shown(
        when(
            entry(
                CommandId::Cancel,
                "cancel",
                "give up the attempt under the cursor",
                &[Context::Run],
                &["x"],
            ),
            is_running,
        ),
        "cancel",
    ),
    shown(
        when(
            entry(
                CommandId::Pause,
                "pause",
                "begin nothing new for now; again to go on",
                &[Context::Run],
                &["p"],
            ),
            is_running,
        ),
        "pause",
    ),
    when(
        entry(
            CommandId::CancelAll,
            "cancel all",
            "finish what is in flight and stop; again to stop now",
            SCREENS,
            &["X"],
        ),
        is_running,
    ),
    shown(
        entry(
            CommandId::Filter,
            "filter",
            "show only what matches, e.g. status:failed tool:set_light",
            &[Context::Browse],
            &["/"],
        ),
        "filter",
    ),
    shown(
        when(
            entry(CommandId::Watch, "watch run", "watch the run, or look at the last one", LISTS, &["L"]),
            has_run,
        ),
        "watch run",
    ),
    shown(
        entry(CommandId::Palette, "palette", "find a command by name", SCREENS, &[":", "ctrl-k"]),
        "commands",
    ),
    shown(
        entry(
            CommandId::Help,
            "help",
            "keys of this screen, and why some do nothing now",
            &[Context::Browse, Context::Case, Context::Run, Context::Help],
            &["?"],
        ),
        "help",
    ),
    when(
        entry(
            CommandId::Clear,
            "clear",
            "take the selection away, then the filter",
            &[Context::Browse],
            &["esc"],
        ),
        has_something_to_clear,
    ),
    entry(CommandId::Jump, "jump", "go to any case by a few letters of its name", SCREENS, &["f", "ctrl-p"]),
    when(
        entry(
            CommandId::SelectAll,
            "select all",
            "select all that is listed, or nothing",
            &[Context::Browse],
            &["*", "ctrl-a"],
        ),
        has_case,
    ),
    when(
        entry(
            CommandId::Copy,
            "copy",
            "copy the case: what failed, expected and actual, as JSON",
            LISTS,
            &["y"],
        ),
        has_case,
    ),
    when(entry(CommandId::Editor, "editor", "open the file in $EDITOR, at the case", LISTS, &["E"]), has_set),
    entry(
        CommandId::Sort,
        "sort",
        "order: as in the file, failing first, slowest first",
        &[Context::Browse],
        &["o"],
    ),
    entry(
        CommandId::SwitchPane,
        "switch pane",
        "go between sets and cases",
        &[Context::Browse, Context::Run],
        &["tab"],
    ),
    when(
        entry(
            CommandId::NextAttempt,
            "next attempt",
            "the next repetition of the case",
            &[Context::Case],
            &["."],
        ),
        has_attempt,
    ),
    when(
        entry(
            CommandId::PreviousAttempt,
            "previous attempt",
            "the previous repetition of the case",
            &[Context::Case],
            &[","],
        ),
        has_attempt,
    ),
    entry(CommandId::Theme, "theme", "the next colour theme", SCREENS, &["t"]),
    entry(
        CommandId::ToggleMouse,
        "mouse",
        "give the mouse to evaltrail, or back to the terminal",
        SCREENS,
        &["M"],
    ),
    entry(CommandId::Up, "up", "up", SCROLLED, &["up", "k"]),
    entry(CommandId::Down, "down", "down", SCROLLED, &["down", "j"]),
    entry(CommandId::PageUp, "page up", "a page up", SCROLLED, &["pgup", "ctrl-b"]),
    entry(CommandId::PageDown, "page down", "a page down", SCROLLED, &["pgdn", "ctrl-f"]),
    entry(CommandId::Top, "top", "to the top", SCROLLED, &["home", "g"]),
    entry(CommandId::Bottom, "bottom", "to the bottom", SCROLLED, &["end", "G"]),
    entry(CommandId::Left, "left", "to the sets; on a case, the previous turn", LISTS, &["left", "h"]),
    entry(CommandId::Right, "right", "to the cases; on a case, the next turn", LISTS, &["right", "l"]),
    entry(
        CommandId::Suspend,
        "suspend",
        "back to the shell for a while; fg comes back",
        SCREENS,
        &["ctrl-z"],
    ),
    entry(CommandId::Leave, "leave", "leave evaltrail", &[Context::Browse], &["q"]),
    entry(
        CommandId::Quit,
        "quit",
        "leave evaltrail from anywhere",
        &[Context::Browse, Context::Case, Context::Run, Context::Help, Context::Confirm],
        &["ctrl-c"],
    ),
    entry(CommandId::Yes, "yes", "yes", &[Context::Confirm], &["y"]),
    entry(CommandId::No, "no", "no", &[Context::Confirm], &["n", "esc", "enter", "q"]),
];

/// The entry of a command.
pub fn command(id: CommandId) -> &'static Command {
    // Every id has an entry; a test looks.
    COMMANDS.iter().find(|command| command.id == id).unwrap_or(&COMMANDS[0])
}

fn has_case(model: &Model) -> Result<(), &'static str> {
    model.current_case().map(|_| ()).ok_or("there is no case here")
}

fn has_something_to_clear(model: &Model) -> Result<(), &'static str> {
    let nothing = model.browse.selected.is_empty() && model.browse.filter.is_empty();
    if nothing { Err("nothing is selected or filtered; q leaves") } else { Ok(()) }
}

fn has_set(model: &Model) -> Result<(), &'static str> {
    model.current_set().map(|_| ()).ok_or("there is no eval set here")
}

fn can_run(model: &Model) -> Result<(), &'static str> {
    if model.run.as_ref().is_some_and(|run| run.is_live()) {
        return Err("a run is going on; X ends it");
    }
    has_set(model)
}

fn can_rerun(model: &Model) -> Result<(), &'static str> {
    if model.run.as_ref().is_some_and(|run| run.is_live()) {
        return Err("a run is going on; X ends it");
    }
    has_failing(model)
}

fn has_failing(model: &Model) -> Result<(), &'static str> {
    let failing =
        |case: &super::CaseRef| model.outcomes.worst(*case).is_some_and(|status| status != Status::Passed);
    model.browse.visible.iter().any(failing).then_some(()).ok_or("nothing listed has failed")
}

fn is_running(model: &Model) -> Result<(), &'static str> {
    model.run.as_ref().is_some_and(|run| run.is_live()).then_some(()).ok_or("nothing is running")
}

fn has_run(model: &Model) -> Result<(), &'static str> {
    model.run.as_ref().map(|_| ()).ok_or("nothing has been run yet")
}

fn has_attempt(model: &Model) -> Result<(), &'static str> {
    match &model.screen {
        Screen::Case(case) => model.outcomes.get(case.at).map(|_| ()).ok_or("the case has not been run"),
        _ => Err("open a case first"),
    }
}
