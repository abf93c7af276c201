//! The fields of a case as rows of the editor.

use evaltrail_core::domain::{EvalCase, Invocation, Trajectory, value_text};
use serde_json::Value;

/// A field of a case. Turns, calls, intermediate responses and rubrics are numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseField {
    /// The case's id.
    EvalId,
    /// A turn as a whole.
    Turn(usize),
    /// The user message of a turn.
    User(usize),
    /// The heading of the calls of a turn.
    Calls(usize),
    /// The tool of a call: turn and call.
    Call(usize, usize),
    /// An argument of a call: turn, call and name.
    Argument(usize, usize, String),
    /// An intermediate response of an agent: turn and number.
    Said(usize, usize),
    /// The final response of a turn.
    Response(usize),
    /// The id of a rubric: turn (`None` for a rubric of the case) and number.
    Rubric(Option<usize>, usize),
    /// The text of a rubric.
    RubricText(Option<usize>, usize),
    /// The type of a rubric, which determines the metrics that use it.
    RubricKind(Option<usize>, usize),
    /// The heading of the case's rubrics.
    Rubrics,
    /// The scenario of a simulated user.
    Scenario,
    /// The application name of the session.
    App,
    /// The user id of the session.
    UserId,
    /// The initial state of the session.
    State,
    /// The expected final state of the session.
    FinalState,
}

impl CaseField {
    /// The turn that it belongs to, from 0.
    pub fn turn(&self) -> Option<usize> {
        match self {
            CaseField::Turn(turn)
            | CaseField::User(turn)
            | CaseField::Calls(turn)
            | CaseField::Call(turn, _)
            | CaseField::Argument(turn, ..)
            | CaseField::Said(turn, _)
            | CaseField::Response(turn) => Some(*turn),
            CaseField::Rubric(turn, _)
            | CaseField::RubricText(turn, _)
            | CaseField::RubricKind(turn, _) => *turn,
            _ => None,
        }
    }
}

/// A row of the editor.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldRow {
    /// The field.
    pub field: CaseField,
    /// Level of indentation.
    pub depth: usize,
    /// Label of the row.
    pub label: String,
    /// The value. `None` for a heading or a field that is not set.
    pub value: Option<String>,
}

/// The kinds of things that can be added. Each is added by typing a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adding {
    /// A turn, by its user message.
    Turn,
    /// A call, by the name of its tool.
    Call,
    /// An argument, as `name = value`.
    Argument,
    /// An intermediate response, as `author: text`.
    Said,
    /// A rubric, by its id.
    Rubric,
}

impl Adding {
    /// The prompt of the text field.
    pub fn prompt(self) -> &'static str {
        match self {
            Adding::Turn => "new turn: what the user says",
            Adding::Call => "new call: the tool",
            Adding::Argument => "new argument: name = value",
            Adding::Said => "new intermediate response: author: text",
            Adding::Rubric => "new rubric: its id",
        }
    }
}

/// What can be added after a field.
pub fn adding_after(field: &CaseField) -> Option<Adding> {
    Some(match field {
        CaseField::Turn(_) => Adding::Turn,
        CaseField::User(_) | CaseField::Calls(_) | CaseField::Response(_) => Adding::Call,
        CaseField::Call(..) | CaseField::Argument(..) => Adding::Argument,
        CaseField::Said(..) => Adding::Said,
        CaseField::Rubric(..)
        | CaseField::RubricText(..)
        | CaseField::RubricKind(..)
        | CaseField::Rubrics => Adding::Rubric,
        _ => return None,
    })
}

/// Builds the rows of a case.
pub fn fields(case: &EvalCase) -> Vec<FieldRow> {
    let mut rows = FieldRows(Vec::new());
    rows.put(CaseField::EvalId, 0, "case", Some(case.eval_id.clone()));
    match &case.conversation {
        evaltrail_core::domain::Conversation::Turns(turns) => {
            turns
                .iter()
                .enumerate()
                .for_each(|(at, turn)| rows.turn(at, turn));
        }
        evaltrail_core::domain::Conversation::Scenario(scenario) => {
            rows.put(
                CaseField::Scenario,
                0,
                "scenario",
                Some(value_text(scenario)),
            );
        }
    }
    rows.put(CaseField::Rubrics, 0, "rubrics", None);
    case.rubrics
        .iter()
        .enumerate()
        .for_each(|(at, rubric)| rows.rubric(None, at, rubric));
    let input = case.session_input.as_ref();
    rows.put(
        CaseField::App,
        0,
        "session  app",
        input.map(|input| input.app_name.clone()),
    );
    rows.put(
        CaseField::UserId,
        0,
        "session  user",
        input.map(|input| input.user_id.clone()),
    );
    let state = input.filter(|input| !input.state.is_empty());
    rows.put(
        CaseField::State,
        0,
        "session  state",
        state.map(|input| value_text(&Value::Object(input.state.clone()))),
    );
    rows.put(
        CaseField::FinalState,
        0,
        "final state",
        case.final_session_state.as_ref().map(value_text),
    );
    rows.0
}

struct FieldRows(Vec<FieldRow>);

impl FieldRows {
    fn put(&mut self, field: CaseField, depth: usize, label: &str, value: Option<String>) {
        self.0.push(FieldRow {
            field,
            depth,
            label: label.to_string(),
            value,
        });
    }

    fn turn(&mut self, at: usize, turn: &Invocation) {
        self.put(CaseField::Turn(at), 0, &format!("turn {}", at + 1), None);
        self.put(
            CaseField::User(at),
            1,
            "user",
            Some(turn.user.scored_text()),
        );
        let calls = turn.calls();
        let note = match (&turn.trajectory, calls.len()) {
            (Trajectory::Unknown, _) => Some("not said".to_string()),
            (_, 0) => Some("none".to_string()),
            _ => None,
        };
        self.put(CaseField::Calls(at), 1, "calls", note);
        for (number, call) in calls.iter().enumerate() {
            self.put(
                CaseField::Call(at, number),
                2,
                &format!("{}", number + 1),
                Some(call.name.clone()),
            );
            for (key, value) in call.args.iter().flatten() {
                self.put(
                    CaseField::Argument(at, number, key.clone()),
                    3,
                    key,
                    Some(value_text(value)),
                );
            }
        }
        if let Trajectory::Listed { texts, .. } = &turn.trajectory {
            for (number, (author, parts)) in texts.iter().enumerate() {
                let text: Vec<&str> = parts
                    .iter()
                    .filter_map(|part| part.text.as_deref())
                    .collect();
                let value = format!("{author}: {}", text.join("\n"));
                self.put(CaseField::Said(at, number), 1, "on the way", Some(value));
            }
        }
        let response = turn
            .final_response
            .as_ref()
            .map(|content| content.scored_text());
        self.put(CaseField::Response(at), 1, "response", response);
        turn.rubrics
            .iter()
            .enumerate()
            .for_each(|(number, rubric)| self.rubric(Some(at), number, rubric));
    }

    fn rubric(&mut self, turn: Option<usize>, at: usize, rubric: &evaltrail_core::domain::Rubric) {
        self.put(
            CaseField::Rubric(turn, at),
            1,
            "rubric",
            Some(rubric.id.clone()),
        );
        self.put(
            CaseField::RubricText(turn, at),
            2,
            "says",
            rubric.text.clone(),
        );
        self.put(
            CaseField::RubricKind(turn, at),
            2,
            "type",
            rubric.kind.clone(),
        );
    }
}

/// The initial text when a field is edited.
pub fn value_of(case: &EvalCase, field: &CaseField) -> String {
    let row = fields(case).into_iter().find(|row| row.field == *field);
    row.and_then(|row| row.value).unwrap_or_default()
}
