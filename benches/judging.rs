//! Benchmark of judging with 32 requests at once: 1,000 cases with five samples each, and a judge that responds after
//! 50 ms. The ideal is the shortest time in which that many requests can be answered.

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used)]

use serde_json::json;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const CASES: u32 = 1000;
const SAMPLES: u32 = 5;
const AT_ONCE: u32 = 32;
const LATENCY: Duration = Duration::from_millis(50);

#[tokio::main]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let row = |at| {
        json!({"prompt": format!("Question {at}"), "reference": "Done", "response": "Done"})
            .to_string()
    };
    let rows: String = (0..CASES).map(|at| row(at) + "\n").collect();
    let options = json!({"judge_model": "gemini-x", "num_samples": SAMPLES});
    let criteria = json!({"criteria": {"final_response_match_v2": {"threshold": 0.5, "judge_model_options": options}}});
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write("rows.jsonl", &rows);
    write("c.json", &criteria.to_string());
    write("evaltrail.toml", &format!("[judge]\njobs = {AT_ONCE}\n"));
    let run = move || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evaltrail"));
        command
            .args(["score", "rows.jsonl", "--config", "c.json", "-q"])
            .env("GOOGLE_API_KEY", "dummy")
            .env("GOOGLE_GEMINI_BASE_URL", format!("http://127.0.0.1:{port}"))
            .env("EVALTRAIL_HOME", folder.path().join("home"))
            .current_dir(folder.path())
            .stdout(Stdio::null());
        let began = Instant::now();
        let status = command.status().expect("it runs");
        assert!(status.success(), "all pass");
        began.elapsed().as_secs_f64()
    };
    let took = tokio::task::spawn_blocking(run).await.expect("it ends");
    let ideal = f64::from(CASES * SAMPLES) / f64::from(AT_ONCE) * LATENCY.as_secs_f64();
    println!("| what | aim | measured |\n|---|---|---|");
    println!(
        "| {CASES} cases × {SAMPLES} samples, a judge of {} ms, {AT_ONCE} at once | at most 1.1 × the ideal {ideal:.2} s | {:.2} × ({took:.2} s) |",
        LATENCY.as_millis(),
        took / ideal
    );
}

/// Responds to every request of a connection after the latency.
async fn serve(stream: TcpStream) -> Option<()> {
    let answer = json!({
        "candidates": [{"content": {"parts": [{"text": "{\"is_the_agent_response_valid\": \"valid\"}"}]}}],
    })
    .to_string();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
        answer.len()
    );
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if read.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
        }
        read.read_exact(&mut vec![0; length]).await.ok()?;
        tokio::time::sleep(LATENCY).await;
        write.write_all(answer.as_bytes()).await.ok()?;
    }
}
