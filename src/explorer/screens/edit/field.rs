//! The fields of a case as rows, from the top of the file to its end.

use crate::domain::{EvalCase, Invocation, Trajectory, value_text};
use serde_json::Value;

/// A field of a case. Turns, calls and rubrics are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// The case's id.
    EvalId,
    /// A turn as a whole.
    Turn(usize),
    /// What the user says.
    User(usize),
    /// The heading of a turn's calls.
    Calls(usize),
    /// A call's tool.
    Call(usize, usize),
    /// An argument of a call, by name.
    Argument(usize, usize, String),
    /// What an agent says on the way.
    Said(usize, usize),
    /// The response.
    Response(usize),
    /// A rubric: of a turn, or of the case.
    Rubric(Option<usize>, usize),
    /// A rubric's words.
    RubricText(Option<usize>, usize),
    /// Which metric reads a rubric.
    RubricKind(Option<usize>, usize),
    /// The heading of the case's rubrics.
    Rubrics,
    /// The scenario of a simulated user.
    Scenario,
    /// The session's application.
    App,
    /// The session's user.
    UserId,
    /// The session's state at the beginning.
    State,
    /// The session's state that is expected at the end.
    FinalState,
}

/// A row of the editor.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldRow {
    /// The field.
    pub field: Field,
    /// How far in it stands.
    pub depth: usize,
    /// What it is.
    pub label: String,
    /// What it holds; nothing for a heading or a field that is not set.
    pub value: Option<String>,
}

/// What can be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adding {
    /// A turn, by what the user says.
    Turn,
    /// A call, by its tool.
    Call,
    /// An argument, as `name = value`.
    Argument,
    /// What an agent says on the way, as `author: words`.
    Said,
    /// A rubric, by its id.
    Rubric,
}

impl Adding {
    /// What is asked for.
    pub fn prompt(self) -> &'static str {
        match self {
            Adding::Turn => "new turn: what the user says",
            Adding::Call => "new call: the tool",
            Adding::Argument => "new argument: name = value",
            Adding::Said => "new words on the way: author: words",
            Adding::Rubric => "new rubric: its id",
        }
    }
}

/// What is added behind a field.
pub fn adding_after(field: &Field) -> Option<Adding> {
    Some(match field {
        Field::Turn(_) => Adding::Turn,
        Field::User(_) | Field::Calls(_) | Field::Response(_) => Adding::Call,
        Field::Call(..) | Field::Argument(..) => Adding::Argument,
        Field::Said(..) => Adding::Said,
        Field::Rubric(..) | Field::RubricText(..) | Field::RubricKind(..) | Field::Rubrics => Adding::Rubric,
        _ => return None,
    })
}

/// The rows of a case.
pub fn fields(case: &EvalCase) -> Vec<FieldRow> {
    let mut rows = Rows(Vec::new());
    rows.put(Field::EvalId, 0, "case", Some(case.eval_id.clone()));
    match &case.conversation {
        crate::domain::Conversation::Turns(turns) => {
            turns.iter().enumerate().for_each(|(at, turn)| rows.turn(at, turn));
        }
        crate::domain::Conversation::Scenario(scenario) => {
            rows.put(Field::Scenario, 0, "scenario", Some(value_text(scenario)));
        }
    }
    rows.put(Field::Rubrics, 0, "rubrics", None);
    case.rubrics.iter().enumerate().for_each(|(at, rubric)| rows.rubric(None, at, rubric));
    let input = case.session_input.as_ref();
    rows.put(Field::App, 0, "session  app", input.map(|input| input.app_name.clone()));
    rows.put(Field::UserId, 0, "session  user", input.map(|input| input.user_id.clone()));
    let state = input.filter(|input| !input.state.is_empty());
    rows.put(
        Field::State,
        0,
        "session  state",
        state.map(|input| value_text(&Value::Object(input.state.clone()))),
    );
    rows.put(Field::FinalState, 0, "state afterwards", case.final_session_state.as_ref().map(value_text));
    rows.0
}

struct Rows(Vec<FieldRow>);

impl Rows {
    fn put(&mut self, field: Field, depth: usize, label: &str, value: Option<String>) {
        self.0.push(FieldRow { field, depth, label: label.to_string(), value });
    }

    fn turn(&mut self, at: usize, turn: &Invocation) {
        self.put(Field::Turn(at), 0, &format!("turn {}", at + 1), None);
        self.put(Field::User(at), 1, "user", Some(turn.user.scored_text()));
        let calls = turn.calls();
        let note = match (&turn.trajectory, calls.len()) {
            (Trajectory::Unknown, _) => Some("not said".to_string()),
            (_, 0) => Some("none".to_string()),
            _ => None,
        };
        self.put(Field::Calls(at), 1, "calls", note);
        for (number, call) in calls.iter().enumerate() {
            self.put(Field::Call(at, number), 2, &format!("{}", number + 1), Some(call.name.clone()));
            for (key, value) in call.args.iter().flatten() {
                self.put(Field::Argument(at, number, key.clone()), 3, key, Some(value_text(value)));
            }
        }
        if let Trajectory::Listed { texts, .. } = &turn.trajectory {
            for (number, (author, parts)) in texts.iter().enumerate() {
                let text: Vec<&str> = parts.iter().filter_map(|part| part.text.as_deref()).collect();
                let value = format!("{author}: {}", text.join("\n"));
                self.put(Field::Said(at, number), 1, "on the way", Some(value));
            }
        }
        let response = turn.final_response.as_ref().map(|content| content.scored_text());
        self.put(Field::Response(at), 1, "response", response);
        turn.rubrics.iter().enumerate().for_each(|(number, rubric)| self.rubric(Some(at), number, rubric));
    }

    fn rubric(&mut self, turn: Option<usize>, at: usize, rubric: &crate::domain::Rubric) {
        self.put(Field::Rubric(turn, at), 1, "rubric", Some(rubric.id.clone()));
        self.put(Field::RubricText(turn, at), 2, "says", rubric.text.clone());
        self.put(Field::RubricKind(turn, at), 2, "type", rubric.kind.clone());
    }
}

/// What stands in the line when a field begins to be typed.
pub fn value_of(case: &EvalCase, field: &Field) -> String {
    let row = fields(case).into_iter().find(|row| row.field == *field);
    row.and_then(|row| row.value).unwrap_or_default()
}
