//! `evaltrail agents`: lists the agents of a folder, or checks one: whether it answers, what it says about itself, and what
//! it does with a prompt.

use super::Exit;
use super::addresses::copy_at;
use super::agent_turn::{show_one_turn, show_turn};
use super::agents_init::{self, AgentInitArgs};
use super::args::ColorWhen;
use super::output::{paint, print_json, print_line, print_note};
use super::subcommand::CliCommand;
use super::trust;
use clap::{Args, Subcommand};
use evaltrail_core::domain::{AgentSpec, ToolsSpec, clean, clean_line, value_text};
use evaltrail_engine::agents::{AgentDescription, TemplateProbe, probe_server, probe_template};
use evaltrail_engine::config::is_agent_address;
use evaltrail_engine::runner::{ListedAgent, agent_questions, list_agents, tools_of_chat};
use evaltrail_engine::store::{AppFolders, Trust};
use evaltrail_engine::workspace::Workspace;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// List the agents of a folder, or check whether one answers
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, visible_alias = "agent")]
pub(super) struct AgentsArgs {
    /// Folder whose agents to list
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(subcommand)]
    pub(super) command: Option<AgentsCommand>,
}

#[derive(Subcommand, Debug)]
pub(super) enum AgentsCommand {
    /// Connect to an agent, and print what it says about itself and does with a prompt
    Check(AgentCheckArgs),
    /// Find out what an agent is, show one turn, and add it to evaltrail.toml
    Init(AgentInitArgs),
}

#[derive(Args, Debug)]
pub(super) struct AgentCheckArgs {
    /// The agent, by name or address
    pub(super) agent: String,
    /// Folder with the agent's configuration
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// Message to send; prints the calls and the response, and for a template the value that each path found
    #[arg(long, value_name = "TEXT")]
    pub(super) prompt: Option<String>,
    /// Allow the program or the address in the folder's files without asking
    #[arg(long)]
    pub(super) trust: bool,
}

impl CliCommand for AgentsArgs {
    const NAME: &'static str = "agents";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_at(&mut self.path)
    }

    fn run(self) -> anyhow::Result<Exit> {
        agents(self)
    }
}

/// The time limit for the agent that is checked to answer, in addition to the start of its server.
const CHECKS_WITHIN: Duration = Duration::from_secs(30);
/// The maximum length of a reply that is displayed, in characters.
const SHOWN: usize = 4000;
/// The maximum length of a line of a reply, or of a value in it, in characters.
const MAX_LINE: usize = 200;

pub(super) fn agents(args: AgentsArgs) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    match args.command {
        None => runtime.block_on(list(&args)),
        Some(AgentsCommand::Check(check)) => runtime.block_on(check_one(&check)),
        Some(AgentsCommand::Init(init)) => runtime.block_on(agents_init::init(&init)),
    }
}

async fn list(args: &AgentsArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.path)?;
    let trust = Trust::load(AppFolders::find().as_ref());
    let found = list_agents(&workspace, &trust).await;
    if args.json {
        let agents: Vec<Value> = found.iter().map(as_json).collect();
        print_json(&serde_json::to_string_pretty(&agents)?);
        return Ok(Exit::Success);
    }
    if found.is_empty() {
        print_note(
            "no agents here: an agent's folder of ADK, [agents.NAME] in evaltrail.toml, or --agent with an address",
        );
        return Ok(Exit::Success);
    }
    let paint = paint(ColorWhen::Auto);
    for one in &found {
        print_line(&format!(
            "{}  {}",
            paint.bold(&clean_line(&one.name)),
            clean_line(&one.label())
        ));
        print_line(&paint.faint(&format!("  {}", clean_line(&one.state))));
        if let Some(line) = one
            .description
            .as_ref()
            .and_then(AgentDescription::tool_text)
        {
            print_line(&paint.faint(&format!("  {}", clean_line(&line))));
        }
    }
    print_line(&paint.faint("evaltrail agents check NAME --prompt TEXT sends a message to one"));
    Ok(Exit::Success)
}

fn as_json(one: &ListedAgent) -> Value {
    let tools = one.description.as_ref().map(|description| {
        json!(
            description
                .tools
                .iter()
                .map(|tool| &tool.name)
                .collect::<Vec<_>>()
        )
    });
    json!({
        "name": one.name,
        "kind": one.spec.as_ref().ok().map(AgentSpec::kind),
        "agent": one.spec.as_ref().ok().map(AgentSpec::label),
        "answers": one.answers,
        "state": one.spec.as_ref().map_or_else(|why| why.clone(), |_| one.state.clone()),
        "about": one.description.as_ref().map(|description| description.about.iter().map(|(key, words)| (key.to_string(), json!(words))).collect::<serde_json::Map<_, _>>()),
        "tools": tools,
    })
}

async fn check_one(args: &AgentCheckArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.path)?;
    let (name, spec) = evaltrail_engine::workspace::agent_named(&workspace, &args.agent)?;
    let questions = agent_questions(&workspace, &spec);
    if !is_agent_address(&args.agent) && !trust::allowed(&questions, args.trust)? {
        return Ok(Exit::UsageError);
    }
    let paint = paint(ColorWhen::Auto);
    print_line(&format!(
        "{}  {}",
        paint.bold(&clean_line(&name)),
        clean_line(&spec.label())
    ));
    let began = Instant::now();
    let description = match probe_server(&spec, CHECKS_WITHIN).await {
        Ok(description) => description,
        Err(error) => {
            print_note(&clean(&error.message));
            return Ok(Exit::Failures);
        }
    };
    match (description.was_asked, &args.prompt) {
        (true, _) => print_line(&format!(
            "answered in {:.2} s",
            began.elapsed().as_secs_f64()
        )),
        (false, Some(_)) => true,
        (false, None) => print_line(
            "not contacted: this kind of agent is only asked with a message; add --prompt TEXT",
        ),
    };
    for (key, words) in &description.about {
        print_line(&format!(
            "  {}  {}",
            paint.faint(&format!("{key:10}")),
            clean_line(words)
        ));
    }
    if let Some(line) = description.tool_text() {
        print_line(&format!("  {}", clean_line(&line)));
    }
    let Some(prompt) = &args.prompt else {
        return Ok(Exit::Success);
    };
    let tools = match is_agent_address(&args.agent) {
        true => ToolsSpec::default(),
        false => tools_of_chat(&workspace, &name),
    };
    match probe_template(&spec, prompt).await {
        None => show_one_turn(spec, tools, prompt).await,
        // The message is sent once: agents have side effects.
        Some(Ok(probe)) => Ok(show_probe(&probe)),
        Some(Err(error)) => {
            print_note(&clean(&error.message));
            Ok(Exit::Failures)
        }
    }
}

/// Displays what was sent, what came back, and what each path of the template found in it. It is a failure if the path of
/// the response found nothing.
fn show_probe(probe: &TemplateProbe) -> Exit {
    let cut = |text: &str| {
        let lines: Vec<String> = text.lines().map(|line| shortened(&clean(line))).collect();
        lines.join("\n").chars().take(SHOWN).collect::<String>()
    };
    print_line(&format!("\nrequest   {}", clean_line(&probe.request)));
    print_line(&indented(&cut(&probe.body)));
    print_line(&format!("reply     {}", probe.status));
    print_line(&indented(&cut(&probe.reply)));
    for (key, path, found) in &probe.found {
        let texts: Vec<String> = found
            .iter()
            .map(|value| shortened(&clean_line(&value_text(value))))
            .collect();
        let all = match texts.is_empty() {
            true => "nothing".to_string(),
            false => texts.join("  "),
        };
        let label = format!("{key:10}{}  →", clean_line(path));
        match all.chars().count() <= MAX_LINE || texts.len() < 2 {
            true => print_line(&format!("{label}  {all}")),
            false => print_line(&format!("{label}\n{}", indented(&texts.join("\n")))),
        };
    }
    show_turn(&probe.turn);
    let has = |key: &str| probe.found.iter().any(|(found, ..)| *found == key);
    if !has("response") && !has("text") {
        print_line("response  no path: the whole reply is the response");
    }
    if !has("calls") {
        print_line("calls     no path: the calls are not known");
    }
    let is_missing =
        |(key, _, found): &(&str, String, Vec<Value>)| *key == "response" && found.is_empty();
    if probe.found.iter().any(is_missing) {
        Exit::Failures
    } else {
        Exit::Success
    }
}

/// The beginning of a line.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
