//! Demands on the coverage, such as a minimum share, and the check whether they are met.

use super::{Coverage, PairCoverage, SchemaKnowledge, ToolCoverage};
use wildmatch::WildMatch;

/// Tools that are left out of every share, by a pattern with `*` and `?`, with the reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaivedTools(pub Vec<(String, String)>);

impl WaivedTools {
    /// Why a tool is left out; `None` if it is not.
    pub fn reason(&self, tool: &str) -> Option<&str> {
        let matching = |(pattern, _): &&(String, String)| WildMatch::new(pattern).matches(tool);
        self.0
            .iter()
            .find(matching)
            .map(|(_, reason)| reason.as_str())
    }
}

/// What can be demanded as a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoverageShare {
    /// Declared tools that a case expects.
    Tools,
    /// Declared tools that an attempt called.
    Called,
    /// Declared tools that an attempt called and passed.
    Passed,
    /// Classes of the arguments of declared tools that a case expects.
    Arguments,
    /// Feasible pairs of tools that a case expects.
    Pairs,
}

impl CoverageShare {
    /// All of them.
    pub const ALL: [CoverageShare; 5] = [
        CoverageShare::Tools,
        CoverageShare::Called,
        CoverageShare::Passed,
        CoverageShare::Arguments,
        CoverageShare::Pairs,
    ];

    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            CoverageShare::Tools => "tools",
            CoverageShare::Called => "called",
            CoverageShare::Passed => "passed",
            CoverageShare::Arguments => "arguments",
            CoverageShare::Pairs => "pairs",
        }
    }
}

/// What is demanded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoverageGates {
    /// Shares from 0 to 1 that must be reached.
    pub min: Vec<(CoverageShare, f64)>,
    /// Patterns of tools of which each must be expected by a case.
    pub require: Vec<String>,
    /// Tools that are left out of the shares.
    pub waived: WaivedTools,
}

/// A demand that is not met.
#[derive(Clone, Debug, PartialEq)]
pub enum GateFailure {
    /// A share is too small: what, how many are covered, of how many, and what is demanded.
    BelowMinimum(CoverageShare, usize, usize, f64),
    /// A share cannot be computed: what it would be a share of is not known, or there is nothing of which it could be one.
    UnknownTotal(CoverageShare),
    /// No tool has a name that matches the pattern.
    NoSuchTool(String),
    /// A required tool is expected by no case.
    NotExpected(String),
}

impl GateFailure {
    /// The failure as a message.
    pub fn text(&self) -> String {
        match self {
            GateFailure::BelowMinimum(share, covered, of, min) => {
                format!("{}: {covered} of {of}, less than {min}", share.name())
            }
            GateFailure::UnknownTotal(share) => {
                let why = match share {
                    CoverageShare::Pairs => "no case has results, or no pair is feasible",
                    CoverageShare::Arguments => {
                        "the parameters of the declared tools are not all known, or there are none"
                    }
                    _ => "the tools that the agent declares are not known, or all are waived",
                };
                format!("{}: nothing to take a share of: {why}", share.name())
            }
            GateFailure::NoSuchTool(pattern) => {
                format!("no tool has a name that matches {pattern}")
            }
            GateFailure::NotExpected(tool) => format!("{tool} is required, and no case expects it"),
        }
    }
}

impl Coverage {
    /// How many are covered, and of how many, without waived tools. `None` if the whole is not known, or empty.
    pub fn share(&self, share: CoverageShare, waived: &WaivedTools) -> Option<(usize, usize)> {
        let is_counted = |tool: &String| waived.reason(tool).is_none();
        let counted: Vec<&ToolCoverage> = self
            .declared_tools()
            .filter(|(name, _)| is_counted(name))
            .map(|(_, tool)| tool)
            .collect();
        let tools = |is_covered: fn(&ToolCoverage) -> bool| {
            let covered = counted.iter().filter(|tool| is_covered(tool)).count();
            (covered, counted.len())
        };
        let (covered, of) = match share {
            CoverageShare::Tools => tools(|tool| !tool.cases.expected.is_empty()),
            CoverageShare::Called => tools(|tool| !tool.cases.called.is_empty()),
            CoverageShare::Passed => tools(|tool| !tool.cases.passed.is_empty()),
            CoverageShare::Arguments => {
                let is_unknown = |tool: &&ToolCoverage| tool.schema == SchemaKnowledge::Unknown;
                if counted.iter().any(is_unknown) {
                    return None;
                }
                let classes = || self.classes().filter(|(tool, ..)| is_counted(tool));
                let covered = classes().filter(|(.., cases)| !cases.expected.is_empty());
                (covered.count(), classes().count())
            }
            CoverageShare::Pairs if self.cases_with_attempts.is_empty() => return None,
            CoverageShare::Pairs => {
                let pairs = || self.counted_pairs(waived);
                let covered = pairs().filter(|(_, pair)| !pair.cases.expected.is_empty());
                (covered.count(), pairs().count())
            }
        };
        (of > 0).then_some((covered, of))
    }

    /// Whether a tool has a name that matches a pattern.
    pub fn has_tool(&self, pattern: &str) -> bool {
        let matcher = WildMatch::new(pattern);
        self.tools.keys().any(|name| matcher.matches(name))
    }

    /// The feasible pairs without waived tools.
    pub fn counted_pairs(
        &self,
        waived: &WaivedTools,
    ) -> impl Iterator<Item = (&(String, String), &PairCoverage)> {
        self.feasible_pairs().filter(|((first, second), _)| {
            waived.reason(first).is_none() && waived.reason(second).is_none()
        })
    }

    /// The demands that are not met.
    pub fn failures(&self, gates: &CoverageGates) -> Vec<GateFailure> {
        let mut failures = Vec::new();
        for (share, min) in &gates.min {
            match self.share(*share, &gates.waived) {
                None => failures.push(GateFailure::UnknownTotal(*share)),
                Some((covered, of)) if (covered as f64 / of as f64) < *min => {
                    failures.push(GateFailure::BelowMinimum(*share, covered, of, *min));
                }
                Some(_) => {}
            }
        }
        for pattern in &gates.require {
            let matcher = WildMatch::new(pattern);
            let mut matching = self
                .tools
                .iter()
                .filter(|(name, _)| matcher.matches(name))
                .peekable();
            if matching.peek().is_none() {
                failures.push(GateFailure::NoSuchTool(pattern.clone()));
            }
            let unexpected = matching.filter(|(_, tool)| tool.cases.expected.is_empty());
            failures.extend(unexpected.map(|(name, _)| GateFailure::NotExpected(name.clone())));
        }
        failures
    }
}
