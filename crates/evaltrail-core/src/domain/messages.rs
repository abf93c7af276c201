//! Which calls of a trajectory the model made in one message.

use super::{Content, Trajectory};

impl Trajectory {
    /// The number of calls in each message of the model that has calls, in order; `None` if the events do not tell which
    /// calls were made in one message.
    pub fn calls_per_message(&self) -> Option<Vec<usize>> {
        let count = self.calls().len();
        if count <= 1 {
            return Some(vec![count; count]);
        }
        let Trajectory::Events(events) = self else {
            return None;
        };
        let mut counts = Vec::new();
        // The author of calls after which no result has been recorded: further calls may be of the same message.
        let mut open: Option<&str> = None;
        for event in events {
            let count = event.content.iter().flat_map(Content::calls).count();
            if count > 0 {
                if !event.is_message || open == Some(event.author.as_str()) {
                    return None;
                }
                counts.push(count);
            }
            let has_results = event
                .content
                .iter()
                .flat_map(Content::responses)
                .next()
                .is_some();
            open = match (has_results, count) {
                (true, _) => None,
                (false, 0) => open,
                (false, _) => Some(&event.author),
            };
        }
        Some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{InvocationEvent, Part, ToolCall, ToolResponse};

    #[test]
    fn messages_are_unknown_without_marks() {
        let part = |call: bool| match call {
            true => Part {
                call: Some(ToolCall::new("a", None)),
                ..Part::default()
            },
            false => Part {
                response: Some(ToolResponse::default()),
                ..Part::default()
            },
        };
        let event = |parts: Vec<Part>| InvocationEvent {
            author: "x".into(),
            content: Some(Content { role: None, parts }),
            ..InvocationEvent::default()
        };
        let (call, result) = (|| part(true), || part(false));
        let mut events = vec![
            event(vec![call()]),
            event(vec![result()]),
            event(vec![call(), call()]),
            event(vec![result(), result()]),
        ];
        let counts =
            |events: &[InvocationEvent]| Trajectory::Events(events.to_vec()).calls_per_message();
        assert_eq!(
            counts(&events),
            None,
            "the events are not known to be messages"
        );
        events.iter_mut().for_each(|event| event.is_message = true);
        assert_eq!(counts(&events), Some(vec![1, 2]));
        assert_eq!(
            Trajectory::Partial(events.clone()).calls_per_message(),
            None
        );
        let mut unanswered = events.clone();
        unanswered.remove(1);
        assert_eq!(
            counts(&unanswered),
            None,
            "both events may be of one message"
        );
        unanswered[0].author = "y".into();
        assert_eq!(counts(&unanswered), Some(vec![1, 2]), "two agents");
        assert_eq!(
            (counts(&events[..2]), counts(&[])),
            (Some(vec![1]), Some(vec![]))
        );
        let calls = vec![ToolCall::new("a", None); 2];
        let listed = Trajectory::Listed {
            calls,
            responses: Vec::new(),
            texts: Vec::new(),
        };
        assert_eq!(listed.calls_per_message(), None);
    }
}
