//! What an agent did with a draft of a case, compared with what the draft expects.

/// The result of running an agent with a draft several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DraftVerdict {
    /// All attempts made the expected calls.
    Verified,
    /// All attempts made the same calls, which are not the expected ones.
    Disputed,
    /// The attempts made different calls.
    Unsteady,
    /// The agent asked a question where calls were expected.
    Underspecified,
    /// Every attempt failed, or had an error of a tool.
    Unanswerable,
}

impl DraftVerdict {
    /// All verdicts.
    pub const ALL: [DraftVerdict; 5] = [
        DraftVerdict::Verified,
        DraftVerdict::Disputed,
        DraftVerdict::Unsteady,
        DraftVerdict::Underspecified,
        DraftVerdict::Unanswerable,
    ];

    /// The name in files and on screens.
    pub fn name(self) -> &'static str {
        match self {
            DraftVerdict::Verified => "verified",
            DraftVerdict::Disputed => "disputed",
            DraftVerdict::Unsteady => "unsteady",
            DraftVerdict::Underspecified => "underspecified",
            DraftVerdict::Unanswerable => "unanswerable",
        }
    }

    /// The verdict with a name.
    pub fn from_name(name: &str) -> Option<DraftVerdict> {
        DraftVerdict::ALL
            .into_iter()
            .find(|verdict| verdict.name() == name)
    }

    /// What it means, in a sentence.
    pub fn describe(self) -> &'static str {
        match self {
            DraftVerdict::Verified => "the agent made the expected calls each time",
            DraftVerdict::Disputed => "the agent made the same other calls each time",
            DraftVerdict::Unsteady => "the agent made different calls",
            DraftVerdict::Underspecified => {
                "the agent asked for something that the user did not say"
            }
            DraftVerdict::Unanswerable => "the agent or a tool failed each time",
        }
    }
}

/// How an agent did with a draft.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftCheck {
    /// The result.
    pub verdict: DraftVerdict,
    /// The number of attempts that it is from.
    pub attempts: usize,
    /// The name of the agent.
    pub agent: String,
    /// The error of an attempt, if one failed.
    pub error: Option<String>,
}
