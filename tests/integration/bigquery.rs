//! Tables of BigQuery as data sets, and the metrics table as a table, with a double of its interface.

use crate::common::scripted::{JSON, Received, ScriptedServer, answer};
use crate::common::{both, evaltrail, output, text};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::path::Path;
use std::process::Output;

/// A table with two rows on two pages; rows are appended to another one.
fn reply(request: &Received, stream: &mut TcpStream) -> std::io::Result<()> {
    let column = |name: &str, kind: &str| json!({"name": name, "type": kind, "mode": "NULLABLE"});
    let row = |cells: [&str; 5]| json!({"f": cells.map(|cell| json!({"v": cell}))});
    let calls = |n: u32| format!("[{{\"tool_name\": \"t\", \"tool_input\": {{\"n\": {n}}}}}]");
    if request.header("authorization") != Some("Bearer the-token") {
        return answer(
            stream,
            "401 Unauthorized",
            JSON,
            r#"{"error": {"message": "no credentials"}}"#,
        );
    }
    let path = request.line.split(' ').nth(1).unwrap();
    let body = match path
        .strip_prefix("/bigquery/v2/projects/team/datasets/evals/tables")
        .unwrap()
    {
        "/answers" => {
            let names = [
                "prompt",
                "response",
                "reference",
                "predicted_trajectory",
                "reference_trajectory",
            ];
            json!({"etag": "v1", "schema": {"fields": names.map(|name| column(name, "STRING"))}})
        }
        "/answers/data?maxResults=5000" => {
            json!({"rows": [row(["one", "a b", "a b", &calls(1), &calls(1)])], "pageToken": "next"})
        }
        "/answers/data?maxResults=5000&pageToken=next" => {
            json!({"rows": [row(["two", "a c", "a b", &calls(2), &calls(3)])]})
        }
        "" => json!({}),
        "/metrics/insertAll" => json!({}),
        "/full" | "/full/insertAll" => {
            json!({"insertErrors": [{"index": 0, "errors": [{"message": "no such field: x"}]}]})
        }
        _ => {
            return answer(
                stream,
                "404 Not Found",
                JSON,
                r#"{"error": {"message": "Not found: Table"}}"#,
            );
        }
    };
    answer(stream, "200 OK", JSON, &body.to_string())
}

fn run(server: &ScriptedServer, folder: &Path, token: &str, args: &[&str]) -> Output {
    let mut command = evaltrail(folder);
    command.env(
        "BIGQUERY_EMULATOR_HOST",
        format!("127.0.0.1:{}", server.port),
    );
    command.env("CLOUDSDK_AUTH_ACCESS_TOKEN", token);
    output(command.current_dir(folder).args(args))
}

#[test]
fn table_rows_scored_and_metrics_appended() {
    let server = ScriptedServer::start(reply);
    let folder = tempfile::tempdir().unwrap();
    let score = [
        "score",
        "bq://team.evals.answers",
        "--metric",
        "trajectory_exact_match",
        "-q",
    ];
    let out = run(
        &server,
        folder.path(),
        "the-token",
        &[&score[..], &["--report", "vertex=bq://team.evals.metrics"]].concat(),
    );
    assert_eq!(out.status.code(), Some(1), "{}", both(&out));
    assert!(both(&out).contains("1 passed, 1 failed"), "{}", both(&out));
    let received = server.received();
    let created = received
        .iter()
        .find(|one| one.line.ends_with("/tables HTTP/1.1"))
        .expect("the table is created");
    let fields = created.body["schema"]["fields"].as_array().unwrap();
    let kind = |name: &str| {
        fields
            .iter()
            .find(|field| field["name"] == name)
            .map(|field| field["type"].clone())
    };
    assert_eq!(
        kind("trajectory_exact_match_score"),
        Some(json!("FLOAT")),
        "{fields:?}"
    );
    assert_eq!(kind("prompt"), Some(json!("STRING")));
    let appended = received
        .iter()
        .find(|one| one.line.contains("/metrics/insertAll"))
        .unwrap();
    let rows = appended.body["rows"].as_array().unwrap();
    let scores: Vec<&Value> = rows
        .iter()
        .map(|row| &row["json"]["trajectory_exact_match_score"])
        .collect();
    assert_eq!(scores, [&json!(1.0), &json!(0.0)]);
    assert!(
        rows[0]["json"]["predicted_trajectory"].is_string(),
        "{rows:?}"
    );
    // The copy is current, so that the rows are not read again.
    let pages = || {
        server
            .received()
            .iter()
            .filter(|one| one.line.contains("/answers/data"))
            .count()
    };
    let before = pages();
    let listed = run(
        &server,
        folder.path(),
        "the-token",
        &["list", "bq://team.evals.answers"],
    );
    assert!(text(&listed).contains("2 cases"), "{}", both(&listed));
    assert_eq!((before, pages()), (2, 2));
}

#[test]
fn errors_of_tables_have_a_cause() {
    let server = ScriptedServer::start(reply);
    let folder = tempfile::tempdir().unwrap();
    for (token, args, words) in [
        (
            "the-token",
            vec!["list", "bq://team.evals.none"],
            "bq://team.evals.none: there is no such object",
        ),
        (
            "another",
            vec!["list", "bq://team.evals.answers"],
            "BigQuery replied 401 Unauthorized: no credentials",
        ),
        (
            "the-token",
            vec!["list", "bq://team.answers"],
            "bq://PROJECT.DATASET.TABLE",
        ),
        (
            "the-token",
            vec![
                "score",
                "bq://team.evals.answers",
                "--metric",
                "trajectory_exact_match",
                "-q",
                "--report",
                "vertex=bq://team.evals.full",
            ],
            "no such field: x",
        ),
        (
            "the-token",
            vec![
                "score",
                "bq://team.evals.answers",
                "--metric",
                "trajectory_exact_match",
                "-q",
                "--report",
                "html=bq://team.evals.metrics",
            ],
            "only `vertex` can be written to a table",
        ),
    ] {
        let out = run(&server, folder.path(), token, &args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", both(&out));
        assert!(both(&out).contains(words), "{args:?}: {}", both(&out));
    }
    let mut command = evaltrail(folder.path());
    for name in [
        "BIGQUERY_EMULATOR_HOST",
        "CLOUDSDK_AUTH_ACCESS_TOKEN",
        "GOOGLE_OAUTH_ACCESS_TOKEN",
    ] {
        command.env_remove(name);
    }
    let out = output(command.args(["list", "bq://team.evals.answers"]));
    assert!(
        both(&out).contains("gcloud auth print-access-token"),
        "{}",
        both(&out)
    );
}
