//! The forms of files of cases.

/// The form of a file of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// ADK's eval set.
    EvalSet,
    /// ADK's older list of named conversations.
    NamedList,
    /// ADK's older list of turns: one conversation.
    TurnList,
    /// The Vertex client's `EvaluationDataset`, also of agents-cli.
    Dataset,
    /// The Vertex client's evaluation result: scores without cases.
    EvaluationResult,
    /// JSON Lines, one row per line.
    Lines,
    /// CSV.
    Table,
    /// Rows or columns as JSON.
    Frame,
    /// One list of messages: one conversation.
    Messages,
    /// Not a file: the cases of a run as they were when it ran.
    Recorded,
}

impl Form {
    /// Whether it is one of ADK's forms, so that ADK's defaults apply.
    pub fn is_adk(self) -> bool {
        matches!(self, Form::EvalSet | Form::NamedList | Form::TurnList)
    }

    /// The name of the form in messages.
    pub fn label(self) -> &'static str {
        match self {
            Form::EvalSet => "eval set",
            Form::NamedList => "older list of conversations",
            Form::TurnList => "older list of turns",
            Form::Dataset => "evaluation dataset",
            Form::EvaluationResult => "evaluation result",
            Form::Lines => "JSON Lines",
            Form::Table => "table",
            Form::Frame => "JSON data set",
            Form::Messages => "list of messages",
            Form::Recorded => "recorded run",
        }
    }
}
