//! Actions that need the user's permission because the files of the opened folder cause them: starting programs,
//! sending data, using keys.

use super::plan::PreparedRun;
use crate::config::is_agent_address;
use crate::judge::{ApiKeys, Judges};
use crate::store::{Fingerprint, fingerprint};
use crate::workspace::{Workspace, dotenv_near};
use evaltrail_core::domain::{
    AgentSpec, Conversation, CustomMetric, JudgeSpec, PlannedSet, ProgramSpec, ToolsSpec,
    address_without_secrets, agent_without_secrets,
};
use evaltrail_core::formats::SetFile;
use evaltrail_core::metrics::{JudgeOptions, JudgedMetric};
use std::collections::{BTreeSet, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use url::Url;

/// The question whether to allow an action.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustQuestion {
    /// The kind of action.
    pub action: TrustAction,
    /// The exact program, destination or keys.
    pub command: String,
    /// The folder in which the program would run, or whose files name the destination or contain the keys.
    pub folder: String,
    /// The fingerprint under which the permission is stored.
    pub fingerprint: String,
    /// The destination that is allowed after a yes, as [`Judges`] names it; `None` for other actions than [`TrustAction::Send`].
    pub destination: Option<String>,
}

/// An action that needs permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustAction {
    /// Start a program.
    Start,
    /// Send the cases to an agent at an address.
    Connect,
    /// Send the responses of agents, and a key, to an address.
    Send,
    /// Use the keys in a file. Without permission the run continues, and metrics that need the keys are not evaluated.
    Use,
}

impl TrustAction {
    /// The first line of the question.
    pub fn describe(self) -> &'static str {
        match self {
            TrustAction::Start => {
                "The files of this folder specify a program for evaltrail to start:"
            }
            TrustAction::Connect => "The files of this folder specify the address of the agent:",
            TrustAction::Send => "The files of this folder specify the address of the judge:",
            TrustAction::Use => {
                "The judge needs variables that are not set but that a .env file contains:"
            }
        }
    }
}

/// The questions for a plan: the programs that it would start, and where it would send data. There is none for an agent
/// that is given on the command line.
pub fn trust_questions(
    workspace: &Workspace,
    prepared: &PreparedRun,
    asked: Option<&str>,
) -> Vec<TrustQuestion> {
    let mut questions: Vec<TrustQuestion> = Vec::new();
    let plan = &prepared.plan;
    for set in &plan.sets {
        if !asked.is_some_and(is_agent_address) {
            questions.extend(agent_questions(workspace, &set.agent));
            questions.extend(mcp_questions(workspace, &set.tools));
        }
        for custom in set
            .criteria
            .iter()
            .filter_map(|criterion| criterion.custom.as_ref())
        {
            if let (Some(program), Some(line)) = (custom.program(), custom.command_line(is_set)) {
                let module = match custom {
                    CustomMetric::Python { function, .. } if function.ends_with(".py") => {
                        Some(function.as_str())
                    }
                    CustomMetric::Python { function, .. } => {
                        function.rsplit_once('.').map(|(module, _)| module)
                    }
                    _ => None,
                };
                questions.push(start_question(workspace, line, &program.program, module));
            }
        }
    }
    let models = all_models(prepared);
    if !models.is_empty() {
        questions.extend(judge_questions(workspace, &plan.judge, &models));
    }
    let mut seen = HashSet::new();
    questions.retain(|question| seen.insert(question.fingerprint.clone()));
    questions
}

/// The questions for an agent: its program, the program of its server, or its address with the variables whose values it
/// is sent, and the program that prints its token.
pub fn agent_questions(workspace: &Workspace, agent: &AgentSpec) -> Vec<TrustQuestion> {
    let mut questions = Vec::new();
    if let Some(url) = agent.address() {
        let variables = agent.sent_variables().join(", ");
        let token = agent
            .token_command()
            .map(|command| format!("the token that `{}` prints", command.argv.join(" ")));
        let variables =
            (!variables.is_empty()).then(|| format!("{variables} from your environment"));
        let given: Vec<String> = variables.into_iter().chain(token).collect();
        let with = if given.is_empty() {
            String::new()
        } else {
            format!(" with {}", given.join(" and "))
        };
        questions.push(connect_question(
            workspace,
            &format!("send the cases{with} to "),
            url,
        ));
    }
    let programs = agent.program().into_iter().chain(agent.token_command());
    questions.extend(programs.map(|program| match agent {
        AgentSpec::Python { function, .. } => python_question(workspace, function, program),
        AgentSpec::Server(_) if !agent.sent_variables().is_empty() => {
            let sent = agent.sent_variables().join(", ");
            let line = format!(
                "{}, and send it {sent} from your environment",
                program.command_line(is_set)
            );
            start_question(workspace, line, program, None)
        }
        AgentSpec::Adk { .. }
        | AgentSpec::Server(_)
        | AgentSpec::Command(_)
        | AgentSpec::Saved
        | AgentSpec::PriorAttempts
        | AgentSpec::Replay { .. } => {
            start_question(workspace, program.command_line(is_set), program, None)
        }
    }));
    questions
}

/// The questions about the MCP servers to which evaltrail passes calls of tools on.
fn mcp_questions(workspace: &Workspace, tools: &ToolsSpec) -> Vec<TrustQuestion> {
    let urls = tools
        .mcp
        .values()
        .filter_map(|source| source.url.as_deref());
    urls.map(|url| {
        connect_question(
            workspace,
            "pass calls of tools on to the MCP server at ",
            url,
        )
    })
    .collect()
}

/// The question for an address. The permission applies to the whole address, of which secrets are not shown.
fn connect_question(workspace: &Workspace, what: &str, url: &str) -> TrustQuestion {
    let line = format!("{what}{}", used_address(url, agent_without_secrets));
    let whole = format!("{what}{}", used_address(url, str::to_string));
    question(
        workspace,
        TrustAction::Connect,
        line,
        &[whole],
        &workspace.root,
    )
}

/// The question for a Python agent. The permission applies to the current content of its module.
fn python_question(workspace: &Workspace, function: &str, program: &ProgramSpec) -> TrustQuestion {
    let line = format!("{}, which imports {function}", program.command_line(is_set));
    let module = function
        .rsplit_once(':')
        .map_or(function, |(module, _)| module);
    if !module.ends_with(".py") {
        return start_question(workspace, line, program, Some(module));
    }
    // A file among the arguments counts with its content.
    let mut with_file = program.clone();
    with_file.argv.push(module.to_string());
    start_question(workspace, line, &with_file, None)
}

/// An address as it is used, not as it is written: an internationalized domain name in its ASCII form, and the part
/// before an `@`, which may look like a host, marked as the user. `shown` is applied to the rest.
fn used_address(url: &str, shown: impl Fn(&str) -> String) -> String {
    let Ok(mut parsed) = Url::parse(url) else {
        return shown(url);
    };
    let user = parsed.username().to_string();
    let _ = parsed
        .set_username("")
        .and_then(|()| parsed.set_password(None));
    match user.is_empty() {
        true => shown(parsed.as_str()),
        false => format!("{} as the user {user:?}", shown(parsed.as_str())),
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some()
}

/// The permission applies to these arguments and environment variables, and to the current content of the scripts among
/// the arguments.
fn start_question(
    workspace: &Workspace,
    line: String,
    program: &ProgramSpec,
    module: Option<&str>,
) -> TrustQuestion {
    let mut words = program.argv.clone();
    words.push(line.clone());
    words.extend(program.env.iter().cloned());
    words.extend(content_of_scripts(&workspace.root, program, module));
    question(workspace, TrustAction::Start, line, &words, &program.cwd)
}

/// The content of each file of the workspace that a command names: the program, a script, `-m` and a module, or the
/// module of a function. Files that those import or start are not included.
fn content_of_scripts(root: &Path, program: &ProgramSpec, module: Option<&str>) -> Vec<String> {
    let after_m = program
        .argv
        .windows(2)
        .filter(|pair| pair[0] == "-m")
        .map(|pair| pair[1].as_str());
    let modules = after_m.chain(module).flat_map(|name| {
        let path = name.replace('.', "/");
        [
            name.to_string(),
            format!("{path}.py"),
            format!("{path}/__init__.py"),
            format!("{path}/__main__.py"),
        ]
    });
    let root = dunce::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    let named = program.argv.iter().cloned().chain(modules);
    let inside = named.filter_map(|word| {
        let path = dunce::canonicalize(program.cwd.join(word)).ok()?;
        (path.is_file() && path.starts_with(&root)).then_some(path)
    });
    inside
        .map(|path| hash_of_file(&path).unwrap_or_else(|error| error.to_string()))
        .collect()
}

fn hash_of_file(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Fingerprint::default();
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hash.finish()),
            count => hash.update(&piece[..count]),
        }
    }
}

/// The questions for the destinations of the judge that the folder configures, and of these models.
pub fn judge_questions(
    workspace: &Workspace,
    judge: &JudgeSpec,
    models: &[String],
) -> Vec<TrustQuestion> {
    send_questions(workspace, judge, models, Judges::SENDS)
}

/// Like [`judge_questions`], for a model that writes cases. It is sent something else, so it needs permissions of its own.
pub fn writer_questions(
    workspace: &Workspace,
    judge: &JudgeSpec,
    models: &[String],
) -> Vec<TrustQuestion> {
    let sends = "send the instruction and tools of the agent, and messages of cases, to ";
    send_questions(workspace, judge, models, sends)
}

/// The questions whether to send something, such as "send what agents say to ", to these destinations.
fn send_questions(
    workspace: &Workspace,
    judge: &JudgeSpec,
    models: &[String],
    sends: &str,
) -> Vec<TrustQuestion> {
    if Judges::is_recorded(judge) {
        return Vec::new();
    }
    let of_models = models
        .iter()
        .filter_map(|model| Judges::destination_of_model(model));
    // The permission applies to the whole address, of which secrets are not shown.
    let with_secrets = judge
        .url
        .clone()
        .filter(|url| address_without_secrets(url) != *url);
    let asked = |destination: String, secret: Option<String>| {
        let name = destination.strip_prefix(Judges::SENDS);
        let line = format!("{sends}{}", name.unwrap_or(&destination));
        let words: Vec<String> = std::iter::once(line.clone()).chain(secret).collect();
        TrustQuestion {
            destination: Some(destination),
            ..question(workspace, TrustAction::Send, line, &words, &workspace.root)
        }
    };
    let of_folder = Judges::destination(judge).map(|line| asked(line, with_secrets));
    of_folder
        .into_iter()
        .chain(of_models.map(|line| asked(line, None)))
        .collect()
}

/// The destinations that are allowed when all of these questions were answered with yes.
pub fn allowed_destinations(questions: &[TrustQuestion]) -> BTreeSet<String> {
    let destinations = questions
        .iter()
        .filter_map(|question| question.destination.clone());
    destinations.collect()
}

/// Keys from a `.env` file, and the question whether to use them.
#[derive(Clone, Debug)]
pub struct DotenvKeyQuestion {
    /// The question.
    pub question: TrustQuestion,
    /// The keys to use if it is allowed.
    pub keys: ApiKeys,
}

/// Keys that are not set, that a run needs, and that are in a `.env` file which ADK would load for one of the agents.
pub fn offered_keys(workspace: &Workspace, prepared: &PreparedRun) -> Option<DotenvKeyQuestion> {
    let plan = &prepared.plan;
    let models = all_models(prepared);
    let folder = |set: &PlannedSet| {
        set.app_dir
            .clone()
            .or_else(|| set.path.parent().map(Path::to_path_buf))
            .unwrap_or_default()
    };
    missing_keys(
        workspace,
        &plan.judge,
        &models,
        plan.sets.iter().map(folder),
    )
}

/// Keys that are not set, that these models need, and that are in the `.env` file for one of these folders.
pub fn missing_keys(
    workspace: &Workspace,
    judge: &JudgeSpec,
    models: &[String],
    folders: impl Iterator<Item = PathBuf>,
) -> Option<DotenvKeyQuestion> {
    if models.is_empty() || Judges::is_recorded(judge) {
        return None;
    }
    let mut seen = HashSet::new();
    let mut files = folders
        .filter(|folder| seen.insert(folder.clone()))
        .filter_map(|folder| {
            let (file, text) = dotenv_near(&folder)?;
            ApiKeys::of_file(&file, &text, judge).needed_for(judge, models)
        });
    let (keys, helped) = files.next()?;
    let words = keys.describe();
    let command = format!(
        "use {} of {} to call {}",
        words.join(", "),
        keys.file().display(),
        helped.join(", ")
    );
    let folder = keys.file().parent().unwrap_or(&workspace.root);
    // The fingerprint covers the names, and values that are not secret. A new value of a key needs no new permission.
    let question = question(workspace, TrustAction::Use, command, &words, folder);
    Some(DotenvKeyQuestion { question, keys })
}

/// The models that a run calls, without duplicates.
fn all_models(prepared: &PreparedRun) -> Vec<String> {
    let of_sets = sets_with_users(prepared).into_iter().enumerate();
    let models: BTreeSet<String> = of_sets
        .flat_map(|(set, plays)| models(prepared, set, plays))
        .collect();
    models.into_iter().collect()
}

/// The models that the cases of a set need.
fn models(prepared: &PreparedRun, set: usize, plays_users: bool) -> Vec<String> {
    let (plan, planned) = (&prepared.plan, &prepared.plan.sets[set]);
    let judges = Judges::new(&plan.judge, None);
    let judged = planned.criteria.iter().filter_map(|criterion| {
        let metric =
            JudgedMetric::new(criterion, plan.judge.reading, plan.judge.samples).ok()??;
        Some(judges.judge_name(&metric))
    });
    let options = JudgeOptions {
        model: planned.user.model.clone(),
        ..JudgeOptions::default()
    };
    judged
        .chain(plays_users.then(|| judges.model_for(&options)))
        .collect()
}

/// For each set, whether a model simulates the user of any planned case.
fn sets_with_users(prepared: &PreparedRun) -> Vec<bool> {
    let plan = &prepared.plan;
    let mut found = vec![false; plan.sets.len()];
    for case in plan.cases.iter() {
        let has_agent = !matches!(
            plan.sets[case.set].agent,
            AgentSpec::Saved | AgentSpec::PriorAttempts
        );
        if !found[case.set] && has_agent {
            found[case.set] = may_be_scenario(&prepared.sets[case.set], case.index);
        }
    }
    found
}

/// Whether a case may be a scenario. A case that cannot be read may be one.
fn may_be_scenario(file: &SetFile, at: usize) -> bool {
    // A text without these characters cannot contain the key, in any escaped form.
    let may_be = |text: &str| text.contains("cenario") || text.contains("\\u");
    let is_scenario = || {
        file.case(at)
            .is_ok_and(|case| matches!(case.conversation, Conversation::Scenario(_)))
    };
    file.case_text(at)
        .is_none_or(|text| may_be(&text) && is_scenario())
}

fn question(
    workspace: &Workspace,
    action: TrustAction,
    command: String,
    words: &[String],
    cwd: &Path,
) -> TrustQuestion {
    let folder = cwd.display().to_string();
    let root = workspace.root.display().to_string();
    let joined = words.join("\0");
    let mut parts = vec![root.as_bytes(), folder.as_bytes(), joined.as_bytes()];
    // A permission for one kind of action does not apply to another kind with the same text.
    match action {
        TrustAction::Start => {}
        TrustAction::Connect => parts.push(b"connect"),
        TrustAction::Send => parts.push(b"send"),
        TrustAction::Use => parts.push(b"use"),
    }
    let fingerprint = fingerprint(&parts);
    TrustQuestion {
        action,
        command,
        folder,
        fingerprint,
        destination: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::AgentServer;

    #[test]
    fn url_approval_does_not_apply_to_program() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let url = Some("https://judge.example/v1".to_string());
        let judge = JudgeSpec {
            url,
            from_folder: true,
            ..JudgeSpec::standard()
        };
        let send = judge_questions(&workspace, &judge, &[]).remove(0);
        let argv = vec![send.command.clone()];
        let agent = AgentSpec::Command(ProgramSpec::new(argv, workspace.root.clone()));
        let start = agent_questions(&workspace, &agent).remove(0);
        assert_eq!(
            (&start.command, &start.folder),
            (&send.command, &send.folder)
        );
        assert_ne!(start.fingerprint, send.fingerprint);
    }

    #[test]
    fn writer_needs_a_permission_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let judge = JudgeSpec {
            url: Some("https://judge.example/v1?key=canary".into()),
            from_folder: true,
            ..JudgeSpec::standard()
        };
        let models = ["vertex_ai/projects/p/locations/l/endpoints/1".to_string()];
        let (judged, written) = (
            judge_questions(&workspace, &judge, &models),
            writer_questions(&workspace, &judge, &models),
        );
        assert_eq!((judged.len(), written.len()), (2, 2));
        for (judges, writes) in judged.iter().zip(&written) {
            let sent = "send the instruction and tools of the agent, and messages of cases, to ";
            let to = writes.command.strip_prefix(sent).unwrap();
            assert_eq!(judges.command, format!("send what agents say to {to}"));
            assert_ne!(judges.fingerprint, writes.fingerprint);
            assert!(!writes.command.contains("canary"));
        }
        let allowed = allowed_destinations(&written);
        let wanted = Judges::destination(&judge)
            .into_iter()
            .chain(Judges::destination_of_model(&models[0]));
        assert_eq!(allowed, wanted.collect());
        assert_eq!(allowed, allowed_destinations(&judged));
    }

    /// An address that a person gives is used without a question, so it must not be a name of the folder's.
    #[test]
    fn an_address_is_never_an_agent_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "cmd:./agent.sh",
            "adk+http://127.0.0.1:1/app",
            "replay:r.jsonl",
        ];
        let table = |name: &&str| {
            format!("[agents.\"{name}\"]\nkind = \"command\"\ncommand = \"planted\"\n")
        };
        let config: String = names.iter().map(table).collect();
        std::fs::write(folder.path().join("evaltrail.toml"), config).unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        assert_eq!(workspace.config.agents.len(), names.len());
        let set = crate::workspace::SetPath::of_file(
            &folder.path().join("s.evalset.json"),
            &workspace.root,
        );
        for name in names {
            let (_, agent) =
                crate::workspace::agent_for(&workspace, &set, None, Some(name)).unwrap();
            let program = agent
                .program()
                .map(|program| program.argv.clone())
                .unwrap_or_default();
            assert!(
                !program.contains(&"planted".to_string()),
                "{name} started {program:?}"
            );
        }
    }

    #[test]
    fn changed_script_needs_permission_again() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let script = folder.path().join("agent.sh");
        std::fs::write(&script, "echo 1").unwrap();
        let asked = |argv: &[&str]| {
            let argv = argv.iter().map(|word| word.to_string()).collect();
            let agent = AgentSpec::Command(ProgramSpec::new(argv, workspace.root.clone()));
            agent_questions(&workspace, &agent).remove(0).fingerprint
        };
        std::fs::create_dir(folder.path().join("pack")).unwrap();
        let module = folder.path().join("pack/agent.py");
        std::fs::write(&module, "1").unwrap();
        let (by_path, by_module, other) = (
            asked(&["sh", "agent.sh"]),
            asked(&["python3", "-m", "pack.agent"]),
            asked(&["sh", "other.sh"]),
        );
        std::fs::write(&script, "echo 2").unwrap();
        assert_ne!(asked(&["sh", "agent.sh"]), by_path);
        assert_eq!(asked(&["python3", "-m", "pack.agent"]), by_module);
        std::fs::write(&module, "2").unwrap();
        assert_ne!(asked(&["python3", "-m", "pack.agent"]), by_module);
        assert_eq!(asked(&["sh", "other.sh"]), other);
    }

    #[test]
    fn approval_covers_environment_variables() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let program = ProgramSpec::new(vec!["agent".into()], workspace.root.clone());
        let greedy = ProgramSpec {
            env: vec!["PATH".into(), "NOT_SET_ANYWHERE".into()],
            ..program.clone()
        };
        let ask = |program| agent_questions(&workspace, &AgentSpec::Command(program)).remove(0);
        let (plain, given) = (ask(program), ask(greedy));
        assert_eq!(
            (plain.command.as_str(), given.command.as_str()),
            ("agent", "agent (with PATH from your environment)")
        );
        assert_ne!(plain.fingerprint, given.fingerprint);
    }

    #[test]
    fn question_shows_the_address_as_used() {
        let shown = |url: &str| used_address(url, agent_without_secrets);
        assert_eq!(
            shown("http://me:pass@h/x?key=abc&y=1"),
            "http://h/x?key=…&y=1 as the user \"me\""
        );
        assert_eq!(
            shown("http://xn--e1afmkfd.example"),
            "http://xn--e1afmkfd.example/"
        );
        assert_eq!(
            shown("http://g\u{43e}\u{43e}gle.com/x"),
            "http://xn--ggle-55da.com/x"
        );
        assert_eq!(
            shown("http://google.com@evil.example/"),
            "http://evil.example/ as the user \"google.com\""
        );
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let server = AgentServer::Url("http://127.0.0.1:1".into());
        let asked = agent_questions(
            &workspace,
            &AgentSpec::Adk {
                server,
                app: "a".into(),
                agent_name: None,
            },
        )
        .remove(0);
        assert_eq!(
            (asked.action, asked.command.as_str()),
            (
                TrustAction::Connect,
                "send the cases to http://127.0.0.1:1/"
            )
        );
    }
}
