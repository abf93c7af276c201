//! The limit of the tests' time.
#![cfg(target_os = "linux")]

use crate::common::output;
use crate::common::watchdog::watch_this_test;
use std::process::{Command, Stdio};

/// Not a test: it is run by the next one.
#[test]
#[ignore = "it does not end"]
fn a_test_that_hangs() {
    watch_this_test();
    let mut child = Command::new("sleep")
        .arg("600")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.wait().unwrap();
}

#[test]
fn hanging_test_is_ended_and_reported() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "watchdog::a_test_that_hangs"])
        .env("EVALTRAIL_TEST_SECONDS", "0.1");
    let ran = output(&mut command);
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success());
    assert!(
        told.contains("watchdog::a_test_that_hangs takes longer than 0.1 s"),
        "{told}"
    );
    assert!(
        told.contains("sleep 600") && told.contains("hread "),
        "{told}"
    );
    // The processes of the test that was ended are not those of this one.
    let child = told
        .lines()
        .find_map(|line| line.strip_prefix("process ")?.strip_suffix(": sleep 600 "));
    let child: i32 = child.unwrap().parse().unwrap();
    let child = rustix::process::Pid::from_raw(child).unwrap();
    rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
}
