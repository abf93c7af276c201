//! Why a criterion cannot be evaluated.

/// Why a criterion cannot be evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CriterionError {
    /// No metric has this name.
    #[error("no metric is called {name:?}{}", did_you_mean(.nearest))]
    Unknown {
        /// The name as given.
        name: String,
        /// A metric of nearly the same name.
        nearest: Option<&'static str>,
    },
    /// The metric needs a judge model.
    #[error("{0} needs a judge model, and none is configured")]
    NeedsJudge(&'static str),
    /// An efficiency metric has a threshold.
    #[error("{0} is informational and takes no threshold")]
    TakesNoThreshold(&'static str),
    /// The threshold is NaN or infinite.
    #[error("the threshold {0} is not a finite number")]
    Threshold(f64),
    /// A program of the user computes the metric.
    #[error("a program computes this metric; run or score the case to start it")]
    NeedsProgram,
    /// A config names a metric that cannot be computed here; the reason.
    #[error("{0}")]
    Unavailable(String),
    /// An option has a value that the metric does not accept.
    #[error("option {option}: expected {expected}, found {found}")]
    Option {
        /// The option.
        option: &'static str,
        /// The accepted values.
        expected: &'static str,
        /// The actual value.
        found: String,
    },
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest
        .map(|name| format!("; did you mean {name:?}?"))
        .unwrap_or_default()
}
