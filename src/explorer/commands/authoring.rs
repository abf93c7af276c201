//! The commands that change files.

use crate::explorer::commands::enabled::{
    can_accept, can_accept_all, can_edit, can_run, can_save_beside, can_write_set, has_pieces, has_set,
};
use crate::explorer::commands::table::{LISTS, entry, shown, when};
use crate::explorer::commands::{Command, CommandId, Context};

const CASE: &[Context] = &[Context::Case];
const BROWSE: &[Context] = &[Context::Browse];
const CHAT: &[Context] = &[Context::Chat];
const EDIT: &[Context] = &[Context::Edit];
const WRITTEN: &[Context] = &[Context::Browse, Context::Case, Context::Edit];
const PROPOSAL: &[Context] = &[Context::Proposal];

pub(crate) static AUTHORING: &[Command] = &[
    shown(
        when(
            entry(
                CommandId::Accept,
                "accept",
                "accept the difference under the cursor as expected; shows the change of the file first",
                CASE,
                &["a"],
            ),
            can_accept,
        ),
        "accept",
    ),
    shown(
        when(
            entry(
                CommandId::AcceptAll,
                "accept all",
                "accept all that the agent did in the case, or in the selected cases",
                LISTS,
                &["A"],
            ),
            can_accept_all,
        ),
        "accept all",
    ),
    shown(
        when(
            entry(
                CommandId::Edit,
                "edit",
                "edit the case: what is said, expected, and set up",
                LISTS,
                &["e"],
            ),
            can_edit,
        ),
        "edit",
    ),
    when(
        entry(
            CommandId::Variants,
            "variants",
            "allow other trajectories: those that were seen, and those that are allowed already",
            CASE,
            &["P"],
        ),
        can_edit,
    ),
    when(entry(CommandId::NewCase, "new case", "make a case in the set", BROWSE, &["+"]), can_write_set),
    when(
        entry(
            CommandId::CopyCase,
            "copy case",
            "copy the case, letter by letter, or the set under the cursor",
            BROWSE,
            &["Y"],
        ),
        can_edit,
    ),
    when(
        entry(
            CommandId::MoveCases,
            "move cases",
            "move the selected cases to another set, or the set under the cursor to another folder",
            BROWSE,
            &[">"],
        ),
        can_edit,
    ),
    when(
        entry(
            CommandId::DeleteCases,
            "delete",
            "delete the selected cases, or the set under the cursor",
            BROWSE,
            &["d", "delete"],
        ),
        can_write_set,
    ),
    when(
        entry(CommandId::Rename, "rename", "rename the case, or the set under the cursor", BROWSE, &["="]),
        can_write_set,
    ),
    when(
        entry(CommandId::NewSet, "new set", "make an eval set beside this one", BROWSE, &["ctrl-n"]),
        has_set,
    ),
    when(
        entry(
            CommandId::Tags,
            "tags",
            "tag the selected cases: words to find them by, tag:word",
            LISTS,
            &["T"],
        ),
        can_edit,
    ),
    when(
        entry(
            CommandId::RunTurn,
            "run turn",
            "run this turn alone, on the history that the case expects before it",
            CASE,
            &["z"],
        ),
        can_run,
    ),
    when(
        entry(
            CommandId::Chat,
            "talk",
            "talk to the agent; the conversation can be kept as a case",
            LISTS,
            &["C"],
        ),
        has_set,
    ),
    when(
        entry(
            CommandId::Criteria,
            "criteria",
            "edit the criteria beside the set (test_config.json) in $EDITOR; they are checked when you come back",
            LISTS,
            &["O"],
        ),
        has_set,
    ),
    shown(
        entry(
            CommandId::KeepChat,
            "keep",
            "keep the conversation as a case: all turns, or some",
            CHAT,
            &["ctrl-s"],
        ),
        "keep as a case",
    ),
    shown(entry(CommandId::ChatState, "state", "begin again in another state", CHAT, &["ctrl-t"]), "state"),
    entry(CommandId::ChatBack, "scroll back", "what was said before", CHAT, &["pgup"]),
    entry(CommandId::ChatForth, "scroll on", "what was said after", CHAT, &["pgdn"]),
    shown(entry(CommandId::LeaveChat, "leave", "end the conversation", CHAT, &["esc"]), "leave"),
    shown(entry(CommandId::ChatAgain, "again", "begin again", CHAT, &["ctrl-n"]), "begin again"),
    when(
        entry(CommandId::NextPiece, "next difference", "go to the next difference", CASE, &["space", "}"]),
        has_pieces,
    ),
    when(
        entry(
            CommandId::PreviousPiece,
            "previous difference",
            "go to the previous difference",
            CASE,
            &["backspace", "{"],
        ),
        has_pieces,
    ),
    entry(
        CommandId::Undo,
        "undo",
        "take the last edit back: of the draft, or of any file here, also one of an earlier day",
        WRITTEN,
        &["u"],
    ),
    entry(CommandId::Redo, "redo", "make the edit again that was taken back", WRITTEN, &["U", "ctrl-r"]),
    shown(
        entry(
            CommandId::EditField,
            "edit field",
            "type another value, checked as it is typed",
            EDIT,
            &["enter"],
        ),
        "edit",
    ),
    shown(
        entry(
            CommandId::AddField,
            "add",
            "add behind this: a turn, a call, an argument, a rubric, words on the way",
            EDIT,
            &["o"],
        ),
        "add",
    ),
    shown(entry(CommandId::RemoveField, "remove", "take this away", EDIT, &["d", "delete"]), "remove"),
    entry(CommandId::DuplicateField, "duplicate", "put a second turn or call behind this one", EDIT, &["D"]),
    shown(entry(CommandId::FieldUp, "move up", "move the turn, call or rubric up", EDIT, &["K"]), "up"),
    shown(
        entry(CommandId::FieldDown, "move down", "move the turn, call or rubric down", EDIT, &["J"]),
        "down",
    ),
    entry(CommandId::FieldInEditor, "field in editor", "type the value in $EDITOR", EDIT, &["E"]),
    entry(
        CommandId::CaseInEditor,
        "case in editor",
        "type the whole case in $EDITOR; it is checked when you come back",
        EDIT,
        &["ctrl-e"],
    ),
    shown(
        entry(
            CommandId::SaveCase,
            "save case",
            "show what changes in the file, and save it",
            EDIT,
            &["w", "ctrl-s"],
        ),
        "save",
    ),
    shown(entry(CommandId::Save, "save", "make the change that is shown", PROPOSAL, &["enter", "y"]), "save"),
    shown(
        when(
            entry(
                CommandId::SaveBeside,
                "save beside",
                "write your version to a file beside, and leave theirs",
                PROPOSAL,
                &["o"],
            ),
            can_save_beside,
        ),
        "write yours beside",
    ),
    shown(
        entry(CommandId::Discard, "discard", "change nothing", PROPOSAL, &["esc", "n", "q"]),
        "change nothing",
    ),
];
