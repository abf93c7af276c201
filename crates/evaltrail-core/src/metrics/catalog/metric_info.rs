//! What is known of a metric.

use crate::domain::{Criterion, VerdictParsing};
use crate::metrics::catalog::uses;
use crate::metrics::judged::{Judge, VertexServiceMetric};
use crate::metrics::measure::Measure;
use crate::metrics::{CriterionError, JudgeOptions};

/// A metric: what it measures and what it needs.
#[derive(Clone, Copy, Debug)]
pub struct MetricInfo {
    /// The name, as its family defines it.
    pub name: &'static str,
    /// Who defines it.
    pub family: Family,
    /// What it measures, in a sentence.
    pub summary: &'static str,
    /// How it is computed.
    pub definition: &'static str,
    /// Decisions where the definition leaves something open, with an example; empty if there are none.
    pub choices: &'static str,
    /// What a case must have to be scored.
    pub needs: &'static [Need],
    /// Lowest and highest score, if there are bounds.
    pub range: Option<(f64, f64)>,
    /// Which scores are better.
    pub direction: Direction,
    /// Its options besides the threshold.
    pub options: &'static [OptionInfo],
    /// The source of the definition.
    pub source: &'static str,
    /// Whether it never decides a case and takes no threshold. ADK adds these metrics to every run.
    pub informational: bool,
    /// How it is built from a criterion.
    pub(in crate::metrics) build: Build,
}

impl MetricInfo {
    /// Its properties, each with a heading, for display.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let range = match (self.range, self.direction) {
            (Some((low, high)), _) => format!("{low} to {high}"),
            (None, _) => "from 0".to_string(),
        };
        let better = match self.direction {
            Direction::Higher => "higher is better",
            Direction::Lower => "lower is better",
        };
        let needs: Vec<&str> = self.needs.iter().map(|need| need.label()).collect();
        let mut facts = vec![("definition", self.definition.to_string())];
        facts.extend(uses::use_of_metric(self.name).map(|uses| ("use it", uses.to_string())));
        if !self.choices.is_empty() {
            facts.push(("in detail", self.choices.to_string()));
        }
        facts.push(("range", format!("{range}, {better}")));
        if !needs.is_empty() {
            facts.push(("needs", needs.join(", ")));
        }
        for option in self.options {
            let words = format!(
                "{}: {} (default {}); {}",
                option.name, option.takes, option.default, option.help
            );
            facts.push(("option", words));
        }
        facts.push(("source", self.source.to_string()));
        facts
    }
}

/// Who defines a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Google's ADK.
    Adk,
    /// Vertex AI's evaluation service.
    Vertex,
    /// evaltrail's own.
    Own,
}

impl Family {
    /// The name for display.
    pub fn label(self) -> &'static str {
        match self {
            Family::Adk => "ADK",
            Family::Vertex => "Vertex AI",
            Family::Own => "evaltrail",
        }
    }
}

/// What a case must have to be scored by a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The expected calls.
    ReferenceTrajectory,
    /// The expected response.
    ReferenceResponse,
    /// The calls that the agent made.
    Trajectory,
    /// The agent's response.
    Response,
    /// Recorded events.
    Events,
    /// The final session state.
    State,
    /// Rubrics.
    Rubrics,
    /// A conversation with a simulated user.
    Scenario,
    /// A judge model.
    Judge,
    /// Vertex AI's evaluation service.
    Cloud,
}

impl Need {
    /// The name for display.
    pub fn label(self) -> &'static str {
        match self {
            Need::ReferenceTrajectory => "reference trajectory",
            Need::ReferenceResponse => "reference response",
            Need::Trajectory => "trajectory",
            Need::Response => "response",
            Need::Events => "events",
            Need::State => "session state",
            Need::Rubrics => "rubrics",
            Need::Scenario => "scenario",
            Need::Judge => "judge model",
            Need::Cloud => "Vertex AI",
        }
    }
}

/// Which scores are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// At or above the threshold passes.
    Higher,
    /// At or below the threshold passes.
    Lower,
}

/// An option of a metric.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// The name; camelCase is accepted, too.
    pub name: &'static str,
    /// The accepted values.
    pub takes: &'static str,
    /// The value if the option is absent.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// How a metric is built from a criterion, whose options it reads.
#[derive(Clone, Copy, Debug)]
pub(in crate::metrics) enum Build {
    /// Computed from the evidence alone.
    Computed(fn(&Criterion) -> Computed),
    /// Decided by the configured judge.
    Judged(fn(&Criterion, &JudgeOptions, VerdictParsing) -> JudgedMetricInfo),
    /// Decided by Vertex AI's evaluation service.
    Served(VertexServiceMetric),
}

type Computed = Result<Box<dyn Measure>, CriterionError>;

type JudgedMetricInfo = Result<Box<dyn Judge>, CriterionError>;

pub(super) fn computed<M: Measure + 'static>(metric: Result<M, CriterionError>) -> Computed {
    Ok(Box::new(metric?))
}

pub(super) fn judged<J: Judge + 'static>(metric: Result<J, CriterionError>) -> JudgedMetricInfo {
    Ok(Box::new(metric?))
}

pub(super) const UNIT: Option<(f64, f64)> = Some((0.0, 1.0));

pub(super) const BOTH_TRAJECTORIES: &[Need] = &[Need::ReferenceTrajectory, Need::Trajectory];

pub(super) const BOTH_RESPONSES: &[Need] = &[Need::ReferenceResponse, Need::Response];

pub(super) const BASE: MetricInfo = MetricInfo {
    name: "",
    family: Family::Adk,
    summary: "",
    definition: "",
    choices: "",
    needs: &[],
    range: UNIT,
    direction: Direction::Higher,
    options: &[],
    source: "google-adk 2.13.0",
    informational: false,
    // Every entry sets its own.
    build: Build::Computed(|criterion| {
        Err(CriterionError::Unknown {
            name: criterion.name().to_string(),
            nearest: None,
        })
    }),
};

pub(super) const fn option(
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    help: &'static str,
) -> OptionInfo {
    OptionInfo {
        name,
        takes,
        default,
        help,
    }
}

pub(super) const IGNORE_ARGS: OptionInfo =
    option("ignore_args", "true or false", "false", "names alone count");
