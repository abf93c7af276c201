//! Changing the calls of a trajectory, in each of its representations. A call and its response are changed together.

use super::{Content, InvocationEvent, Part, ToolCall, ToolResponse, Trajectory};
use std::collections::{HashMap, HashSet};

impl Trajectory {
    /// The calls in order.
    pub fn calls(&self) -> Vec<&ToolCall> {
        match self {
            Trajectory::Unknown => Vec::new(),
            Trajectory::Listed { calls, .. } => calls.iter().collect(),
            Trajectory::Events(events) | Trajectory::Partial(events) => {
                contents(events).flat_map(Content::calls).collect()
            }
        }
    }

    /// The agent of each call, if several agents called; else empty.
    pub fn call_authors(&self) -> Vec<&str> {
        let mut authors: Vec<&str> = Vec::new();
        for event in self.events().unwrap_or_default() {
            let calls = event.content.iter().flat_map(Content::calls).count();
            authors.extend(std::iter::repeat_n(event.author.as_str(), calls));
        }
        let are_several = authors.iter().any(|author| *author != authors[0]);
        if are_several { authors } else { Vec::new() }
    }

    /// The responses in order.
    pub fn responses(&self) -> Vec<&ToolResponse> {
        match self {
            Trajectory::Unknown => Vec::new(),
            Trajectory::Listed { responses, .. } => responses.iter().collect(),
            Trajectory::Events(events) | Trajectory::Partial(events) => {
                contents(events).flat_map(Content::responses).collect()
            }
        }
    }

    /// The response to a call: matched by id, or by order if calls and responses have no ids.
    pub fn response_to(&self, call: usize) -> Option<&ToolResponse> {
        self.response_at(call)
            .and_then(|at| self.responses().get(at).copied())
    }

    /// The calls in order, each with its response, as [`Trajectory::response_to`] finds it.
    pub fn calls_with_responses(&self) -> Vec<(&ToolCall, Option<&ToolResponse>)> {
        let (calls, responses) = (self.calls(), self.responses());
        let mut by_id: HashMap<&str, &ToolResponse> = HashMap::new();
        let mut unnamed: Vec<&ToolResponse> = Vec::new();
        for response in responses {
            match &response.id {
                Some(id) => {
                    by_id.insert(id, response);
                }
                None => unnamed.push(response),
            }
        }
        let without_id = calls.iter().filter(|call| call.id.is_none()).count();
        let is_in_order = without_id == unnamed.len();
        let mut in_order = unnamed.into_iter().filter(|_| is_in_order);
        let mut response = |call: &ToolCall| match &call.id {
            Some(id) => by_id.get(id.as_str()).copied(),
            None => in_order.next(),
        };
        calls
            .into_iter()
            .map(|call| (call, response(call)))
            .collect()
    }

    /// Removes all calls of a tool with their responses.
    pub fn remove_calls_of(&mut self, tool: &str) {
        let calls = self.calls_with_responses();
        let named: HashSet<String> = calls
            .iter()
            .filter(|(call, _)| call.name == tool)
            .filter_map(|(call, _)| call.id.clone())
            .collect();
        let unnamed: Vec<bool> = calls
            .iter()
            .filter(|(call, _)| call.id.is_none())
            .map(|(call, _)| call.name == tool)
            .collect();
        let mut unnamed = unnamed.into_iter();
        let mut is_removed_response = |response: &ToolResponse| match &response.id {
            Some(id) => named.contains(id),
            None => unnamed.next().unwrap_or(false),
        };
        match self {
            Trajectory::Unknown => {}
            Trajectory::Listed {
                calls, responses, ..
            } => {
                calls.retain(|call| call.name != tool);
                responses.retain(|response| !is_removed_response(response));
            }
            Trajectory::Events(events) | Trajectory::Partial(events) => {
                for content in events.iter_mut().filter_map(|event| event.content.as_mut()) {
                    content.parts.retain(|part| {
                        let is_call = part.call.as_ref().is_some_and(|call| call.name == tool);
                        let is_response =
                            part.response.as_ref().is_some_and(&mut is_removed_response);
                        !is_call && !is_response
                    });
                }
            }
        }
    }

    /// Changes a call in place.
    pub fn change_call(&mut self, at: usize, change: impl FnOnce(&mut ToolCall)) {
        match self {
            Trajectory::Unknown => {}
            Trajectory::Listed { calls, .. } => {
                calls.get_mut(at).map(change);
            }
            Trajectory::Events(events) | Trajectory::Partial(events) => {
                if let Some((event, part)) = call_position(events, at) {
                    part_mut(&mut events[event], part)
                        .and_then(|part| part.call.as_mut())
                        .map(change);
                }
            }
        }
    }

    /// Removes and returns a call with its response.
    pub fn remove_call(&mut self, at: usize) -> Option<(ToolCall, Option<ToolResponse>)> {
        let answered = self.response_at(at);
        let response = answered.and_then(|response| self.take_response(response));
        let call = match self {
            Trajectory::Unknown => None,
            Trajectory::Listed { calls, .. } => (at < calls.len()).then(|| calls.remove(at)),
            Trajectory::Events(events) | Trajectory::Partial(events) => call_position(events, at)
                .and_then(|(event, part)| take_part(events, event, part))
                .and_then(|part| part.call),
        };
        call.map(|call| (call, response))
    }

    /// Inserts a call with its response. An unknown trajectory becomes a list of calls. In a list without responses
    /// and ids, the call is inserted without a response and an id.
    pub fn insert_call(&mut self, at: usize, mut call: ToolCall, response: Option<ToolResponse>) {
        if *self == Trajectory::Unknown {
            *self = Trajectory::Listed {
                calls: Vec::new(),
                responses: Vec::new(),
                texts: Vec::new(),
            };
        }
        match self {
            Trajectory::Unknown => {}
            Trajectory::Listed {
                calls, responses, ..
            } => {
                let at = at.min(calls.len());
                let has_ids = calls.iter().any(|call| call.id.is_some()) || !responses.is_empty();
                if !has_ids {
                    call.id = None;
                }
                if let Some(response) = response.filter(|_| has_ids) {
                    responses.insert(at.min(responses.len()), response);
                }
                calls.insert(at, call);
            }
            Trajectory::Events(events) | Trajectory::Partial(events) => {
                insert_events(events, at, call, response)
            }
        }
    }

    /// Moves a call with its response to another position.
    pub fn move_call(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        let model_call = self.event_of_single_call(from);
        if let Some((call, response)) = self.remove_call(from) {
            self.insert_call(to, call, response);
            self.restore_model_call(to, model_call);
        }
    }

    /// The event that contains this call and nothing else: it is removed with the call.
    fn event_of_single_call(&self, at: usize) -> Option<InvocationEvent> {
        let (event, _) = call_position(self.events()?, at)?;
        let event = self.events()?.get(event)?;
        let is_alone = event
            .content
            .as_ref()
            .is_some_and(|content| content.parts.len() == 1);
        is_alone.then(|| event.clone())
    }

    /// Gives the event that contains this call and nothing else what a model's call reported in another event.
    fn restore_model_call(&mut self, at: usize, model_call: Option<InvocationEvent>) {
        let (Trajectory::Events(events) | Trajectory::Partial(events)) = self else {
            return;
        };
        let Some(((event, _), before)) = call_position(events, at).zip(model_call) else {
            return;
        };
        let event = &mut events[event];
        if event.usage.is_none()
            && event
                .content
                .as_ref()
                .is_some_and(|content| content.parts.len() == 1)
        {
            let content = event.content.take();
            *event = InvocationEvent { content, ..before };
        }
    }

    /// The position of a call's response in the list of responses.
    fn response_at(&self, call: usize) -> Option<usize> {
        let (calls, responses) = (self.calls(), self.responses());
        let asked = calls.get(call)?;
        if asked.id.is_some() {
            return responses
                .iter()
                .rposition(|response| response.id == asked.id);
        }
        let without_id =
            |ids: Vec<&Option<String>>| ids.into_iter().filter(|id| id.is_none()).count();
        let all = without_id(calls.iter().map(|call| &call.id).collect());
        if all != without_id(responses.iter().map(|response| &response.id).collect()) {
            return None;
        }
        let order = without_id(calls[..call].iter().map(|call| &call.id).collect());
        let mut unnamed = responses
            .iter()
            .enumerate()
            .filter(|(_, response)| response.id.is_none());
        unnamed.nth(order).map(|(at, _)| at)
    }

    fn take_response(&mut self, at: usize) -> Option<ToolResponse> {
        match self {
            Trajectory::Unknown => None,
            Trajectory::Listed { responses, .. } => {
                (at < responses.len()).then(|| responses.remove(at))
            }
            Trajectory::Events(events) | Trajectory::Partial(events) => {
                let (event, part) = nth_position(events, at, |part| part.response.is_some())?;
                take_part(events, event, part)?.response
            }
        }
    }
}

fn contents(events: &[InvocationEvent]) -> impl Iterator<Item = &Content> {
    events.iter().filter_map(|event| event.content.as_ref())
}

fn call_position(events: &[InvocationEvent], at: usize) -> Option<(usize, usize)> {
    nth_position(events, at, |part| part.call.is_some())
}

/// The positions (event, part) of the n-th part that satisfies `is`; n from 0.
fn nth_position(
    events: &[InvocationEvent],
    at: usize,
    is: impl Fn(&Part) -> bool,
) -> Option<(usize, usize)> {
    let parts = events.iter().enumerate().flat_map(|(event, found)| {
        let parts = found
            .content
            .iter()
            .flat_map(|content| content.parts.iter().enumerate());
        parts.map(move |(part, what)| (event, part, what))
    });
    parts
        .filter(|(_, _, part)| is(part))
        .nth(at)
        .map(|(event, part, _)| (event, part))
}

fn part_mut(event: &mut InvocationEvent, part: usize) -> Option<&mut Part> {
    event.content.as_mut()?.parts.get_mut(part)
}

/// Removes and returns a part. An event that is empty afterwards is removed too.
fn take_part(events: &mut Vec<InvocationEvent>, event: usize, part: usize) -> Option<Part> {
    let content = events[event].content.as_mut()?;
    let taken = content.parts.remove(part);
    if content.parts.is_empty() {
        match events[event].grounding {
            Some(_) => events[event].content = None,
            None => drop(events.remove(event)),
        }
    }
    Some(taken)
}

/// Inserts a call into recorded events: into the event of its neighbours if both are parallel calls in one event,
/// otherwise as a separate event after the response to the call before it.
fn insert_events(
    events: &mut Vec<InvocationEvent>,
    at: usize,
    mut call: ToolCall,
    mut response: Option<ToolResponse>,
) {
    fresh_id(events, &mut call, response.as_mut());
    let before = at
        .checked_sub(1)
        .and_then(|before| call_position(events, before));
    let after = call_position(events, at);
    let call = Part {
        call: Some(call),
        ..Part::default()
    };
    let response = response.map(|response| Part {
        response: Some(response),
        ..Part::default()
    });
    if let (Some((event, part)), Some((same, _))) = (before, after)
        && event == same
    {
        let answered = answers_of(events, event);
        if let Some(content) = &mut events[event].content {
            content.parts.insert(part + 1, call);
        }
        match (answered, response) {
            (Some((event, part)), Some(response)) => {
                if let Some(content) = &mut events[event].content {
                    content.parts.insert(part + 1, response);
                }
            }
            (None, Some(response)) => {
                events.insert(event + 1, event_of(&author(events, event), response))
            }
            (_, None) => {}
        }
        return;
    }
    let at = match (before, after) {
        (Some((event, _)), _) => answers_of(events, event).map_or(event, |(answer, _)| answer) + 1,
        (None, Some((event, _))) => event,
        (None, None) => 0,
    };
    let author = author(events, before.or(after).map_or(0, |(event, _)| event));
    let mut new = vec![event_of(&author, call)];
    new.extend(response.map(|response| event_of(&author, response)));
    events.splice(at..at, new);
}

/// Replaces an id that is already in use, which would pair the call with the response to another call.
fn fresh_id(events: &[InvocationEvent], call: &mut ToolCall, response: Option<&mut ToolResponse>) {
    let Some(id) = call.id.clone() else { return };
    let taken = |id: &str| {
        contents(events).any(|content| content.calls().any(|call| call.id.as_deref() == Some(id)))
    };
    if taken(&id) {
        let fresh = (2..).map(|n| format!("{id}-{n}")).find(|id| !taken(id));
        call.id = fresh.clone();
        if let Some(response) = response {
            response.id = fresh;
        }
    }
}

/// The positions (event, part) of the last response to one of an event's calls.
fn answers_of(events: &[InvocationEvent], event: usize) -> Option<(usize, usize)> {
    let calls: Vec<_> = events[event]
        .content
        .iter()
        .flat_map(Content::calls)
        .collect();
    let mut found = None;
    for (at, later) in events.iter().enumerate().skip(event + 1) {
        let parts = later
            .content
            .iter()
            .flat_map(|content| content.parts.iter().enumerate());
        for (part, what) in parts {
            let answers = |response: &ToolResponse| {
                calls.iter().any(|call| match &call.id {
                    Some(id) => response.id.as_ref() == Some(id),
                    None => response.id.is_none() && response.name == call.name,
                })
            };
            if what.response.as_ref().is_some_and(answers) {
                found = Some((at, part));
            }
        }
        if later
            .content
            .iter()
            .any(|content| content.calls().next().is_some())
        {
            break;
        }
    }
    found
}

fn author(events: &[InvocationEvent], at: usize) -> String {
    events
        .get(at)
        .map(|event| event.author.clone())
        .unwrap_or_else(|| "agent".into())
}

fn event_of(author: &str, part: Part) -> InvocationEvent {
    let role = if part.response.is_some() {
        "user"
    } else {
        "model"
    };
    let content = Content {
        role: Some(role.into()),
        parts: vec![part],
    };
    InvocationEvent {
        author: author.into(),
        content: Some(content),
        ..InvocationEvent::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> ToolCall {
        ToolCall {
            id: Some(format!("id-{name}")),
            ..ToolCall::new(name, None)
        }
    }

    fn response(name: &str) -> ToolResponse {
        ToolResponse {
            id: Some(format!("id-{name}")),
            name: name.into(),
            response: name.into(),
        }
    }

    fn part(name: &str, is_call: bool) -> Part {
        match is_call {
            true => Part {
                call: Some(call(name)),
                ..Part::default()
            },
            false => Part {
                response: Some(response(name)),
                ..Part::default()
            },
        }
    }

    /// A call of a, then parallel calls of b and c, each with its response.
    fn recorded() -> Trajectory {
        let mut both = event_of("x", part("b", true));
        both.content.as_mut().unwrap().parts.push(part("c", true));
        let mut answers = event_of("x", part("b", false));
        answers
            .content
            .as_mut()
            .unwrap()
            .parts
            .push(part("c", false));
        let end = InvocationEvent {
            author: "x".into(),
            ..InvocationEvent::default()
        };
        let (a, answer) = (
            event_of("x", part("a", true)),
            event_of("x", part("a", false)),
        );
        Trajectory::Events(vec![a, answer, both, answers, end])
    }

    fn listed() -> Trajectory {
        let names = ["a", "b", "c"];
        let calls = names.map(call).to_vec();
        Trajectory::Listed {
            calls,
            responses: names.map(response).to_vec(),
            texts: Vec::new(),
        }
    }

    fn names(trajectory: &Trajectory) -> (String, String) {
        let calls = trajectory
            .calls()
            .iter()
            .map(|call| call.name.as_str())
            .collect();
        (
            calls,
            trajectory
                .responses()
                .iter()
                .map(|response| response.name.as_str())
                .collect(),
        )
    }

    fn pair(calls: &str, responses: &str) -> (String, String) {
        (calls.into(), responses.into())
    }

    #[test]
    fn a_call_and_its_response_go_together() {
        for (mut shape, is_recorded) in [(recorded(), true), (listed(), false)] {
            shape.insert_call(2, call("n"), Some(response("n")));
            assert_eq!(names(&shape).0, "abnc", "{is_recorded}");
            assert_eq!(shape.response_to(2).unwrap().name, "n");
            shape.remove_call(1);
            assert_eq!(names(&shape).0, "anc");
            assert!(!names(&shape).1.contains('b'));
            shape.move_call(2, 0);
            assert_eq!(names(&shape).0, "can");
            assert_eq!(shape.response_to(0).unwrap().name, "c");
            shape.change_call(1, |call| call.name = "A".into());
            assert_eq!(names(&shape).0, "cAn");
            (0..3).for_each(|_| drop(shape.remove_call(0)));
            assert_eq!(names(&shape), pair("", ""));
        }
    }

    #[test]
    fn events_stay_as_an_agent_would_have_sent_them() {
        let mut shape = recorded();
        shape.insert_call(1, call("n"), Some(response("n")));
        let Trajectory::Events(events) = &shape else {
            panic!()
        };
        let kinds: Vec<String> = events
            .iter()
            .map(|event| {
                let parts = event.content.iter().flat_map(|content| &content.parts);
                parts
                    .map(|p| p.call.as_ref().map_or("r".into(), |call| call.name.clone()))
                    .collect()
            })
            .collect();
        assert_eq!(kinds, ["a", "r", "n", "r", "bc", "rr", ""]);
        shape.insert_call(0, call("a"), None);
        assert_eq!(
            shape.calls()[0].id.as_deref(),
            Some("id-a-2"),
            "an id is not given twice"
        );
    }

    #[test]
    fn a_list_keeps_its_habits() {
        let mut bare = Trajectory::Unknown;
        bare.insert_call(0, call("a"), Some(response("a")));
        bare.insert_call(9, call("b"), Some(response("b")));
        assert_eq!(names(&bare), pair("ab", ""));
        assert!(bare.calls().iter().all(|call| call.id.is_none()));
        let without_id = |name: &str| ToolCall {
            id: None,
            ..call(name)
        };
        let answer = |name: &str| ToolResponse {
            id: None,
            ..response(name)
        };
        let mut by_order = Trajectory::Listed {
            calls: vec![without_id("a"), without_id("b")],
            responses: vec![answer("a"), answer("b")],
            texts: Vec::new(),
        };
        assert_eq!(by_order.response_to(1).unwrap().name, "b");
        by_order.remove_call(0);
        assert_eq!(names(&by_order), pair("b", "b"));
    }
}
