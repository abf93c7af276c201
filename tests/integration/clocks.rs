//! The system's clock changes by a day in both directions during a run. A preloaded library replaces the clock of the program.
#![cfg(target_os = "linux")]

use crate::common::{TestWorkspace, both, evaltrail, output};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// `clock_gettime` of the C library, whose time of day changes by `CLOCK_SHIFT` once the file exists that `CORRECTED` names.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    const char *corrected = getenv("CORRECTED"), *seconds = getenv("CLOCK_SHIFT");
    int result = syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME && corrected && seconds && access(corrected, F_OK) == 0) time->tv_sec += atol(seconds);
    return result;
}
"#;

/// The agent corrects the clock during its first case.
const AGENT: &str = "while read line; do touch corrected; echo '{\"response\": \"hello\"}'; done\n";

#[test]
fn the_duration_of_a_run_is_measured() {
    let case = |id: &str| {
        json!({"eval_id": id, "conversation": [{
            "user_content": {"role": "user", "parts": [{"text": "hi"}]},
            "final_response": {"role": "model", "parts": [{"text": "hello"}]},
        }]})
    };
    let set = json!({"eval_set_id": "s", "eval_cases": [case("a"), case("b")]});
    let workspace = TestWorkspace::new(&[
        ("s.evalset.json", set.to_string()),
        (
            "test_config.json",
            r#"{"criteria": {"response_match_score": 0.5}}"#.into(),
        ),
        ("agent.sh", AGENT.into()),
        ("clock.c", LIBRARY.into()),
        ("home/.keep", String::new()),
    ]);
    let library = workspace.path().join("clock.so");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(workspace.path().join("clock.c"));
    let compiled = output(&mut compiler);
    assert!(compiled.status.success(), "{}", both(&compiled));
    for seconds in ["86400", "-86400"] {
        let mut run = evaltrail(&workspace.path().join("home"));
        run.args([
            "run",
            "s.evalset.json",
            "--agent",
            "cmd:sh agent.sh",
            "--jobs",
            "1",
            "--json",
        ]);
        run.env("CLOCK_SHIFT", seconds)
            .env("LD_PRELOAD", &library)
            .env("CORRECTED", workspace.path().join("corrected"));
        let ran = output(run.current_dir(workspace.path()));
        assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
        fs::remove_file(workspace.path().join("corrected")).unwrap();
        let mut runs = evaltrail(&workspace.path().join("home"));
        let listed = output(runs.args(["runs", "--json"]).current_dir(workspace.path()));
        let runs: Value = serde_json::from_slice(&listed.stdout).unwrap();
        let run = runs
            .get("runs")
            .unwrap_or(&runs)
            .get(0)
            .unwrap_or_else(|| panic!("{runs}"));
        let duration = run["duration_s"]
            .as_f64()
            .unwrap_or_else(|| panic!("{run}"));
        assert!(
            (0.0..3600.0).contains(&duration),
            "after {seconds} s: {run}"
        );
    }
}
