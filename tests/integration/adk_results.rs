//! Results of `adk eval` and `adk web` as runs: what they record is read, what they do not record is unknown, and the
//! commands for runs take them.

use crate::common::{both, evaltrail, oracle, output, text};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

/// A folder with the agent `desk`, its set, and results of ADK.
struct Desk {
    work: tempfile::TempDir,
}

const TRAJECTORY: &str = "tool_trajectory_avg_score";

fn content(role: &str, text: &str) -> Value {
    json!({"parts": [{"text": text}], "role": role})
}

fn turn(user: &str, calls: Value, response: &str) -> Value {
    json!({
        "invocation_id": "t", "user_content": content("user", user),
        "final_response": content("model", response), "intermediate_data": {"tool_uses": calls},
    })
}

fn pay(amount: &str) -> Value {
    json!([{"name": "pay", "args": {"amount": serde_json::from_str::<Value>(amount).unwrap()}}])
}

fn rubric(id: &str) -> Value {
    json!({"rubric_id": id, "rubric_content": {"text_property": id}, "description": null, "type": null})
}

/// The cases of the set. Numbers are in a notation that ADK does not write.
fn cases() -> Value {
    let state = json!({"app_name": "desk", "user_id": "u", "state": {}});
    json!([
        {"eval_id": "pay", "conversation": [turn("Pay.", pay("1e5"), "Paid.")], "session_input": state,
         "final_session_state": {"paid": 1e5}},
        {"eval_id": "ask", "conversation": [turn("Ask.", json!([]), "Which?")], "rubrics": [rubric("kind")]},
        {"eval_id": "reserve", "conversation": [turn("Reserve B9.", json!([]), "Reserved.")]},
        {"eval_id": "lost", "conversation": [turn("Crash.", json!([]), "Fine.")]},
    ])
}

/// A case of a result with one turn: `called` is what the agent called.
fn evaluated(
    eval_id: &str,
    expected: Value,
    called: Value,
    passes: bool,
    criterion: &Value,
) -> Value {
    let mut actual = expected.clone();
    actual["intermediate_data"]["tool_uses"] = called;
    let score = f64::from(u8::from(passes));
    let metric = json!({
        "metric_name": TRAJECTORY, "threshold": 1.0, "criterion": criterion, "score": score,
        "eval_status": if passes { 1 } else { 2 }, "details": {"rubric_scores": null},
    });
    actual["rubrics"] = if eval_id == "ask" {
        json!([rubric("kind")])
    } else {
        Value::Null
    };
    json!({
        "eval_set_file": "s", "eval_set_id": "s", "eval_id": eval_id, "session_id": "x", "user_id": "u",
        "final_eval_status": if passes { 1 } else { 2 }, "overall_eval_metric_results": [metric],
        "eval_metric_result_per_invocation": [
            {"actual_invocation": actual, "expected_invocation": expected, "eval_metric_results": [metric]},
        ],
        "session_details": null,
    })
}

/// A case whose agent failed, with the events of its session.
fn failed(eval_id: &str, session: Value) -> Value {
    json!({
        "eval_set_id": "s", "eval_id": eval_id, "final_eval_status": 2, "overall_eval_metric_results": [],
        "eval_metric_result_per_invocation": [], "session_id": "x", "user_id": "u", "session_details": session,
    })
}

fn session(events: Value, state: Value) -> Value {
    json!({"id": "x", "app_name": "desk", "user_id": "u", "state": state, "events": events, "last_update_time": 1.0})
}

/// The results of a run in which `pay` called with another amount unless it passed.
fn results(pay_passes: bool, criterion: &Value) -> Value {
    let paid = if pay_passes {
        pay("100000.0")
    } else {
        pay("5")
    };
    let mut first = evaluated(
        "pay",
        turn("Pay.", pay("100000.0"), "Paid."),
        paid,
        pay_passes,
        criterion,
    );
    first["session_details"] = session(
        json!([]),
        json!({"paid": 100000, "__llm_request_key__": {"a": 1}}),
    );
    let call = json!({"parts": [{"function_call": {"id": "c", "name": "reserve", "args": {"book": "B9"}}}], "role": "model"});
    let events = json!([
        {"author": "user", "invocation_id": "e", "content": content("user", "Reserve B9.")},
        {"author": "desk", "invocation_id": "e", "content": call},
        {"author": "desk", "invocation_id": "e", "error_code": "LookupError", "error_message": "no book B9"},
    ]);
    json!([
        failed("lost", Value::Null),
        failed("reserve", session(events, json!({}))),
        evaluated(
            "ask",
            turn("Ask.", json!([]), "Which?"),
            json!([]),
            true,
            criterion
        ),
        first,
    ])
}

impl Desk {
    fn new() -> Desk {
        let desk = Desk {
            work: tempfile::tempdir().unwrap(),
        };
        desk.write("desk/agent.py", "root_agent = 1");
        desk.write_set(&cases());
        desk
    }

    fn path(&self) -> &Path {
        self.work.path()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn write_set(&self, cases: &Value) {
        // ADK would write 100000.0.
        let text = json!({"eval_set_id": "s", "eval_cases": cases}).to_string();
        self.write("desk/s.evalset.json", &text.replace("100000.0", "1e5"));
    }

    /// Writes a result as `adk eval` names it.
    fn adk_ran(&self, created: f64, cases: &Value) -> String {
        let id = format!("desk_s_{created}");
        let result = json!({
            "eval_set_result_id": id, "eval_set_result_name": id, "eval_set_id": "s",
            "creation_timestamp": created, "eval_case_results": cases,
        });
        self.write(
            &format!("desk/.adk/eval_history/{id}.evalset_result.json"),
            &result.to_string(),
        );
        id
    }

    fn evaltrail(&self, args: &[&str]) -> Output {
        output(
            evaltrail(&self.path().join("home"))
                .current_dir(self.path())
                .args(args),
        )
    }

    fn json(&self, args: &[&str]) -> Value {
        let out = self.evaltrail(args);
        serde_json::from_slice(&out.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", both(&out)))
    }

    fn listed(&self, eval_id: &str) -> Value {
        let listed = self.json(&["list", ".", "--cases", "--json"]);
        let cases = listed["sets"][0]["eval_cases"].as_array().unwrap();
        cases
            .iter()
            .find(|case| case["eval_id"] == eval_id)
            .unwrap()
            .clone()
    }
}

fn exact() -> Value {
    json!({"threshold": 1.0, "include_intermediate_responses_in_final": false})
}

#[test]
fn unrecorded_parts_of_a_result_are_not_edited() {
    let desk = Desk::new();
    desk.adk_ran(1000.5, &results(true, &exact()));
    let listed = desk.json(&["list", ".", "--json"]);
    assert_eq!(listed["sets"][0]["edited_since"], 0, "{listed}");
    assert_eq!(desk.listed("pay")["status"], "passed");
    let edit = |change: &dyn Fn(&mut Value)| {
        let mut edited = cases();
        change(&mut edited);
        desk.write_set(&edited);
        desk.json(&["list", ".", "--json"])["sets"][0]["edited_since"].clone()
    };
    assert_eq!(
        edit(&|cases| cases[1]["rubrics"][0]["rubric_content"]["text_property"] = "else".into()),
        1
    );
    assert_eq!(
        edit(&|cases| cases[0]["conversation"][0]["intermediate_data"]["tool_uses"] = pay("2")),
        1
    );
    assert_eq!(edit(&|_| {}), 0);
    // The state is compared with the one that the session contains.
    assert_eq!(
        edit(&|cases| cases[0]["final_session_state"]["paid"] = 7.into()),
        0
    );
    assert_eq!(desk.listed("pay")["status"], "failed");
    // ADK does not compare the state.
    let listed = text(&desk.evaltrail(&["list", "."]));
    assert!(
        listed.contains("1/4 passed, 1 with another status in ADK"),
        "{listed}"
    );
}

/// A folder with nothing but results is not empty, and says where results are read.
#[test]
fn results_elsewhere_are_counted() {
    let desk = Desk::new();
    let id = desk.adk_ran(1000.5, &results(true, &exact()));
    let history = desk.path().join("desk/.adk/eval_history");
    let result = format!("{id}.evalset_result.json");
    let own = text(&desk.evaltrail(&["list", "desk/.adk/eval_history"]));
    assert!(
        own.contains("1 result of ADK, read with the agent in desk (`evaltrail runs desk`)"),
        "{own}"
    );
    let ran = desk.evaltrail(&["score", &format!("desk/.adk/eval_history/{result}")]);
    let agent = dunce::canonicalize(desk.path().join("desk")).unwrap();
    let folder = format!("open the folder of its agent: {}", agent.display());
    assert!(both(&ran).contains(&folder), "{}", both(&ran));
    desk.write("copies/x.txt", "");
    std::fs::copy(
        history.join(&result),
        desk.path().join("copies").join(&result),
    )
    .unwrap();
    let listed = both(&desk.evaltrail(&["list", "copies"]));
    let read_from = "results are read from <agent folder>/.adk/eval_history";
    assert!(
        listed.contains("no eval sets here") && listed.contains(read_from),
        "{listed}"
    );
    assert!(listed.contains("1 result of ADK not read"), "{listed}");
    assert_eq!(desk.json(&["list", "copies", "--json"])["adk_results"], 1);
    let checked = both(&desk.evaltrail(&["check", &format!("copies/{result}")]));
    assert!(
        checked.contains("a result of ADK and not an eval set") && checked.contains("1 warning"),
        "{checked}"
    );
}

#[test]
fn run_commands_work_on_adk_results() {
    let desk = Desk::new();
    let first = desk.adk_ran(1000.5, &results(true, &exact()));
    let second = desk.adk_ran(1000.51, &results(false, &exact()));
    let runs = text(&desk.evaltrail(&["runs", "."]));
    assert!(
        runs.contains(&format!("{first} ")) && runs.contains(&format!("{second} ")),
        "{runs}"
    );
    for pair in [
        ["previous", "last"],
        [first.as_str(), second.as_str()],
        ["1000.5", "…1000.51"],
    ] {
        let compared = desk.json(&["compare", pair[0], pair[1], "--json"]);
        let told = compared.to_string();
        assert!(
            told.contains("\"pay\"") && told.contains(&second),
            "{pair:?}: {told}"
        );
        let changed = desk.evaltrail(&["compare", pair[0], pair[1], "--fail-on", "broke"]);
        assert_eq!(
            changed.status.code(),
            Some(1),
            "{pair:?}: {}",
            both(&changed)
        );
    }
    let path = format!("desk/.adk/eval_history/{second}.evalset_result.json");
    let accepted = desk.evaltrail(&["accept", &path]);
    assert!(
        text(&accepted).contains("+") && both(&accepted).contains("1 case would change"),
        "{}",
        both(&accepted)
    );
    let to = desk.path().join("run.evaltrail");
    let exported = desk.evaltrail(&["export", "last", "-o", to.to_str().unwrap()]);
    assert!(
        exported.status.success() && to.is_file(),
        "{}",
        both(&exported)
    );
    let again = desk.evaltrail(&[
        "run",
        "desk/s.evalset.json",
        "--failed",
        "--agent",
        "cmd:false",
        "--json",
    ]);
    let again: Value =
        serde_json::from_slice(&again.stdout).unwrap_or_else(|_| panic!("{}", both(&again)));
    let ids: Vec<&str> = again["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["eval_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["pay", "reserve", "lost"]);
    let named = desk.evaltrail(&["runs", "delete", &first]);
    assert!(
        both(&named).contains("is a result of ADK"),
        "{}",
        both(&named)
    );
}

/// A result whose set cannot be opened says so, instead of being shown without its cases.
#[test]
fn result_with_damaged_set_names_the_set() {
    let desk = Desk::new();
    let first = desk.adk_ran(1000.5, &results(true, &exact()));
    let second = desk.adk_ran(1000.51, &results(false, &exact()));
    desk.write(
        "desk/s.evalset.json",
        "{\"eval_set_id\": \"s\", \"eval_cases\": [",
    );
    for args in [
        &["compare", &first, &second][..],
        &["accept", &second],
        &["export", "last", "-o", "run.evaltrail"],
    ] {
        let out = desk.evaltrail(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", both(&out));
        let words = both(&out);
        assert!(
            words.contains("its eval set desk/s.evalset.json cannot be opened: "),
            "{args:?}: {words}"
        );
    }
    // A damaged set to which no result belongs does not matter.
    desk.write_set(&cases());
    desk.write("desk/other.evalset.json", "{\"eval_set_id\": ");
    let compared = desk.evaltrail(&["compare", &first, &second]);
    assert_eq!(compared.status.code(), Some(0), "{}", both(&compared));
}

/// In a folder in which only `adk eval` ran: the list with reasons and runs, the queue with decisions, what it writes, and the
/// trends.
#[cfg(unix)]
#[test]
fn explorer_and_queue_work_on_adk_results() {
    use crate::common::terminal::Terminal;
    let desk = Desk::new();
    desk.adk_ran(1000.5, &results(true, &exact()));
    desk.adk_ran(1000.51, &results(false, &exact()));
    let home = desk.path().join("home");
    let path = desk.path().display().to_string();
    let mut screen = Terminal::start(env!("CARGO_BIN_EXE_evaltrail"), &[&path], &home, (160, 48));
    // The outcomes of both runs, and the computed reason.
    screen.wait_for("✓ 1  ✗ 1  ! 2");
    screen.wait_for("pay.amount: expected");
    screen.wait_for("LookupError: no book B9");
    screen.wait_for("failing since run s");
    let mut press = |keys: &str, shown: &str| {
        screen.keys(keys);
        screen.wait_for(shown);
    };
    press("T", "[1/3] pay.amount differs");
    press("a", "[2/3] errored: LookupError: no book");
    // The call before the error is in the session.
    press("", "+▸");
    press("c", "why the failure stays");
    press("known", "known");
    press("\r", "1 undecided · accept 1 · comment 1");
    press("\x13", "triage: 2 decisions");
    press("", "still undecided: 1");
    press("\r", "comment: known");
    press("", "✓ 2  ! 2");
    press("V", "each set over its runs");
    press("\x1b", "Eval sets");
    screen.keys("q");
    assert_eq!(screen.wait_for_end(), 0);
    let set = std::fs::read_to_string(desk.path().join("desk/s.evalset.json")).unwrap();
    assert!(
        set.contains("\"amount\":5}") && !set.contains("1e5}}]"),
        "{set}"
    );
    assert_eq!(desk.listed("pay")["status"], "passed");
}

/// The calls before the error and the error are in the session that ADK saves with the result.
#[test]
fn adk_session_provides_errors_and_calls() {
    let desk = Desk::new();
    let id = desk.adk_ran(1000.5, &results(false, &exact()));
    let out = desk.path().join("run.evaltrail");
    desk.evaltrail(&["export", &id, "-o", out.to_str().unwrap()]);
    let mut text = String::new();
    let file = std::fs::File::open(&out).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(file), &mut text).unwrap();
    let attempts: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |eval_id: &str| {
        attempts
            .iter()
            .find(|attempt| attempt["eval_id"] == eval_id)
            .unwrap()
    };
    assert_eq!(of("reserve")["error"], "LookupError: no book B9");
    let events = &of("reserve")["actual"][0]["trajectory"]["events"];
    assert_eq!(
        events[0]["content"]["parts"][0]["call"]["name"],
        "reserve",
        "{}",
        of("reserve")
    );
    assert_eq!(
        of("lost")["error"],
        "the agent failed; ADK does not record why"
    );
    assert_eq!(of("pay")["actual_state"], json!({"paid": 100000}));
    let reason = of("pay")["metrics"][0]["explanation"].as_str().unwrap();
    assert!(
        reason.contains("amount"),
        "the reason is computed: {reason}"
    );
}

/// A result that evaltrail wrote for ADK is not listed beside its run, and is a result where the run is not.
#[test]
fn copies_of_runs_are_not_listed() {
    let desk = Desk::new();
    let ran = desk.evaltrail(&["run", "desk/s.evalset.json", "--agent", "cmd:false", "-q"]);
    let runs = || {
        desk.json(&["runs", ".", "--json"])["runs"]
            .as_array()
            .unwrap()
            .clone()
    };
    let [run] = &runs()[..] else {
        panic!("{}", both(&ran))
    };
    let copy = |run_id: Value| {
        let mut copies = results(true, &exact());
        let ours = json!({"run_id": run_id, "status": "passed", "error": null, "explanations": {}});
        copies
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .for_each(|case| case["evaltrail"] = ours.clone());
        copies
    };
    let id = desk.adk_ran(4102444800.5, &copy(run["run_id"].clone()));
    assert_eq!(runs().len(), 1, "it is the copy of the run");
    desk.adk_ran(4102444800.5, &copy(Value::Null));
    assert_eq!(
        runs().len(),
        1,
        "a copy of an older version, which is newer than the run"
    );
    desk.adk_ran(4102444800.5, &copy("removed".into()));
    let listed = runs();
    assert_eq!(
        (listed.len(), &listed[0]["run_id"]),
        (2, &json!(id)),
        "its run is not here"
    );
    assert_eq!(desk.listed("pay")["run_id"], json!(id));
}

/// Two configurations of the same metric are other criteria.
#[test]
fn compare_reports_changed_criteria() {
    let desk = Desk::new();
    desk.adk_ran(
        1000.5,
        &results(true, &json!({"threshold": 1.0, "match_type": "ANY_ORDER"})),
    );
    desk.adk_ran(
        2000.5,
        &results(false, &json!({"threshold": 1.0, "match_type": "IN_ORDER"})),
    );
    let compared = text(&desk.evaltrail(&["compare", "previous", "last"]));
    assert!(compared.contains("criteria"), "{compared}");
}

/// The results that real ADK wrote, beside the sets that it evaluated.
#[test]
fn no_result_of_the_oracle_is_edited() {
    let Some(oracle) = oracle() else {
        return println!("skipped: there is no oracle");
    };
    let desk = tempfile::tempdir().unwrap();
    let apps = [
        ("dice", "dice"),
        ("home", "home_automation"),
        ("travel", "travel_desk"),
        ("old", "dice"),
    ];
    let mut sets = 0;
    for entry in std::fs::read_dir(oracle.join("results")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some((set, _)) = name
            .strip_suffix(".evalset_result.json")
            .and_then(|name| name.split_once('.'))
        else {
            continue;
        };
        let (_, app) = apps
            .iter()
            .find(|(start, _)| set.starts_with(start))
            .unwrap();
        let folder = desk.path().join(format!("{sets}")).join(app);
        let history = folder.join(".adk/eval_history");
        std::fs::create_dir_all(&history).unwrap();
        std::fs::write(folder.join("agent.py"), "root_agent = 1").unwrap();
        let file = format!("{set}.evalset.json");
        std::fs::write(
            folder.join(&file),
            std::fs::read(oracle.join("evalsets").join(&file)).unwrap(),
        )
        .unwrap();
        std::fs::write(history.join(&name), std::fs::read(&path).unwrap()).unwrap();
        sets += 1;
    }
    let home = desk.path().join("home");
    let listed = output(
        evaltrail(&home)
            .args(["list", "--cases", "--json"])
            .arg(desk.path()),
    );
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let mut cases = 0;
    for set in listed["sets"].as_array().unwrap() {
        for case in set["eval_cases"].as_array().unwrap() {
            assert_eq!(
                case["edited_since"], false,
                "{} {}",
                set["file"], case["eval_id"]
            );
            cases += usize::from(!case["run_id"].is_null());
        }
    }
    assert!(sets >= 13 && cases >= 75, "{sets} sets, {cases} cases");
}
