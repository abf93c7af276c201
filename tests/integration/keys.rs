//! Keys in a `.env` file beside an agent, with the real binary: they are used only with permission, and never shown.

use crate::common::judge::{JudgeDouble, KEY, KEYS, Say};
use crate::common::{TestWorkspace, both, evaltrail, output, python, text};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const MATCH: &str = "final_response_match_v2";

/// An agent's folder with a data set, criteria with a judged metric, and a `.env` file.
fn workspace(model: &str, dotenv: &str, toml: &str) -> TestWorkspace {
    let row = json!({"eval_case_id": "a", "prompt": "a", "reference": "Done", "response": "Done"});
    let options = json!({"judge_model": model, "num_samples": 1});
    let criteria = json!({"criteria": {
        "response_match_score": 0.5,
        MATCH: {"threshold": 0.5, "judge_model_options": options},
    }});
    TestWorkspace::new(&[
        (".git/HEAD", String::new()),
        ("evaltrail.toml", toml.to_string()),
        ("garden/agent.py", "root_agent = None\n".into()),
        ("garden/__init__.py", "from . import agent\n".into()),
        ("garden/.env", dotenv.to_string()),
        ("garden/rows.jsonl", row.to_string() + "\n"),
        ("garden/test_config.json", criteria.to_string()),
    ])
}

/// `evaltrail score` of the set, without any key in the environment.
fn score(workspace: &TestWorkspace, judge: &JudgeDouble) -> Command {
    let mut command = evaltrail(&workspace.path().join("home"));
    judge.answers_for(&mut command);
    for name in KEYS.iter().chain(&[
        "GEMINI_API_KEY",
        "GOOGLE_OAUTH_ACCESS_TOKEN",
        "GROQ_API_KEY",
    ]) {
        command.env_remove(name);
    }
    command.args([
        "score",
        "garden/rows.jsonl",
        "--config",
        "garden/test_config.json",
        "--json",
        "-q",
    ]);
    command.current_dir(workspace.path());
    command
}

/// Runs a command. Returns the status of the judged metric, the exit code and the standard error output.
fn scored(command: &mut Command) -> (String, i32, String) {
    let ran = output(command);
    let report: Value =
        serde_json::from_str(&text(&ran)).unwrap_or_else(|_| panic!("{}", both(&ran)));
    let metrics = report["cases"][0]["metrics"].as_array().unwrap();
    let found = metrics
        .iter()
        .find(|metric| metric["metric"] == MATCH)
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    (
        found["status"].as_str().unwrap().to_string(),
        ran.status.code().unwrap(),
        told,
    )
}

#[test]
fn dotenv_key_is_used_only_with_trust() {
    let judge = JudgeDouble::agreeing();
    let workspace = workspace("gemini-x", &format!("export GOOGLE_API_KEY='{KEY}'\n"), "");
    let (status, code, told) = scored(&mut score(&workspace, &judge));
    assert_eq!((status.as_str(), code), ("not_evaluated", 1), "{told}");
    assert!(
        told.contains("needs GOOGLE_API_KEY")
            && told.contains("garden/.env")
            && told.contains("--trust"),
        "{told}"
    );
    assert!(judge.seen.lock().unwrap().is_empty(), "nothing is asked");
    let (status, code, told) = scored(score(&workspace, &judge).arg("--trust"));
    assert_eq!((status.as_str(), code), ("passed", 0), "{told}");
    // The test double accepts no other key.
    judge.assert_requests_valid();
    assert_eq!(judge.questions().len(), 1);
    holds_no_key(workspace.path());
}

/// Asserts that no file below a folder contains the key, except `.env`.
fn holds_no_key(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => holds_no_key(&entry.path()),
            false if entry.file_name() == ".env" => {}
            false => {
                let bytes = std::fs::read(entry.path()).unwrap();
                assert!(
                    !String::from_utf8_lossy(&bytes).contains("canary"),
                    "{}",
                    entry.path().display()
                );
            }
        }
    }
}

#[test]
fn the_environment_goes_before_the_file() {
    let judge = JudgeDouble::agreeing();
    let workspace = workspace("openai/gpt-x", "OPENAI_API_KEY=another\n", "");
    let (status, _, told) = scored(score(&workspace, &judge).env("OPENAI_API_KEY", KEY));
    assert_eq!(status, "passed");
    assert!(
        !told.contains(".env"),
        "nothing is offered that is not needed: {told}"
    );
    judge.assert_requests_valid();
    // An exported empty variable takes precedence as well, as in ADK.
    let (status, _, told) = scored(
        score(&workspace, &judge)
            .env("OPENAI_API_KEY", "")
            .arg("--trust"),
    );
    assert_eq!(status, "not_evaluated");
    assert!(
        told.contains("needs a key") && !told.contains(".env"),
        "{told}"
    );
}

#[test]
fn nothing_but_keys_and_projects_is_taken() {
    let (judge, other) = (JudgeDouble::agreeing(), JudgeDouble::agreeing());
    let dotenv = format!(
        "OPENAI_API_KEY={KEY}\nOPENAI_BASE_URL={}/v1\nHTTPS_PROXY={}\n",
        other.url(),
        other.url()
    );
    let (status, ..) =
        scored(score(&workspace("openai/gpt-x", &dotenv, ""), &judge).arg("--trust"));
    assert_eq!(
        (status.as_str(), other.seen.lock().unwrap().len()),
        ("passed", 0)
    );
    // A value with a reference to another variable could disclose that variable.
    let dotenv = "OPENAI_API_KEY=${AWS_SECRET_ACCESS_KEY}\n";
    let (status, _, told) =
        scored(score(&workspace("openai/gpt-x", dotenv, ""), &judge).arg("--trust"));
    assert_eq!(status, "not_evaluated");
    assert!(!told.contains(".env"), "{told}");
    // A project is not a secret and is shown.
    let dotenv = format!(
        "CLOUDSDK_AUTH_ACCESS_TOKEN={KEY}\nGOOGLE_CLOUD_PROJECT=p\nGOOGLE_CLOUD_LOCATION=l\n"
    );
    let workspace = workspace("vertex_ai/gemini-x", &dotenv, "");
    let without = |command: &mut Command| {
        scored(
            command
                .env_remove("GOOGLE_CLOUD_PROJECT")
                .env_remove("GOOGLE_CLOUD_LOCATION"),
        )
    };
    let (_, _, told) = without(&mut score(&workspace, &judge));
    assert!(
        told.contains("GOOGLE_CLOUD_PROJECT=p") && !told.contains("canary"),
        "{told}"
    );
    assert_eq!(
        without(score(&workspace, &judge).arg("--trust")).0,
        "passed"
    );
    judge.assert_requests_valid();
}

#[test]
fn custom_key_name_is_read_from_dotenv() {
    let judge = JudgeDouble::agreeing();
    let toml = format!(
        "[judge]\nkind = \"openai\"\nmodel = \"gpt-x\"\nbase_url = \"{}/v1\"\napi_key_env = \"JUDGE_KEY\"\n",
        judge.url()
    );
    let workspace = workspace("gpt-x", &format!("JUDGE_KEY={KEY}\n"), &toml);
    let (status, _, told) = scored(score(&workspace, &judge).arg("--trust"));
    assert_eq!(status, "passed", "{told}");
    judge.assert_requests_valid();
}

#[test]
fn dotenv_can_be_disabled_and_stops_at_repo() {
    let judge = JudgeDouble::agreeing();
    let workspace = workspace("gemini-x", "", "");
    let outer = workspace.path().join("outer");
    std::fs::create_dir_all(outer.join("repository/.git")).unwrap();
    std::fs::write(outer.join(".env"), format!("GOOGLE_API_KEY={KEY}\n")).unwrap();
    std::fs::remove_file(workspace.path().join("garden/.env")).unwrap();
    std::fs::rename(
        workspace.path().join("garden"),
        outer.join("repository/garden"),
    )
    .unwrap();
    let mut command = score(&workspace, &judge);
    command.current_dir(outer.join("repository")).arg("--trust");
    assert_eq!(scored(&mut command).0, "not_evaluated");
    std::fs::rename(outer.join(".env"), outer.join("repository/.env")).unwrap();
    for (variable, word) in [
        ("ADK_DISABLE_LOAD_DOTENV", "on"),
        ("PYTHON_DOTENV_DISABLED", "T"),
    ] {
        let (status, _, told) = scored(
            score(&workspace, &judge)
                .current_dir(outer.join("repository"))
                .arg("--trust")
                .env(variable, word),
        );
        assert_eq!(status, "not_evaluated", "{told}");
    }
    let mut command = score(&workspace, &judge);
    command.current_dir(outer.join("repository")).arg("--trust");
    assert_eq!(scored(&mut command).0, "passed");
    judge.assert_requests_valid();
}

/// The model that simulates the user of a scenario needs permission like a judge, also without judged metrics.
#[test]
fn unjudged_simulated_user_needs_permission() {
    let Some(python) = python() else { return };
    let judge = JudgeDouble::start(|_| Say::Text("All done. </finished>".into()));
    let case = |key: &str| {
        json!({"eval_id": "fly", key: {"starting_prompt": "Hi", "conversation_plan": "Book."},
               "session_input": {"app_name": "a", "user_id": "u"}})
    };
    let plain =
        json!({"eval_set_id": "s", "eval_cases": [case("conversation_scenario")]}).to_string();
    let camel =
        json!({"eval_set_id": "s", "eval_cases": [case("conversationScenario")]}).to_string();
    let escaped = plain.replace("_scenario", "_sc\\u0065nario");
    for set in [plain, camel, escaped] {
        let toml = format!(
            "[judge]\nkind = \"openai\"\nmodel = \"gpt-x\"\nbase_url = \"{}/v1\"\napi_key_env = \"OPENAI_API_KEY\"\n",
            judge.url()
        );
        let workspace = TestWorkspace::new(&[
            ("evaltrail.toml", toml),
            ("s.evalset.json", set),
            ("test_config.json", json!({"criteria": {"response_match_score": 0.0}}).to_string()),
            (
                "agent.py",
                "import json\nwhile input():\n    print(json.dumps({'response': 'ok'}), flush=True)\n".into(),
            ),
            (".env", format!("OPENAI_API_KEY={KEY}\n")),
        ]);
        let run = |args: &[&str]| {
            let mut command = evaltrail(&workspace.path().join("home"));
            command
                .env_remove("OPENAI_API_KEY")
                .args(["run", "s.evalset.json", "--agent"]);
            command
                .arg(format!("cmd:{} agent.py", python.display()))
                .args(args);
            output(command.current_dir(workspace.path()))
        };
        let before = judge.seen.lock().unwrap().len();
        let refused = run(&[]);
        assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
        assert!(
            both(&refused).contains("with the key in OPENAI_API_KEY"),
            "{}",
            both(&refused)
        );
        assert_eq!(judge.seen.lock().unwrap().len(), before, "nothing is sent");
        let ran = run(&["--trust"]);
        judge.assert_requests_valid();
        assert_eq!(judge.questions().len(), before + 1, "{}", both(&ran));
    }
}

/// If the model that simulates the user cannot be called, the agent is not called either.
#[test]
fn a_scenario_without_a_key_asks_no_agent() {
    let Some(python) = python() else { return };
    let judge = JudgeDouble::start(|_| panic!("nothing is asked"));
    let case = json!({"eval_id": "fly", "conversation_scenario": {"starting_prompt": "Hi", "conversation_plan": "Book."},
                      "session_input": {"app_name": "a", "user_id": "u"}});
    let agent = "import json\nwhile input():\n    open('asked', 'w')\n    print(json.dumps({'response': 'ok'}), flush=True)\n";
    let workspace = TestWorkspace::new(&[
        (
            "s.evalset.json",
            json!({"eval_set_id": "s", "eval_cases": [case]}).to_string(),
        ),
        ("agent.py", agent.into()),
    ]);
    let mut command = evaltrail(&workspace.path().join("home"));
    judge.answers_for(&mut command);
    command
        .env_remove("GOOGLE_API_KEY")
        .env_remove("GEMINI_API_KEY");
    command.args([
        "run",
        "s.evalset.json",
        "--agent",
        &format!("cmd:{} agent.py", python.display()),
    ]);
    let ran = output(command.current_dir(workspace.path()));
    assert_eq!(ran.status.code(), Some(1), "{}", both(&ran));
    assert!(
        both(&ran).contains("cannot be simulated: gemini-2.5-flash needs a key"),
        "{}",
        both(&ran)
    );
    assert!(!workspace.path().join("asked").exists());
}

/// Rows without judged metrics and simulated users need no permission, even if the folder configures a judge.
#[test]
fn runs_without_a_model_need_no_permission() {
    let Some(python) = python() else { return };
    let judge = JudgeDouble::start(|_| panic!("nothing is asked"));
    let toml = format!(
        "[judge]\nkind = \"ollama\"\nbase_url = \"{}\"\n",
        judge.url()
    );
    for (name, rows) in [
        ("rows.jsonl", "{\"prompt\": \"a\", \"reference\": \"ok\"}\n"),
        ("rows.csv", "prompt,reference\na,ok\n"),
        (
            "rows.json",
            "{\"eval_cases\": [{\"prompt\": \"a\", \"reference\": \"ok\"}]}",
        ),
    ] {
        let workspace = TestWorkspace::new(&[
            ("evaltrail.toml", toml.clone()),
            (name, rows.into()),
            ("test_config.json", json!({"criteria": {"response_match_score": 0.5}}).to_string()),
            (
                "agent.py",
                "import json\nwhile input():\n    print(json.dumps({'response': 'ok'}), flush=True)\n".into(),
            ),
        ]);
        let mut command = evaltrail(&workspace.path().join("home"));
        let agent = format!("cmd:{} agent.py", python.display());
        let ran = output(
            command
                .args(["run", name, "--agent", &agent])
                .current_dir(workspace.path()),
        );
        assert_eq!(ran.status.code(), Some(0), "{name}: {}", both(&ran));
    }
}

#[test]
fn judge_uses_a_key_from_a_dotenv_file() {
    let judge = JudgeDouble::agreeing();
    let workspace = workspace(
        "gemini-x",
        &format!("GEMINI_API_KEY={KEY}\n"),
        "[judge]\nmodel = \"gemini-x\"\n",
    );
    let hello = |args: &[&str]| {
        let mut command = evaltrail(&workspace.path().join("home"));
        judge.answers_for(&mut command);
        KEYS.iter().for_each(|name| {
            command.env_remove(name);
        });
        output(
            command
                .args(["judge"])
                .args(args)
                .current_dir(workspace.path()),
        )
    };
    let refused = hello(&[]);
    assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
    assert!(
        both(&refused).contains("needs GEMINI_API_KEY"),
        "{}",
        both(&refused)
    );
    let asked = hello(&["--trust"]);
    judge.assert_requests_valid();
    assert!(
        text(&asked).contains("structured output: the provider enforces the JSON Schema"),
        "{}",
        both(&asked)
    );
    assert!(!both(&asked).contains("canary"));
}
