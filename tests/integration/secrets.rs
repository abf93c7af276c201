//! An agent that repeats everything that it was sent: no secret comes back to a place where somebody else could read it.
#![cfg(unix)]

use crate::common::{TestWorkspace, both, evaltrail, output};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Output;

/// What the values of all secrets contain.
const CANARY: &str = "canary";

/// Starts a server that answers with the request line and the headers: as a text, in a call, as the name of an argument, and
/// with an error for a message that requests one.
fn echo() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || repeat(&stream));
        }
    });
    port
}

fn repeat(stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let (mut headers, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        headers.push_str(&line);
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let words: Vec<&str> = headers.split_whitespace().collect();
    let named: serde_json::Map<String, Value> = words
        .iter()
        .map(|word| (word.to_string(), json!(word)))
        .collect();
    // A call with the values of a header and of a parameter that are no secrets.
    let lookup = json!({"name": "lookup", "result": {}, "args": {
        "customer_id": 100_234, "stage": "pre-production", "q": "weather-report",
    }});
    if asked["message"] == "lookup" {
        return answer(
            stream,
            "200 OK",
            &json!({"text": "hello", "calls": [lookup]}).to_string(),
        );
    }
    let reply = json!({
        "text": format!("I was sent {headers}"),
        "calls": [{"name": "look", "args": {"head": headers, "words": words, "named": named}, "result": named}],
        "error": (asked["message"] == "fail").then_some(&headers),
    });
    let status = if asked["message"] == "refuse" {
        "500 Internal Server Error"
    } else {
        "200 OK"
    };
    let body = match asked["message"].as_str() {
        Some("refuse") => json!({"detail": headers}).to_string(),
        Some("garble") => format!("this is not JSON: {headers}"),
        _ => reply.to_string(),
    };
    answer(stream, status, &body);
}

fn answer(mut stream: &TcpStream, status: &str, body: &str) {
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

fn set() -> String {
    let case = |message: &str| {
        json!({"eval_id": message, "conversation": [{
            "user_content": {"role": "user", "parts": [{"text": message}]},
            "final_response": {"role": "model", "parts": [{"text": "hello"}]},
        }]})
    };
    let cases: Vec<Value> = ["say", "fail", "refuse", "garble"].map(case).into();
    json!({"eval_set_id": "s", "eval_cases": cases}).to_string()
}

fn template(url: &str, more: &str) -> String {
    format!(
        "[agents.desk]\nkind = \"http\"\nurl = \"{url}\"\nbody = {{ message = \"{{prompt}}\" }}\nresponse = \"$.text\"\n\
         error = \"$.error\"\ncalls = {{ path = \"$.calls[*]\", name = \"$.name\", args = \"$.args\", \
         response = \"$.result\" }}\n{more}\n"
    )
}

/// A folder whose agent is sent secrets in its address, in headers with and without variables, and as a token.
fn workspace() -> TestWorkspace {
    let url = format!(
        "http://me:canary-password@127.0.0.1:{}/chat?api_key=canary-query",
        echo()
    );
    let more = "headers = { x-desk-key = \"canary-in-a-header\", x-parts = \"key=canary-part;{env.DESK_REGION}\", x-pat = \"Bearer {env.DESK_PAT}\" }\n\
                token_command = \"cat token.txt\"\n";
    TestWorkspace::new(&[
        ("s.evalset.json", set()),
        (
            "test_config.json",
            r#"{"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.5}}"#
                .into(),
        ),
        ("evaltrail.toml", template(&url, more)),
        ("token.txt", "canary-token-0123456789\n".into()),
        ("home/.keep", String::new()),
    ])
}

fn run(workspace: &TestWorkspace, args: &[&str]) -> Output {
    let mut command = evaltrail(&workspace.path().join("home"));
    output(
        command
            .args(args)
            .env("DESK_PAT", "canary-variable")
            .env("DESK_REGION", "eu")
            .current_dir(workspace.path()),
    )
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => files_below(&path, found),
            path => found.push(path),
        }
    }
}

/// Asserts that a text contains no secret in any spelling.
fn assert_clean(what: &str, text: &str) {
    let at = text.find(CANARY).or_else(|| text.find("Y2FuYXJ5"));
    // The user and the password of basic authentication, in Base64.
    let at = at.or_else(|| text.find("bWU6Y2FuYXJ5"));
    let near = at
        .map(|at| &text[text.floor_char_boundary(at.saturating_sub(80))..text.len().min(at + 40)]);
    assert_eq!(near, None, "{what}");
}

#[test]
fn secrets_echoed_by_agent_are_redacted() {
    let workspace = workspace();
    let formats = ["json", "junit", "markdown", "html", "csv"];
    let reports = formats.map(|format| format!("--report={format}=out/report.{format}"));
    fs::create_dir(workspace.path().join("out")).unwrap();
    let mut args = vec![
        "run",
        ".",
        "--agent",
        "desk",
        "--trust",
        "--verbose",
        "--record",
        "out/recording.jsonl",
    ];
    args.extend(reports.iter().map(String::as_str));
    let ran = run(&workspace, &args);
    assert_eq!(ran.status.code(), Some(1), "{}", both(&ran));
    assert!(both(&ran).contains("[redacted]"), "{}", both(&ran));
    assert_clean("the terminal", &both(&ran));
    let mut files = Vec::new();
    files_below(&workspace.path().join("out"), &mut files);
    assert_eq!(files.len(), 1 + formats.len());
    files_below(&workspace.path().join(".evaltrail"), &mut files);
    let mut journals = 0;
    for file in files {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        assert_clean(&file.display().to_string(), &text);
        journals += usize::from(file.ends_with("journal.jsonl") && text.contains("I was sent"));
    }
    assert_eq!(journals, 1, "the attempts are in the journal");
    let resumed = run(
        &workspace,
        &["run", ".", "--agent", "desk", "--trust", "--resume"],
    );
    assert!(
        !both(&resumed).contains("how the agent is started or reached"),
        "{}",
        both(&resumed)
    );
    let exported = run(&workspace, &["export", "last", "-o", "run.evaltrail"]);
    assert_eq!(exported.status.code(), Some(0), "{}", both(&exported));
    let mut unpacked = String::new();
    let file = fs::File::open(workspace.path().join("run.evaltrail")).unwrap();
    GzDecoder::new(file).read_to_string(&mut unpacked).unwrap();
    assert_clean("the export", &unpacked);
}

/// A header that names a customer is no secret: the agent passes its value on to a tool.
#[test]
fn non_secret_values_are_scored_unredacted() {
    let url = format!("http://127.0.0.1:{}/chat?keyword=weather-report", echo());
    let more = "headers = { x-customer-id = \"100234\", x-env = \"{env.STAGE}\" }";
    let workspace = TestWorkspace::new(&[
        ("s.evalset.json", json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "lookup", "conversation": [{
            "user_content": {"role": "user", "parts": [{"text": "lookup"}]},
            "intermediate_data": {"tool_uses": [
                {"name": "lookup", "args": {"customer_id": 100_234, "stage": "pre-production", "q": "weather-report"}}
            ]},
        }]}]}).to_string()),
        ("test_config.json", r#"{"criteria": {"tool_trajectory_avg_score": 1.0}}"#.into()),
        ("evaltrail.toml", template(&url, more)),
        ("home/.keep", String::new()),
    ]);
    let mut command = evaltrail(&workspace.path().join("home"));
    command
        .args(["run", ".", "--agent", "desk", "--trust"])
        .env("STAGE", "pre-production");
    let ran = output(command.current_dir(workspace.path()));
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
}

/// What is left out of a stored plan must not be what tells two agents apart.
#[test]
fn changed_agent_address_prevents_resume() {
    let port = echo();
    let of_agent =
        |agent: &str| template(&format!("http://127.0.0.1:{port}/run?agent={agent}"), "");
    let workspace = TestWorkspace::new(&[
        ("s.evalset.json", set()),
        (
            "test_config.json",
            r#"{"criteria": {"response_match_score": 0.5}}"#.into(),
        ),
        ("evaltrail.toml", of_agent("customer-support-v1")),
        ("home/.keep", String::new()),
    ]);
    let args = ["run", ".", "--agent", "desk", "--trust", "--jobs", "1"];
    let stopped = run(&workspace, &[&args[..], &["--fail-fast"]].concat());
    assert_eq!(stopped.status.code(), Some(1), "{}", both(&stopped));
    fs::write(
        workspace.path().join("evaltrail.toml"),
        of_agent("customer-support-v2"),
    )
    .unwrap();
    let resumed = run(&workspace, &[&args[..], &["--resume"]].concat());
    assert!(
        both(&resumed).contains("how the agent is started or reached"),
        "{}",
        both(&resumed)
    );
}

#[test]
fn a_check_of_an_agent_shows_no_secret() {
    let workspace = workspace();
    for message in ["say", "fail", "refuse", "garble"] {
        let checked = run(
            &workspace,
            &["agents", "check", "desk", "--trust", "--prompt", message],
        );
        assert!(both(&checked).contains("[redacted]"), "{}", both(&checked));
        assert_clean(message, &both(&checked));
    }
    let listed = run(&workspace, &["agents"]);
    assert_clean("the list", &both(&listed));
}

#[test]
fn command_line_address_hides_secrets() {
    let workspace = workspace();
    let address = format!(
        "openai+http://me:canary-password@127.0.0.1:{}/v1?key=canary-query#model=m&token_env=DESK_PAT",
        echo()
    );
    let ran = run(
        &workspace,
        &[
            "run",
            "s.evalset.json",
            "--agent",
            &address,
            "--report=json=report.json",
        ],
    );
    let said = both(&ran);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(
        said.contains("rerun:")
            && said.contains("@127.0.0.1")
            && said.contains("token_env=DESK_PAT"),
        "{said}"
    );
    assert_clean("the terminal", &said);
    assert_clean(
        "the report",
        &fs::read_to_string(workspace.path().join("report.json")).unwrap(),
    );
    let checked = run(
        &workspace,
        &["agents", "check", &address, "--prompt", "say"],
    );
    assert_clean("the check", &both(&checked));
    let wrong = run(
        &workspace,
        &[
            "run",
            "s.evalset.json",
            "--agent",
            &address.replace("model=", "modle="),
        ],
    );
    assert!(both(&wrong).contains("modle"), "{}", both(&wrong));
    assert_clean("the error", &both(&wrong));
    let listed = run(&workspace, &["runs", "--json"]);
    assert_clean("the list of runs", &both(&listed));
}

/// A program that prints a variable that it was given on purpose.
#[test]
fn env_key_printed_by_agent_is_redacted() {
    let program =
        "while read line; do echo \"{\\\"response\\\": \\\"the key is $DESK_PAT\\\"}\"; done";
    let workspace = TestWorkspace::new(&[
        ("s.evalset.json", set()),
        ("agent.sh", format!("{program}\n")),
        (
            "evaltrail.toml",
            "[agents.desk]\nkind = \"command\"\ncommand = \"sh agent.sh\"\nenv = [\"DESK_PAT\"]\n"
                .into(),
        ),
        ("home/.keep", String::new()),
    ]);
    let ran = run(&workspace, &["run", ".", "--trust", "--json"]);
    assert_clean("the report", &both(&ran));
    let exported = run(&workspace, &["export", "last", "-o", "run.evaltrail"]);
    assert_eq!(exported.status.code(), Some(0), "{}", both(&exported));
    assert!(
        text_of_journal(&workspace).contains("[redacted]"),
        "{}",
        text_of_journal(&workspace)
    );
}

fn text_of_journal(workspace: &TestWorkspace) -> String {
    let mut files = Vec::new();
    files_below(&workspace.path().join(".evaltrail"), &mut files);
    let journal = files
        .into_iter()
        .find(|file| file.ends_with("journal.jsonl"))
        .expect("a journal");
    fs::read_to_string(journal).unwrap()
}

/// Secrets that evaltrail did not send are replaced where other people read: in what the action uploads.
#[test]
fn redact_option_removes_environment_secrets() {
    let row = json!({
        "eval_case_id": "a", "prompt": "p", "reference": "a b",
        "response": "cookie canary-cookie, hook canary-webhook, key AIzaSyA0123456789abcdefghijklmnopqrstuv",
    });
    let workspace = TestWorkspace::new(&[
        ("rows.jsonl", format!("{row}\n")),
        ("home/.keep", String::new()),
    ]);
    let scored = |args: &[&str]| {
        let mut command = evaltrail(&workspace.path().join("home"));
        command
            .args(["score", "rows.jsonl", "--metric", "response_match_score"])
            .args(args);
        command
            .env("LOGIN_COOKIE", "canary-cookie")
            .env("TEAM_WEBHOOK", "canary-webhook");
        output(command.current_dir(workspace.path()))
    };
    let plain = scored(&["--json"]);
    assert!(
        both(&plain).contains("canary-cookie"),
        "an exact report was requested: {}",
        both(&plain)
    );
    let formats = ["json", "junit", "markdown", "html", "csv"];
    let reports = formats.map(|format| format!("--report={format}=report.{format}"));
    let mut args = vec!["--redact", "--json"];
    args.extend(reports.iter().map(String::as_str));
    let redacted = scored(&args);
    assert_clean("standard output", &both(&redacted));
    let report: Value = serde_json::from_slice(&redacted.stdout).unwrap();
    assert_eq!(
        report["cases"][0]["invocations"][0]["actual"]["response"],
        "cookie [redacted], hook [redacted], key [redacted]"
    );
    for format in formats {
        let text = fs::read_to_string(workspace.path().join(format!("report.{format}"))).unwrap();
        assert_clean(format, &text);
        assert!(!text.contains("AIzaSy"), "{format}");
    }
}

/// Names of variables that are no secrets for scoring, and variables of programs that compute metrics, whatever their names.
#[test]
fn secret_like_and_metric_env_is_redacted() {
    let names = [
        "OPENAIKEY",
        "API_TOKENS",
        "AUTH_HEADER",
        "SESSION_COOKIES",
        "DBPASS",
        "GITLABPAT",
        "DESK_CRED",
        "DESK_REGION_OF_METRIC",
    ];
    let value = |name: &str| format!("canary-{}", name.to_lowercase());
    let response = names.map(value).join(" and ");
    let row = json!({"eval_case_id": "a", "prompt": "p", "reference": "a b", "response": response});
    let workspace = TestWorkspace::new(&[
        ("rows.jsonl", format!("{row}\n")),
        ("metric.sh", "read line; echo '{\"score\": 0.25}'\n".into()),
        (
            "evaltrail.toml",
            "[metrics.mine]\nkind = \"command\"\ncommand = \"sh metric.sh\"\nenv = [\"DESK_REGION_OF_METRIC\"]\n".into(),
        ),
        ("home/.keep", String::new()),
    ]);
    let run = |args: &[&str]| {
        let mut command = evaltrail(&workspace.path().join("home"));
        for name in &names {
            command.env(name, value(name));
        }
        output(command.args(args).current_dir(workspace.path()))
    };
    let scored = run(&[
        "score",
        "rows.jsonl",
        "--metric",
        "mine",
        "--trust",
        "--redact",
        "--json",
    ]);
    let report: Value = serde_json::from_slice(&scored.stdout).unwrap();
    let expected = vec!["[redacted]"; names.len()].join(" and ");
    assert_eq!(
        report["cases"][0]["invocations"][0]["actual"]["response"],
        *expected,
        "{}",
        both(&scored)
    );
    let exported = run(&["export", "last", "-o", "run.evaltrail"]);
    assert_eq!(exported.status.code(), Some(0), "{}", both(&exported));
    let mut unpacked = String::new();
    GzDecoder::new(fs::File::open(workspace.path().join("run.evaltrail")).unwrap())
        .read_to_string(&mut unpacked)
        .unwrap();
    assert_clean("the export", &unpacked);
}

/// A program whose command line contains a key, also inside of a word, and that prints it.
#[test]
fn argument_key_printed_by_agent_is_redacted() {
    let workspace = TestWorkspace::new(&[
        ("s.evalset.json", set()),
        ("agent.sh", "while read line; do echo \"{\\\"response\\\": \\\"the key is $2 for $3\\\"}\"; done\n".into()),
        (
            "evaltrail.toml",
            "[agents.plain]\nkind = \"command\"\ncommand = \"sh agent.sh --api-key canary-argument first\"\n\
             [agents.inside]\nkind = \"command\"\ncommand = \"sh -c 'sh agent.sh --api-key canary-inside first'\"\n"
                .into(),
        ),
        ("home/.keep", String::new()),
    ]);
    for agent in ["plain", "inside"] {
        let ran = run(
            &workspace,
            &["run", ".", "--agent", agent, "--trust", "--json"],
        );
        assert_clean(agent, &both(&ran));
        assert!(
            both(&ran).contains("the key is [redacted] for first"),
            "{}",
            both(&ran)
        );
    }
    let mut files = Vec::new();
    files_below(&workspace.path().join(".evaltrail"), &mut files);
    for file in files {
        assert_clean(
            &file.display().to_string(),
            &String::from_utf8_lossy(&fs::read(&file).unwrap()),
        );
    }
}

/// GitHub reads the paths of annotations from the root of the repository.
#[test]
fn github_annotations_use_repository_paths() {
    let row = json!({"eval_case_id": "a", "prompt": "p", "reference": "a b", "response": "canary-webhook"});
    let workspace = TestWorkspace::new(&[
        (".git/HEAD", "ref: refs/heads/main\n".into()),
        ("evals/rows.jsonl", format!("{row}\n")),
        ("home/.keep", String::new()),
    ]);
    for redact in [&[][..], &["--redact"]] {
        let mut command = evaltrail(&workspace.path().join("home"));
        command
            .args([
                "score",
                "rows.jsonl",
                "--metric",
                "response_match_score",
                "--github",
            ])
            .args(redact);
        command
            .env("TEAM_WEBHOOK", "canary-webhook")
            .current_dir(workspace.path().join("evals"));
        let scored = output(&mut command);
        assert_eq!(scored.status.code(), Some(1), "{}", both(&scored));
        assert!(
            both(&scored).contains("::error file=evals/rows.jsonl,"),
            "{redact:?}: {}",
            both(&scored)
        );
    }
}

/// The kind of the agent is a secret, which the plan cannot be without.
#[test]
fn unredactable_plan_writes_only_summary() {
    // Something listens there, so that the run starts; nothing is answered.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let agent = format!("agent-engine+http://{}", server.local_addr().unwrap());
    let workspace = TestWorkspace::new(&[("s.evalset.json", set()), ("home/.keep", String::new())]);
    let mut command = evaltrail(&workspace.path().join("home"));
    let args = [
        "run",
        "s.evalset.json",
        "--redact",
        "--agent",
        &agent,
        "--timeout",
        "3s",
        "--report=json=report.json",
    ];
    command
        .args(args)
        .env("TEAM_TOKEN", "agent-engine")
        .current_dir(workspace.path());
    let ran = output(&mut command);
    assert_eq!(ran.status.code(), Some(2), "{}", both(&ran));
    assert!(
        both(&ran).contains("--redact: the plan cannot be shown without secrets"),
        "{}",
        both(&ran)
    );
    assert!(
        both(&ran).contains("4 errored") && both(&ran).contains("rerun:"),
        "{}",
        both(&ran)
    );
    assert!(!workspace.path().join("report.json").exists());
}

/// The plan of a run has labels of agents, files of sets and ids of cases.
#[test]
fn redact_option_covers_plan_and_folder() {
    let case = json!({"eval_id": "case-canary-webhook", "conversation": [{
        "user_content": {"role": "user", "parts": [{"text": "hi"}]},
        "final_response": {"role": "model", "parts": [{"text": "hello"}]},
    }]});
    let workspace = TestWorkspace::new(&[
        (
            "s.evalset.json",
            json!({"eval_set_id": "set-canary-webhook", "eval_cases": [case]}).to_string(),
        ),
        (
            "test_config.json",
            r#"{"criteria": {"response_match_score": 0.5}}"#.into(),
        ),
        (
            "agent.sh",
            "while read line; do echo '{\"response\": \"hello\"}'; done\n".into(),
        ),
        ("home/.keep", String::new()),
    ]);
    let folder = fs::canonicalize(workspace.path())
        .unwrap()
        .display()
        .to_string();
    let agent = format!("cmd:sh {folder}/agent.sh");
    let formats = ["json", "junit", "markdown", "html", "csv"];
    let reports = formats.map(|format| format!("--report={format}=report.{format}"));
    let mut args = vec!["run", "s.evalset.json", "--redact", "--agent", &agent];
    args.extend(reports.iter().map(String::as_str));
    let mut command = evaltrail(&workspace.path().join("home"));
    command
        .args(args)
        .env("TEAM_WEBHOOK", "canary-webhook")
        .current_dir(&folder);
    let ran = output(&mut command);
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    for format in formats {
        let text = fs::read_to_string(workspace.path().join(format!("report.{format}"))).unwrap();
        assert_clean(format, &text);
        assert!(!text.contains(&folder), "{format}: {text}");
    }
}

/// Runs the steps of the action with the binary of this build in place of `uvx`.
#[test]
fn action_uploads_only_redacted_output() {
    let workspace = workspace();
    let action: serde_json::Value = serde_yaml_ng::from_str(
        &fs::read_to_string(crate::common::root().join("action.yml")).unwrap(),
    )
    .unwrap();
    let steps = action["runs"]["steps"].as_array().unwrap();
    let bin = workspace.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let uvx = bin.join("uvx");
    fs::write(
        &uvx,
        format!(
            "#!/bin/sh\nshift 3\nexec '{}' \"$@\"\n",
            env!("CARGO_BIN_EXE_evaltrail")
        ),
    )
    .unwrap();
    fs::set_permissions(&uvx, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for script in steps.iter().filter_map(|step| step["run"].as_str()) {
        let mut command = std::process::Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(workspace.path());
        command
            .env("PATH", &path)
            .env("EVALTRAIL_HOME", workspace.path().join("home"));
        command
            .env("ARGUMENTS", ". --agent desk")
            .env("COMMAND", "run")
            .env("TRUST", "--trust");
        command
            .env("PACKAGE", "evaltrail")
            .env("DESK_PAT", "canary-variable")
            .env("DESK_REGION", "eu");
        command.env("GITHUB_STEP_SUMMARY", workspace.path().join("summary.md"));
        let ran = output(&mut command);
        assert_clean("the log", &both(&ran));
    }
    let upload = steps.iter().find(|step| {
        step["uses"]
            .as_str()
            .is_some_and(|uses| uses.contains("upload"))
    });
    let paths = upload.unwrap()["with"]["path"].as_str().unwrap();
    let mut files = Vec::new();
    for path in paths.lines().map(str::trim) {
        assert!(
            !path.contains(['*', '.']),
            "{path}: only the folder of reports is uploaded"
        );
        files_below(&workspace.path().join(path), &mut files);
    }
    let mut exports = 0;
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let is_packed = bytes.starts_with(&[0x1f, 0x8b]);
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if is_packed {
            exports += 1;
            text.clear();
            GzDecoder::new(&bytes[..])
                .read_to_string(&mut text)
                .unwrap();
        }
        assert_clean(&file.display().to_string(), &text);
    }
    assert_eq!(exports, 1);
    assert_clean(
        "the summary",
        &fs::read_to_string(workspace.path().join("summary.md")).unwrap(),
    );
}
