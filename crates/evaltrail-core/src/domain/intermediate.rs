//! What agents respond within a turn before its final response.

use super::{Content, Invocation, InvocationEvent, Part, Trajectory};

/// A text of an agent before the final response of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct IntermediateResponse {
    /// The agent; empty if it is not known.
    pub author: String,
    /// The text, in one or more parts. Thoughts are no responses.
    pub parts: Vec<Part>,
}

impl IntermediateResponse {
    /// The text as ADK scores it.
    pub fn text(&self) -> String {
        Content {
            parts: self.parts.clone(),
            ..Content::default()
        }
        .scored_text()
    }
}

impl Invocation {
    /// The intermediate responses in order.
    pub fn intermediate_responses(&self) -> Vec<IntermediateResponse> {
        let of = |author: &str, parts: &[Part]| {
            let parts: Vec<Part> = parts
                .iter()
                .filter(|part| part.has_text() && !part.thought)
                .cloned()
                .collect();
            (!parts.is_empty()).then(|| IntermediateResponse {
                author: author.to_string(),
                parts,
            })
        };
        match &self.trajectory {
            Trajectory::Unknown => Vec::new(),
            Trajectory::Listed { texts, .. } => texts
                .iter()
                .filter_map(|(author, parts)| of(author, parts))
                .collect(),
            Trajectory::Events(events) | Trajectory::Partial(events) => {
                let parts = |event: &InvocationEvent| {
                    let content = event.content.as_ref()?;
                    of(&event.author, &content.parts)
                };
                events.iter().filter_map(parts).collect()
            }
        }
    }
}

impl Trajectory {
    /// Replaces the intermediate responses. In recorded events, texts are replaced in order, and further ones come last.
    /// An unknown trajectory stays unknown.
    pub fn set_intermediate(&mut self, responses: &[IntermediateResponse]) {
        match self {
            Trajectory::Unknown => {}
            Trajectory::Listed { texts, .. } => {
                *texts = responses
                    .iter()
                    .map(|one| (one.author.clone(), one.parts.clone()))
                    .collect();
            }
            Trajectory::Events(events) | Trajectory::Partial(events) => {
                set_texts(events, responses)
            }
        }
    }
}

fn is_response(part: &Part) -> bool {
    part.has_text() && !part.thought
}

fn set_texts(events: &mut Vec<InvocationEvent>, responses: &[IntermediateResponse]) {
    let mut next = responses.iter();
    for event in events.iter_mut() {
        let Some(content) = event
            .content
            .as_mut()
            .filter(|content| content.parts.iter().any(is_response))
        else {
            continue;
        };
        content.parts.retain(|part| !is_response(part));
        if let Some(response) = next.next() {
            if content.parts.is_empty() {
                event.author.clone_from(&response.author);
            }
            content.parts.splice(0..0, response.parts.clone());
        }
    }
    events.retain(|event| {
        event
            .content
            .as_ref()
            .is_none_or(|content| !content.parts.is_empty())
    });
    events.extend(next.map(|response| InvocationEvent {
        author: response.author.clone(),
        content: Some(Content {
            role: Some("model".into()),
            parts: response.parts.clone(),
        }),
        ..InvocationEvent::default()
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ToolCall;

    fn response(author: &str, text: &str) -> IntermediateResponse {
        IntermediateResponse {
            author: author.into(),
            parts: vec![Part::text(text)],
        }
    }

    fn event(author: &str, parts: Vec<Part>) -> InvocationEvent {
        let content = Some(Content {
            parts,
            ..Content::default()
        });
        InvocationEvent {
            author: author.into(),
            content,
            ..InvocationEvent::default()
        }
    }

    #[test]
    fn set_intermediate_replaces_texts_not_calls() {
        let call = || Part {
            call: Some(ToolCall::new("get", None)),
            ..Part::default()
        };
        let thought = || Part {
            thought: true,
            ..Part::text("hm")
        };
        let events = vec![
            event("a", vec![Part::text("one"), call()]),
            event("b", vec![thought(), Part::text("two")]),
            event("c", vec![Part::text("three")]),
        ];
        let turn = |trajectory: &Trajectory| Invocation {
            trajectory: trajectory.clone(),
            ..Invocation::default()
        };
        let mut trajectory = Trajectory::Events(events);
        let found = turn(&trajectory).intermediate_responses();
        assert_eq!(
            found,
            [
                response("a", "one"),
                response("b", "two"),
                response("c", "three")
            ]
        );
        trajectory.set_intermediate(&[response("a", "1"), response("b", "2")]);
        assert_eq!(
            turn(&trajectory).intermediate_responses(),
            [response("a", "1"), response("b", "2")]
        );
        assert_eq!(
            (trajectory.calls().len(), trajectory.events().unwrap().len()),
            (1, 2)
        );
        let more = [response("a", "1"), response("b", "2"), response("d", "4")];
        trajectory.set_intermediate(&more);
        assert_eq!(turn(&trajectory).intermediate_responses(), more);
        let mut unknown = Trajectory::Unknown;
        unknown.set_intermediate(&more);
        assert_eq!(unknown, Trajectory::Unknown);
    }
}
