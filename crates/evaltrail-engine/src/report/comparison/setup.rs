//! What changed between two runs beside what the agent did: its files, its models, its instructions, its tools.

use evaltrail_core::analysis::{Declarations, RunSetup, declaration_changes};
use evaltrail_core::domain::{AgentSpec, RunState};

/// Maximum number of attempts that are read to find the declaration of a tool.
const MAX_READ: usize = 20;

/// What differs between the agents of two runs, as far as both report it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupDifference {
    /// Each difference, in words. Not cleaned for display.
    pub changed: Vec<String>,
    /// What one of the runs does not report, so that it is not known whether it changed.
    pub not_reported: Vec<&'static str>,
}

impl SetupDifference {
    /// The differences between two runs. A run of saved responses has no agent that could report something.
    pub fn new(before: &RunState, after: &RunState) -> SetupDifference {
        let changes = setup_of(before).changes_until(&setup_of(after));
        let mut changed: Vec<String> = files_text(before, after).into_iter().collect();
        let details = ToolDetails::new(before, after, &changes.changed_tools);
        let has_agent = |run: &RunState| {
            let mut sets = run.plan.sets.iter();
            sets.any(|set| !matches!(set.agent, AgentSpec::Saved | AgentSpec::PriorAttempts))
        };
        let not_reported = match has_agent(before) && has_agent(after) {
            true => changes.not_reported.clone(),
            false => Vec::new(),
        };
        changed.extend(
            changes
                .describe()
                .into_iter()
                .map(|words| details.add_to(words)),
        );
        SetupDifference {
            changed,
            not_reported,
        }
    }

    /// The differences in a line each, and what is not known.
    pub fn lines(&self) -> Vec<String> {
        let changed = self.changed.iter().map(|words| format!("changed: {words}"));
        let not_reported = match self.not_reported.is_empty() {
            true => None,
            false => Some(format!("not reported: {}", self.not_reported.join(", "))),
        };
        changed.chain(not_reported).collect()
    }
}

fn setup_of(run: &RunState) -> RunSetup {
    let mut setup = RunSetup::default();
    for attempt in run.finished.iter() {
        if let Some(reported) = &attempt.setup {
            setup.add(reported);
        }
    }
    setup
}

/// That the files of an agent are others, if they are known of both runs.
fn files_text(before: &RunState, after: &RunState) -> Option<String> {
    let differs = before.plan.sets.iter().any(|set| {
        let mut others = after
            .plan
            .sets
            .iter()
            .filter(|other| other.path == set.path);
        let files = |other: &evaltrail_core::domain::PlannedSet| {
            set.agent_files.clone().zip(other.agent_files.clone())
        };
        others.any(|other| files(other).is_some_and(|(a, b)| a != b))
    });
    let is_same_commit = before.plan.commit.is_some() && before.plan.commit == after.plan.commit;
    differs.then(|| match is_same_commit {
        true => "the agent's files, without a commit".into(),
        false => "the agent's files".into(),
    })
}

/// How the declarations of tools differ.
struct ToolDetails {
    texts: Vec<String>,
}

impl ToolDetails {
    fn new(before: &RunState, after: &RunState, tools: &[String]) -> ToolDetails {
        if tools.is_empty() {
            return ToolDetails { texts: Vec::new() };
        }
        let (before, after) = (declared(before, tools), declared(after, tools));
        let text = |tool: &String| {
            let changes = declaration_changes(&before, &after, tool);
            (!changes.is_empty()).then(|| format!("{tool}: {}", changes.join(", ")))
        };
        ToolDetails {
            texts: tools.iter().filter_map(text).collect(),
        }
    }

    /// Replaces the names of the tools with what is known of them.
    fn add_to(&self, words: String) -> String {
        match words.starts_with("the declaration of ") && !self.texts.is_empty() {
            true => format!("the declaration of {}", self.texts.join("; ")),
            false => words,
        }
    }
}

/// The declarations of these tools in the first attempts that report them.
fn declared(run: &RunState, tools: &[String]) -> Declarations {
    let mut found = Declarations::default();
    let reporting = run.finished.iter().filter(|attempt| {
        let reported = attempt.setup.as_ref().map(|setup| &setup.tools);
        let mut names = reported.into_iter().flatten().map(|(name, _)| &**name);
        names.any(|name| tools.iter().any(|tool| tool == name))
    });
    for attempt in reporting.take(MAX_READ) {
        if let Ok(attempt) = attempt.read() {
            for details in attempt
                .actual
                .iter()
                .filter_map(|turn| turn.app_details.as_ref())
            {
                found.add(details);
            }
        }
        if tools.iter().all(|tool| found.tools.contains_key(tool)) {
            break;
        }
    }
    found
}
