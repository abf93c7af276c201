//! `evaltrail agents init`: finds out what an agent is, shows one turn, and adds it to `evaltrail.toml`.

use super::Exit;
use super::agent_turn::show_one_turn;
use super::output::{print_line, print_note};
use super::trust;
use anyhow::{Context, bail};
use clap::Args;
use evaltrail_core::domain::{ToolsSpec, clean, clean_line};
use evaltrail_engine::agents::{FoundAgent, discover};
use evaltrail_engine::config::{ConfigFile, FILE_NAME};
use evaltrail_engine::runner::agent_questions;
use evaltrail_engine::store::{Replace, create, read_file, replace};
use evaltrail_engine::workspace::{Workspace, with_python};
use std::path::Path;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(super) struct AgentInitArgs {
    /// Address of a server, MODULE:NAME or FILE.py:NAME of a Python object, or folder of an agent of ADK or LangGraph
    #[arg(value_name = "URL|MODULE:NAME|FOLDER")]
    pub(super) target: String,
    /// Folder whose evaltrail.toml gets the entry
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// Name of the agent; by default its own
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Message to send for the turn that is shown
    #[arg(long, value_name = "TEXT", default_value = "Hello")]
    pub(super) prompt: String,
    /// Print the entry and the turn, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Allow the program of the agent without asking
    #[arg(long)]
    pub(super) trust: bool,
}

/// The maximum size of a configuration file, in bytes.
const MAX_CONFIG: u64 = 16 << 20;

pub(super) async fn init(args: &AgentInitArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.path)?;
    let file = workspace.root.join(FILE_NAME);
    let before = match read_file(&file, MAX_CONFIG) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| file.display().to_string()),
    };
    let found = find(&args.target, &workspace.root).await?;
    let Some(agent) = chosen(&args.target, found)? else {
        return Ok(Exit::UsageError);
    };
    print_note(&clean_line(&format!("{}: {}", agent.kind, agent.because)));
    let name = match &args.name {
        Some(name) => name.clone(),
        None => name_of(&agent),
    };
    if workspace.config.agents.contains_key(&name) {
        bail!("{FILE_NAME} has an agent {name:?} already; choose another name with --name");
    }
    let entry = entry_of(&name, &agent);
    print_line(&clean(&entry));
    let spec = ConfigFile::parse(&entry, &workspace.root)?
        .agents
        .remove(&name)
        .context("the agent")?;
    let (name, spec) = with_python((name, spec), &workspace.root)?;
    // An address that a person gives needs no permission.
    if !is_address(&args.target)
        && !trust::allowed(&agent_questions(&workspace, &spec), args.trust)?
    {
        return Ok(Exit::UsageError);
    }
    let shown = show_one_turn(spec, ToolsSpec::default(), &args.prompt).await?;
    if shown != Exit::Success {
        print_note(&format!(
            "nothing was written: the agent did not complete a turn with {:?}",
            args.prompt
        ));
        return Ok(shown);
    }
    if args.dry_run {
        return Ok(Exit::Success);
    }
    write(&file, before.as_deref(), &entry, &workspace.root)?;
    print_note(&format!(
        "added to {}; next: evaltrail run . --agent {name}",
        file.display()
    ));
    Ok(Exit::Success)
}

fn is_address(target: &str) -> bool {
    target.starts_with("http://") || target.starts_with("https://")
}

/// What the target is: an address, a Python object, or a folder.
async fn find(target: &str, root: &Path) -> anyhow::Result<Vec<FoundAgent>> {
    if is_address(target) {
        let address = target.split('#').next().unwrap_or(target);
        let found = discover(address).await.map_err(anyhow::Error::msg)?;
        return Ok(if found.is_empty() {
            vec![with_ag_ui(address)]
        } else {
            found
        });
    }
    let path = Path::new(target);
    if path.is_dir() {
        return folder(path, root);
    }
    if let Some(command) = target.strip_prefix("cmd:") {
        return Ok(vec![FoundAgent {
            kind: "command",
            name: String::new(),
            keys: vec![("command", command.to_string())],
            because: "evaltrail starts the program, and writes each turn to it".into(),
        }]);
    }
    let function = target.strip_prefix("python:").unwrap_or(target);
    if let Some((module, name)) = function
        .rsplit_once(':')
        .filter(|(module, name)| !module.is_empty() && !name.is_empty())
    {
        let name = name
            .trim_end_matches("()")
            .rsplit('.')
            .next()
            .unwrap_or(name);
        let because = format!("{function} names an object in {module}");
        let keys = vec![("function", function.to_string())];
        return Ok(vec![FoundAgent {
            kind: "python",
            name: name.to_string(),
            keys,
            because,
        }]);
    }
    bail!(
        "{target}: give the address of a server (http://HOST:PORT), MODULE:NAME or FILE.py:NAME, the folder of an agent, or cmd:PROGRAM"
    )
}

/// The last kind to try: AG-UI has no endpoint that could be asked without a message to the agent.
fn with_ag_ui(address: &str) -> FoundAgent {
    FoundAgent {
        kind: "ag-ui",
        name: String::new(),
        keys: vec![("url", address.to_string())],
        because: "no endpoint of ADK, LangGraph, A2A, MCP or OpenAI was found; AG-UI is tried with a message"
            .into(),
    }
}

/// The agent in a folder, by the file that its library needs.
fn folder(path: &Path, root: &Path) -> anyhow::Result<Vec<FoundAgent>> {
    let path = dunce::canonicalize(path)?;
    let relative = |path: &Path| {
        let shown = path
            .strip_prefix(root)
            .unwrap_or(path)
            .display()
            .to_string();
        if shown.is_empty() {
            ".".to_string()
        } else {
            shown
        }
    };
    let quoted = |text: String| {
        if text.contains(' ') {
            format!("'{text}'")
        } else {
            text
        }
    };
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    if path.join("langgraph.json").is_file() {
        let config = quoted(relative(&path.join("langgraph.json")));
        let start = format!("langgraph dev --no-browser --config {config} --port {{port}}");
        let because = "the folder has a langgraph.json".to_string();
        return Ok(vec![FoundAgent {
            kind: "langgraph",
            name,
            keys: vec![("start", start)],
            because,
        }]);
    }
    let adk = ["agent.py", "__init__.py", "root_agent.yaml"]
        .into_iter()
        .find(|file| path.join(file).is_file());
    if let Some(file) = adk {
        let agents = quoted(relative(path.parent().unwrap_or(&path)));
        let start =
            format!("adk api_server {agents} --port {{port}} --session_service_uri memory://");
        let keys = vec![("start", start), ("app", name.clone())];
        return Ok(vec![FoundAgent {
            kind: "adk",
            name,
            keys,
            because: format!("the folder has {file}, as ADK's agents"),
        }]);
    }
    bail!(
        "{}: neither an agent of ADK (agent.py) nor of LangGraph (langgraph.json) was found there",
        path.display()
    )
}

/// The only agent, or the one that the fragment of the address names.
fn chosen(target: &str, mut found: Vec<FoundAgent>) -> anyhow::Result<Option<FoundAgent>> {
    if let Some((_, wanted)) = target.split_once('#') {
        let wanted = wanted.rsplit('=').next().unwrap_or(wanted);
        found.retain(|agent| agent.keys.iter().any(|(_, value)| value == wanted));
    }
    if found.len() > 1 {
        let address = target.split('#').next().unwrap_or(target);
        print_note("the server offers several agents; name one:");
        for agent in &found {
            let (_, value) = agent.keys.last().cloned().unwrap_or_default();
            print_note(&clean_line(&format!(
                "    evaltrail agents init '{address}#{value}'"
            )));
        }
        return Ok(None);
    }
    found
        .pop()
        .map(Some)
        .with_context(|| format!("{target}: no such agent was found there"))
}

/// A name for the agent that needs no quotes in TOML.
fn name_of(agent: &FoundAgent) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = agent.name.to_lowercase().chars().map(letter).collect();
    let name = name.trim_matches('_');
    if name.is_empty() {
        "agent".into()
    } else {
        name.chars().take(40).collect()
    }
}

fn entry_of(name: &str, agent: &FoundAgent) -> String {
    let text = |value: &str| toml::Value::from(value).to_string();
    let keys = [("kind", agent.kind.to_string())]
        .into_iter()
        .chain(agent.keys.iter().cloned());
    let lines: String = keys
        .map(|(key, value)| format!("{key} = {}\n", text(&value)))
        .collect();
    let is_bare = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let name = if is_bare {
        name.to_string()
    } else {
        text(name)
    };
    format!("[agents.{name}]\n{lines}")
}

/// Appends the entry to the file, or creates it. The file must still be readable with it.
fn write(file: &Path, before: Option<&[u8]>, entry: &str, root: &Path) -> anyhow::Result<()> {
    let Some(before) = before else {
        create(file, entry.as_bytes())?;
        return Ok(());
    };
    let text = std::str::from_utf8(before).with_context(|| file.display().to_string())?;
    let gap = match text {
        "" => "",
        text if text.ends_with("\n") => "\n",
        _ => "\n\n",
    };
    let new = format!("{text}{gap}{entry}");
    ConfigFile::parse(&new, root)?;
    replace(Replace {
        path: file,
        within: Some(root),
        read: before,
        new: new.as_bytes(),
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, keys: &[(&'static str, &str)]) -> FoundAgent {
        let keys = keys
            .iter()
            .map(|(key, value)| (*key, value.to_string()))
            .collect();
        FoundAgent {
            kind: "adk",
            name: name.into(),
            keys,
            because: String::new(),
        }
    }

    #[test]
    fn an_entry_is_read_back_as_it_was_found() {
        let agent = found(
            "Home \"1\"",
            &[("url", "http://127.0.0.1:1"), ("app", "ho\"me")],
        );
        assert_eq!(name_of(&agent), "home__1");
        for name in ["home", "a b\"c"] {
            let parsed = ConfigFile::parse(&entry_of(name, &agent), Path::new("/")).unwrap();
            assert_eq!(parsed.agents[name].app(), Some("ho\"me"));
        }
    }

    #[test]
    fn url_fragment_selects_one_of_several_agents() {
        let all = || vec![found("a", &[("app", "a")]), found("b", &[("app", "b")])];
        assert_eq!(chosen("http://h/", all()).unwrap(), None);
        assert_eq!(chosen("http://h/#app=b", all()).unwrap().unwrap().name, "b");
        assert_eq!(chosen("http://h/#a", all()).unwrap().unwrap().name, "a");
        assert!(chosen("http://h/#c", all()).is_err());
    }

    #[test]
    fn entry_is_appended_and_rest_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE_NAME);
        let entry = entry_of("b", &found("b", &[("url", "http://127.0.0.1:1")]));
        write(&file, None, &entry, folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), entry);
        let before = "# mine\n[run]\njobs = 3";
        std::fs::write(&file, before).unwrap();
        write(&file, Some(before.as_bytes()), &entry, folder.path()).unwrap();
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            format!("{before}\n\n{entry}")
        );
    }
}
