//! The table itself, in the footer's order.

use crate::explorer::commands::enabled::{
    can_judge_again, can_rerun, can_run, can_score, has_attempt, has_case, has_failing, has_judgement,
    has_outcomes, has_run, has_set, has_something_to_clear, has_trial, is_running,
};
use crate::explorer::commands::{Command, CommandId, Context};
use crate::explorer::model::Model;

const SCREENS: &[Context] = &[Context::Browse, Context::Case, Context::Run];
const ANY_SCREEN: &[Context] = &[Context::Browse, Context::Case, Context::Run, Context::Edit];
const SCROLLED: &[Context] = &[
    Context::Browse,
    Context::Case,
    Context::Run,
    Context::Help,
    Context::Confirm,
    Context::Proposal,
    Context::Edit,
];
pub(crate) const LISTS: &[Context] = &[Context::Browse, Context::Case];

fn always(_: &Model) -> Result<(), &'static str> {
    Ok(())
}

pub(crate) const fn entry(
    id: CommandId,
    name: &'static str,
    help: &'static str,
    contexts: &'static [Context],
    keys: &'static [&'static str],
) -> Command {
    Command { id, name, help, hint: None, contexts, keys, enabled: always }
}

pub(crate) const fn shown(command: Command, hint: &'static str) -> Command {
    Command { hint: Some(hint), ..command }
}

pub(crate) const fn when(command: Command, enabled: fn(&Model) -> Result<(), &'static str>) -> Command {
    Command { enabled, ..command }
}

/// The commands that look and run. The order is the footer's.
pub(crate) static LOOKING: &[Command] = &[
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
            &[Context::Case, Context::Run, Context::Help, Context::Edit],
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
                CommandId::Score,
                "score",
                "score what the file says an agent did, without asking one",
                LISTS,
                &["s"],
            ),
            can_score,
        ),
        "score",
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
                CommandId::Judges,
                "judges",
                "what the judges said: rubrics, votes, each answer; again for the comparison",
                &[Context::Case],
                &["J"],
            ),
            has_judgement,
        ),
        "judges",
    ),
    when(
        entry(
            CommandId::JudgeAgain,
            "judge again",
            "score again what the agent did, asking judges but not the agent",
            LISTS,
            &["b"],
        ),
        can_judge_again,
    ),
    when(
        entry(
            CommandId::Opinion,
            "your verdict",
            "overrule a verdict or rubric with a note; the computed one stays beside it",
            &[Context::Case],
            &["V"],
        ),
        has_attempt,
    ),
    entry(
        CommandId::Agreement,
        "agreement",
        "how far judges and people agree, rubric by rubric",
        LISTS,
        &["K"],
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
    shown(
        when(
            entry(
                CommandId::MatchType,
                "match type",
                "what if calls matched EXACT, IN_ORDER, ANY_ORDER; every case is rescored",
                LISTS,
                &["m"],
            ),
            has_outcomes,
        ),
        "what if",
    ),
    when(
        entry(
            CommandId::IgnoreArgs,
            "ignore arguments",
            "what if the arguments of calls did not count, or did again",
            LISTS,
            &["i"],
        ),
        has_outcomes,
    ),
    when(
        entry(
            CommandId::LowerThreshold,
            "lower threshold",
            "what if the metric at hand needed less",
            LISTS,
            &["["],
        ),
        has_outcomes,
    ),
    when(
        entry(
            CommandId::RaiseThreshold,
            "raise threshold",
            "what if the metric at hand needed more",
            LISTS,
            &["]"],
        ),
        has_outcomes,
    ),
    when(
        entry(
            CommandId::NextMetric,
            "next metric",
            "take the next metric to hand, whose threshold [ and ] move",
            &[Context::Case],
            &["tab"],
        ),
        has_attempt,
    ),
    when(
        entry(
            CommandId::Rule,
            "match rule",
            "what if calls were compared by a rule, e.g. search_* query ignore",
            LISTS,
            &["w"],
        ),
        has_outcomes,
    ),
    when(
        entry(CommandId::Flips, "flips", "the cases that come out otherwise under the change", LISTS, &["F"]),
        has_trial,
    ),
    when(
        entry(
            CommandId::WriteTrial,
            "write change",
            "write the change to the configs of the sets listed",
            LISTS,
            &["W"],
        ),
        has_trial,
    ),
    when(
        entry(CommandId::DropTrial, "drop change", "back to the criteria as they are", LISTS, &["D"]),
        has_trial,
    ),
    when(
        entry(
            CommandId::Statistics,
            "statistics",
            "mean, deviation and spread of every metric over what is listed",
            LISTS,
            &["S"],
        ),
        has_outcomes,
    ),
    entry(
        CommandId::Metrics,
        "metrics",
        "the metrics there are: what each needs, says and means",
        SCREENS,
        &["I"],
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
        entry(CommandId::Palette, "palette", "find a command by name", ANY_SCREEN, &[":", "ctrl-k"]),
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
    entry(
        CommandId::Jump,
        "jump",
        "go to any case by a few letters of its name",
        ANY_SCREEN,
        &["f", "ctrl-p"],
    ),
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
        "order: as in the file, failing first, slowest first, most disputed first",
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
    entry(CommandId::Theme, "theme", "the next colour theme", ANY_SCREEN, &["t"]),
    entry(
        CommandId::ToggleMouse,
        "mouse",
        "give the mouse to evaltrail, or back to the terminal",
        ANY_SCREEN,
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
        ANY_SCREEN,
        &["ctrl-z"],
    ),
    entry(CommandId::Leave, "leave", "leave evaltrail", &[Context::Browse], &["q"]),
    entry(
        CommandId::Quit,
        "quit",
        "leave evaltrail from anywhere",
        &[
            Context::Browse,
            Context::Case,
            Context::Run,
            Context::Help,
            Context::Confirm,
            Context::Proposal,
            Context::Edit,
            Context::Chat,
        ],
        &["ctrl-c"],
    ),
    entry(CommandId::Yes, "yes", "yes", &[Context::Confirm], &["y"]),
    entry(CommandId::No, "no", "no", &[Context::Confirm], &["n", "esc", "enter", "q"]),
];
