//! What changed between two runs beside what the agent did: its files, its models, its instructions, its tools.

use evaltrail_core::analysis::{Declarations, RunSetup, SetupChanges, declaration_changes};
use evaltrail_core::domain::{AgentSpec, PlannedSet, RunState};

/// Maximum number of differences of a tool that are named.
const MAX_CHANGES: usize = 4;
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
        let changes = setup_of(before, after).changes_until(&setup_of(after, before));
        let mut changed: Vec<String> = files_text(before, after).into_iter().collect();
        let has_agent = |run: &RunState| {
            let mut sets = run.plan.sets.iter();
            sets.any(|set| !matches!(set.agent, AgentSpec::Saved | AgentSpec::PriorAttempts))
        };
        let not_reported = match has_agent(before) || has_agent(after) {
            true => changes.not_reported.clone(),
            false => Vec::new(),
        };
        let tools = tool_changes(before, after, &changes.changed_tools);
        let named = SetupChanges {
            changed_tools: tools,
            ..changes
        };
        changed.extend(named.describe());
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

/// What the agents of a run report in the sets that another run has, too.
fn setup_of(run: &RunState, other: &RunState) -> RunSetup {
    let is_in_other = |set: &PlannedSet| other.plan.sets.iter().any(|one| one.path == set.path);
    let compared: Vec<bool> = run.plan.sets.iter().map(is_in_other).collect();
    let mut setup = RunSetup::default();
    for attempt in run.finished.iter() {
        let is_compared = compared[run.plan.cases.set_of(attempt.key.case)];
        if let Some(reported) = attempt.setup.as_ref().filter(|_| is_compared) {
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
        let files = |other: &PlannedSet| set.agent_files.clone().zip(other.agent_files.clone());
        others.any(|other| files(other).is_some_and(|(a, b)| a != b))
    });
    let is_same_commit = before.plan.commit.is_some() && before.plan.commit == after.plan.commit;
    differs.then(|| match is_same_commit {
        true => "the agent's files, without a commit".into(),
        false => "the agent's files".into(),
    })
}

/// The names of changed tools, each with how its declaration differs as far as that is known: "book: party became required".
fn tool_changes(before: &RunState, after: &RunState, tools: &[String]) -> Vec<String> {
    if tools.is_empty() {
        return Vec::new();
    }
    let (before, after) = (declared(before, tools), declared(after, tools));
    let text = |tool: &String| match declaration_changes(&before, &after, tool) {
        changes if changes.is_empty() => tool.clone(),
        changes if changes.len() > MAX_CHANGES => format!(
            "{tool}: {}, … ({})",
            changes[..MAX_CHANGES].join(", "),
            changes.len()
        ),
        changes => format!("{tool}: {}", changes.join(", ")),
    };
    tools.iter().map(text).collect()
}

/// The declarations of these tools in the first attempts that report them.
fn declared(run: &RunState, tools: &[String]) -> Declarations {
    let mut found = Declarations::default();
    let reporting = run.finished.iter().filter(|attempt| {
        let reported = attempt.setup.as_ref().map(|setup| &setup.tools);
        let mut names = reported.into_iter().flatten().map(|((_, name), _)| &**name);
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
