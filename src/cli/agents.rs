//! `evaltrail agents`: lists the agents of a folder, or checks one: whether it answers, what it says about itself, and what
//! it does with a prompt.

use super::Exit;
use super::args::{AgentCheckArgs, AgentsArgs, AgentsCommand, ColorWhen};
use super::output::{paint, say, say_json, tell};
use super::trust;
use crate::agents::{AgentHello, Opening, TemplateProbe, greet, probe_template};
use crate::config::is_agent_address;
use crate::domain::{AgentSpec, Invocation, clean, clean_line, value_text};
use crate::runner::{ChatEvent, agent_questions, chat};
use crate::store::{Places, Trust};
use crate::workspace::{Workspace, named_agents};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The time limit for an agent in the list to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// The time limit for the agent that is checked to answer, in addition to the start of its server.
const CHECKS_WITHIN: Duration = Duration::from_secs(30);
/// The maximum length of a reply that is displayed, in characters.
const SHOWN: usize = 4000;

pub(super) fn agents(args: AgentsArgs) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match args.command {
        None => runtime.block_on(list(&args)),
        Some(AgentsCommand::Check(check)) => runtime.block_on(check_one(&check)),
    }
}

/// An agent of the list.
struct Listed {
    name: String,
    spec: Result<AgentSpec, String>,
    /// Whether the agent answers, if it was asked.
    state: String,
    answers: Option<bool>,
    hello: Option<AgentHello>,
}

async fn list(args: &AgentsArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.path)?;
    let trust = Trust::load(Places::find().as_ref());
    let asking =
        named_agents(&workspace).into_iter().map(|(name, spec)| listed(&workspace, &trust, name, spec));
    let found: Vec<Listed> = futures_util::future::join_all(asking).await;
    if args.json {
        let agents: Vec<Value> = found.iter().map(as_json).collect();
        say_json(&serde_json::to_string_pretty(&agents)?);
        return Ok(Exit::Success);
    }
    if found.is_empty() {
        tell(
            "no agents here: an agent's folder of ADK, [agents.NAME] in evaltrail.toml, or --agent with an address",
        );
        return Ok(Exit::Success);
    }
    let paint = paint(ColorWhen::Auto);
    for one in &found {
        let label = one.spec.as_ref().map_or_else(|why| why.clone(), AgentSpec::label);
        say(&format!("{}  {}", paint.bold(&clean_line(&one.name)), clean_line(&label)));
        say(&paint.faint(&format!("  {}", clean_line(&one.state))));
        if let Some(line) = one.hello.as_ref().and_then(tools_of) {
            say(&paint.faint(&format!("  {line}")));
        }
    }
    say(&paint.faint("evaltrail agents check NAME --prompt TEXT sends a message to one"));
    Ok(Exit::Success)
}

/// An agent with its state. Only a running server that may be contacted is.
async fn listed(
    workspace: &Workspace,
    trust: &Trust,
    name: String,
    spec: Result<AgentSpec, String>,
) -> Listed {
    let (state, answers, hello) = match &spec {
        Err(_) => ("cannot be used".to_string(), None, None),
        Ok(spec) if spec.address().is_none() => (started_words(spec).to_string(), None, None),
        Ok(spec) => {
            let questions = agent_questions(workspace, spec);
            match questions.iter().all(|question| trust.allows(&question.fingerprint)) {
                false => (
                    "not contacted: it needs your permission; agents check asks for it".to_string(),
                    None,
                    None,
                ),
                true => match greet(spec, ANSWERS_WITHIN).await {
                    Ok(hello) if !hello.was_asked => {
                        ("asked only with a message".to_string(), None, Some(hello))
                    }
                    Ok(hello) => ("answers".to_string(), Some(true), Some(hello)),
                    Err(error) => (error.message, Some(false), None),
                },
            }
        }
    };
    Listed { name, spec, state, answers, hello }
}

fn started_words(spec: &AgentSpec) -> &'static str {
    match spec {
        AgentSpec::Replay { .. } => "a recording",
        AgentSpec::Command(_) => "started for each attempt",
        _ => "started for a run",
    }
}

fn as_json(one: &Listed) -> Value {
    let tools =
        one.hello.as_ref().map(|hello| json!(hello.tools.iter().map(|(name, _)| name).collect::<Vec<_>>()));
    json!({
        "name": one.name,
        "kind": one.spec.as_ref().ok().map(AgentSpec::kind),
        "agent": one.spec.as_ref().ok().map(AgentSpec::label),
        "answers": one.answers,
        "state": one.spec.as_ref().map_or_else(|why| why.clone(), |_| one.state.clone()),
        "about": one.hello.as_ref().map(|hello| hello.about.iter().map(|(key, words)| (key.to_string(), json!(words))).collect::<serde_json::Map<_, _>>()),
        "tools": tools,
    })
}

async fn check_one(args: &AgentCheckArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.path)?;
    let (name, spec) = crate::workspace::agent_named(&workspace, &args.agent)?;
    let questions = agent_questions(&workspace, &spec);
    if !is_agent_address(&args.agent) && !trust::allowed(&questions, args.trust)? {
        return Ok(Exit::UsageError);
    }
    let paint = paint(ColorWhen::Auto);
    say(&format!("{}  {}", paint.bold(&clean_line(&name)), clean_line(&spec.label())));
    let began = Instant::now();
    let hello = match greet(&spec, CHECKS_WITHIN).await {
        Ok(hello) => hello,
        Err(error) => {
            tell(&clean(&error.message));
            return Ok(Exit::Failures);
        }
    };
    match (hello.was_asked, &args.prompt) {
        (true, _) => say(&format!("answered in {:.2} s", began.elapsed().as_secs_f64())),
        (false, Some(_)) => true,
        (false, None) => {
            say("not contacted: this kind of agent is only asked with a message; add --prompt TEXT")
        }
    };
    for (key, words) in &hello.about {
        say(&format!("  {}  {}", paint.faint(&format!("{key:10}")), clean_line(words)));
    }
    if let Some(line) = tools_of(&hello) {
        say(&format!("  {line}"));
    }
    let Some(prompt) = &args.prompt else { return Ok(Exit::Success) };
    match probe_template(&spec, prompt).await {
        None => ask(spec, prompt).await,
        // The message is sent once: agents have side effects.
        Some(Ok(probe)) => Ok(show_probe(&probe)),
        Some(Err(error)) => {
            tell(&clean(&error.message));
            Ok(Exit::Failures)
        }
    }
}

/// The tools, each with the names of its arguments.
fn tools_of(hello: &AgentHello) -> Option<String> {
    let shown = |(name, arguments): &(String, Vec<String>)| match arguments.is_empty() {
        true => clean_line(name).into_owned(),
        false => clean_line(&format!("{name}({})", arguments.join(", "))).into_owned(),
    };
    // Agents may share a tool.
    let tools: BTreeSet<String> = hello.tools.iter().map(shown).collect();
    (!tools.is_empty()).then(|| format!("tools: {}", tools.into_iter().collect::<Vec<_>>().join(", ")))
}

/// Displays what was sent, what came back, and what each path of the template found in it. It is a failure if the path of
/// the response found nothing.
fn show_probe(probe: &TemplateProbe) -> Exit {
    let cut = |text: &str| clean(&text.chars().take(SHOWN).collect::<String>()).into_owned();
    say(&format!("\nrequest   {}", clean_line(&probe.request)));
    say(&indented(&cut(&probe.body)));
    say(&format!("reply     {}", probe.status));
    say(&indented(&cut(&probe.reply)));
    for (key, path, found) in &probe.found {
        let found = match found.as_slice() {
            [] => "nothing".to_string(),
            values => values.iter().map(value_text).collect::<Vec<_>>().join("  "),
        };
        say(&format!("{key:10}{}  →  {}", clean_line(path), clean_line(&found)));
    }
    let has = |key: &str| probe.found.iter().any(|(found, ..)| *found == key);
    if !has("response") && !has("text") {
        say("response  no path: the whole reply is the response");
    }
    if !has("calls") {
        say("calls     no path: the calls are not known");
    }
    let is_missing = |(key, _, found): &(&str, String, Vec<Value>)| *key == "response" && found.is_empty();
    if probe.found.iter().any(is_missing) { Exit::Failures } else { Exit::Success }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// Sends the prompt as the first message of a conversation, and displays the turn.
async fn ask(spec: AgentSpec, prompt: &str) -> anyhow::Result<Exit> {
    let (sender, mut events) = tokio::sync::mpsc::channel(64);
    let opening = Opening {
        attempt: 1,
        user_id: "user".into(),
        session_id: format!("evaltrail-{}", uuid::Uuid::new_v4()),
        app: spec.app().unwrap_or_default().to_string(),
        ..Opening::default()
    };
    let words = chat(spec, opening, sender);
    let _ = words.send(prompt.to_string()).await;
    let mut words = Some(words);
    let mut exit = Exit::Failures;
    while let Some(event) = events.recv().await {
        // After its only turn, the conversation ends: its session is deleted before the events end.
        if matches!(event, ChatEvent::Turn(..) | ChatEvent::Broke(..)) {
            words.take();
        }
        match event {
            ChatEvent::Turn(turn, state) => {
                show_turn(&turn);
                if let Some(state) =
                    state.filter(|state| state.as_object().is_some_and(|state| !state.is_empty()))
                {
                    say(&format!("state     {}", clean_line(&value_text(&state))));
                }
                exit = Exit::Success;
            }
            ChatEvent::Broke(why, turn) => {
                if let Some(turn) = turn {
                    show_turn(&turn);
                }
                tell(&clean(&format!("errored: {why}")));
            }
            ChatEvent::Opened | ChatEvent::Progress(_) => {}
        }
    }
    Ok(exit)
}

fn show_turn(turn: &Invocation) {
    say("");
    for (at, call) in turn.calls().into_iter().enumerate() {
        let args = call.args.clone().map(|args| value_text(&Value::Object(args))).unwrap_or_default();
        say(&clean_line(&format!("calls     {} {args}", call.name)));
        if let Some(response) = turn.trajectory.response_to(at) {
            say(&clean_line(&format!("          ← {}", value_text(&response.response))));
        }
    }
    if !turn.trajectory.is_known() {
        say("calls     the agent does not report all its tool calls: they are not scored");
    }
    if let Some(words) = turn.end.words() {
        say(&format!("end       {words}"));
    }
    let response = turn.final_response.as_ref().map(|content| content.spoken_text()).unwrap_or_default();
    let response = if response.is_empty() { "(no text)".to_string() } else { clean(&response).into_owned() };
    say(&format!("response  {}", response.replace('\n', "\n          ")));
    if let Some(seconds) = turn.durations.total {
        say(&format!("took      {seconds} s"));
    }
}
