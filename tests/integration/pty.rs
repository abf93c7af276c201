//! The real binary in a pseudo-terminal: keys in, screen out, the terminal restored afterwards.
#![cfg(unix)]

use crate::common::judge::{JudgeDouble, KEY, Say};
use crate::common::terminal::Terminal;
use crate::common::{TestWorkspace, evaltrail, output};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::json;
use std::time::Duration;

const BINARY: &str = env!("CARGO_BIN_EXE_evaltrail");

fn demo(home: &std::path::Path, size: (u16, u16)) -> Terminal {
    let terminal = Terminal::start(BINARY, &["demo"], home, size);
    terminal.wait_for("water_tomatoes");
    terminal
}

#[test]
fn demo_runs_and_failed_case_shows_argument() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = demo(home.path(), (120, 32));
    terminal.keys("*r");
    terminal.wait_for("in flight");
    // A failed case is opened while the rest still runs.
    terminal.wait_for("✗ lettuce_six");
    terminal.keys("\t\r");
    terminal.wait_for("4 metrics");
    terminal.keys("q");
    terminal.wait_for("ended after");
    terminal.keys("q");
    terminal.wait_for("✗ lettuce_six_litres");
    terminal.keys("gn\r");
    terminal.wait_for("litres  6");
    terminal.wait_for("litres  5");
    terminal.wait_for("water_bed.litres: expected 6, got 5 (call 2)");
    terminal.keys("v");
    terminal.wait_for("← read_soil");
    terminal.keys("qqq");
    assert_eq!(terminal.wait_for_end(), 0);
    terminal.assert_restored();
    assert!(terminal.is_cooked());
}

/// The demo of the README, key by key.
#[test]
fn the_five_steps_of_the_readme() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = demo(home.path(), (120, 40));
    terminal.wait_for("all             30");
    terminal.keys("hjr");
    terminal.wait_for("finished, failing first");
    terminal.wait_for("✗ lettuce_six_litres   water_bed.litres: expected 6, got 5 (call 2)");
    terminal.keys("\r");
    terminal.wait_for("4 metrics");
    terminal.keys("=");
    terminal.wait_for("what if  water_bed: litres tolerance 1");
    terminal.wait_for("pass");
    terminal.keys("wd");
    terminal.wait_until("no what-if", |screen| {
        !screen.contains("what if  water_bed")
    });
    terminal.keys("a");
    terminal.wait_for("change nothing");
    terminal.keys("\r");
    terminal.wait_for("done: accept litres of call 2 water_bed");
    terminal.keys("u");
    terminal.wait_for("undone: accept litres of call 2 water_bed");
    terminal.keys("fuseless\r");
    terminal.wait_for("not run");
    terminal.keys("r");
    terminal.wait_for("≈ failed, unsteady");
    terminal.keys("J");
    terminal.wait_for("next_step  ✓✗✗✓✗  2–3");
    terminal.keys("qqq");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// Of forty cases nine fail: few keys after the start, all nine reasons are on the screen.
#[test]
fn nine_reasons_are_read_with_few_keys() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("w");
    std::fs::create_dir_all(&folder).unwrap();
    let turn = |said: &str| serde_json::json!({"prompt": "x", "reference": "the lamp is on", "response": said});
    let rows: Vec<String> = (0..40)
        .map(|n| {
            turn(&if n % 4 == 0 && n < 36 {
                format!("no lamp {n}")
            } else {
                "the lamp is on".into()
            })
            .to_string()
        })
        .collect();
    std::fs::write(folder.join("rows.jsonl"), rows.join("\n")).unwrap();
    let mut terminal = Terminal::start(BINARY, &[folder.to_str().unwrap()], home.path(), (120, 40));
    terminal.wait_for("rows.jsonl");
    let keys = ["*", "s"];
    keys.iter().for_each(|key| terminal.keys(key));
    terminal.wait_until("nine reasons", |screen| {
        let is_reason =
            |line: &&str| line.contains("✗ row-") && line.contains("1 of 4 expected words");
        screen.lines().filter(is_reason).count() == 9
    });
    assert!(keys.len() <= 9);
    // Quitting a run that goes on is asked about.
    terminal.wait_for("ended after");
    terminal.keys("qq");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn judged_case_is_overruled_and_rejudged() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = demo(home.path(), (120, 40));
    terminal.wait_for("judge recorded");
    terminal.wait_for("tone           2");
    terminal.keys("fuseless\r");
    terminal.wait_for("not run");
    terminal.keys("r");
    terminal.wait_for("≈ failed, unsteady");
    terminal.keys("J");
    terminal.wait_for("next_step  ✓✗✗✓✗  2–3");
    terminal.wait_for("It asks back instead of naming a step.");
    terminal.keys("mv\x1b[B\x1b[B\x1b[B\x1b[B\ta question is one\r");
    terminal.wait_for("human verdict: yes  a question is one  (differs from the judge)");
    terminal.keys("ma");
    terminal.wait_for("agreement of judges and people");
    terminal.wait_for("next_step · rubric_based");
    terminal.keys("\x1b");
    terminal.wait_until("agreement is closed", |screen| {
        !screen.contains("agreement of judges and people")
    });
    terminal.keys("mj");
    // Another run: its verdicts have no human verdict yet.
    terminal.wait_until("scored again", |screen| {
        !screen.contains("human verdict") && screen.contains("✓✗✗✓✗")
    });
    terminal.keys("L");
    terminal.wait_for("at once · scored again");
    terminal.keys("qq");
    assert_eq!(terminal.wait_for_end(), 0);
    terminal.assert_restored();
}

/// In the explorer, a failing case is made to pass, and the edit is undone in another session.
#[test]
fn argument_accept_is_saved_and_undone() {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let work = folder.path().join("w");
    crate::common::copy_folder(&crate::common::root().join("fixtures/workspace"), &work);
    let file = work.join("garden/watering.evalset.json");
    let before = std::fs::read_to_string(&file).unwrap();
    let open = || {
        let mut terminal =
            Terminal::start(BINARY, &[work.to_str().unwrap()], home.path(), (120, 40));
        // The results of an earlier run can be there already.
        terminal.wait_for("lettuce_six_litres");
        terminal.keys("flettuce_six\r");
        terminal
    };
    // The agent is in the header of the list when no run is live, which would be asked about.
    let close = |terminal: &mut Terminal| {
        terminal.keys("q");
        terminal.wait_for("agent garden");
        terminal.keys("q");
        assert_eq!(terminal.wait_for_end(), 0);
    };
    let mut terminal = open();
    terminal.wait_for("not run");
    terminal.keys("r");
    terminal.wait_for("✗ failed");
    terminal.wait_for("▸");
    terminal.keys("a");
    terminal.wait_for("accept litres of call 2 water_bed in lettuce_six_litres");
    let shown = terminal.screen();
    let signs = |sign: &str| {
        shown
            .lines()
            .filter(|line| line.contains(&format!("│ {sign} ")))
            .count()
    };
    assert_eq!(
        (signs("-"), signs("+")),
        (1, 1),
        "one line goes and one comes\n{shown}"
    );
    assert!(
        shown.contains("\"litres\": 6") && shown.contains("\"litres\": 5"),
        "{shown}"
    );
    terminal.keys("\r");
    terminal.wait_for("edited since this run");
    let saved = std::fs::read_to_string(&file).unwrap();
    let other: Vec<_> = before
        .lines()
        .zip(saved.lines())
        .filter(|(a, b)| a != b)
        .collect();
    assert_eq!(other.len(), 1, "{other:?}");
    terminal.keys("r");
    terminal.wait_until("green after a run", |screen| {
        screen.contains("✓ passed") && !screen.contains("edited since this run")
    });
    close(&mut terminal);
    let mut terminal = open();
    terminal.wait_for("✓ passed");
    // It was made before this start of the program.
    terminal.keys("u");
    terminal.wait_for("Undo this edit?");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), saved);
    terminal.keys("y");
    terminal.wait_for("undone: accept litres of call 2 water_bed");
    terminal.wait_for("✗ failed");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    terminal.keys("r");
    terminal.wait_until("red after a run", |screen| {
        screen.contains("✗ failed") && !screen.contains("edited since this run")
    });
    close(&mut terminal);
    terminal.assert_restored();
}

/// If the judge repeats the key, the key is not on the screen.
#[test]
fn a_key_is_not_on_the_screen() {
    let leaking = || {
        Say::Text(format!(
            "{{\"reasoning\": \"key {KEY}\", \"is_the_agent_response_valid\": \"invalid\"}}"
        ))
    };
    let judge = JudgeDouble::start(move |_| leaking());
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let row = r#"{"eval_case_id": "a", "prompt": "x", "reference": "y", "response": "z"}"#;
    let config = r#"{"criteria": {"final_response_match_v2": {"threshold": 1, "judge_model_options": {"judge_model": "gemini-x"}}}}"#;
    std::fs::write(folder.path().join("rows.jsonl"), row).unwrap();
    std::fs::write(folder.path().join("test_config.json"), config).unwrap();
    let url = judge.url();
    let env = [
        ("GOOGLE_API_KEY", KEY),
        ("GOOGLE_GEMINI_BASE_URL", url.as_str()),
    ];
    let mut terminal =
        Terminal::start_in(BINARY, &["."], home.path(), (120, 40), folder.path(), &env);
    terminal.wait_for("· a ");
    terminal.keys("s");
    terminal.wait_for("✗ a ");
    terminal.keys("\rJ");
    terminal.wait_until("the panel", |screen| {
        assert!(!screen.contains("canary"), "{screen}");
        screen.contains("key [redacted]")
    });
    terminal.keys("qqq");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// A refusal is remembered for the session, a permission permanently, also when the file changes.
#[test]
fn key_in_a_file_needs_permission() {
    let judge = JudgeDouble::agreeing();
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "rows.jsonl",
        r#"{"eval_case_id": "a", "prompt": "x", "reference": "y", "response": "y"}"#,
    );
    let criteria = r#"{"criteria": {"final_response_match_v2": {"threshold": 0.5, "judge_model_options": {"judge_model": "gemini-x", "num_samples": 1}}}}"#;
    write("test_config.json", criteria);
    write(".env", &format!("GOOGLE_API_KEY={KEY}\n"));
    let url = judge.url();
    let open = || {
        let env = [("GOOGLE_GEMINI_BASE_URL", url.as_str())];
        let terminal =
            Terminal::start_in(BINARY, &["."], home.path(), (100, 30), folder.path(), &env);
        terminal.wait_for(" a  ");
        terminal
    };
    let ended = |count: usize| {
        let runs = folder.path().join(".evaltrail/runs");
        move |screen: &str| {
            assert!(!screen.contains("canary"), "{screen}");
            let journals = std::fs::read_dir(&runs).into_iter().flatten().flatten();
            let written = journals.filter(|run| {
                let journal = std::fs::read_to_string(run.path().join("journal.jsonl"));
                journal.is_ok_and(|text| text.ends_with('\n'))
            });
            written.count() == count && screen.contains("run ended")
        }
    };
    let mut terminal = open();
    terminal.keys("s");
    terminal.wait_for("Use this key? It is in a .env file");
    terminal.wait_for("use GOOGLE_API_KEY of");
    terminal.keys("\x1b");
    terminal.wait_for("not started; further runs do not use the key");
    terminal.keys("s");
    terminal.wait_for("gemini-x needs a key");
    terminal.wait_until("a run without it", ended(1));
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    let mut terminal = open();
    terminal.keys("s");
    terminal.wait_for("Use this key? It is in a .env file");
    terminal.keys("y");
    terminal.wait_for("✓ a");
    terminal.wait_until("a run with it", ended(2));
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    write(".env", &format!("# another\nGOOGLE_API_KEY=\"{KEY}\"\n"));
    let mut terminal = open();
    terminal.keys("s");
    terminal.wait_until("a run with the next one", ended(3));
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    judge.assert_requests_valid();
    terminal.assert_restored();
}

#[test]
fn filter_palette_finder_and_help_have_keys() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = demo(home.path(), (120, 32));
    terminal.keys("/tool:forecast");
    terminal.wait_until("one case", |screen| {
        screen.contains("rain_tomorrow") && !screen.contains("roses_valve")
    });
    terminal.keys("\x15colour:red");
    terminal.wait_for("unknown filter");
    terminal.keys("\x15\r?");
    terminal.wait_for("help   ?");
    terminal.wait_for("This screen");
    terminal.keys("G");
    terminal.wait_for("quit evaltrail from any screen");
    terminal.keys("\x1b");
    terminal.wait_until("help is closed", |screen| !screen.contains("help   ?"));
    terminal.keys(":theme\r");
    terminal.wait_for("enter keep, esc cancel");
    terminal.keys("\x1b[B\r");
    terminal.wait_for("theme dark");
    terminal.keys("fwalks\r");
    terminal.wait_for("walks_and_maps");
    terminal.wait_for("not run yet");
    terminal.keys("\x03");
    assert_eq!(terminal.wait_for_end(), 0);
    // The choice is saved.
    assert!(
        std::fs::read_dir(home.path().join("state"))
            .unwrap()
            .count()
            == 1
    );
}

#[test]
fn the_terminal_is_restored_after_signals() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130), ("QUIT", 131)] {
        let home = tempfile::tempdir().unwrap();
        let mut terminal = demo(home.path(), (100, 30));
        terminal.keys("*r");
        terminal.wait_for("in flight");
        terminal.signal(signal);
        assert_eq!(terminal.wait_for_end(), code, "after SIG{signal}");
        terminal.wait_until_quiet(Duration::from_millis(50));
        terminal.assert_restored();
        assert!(
            !terminal.is_alternate() && terminal.is_cooked(),
            "after SIG{signal}"
        );
    }
}

#[test]
fn the_terminal_is_restored_after_a_panic() {
    let home = tempfile::tempdir().unwrap();
    let env = [("EVALTRAIL_TEST_PANIC", "draw")];
    let mut terminal =
        Terminal::start_in(BINARY, &["demo"], home.path(), (100, 30), home.path(), &env);
    assert_eq!(terminal.wait_for_end(), 101);
    terminal.wait_until_quiet(Duration::from_millis(50));
    terminal.assert_restored();
    assert!(!terminal.is_alternate() && terminal.is_cooked());
    assert!(String::from_utf8_lossy(&terminal.bytes()).contains("panicked"));
}

#[test]
fn suspended_and_resumed() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::start("bash", &["--norc", "-i"], home.path(), (100, 30));
    // The shell's own use of bracketed paste would hide evaltrail's.
    terminal.keys(&format!(
        "bind 'set enable-bracketed-paste off'; PS1='shell> '; {BINARY} demo\n"
    ));
    terminal.wait_for("water_tomatoes");
    // What the shell says comes after everything that evaltrail writes.
    let stops = |terminal: &Terminal| {
        String::from_utf8_lossy(&terminal.bytes())
            .matches("Stopped")
            .count()
    };
    for round in 0..3 {
        terminal.keys("\x1a");
        terminal.wait_until("the shell", |_| {
            stops(&terminal) == usize::from(round) + 1 && !terminal.is_alternate()
        });
        terminal.assert_restored();
        terminal.resize(90 + round, 28);
        terminal.keys("fg\n");
        terminal.wait_until("the explorer", |screen| {
            screen.contains("water_tomatoes") && screen.contains("Eval sets")
        });
    }
    terminal.keys("q");
    terminal.wait_until("the shell", |_| {
        let written = String::from_utf8_lossy(&terminal.bytes()).into_owned();
        let is_prompt = |(_, after): (&str, &str)| after.contains("shell>");
        !terminal.is_alternate() && written.rsplit_once("\x1b[?1049l").is_some_and(is_prompt)
    });
    terminal.assert_restored();
}

#[test]
fn explorer_returns_after_external_editor() {
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("editor.sh");
    std::fs::write(
        &script,
        "#!/bin/sh\necho \"editing $1\"\nread line\necho \"got $line\"\n",
    )
    .unwrap();
    let editor = format!("sh {}", script.display());
    let env = [("EDITOR", editor.as_str()), ("VISUAL", "")];
    let mut terminal =
        Terminal::start_in(BINARY, &["demo"], home.path(), (100, 30), home.path(), &env);
    terminal.wait_for("water_tomatoes");
    terminal.keys("ce");
    terminal.wait_for("editing");
    assert!(terminal.is_cooked());
    terminal.keys("jjqq\n");
    terminal.wait_until("the explorer again", |screen| {
        screen.contains("water_tomatoes")
    });
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    terminal.assert_restored();
}

/// A key that is typed while the editor exits is not lost. For a long test, set `EVALTRAIL_ROUNDS=1000` and keep the
/// machine busy with twice as many loops as it has cores.
#[test]
fn no_key_is_lost_when_the_editor_ends() {
    let rounds: usize = std::env::var("EVALTRAIL_ROUNDS").map_or(15, |text| text.parse().unwrap());
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("editor.sh");
    std::fs::write(&script, "#!/bin/sh\necho \"editing $1\"\nread line\n").unwrap();
    let editor = format!("sh {}", script.display());
    let env = [("EDITOR", editor.as_str()), ("VISUAL", "")];
    let mut terminal =
        Terminal::start_in(BINARY, &["demo"], home.path(), (100, 30), home.path(), &env);
    terminal.wait_for("water_tomatoes");
    for round in 0..rounds {
        terminal.keys("ce");
        terminal.wait_for("editing");
        // The key for the help follows as soon as the editor has received its line and exits.
        terminal.keys("x\n");
        terminal.wait_until("the explorer again", |screen| {
            screen.contains("water_tomatoes")
        });
        terminal.keys("?");
        terminal.resize(100 + (round % 2) as u16, 30);
        terminal.wait_until("the help", |screen| screen.contains("help   ?"));
        terminal.keys("\u{1b}");
        terminal.wait_until("no help", |screen| {
            !screen.contains("help   ?") && screen.contains("water_tomatoes")
        });
    }
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    terminal.assert_restored();
}

#[test]
fn resize_as_first_event_is_handled() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = demo(home.path(), (100, 30));
    terminal.resize(84, 26);
    terminal.wait_until("a frame of the new width", |screen| {
        screen
            .lines()
            .any(|line| line.starts_with('╭') && line.ends_with('╮') && line.chars().count() == 84)
    });
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn sigtstp_restores_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = demo(home.path(), (100, 30));
    for _ in 0..3 {
        terminal.wait_until_quiet(Duration::from_millis(100));
        terminal.signal("TSTP");
        // A shell continues a program only after it has stopped.
        let status = format!("/proc/{}/status", terminal.pid());
        let is_stopped =
            || std::fs::read_to_string(&status).is_ok_and(|text| text.contains("State:\tT"));
        terminal.wait_until("the stop", |_| is_stopped());
        terminal.wait_until("the normal screen", |_| {
            !terminal.is_alternate() && terminal.is_cooked()
        });
        terminal.assert_restored();
        terminal.signal("CONT");
        terminal.wait_until("the explorer", |screen| {
            terminal.is_alternate() && !terminal.is_cooked() && screen.contains("water_tomatoes")
        });
    }
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    terminal.assert_restored();
}

/// Without a clipboard program of the desktop, and over SSH, text is copied through the terminal (OSC 52).
#[test]
fn a_copy_goes_through_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let env = [
        ("SSH_CONNECTION", "here"),
        ("DISPLAY", ""),
        ("WAYLAND_DISPLAY", ""),
    ];
    let mut terminal =
        Terminal::start_in(BINARY, &["demo"], home.path(), (100, 30), home.path(), &env);
    terminal.wait_for("water_tomatoes");
    terminal.keys("y");
    terminal.wait_for("through the terminal");
    // Which case is under the cursor depends on what was loaded when the key arrived.
    let written = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    let copied = written
        .split("\u{1b}]52;c;")
        .nth(1)
        .expect("the sequence is written")
        .split(['\u{7}', '\u{1b}'])
        .next();
    let copied = String::from_utf8(BASE64_STANDARD.decode(copied.unwrap()).unwrap()).unwrap();
    assert!(
        !copied.is_empty() && terminal.screen().contains(&copied),
        "{copied}: {}",
        terminal.screen()
    );
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn idle_writes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let terminal = demo(home.path(), (120, 32));
    // On a busy machine the first results arrive late.
    terminal.wait_until_quiet(Duration::from_secs(3));
}

#[test]
fn any_size_is_survived() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = demo(home.path(), (120, 32));
    terminal.keys("*r");
    for (columns, rows) in [
        (1, 1),
        (2, 2),
        (10, 300),
        (300, 100),
        (39, 12),
        (40, 11),
        (40, 12),
        (3, 50),
        (80, 24),
    ] {
        terminal.resize(columns, rows);
        terminal.keys("j?");
        terminal.wait_until_quiet(Duration::from_millis(60));
        terminal.keys("\x1b");
        terminal.wait_until_quiet(Duration::from_millis(30));
    }
    terminal.resize(100, 30);
    // In the place of the progress of the live run. Which screen is shown depends on when the keys arrived.
    terminal.wait_for("agent garden");
    terminal.keys("\x03");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// Hostile files in the real program: the output contains no title, clipboard or cursor sequence from the files.
#[test]
fn hostile_files_do_not_reach_the_terminal() {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let bad = "\u{1b}]0;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}[6n\u{9b}31m\u{202e}x\u{200b}";
    let long = format!("{bad}{}", "w".repeat(1 << 20));
    let turn = serde_json::json!({
        "user_content": {"parts": [{"text": long}]}, "final_response": {"parts": [{"text": long}]},
        "intermediate_data": {"tool_uses": [{"name": bad, "args": {bad: long}}]},
    });
    let set = serde_json::json!({"eval_set_id": bad, "eval_cases": [{"eval_id": format!("begin {long}"), "conversation": [turn]}]});
    std::fs::write(folder.path().join("h.evalset.json"), set.to_string()).unwrap();
    let path = folder.path().display().to_string();
    let mut terminal = Terminal::start(BINARY, &[&path], home.path(), (120, 32));
    terminal.wait_for("begin");
    terminal.keys("\r");
    terminal.wait_for("more lines");
    terminal.keys("jjjjGgvq?");
    terminal.wait_for("help   ?");
    terminal.keys("\x1b");
    terminal.wait_until("help is closed", |screen| !screen.contains("help   ?"));
    terminal.keys("fbegin");
    terminal.wait_for("› begin");
    terminal.keys("\r");
    terminal.wait_for("4 metrics");
    terminal.keys("\x03");
    assert_eq!(terminal.wait_for_end(), 0);
    let text = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    for hostile in [
        "\u{1b}]0;",
        "\u{1b}]52",
        "\u{1b}[6n",
        "\u{9b}",
        "\u{202e}",
        "\u{200b}",
        "\u{7}",
    ] {
        assert!(!text.contains(hostile), "{hostile:?} reached the terminal");
    }
    terminal.assert_restored();
}

#[test]
fn without_terminal_error_names_alternatives() {
    let home = tempfile::tempdir().unwrap();
    let output = crate::common::output(crate::common::evaltrail(home.path()).arg("."));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        crate::common::both(&output).contains("evaltrail run"),
        "{}",
        crate::common::both(&output)
    );
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn changed_files_are_read_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let set = |id: &str| {
        format!(r#"{{"eval_set_id":"s","eval_cases":[{{"eval_id":"{id}","conversation":[]}}]}}"#)
    };
    let file = folder.path().join("s.evalset.json");
    std::fs::write(&file, set("before_change")).unwrap();
    let path = folder.path().display().to_string();
    let mut terminal = Terminal::start(BINARY, &[&path], home.path(), (100, 24));
    terminal.wait_for("before_change");
    let other = folder.path().join("new");
    std::fs::write(&other, set("after_change")).unwrap();
    std::fs::rename(&other, &file).unwrap();
    terminal.wait_for("after_change");
    std::fs::write(&file, "{oops").unwrap();
    terminal.wait_for("line 1, column 2");
    std::fs::write(&file, set("mended")).unwrap();
    terminal.wait_for("mended");
    std::fs::write(folder.path().join("another.evalset.json"), set("x")).unwrap();
    terminal.wait_for("another");
    std::fs::create_dir(folder.path().join("deeper")).unwrap();
    std::fs::write(folder.path().join("deeper/below.evalset.json"), set("x")).unwrap();
    terminal.wait_for("below");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// `EVALTRAIL_ROUNDS` sets the number of rounds, which is 1 by default.
#[test]
fn run_of_20000_rows_shows_every_result() {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let reference = |n: u32| {
        if n.is_multiple_of(4) {
            "other".to_string()
        } else {
            format!("answer {n}")
        }
    };
    let row = |n: u32| serde_json::json!({"prompt": format!("question {n}"), "response": format!("answer {n}"), "reference": reference(n)});
    let rows: String = (0..20_000).map(|n| format!("{}\n", row(n))).collect();
    std::fs::write(folder.path().join("answers.jsonl"), rows).unwrap();
    let path = folder.path().display().to_string();
    let mut terminal = Terminal::start(BINARY, &[&path], home.path(), (120, 32));
    terminal.wait_for("question 0");
    terminal.keys("h");
    let rounds = std::env::var("EVALTRAIL_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(1);
    let mut before = "no run yet".to_string();
    for _ in 0..rounds {
        terminal.keys("s");
        terminal.wait_until("a new run", |screen| {
            screen.starts_with(" run ") && !screen.contains(&before)
        });
        terminal.wait_for("ended after");
        let screen = terminal.screen();
        assert!(screen.contains("20000/20000  ✓ 15000  ✗ 5000"), "{screen}");
        before = screen.split_whitespace().nth(1).unwrap().to_string();
        terminal.keys("q");
        terminal.wait_for("✓ 15000  ✗ 5000 ─╮");
    }
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// Key bindings and a theme from the user's configuration are used, and invalid bindings are reported.
#[test]
fn a_persons_keys_and_themes_are_used() {
    let home = tempfile::tempdir().unwrap();
    let config = "theme = \"mine\"\n[keys]\n\"run\" = \"ctrl-g\"\nfly = \"F\"\n[themes.mine]\nbase = \"mono\"\n";
    std::fs::write(home.path().join("config.toml"), config).unwrap();
    let mut terminal = demo(home.path(), (120, 30));
    terminal.wait_for("unknown command \"fly\"");
    terminal.wait_for("ctrl-g run case");
    terminal.keys("t");
    terminal.wait_for("mine");
    terminal.type_bytes(b"\x1b");
    terminal.wait_until("no dialog", |screen| !screen.contains("enter keep"));
    terminal.keys("\x07");
    terminal.wait_for("✓ water_tomatoes");
    // Its notice would replace the next one.
    terminal.wait_for("run ended:");
    terminal.keys("r");
    terminal.wait_for("r is not bound here");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn empty_folder_captures_and_opens_sample() {
    let home = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let recording = crate::common::root().join("fixtures/workspace/recordings/garden.jsonl");
    std::fs::copy(&recording, folder.path().join("garden.jsonl")).unwrap();
    let path = folder.path().display().to_string();
    let mut terminal = Terminal::start(BINARY, &[&path], home.path(), (100, 30));
    terminal.wait_for("no eval sets in");
    terminal.keys("cg");
    terminal.wait_for("capture from");
    terminal.keys("garden.jsonl\r");
    terminal.wait_for("enter choose, esc cancel");
    terminal.keys("morning_round\r");
    terminal.wait_for("save as case");
    terminal.keys("\r");
    terminal.wait_for("save the conversation as morning_round");
    terminal.keys("\r");
    terminal.wait_for("user  Good morning!");
    let set = std::fs::read_to_string(folder.path().join("captured.evalset.json")).unwrap();
    assert!(set.contains("morning_round"));
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);

    let empty = tempfile::tempdir().unwrap();
    let path = empty.path().display().to_string();
    let mut terminal = Terminal::start(BINARY, &[&path], home.path(), (100, 30));
    terminal.wait_for("open the sample workspace");
    terminal.keys("S");
    terminal.wait_for("water_tomatoes");
    terminal.keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    terminal.assert_restored();
}

/// Criteria that another program edits while the explorer is open: the results say that they are older, and are scored again with
/// one command.
#[test]
fn criteria_edited_elsewhere_make_results_older() {
    let row = |n: usize| {
        let row = json!({"eval_case_id": format!("case_{n}"), "prompt": "p", "reference": "a b", "response": "a c"});
        format!("{row}\n")
    };
    let criteria =
        |threshold: f64| json!({"criteria": {"response_match_score": threshold}}).to_string();
    let workspace = TestWorkspace::new(&[
        ("rows.jsonl", (0..3).map(row).collect()),
        ("test_config.json", criteria(0.8)),
    ]);
    let (folder, home) = (workspace.path(), workspace.path().join("home"));
    output(
        evaltrail(&home)
            .args(["score", "rows.jsonl", "-q"])
            .current_dir(folder),
    );
    let mut terminal = Terminal::start_in(BINARY, &[], &home, (160, 40), folder, &[]);
    terminal.wait_for("case_2");
    terminal.keys("l");
    let older = "with other criteria than now";
    terminal.wait_until("results of these criteria", |screen| {
        screen.contains("1 of 2 expected words") && !screen.contains(older)
    });
    std::fs::write(folder.join("test_config.json"), criteria(0.25)).unwrap();
    terminal.wait_for(older);
    terminal.keys("mn");
    terminal.wait_until("new results", |screen| {
        screen.contains("3 passed") && !screen.contains(older)
    });
}
