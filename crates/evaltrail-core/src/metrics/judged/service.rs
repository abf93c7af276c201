//! ADK's metrics that Vertex AI's evaluation service computes (google-adk 2.13, `google/adk/evaluation/vertex_ai_eval_facade.py`): the request, as ADK's client
//! sends it, and its response.

use super::judge::{
    Judge, Question, TurnVerdict, Verdict, all_answered, is_answered, read_samples,
};
use super::verdict_codes::VerdictCodes;

use crate::domain::{
    Content, Invocation, InvocationEvent, JudgedQuestion, Part, QuestionId, RubricScore, Score,
    finite_number,
};
use crate::metrics::measure::{Evidence, mean};
use serde_json::{Map, Value, json};

/// The key under which a question names a prompt that Google publishes.
pub const PUBLISHED_PROMPT: &str = "kept_prompt";

/// Which metric of the service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::metrics) enum VertexServiceMetric {
    /// Each turn on its own.
    Turns(&'static str),
    /// Each turn on its own, with the published prompt of this name.
    Prompt(&'static str),
    /// The whole conversation at once.
    Conversation(&'static str),
}

impl VertexServiceMetric {
    fn body(self, evidence: &Evidence, turn: usize) -> Value {
        let predefined = |name: &str| {
            let spec = json!({"metric_spec_name": name, "metric_spec_parameters": null});
            json!({"predefined_metric_spec": spec})
        };
        let (metric, instance) = match self {
            VertexServiceMetric::Turns(name) => (predefined(name), one_turn(evidence, turn)),
            // The sender replaces this with the prompt.
            VertexServiceMetric::Prompt(name) => {
                (json!({PUBLISHED_PROMPT: name}), one_turn(evidence, turn))
            }
            VertexServiceMetric::Conversation(name) => {
                (predefined(name), conversation(evidence.actual))
            }
        };
        json!({"metrics": [metric], "instance": instance})
    }

    fn turns(self, of: usize) -> std::ops::Range<usize> {
        match self {
            VertexServiceMetric::Turns(_) | VertexServiceMetric::Prompt(_) => 0..of,
            VertexServiceMetric::Conversation(_) => of.saturating_sub(1)..of,
        }
    }
}

fn text(text: &str) -> Value {
    json!({"parts": [{"text": text}]})
}

fn one_turn(evidence: &Evidence, turn: usize) -> Value {
    let actual = &evidence.actual[turn];
    let (prompt, response) = (actual.user.scored_text(), actual.response_text());
    let expected = evidence.expected.and_then(|turns| turns.get(turn));
    let reference = expected
        .filter(|turn| !turn.lacks_reference())
        .map(Invocation::response_text);
    let contents = |words: &str| json!({"contents": {"contents": [text(words)]}});
    let mut instance = Map::new();
    instance.insert("prompt".into(), contents(&prompt));
    instance.insert("response".into(), contents(&response));
    if let Some(reference) = reference {
        instance.insert("reference".into(), contents(&reference));
    }
    let events = json!([
        {"author": "user", "content": text(&prompt)},
        {"author": "model", "content": text(&response)},
    ]);
    let turns = json!([{"turn_index": 0, "turn_id": "turn_0", "events": events}]);
    instance.insert("agent_eval_data".into(), json!({"turns": turns}));
    instance.into()
}

fn conversation(turns: &[Invocation]) -> Value {
    let turn = |(at, turn): (usize, &Invocation)| {
        let mut events = vec![json!({"author": "user", "content": content(&turn.user)})];
        if let Some(recorded) = turn.trajectory.events() {
            let with_content = |event: &InvocationEvent| {
                Some(json!({"author": event.author, "content": content(event.content.as_ref()?)}))
            };
            events.extend(recorded.iter().filter_map(with_content));
        }
        let response = turn.final_response.as_ref();
        events.extend(
            response.map(|response| json!({"author": "agent", "content": content(response)})),
        );
        json!({"turn_index": at, "turn_id": turn.id, "events": events})
    };
    let turns_: Vec<Value> = turns.iter().enumerate().map(turn).collect();
    let mut data = Map::new();
    let agents = agents(turns);
    if !agents.is_empty() {
        data.insert("agents".into(), agents.into());
    }
    data.insert("turns".into(), turns_.into());
    json!({"prompt": {"contents": {"contents": []}}, "agent_eval_data": data})
}

/// A request in which ids that may change with every run are replaced: those of turns by nothing, those of calls by
/// their position.
fn without_ids(mut body: Value) -> Value {
    fn walk(value: &mut Value, calls: &mut Vec<Value>) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| walk(item, calls)),
            Value::Object(map) => {
                for (key, value) in map {
                    match (key.as_str(), value.get_mut("id")) {
                        ("turn_id", _) => *value = Value::Null,
                        ("function_call" | "function_response", Some(id)) if !id.is_null() => {
                            let at =
                                calls
                                    .iter()
                                    .position(|known| known == id)
                                    .unwrap_or_else(|| {
                                        calls.push(id.clone());
                                        calls.len() - 1
                                    });
                            *id = at.into();
                        }
                        // What agents and tools wrote is compared as it is.
                        ("function_call" | "function_response", _) => {}
                        _ => walk(value, calls),
                    }
                }
            }
            _ => {}
        }
    }
    if let Some(turns) = body.pointer_mut("/instance/agent_eval_data/turns") {
        walk(turns, &mut Vec::new());
    }
    body
}

/// The agents of all turns, by name.
fn agents(turns: &[Invocation]) -> Map<String, Value> {
    let mut agents = Map::new();
    for details in turns.iter().filter_map(|turn| turn.app_details.as_ref()) {
        let all = details
            .get("agent_details")
            .or_else(|| details.get("agentDetails"))
            .and_then(Value::as_object);
        for (name, agent) in all.into_iter().flatten() {
            let tools = agent
                .get("tool_declarations")
                .or_else(|| agent.get("toolDeclarations"));
            let instruction = agent.get("instructions").cloned().unwrap_or_default();
            let agent = json!({"agent_id": name, "instruction": instruction, "tools": tools});
            agents.insert(name.clone(), agent);
        }
    }
    agents
}

fn content(content: &Content) -> Value {
    let part = |part: &Part| {
        if let Some(call) = &part.call {
            return json!({"function_call": {"id": call.id, "name": call.name, "args": call.args}});
        }
        if let Some(one) = &part.response {
            return json!({"function_response": {"id": one.id, "name": one.name, "response": one.response}});
        }
        json!({"text": part.text})
    };
    let parts: Vec<Value> = content.parts.iter().map(part).collect();
    match &content.role {
        Some(role) => json!({"parts": parts, "role": role}),
        None => json!({"parts": parts}),
    }
}

impl Judge for VertexServiceMetric {
    fn questions(
        &self,
        evidence: &Evidence,
        answered: &[JudgedQuestion],
        _: &VerdictCodes,
    ) -> Result<Vec<Question>, String> {
        let question = |turn| {
            let body = self.body(evidence, turn);
            Question {
                id: QuestionId {
                    turn,
                    ..QuestionId::default()
                },
                about: "service",
                prompt: body.to_string(),
                identity: matches!(self, VertexServiceMetric::Conversation(_))
                    .then(|| without_ids(body).to_string()),
                samples: 1,
                shape: None,
            }
        };
        let questions = self.turns(evidence.actual.len()).map(question);
        Ok(questions
            .filter(|question| !is_answered(answered, question.id))
            .collect())
    }

    fn read(&self, _: &Evidence, answered: &mut [JudgedQuestion], _: &VerdictCodes) {
        answered
            .iter_mut()
            .for_each(|asked| read_samples(asked, read));
    }

    fn tally(&self, evidence: &Evidence, answered: &[JudgedQuestion]) -> Verdict {
        let mut turns = vec![TurnVerdict::default(); evidence.actual.len()];
        for asked in answered {
            if let (Some(turn), Some(sample), true) = (
                turns.get_mut(asked.id.turn),
                asked.samples.first(),
                all_answered(&asked.samples),
            ) {
                *turn = TurnVerdict {
                    score: sample.score(),
                    why: sample.reason.clone(),
                    rubrics: sample.verdicts.clone(),
                };
            }
        }
        let gap = self
            .turns(turns.len())
            .find(|at| turns[*at].score.is_none());
        let rubrics = match self {
            VertexServiceMetric::Conversation(_) => turns
                .last()
                .map(|turn| turn.rubrics.clone())
                .unwrap_or_default(),
            VertexServiceMetric::Turns(_) | VertexServiceMetric::Prompt(_) => Vec::new(),
        };
        Verdict {
            score: mean(turns.iter().filter_map(|turn| turn.score)),
            gap: gap.map(|at| format!("the service gave no score for turn {}", at + 1)),
            turns,
            rubrics,
        }
    }
}

/// Reads a response of the service: score, explanation and verdicts. An absent verdict means no.
fn read(reply: &str) -> (Option<f64>, String, Vec<RubricScore>) {
    let parsed: Value = serde_json::from_str(reply).unwrap_or_default();
    let result = parsed
        .pointer("/metricResults/0")
        .cloned()
        .unwrap_or_default();
    let words = |path: &str| {
        result
            .pointer(path)
            .and_then(Value::as_str)
            .map(str::to_string)
    };
    let mut rubrics: Vec<RubricScore> = Vec::new();
    for (at, verdict) in result
        .get("rubricVerdicts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        let of = |path: &str| {
            verdict
                .pointer(path)
                .and_then(Value::as_str)
                .map(str::to_string)
        };
        let id = of("/evaluatedRubric/content/property/description")
            .or_else(|| of("/evaluatedRubric/rubricId"));
        let yes = verdict
            .get("verdict")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        rubrics.push(RubricScore {
            rubric_id: id.unwrap_or_else(|| format!("rubric_{at}")),
            score: Some(Score::of_flag(yes)),
            rationale: of("/reasoning"),
            votes: None,
        });
    }
    let error = words("/error/message");
    let explanation = words("/explanation");
    for (id, rationale) in [("explanation", &explanation), ("error", &error)] {
        if rationale.is_some() {
            rubrics.push(RubricScore {
                rubric_id: id.into(),
                rationale: rationale.clone(),
                ..RubricScore::default()
            });
        }
    }
    let score = result.get("score").and_then(finite_number);
    (score, error.or(explanation).unwrap_or_default(), rubrics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Trajectory;

    /// The request of google-adk 2.13.0 with google-cloud-aiplatform 2.7.0, recorded at its client.
    #[test]
    fn a_turn_is_sent_as_adk_sends_it() {
        let turn = Invocation {
            user: Content::text("user", "hello 1"),
            final_response: Some(Content::text("model", "hi 1")),
            ..Invocation::default()
        };
        let turns = [turn];
        let evidence = Evidence::turns(Some(&turns), &turns);
        let adks = r#"{"metrics": [{"predefined_metric_spec": {"metric_spec_name": "safety_v1", "metric_spec_parameters": null}}], "instance": {"prompt": {"contents": {"contents": [{"parts": [{"text": "hello 1"}]}]}}, "response": {"contents": {"contents": [{"parts": [{"text": "hi 1"}]}]}}, "reference": {"contents": {"contents": [{"parts": [{"text": "hi 1"}]}]}}, "agent_eval_data": {"turns": [{"turn_index": 0, "turn_id": "turn_0", "events": [{"author": "user", "content": {"parts": [{"text": "hello 1"}]}}, {"author": "model", "content": {"parts": [{"text": "hi 1"}]}}]}]}}}"#;
        assert_eq!(
            VertexServiceMetric::Turns("safety_v1").body(&evidence, 0),
            serde_json::from_str::<Value>(adks).unwrap()
        );
    }

    #[test]
    fn a_conversation_is_sent_as_adk_sends_it() {
        let call = json!({"function_call": {"id": "c1", "args": {"a": 1}, "name": "t"}});
        let part = Part {
            call: Some(crate::domain::ToolCall {
                id: Some("c1".into()),
                ..crate::domain::ToolCall::new("t", json!({"a": 1}).as_object().cloned())
            }),
            ..Part::default()
        };
        let event = InvocationEvent {
            author: "home".into(),
            content: Some(Content {
                role: Some("model".into()),
                parts: vec![part],
            }),
            ..InvocationEvent::default()
        };
        let agent = json!({"agent_details": {"home": {"name": "home", "instructions": "be nice", "tool_declarations": [{"x": 1}]}}});
        let turn = Invocation {
            id: "i1".into(),
            user: Content::text("user", "hello 1"),
            final_response: Some(Content::text("model", "hi 1")),
            trajectory: Trajectory::Events(vec![event]),
            app_details: Some(agent),
            ..Invocation::default()
        };
        let turns = [turn];
        let body = VertexServiceMetric::Conversation("multi_turn_task_success_v1")
            .body(&Evidence::turns(None, &turns), 0);
        let adks = json!({"prompt": {"contents": {"contents": []}}, "agent_eval_data": {
            "agents": {"home": {"agent_id": "home", "instruction": "be nice", "tools": [{"x": 1}]}},
            "turns": [{"turn_index": 0, "turn_id": "i1", "events": [
                {"author": "user", "content": {"parts": [{"text": "hello 1"}], "role": "user"}},
                {"author": "home", "content": {"parts": [call], "role": "model"}},
                {"author": "agent", "content": {"parts": [{"text": "hi 1"}], "role": "model"}},
            ]}],
        }});
        assert_eq!(body["instance"], adks);
    }

    #[test]
    fn ids_of_a_run_do_not_decide_the_reply() {
        let of_run = |ids: [&str; 3], city: &str| {
            let event = |part: Value| InvocationEvent {
                author: "agent".into(),
                content: Some(
                    serde_json::from_value(json!({"role": "model", "parts": [part]})).unwrap(),
                ),
                ..InvocationEvent::default()
            };
            let call = |id: &str| {
                let args = json!({"id": "kept", "turn_id": "kept", "city": city});
                event(json!({"call": {"id": id, "name": "t", "args": args}}))
            };
            let response =
                |id: &str| event(json!({"response": {"id": id, "name": "t", "response": {}}}));
            let events = vec![
                call(ids[1]),
                call(ids[2]),
                response(ids[2]),
                response(ids[1]),
            ];
            let turns = [Invocation {
                id: ids[0].into(),
                trajectory: Trajectory::Events(events),
                ..Invocation::default()
            }];
            let evidence = Evidence::turns(None, &turns);
            let codes = VerdictCodes::without_codes(&evidence);
            let question = VertexServiceMetric::Conversation("m")
                .questions(&evidence, &[], &codes)
                .unwrap()
                .remove(0);
            assert!(question.prompt.contains(ids[0]) && question.prompt.contains(ids[1]));
            question.identity.unwrap()
        };
        let first = of_run(["e-1", "c-1", "c-2"], "Oslo");
        assert_eq!(first, of_run(["e-2", "c-3", "c-4"], "Oslo"));
        assert_ne!(first, of_run(["e-1", "c-1", "c-2"], "Rome"));
        assert_ne!(
            first,
            of_run(["e-1", "c-1", "c-1"], "Oslo"),
            "the responses are those of other calls"
        );
        assert_eq!(
            first.matches("kept").count(),
            4,
            "arguments are not ids: {first}"
        );
    }

    #[test]
    fn verdicts_of_the_service_are_read() {
        let reply = json!({"metricResults": [{"score": 0.5, "explanation": "e", "rubricVerdicts": [
            {"evaluatedRubric": {"rubricId": "r", "content": {"property": {"description": "d"}}}, "verdict": true},
            {"evaluatedRubric": {"rubricId": "s"}, "reasoning": "no"},
        ]}]});
        let (score, why, rubrics) = read(&reply.to_string());
        assert_eq!((score, why.as_str()), (Some(0.5), "e"));
        let rubrics: Vec<(&str, Option<f64>)> = rubrics
            .iter()
            .map(|r| (r.rubric_id.as_str(), r.score()))
            .collect();
        assert_eq!(
            rubrics,
            [("d", Some(1.0)), ("s", Some(0.0)), ("explanation", None)]
        );
        let failed = json!({"metricResults": [{"error": {"message": "quota"}}]});
        assert_eq!(read(&failed.to_string()).0, None);
        for number in ["NaN", "\"NaN\"", "Infinity", "1e999", "-1e999"] {
            assert_eq!(
                read(&format!("{{\"metricResults\": [{{\"score\": {number}}}]}}")).0,
                None,
                "{number}"
            );
        }
    }
}
