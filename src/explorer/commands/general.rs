//! Commands for help, themes, the clipboard, quitting, and answers to questions.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{can_suspend, has_no_sets};
use super::{ANY_SCREEN, Access, Command, CommandGroup, EVERYWHERE, LIST_OR_CASE};
use crate::explorer::authoring::conditions::has_case;
use crate::explorer::prompts::{confirm, quit, trust};
use crate::explorer::shared::command_names;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, ScreenRequest, TerminalEffect};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices::notify;
use crate::explorer::{dialogs, opened_run};
use evaltrail_core::domain::Status;
use serde_json::json;

/// The fields that the commands of this file share.
const BASE: Command = Command {
    group: CommandGroup::General,
    ..super::BASE
};

pub static PALETTE: Command = Command {
    id: &CommandName {
        name: "commands",
        default_keys: &[":", "ctrl-k"],
    },
    help: "find a command by its name or description",
    hint: Some("commands"),
    access: Access::Reads,
    contexts: ANY_SCREEN,
    run: |_| vec![ScreenRequest::OpenPalette.into()],
    ..BASE
};

pub static HELP: Command = Command {
    id: &CommandName {
        name: "help",
        default_keys: &["?"],
    },
    help: "the keys of this screen, and why some are disabled",
    hint: Some("help"),
    access: Access::Reads,
    contexts: &[
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
    ],
    run: |_| vec![ScreenRequest::ToggleHelp.into()],
    ..BASE
};

pub static MESSAGES: Command = Command {
    id: &CommandName {
        name: "messages",
        default_keys: &["!"],
    },
    help: "the message log: every notice so far",
    access: Access::Reads,
    contexts: ANY_SCREEN,
    run: dialogs::messages::open,
    ..BASE
};

pub static COPY: Command = Command {
    id: &CommandName {
        name: "copy to clipboard",
        default_keys: &["y"],
    },
    help: "copy the case as JSON: what failed, expected and actual",
    access: Access::Reads,
    contexts: LIST_OR_CASE,
    enabled: has_case,
    run: copy,
    ..BASE
};

pub static THEME: Command = Command {
    id: &CommandName {
        name: "theme",
        default_keys: &["t"],
    },
    help: "choose a colour theme; the screen shows the one under the cursor",
    access: Access::Reads,
    contexts: ANY_SCREEN,
    run: dialogs::themes::open,
    ..BASE
};

pub static TOGGLE_MOUSE: Command = Command {
    id: &CommandName {
        name: "mouse",
        default_keys: &["M"],
    },
    help: "use the mouse here, or leave it to the terminal",
    access: Access::Reads,
    contexts: ANY_SCREEN,
    run: toggle_mouse,
    ..BASE
};

pub static SAMPLE: Command = Command {
    id: &command_names::SAMPLE,
    help: "open the sample workspace: agents and eval sets to try evaltrail with",
    access: Access::Reads,
    contexts: &[Context::Browse],
    enabled: has_no_sets,
    run: |_| vec![Effect::Terminal(TerminalEffect::OpenSample)],
    ..BASE
};

pub static SUSPEND: Command = Command {
    id: &CommandName {
        name: "suspend",
        default_keys: &["ctrl-z"],
    },
    help: "back to the shell; fg returns here",
    access: Access::Reads,
    contexts: ANY_SCREEN,
    enabled: can_suspend,
    run: |_| vec![Effect::Terminal(TerminalEffect::Suspend)],
    ..BASE
};

pub static LEAVE: Command = Command {
    id: &CommandName {
        name: "quit",
        default_keys: &["q"],
    },
    help: "quit evaltrail; in a past run, go back to the runs",
    access: Access::Reads,
    contexts: &[Context::Browse],
    run: opened_run::leave,
    ..BASE
};

pub static QUIT: Command = Command {
    id: &CommandName {
        name: "quit from anywhere",
        default_keys: &["ctrl-c"],
    },
    help: "quit evaltrail from any screen",
    access: Access::Reads,
    contexts: EVERYWHERE,
    run: quit::quit,
    ..BASE
};

pub static CONFIRM: Command = Command {
    id: &command_names::CONFIRM,
    help: "do what the question asks",
    hint: Some("yes"),
    access: Access::Reads,
    contexts: &[Context::Confirm],
    run: |model| confirm::answer(model, true),
    ..BASE
};

pub static REFUSE: Command = Command {
    id: &command_names::REFUSE,
    help: "do nothing",
    hint: Some("no"),
    access: Access::Reads,
    contexts: &[Context::Confirm],
    run: |model| confirm::answer(model, false),
    ..BASE
};

pub static ALLOW: Command = Command {
    id: &command_names::ALLOW,
    help: "allow what the question names, when all of it has been shown",
    hint: Some("yes"),
    access: Access::Reads,
    contexts: &[Context::Trust],
    run: |model| trust::answer(model, true),
    ..BASE
};

pub static DENY: Command = Command {
    id: &command_names::DENY,
    help: "allow nothing",
    hint: Some("no"),
    access: Access::Reads,
    contexts: &[Context::Trust],
    run: |model| trust::answer(model, false),
    ..BASE
};

pub(crate) fn toggle_mouse(model: &mut Model) -> Vec<Effect> {
    model.mouse = !model.mouse;
    let words = if model.mouse {
        "mouse on"
    } else {
        "mouse off: the terminal selects and copies with it"
    };
    notify(model, words.into(), false);
    vec![Effect::Terminal(TerminalEffect::CaptureMouse(model.mouse))]
}

/// Escapes line breaks and control characters in an id, so that it can be pasted into a shell safely.
fn on_one_line(id: &str) -> String {
    let quoted = serde_json::Value::from(id).to_string();
    quoted[1..quoted.len() - 1].replace("\\\"", "\"")
}

/// Copies the case as JSON: its id, its status, why it did not pass, and both sides of every turn. A case that was
/// not run is copied as its id only.
pub(crate) fn copy(model: &mut Model) -> Vec<Effect> {
    let Some(at) = model.current_case() else {
        return Vec::new();
    };
    let attempt = model.current_attempt();
    let Some(attempt) = attempt else {
        return vec![Effect::Terminal(TerminalEffect::Copy(on_one_line(
            &model.eval_id(at),
        )))];
    };
    let attempt = match attempt.read() {
        Ok(attempt) => attempt,
        Err(why) => return notify(model, format!("not copied: {why}"), true),
    };
    let turn = |turn: &evaltrail_core::domain::Invocation| {
        let calls: Vec<_> = turn
            .calls()
            .iter()
            .map(|call| json!({"name": call.name, "args": call.args}))
            .collect();
        json!({"user": turn.user.scored_text(), "tool_calls": calls, "response": turn.response_text()})
    };
    let said: Vec<String> = attempt
        .metrics
        .iter()
        .filter(|metric| matches!(metric.status, Status::Failed | Status::NotEvaluated))
        .map(|metric| format!("{}: {}", metric.metric, metric.explanation))
        .collect();
    let text = json!({
        "eval_id": attempt.eval_id,
        "status": attempt.status,
        "error": attempt.error,
        "why": said,
        "expected": attempt.expected.iter().map(turn).collect::<Vec<_>>(),
        "actual": attempt.actual.iter().map(turn).collect::<Vec<_>>(),
    });
    vec![Effect::Terminal(TerminalEffect::Copy(
        serde_json::to_string_pretty(&text).unwrap_or_default(),
    ))]
}

pub(crate) fn editor(model: &mut Model) -> Vec<Effect> {
    let Some(set) = model.current_set() else {
        return Vec::new();
    };
    let path = model.view.sets[set].path.path.clone();
    let line = match (model.file(set), model.current_case()) {
        (Some(file), Some(case)) => file.line_of(case.index),
        _ => 1,
    };
    vec![Effect::Terminal(TerminalEffect::OpenEditor { path, line })]
}
