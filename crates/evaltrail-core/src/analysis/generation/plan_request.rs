//! What is planned for, and which tools count.

use super::planned::{PlannedGap, UserPersona};
use crate::analysis::coverage::{Coverage, Declarations, Parameter, ToolCoverage, WaivedTools};
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What is planned for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanFocus {
    /// All gaps.
    Gaps,
    /// The gaps of this tool.
    Tool(String),
}

/// What to plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanRequest<'a> {
    /// What the existing cases cover, collected with the same declarations.
    pub coverage: &'a Coverage,
    /// The tools and agents.
    pub declared: &'a Declarations,
    /// Tools for which nothing is planned.
    pub waived: &'a WaivedTools,
    /// Which gaps.
    pub focus: &'a PlanFocus,
    /// The largest number of cases.
    pub count: usize,
    /// Chooses the personas, and among tools that are equally good.
    pub seed: u64,
    /// Gaps that are not planned again, as [`PlannedGap::describe`] describes them.
    pub known: &'a BTreeSet<String>,
}

impl PlanRequest<'_> {
    /// A number that depends on a text and the seed only.
    fn mixed(&self, text: &str) -> u64 {
        xxh3_64_with_seed(text.as_bytes(), self.seed)
    }

    pub(super) fn persona(&self, gap: &PlannedGap) -> UserPersona {
        let all = UserPersona::ALL;
        all[(self.mixed(&gap.describe()) % all.len() as u64) as usize]
    }

    /// Whether cases for a tool can be planned: the agent declares it, and it is not waived.
    pub(super) fn can_plan(&self, tool: &str) -> bool {
        let covered = self.coverage.tools.get(tool);
        covered.is_some_and(|covered| covered.declared == Some(true))
            && self.declared.tools.contains_key(tool)
            && self.waived.reason(tool).is_none()
    }

    /// Whether the focus includes a tool.
    pub(super) fn includes(&self, tool: &str) -> bool {
        match self.focus {
            PlanFocus::Gaps => true,
            PlanFocus::Tool(name) => name == tool,
        }
    }

    /// The tools for which cases are planned, in an order that depends on the seed.
    pub(super) fn tools(&self) -> Vec<(&str, &ToolCoverage)> {
        let declared = self.coverage.declared_tools();
        let mut tools: Vec<(&str, &ToolCoverage)> = declared
            .filter(|(name, _)| self.can_plan(name) && self.includes(name))
            .map(|(name, tool)| (name.as_str(), tool))
            .collect();
        tools.sort_by_key(|(name, _)| (self.mixed(name), *name));
        tools
    }

    /// The tools for which cases are planned, with their parameters outside of objects.
    pub(super) fn parameters(&self) -> Vec<(&str, Vec<&Parameter>)> {
        let parameters = |tool: &str| -> Vec<&Parameter> {
            let schema = self.declared.tools.get(tool).and_then(Option::as_ref);
            let all = schema.iter().flat_map(|schema| &schema.parameters);
            all.filter(|parameter| !parameter.name.contains('.'))
                .collect()
        };
        let tools = self.tools().into_iter();
        tools.map(|(tool, _)| (tool, parameters(tool))).collect()
    }
}
