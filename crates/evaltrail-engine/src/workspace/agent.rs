//! Selection of the agent for the cases of a set.

use super::agent_folders::factory_of;
use super::programs::{find_adk, find_python};
use super::{AgentFolder, SetPath, Workspace};
use crate::config::{is_agent_address, parse_agent_uri};
use evaltrail_core::domain::stored_path::path_below;
use evaltrail_core::domain::{
    AgentServer, AgentSpec, ProgramSpec, agent_without_secrets, did_you_mean, has_secret_mark,
};
use evaltrail_core::formats::SetFile;
use std::path::Path;

/// Why no agent can be chosen, and how to choose one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct AgentNotFound(pub String);

/// The application that the first case of a set names.
pub fn app_of_first_case(file: &SetFile) -> Option<String> {
    (!file.is_empty())
        .then(|| file.case(0).ok()?.session_input)
        .flatten()
        .map(|input| input.app_name)
}

/// Chooses the agent of a set: the requested one (`asked`); else the one in the configuration or in the folder with the
/// name of the set's application; else the only agent in the workspace.
/// `case_app` is the application that the set's first case names.
pub fn agent_for(
    workspace: &Workspace,
    set: &SetPath,
    case_app: Option<&str>,
    asked: Option<&str>,
) -> Result<(String, AgentSpec), AgentNotFound> {
    let chosen = match (asked, &workspace.config.agent) {
        (Some(asked), _) => named_agent(workspace, asked),
        (None, Some(name)) => default_agent(workspace, name),
        (None, None) => of_set(workspace, set, case_app),
    };
    chosen.and_then(|chosen| with_python(chosen, &workspace.root))
}

/// An agent, by its name, with the workspace's Python, if it needs one and names none.
pub fn with_python(
    (name, mut spec): (String, AgentSpec),
    root: &Path,
) -> Result<(String, AgentSpec), AgentNotFound> {
    if let AgentSpec::Python { program, .. } = &mut spec
        && program.argv.is_empty()
    {
        let python = find_python(root).map_err(|why| AgentNotFound(format!("{name}: {why}")))?;
        program.argv.push(python.display().to_string());
    }
    Ok((name, spec))
}

/// The agent that `[run] agent` names. An address there would be one that a folder chose and nobody allowed, so that it is
/// not used.
fn default_agent(workspace: &Workspace, name: &str) -> Result<(String, AgentSpec), AgentNotFound> {
    if let Some(spec) = workspace.config.agents.get(name) {
        return Ok((name.to_string(), spec.clone()));
    }
    match workspace.agent_folder(name, None) {
        Some(agent) => served(&agent.name, &agent.path, &workspace.root),
        None => Err(AgentNotFound(format!(
            "[run] agent: there is no agent {name:?}; {}{}",
            known(workspace),
            did_you_mean(name, workspace.agent_names())
        ))),
    }
}

fn of_set(
    workspace: &Workspace,
    set: &SetPath,
    case_app: Option<&str>,
) -> Result<(String, AgentSpec), AgentNotFound> {
    let apps = [set.app.as_deref(), case_app.filter(|app| !app.is_empty())];
    for app in apps.into_iter().flatten() {
        if let Some(spec) = workspace.config.agents.get(app) {
            return Ok((app.to_string(), spec.clone()));
        }
    }
    for app in apps.into_iter().flatten() {
        if let Some(agent) = workspace.agent_folder(app, Some(&set.path)) {
            return served(&agent.name, &agent.path, &workspace.root);
        }
    }
    only_one(workspace, set)
}

/// Whether the workspace has an agent with the name of an application that a case of a set names.
pub fn is_known_app(workspace: &Workspace, set: &SetPath, app: &str) -> bool {
    workspace.config.agents.contains_key(app)
        || workspace.agent_folder(app, Some(&set.path)).is_some()
}

/// Whether [`agent_for`] has an agent to choose without a requested one, be it usable or not.
pub fn has_agent(workspace: &Workspace, set: &SetPath, case_app: Option<&str>) -> bool {
    let apps = [set.app.as_deref(), case_app];
    let has_one = match workspace.config.agents.len() {
        0 => workspace.agents.len() == 1,
        configured => configured == 1,
    };
    let is_known = |app: &str| is_known_app(workspace, set, app);
    workspace.config.agent.is_some() || has_one || apps.into_iter().flatten().any(is_known)
}

/// The folder of the ADK agent to which a set belongs: the one that contains the set, else the one that its first case
/// names, else the only one. ADK stores its results of the set there.
pub fn agent_of_set<'a>(
    workspace: &'a Workspace,
    set: &SetPath,
    file: &SetFile,
) -> Option<&'a AgentFolder> {
    let named = || {
        let first = (!file.is_empty()).then(|| file.case(0).ok()).flatten()?;
        first.session_input.map(|input| input.app_name)
    };
    let app = set.app.clone().or_else(named);
    let by_name = app.and_then(|app| workspace.agent_folder(&app, Some(&set.path)));
    by_name.or_else(|| {
        workspace
            .agents
            .first()
            .filter(|_| workspace.agents.len() == 1)
    })
}

/// The agent of a name or an address.
pub fn agent_named(
    workspace: &Workspace,
    asked: &str,
) -> Result<(String, AgentSpec), AgentNotFound> {
    named_agent(workspace, asked).and_then(|chosen| with_python(chosen, &workspace.root))
}

/// The agents of the configuration, then those in folders, each with how it is reached or why it cannot be.
pub fn named_agents(workspace: &Workspace) -> Vec<(String, Result<AgentSpec, String>)> {
    let named = |name: &String| {
        let found = agent_named(workspace, name)
            .map(|(_, spec)| spec)
            .map_err(|none| none.0);
        (name.clone(), found)
    };
    let mut names: Vec<String> = workspace.config.agents.keys().cloned().collect();
    for agent in &workspace.agents {
        if !names.contains(&agent.name) {
            names.push(agent.name.clone());
        }
    }
    names.iter().map(named).collect()
}

fn named_agent(workspace: &Workspace, asked: &str) -> Result<(String, AgentSpec), AgentNotFound> {
    let here = std::env::current_dir().unwrap_or_default();
    if let Some(rest) = asked.strip_prefix(SUB_AGENT) {
        if let Some(found) = folder_of_agent(&here.join(rest), &workspace.root) {
            return found;
        }
        if let Some((app, agent)) = rest.rsplit_once('/') {
            return sub_agent(workspace, app, agent);
        }
        if let Some(folder) = workspace.agent_folder(rest, None) {
            return served(&folder.name, &folder.path, &workspace.root);
        }
    }
    // An address that a person gives needs no permission, so an agent that the folder calls like one is never meant.
    let is_address = is_agent_address(asked);
    if is_address && has_secret_mark(asked) {
        return Err(AgentNotFound(format!(
            "{}: write the secret in place of …, which stands for it where it is not stored",
            agent_without_secrets(asked)
        )));
    }
    if let Some(spec) = workspace.config.agents.get(asked).filter(|_| !is_address) {
        return Ok((asked.to_string(), spec.clone()));
    }
    if let Some(agent) = workspace.agent_folder(asked, None).filter(|_| !is_address) {
        return served(&agent.name, &agent.path, &workspace.root);
    }
    match parse_agent_uri(asked, &here) {
        Some(Ok(spec)) => {
            // The name is in reports and in the journal.
            let name = spec
                .app()
                .map_or_else(|| agent_without_secrets(asked), str::to_string);
            Ok((name, spec))
        }
        Some(Err(error)) => Err(AgentNotFound(error.0)),
        None => folder_of_agent(&here.join(asked), &workspace.root).unwrap_or_else(|| {
            Err(AgentNotFound(format!(
                "there is no agent {asked:?}; {}{}",
                known(workspace),
                did_you_mean(asked, workspace.agent_names())
            )))
        }),
    }
}

/// What stands before an agent's folder, `adk:agents/home`, and before the application and the name of a sub-agent that is
/// run alone, `adk:home/clerk`.
const SUB_AGENT: &str = "adk:";

/// A sub-agent of an agent in a folder of the workspace.
fn sub_agent(
    workspace: &Workspace,
    app: &str,
    agent: &str,
) -> Result<(String, AgentSpec), AgentNotFound> {
    let here = std::env::current_dir().unwrap_or_default();
    let found = match workspace.agent_folder(app, None) {
        Some(folder) => Some(served(&folder.name, &folder.path, &workspace.root)),
        None => folder_of_agent(&here.join(app), &workspace.root),
    };
    let (_, mut spec) = found.unwrap_or_else(|| {
        Err(AgentNotFound(format!(
            "there is no folder of an ADK agent {app:?}; {}",
            known(workspace)
        )))
    })?;
    if let AgentSpec::Adk { agent_name, .. } = &mut spec {
        *agent_name = Some(agent.to_string());
    }
    Ok((format!("{app}/{agent}"), spec))
}

/// `--agent path/to/agent`, as `adk eval` accepts it.
fn folder_of_agent(path: &Path, root: &Path) -> Option<Result<(String, AgentSpec), AgentNotFound>> {
    let path = dunce::canonicalize(path)
        .ok()
        .filter(|path| path.join("__init__.py").is_file() || path.join("agent.py").is_file())?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(served(&name, &path, root))
}

fn known(workspace: &Workspace) -> String {
    let names = workspace.agent_names();
    match names.is_empty() {
        true => "the workspace has no agents (for example adk+http://HOST:PORT/APP)".into(),
        false => format!("known agents: {}", names.join(", ")),
    }
}

fn only_one(workspace: &Workspace, set: &SetPath) -> Result<(String, AgentSpec), AgentNotFound> {
    let configured: Vec<_> = workspace.config.agents.iter().collect();
    match (configured.as_slice(), workspace.agents.as_slice()) {
        ([(name, spec)], _) => Ok((name.to_string(), (*spec).clone())),
        ([], [agent]) => served(&agent.name, &agent.path, &workspace.root),
        _ => Err(AgentNotFound(format!(
            "no agent is specified for {}: {}; name one in evaltrail.toml, with --agent, or with O in the explorer",
            set.shown,
            known(workspace)
        ))),
    }
}

/// Environment variables from which ADK reads API keys and credentials.
const ADK_KEYS: [&str; 3] = [
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
];

/// The agent in an ADK agent's folder, served by an `adk api_server` that evaltrail starts.
fn served(name: &str, path: &Path, root: &Path) -> Result<(String, AgentSpec), AgentNotFound> {
    if let Some(module) = factory_of(path) {
        let shown = path_below(&std::env::current_dir().unwrap_or_default(), &module);
        return Err(AgentNotFound(format!(
            "{name} has get_agent_async and no root_agent, so ADK's servers do not load it; use --agent python:{shown}:get_agent_async"
        )));
    }
    let agents_dir = path.parent().unwrap_or(path).to_path_buf();
    let found = find_adk(&agents_dir, root);
    let refused = found.refusal_note();
    let adk = found.path.ok_or_else(|| {
        AgentNotFound(format!(
            "{name} is an ADK agent, and `adk` is neither on PATH nor in a virtual environment of the repository{refused}; \
             install google-adk, or run a server and use --agent adk+http://127.0.0.1:8000/{name}"
        ))
    })?;
    let words = [
        "api_server",
        "--host",
        "127.0.0.1",
        "--port",
        "{port}",
        "--no-reload",
        "--session_service_uri",
        "memory://",
        "--artifact_service_uri",
        "memory://",
    ];
    let mut argv = vec![adk.display().to_string()];
    argv.extend(words.map(String::from));
    argv.push(agents_dir.display().to_string());
    let env = ADK_KEYS.map(String::from).to_vec();
    let server = AgentServer::Start(ProgramSpec {
        argv,
        cwd: agents_dir,
        env,
        ..ProgramSpec::default()
    });
    Ok((
        name.to_string(),
        AgentSpec::Adk {
            server,
            app: name.to_string(),
            agent_name: None,
        },
    ))
}
