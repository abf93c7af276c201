//! One turn with an agent, displayed.

use super::Exit;
use super::output::{print_line, print_note};
use evaltrail_core::domain::{AgentSpec, Invocation, ToolsSpec, clean, clean_line, value_text};
use evaltrail_engine::agents::SessionOptions;
use evaltrail_engine::runner::{ChatEvent, chat};
use serde_json::Value;

/// Sends the prompt as the first message of a conversation, and displays the turn.
pub(super) async fn show_one_turn(
    spec: AgentSpec,
    tools: ToolsSpec,
    prompt: &str,
) -> anyhow::Result<Exit> {
    let (sender, mut events) = tokio::sync::mpsc::channel(64);
    let opening = SessionOptions {
        attempt: 1,
        user_id: "user".into(),
        session_id: format!("evaltrail-{}", uuid::Uuid::new_v4()),
        app: spec.app().unwrap_or_default().to_string(),
        ..SessionOptions::default()
    };
    let words = chat((spec, tools), opening, sender);
    let _ = words.send(prompt.to_string()).await;
    let mut words = Some(words);
    let mut exit = Exit::Failures;
    while let Some(event) = events.recv().await {
        // After its only turn, the conversation ends: its session is deleted before the events end.
        if matches!(event, ChatEvent::Turn(..) | ChatEvent::Broke(..)) {
            words.take();
        }
        match event {
            ChatEvent::Turn(turn, state) => {
                show_turn(&turn);
                if let Some(state) =
                    state.filter(|state| state.as_object().is_some_and(|state| !state.is_empty()))
                {
                    print_line(&format!("state     {}", clean_line(&value_text(&state))));
                }
                exit = Exit::Success;
            }
            ChatEvent::Broke(why, turn) => {
                if let Some(turn) = turn {
                    show_turn(&turn);
                }
                print_note(&clean(&format!("errored: {why}")));
            }
            ChatEvent::Opened(_) | ChatEvent::Progress(_) => {}
        }
    }
    Ok(exit)
}

pub(crate) fn show_turn(turn: &Invocation) {
    print_line("");
    for (at, call) in turn.calls().into_iter().enumerate() {
        let args = call
            .args
            .clone()
            .map(|args| value_text(&Value::Object(args)))
            .unwrap_or_default();
        print_line(&clean_line(&format!("calls     {} {args}", call.name)));
        if let Some(response) = turn.trajectory.response_to(at) {
            print_line(&clean_line(&format!(
                "          ← {}",
                value_text(&response.response)
            )));
        }
    }
    if !turn.trajectory.is_known() {
        print_line("calls     the agent does not report all its tool calls: they are not scored");
    }
    for error in turn.model_errors() {
        print_line(&format!("⚠         {}", error.describe()));
    }
    if let Some(words) = turn.end.describe() {
        print_line(&format!("end       {words}"));
    }
    let response = turn
        .final_response
        .as_ref()
        .map(|content| content.spoken_text())
        .unwrap_or_default();
    let response = if response.is_empty() {
        "(no text)".to_string()
    } else {
        clean(&response).into_owned()
    };
    print_line(&format!(
        "response  {}",
        response.replace('\n', "\n          ")
    ));
    if let Some(seconds) = turn.durations.total {
        print_line(&format!("took      {seconds} s"));
    }
}
