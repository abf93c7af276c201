//! Functions for commands that are available on every screen.

use crate::domain::Status;
use crate::explorer::dialogs::confirm::{self, Confirm, Confirmed};
use crate::explorer::effect::Effect;
use crate::explorer::effect::TerminalEffect;
use crate::explorer::model::{Model, Notice, Screen};
use serde_json::json;

/// Maximum number of notices in the message log.
pub const NOTICES_AT_MOST: usize = 200;
/// How long a notice is shown, in seconds; errors are shown longer.
const NOTICE_S: f64 = 4.0;
const BAD_NOTICE_S: f64 = 10.0;

pub(crate) fn notify(model: &mut Model, text: String, bad: bool) -> Vec<Effect> {
    let topic = text.clone();
    notify_about(model, topic, text, bad)
}

/// Shows a notice in the place of earlier ones about the same topic, which are counted.
pub(crate) fn notify_about(model: &mut Model, topic: String, text: String, bad: bool) -> Vec<Effect> {
    let until = model.now + if bad { BAD_NOTICE_S } else { NOTICE_S };
    let known = model.notices.iter().position(|notice| notice.topic == topic && notice.bad == bad);
    let before = known.map_or(0, |at| model.notices.remove(at).count);
    let notice = Notice { text, bad, until, topic, count: before + 1 };
    model.notices.push(notice.clone());
    model.notices.drain(..model.notices.len().saturating_sub(NOTICES_AT_MOST));
    model.notice = Some(notice);
    Vec::new()
}

pub(crate) fn tick(model: &mut Model, now: f64) {
    model.now = now;
    if model.notice.as_ref().is_some_and(|notice| notice.until <= now) {
        model.notice = None;
    }
}

/// Quits. Asks for confirmation first if a run would be interrupted or unsaved work lost.
pub(crate) fn quit(model: &mut Model) -> Vec<Effect> {
    let asked = model.dialog::<Confirm>().is_some_and(|confirm| confirm.then == Confirmed::Quit);
    match quit_warning(model).filter(|_| !asked) {
        Some((title, line)) => confirm::open(model, title, vec![line.into()], Confirmed::Quit),
        None => vec![Effect::Terminal(TerminalEffect::Quit)],
    }
}

/// What quitting would interrupt or lose: the question, and an explanation.
fn quit_warning(model: &Model) -> Option<(&'static str, &'static str)> {
    match &model.view.screen {
        Screen::Edit(edit) if edit.is_changed() => {
            return Some(("The case is not saved. Quit?", "The changes in the editor are lost."));
        }
        Screen::Chat(chat) if chat.is_unkept() => {
            return Some((
                "The conversation is not saved. Quit?",
                "Not all of its turns are saved as a case.",
            ));
        }
        _ => {}
    }
    if model.queue.as_ref().is_some_and(|queue| !queue.change.is_empty()) {
        return Some((
            "The changed criteria of the triage are not saved. Quit?",
            "All other decisions are stored. The queue can still write the criteria.",
        ));
    }
    let running = model.run.as_ref().is_some_and(|run| run.is_live());
    let line = "Finished attempts are saved; `evaltrail run --resume` runs the rest.";
    running.then_some(("A run is live. Quit?", line))
}

pub(crate) fn toggle_mouse(model: &mut Model) -> Vec<Effect> {
    model.mouse = !model.mouse;
    let words = if model.mouse { "mouse on" } else { "mouse off: the terminal selects and copies with it" };
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
    let Some(at) = model.current_case() else { return Vec::new() };
    let attempt = model.current_attempt();
    let Some(attempt) = attempt else {
        return vec![Effect::Terminal(TerminalEffect::Copy(on_one_line(&model.eval_id(at))))];
    };
    let attempt = match attempt.read() {
        Ok(attempt) => attempt,
        Err(why) => return notify(model, format!("not copied: {why}"), true),
    };
    let turn = |turn: &crate::domain::Invocation| {
        let calls: Vec<_> =
            turn.calls().iter().map(|call| json!({"name": call.name, "args": call.args})).collect();
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
    vec![Effect::Terminal(TerminalEffect::Copy(serde_json::to_string_pretty(&text).unwrap_or_default()))]
}

pub(crate) fn editor(model: &mut Model) -> Vec<Effect> {
    let Some(set) = model.current_set() else { return Vec::new() };
    let path = model.view.sets[set].path.path.clone();
    let line = match (model.file(set), model.current_case()) {
        (Some(file), Some(case)) => file.line_of(case.index),
        _ => 1,
    };
    vec![Effect::Terminal(TerminalEffect::OpenEditor { path, line })]
}
