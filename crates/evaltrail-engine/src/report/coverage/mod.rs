//! Reports of the coverage of one or several agents.

mod html;
mod json;
mod markdown;
mod text;

pub use html::coverage_html;
pub use json::coverage_json;
pub use markdown::coverage_markdown;
pub use text::coverage_text;

use evaltrail_core::analysis::{CoverageShare, CoveredAgent, PairCoverage, WaivedTools};
use evaltrail_core::domain::counted;

/// The coverage of an agent.
pub struct AgentReport {
    /// The agent.
    pub agent: CoveredAgent,
    /// Tools that are left out of every share.
    pub waived: WaivedTools,
}

impl AgentReport {
    fn title(&self) -> &str {
        self.agent
            .name
            .as_deref()
            .unwrap_or("cases without an agent")
    }

    /// "5 of 6", or only the number if the whole is not known.
    fn share_text(&self, share: CoverageShare, covered: usize) -> String {
        match self.agent.coverage.share(share, &self.waived) {
            Some((covered, of)) => format!("{covered} of {of}"),
            None => covered.to_string(),
        }
    }

    /// Where the declarations are from, as a sentence.
    fn source_text(&self) -> String {
        match &self.agent.coverage.source {
            Some(source) => format!("declared tools: from {source}"),
            None => "declared tools: not known, so nothing is a share of all tools".into(),
        }
    }

    /// The feasible pairs that no case expects, with the number of cases in which data flows.
    fn missing_pairs(&self) -> Vec<(&(String, String), &PairCoverage)> {
        let pairs = self.agent.coverage.counted_pairs(&self.waived);
        pairs
            .filter(|(_, pair)| pair.cases.expected.is_empty())
            .collect()
    }

    /// What is not complete, as messages.
    fn limits(&self) -> Vec<String> {
        let coverage = &self.agent.coverage;
        let mut limits = Vec::new();
        if !coverage.partial.is_empty() {
            let cases = counted(coverage.partial.count(), "case");
            limits.push(format!(
                "the agent does not report all its calls in {cases}"
            ));
        }
        for argument in &coverage.capped {
            limits.push(format!(
                "{argument}: too many different values or combinations; not all are counted"
            ));
        }
        limits
    }

    /// The names of some cases, at most `most`.
    fn case_names(&self, cases: &[usize], most: usize) -> String {
        let names: Vec<&str> = cases
            .iter()
            .take(most)
            .map(|case| self.agent.coverage.cases[*case].as_str())
            .collect();
        match cases.len().saturating_sub(most) {
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
        }
    }
}
