//! A simulated user: requests the next message of a scenario from a model (google-adk 2.13, `google/adk/evaluation/simulation/llm_backed_user_simulator.py`).

use super::error::{JudgeError, JudgeErrorKind};
use super::judges::Judges;
use super::sample::SampleRequest;
use evaltrail_core::domain::{
    Invocation, InvocationEvent, JudgeUsage, QuestionId, UserSpec, value_text,
};
use evaltrail_core::metrics::{JudgeOptions, fill};
use serde_json::Value;

const PROMPT: &str = include_str!("prompts/user.md");
/// The message that ends a conversation, in any letter case. ADK's is fixed, too.
const STOP: &str = "</finished>";
/// ADK's personas, in evaltrail's own words.
const PERSONAS: &[(&str, &str)] = &[
    (
        "EXPERT",
        "Knows the subject well, says exactly what is wanted in few words, and notices mistakes at once.",
    ),
    (
        "NOVICE",
        "Knows little of the subject, says things in everyday words, leaves out details until asked, and asks what unfamiliar words mean.",
    ),
    (
        "EVALUATOR",
        "Tests the agent: keeps to the plan strictly, answers what is asked, and checks each claim of the agent.",
    ),
];

/// A scenario, and the settings of the model that plays its user.
#[derive(Clone, Debug)]
pub struct SimulatedUser<'a> {
    spec: &'a UserSpec,
    starting_prompt: String,
    plan: String,
    persona: String,
}

/// The conversation that a message is for.
#[derive(Clone, Copy, Debug)]
pub struct SimulationKey<'a> {
    /// The case.
    pub eval_id: &'a str,
    /// The number of the attempt, from 1: each is a conversation of its own.
    pub attempt: u32,
}

/// A message of a simulated user, and its cost.
#[derive(Debug)]
pub struct UserMessage {
    /// The message; `None` when the conversation is over.
    pub text: Result<Option<String>, JudgeError>,
    /// The cost, also of a response without a message.
    pub spent: JudgeUsage,
}

impl UserMessage {
    /// A message for which no response is needed.
    fn free(text: Option<String>) -> UserMessage {
        UserMessage {
            text: Ok(text),
            spent: JudgeUsage::default(),
        }
    }
}

impl<'a> SimulatedUser<'a> {
    /// Reads a scenario. The error names what is missing, or says why the scenario cannot be played.
    pub fn parse(scenario: &Value, spec: &'a UserSpec) -> Result<SimulatedUser<'a>, String> {
        if let Some(why) = &spec.unplayable {
            return Err(why.clone());
        }
        let get = |snake: &str, camel: &str| scenario.get(camel).or_else(|| scenario.get(snake));
        let text = |snake: &str, camel: &str| {
            let found = get(snake, camel).and_then(Value::as_str);
            found
                .map(str::to_string)
                .ok_or_else(|| format!("the scenario has no {snake}"))
        };
        Ok(SimulatedUser {
            spec,
            starting_prompt: text("starting_prompt", "startingPrompt")?,
            plan: text("conversation_plan", "conversationPlan")?,
            persona: persona(get("user_persona", "userPersona"))?,
        })
    }

    /// Maximum number of turns.
    pub fn limit(&self) -> Option<usize> {
        self.spec.limit()
    }

    /// Checks that the model that plays the user is configured, without a request to it.
    pub fn can_play(&self, judges: &Judges) -> Result<(), JudgeError> {
        match self.limit() {
            // Only the first message is sent, which is in the scenario.
            Some(..=1) => Ok(()),
            _ => judges.is_configured(&self.model(judges)),
        }
    }

    fn model(&self, judges: &Judges) -> String {
        judges.model_for(&JudgeOptions {
            model: self.spec.model.clone(),
            ..JudgeOptions::default()
        })
    }

    /// The next message.
    pub async fn next(
        &self,
        judges: &Judges,
        playing: SimulationKey<'_>,
        done: &[Invocation],
    ) -> UserMessage {
        if done.is_empty() {
            return UserMessage::free(Some(self.starting_prompt.clone()));
        }
        if self.spec.limit().is_some_and(|limit| done.len() >= limit) {
            return UserMessage::free(None);
        }
        let asking = SampleRequest {
            eval_id: playing.eval_id,
            metric: "user",
            id: QuestionId {
                turn: done.len(),
                ..QuestionId::default()
            },
            about: "user",
            // A recording has the same messages for all attempts.
            sample: if judges.is_replay() {
                1
            } else {
                playing.attempt
            },
            prompt: &self.prompt(done),
            identity: None,
            shape: None,
            ends: &judges.ends().conversations,
        };
        let has_text = |text: &str| !text.trim().is_empty();
        let response = judges
            .ask(&self.model(judges), &self.spec.config, asking, &has_text)
            .await;
        UserMessage {
            text: response.text.and_then(|text| message(&text)),
            spent: response.spent,
        }
    }

    fn prompt(&self, done: &[Invocation]) -> String {
        let history = self.history(done);
        match &self.spec.instructions {
            None => fill(
                PROMPT,
                &[
                    ("conversation_plan", &self.plan),
                    ("user_persona", &self.persona),
                    ("conversation_history", &history),
                ],
            ),
            Some(own) => {
                let values = [
                    ("stop_signal", STOP),
                    ("conversation_plan", &self.plan),
                    ("persona", &self.persona),
                    ("conversation_history", &history),
                ];
                jinja(own, &values)
            }
        }
    }

    /// The messages so far, a line for each; on request with the calls and their responses.
    fn history(&self, done: &[Invocation]) -> String {
        let mut lines = Vec::new();
        for turn in done {
            lines.push(format!("user: {}", turn.user.spoken_text()));
            if let (Some(events), true) = (turn.trajectory.events(), self.spec.sees_calls) {
                lines.extend(events.iter().flat_map(calls));
            }
            let first = turn.trajectory.events().and_then(<[_]>::first);
            let author = first.map(|event| event.author.as_str());
            if let Some(response) = &turn.final_response {
                lines.push(format!(
                    "{}: {}",
                    author.unwrap_or("agent"),
                    response.spoken_text()
                ));
            }
        }
        lines.join("\n\n")
    }
}

/// The message in a response; `None` for one that ends the conversation.
fn message(response: &str) -> Result<Option<String>, JudgeError> {
    if response.to_lowercase().contains(STOP) {
        return Ok(None);
    }
    match response.trim() {
        "" => Err(JudgeError::new(
            JudgeErrorKind::NoAnswer,
            "the simulated user said nothing",
        )),
        text => Ok(Some(text.to_string())),
    }
}

fn calls(event: &InvocationEvent) -> Vec<String> {
    let Some(content) = &event.content else {
        return Vec::new();
    };
    let called = content.calls().map(|call| {
        let args = call.args.clone().map(Value::Object).unwrap_or_default();
        format!(
            "{} called {}({})",
            event.author,
            call.name,
            value_text(&args)
        )
    });
    let returned = content
        .responses()
        .map(|one| format!("{} returned {}", one.name, value_text(&one.response)));
    called.chain(returned).collect()
}

fn persona(given: Option<&Value>) -> Result<String, String> {
    match given {
        None | Some(Value::Null) => Ok("an ordinary person".into()),
        Some(Value::String(id)) => {
            let known = PERSONAS.iter().find(|(name, _)| name == id);
            known.map(|(_, words)| (*words).to_string()).ok_or_else(|| {
                format!(
                    "no persona is called {id:?}; expected EXPERT, NOVICE, EVALUATOR or an object"
                )
            })
        }
        Some(object) => Ok(serde_json::to_string_pretty(object).unwrap_or_default()),
    }
}

/// Fills in Jinja's plain placeholders, in one pass.
fn jinja(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            filled.push_str("{{");
            rest = after;
            break;
        };
        let value = values
            .iter()
            .find(|(known, _)| *known == name.trim())
            .map(|(_, value)| *value);
        filled.push_str(value.unwrap_or_default());
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_scenario_is_read_in_either_spelling() {
        let spec = UserSpec::default();
        let read =
            |scenario: Value| SimulatedUser::parse(&scenario, &spec).map(|user| user.persona);
        let novice =
            json!({"startingPrompt": "hi", "conversation_plan": "p", "user_persona": "NOVICE"});
        assert!(read(novice).unwrap().contains("everyday words"));
        assert!(
            read(json!({"starting_prompt": "hi"}))
                .unwrap_err()
                .contains("conversation_plan")
        );
        let other =
            json!({"starting_prompt": "", "conversation_plan": "", "user_persona": "ROBOT"});
        assert!(read(other).unwrap_err().contains("ROBOT"));
    }

    fn scenario() -> Value {
        json!({"starting_prompt": "hi", "conversation_plan": "p"})
    }

    #[test]
    fn one_turn_conversation_needs_no_model() {
        let judges = Judges::new(&evaltrail_core::domain::JudgeSpec::standard(), None);
        let can_play = |most_turns: i64| {
            let spec = UserSpec {
                most_turns: Some(most_turns),
                model: Some("no/such".into()),
                ..UserSpec::default()
            };
            let user = SimulatedUser::parse(&scenario(), &spec).unwrap();
            assert_eq!(user.limit(), spec.limit());
            user.can_play(&judges).is_ok()
        };
        assert_eq!(
            (can_play(1), can_play(2), can_play(-1)),
            (true, false, false)
        );
    }

    #[tokio::test]
    async fn messages_are_those_of_their_turns() {
        use evaltrail_core::domain::{JudgeSpec, Provider};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recorded.jsonl");
        let answers = [(2, "second"), (3, "</FINISHED>")].map(|(turn, reply)| {
            json!({"eval_id": "a", "metric": "user", "turn": turn, "replies": [reply]}).to_string()
        });
        std::fs::write(&path, answers.join("\n")).unwrap();
        let recorded = JudgeSpec {
            provider: Some(Provider::Replay),
            recording: Some(path),
            ..JudgeSpec::standard()
        };
        let (judges, spec) = (
            Judges::new(&recorded, None),
            UserSpec {
                most_turns: Some(4),
                ..UserSpec::default()
            },
        );
        let user = SimulatedUser::parse(&scenario(), &spec).unwrap();
        let turns = vec![Invocation::default(); 4];
        let mut said = Vec::new();
        for done in 0..=4 {
            let playing = SimulationKey {
                eval_id: "a",
                attempt: 2,
            };
            said.push(
                user.next(&judges, playing, &turns[..done])
                    .await
                    .text
                    .map_err(|error| error.message),
            );
        }
        let message = |text: &str| Ok(Some(text.to_string()));
        assert_eq!(said[..3], [message("hi"), message("second"), Ok(None)]);
        assert!(said[3].is_err(), "nothing is recorded for turn 4");
        assert_eq!(said[4], Ok(None), "the limit is reached");
    }

    /// The address of a model that answers one request after the other with these texts.
    fn model_that_says(texts: &'static [&'static str]) -> String {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for (text, stream) in texts.iter().zip(listener.incoming()) {
                let (mut stream, mut request) = (stream.unwrap(), Vec::new());
                while !request.ends_with(b"}") {
                    let mut part = [0; 4096];
                    let read = stream.read(&mut part).unwrap();
                    assert!(read > 0, "a request without an object");
                    request.extend_from_slice(&part[..read]);
                }
                let body = json!({"message": {"content": text}}).to_string();
                let headers = format!("Connection: close\r\nContent-Length: {}", body.len());
                write!(stream, "HTTP/1.1 200 x\r\n{headers}\r\n\r\n{body}").unwrap();
            }
        });
        address
    }

    #[tokio::test]
    async fn only_message_with_text_is_cached() {
        use crate::store::JudgeResponseCache;
        use evaltrail_core::domain::{JudgeSpec, Provider};
        let folder = tempfile::tempdir().unwrap();
        let asked = JudgeSpec {
            provider: Some(Provider::Ollama),
            url: Some(model_that_says(&[" ", "second", "third"])),
            ..JudgeSpec::standard()
        };
        let cache = JudgeResponseCache::below(folder.path().join("judge"));
        let (judges, spec) = (Judges::new(&asked, Some(cache)), UserSpec::default());
        let user = SimulatedUser::parse(&scenario(), &spec).unwrap();
        let playing = SimulationKey {
            eval_id: "a",
            attempt: 1,
        };
        let (done, mut said) = ([Invocation::default()], Vec::new());
        for _ in 0..3 {
            let next = user.next(&judges, playing, &done);
            said.push(next.await.text.map_err(|error| error.fault));
        }
        let second = || Ok(Some("second".to_string()));
        assert_eq!(said, [Err(JudgeErrorKind::NoAnswer), second(), second()]);
    }

    #[test]
    fn calls_are_in_history_on_request() {
        use evaltrail_core::domain::{Content, Part, ToolCall, ToolResponse, Trajectory};
        let call = ToolCall {
            name: "find".into(),
            args: json!({"n": 1}).as_object().cloned(),
            ..ToolCall::default()
        };
        let answer = ToolResponse {
            name: "find".into(),
            response: json!({"found": true}),
            ..ToolResponse::default()
        };
        let parts = vec![
            Part {
                call: Some(call),
                ..Part::default()
            },
            Part {
                response: Some(answer),
                ..Part::default()
            },
        ];
        let content = Some(Content {
            parts,
            ..Content::default()
        });
        let event = InvocationEvent {
            author: "booker".into(),
            content,
            ..InvocationEvent::default()
        };
        let turn = Invocation {
            user: Content::text("user", "hi"),
            final_response: Some(Content::text("model", "done")),
            trajectory: Trajectory::Events(vec![event]),
            ..Invocation::default()
        };
        let history = |sees_calls: bool| {
            let spec = UserSpec {
                sees_calls,
                ..UserSpec::default()
            };
            SimulatedUser::parse(&scenario(), &spec)
                .unwrap()
                .history(std::slice::from_ref(&turn))
        };
        assert_eq!(history(false), "user: hi\n\nbooker: done");
        assert_eq!(
            history(true),
            "user: hi\n\nbooker called find({\"n\":1})\n\nfind returned {\"found\":true}\n\nbooker: done"
        );
    }

    #[test]
    fn custom_instructions_are_filled_in_once() {
        let said = jinja(
            "{{ stop_signal }} {{conversation_plan}} {{",
            &[
                ("stop_signal", "S"),
                ("conversation_plan", "{{stop_signal}}"),
            ],
        );
        assert_eq!(said, "S {{stop_signal}} {{");
    }
}
