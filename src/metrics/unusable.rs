//! Why a criterion cannot be evaluated.

/// Why a criterion cannot be evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unusable {
    /// No metric has this name.
    #[error("no metric is called {name:?}{}", did_you_mean(.nearest))]
    Unknown {
        /// The name as given.
        name: String,
        /// A metric of nearly the same name.
        nearest: Option<&'static str>,
    },
    /// It takes a judge model.
    #[error("{0} asks a judge model, and no judge is configured")]
    NeedsJudge(&'static str),
    /// An efficiency metric was given a threshold.
    #[error("{0} is informational and takes no threshold")]
    TakesNoThreshold(&'static str),
    /// A program of the user computes the metric.
    #[error("a program computes this metric; run or score the case to ask it")]
    NeedsProgram,
    /// An option has a value that the metric does not take.
    #[error("option {option}: expected {expected}, found {found}")]
    Option {
        /// Which option.
        option: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What it was given.
        found: String,
    },
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}
