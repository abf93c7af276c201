//! The table of metrics: what each is called, needs, says and means. `evaltrail metrics`, the explorer's
//! screen of metrics and the registry all read it.

mod adk;
mod judge_model;
mod own;
mod templates;
mod vertex;

use super::judged::{Judge, JudgeOptions, Served};
use super::measure::Measure;
use super::unusable::Unusable;
use crate::domain::{Criterion, Reading};

/// What a metric is and needs.
#[derive(Clone, Copy, Debug)]
pub struct MetricInfo {
    /// The name, as its family defines it.
    pub name: &'static str,
    /// Whose definition it is.
    pub family: Family,
    /// What it says, in a sentence.
    pub summary: &'static str,
    /// How it is computed.
    pub definition: &'static str,
    /// What we chose where the definition is silent, with an example; empty where it is not.
    pub choices: &'static str,
    /// What must be there.
    pub needs: &'static [Need],
    /// Lowest and highest score, where there are bounds.
    pub range: Option<(f64, f64)>,
    /// Which scores are better.
    pub direction: Direction,
    /// Its options beside the threshold.
    pub options: &'static [OptionInfo],
    /// Where the definition is from.
    pub source: &'static str,
    /// Whether it decides nothing and takes no threshold. ADK adds these to every run.
    pub informational: bool,
    /// How it is made from a criterion.
    pub(in crate::metrics) build: Build,
}

impl MetricInfo {
    /// All that is known of it, each with its heading, for people.
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
        if !self.choices.is_empty() {
            facts.push(("in detail", self.choices.to_string()));
        }
        facts.push(("range", format!("{range}, {better}")));
        if !needs.is_empty() {
            facts.push(("needs", needs.join(", ")));
        }
        for option in self.options {
            let words =
                format!("{}: {} (default {}); {}", option.name, option.takes, option.default, option.help);
            facts.push(("option", words));
        }
        facts.push(("source", self.source.to_string()));
        facts
    }
}

/// Whose definition a metric is.
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
    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            Family::Adk => "ADK",
            Family::Vertex => "Vertex AI",
            Family::Own => "evaltrail",
        }
    }
}

/// What a metric needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The calls that are expected.
    ReferenceTrajectory,
    /// The response that is expected.
    ReferenceResponse,
    /// The calls that were made.
    Trajectory,
    /// What was said.
    Response,
    /// Recorded events.
    Events,
    /// The session's state afterwards.
    State,
    /// Rubrics.
    Rubrics,
    /// A conversation that a simulated user had.
    Scenario,
    /// A judge model.
    Judge,
    /// Google's service.
    Cloud,
}

impl Need {
    /// The words for people.
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
    /// Its name; camelCase works too.
    pub name: &'static str,
    /// What it takes.
    pub takes: &'static str,
    /// What it is when it is not given.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// How a metric is made from a criterion, whose options it reads.
#[derive(Clone, Copy, Debug)]
pub(in crate::metrics) enum Build {
    /// It is computed from the evidence alone.
    Computed(fn(&Criterion) -> Computed),
    /// The configured judge decides.
    Judged(fn(&Criterion, &JudgeOptions, Reading) -> Judged),
    /// Vertex AI's evaluation service decides.
    Served(Served),
}

type Computed = Result<Box<dyn Measure>, Unusable>;
type Judged = Result<Box<dyn Judge>, Unusable>;

fn computed<M: Measure + 'static>(metric: Result<M, Unusable>) -> Computed {
    Ok(Box::new(metric?))
}

fn judged<J: Judge + 'static>(metric: Result<J, Unusable>) -> Judged {
    Ok(Box::new(metric?))
}

/// Every metric there is: ADK's in its order, Vertex's, ours.
pub fn catalog() -> impl Iterator<Item = &'static MetricInfo> {
    adk::METRICS.iter().chain(vertex::METRICS).chain(own::METRICS).chain(templates::METRICS)
}

const UNIT: Option<(f64, f64)> = Some((0.0, 1.0));
const BOTH_TRAJECTORIES: &[Need] = &[Need::ReferenceTrajectory, Need::Trajectory];
const BOTH_RESPONSES: &[Need] = &[Need::ReferenceResponse, Need::Response];

const BASE: MetricInfo = MetricInfo {
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
    // Every entry has its own.
    build: Build::Computed(|criterion| {
        Err(Unusable::Unknown { name: criterion.name().to_string(), nearest: None })
    }),
};

const fn option(
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    help: &'static str,
) -> OptionInfo {
    OptionInfo { name, takes, default, help }
}

const NAMES: OptionInfo = option("ignore_args", "true or false", "false", "names alone count");
