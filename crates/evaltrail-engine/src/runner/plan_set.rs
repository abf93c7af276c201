//! The plan of one set: its criteria, its agent, and which of its cases are run.

use super::case_apps::CaseApps;
use super::chosen_cases::{Filtered, choose};
use super::request::Request;
use crate::config::is_agent_address;
use crate::history::{CaseResult, PastResult, case_results};
use crate::runner::Selection;
use crate::workspace::{
    CriteriaSource, OpenSet, SetPath, Workspace, agent_for, agent_of_set, app_of_first_case,
    criteria_for, has_agent, user_for,
};
use evaltrail_core::domain::{AgentSpec, Criterion, PlannedSet, StubMode, ToolsSpec};
use evaltrail_core::formats::adk::storage_app;
use evaltrail_core::formats::{FileProblem, Notes, SetFile};
use evaltrail_core::metrics::{CriterionError, unknown_metric};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Why a set is not part of a plan.
pub(super) struct SetPlanError {
    pub(super) why: String,
    pub(super) malformed: Option<Box<(PathBuf, FileProblem)>>,
}

impl From<String> for SetPlanError {
    fn from(why: String) -> SetPlanError {
        SetPlanError {
            why,
            malformed: None,
        }
    }
}

/// Plans the sets of a request.
#[derive(Clone, Copy)]
pub(super) struct SetPlanner<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) request: &'a Request,
    /// The earlier results that the filter needs.
    pub(super) past: &'a [PastResult],
    /// The date, as YYYY-MM-DD.
    pub(super) day: &'a str,
}

impl SetPlanner<'_> {
    /// The plan of a set without its stubs, and the positions of its cases.
    pub(super) fn plan(
        &self,
        selection: &Selection,
        open: &OpenSet,
        notes: &Notes,
    ) -> Result<(PlannedSet, Vec<usize>), SetPlanError> {
        let (workspace, request, set) = (self.workspace, self.request, &selection.set);
        if request.saved && request.kept.is_empty() && open.file.form.is_adk() {
            let why = "the file contains no saved responses; `evaltrail run` runs its cases";
            return Err(why.to_string().into());
        }
        let criteria = self.criteria(set, &open.file)?;
        let chosen = choose(&open.file, selection)?;
        let (agent_name, agent) = self.agent(set, &open.file, &chosen)?;
        let indices = self.filtered(chosen, set, open, notes, &agent_name);
        let apps = self.deciding_apps(set, &open.file, &indices);
        if let Some(why) = apps.and_then(CaseApps::unknown) {
            return Err(why.into());
        }
        let app_dir = match agent.app() {
            Some(app) => app_folder(workspace, set, app),
            None => agent_of_set(workspace, set, &open.file).map(|agent| agent.path.clone()),
        };
        let planned = PlannedSet {
            stubs: None,
            tools: tools_of(workspace, request, &agent_name, &agent)?,
            id: open.file.id.clone(),
            file: set.shown.clone(),
            path: set.path.clone(),
            digest: open.digest.clone(),
            agent,
            agent_files: None,
            agent_jobs: workspace.config.agent_jobs.get(&agent_name).copied(),
            file_cases: Some(open.file.len()),
            agent_name,
            app_dir,
            criteria,
            user: user_for(workspace, set, request.config.as_deref()),
        };
        Ok((planned, indices))
    }

    /// The criteria. Metrics that do not exist are errors if the request names them, or if an agent is called, which may cost
    /// money. Responses that exist are scored by the other metrics.
    fn criteria(&self, set: &SetPath, file: &SetFile) -> Result<Vec<Criterion>, SetPlanError> {
        let request = self.request;
        let config = request.config.as_deref();
        let found = criteria_for(self.workspace, set, file, config, &request.metrics);
        let (criteria, source) = found.map_err(|problem| SetPlanError {
            why: problem.to_string(),
            malformed: problem
                .malformed
                .map(|found| (problem.path, *found))
                .map(Box::new),
        })?;
        let named = criteria
            .iter()
            .filter(|criterion| request.metrics.contains(&criterion.metric));
        if let Some(unknown) = named.filter_map(unknown_metric).next() {
            let why = format!("--metric: {unknown}; `evaltrail metrics` lists them");
            return Err(why.into());
        }
        let calls_agent = !request.saved && request.kept.is_empty();
        let unknown = criteria.iter().filter_map(unknown_metric);
        let mut misspelled = unknown.filter(|one| matches!(one, CriterionError::Unknown { .. }));
        if let Some(unknown) = misspelled.next().filter(|_| calls_agent) {
            let file = match &source {
                CriteriaSource::File(file) => format!("{file}: "),
                CriteriaSource::Default => String::new(),
            };
            return Err(format!("{file}{unknown}; `evaltrail metrics` lists them").into());
        }
        Ok(criteria)
    }

    /// The agent with its name. The error is a message.
    fn agent(
        &self,
        set: &SetPath,
        file: &SetFile,
        cases: &[usize],
    ) -> Result<(String, AgentSpec), String> {
        let (workspace, request) = (self.workspace, self.request);
        if !request.kept.is_empty() {
            return Ok(("kept".to_string(), AgentSpec::PriorAttempts));
        }
        if request.saved {
            return Ok(("saved".to_string(), AgentSpec::Saved));
        }
        let names_agent = request.agent.is_some() || workspace.config.agent.is_some();
        let apps = self.deciding_apps(set, file, cases);
        let app = match apps {
            Some(apps) => apps.chosen(),
            None => app_of_first_case(file),
        };
        let found = agent_for(workspace, set, app.as_deref(), request.agent.as_deref());
        let unknown = || match has_agent(workspace, set, app.as_deref()) {
            true => None,
            false => apps.and_then(CaseApps::unknown),
        };
        let (name, mut agent) = found.map_err(|error| match names_agent || file.form.is_adk() {
            true => unknown().unwrap_or(error.0),
            false => "a data set is run only with an agent; `evaltrail score`, or s in the explorer, scores the responses that it contains".into(),
        })?;
        if let Some(program) = agent.program_mut() {
            program.env.extend(request.env.iter().cloned());
        }
        Ok((name, agent))
    }

    /// The cases whose applications decide which agent runs them; `None` if the agent is named, or the folder of the set decides.
    fn deciding_apps<'b>(
        &'b self,
        set: &'b SetPath,
        file: &'b SetFile,
        cases: &'b [usize],
    ) -> Option<CaseApps<'b>> {
        let (workspace, request) = (self.workspace, self.request);
        let calls_agent = !request.saved && request.kept.is_empty();
        let names_agent = request.agent.is_some() || workspace.config.agent.is_some();
        let apps = CaseApps {
            workspace,
            set,
            file,
            cases,
        };
        (calls_agent && !names_agent && !apps.is_in_agent_folder()).then_some(apps)
    }

    /// Those of the selected cases that the filter accepts.
    fn filtered(
        &self,
        chosen: Vec<usize>,
        set: &SetPath,
        open: &OpenSet,
        notes: &Notes,
        agent: &str,
    ) -> Vec<usize> {
        let file = &open.file;
        let query = &self.request.query;
        if query.is_empty() {
            return chosen;
        }
        let results = case_results((file, Some(&open.digest)), &set.path, notes, self.past);
        let results: HashMap<usize, CaseResult> = results
            .into_iter()
            .map(|result| (result.index, result))
            .collect();
        let fits = |at: &usize| {
            let case = Filtered {
                file,
                at: *at,
                set,
                agent,
                day: self.day,
            };
            case.fits(query, notes, results.get(at))
        };
        chosen.into_iter().filter(fits).collect()
    }
}

/// How the agent's tools are answered. The error is a message.
fn tools_of(
    workspace: &Workspace,
    request: &Request,
    agent_name: &str,
    agent: &AgentSpec,
) -> Result<ToolsSpec, String> {
    if matches!(agent, AgentSpec::Saved | AgentSpec::PriorAttempts) {
        return Ok(ToolsSpec::default());
    }
    // The configuration says nothing about an agent that the user gave by its address.
    let is_address = request.agent.as_deref().is_some_and(is_agent_address);
    let configured = workspace
        .config
        .agent_tools
        .get(agent_name)
        .filter(|_| !is_address);
    let configured = configured.cloned().unwrap_or_default();
    let stubs = request.stubs.unwrap_or(configured.stubs);
    let stubs = match stubs {
        StubMode::Off if agent.leaves_calls_to_caller() && request.stubs.is_none() => {
            StubMode::Fail
        }
        StubMode::Off if agent.leaves_calls_to_caller() => StubMode::Live,
        StubMode::Off if request.keeps_stubs && request.stubs.is_none() => StubMode::Fail,
        stubs => stubs,
    };
    let tools = ToolsSpec {
        stubs,
        faults: request.faults.clone(),
        ..configured
    };
    match agent.cannot_intercept(&tools) {
        Some(why) => Err(format!("{agent_name}: {why}")),
        None => Ok(tools),
    }
}

fn app_folder(workspace: &Workspace, set: &SetPath, app: &str) -> Option<PathBuf> {
    if let Some(agent) = workspace.agent_folder(app, Some(&set.path)) {
        return Some(agent.path.clone());
    }
    if let Some(stored) = storage_app(&set.path).filter(|dir| dir.ends_with(app)) {
        return Some(stored.to_path_buf());
    }
    let near = set
        .path
        .ancestors()
        .skip(1)
        .find(|folder| folder.file_name().is_some_and(|name| name == app));
    near.filter(|folder| folder.join("agent.py").is_file())
        .map(Path::to_path_buf)
}
