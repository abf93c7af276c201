//! What a folder's files would make evaltrail do: run programs, send data, use keys. A person must allow it first.

use super::plan::Prepared;
use crate::domain::{AdkServer, AgentSpec, Conversation, JudgeSpec, PlannedSet};
use crate::formats::SetFile;
use crate::judge::{Judges, Keys};
use crate::metrics::{JudgeOptions, JudgedMetric};
use crate::store::fingerprint;
use crate::workspace::{Workspace, dotenv_near};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// Something that a folder's own files would make us do.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustQuestion {
    /// What kind of thing.
    pub deed: Deed,
    /// Exactly what would be run, where things would go, or which keys would be used.
    pub command: String,
    /// Where.
    pub folder: String,
    /// What is remembered when it is allowed.
    pub fingerprint: String,
}

/// What a folder's own files would make us do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Start a program.
    Start,
    /// Send what agents say, and a key, to an address.
    Send,
    /// Use keys of a file. Without them the run goes on, and what needs them is not evaluated.
    Use,
}

impl Deed {
    /// What it is, for the person who is asked.
    pub fn words(self) -> &'static str {
        match self {
            Deed::Start => "This folder's own files name a program that evaltrail would start:",
            Deed::Send => "This folder's own files say where the judge is:",
            Deed::Use => "The judge cannot be asked as things are, but could be with what a .env file holds:",
        }
    }
}

/// The programs that a plan would start, and where it would send things. An agent named on the command line is not
/// asked about.
pub fn trust_questions(
    workspace: &Workspace,
    prepared: &Prepared,
    asked: Option<&str>,
) -> Vec<TrustQuestion> {
    let mut questions: Vec<TrustQuestion> = Vec::new();
    let plan = &prepared.plan;
    for set in &plan.sets {
        if !asked.is_some_and(|asked| asked.starts_with("cmd:")) {
            questions.extend(agent_question(workspace, &set.agent));
        }
        for custom in set.criteria.iter().filter_map(|criterion| criterion.custom.as_ref()) {
            if let (Some(program), Some(line)) = (custom.program(), custom.command_line()) {
                let words: Vec<String> = program.argv.iter().cloned().chain([line.clone()]).collect();
                questions.push(question(workspace, Deed::Start, line, &words, &program.cwd));
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

/// The program that an agent is, or whose server is started.
pub fn agent_question(workspace: &Workspace, agent: &AgentSpec) -> Option<TrustQuestion> {
    match agent {
        AgentSpec::Command { argv, cwd } | AgentSpec::Adk { server: AdkServer::Start { argv, cwd }, .. } => {
            Some(question(workspace, Deed::Start, argv.join(" "), argv, cwd))
        }
        _ => None,
    }
}

/// Where a judge that the folder configures, and these models, would have data sent: to be allowed first.
pub fn judge_questions(workspace: &Workspace, judge: &JudgeSpec, models: &[String]) -> Vec<TrustQuestion> {
    if Judges::is_recorded(judge) {
        return Vec::new();
    }
    let of_models = models.iter().filter_map(|model| Judges::destination_of_model(model));
    Judges::destination(judge)
        .into_iter()
        .chain(of_models)
        .map(|line| question(workspace, Deed::Send, line.clone(), &[line], &workspace.root))
        .collect()
}

/// Where things may be sent when all of these questions were allowed. What was not asked about is not allowed.
pub fn allowed_destinations(questions: &[TrustQuestion]) -> BTreeSet<String> {
    let sends = questions.iter().filter(|question| question.deed == Deed::Send);
    sends.map(|question| question.command.clone()).collect()
}

/// Keys of a `.env` file, and the question whether they may be used.
#[derive(Clone, Debug)]
pub struct KeyOffer {
    /// What is asked.
    pub question: TrustQuestion,
    /// What is used when it is allowed.
    pub keys: Keys,
}

/// Keys that a run lacks and that a `.env` file has, which ADK would load for one of the agents.
pub fn offered_keys(workspace: &Workspace, prepared: &Prepared) -> Option<KeyOffer> {
    let plan = &prepared.plan;
    let models = all_models(prepared);
    let folder = |set: &PlannedSet| {
        set.app_dir.clone().or_else(|| set.path.parent().map(Path::to_path_buf)).unwrap_or_default()
    };
    keys_that_help(workspace, &plan.judge, &models, plan.sets.iter().map(folder))
}

/// Keys that these models lack and that a `.env` file has, seen from these folders.
pub fn keys_that_help(
    workspace: &Workspace,
    judge: &JudgeSpec,
    models: &[String],
    folders: impl Iterator<Item = PathBuf>,
) -> Option<KeyOffer> {
    if models.is_empty() || Judges::is_recorded(judge) {
        return None;
    }
    let mut seen = HashSet::new();
    let mut files = folders.filter(|folder| seen.insert(folder.clone())).filter_map(|folder| {
        let (file, text) = dotenv_near(&folder)?;
        Keys::of_file(&file, &text, judge).that_help(judge, models)
    });
    let (keys, helped) = files.next()?;
    let words = keys.words();
    let command =
        format!("use {} of {} to ask {}", words.join(", "), keys.file().display(), helped.join(", "));
    let folder = keys.file().parent().unwrap_or(&workspace.root);
    // The fingerprint covers names and values that are not secret: a new key is not asked about again.
    let question = question(workspace, Deed::Use, command, &words, folder);
    Some(KeyOffer { question, keys })
}

/// The models that a run asks, each once.
fn all_models(prepared: &Prepared) -> Vec<String> {
    let of_sets = sets_with_users(prepared).into_iter().enumerate();
    let models: BTreeSet<String> = of_sets.flat_map(|(set, plays)| models(prepared, set, plays)).collect();
    models.into_iter().collect()
}

/// The models that a set's cases ask.
fn models(prepared: &Prepared, set: usize, plays_users: bool) -> Vec<String> {
    let (plan, planned) = (&prepared.plan, &prepared.plan.sets[set]);
    let judges = Judges::new(&plan.judge, None);
    let judged = planned.criteria.iter().filter_map(|criterion| {
        let metric = JudgedMetric::of(criterion, plan.judge.reading, plan.judge.samples).ok()??;
        Some(judges.who(&metric))
    });
    let options = JudgeOptions { model: planned.user.model.clone(), ..JudgeOptions::default() };
    judged.chain(plays_users.then(|| judges.model_for(&options))).collect()
}

/// For each set, whether a model plays the user in some planned case.
fn sets_with_users(prepared: &Prepared) -> Vec<bool> {
    let plan = &prepared.plan;
    let mut found = vec![false; plan.sets.len()];
    for case in &plan.cases {
        let has_agent = !matches!(plan.sets[case.set].agent, AgentSpec::Saved | AgentSpec::Kept);
        if !found[case.set] && has_agent {
            found[case.set] = may_be_scenario(&prepared.sets[case.set], case.index);
        }
    }
    found
}

/// Whether a case is a scenario; one that cannot be read may be.
fn may_be_scenario(file: &SetFile, at: usize) -> bool {
    // Without these letters a text holds no such key, however it is escaped.
    let may_be = |text: &str| text.contains("cenario") || text.contains("\\u");
    let is_scenario =
        || file.case(at).is_ok_and(|case| matches!(case.conversation, Conversation::Scenario(_)));
    file.case_text(at).is_none_or(|text| may_be(&text) && is_scenario())
}

fn question(
    workspace: &Workspace,
    deed: Deed,
    command: String,
    words: &[String],
    cwd: &Path,
) -> TrustQuestion {
    let folder = cwd.display().to_string();
    let root = workspace.root.display().to_string();
    let joined = words.join("\0");
    let mut parts = vec![root.as_bytes(), folder.as_bytes(), joined.as_bytes()];
    // A yes to one kind of thing is none to another that is spelt the same.
    match deed {
        Deed::Start => {}
        Deed::Send => parts.push(b"send"),
        Deed::Use => parts.push(b"use"),
    }
    let fingerprint = fingerprint(&parts);
    TrustQuestion { deed, command, folder, fingerprint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_to_an_address_is_none_to_a_program_of_that_name() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let url = Some("https://judge.example/v1".to_string());
        let judge = JudgeSpec { url, from_folder: true, ..JudgeSpec::standard() };
        let send = judge_questions(&workspace, &judge, &[]).remove(0);
        let argv = vec![send.command.clone()];
        let agent = AgentSpec::Command { argv, cwd: workspace.root.clone() };
        let start = agent_question(&workspace, &agent).unwrap();
        assert_eq!((&start.command, &start.folder), (&send.command, &send.folder));
        assert_ne!(start.fingerprint, send.fingerprint);
    }
}
