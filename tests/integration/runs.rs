//! Whole runs of the real binary with test doubles of agents.
#![cfg(unix)]

use crate::common::server::{Dialect, Double};
use crate::common::{both, evaltrail, output, text, wait_for};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn case(id: &str, prompt: &str, answer: &str) -> Value {
    json!({"eval_id": id, "conversation": [{
        "user_content": {"role": "user", "parts": [{"text": prompt}]},
        "final_response": {"role": "model", "parts": [{"text": answer}]},
        "intermediate_data": {"tool_uses": []},
    }]})
}

fn write_set(folder: &Path, name: &str, cases: Vec<Value>) {
    let set = json!({"eval_set_id": name, "eval_cases": cases});
    std::fs::write(folder.join(format!("{name}.evalset.json")), set.to_string()).unwrap();
}

fn report(command: &mut Command) -> (Value, i32) {
    let out = output(command.arg("--json"));
    let report =
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", both(&out)));
    (report, out.status.code().unwrap_or(-1))
}

fn status_of<'a>(report: &'a Value, id: &str) -> (&'a str, String) {
    let case = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|case| case["eval_id"] == id);
    let case = case.unwrap_or_else(|| panic!("no {id} in {report}"));
    (
        case["status"].as_str().unwrap(),
        case["error"].as_str().unwrap_or_default().to_string(),
    )
}

#[test]
fn every_fault_affects_only_its_case() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    let faults = [
        "silent",
        "drip",
        "broken",
        "garbage",
        "nothing",
        "cut",
        "raises",
        "overloaded",
    ];
    let mut cases: Vec<Value> = faults
        .iter()
        .map(|fault| case(fault, fault, "ok"))
        .collect();
    cases.extend((0..4).map(|n| case(&format!("fine_{n}"), &format!("fine {n}"), "ok")));
    cases.push(case("busy", "busy", "ok"));
    write_set(work.path(), "faults", cases);
    let began = Instant::now();
    let (report, code) = report(
        evaltrail(work.path())
            .arg("run")
            .arg(work.path())
            .args(["--agent", &server.agent(), "--timeout", "2s"])
            .args(["-j", "16"]),
    );
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "a hung agent costs its own case only"
    );
    assert_eq!(code, 1);
    let says = |id: &str, words: &str| {
        let (status, error) = status_of(&report, id);
        assert_eq!(status, "errored", "{id}");
        assert!(error.contains(words), "{id}: {error}");
    };
    says("silent", "longer than the limit of 2 s");
    says("drip", "longer than the limit of 2 s");
    // The response before the limit is in the report.
    let drip = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|case| case["eval_id"] == "drip")
        .unwrap();
    assert_eq!(drip["invocations"][0]["actual"]["response"], "I begin");
    says("broken", "500");
    says("garbage", "not JSON");
    says("nothing", "no events in turn 1");
    says("cut", "cut off");
    says("raises", "RuntimeError: no such tool");
    says("overloaded", "503");
    for n in 0..4 {
        assert_eq!(status_of(&report, &format!("fine_{n}")).0, "passed");
    }
    // After the response with `Retry-After: 1` there was one retry.
    assert_eq!(status_of(&report, "busy").0, "passed");
    let seen = server.seen.lock().unwrap();
    assert_eq!(
        (
            seen.busy["busy"],
            seen.runs["overloaded"],
            seen.runs["raises"]
        ),
        (2, 3, 1)
    );
    assert_eq!(seen.wrong, Vec::<String>::new());
    drop(seen);
    wait_for("the sessions to be deleted", Duration::from_secs(5), || {
        server
            .seen
            .lock()
            .unwrap()
            .sessions
            .is_empty()
            .then_some(())
    });
}

#[test]
fn servers_in_other_languages_are_agents_too() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::speaking(Dialect::Go));
    let mut with_state = case("stateful", "fine", "ok");
    with_state["session_input"] = json!({"app_name": "app", "user_id": "a b/c", "state": {"k": 1}});
    write_set(
        work.path(),
        "s",
        vec![with_state, case("error", "named", "ok")],
    );
    let (report, _) = report(
        evaltrail(work.path())
            .arg("run")
            .arg(work.path())
            .args(["--agent", &server.agent()]),
    );
    assert_eq!(status_of(&report, "stateful").0, "passed");
    assert_eq!(status_of(&report, "error").1, "tool failed");
    let seen = server.seen.lock().unwrap();
    assert_eq!((seen.wrong.clone(), seen.deleted), (vec![], 2));
}

/// Hostile ids, prompts, responses and errors: their bytes do not control the terminal, and their lines do not begin
/// a line of the output.
#[test]
fn hostile_text_is_spelt_out() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    let bad = "\u{1b}[2J\u{202e}\u{200b}\t\r\n::error::x";
    write_set(
        work.path(),
        "s",
        vec![
            case(bad, "hostile", bad),
            case("long", "hostile", &"z".repeat(1 << 20)),
        ],
    );
    let mut broken = case("e", "fine", "ok");
    broken["conversation"][0]["user_content"] = json!(bad);
    write_set(work.path(), "broken", vec![broken]);
    for command in ["run", "check", "list"] {
        let mut call = evaltrail(work.path());
        call.arg(command).arg(work.path());
        if command == "run" {
            call.args(["-v", "--agent", &server.agent()]);
        }
        let out = output(&mut call);
        for line in both(&out).lines() {
            assert!(
                !line
                    .chars()
                    .any(|c| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}')),
                "{command}: {line:?}"
            );
            assert!(!line.starts_with("::"), "{command}: {line:?}");
        }
    }
}

#[test]
fn unreachable_agent_is_reported() {
    let work = tempfile::tempdir().unwrap();
    write_set(work.path(), "s", vec![case("a", "fine", "ok")]);
    let agent = ["--agent", "adk+http://127.0.0.1:9/app", "--retries", "0"];
    let out = output(
        evaltrail(work.path())
            .arg("run")
            .arg(work.path())
            .args(agent),
    );
    assert_eq!(out.status.code(), Some(2));
    assert!(
        both(&out).contains("is the server running?"),
        "{}",
        both(&out)
    );
}

/// `kill -9` at 20 points of a run of 200 cases: no finished case is lost or run again, and the report after
/// `--resume` equals that of an uninterrupted run, except for times and ids.
#[test]
fn resume_after_kill_loses_no_finished_case() {
    let whole = {
        let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
        two_hundred(work.path());
        timeless(report(&mut run_all(work.path(), &server)).0)
    };
    for point in 0..20u64 {
        let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
        two_hundred(work.path());
        let mut child = run_all(work.path(), &server)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let enough = (point as usize * 37 + 11) % 180;
        wait_for("the run to get there", Duration::from_secs(30), || {
            let runs = server.seen.lock().unwrap().runs.len();
            (runs >= enough || child.try_wait().unwrap().is_some()).then_some(())
        });
        child.kill().unwrap();
        child.wait().unwrap();
        let finished = journal(work.path());
        let before: HashMap<String, usize> = server.seen.lock().unwrap().runs.clone();
        let (resumed, _) = report(run_all(work.path(), &server).arg("--resume"));
        let after = server.seen.lock().unwrap().runs.clone();
        for id in &finished {
            let prompt = id.replace("case_", "fine ");
            assert_eq!(
                after[&prompt], before[&prompt],
                "{id} was finished and ran again (point {point})"
            );
        }
        let again: usize = after.values().map(|runs| runs - 1).sum();
        assert!(
            again <= 4,
            "{again} attempts ran twice; at most those in flight may (point {point})"
        );
        assert_eq!(timeless(resumed), whole, "point {point}");
        assert_eq!(journal(work.path()).len(), 200);
    }
}

fn two_hundred(folder: &Path) {
    let answer = |n: usize| {
        if n.is_multiple_of(3) {
            "something else"
        } else {
            "ok"
        }
    };
    write_set(
        folder,
        "many",
        (0..200)
            .map(|n| case(&format!("case_{n}"), &format!("fine {n}"), answer(n)))
            .collect(),
    );
}

fn run_all(folder: &Path, server: &Double) -> Command {
    let mut command = evaltrail(folder);
    command
        .arg("run")
        .arg(folder)
        .args(["--agent", &server.agent(), "-j", "4"]);
    command
}

/// The ids of the finished cases, from the complete lines of the journal.
fn journal(folder: &Path) -> BTreeSet<String> {
    let runs = folder.join(".evaltrail/runs");
    let Some(run) = std::fs::read_dir(runs)
        .ok()
        .and_then(|mut runs| runs.next())
    else {
        return BTreeSet::new();
    };
    let text =
        std::fs::read_to_string(run.unwrap().path().join("journal.jsonl")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |at| &text[..at]);
    let id = |line: &str| {
        serde_json::from_str::<Value>(line).expect("a whole line")["eval_id"]
            .as_str()
            .unwrap()
            .to_string()
    };
    whole
        .lines()
        .filter(|line| !line.starts_with("{\"ended\""))
        .map(id)
        .collect()
}

fn timeless(mut report: Value) -> Value {
    for key in ["run_id", "started", "duration_s", "agent"] {
        report[key] = Value::Null;
    }
    for metric in report["summary"]["metrics"].as_array_mut().unwrap() {
        if metric["metric"] == "invocation_duration_v1" || metric["metric"] == "latency_in_seconds"
        {
            metric["mean"] = Value::Null;
            for key in ["std", "mean_errors_as_zero", "min", "median", "p90", "p95"] {
                metric[key] = Value::Null;
            }
        }
    }
    for case in report["cases"].as_array_mut().unwrap() {
        case["latency_s"] = Value::Null;
        for metric in case["metrics"].as_array_mut().unwrap() {
            if metric["metric"] == "invocation_duration_v1" {
                *metric = Value::Null;
            }
        }
        for turn in case["invocations"].as_array_mut().unwrap() {
            for step in turn["actual"]["steps"].as_array_mut().into_iter().flatten() {
                step["at_s"] = Value::Null;
            }
        }
    }
    report
}

#[test]
fn ctrl_c_once_finishes_and_twice_stops() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    let cases = (0..40)
        .map(|n| case(&format!("c{n}"), &format!("slow {n}"), "ok"))
        .collect();
    write_set(work.path(), "slow", cases);
    for times in [1, 2] {
        let mut command = evaltrail(work.path());
        command
            .arg("run")
            .arg(work.path())
            .args(["--agent", &server.agent(), "-j", "2", "--json"]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let before = server.seen.lock().unwrap().runs.len();
        wait_for("two attempts", Duration::from_secs(10), || {
            (server.seen.lock().unwrap().runs.values().sum::<usize>() >= before + 2).then_some(())
        });
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        for word in ["finishing", "stopping"].iter().take(times) {
            let pid = child.id().to_string();
            assert!(
                Command::new("kill")
                    .args(["-INT", &pid])
                    .status()
                    .unwrap()
                    .success()
            );
            assert!(
                said.any(|line| line.unwrap().contains(word)),
                "it says {word}"
            );
        }
        let status = child.wait().unwrap();
        let out = child.wait_with_output().unwrap();
        assert_eq!(status.code(), Some(130), "{}", both(&out));
        let report: Value = serde_json::from_slice(&out.stdout).unwrap();
        let ended = report["summary"]["cases"].as_u64().unwrap();
        assert!(ended < 40);
        if times == 1 {
            assert!(ended >= 2, "what was in flight is finished: {report}");
        }
    }
}

/// `--rate` sets the number of attempts per minute. An interrupt does not wait for the next attempt.
#[test]
fn attempts_start_at_the_requested_rate() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    write_set(
        work.path(),
        "s",
        (0..4)
            .map(|n| case(&format!("c{n}"), &format!("fine {n}"), "ok"))
            .collect(),
    );
    let run = |rate: &str| {
        let mut command = evaltrail(work.path());
        command
            .arg("run")
            .arg(work.path())
            .args(["--agent", &server.agent(), "--rate", rate]);
        command
    };
    let (paced, code) = report(&mut run("600"));
    assert!(
        code == 0 && paced["duration_s"].as_f64().unwrap() >= 0.3,
        "{}",
        paced["duration_s"]
    );
    let before = server.seen.lock().unwrap().runs["fine 0"];
    let mut child = run("1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the first attempt", Duration::from_secs(10), || {
        (server.seen.lock().unwrap().runs["fine 0"] > before).then_some(())
    });
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let code = wait_for("the end", Duration::from_secs(10), || {
        child.try_wait().unwrap()
    });
    assert_eq!(code.code(), Some(130));
}

/// `--fail-fast` starts no more attempts, is never a success, and `--resume` runs the rest.
#[test]
fn a_run_stops_after_the_first_failures() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    let cases = (0..20).map(|n| {
        case(
            &format!("c{n}"),
            &format!("fine {n}"),
            if n < 3 { "ok" } else { "no" },
        )
    });
    write_set(work.path(), "s", cases.collect());
    let run = |more: &[&str]| {
        let mut command = evaltrail(work.path());
        let agent = ["--agent", &server.agent(), "-j", "1"];
        output(command.arg("run").arg(work.path()).args(agent).args(more))
    };
    let stopped = run(&["--fail-fast=2", "--max-failures", "20"]);
    assert_eq!(stopped.status.code(), Some(1), "{}", both(&stopped));
    assert!(
        both(&stopped).contains("stopping after the first failures"),
        "{}",
        both(&stopped)
    );
    let asked = server.seen.lock().unwrap().runs.len();
    assert!(
        (5..=6).contains(&asked),
        "3 passed, 2 failed, and at most one was in flight: {asked}"
    );
    let resumed = run(&["--resume"]);
    assert_eq!(resumed.status.code(), Some(1), "{}", both(&resumed));
    let seen = server.seen.lock().unwrap();
    assert_eq!(seen.runs.len(), 20, "{}", both(&resumed));
    assert!(
        seen.runs.values().all(|count| *count == 1),
        "nothing ran twice: {:?}",
        seen.runs
    );
}

/// The end of an unfinished run has the command that continues it. A request with other options, which cannot, is answered
/// with the command of the run.
#[test]
fn unfinished_run_prints_resume_command() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    let cases = (0..6).map(|n| case(&format!("c{n}"), &format!("fine {n}"), "no"));
    write_set(work.path(), "s", cases.collect());
    write_set(work.path(), "t", vec![case("other", "fine t", "ok")]);
    let agent = server.agent();
    let run = |args: &[&str]| {
        let mut command = evaltrail(work.path());
        output(command.current_dir(work.path()).args(args))
    };
    let set = "s.evalset.json:c1,c2,c3,c4";
    let stopped = run(&[
        "run",
        set,
        "--agent",
        &agent,
        "-j",
        "1",
        "--metric",
        "bleu",
        "--fail-fast",
    ]);
    let printed = both(&stopped);
    let resume = printed
        .lines()
        .find_map(|line| line.strip_prefix("resume:  evaltrail "));
    let resume = resume.unwrap_or_else(|| panic!("{printed}")).to_string();
    assert!(resume.contains("--resume="), "{resume}");
    let refused = both(&run(&[
        "run", set, "--agent", &agent, "--resume", "--repeat", "2",
    ]));
    let of_run = refused
        .lines()
        .find_map(|line| line.strip_prefix("resume:  evaltrail "));
    let of_run = of_run.unwrap_or_else(|| panic!("{refused}"));
    assert!(of_run.contains("--metric bleu"), "{refused}");
    // Longer than both parts of the run.
    let pause = Duration::from_secs(4);
    std::thread::sleep(pause);
    for command in [of_run, &resume] {
        let args: Vec<&str> = command
            .split(' ')
            .map(|word| word.trim_matches('\''))
            .collect();
        let resumed = both(&run(&args));
        let is_done = resumed.contains("nothing to resume");
        assert!(
            is_done || resumed.contains("resuming run"),
            "{command}: {resumed}"
        );
    }
    let listed = run(&["runs", ".", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let worked = listed["runs"][0]["duration_s"].as_f64().unwrap();
    assert!(worked < pause.as_secs_f64(), "{listed}");
    let seen = server.seen.lock().unwrap();
    assert_eq!(seen.runs.len(), 4, "{:?}", seen.runs);
    assert!(
        seen.runs.values().all(|count| *count == 1),
        "{:?}",
        seen.runs
    );
}

/// A printed command that was not filled in runs no agent with the mark in place of its secret.
#[test]
fn agent_with_mark_of_secret_is_refused() {
    let work = tempfile::tempdir().unwrap();
    write_set(work.path(), "s", vec![case("a", "fine a", "ok")]);
    for agent in ["cmd:./agent.sh --api-key …", "a2a+http://…@127.0.0.1:9"] {
        let mut command = evaltrail(work.path());
        command.current_dir(work.path());
        let refused = output(command.args(["run", ".", "--agent", agent]));
        let printed = both(&refused);
        assert_eq!(refused.status.code(), Some(2), "{printed}");
        assert!(
            printed.contains("write the secret in place of …"),
            "{printed}"
        );
    }
}

/// A server that ends during a run ends the attempts of its agent after a few, and what is left can be resumed.
#[test]
fn run_stops_when_its_server_is_lost() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    let cases = (0..400).map(|n| case(&format!("c{n}"), &format!("fine {n}"), "ok"));
    write_set(work.path(), "s", cases.collect());
    let agent = server.agent();
    let mut command = evaltrail(work.path());
    command
        .args(["run", "--agent", &agent, "-j", "2", "--retries", "0"])
        .arg(work.path());
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("some runs", Duration::from_secs(30), || {
        (server.seen.lock().unwrap().runs.len() > 5).then_some(())
    });
    server.stop();
    let ended = child.wait_with_output().unwrap();
    let printed = both(&ended);
    assert_eq!(ended.status.code(), Some(2), "{printed}");
    let lost = "attempts in a row could not connect: cannot reach ";
    assert!(printed.contains(lost), "{printed}");
    assert!(printed.contains("resume:  evaltrail run"), "{printed}");
    let listed = output(
        evaltrail(work.path())
            .args(["runs", "--json"])
            .arg(work.path()),
    );
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let run = &listed["runs"][0];
    let count = |key: &str| run[key].as_u64().unwrap();
    assert!((2..=5).contains(&count("errored")), "{listed}");
    assert!(count("passed") + count("errored") < 400, "{listed}");
}

/// What is mistyped, or put in the wrong place, is answered with what was probably meant.
#[test]
fn mistakes_of_arguments_name_what_is_meant() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    write_set(
        work.path(),
        "home_automation",
        vec![
            case("dim_lights", "fine a", "no"),
            case("lock_door", "fine b", "no"),
        ],
    );
    let agent = server.agent();
    let run = |args: &[&str]| {
        let mut command = evaltrail(work.path());
        both(&output(command.current_dir(work.path()).args(args)))
    };
    let set = "home_automation.evalset.json";
    run(&["run", set, "--agent", &agent]);
    let checked = run(&["check", "nope.json"]);
    assert_eq!(checked.matches("nope.json").count(), 1, "{checked}");
    let mistyped = run(&["run", "home"]);
    assert!(
        mistyped.contains(&format!("did you mean {set}?")),
        "{mistyped}"
    );
    let exported = run(&["export", "last", "run.html"]);
    assert!(
        exported.contains("evaltrail export last -o run.html"),
        "{exported}"
    );
    let wrong = run(&["accept", "last", "dim_light"]);
    assert!(wrong.contains("did you mean \"dim_lights\"?"), "{wrong}");
    let one = run(&["accept", "last", &format!("{set}:lock_door")]);
    assert!(one.contains("1 case would change"), "{one}");
    let elsewhere = run(&["accept", "last", "other.json:lock_door"]);
    assert!(
        elsewhere.contains("the run has no case of other.json"),
        "{elsewhere}"
    );
}

#[test]
fn failed_and_repeat_and_selection() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    write_set(
        work.path(),
        "s",
        vec![
            case("good", "fine a", "ok"),
            case("bad", "fine b", "no"),
            case("other", "fine c", "ok"),
        ],
    );
    let agent = ["--agent", &server.agent()];
    let set = work.path().join("s.evalset.json").display().to_string();
    let (all, code) = report(evaltrail(work.path()).arg("run").arg(&set).args(agent));
    assert_eq!((code, all["summary"]["failed"].as_u64()), (1, Some(1)));
    let (failed, _) = report(
        evaltrail(work.path())
            .arg("run")
            .arg(&set)
            .args(agent)
            .arg("--failed"),
    );
    assert_eq!(failed["cases"].as_array().unwrap().len(), 1);
    assert_eq!(status_of(&failed, "bad").0, "failed");
    let (some, code) = report(
        evaltrail(work.path())
            .arg("run")
            .arg(format!("{set}:good,other"))
            .args(agent)
            .args(["--repeat", "3"]),
    );
    assert_eq!((code, some["cases"].as_array().unwrap().len()), (0, 6));
    let order: Vec<_> = some["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            (
                c["eval_id"].as_str().unwrap(),
                c["attempt"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        order,
        [
            ("good", 1),
            ("good", 2),
            ("good", 3),
            ("other", 1),
            ("other", 2),
            ("other", 3)
        ]
    );
    let (failed, _) = report(
        evaltrail(work.path())
            .arg("run")
            .arg(&set)
            .args(agent)
            .arg("--failed"),
    );
    assert_eq!(
        failed["cases"][0]["eval_id"], "bad",
        "a run without it does not make it pass"
    );
    let fixed = [
        case("good", "fine a", "ok"),
        case("bad", "fine d", "ok"),
        case("other", "fine c", "ok"),
    ];
    write_set(work.path(), "s", fixed.to_vec());
    let (failed, _) = report(
        evaltrail(work.path())
            .arg("run")
            .arg(&set)
            .args(agent)
            .arg("--failed"),
    );
    assert_eq!(
        failed["cases"][0]["eval_id"], "bad",
        "something else is asked now: the old answer is none to it"
    );
    let again = output(
        evaltrail(work.path())
            .arg("run")
            .arg(&set)
            .args(agent)
            .arg("--failed"),
    );
    assert_eq!(again.status.code(), Some(0), "{}", both(&again));
    assert!(both(&again).contains("is a pass: there is nothing to run"));
    let wrong = output(
        evaltrail(work.path())
            .arg("run")
            .arg(format!("{set}:goo"))
            .args(agent),
    );
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        both(&wrong).contains("did you mean \"good\""),
        "{}",
        both(&wrong)
    );
    let (filtered, _) = report(
        evaltrail(work.path())
            .arg("run")
            .arg(&set)
            .args(agent)
            .args(["--filter", "-id:good"]),
    );
    assert_eq!(filtered["cases"].as_array().unwrap().len(), 2);
}

#[test]
fn the_report_is_as_documented_and_junit_is_xml() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    let hostile = "a\u{1b}[31m<&\"\u{202e}\u{ffff}\u{0}]]>";
    write_set(
        work.path(),
        "s",
        vec![case(hostile, "fine", hostile), case("e", "raises", "ok")],
    );
    let junit = work.path().join("r.xml");
    let reports = format!("junit={}", junit.display());
    let (report, _) = report(
        evaltrail(work.path())
            .arg("run")
            .arg(work.path())
            .args(["--agent", &server.agent(), "--report", &reports])
            .args(["--metric", "hallucinations_v1"]),
    );
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&report),
        [
            "evaltrail",
            "run_id",
            "started",
            "duration_s",
            "agent",
            "summary",
            "not_run",
            "unavailable_agents",
            "cases"
        ]
    );
    assert_eq!(
        keys(&report["summary"]),
        [
            "cases",
            "attempts",
            "pass_rate",
            "passed",
            "failed",
            "errored",
            "not_evaluated",
            "model_errors",
            "quarantined",
            "judges",
            "gate",
            "metrics",
            "groups"
        ]
    );
    assert_eq!(
        keys(&report["summary"]["metrics"][0]),
        [
            "metric",
            "mean",
            "std",
            "valid",
            "errored",
            "total",
            // more than the mean
            "mean_errors_as_zero",
            "min",
            "median",
            "p90",
            "p95",
            "why_no_score",
            "different_options"
        ]
    );
    assert_eq!(
        keys(&report["cases"][0]),
        [
            "eval_set",
            "file",
            "eval_id",
            "position",
            "attempt",
            "status",
            "adk_status",
            "latency_s",
            "error",
            "reason",
            "metrics",
            "invocations"
        ]
    );
    assert_eq!(
        keys(&report["cases"][0]["metrics"][0]),
        [
            "metric",
            "score",
            "threshold",
            "status",
            "explanation",
            "findings",
            "per_invocation",
            "rubrics"
        ]
    );
    assert_eq!(
        keys(&report["cases"][0]["invocations"][0]),
        ["user", "expected", "actual"]
    );
    assert_eq!(
        report["cases"][0]["eval_id"], hostile,
        "data stays as it was"
    );
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(
        !xml.chars()
            .any(|c| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{ffff}'))
    );
    let mut reader = quick_xml::Reader::from_str(&xml);
    while !matches!(
        reader.read_event().expect("well-formed"),
        quick_xml::events::Event::Eof
    ) {}
    assert!(
        xml.contains("<error") && xml.contains("tests=\"2\""),
        "{xml}"
    );
}

#[test]
fn unjudged_cases_are_not_passed() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    write_set(work.path(), "s", vec![case("a", "fine", "ok")]);
    let config = work.path().join("c.json");
    let run = |criteria: Value| {
        std::fs::write(&config, json!({"criteria": criteria}).to_string()).unwrap();
        let mut command = evaltrail(work.path());
        command
            .arg("run")
            .arg(work.path())
            .args(["--agent", &server.agent(), "--config"])
            .arg(&config);
        report(&mut command)
    };
    let (judged, code) = run(json!({"response_match_score": 0.5, "hallucinations_v1": 0.5}));
    assert_eq!(code, 1);
    assert_eq!(
        (
            status_of(&judged, "a").0,
            judged["cases"][0]["adk_status"].as_u64()
        ),
        ("not_evaluated", Some(1))
    );
    assert_eq!(run(json!({})).1, 1, "nothing judged is not passed");
}

const ECHO: &str = r#"#!/bin/sh
echo started $$ >> "$LOG"
while read -r line; do
  case "$line" in
    *'"prompt":"hang'*) sleep 60 ;;
    *'"prompt":"die'*) echo "the reason" >&2; exit 3 ;;
    *'"prompt":"late'*) (sleep 0.3; echo "the late reason" >&2) >/dev/null & exit 3 ;;
    *'"prompt":"garbage'*) echo 'this is no json' ;;
    *'"prompt":"refuse'*) echo '{"error": "I would rather not"}' ;;
    *'"prompt":"event'*)
      echo '{"author": "me", "content": {"parts": [{"function_call": {"name": "t", "args": {"n": 1}}}]}}'
      echo '{"response": "done"}' ;;
    *) echo '{"response": "ok", "predicted_trajectory": []}' ;;
  esac
done
"#;

fn echo_agent(folder: &Path) -> String {
    let script = folder.join("agent.sh");
    std::fs::write(&script, ECHO).unwrap();
    format!("cmd:sh {}", script.display())
}

#[test]
fn a_program_is_an_agent() {
    let work = tempfile::tempdir().unwrap();
    let agent = echo_agent(work.path());
    let prompts = ["fine", "hang", "die", "late", "garbage", "refuse", "event"];
    write_set(
        work.path(),
        "s",
        prompts
            .iter()
            .map(|p| case(p, p, if *p == "event" { "done" } else { "ok" }))
            .collect(),
    );
    let log = work.path().join("log");
    let mut command = evaltrail(work.path());
    command
        .env("LOG", &log)
        .arg("run")
        .arg(work.path())
        .args(["--agent", &agent, "--timeout", "2s"])
        .args(["--env", "LOG"]);
    let (report, _) = report(&mut command);
    let says = |id: &str| status_of(&report, id);
    assert_eq!(says("fine").0, "passed");
    assert!(says("hang").1.contains("limit"), "{report}");
    assert!(
        says("die").1.contains("exit status: 3") && says("die").1.contains("the reason"),
        "{}",
        says("die").1
    );
    assert!(
        says("late").1.contains("the late reason"),
        "its last words are waited for: {}",
        says("late").1
    );
    assert!(
        says("garbage").1.contains("not JSON: this is no json")
            || says("garbage").1.contains("this is no json")
    );
    assert_eq!(says("refuse").1, "I would rather not");
    assert_eq!(says("event").0, "failed");
    let events = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["eval_id"] == "event")
        .unwrap();
    assert_eq!(
        events["invocations"][0]["actual"]["tool_calls"],
        json!([{"name": "t", "args": {"n": 1}}])
    );
    wait_for("every program to be gone", Duration::from_secs(5), || {
        all_gone(&log).then_some(())
    });
}

fn all_gone(log: &Path) -> bool {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let pids: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("started "))
        .collect();
    !pids.is_empty()
        && pids
            .iter()
            .all(|pid| !Path::new("/proc").join(pid).exists())
}

#[test]
fn programs_die_with_us_however_we_die() {
    for signal in ["KILL", "TERM"] {
        let work = tempfile::tempdir().unwrap();
        let agent = echo_agent(work.path());
        write_set(
            work.path(),
            "s",
            vec![case("a", "hang", "ok"), case("b", "hang too", "ok")],
        );
        let log = work.path().join("log");
        let mut command = evaltrail(work.path());
        command
            .env("LOG", &log)
            .arg("run")
            .arg(work.path())
            .args(["--agent", &agent, "--env", "LOG"]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("both programs", Duration::from_secs(10), || {
            (std::fs::read_to_string(&log)
                .unwrap_or_default()
                .lines()
                .count()
                == 2)
                .then_some(())
        });
        assert!(!all_gone(&log));
        assert!(
            Command::new("kill")
                .args([format!("-{signal}"), child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        child.wait().unwrap();
        wait_for("the programs to die", Duration::from_secs(5), || {
            all_gone(&log).then_some(())
        });
    }
}

#[test]
fn nothing_runs_that_was_not_allowed() {
    let work = tempfile::tempdir().unwrap();
    let marker = work.path().join("marker");
    let config = format!(
        "[agents.x]\nkind = \"command\"\ncommand = \"touch {}\"\n",
        marker.display()
    );
    std::fs::write(work.path().join("evaltrail.toml"), config).unwrap();
    write_set(work.path(), "s", vec![case("a", "fine", "ok")]);
    for command in [vec!["list"], vec!["check"], vec!["run"]] {
        let out = output(evaltrail(work.path()).args(&command).arg(work.path()));
        assert!(!marker.exists(), "{command:?}");
        if command == ["run"] {
            assert_eq!(out.status.code(), Some(2));
            assert!(
                both(&out).contains("--trust") && both(&out).contains("touch"),
                "{}",
                both(&out)
            );
        }
    }
    output(
        evaltrail(work.path())
            .args(["run", "--trust"])
            .arg(work.path()),
    );
    assert!(marker.exists());
}

#[test]
fn a_bad_file_spoils_only_itself() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    write_set(work.path(), "good", vec![case("a", "fine", "ok")]);
    std::fs::write(
        work.path().join("latin.evalset.json"),
        b"{\"eval_set_id\": \"\xe9\"}",
    )
    .unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(work.path().join("pipe.evalset.json"))
            .status()
            .unwrap()
            .success()
    );
    let out = output(
        evaltrail(work.path())
            .arg("run")
            .arg(work.path())
            .args(["--agent", &server.agent()]),
    );
    assert_eq!(out.status.code(), Some(2), "{}", both(&out));
    let said = both(&out);
    assert!(
        said.contains("1 passed") && said.contains("not UTF-8"),
        "{said}"
    );
    let out = output(evaltrail(work.path()).arg("check").arg(work.path()));
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out).contains("2 files checked"), "{}", text(&out));
    let out = output(evaltrail(work.path()).arg("list").arg(work.path()));
    assert!(
        text(&out).contains("good.evalset.json   1 case "),
        "{}",
        text(&out)
    );
}

/// Numbers that only Python's JSON allows, and integers of any size, are preserved in a run and its journal.
#[test]
fn odd_numbers_go_all_the_way() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    let set = r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "odd", "conversation": [{
        "user_content": {"parts": [{"text": "fine"}]}, "final_response": {"parts": [{"text": "ok"}]},
        "intermediate_data": {"tool_uses": [{"name": "t", "args": {"a": NaN, "b": -Infinity, "c": 123456789012345678901234567890}}]}
    }]}]}"#;
    std::fs::write(work.path().join("s.evalset.json"), set).unwrap();
    let (report, code) = report(
        evaltrail(work.path())
            .arg("run")
            .arg(work.path())
            .args(["--agent", &server.agent()]),
    );
    assert_eq!((code, status_of(&report, "odd").0), (1, "failed"));
    let args = &report["cases"][0]["invocations"][0]["expected"]["tool_calls"][0]["args"];
    assert_eq!(
        args.to_string(),
        r#"{"a":"NaN","b":"-Infinity","c":123456789012345678901234567890}"#
    );
    assert_eq!(journal(work.path()).len(), 1);
}

#[test]
fn unwritable_folder_still_yields_report() {
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    write_set(work.path(), "s", vec![case("a", "fine", "ok")]);
    // A file in place of the folder: not even root can create the folder.
    std::fs::write(work.path().join(".evaltrail"), "").unwrap();
    let home = tempfile::tempdir().unwrap();
    let out = output(evaltrail(home.path()).arg("run").arg(work.path()).args([
        "--agent",
        &server.agent(),
        "--json",
    ]));
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(
        (out.status.code(), status_of(&report, "a").0),
        (Some(0), "passed")
    );
    assert!(both(&out).contains("not recorded"), "{}", both(&out));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let work = tempfile::tempdir().unwrap();
    write_set(
        work.path(),
        "s",
        (0..2000)
            .map(|n| case(&format!("case_{n}"), "x", "y"))
            .collect(),
    );
    let line = format!(
        "{} list --cases {} | head -n 1",
        env!("CARGO_BIN_EXE_evaltrail"),
        work.path().display()
    );
    let out = output(Command::new("bash").args(["-o", "pipefail", "-c", &line]));
    assert!(!both(&out).contains("panicked"), "{}", both(&out));
    assert_eq!(out.status.code(), Some(0), "{}", both(&out));
}

/// An agent with its own limit has no more attempts at once; other agents run at the same time.
#[test]
fn limit_of_an_agent_is_respected() {
    use evaltrail_core::domain::RunEvent;
    use evaltrail_engine::runner::{Request, RunIdentity, Selection, prepare, start};
    let work = tempfile::tempdir().unwrap();
    crate::common::copy_folder(
        &crate::common::root().join("fixtures/workspace"),
        work.path(),
    );
    let toml = work.path().join("evaltrail.toml");
    let text = std::fs::read_to_string(&toml).unwrap().replace(
        "kind = \"replay\"\nrecording = \"recordings/garden",
        "kind = \"replay\"\njobs = 1\nspeed = 1000\nrecording = \"recordings/garden",
    );
    std::fs::write(&toml, text).unwrap();
    let workspace = evaltrail_engine::workspace::Workspace::open(work.path()).unwrap();
    let selections = workspace.sets.iter().cloned().map(Selection::all).collect();
    let prepared = prepare(
        &workspace,
        &Request {
            selections,
            ..Request::default()
        },
        &RunIdentity::now(),
    )
    .unwrap();
    let all = prepared.plan.attempts();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut run = start(prepared, None, work.path());
        let mut beside = 0;
        while let Some(event) = run.events.recv().await {
            let started = matches!(event, RunEvent::Started { .. });
            run.state.apply(event);
            let state = &run.state;
            let garden = |key: &&evaltrail_core::domain::AttemptKey| {
                state.plan.set_of(key.case).agent_name == "garden"
            };
            let (of_garden, others) = (
                state.in_flight.keys().filter(garden).count(),
                state.in_flight.len(),
            );
            assert!(of_garden <= 1, "{of_garden} at once");
            beside = beside.max(if started { others } else { 0 });
        }
        assert_eq!(run.state.totals.ended(), all);
        assert!(beside > 1, "others ran beside it");
    });
}

/// While a run is paused no attempt starts; after it is resumed all attempts end.
#[test]
fn paused_run_starts_nothing_until_resumed() {
    use evaltrail_core::domain::RunEvent;
    use evaltrail_engine::runner::{Request, RunIdentity, Selection, prepare, start};
    let work = tempfile::tempdir().unwrap();
    crate::common::copy_folder(
        &crate::common::root().join("fixtures/workspace"),
        work.path(),
    );
    let workspace = evaltrail_engine::workspace::Workspace::open(work.path()).unwrap();
    let selections = workspace.sets.iter().cloned().map(Selection::all).collect();
    let request = Request {
        selections,
        ..Request::default()
    };
    let prepared = prepare(&workspace, &request, &RunIdentity::now()).unwrap();
    let all = prepared.plan.attempts();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut run = start(prepared, None, work.path());
        run.handle.pause(true);
        let mut paused = false;
        // Until the attempts in flight have ended and there are no more events.
        while let Ok(event) = tokio::time::timeout(Duration::from_secs(3), run.events.recv()).await
        {
            let event = event.expect("the run goes on");
            paused |= event == RunEvent::Paused(true);
            assert!(
                !paused || !matches!(event, RunEvent::Started { .. }),
                "{event:?}"
            );
            run.state.apply(event);
        }
        assert!(paused && run.state.totals.ended() < all && run.state.in_flight.is_empty());
        run.handle.pause(false);
        while let Some(event) = run.events.recv().await {
            run.state.apply(event);
        }
        assert_eq!(
            (run.state.totals.ended(), run.state.is_live()),
            (all, false)
        );
    });
}

/// One attempt is cancelled: the others continue, and it remains outstanding.
#[test]
fn one_attempt_can_be_cancelled() {
    use evaltrail_core::domain::RunEvent;
    use evaltrail_engine::runner::{Request, RunIdentity, Selection, prepare, start};
    let (work, server) = (tempfile::tempdir().unwrap(), Double::start());
    write_set(
        work.path(),
        "s",
        vec![
            case("hangs", "silent", "ok"),
            case("a", "fine", "ok"),
            case("b", "fine too", "ok"),
        ],
    );
    let workspace = evaltrail_engine::workspace::Workspace::open(work.path()).unwrap();
    let selections = workspace.sets.iter().cloned().map(Selection::all).collect();
    let request = Request {
        selections,
        agent: Some(server.agent()),
        ..Request::default()
    };
    let prepared = prepare(&workspace, &request, &RunIdentity::now()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut run = start(prepared, None, work.path());
        while let Some(event) = run.events.recv().await {
            run.state.apply(event.clone());
            if run.state.totals.passed == 2
                && let RunEvent::Finished(_) = event
            {
                let hanging = *run.state.in_flight.keys().next().expect("one hangs");
                run.handle.cancel_one(hanging);
            }
        }
        let owed: Vec<usize> = run.state.outstanding().iter().map(|key| key.case).collect();
        assert_eq!((run.state.totals.passed, owed), (2, vec![0]));
    });
}

/// While `$EDITOR` is open, the explorer receives no events of the run: no attempt waits for it.
#[test]
fn a_slow_receiver_of_events_delays_no_attempt() {
    use evaltrail_core::domain::{RunEvent, RunOptions};
    use evaltrail_engine::runner::{Request, RunIdentity, Selection, prepare, start};
    let work = tempfile::tempdir().unwrap();
    crate::common::copy_folder(
        &crate::common::root().join("fixtures/workspace"),
        work.path(),
    );
    let toml = work.path().join("evaltrail.toml");
    let text = std::fs::read_to_string(&toml).unwrap();
    std::fs::write(
        &toml,
        text.replace(
            "recording = \"recordings/g",
            "speed = 0\nrecording = \"recordings/g",
        )
        .replace(
            "recording = \"recordings/l",
            "speed = 0\nrecording = \"recordings/l",
        ),
    )
    .unwrap();
    let workspace = evaltrail_engine::workspace::Workspace::open(work.path()).unwrap();
    let selections = workspace.sets.iter().cloned().map(Selection::all).collect();
    let options = RunOptions {
        repeat: 20,
        timeout_ms: 30_000,
        ..RunOptions::default()
    };
    let request = Request {
        selections,
        options,
        ..Request::default()
    };
    let prepared = prepare(&workspace, &request, &RunIdentity::now()).unwrap();
    let all = prepared.plan.attempts();
    let journal = work
        .path()
        .join(".evaltrail/runs")
        .join(&prepared.plan.run_id)
        .join("journal.jsonl");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let mut run = runtime.block_on(async { start(prepared, None, work.path()) });
    wait_for(
        "all attempts in the journal",
        Duration::from_secs(60),
        || {
            let written = std::fs::read_to_string(&journal).unwrap_or_default();
            (written.lines().count() >= all).then_some(())
        },
    );
    runtime.block_on(async {
        while let Some(event) = run.events.recv().await {
            if let RunEvent::Finished(attempt) = &event {
                let error = attempt.error.clone().unwrap_or_default();
                assert!(
                    !error.contains("longer than the limit"),
                    "{}: {error}",
                    attempt.eval_id
                );
            }
            run.state.apply(event);
        }
    });
    assert_eq!(
        (run.state.totals.ended(), run.state.is_live()),
        (all, false),
        "and no event is lost"
    );
}
