//! What judges receive about an agent, its instructions and tools, is what `adk eval` sends them.

use crate::common::judge::{JudgeDouble, KEY, Say, with_keys};
use crate::common::{Server, adk_or_skip, both, copy_folder, evaltrail, output, root};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// The agents, and the words by which their model calls a tool.
const AGENTS: [(&str, &str); 3] = [
    ("librarian", "find_book"),
    ("concierge", "open_door"),
    ("team", "transfer_to_agent"),
];
/// The cases of each agent.
const CASES: usize = 20;

/// What a prompt tells the judge about the agent in a turn.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Details {
    user: String,
    instructions: String,
    tools: String,
}

/// A judge that finds everything right. Its replies are usable for rubrics and for sentences.
fn judge() -> JudgeDouble {
    JudgeDouble::start(|_| {
        let rubric = "ID: r\nProperty: ok\nRationale: fine\nVerdict: yes";
        let sentence = "<sentence>You wrote it.</sentence>\nlabel: supported\nrationale: fine";
        Say::Text(format!("{rubric}\n{sentence}"))
    })
}

fn write_set(folder: &Path, app: &str, tool: &str) {
    let case = |number: usize| {
        let called = if number.is_multiple_of(2) {
            tool
        } else {
            "nothing"
        };
        let turn = |turn: usize| {
            json!({"user_content": {"role": "user", "parts": [{"text": format!("case {app}{number} turn {turn} {called} please")}]},
                   "final_response": {"role": "model", "parts": [{"text": "x"}]}})
        };
        json!({"eval_id": format!("{app}{number}"), "conversation": [turn(1), turn(2)],
               "session_input": {"app_name": app, "user_id": "u", "state": {"reader": format!("Reader {number}")}}})
    };
    let set = json!({"eval_set_id": app, "name": app, "eval_cases": (0..CASES).map(case).collect::<Vec<_>>()});
    std::fs::write(folder.join(app).join("all.evalset.json"), set.to_string()).unwrap();
    let options = json!({"judge_model": "gemini-x", "num_samples": 1});
    let rubric = json!({"rubric_id": "r", "rubric_content": {"text_property": "ok"}});
    let criteria = json!({"criteria": {
        "rubric_based_final_response_quality_v1": {"threshold": 0.5, "judge_model_options": options, "rubrics": [rubric]},
        "hallucinations_v1": {"threshold": 0.5, "judge_model_options": options},
    }});
    std::fs::write(
        folder.join(app).join("test_config.json"),
        criteria.to_string(),
    )
    .unwrap();
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let text = &text[text.rfind(begin)? + begin.len()..];
    Some(&text[..text.find(end)?])
}

/// The details in a prompt of ADK; `None` for a prompt without them.
fn of_adk(prompt: &str) -> Option<(&'static str, Details)> {
    let details = |user: &str, instructions: &str, tools: &str| Details {
        user: user.trim().into(),
        instructions: instructions.trim().into(),
        tools: tools.trim().into(),
    };
    if let Some(instructions) = between(
        prompt,
        "<developer_instructions>",
        "</developer_instructions>",
    ) {
        let tools = between(prompt, "<available_tools>", "</available_tools>")?;
        return Some((
            "rubrics",
            details(
                between(prompt, "<main_prompt>", "</main_prompt>")?,
                instructions,
                tools,
            ),
        ));
    }
    let instructions = between(prompt, "Developer instructions:\n", "User prompt:\n")?;
    let user = between(prompt, "User prompt:\n", "Tool definitions:\n")?;
    let tools = between(prompt, "Tool definitions:\n", "Grounding metadata:\n")?;
    Some(("sentences", details(user, instructions, tools)))
}

/// The details in a prompt of evaltrail.
fn of_ours(prompt: &str) -> Option<(&'static str, Details)> {
    let part = |name: &str| {
        let from = prompt.rfind(&format!("[BEGIN {name} "))?;
        let text = &prompt[from..];
        Some(
            text[text.find('\n')?..text.find("[END ")?]
                .trim()
                .to_string(),
        )
    };
    let kind = if part("properties").is_some() {
        "rubrics"
    } else {
        "sentences"
    };
    let details = Details {
        user: part("user_prompt")?,
        instructions: part("developer_instructions")?,
        tools: part("available_tools")?,
    };
    Some((kind, details))
}

fn received(
    judge: &JudgeDouble,
    read: fn(&str) -> Option<(&'static str, Details)>,
) -> Vec<(&'static str, Details)> {
    let mut found: Vec<_> = judge
        .questions()
        .iter()
        .filter_map(|asked| read(&asked.prompt))
        .collect();
    found.sort();
    found
}

fn workspace() -> tempfile::TempDir {
    let work = tempfile::tempdir().unwrap();
    copy_folder(&root().join("fixtures/judge_details"), work.path());
    AGENTS
        .iter()
        .for_each(|(app, tool)| write_set(work.path(), app, tool));
    std::fs::write(
        work.path().join("evaltrail.toml"),
        "[judge]\ncompat = \"adk\"\n",
    )
    .unwrap();
    work
}

/// What the judge receives from `adk eval`, for all agents.
fn of_adk_eval(adk: &Path, work: &Path) -> Vec<(&'static str, Details)> {
    let judge = judge();
    for (app, _) in AGENTS {
        let mut command = Command::new(adk);
        command
            .arg("eval")
            .arg(app)
            .arg(format!("{app}/all.evalset.json"));
        command
            .arg("--config_file_path")
            .arg(format!("{app}/test_config.json"))
            .current_dir(work);
        with_keys(&mut command);
        judge.answers_for(&mut command);
        let ran = output(&mut command);
        assert!(both(&ran).contains("Tests passed"), "{}", both(&ran));
    }
    received(&judge, of_adk)
}

fn run_ours(work: &Path, path: &str, judge: &JudgeDouble, agent: Option<&str>) -> Value {
    let report = work.join("report.json");
    let mut command = evaltrail(&work.join("home"));
    with_keys(&mut command);
    judge.answers_for(&mut command);
    command.current_dir(work).env("PATH", path).args([
        "run",
        ".",
        "--trust",
        "--no-cache",
        "-j",
        "8",
    ]);
    if let Some(agent) = agent {
        command.args(["--agent", agent, "--filter", "set:all"]);
    }
    let ran = output(
        command
            .arg("--report")
            .arg(format!("json={}", report.display())),
    );
    assert!(matches!(ran.status.code(), Some(0 | 1)), "{}", both(&ran));
    serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap()
}

/// 60 cases with two turns each: of agents with instructions as written, computed, with values of the state, with a toolset
/// and with sub-agents. evaltrail starts the server.
#[test]
fn judge_receives_same_details_as_adk_eval() {
    let Some(adk) = adk_or_skip("judge_receives_same_details_as_adk_eval") else {
        return;
    };
    let work = workspace();
    let theirs = of_adk_eval(&adk, work.path());
    let path = format!(
        "{}:{}",
        adk.parent().unwrap().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let judge = judge();
    let report = run_ours(work.path(), &path, &judge, None);
    assert_eq!(
        report["summary"]["cases"],
        json!(AGENTS.len() * CASES),
        "{report}"
    );
    let ours = received(&judge, of_ours);
    assert!(
        theirs.len() >= 2 * 2 * AGENTS.len() * CASES,
        "{} prompts of ADK",
        theirs.len()
    );
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
    assert!(!report.to_string().contains(KEY));
}

/// A server that evaltrail did not start describes its agents: the judge receives that, and the result says so.
#[test]
fn server_described_agent_is_noted_in_result() {
    let Some(adk) = adk_or_skip("server_described_agent_is_noted_in_result") else {
        return;
    };
    let work = workspace();
    for (app, _) in AGENTS.iter().filter(|(app, _)| *app != "librarian") {
        std::fs::remove_file(work.path().join(app).join("all.evalset.json")).unwrap();
    }
    let server = Server::start(&adk, "api_server", work.path());
    let judge = judge();
    let agent = format!("adk+http://127.0.0.1:{}/librarian", server.port);
    let report = run_ours(work.path(), "/usr/bin:/bin", &judge, Some(&agent));
    let (_, details) = received(&judge, of_ours).remove(0);
    assert_eq!(
        details.instructions,
        "Help {reader} to find books. Opening hours: 9 to 17.\n\nYou are an agent. Your internal name is \"librarian\". \
         The description about you is \"Knows where the books are.\"."
    );
    let tools: Value = serde_json::from_str(&details.tools).unwrap();
    let declared = &tools["tool_declarations"]["librarian"][0]["function_declarations"][0];
    assert_eq!(declared["name"], "find_book", "{tools}");
    let notes = &report["cases"][0]["metrics"][0]["judge"]["notes"];
    assert!(
        notes[0]
            .as_str()
            .unwrap()
            .contains("as its server describes them"),
        "{notes}"
    );
}
