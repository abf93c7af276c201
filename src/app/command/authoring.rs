//! The commands that change files.

use super::table::{LISTS, entry, shown, when};
use super::{Command, CommandId, Context};
use crate::app::enabled::{can_accept, can_accept_all, can_save_beside, has_pieces, has_set};

const CASE: &[Context] = &[Context::Case];
const PROPOSAL: &[Context] = &[Context::Proposal];

pub(super) static AUTHORING: &[Command] = &[
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
    when(
        entry(
            CommandId::Undo,
            "undo",
            "take the last edit of the file back, also one of an earlier day",
            LISTS,
            &["u"],
        ),
        has_set,
    ),
    when(
        entry(CommandId::Redo, "redo", "make the edit again that was taken back", LISTS, &["U", "ctrl-r"]),
        has_set,
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
