//! The forms of files of cases.

/// The form of a file of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
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

impl FileFormat {
    /// Whether it is one of ADK's forms, so that ADK's defaults apply.
    pub fn is_adk(self) -> bool {
        matches!(
            self,
            FileFormat::EvalSet | FileFormat::NamedList | FileFormat::TurnList
        )
    }

    /// The name of the form in messages.
    pub fn label(self) -> &'static str {
        match self {
            FileFormat::EvalSet => "eval set",
            FileFormat::NamedList => "older list of conversations",
            FileFormat::TurnList => "older list of turns",
            FileFormat::Dataset => "evaluation dataset",
            FileFormat::EvaluationResult => "evaluation result",
            FileFormat::Lines => "JSON Lines",
            FileFormat::Table => "table",
            FileFormat::Frame => "JSON data set",
            FileFormat::Messages => "list of messages",
            FileFormat::Recorded => "recorded run",
        }
    }
}
