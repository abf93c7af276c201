//! What changed between two runs beside what the agent did: its model, its instruction, its tools.

use crate::common::{TestWorkspace, both, evaltrail, output, text};
use serde_json::{Value, json};

/// What a recorded agent reports of itself.
#[derive(Clone, Copy)]
struct Agent {
    model: &'static str,
    instruction: &'static str,
    required: &'static [&'static str],
}

const AGENT: Agent = Agent {
    model: "m-001",
    instruction: "Book tables.",
    required: &["when"],
};

impl Agent {
    /// A recording of a case.
    fn recording(self, id: &str) -> Value {
        let properties = json!({"when": {"type": "string"}, "party": {"type": "integer"}});
        let schema = json!({"type": "object", "properties": properties, "required": self.required});
        let tool = json!({"name": "book_table", "description": "Books.", "parameters": schema});
        let request =
            json!({"instructions": self.instruction, "tools": [{"function_declarations": [tool]}]});
        let mut event = json!({
            "author": "desk",
            "content": {"role": "model", "parts": [{"text": "ok"}]},
            "customMetadata": {"evaltrail_request": request},
        });
        if !self.model.is_empty() {
            event["modelVersion"] = self.model.into();
        }
        json!({"eval_id": id, "turns": [{"prompt": "a", "events": [event], "error": null}]})
    }
}

fn workspace() -> TestWorkspace {
    workspace_of(&["a"])
}

/// A workspace with these cases.
fn workspace_of(ids: &[&str]) -> TestWorkspace {
    let case = |id: &&str| {
        json!({"eval_id": id, "conversation": [{
            "user_content": {"role": "user", "parts": [{"text": "a"}]},
            "final_response": {"role": "model", "parts": [{"text": "ok"}]},
            "intermediate_data": {"tool_uses": []},
        }]})
    };
    let cases: Vec<Value> = ids.iter().map(case).collect();
    let set = json!({"eval_set_id": "s", "eval_cases": cases});
    TestWorkspace::new(&[
        ("s.evalset.json", set.to_string()),
        ("evaltrail.toml", String::new()),
    ])
}

/// Runs the cases against a recorded agent.
fn run(workspace: &TestWorkspace, agent: Agent) {
    let recordings = ["a", "b"].map(|id| format!("{}\n", agent.recording(id)));
    let recording = recordings.concat();
    std::fs::write(workspace.path().join("agent.recording"), recording).unwrap();
    let args = [
        "run",
        "-q",
        ".",
        "--agent",
        "replay:agent.recording?speed=0",
        "--trust",
    ];
    let mut command = evaltrail(&workspace.path().join("home"));
    let ran = output(command.current_dir(workspace.path()).args(args));
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
}

/// The lines of a comparison of the last two runs that are about the agent.
fn compared(workspace: &TestWorkspace) -> Vec<String> {
    let mut command = evaltrail(&workspace.path().join("home"));
    let ran = output(command.current_dir(workspace.path()).arg("compare"));
    let is_about_agent =
        |line: &&str| line.starts_with("changed:") || line.starts_with("not reported:");
    text(&ran)
        .lines()
        .filter(is_about_agent)
        .map(str::to_string)
        .collect()
}

/// Whether each attempt of the latest run has the agent's instruction in its record.
fn recorded_instructions(workspace: &TestWorkspace) -> Vec<bool> {
    let mut command = evaltrail(&workspace.path().join("home"));
    let args = ["runs", "--json"];
    let listed = text(&output(command.current_dir(workspace.path()).args(args)));
    let runs: Value = serde_json::from_str(&listed).unwrap();
    let id = runs["runs"][0]["run_id"].as_str().unwrap();
    let journal = workspace
        .path()
        .join(format!(".evaltrail/runs/{id}/journal.jsonl"));
    let records = std::fs::read_to_string(journal).unwrap();
    let is_attempt = |line: &&str| line.contains("\"eval_id\"");
    let attempts = records.lines().filter(is_attempt);
    attempts.map(|line| line.contains("Book tables.")).collect()
}

#[test]
fn instructions_are_recorded_once_for_a_set() {
    let workspace = workspace_of(&["a", "b"]);
    run(&workspace, AGENT);
    let mut recorded = recorded_instructions(&workspace);
    recorded.sort_unstable();
    assert_eq!(recorded, [false, true]);
    let model = "m-002";
    let required = &["when", "party"];
    run(
        &workspace,
        Agent {
            model,
            required,
            ..AGENT
        },
    );
    let changed = [
        "changed: the model m-001 → m-002 in 2 of 2 attempts",
        "changed: the declaration of book_table: party became required",
    ];
    assert_eq!(compared(&workspace), changed);
}

#[test]
fn only_what_the_agent_changed_is_named() {
    let workspace = workspace();
    run(&workspace, AGENT);
    let none: [&str; 0] = [];
    for (agent, changed) in [
        (AGENT, &none[..]),
        (
            Agent {
                model: "m-002",
                ..AGENT
            },
            &["changed: the model m-001 → m-002 in 1 of 1 attempts"],
        ),
        (
            AGENT,
            &["changed: the model m-002 → m-001 in 1 of 1 attempts"],
        ),
        (
            Agent {
                required: &["when", "party"],
                ..AGENT
            },
            &["changed: the declaration of book_table: party became required"],
        ),
        (
            AGENT,
            &["changed: the declaration of book_table: party became optional"],
        ),
        (
            Agent {
                instruction: "Book tables. Be brief.",
                ..AGENT
            },
            &["changed: the instruction of desk"],
        ),
        (
            Agent {
                model: "",
                instruction: "Book tables. Be brief.",
                ..AGENT
            },
            &["not reported: model version"],
        ),
    ] {
        run(&workspace, agent);
        assert_eq!(compared(&workspace), changed);
    }
    // The same is known of runs that are not open.
    let mut command = evaltrail(&workspace.path().join("home"));
    let listed = output(
        command
            .current_dir(workspace.path())
            .args(["compare", "--json"]),
    );
    let json: Value = serde_json::from_str(&text(&listed)).unwrap();
    assert_eq!(
        json["setup"],
        json!({"changed": [], "not_reported": ["model version"]})
    );
}
