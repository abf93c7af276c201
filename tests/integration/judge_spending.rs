//! The spending limit of judges: how far it is exceeded, what a run says about it, and that the run ends.
//!
//! `EVALTRAIL_ROUNDS=20` runs all limits that often, and checks the times as well; they hold on a machine without other
//! load.
#![cfg(unix)]

use crate::common::judge::{JudgeDouble, Say, valid, with_keys};
use crate::common::{TestWorkspace, both, evaltrail, output, text, wait_for};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

const CASES: usize = 200;
const SAMPLES: usize = 5;
/// Requests at once.
const SLOTS: usize = 8;
const ALL: usize = CASES * SAMPLES;
/// The price of a response of the double: 100 tokens in at 1.0 per million, 10 out at 2.0.
const PRICE: f64 = 0.00012;
/// Shares of the whole cost.
const LIMITS: [f64; 8] = [0.001, 0.004, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9];
/// What a response of the double takes.
const LATENCY: Duration = Duration::from_millis(10);

/// The number of rounds, and whether times are checked.
fn rounds() -> (usize, bool) {
    match std::env::var("EVALTRAIL_ROUNDS") {
        Ok(rounds) => (rounds.parse().expect("a number of rounds"), true),
        Err(_) => (1, false),
    }
}

/// Scores with this limit as a share of the whole cost; without a limit if there is none.
fn workspace(share: Option<f64>, judge: &JudgeDouble) -> (TestWorkspace, Command) {
    let row = |at: usize| {
        json!({"eval_case_id": format!("case {at}"), "prompt": format!("Question {at}?"), "reference": "Done", "response": "Done"})
            .to_string()
    };
    let rows: Vec<String> = (0..CASES).map(row).collect();
    let options = json!({"judge_model": "gemini-x", "num_samples": SAMPLES});
    let criteria = json!({"criteria": {"final_response_match_v2": {"threshold": 0.5, "judge_model_options": options}}});
    let limit = share
        .map(|share| format!("spending_limit = {}\n", share * ALL as f64 * PRICE))
        .unwrap_or_default();
    let toml =
        format!("[judge]\njobs = {SLOTS}\nprices = {{ input = 1.0, output = 2.0 }}\n{limit}");
    let workspace = TestWorkspace::new(&[
        ("rows.jsonl", rows.join("\n")),
        ("c.json", criteria.to_string()),
        ("evaltrail.toml", toml),
    ]);
    let mut command = evaltrail(&workspace.path().join("home"));
    with_keys(&mut command);
    judge.answers_for(&mut command);
    command
        .args(["score", "rows.jsonl", "--config", "c.json"])
        .current_dir(workspace.path());
    (workspace, command)
}

struct Scored {
    report: Value,
    code: i32,
    took: Duration,
    requests: usize,
    workspace: TestWorkspace,
}

fn score(share: Option<f64>) -> Scored {
    let judge = JudgeDouble::start(|_| {
        std::thread::sleep(LATENCY);
        Say::Text(valid("valid"))
    });
    let (workspace, mut command) = workspace(share, &judge);
    let began = Instant::now();
    let ran = output(command.args(["--json", "-q"]));
    let took = began.elapsed();
    let report = serde_json::from_str(&text(&ran)).unwrap_or_else(|_| panic!("{}", both(&ran)));
    Scored {
        report,
        code: ran.status.code().unwrap(),
        took,
        requests: judge.questions().len(),
        workspace,
    }
}

/// The limit is exceeded by at most one request in each slot, and what was not bought is counted.
fn check(share: f64, scored: &Scored) {
    let Scored {
        report, requests, ..
    } = scored;
    let affordable = share * ALL as f64;
    assert!(
        *requests as f64 >= affordable.floor(),
        "{share}: only {requests} requests"
    );
    assert!(
        *requests as f64 <= affordable.ceil() + SLOTS as f64,
        "{share}: {requests} requests"
    );
    let spent = &report["summary"]["judges"];
    assert_eq!(spent["asked"], *requests, "{share}");
    assert_eq!(spent["missing"], ALL - requests, "{share}");
    let cost = spent["cost"].as_f64().unwrap_or(0.0);
    assert!(
        (cost - *requests as f64 * PRICE).abs() < 1e-9,
        "{share}: cost {cost} of {requests} requests"
    );
    let cases = report["cases"].as_array().unwrap();
    let not_evaluated: Vec<&Value> = cases
        .iter()
        .filter(|case| case["status"] == "not_evaluated")
        .collect();
    let passed = cases
        .iter()
        .filter(|case| case["status"] == "passed")
        .count();
    assert_eq!(
        (scored.code, passed + not_evaluated.len()),
        (1, CASES),
        "{share}"
    );
    // Each case without a verdict says why, and all of them are one group.
    for case in &not_evaluated {
        let metric = &case["metrics"][0];
        assert!(
            metric["explanation"]
                .as_str()
                .unwrap()
                .contains("spending limit"),
            "{case}"
        );
        assert_eq!(
            metric["findings"][0]["rule"], "spending_limit_reached",
            "{case}"
        );
    }
    let groups = report["summary"]["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 1, "{share}: {groups:?}");
    assert_eq!(
        groups[0]["cause"],
        "the spending limit of the judge is reached"
    );
    assert_eq!(
        groups[0]["cases"].as_array().unwrap().len(),
        not_evaluated.len()
    );
}

#[test]
fn spending_limit_overrun_is_bounded() {
    let (rounds, is_timed) = rounds();
    for round in 1..=rounds {
        let whole = score(None);
        assert_eq!((whole.requests, whole.code), (ALL, 0));
        // What a run takes without its requests.
        let least = whole.took.saturating_sub(LATENCY * (ALL / SLOTS) as u32);
        for share in LIMITS {
            let scored = score(Some(share));
            check(share, &scored);
            let most = 2 * whole.took.mul_f64(share) + least;
            if is_timed {
                println!(
                    "round {round}: {share} of the cost: {} requests, {:.2?} of {most:.2?} (whole {:.2?})",
                    scored.requests, scored.took, whole.took
                );
                assert!(
                    scored.took <= most,
                    "{share}: {:?} of {most:?}",
                    scored.took
                );
            }
        }
    }
}

/// What judges spent on the newest run, by `runs --json`.
fn spent_in_list_of_runs(workspace: &TestWorkspace) -> Value {
    let mut command = evaltrail(&workspace.path().join("home"));
    let runs = output(
        command
            .args(["runs", "--json"])
            .current_dir(workspace.path()),
    );
    let runs: Value =
        serde_json::from_str(&text(&runs)).unwrap_or_else(|_| panic!("{}", both(&runs)));
    runs["runs"][0]["judges"].clone()
}

/// The sums of the text, of the JSON report and of `runs --json`.
#[test]
fn paid_responses_are_in_every_sum() {
    let scored = score(Some(0.013));
    check(0.013, &scored);
    let spent = &scored.report["summary"]["judges"];
    // Some responses belong to a case that has no verdict.
    let of_case = |case: &Value| {
        case["metrics"][0]["judge"]["spent"]["asked"]
            .as_u64()
            .unwrap_or(0)
    };
    let cases = scored.report["cases"].as_array().unwrap();
    let total: u64 = cases.iter().map(of_case).sum();
    assert_eq!(spent["asked"], total);
    assert_eq!(&spent_in_list_of_runs(&scored.workspace), spent);

    let judge = JudgeDouble::agreeing();
    let (_workspace, mut command) = workspace(Some(0.013), &judge);
    let ran = text(&output(&mut command));
    let bought = judge.questions().len();
    let words = format!(
        "judges: {bought} answers · at least {} not requested, because the spending limit was reached",
        ALL - bought
    );
    assert!(ran.contains(&words), "{words}\n{ran}");
}

#[test]
fn ctrl_c_ends_a_run_that_waits_for_the_limit() {
    let (rounds, is_timed) = rounds();
    for _ in 1..=rounds {
        for share in LIMITS {
            // The last affordable requests get no reply, so that the others wait.
            let left = Arc::new(AtomicUsize::new((share * ALL as f64) as usize));
            let of_judge = left.clone();
            let judge = JudgeDouble::start(move |_| {
                if of_judge
                    .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1))
                    .is_err()
                    || share < 0.002
                {
                    loop {
                        std::thread::park();
                    }
                }
                Say::Text(valid("valid"))
            });
            let (_workspace, mut command) = workspace(Some(share * 1.001), &judge);
            let mut child = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            wait_for(
                "the request without a reply",
                Duration::from_secs(60),
                || {
                    (left.load(SeqCst) == 0
                        && judge.questions().len() > (share * ALL as f64) as usize
                        || share < 0.002 && !judge.questions().is_empty())
                    .then_some(())
                },
            );
            let began = Instant::now();
            let pid = rustix::process::Pid::from_child(&child);
            // The first Ctrl-C waits for the requests in flight, the second one does not.
            let ended = wait_for("the end of the run", Duration::from_secs(60), || {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
                child.try_wait().unwrap()
            });
            assert_eq!(ended.code(), Some(130), "{share}");
            let took = began.elapsed();
            assert!(
                !is_timed || took < Duration::from_secs(2),
                "{share}: {took:?}"
            );
        }
    }
}

/// The report of a run that was cancelled, and the list of runs afterwards, contain what the cancelled requests may cost.
#[test]
fn cancelled_requests_are_in_every_sum() {
    let judge = JudgeDouble::start(|_| {
        loop {
            std::thread::park();
        }
    });
    let (workspace, mut command) = workspace(None, &judge);
    command
        .args(["--json", "-q"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_for("requests in every slot", Duration::from_secs(60), || {
        (judge.questions().len() == SLOTS).then_some(())
    });
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut report = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut report).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report: Value = serde_json::from_str(&report).unwrap();
    let spent = &report["summary"]["judges"];
    assert_eq!(
        (&spent["cancelled"], &spent["asked"]),
        (&json!(SLOTS), &json!(0)),
        "{spent}"
    );
    // The estimate for each: the characters of the prompt, and the usual length of a response.
    assert!(
        spent["cost"].as_f64().unwrap() > SLOTS as f64 * 200.0 * 2.0 / 1e6,
        "{spent}"
    );
    assert_eq!(&spent_in_list_of_runs(&workspace), spent);
}
