//! Which requests a judge receives when something changes: those whose reply is not cached, and no others. The agent is
//! run each time, so ids, times and durations differ.
#![cfg(unix)]

use crate::common::judge::{Asked, JudgeDouble, Say, codes, with_keys};
use crate::common::scripted::{JSON, ScriptedServer, answer};
use crate::common::{TestWorkspace, both, evaltrail, output, text, wait_for};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MATCH: &str = "final_response_match_v2";
const RUBRICS: &str = "rubric_based_final_response_quality_v1";
const HALLUCINATIONS: &str = "hallucinations_v1";
/// The turns of all cases.
const TURNS: usize = 3;

/// What may change between two runs.
#[derive(Clone)]
struct Setup {
    threshold: f64,
    samples: usize,
    model: &'static str,
    rubric: &'static str,
    settings: Value,
}

impl Setup {
    fn first() -> Setup {
        Setup {
            threshold: 0.5,
            samples: 2,
            model: "gemini-x",
            rubric: "It is short.",
            settings: json!({"seed": 1, "temperature": 0.5}),
        }
    }

    fn criteria(&self) -> String {
        let options = json!({
            "judge_model": self.model, "num_samples": self.samples, "judge_model_config": self.settings,
        });
        let rubric =
            json!({"rubric_id": "short", "rubric_content": {"text_property": self.rubric}});
        json!({"criteria": {
            MATCH: {"threshold": self.threshold, "judge_model_options": options},
            RUBRICS: {"threshold": self.threshold, "judge_model_options": options, "rubrics": [rubric]},
            HALLUCINATIONS: {"threshold": self.threshold, "judge_model_options": options},
        }})
        .to_string()
    }

    /// The requests of a run without a cache: samples for two metrics, and two questions of one sample for the third.
    fn all(&self) -> usize {
        TURNS * (2 * self.samples + 2)
    }
}

/// A workspace with an agent, and a judge that counts its requests.
struct World {
    workspace: TestWorkspace,
    agent: ScriptedServer,
    judge: JudgeDouble,
    /// The agent's answers to other prompts than those that contain the first text end with the second one.
    ending: Arc<Mutex<(&'static str, &'static str)>>,
    is_broken: Arc<AtomicBool>,
    /// The number of requests to which the judge replies; those after it never get a reply.
    replies: Arc<AtomicUsize>,
    seen: usize,
}

impl World {
    fn start() -> World {
        let ending = Arc::new(Mutex::new(("", "")));
        let of_agent = ending.clone();
        let calls = AtomicUsize::new(0);
        let agent = ScriptedServer::start(move |request, stream| {
            let prompt = request.body["message"].as_str().unwrap();
            let (part, words) = *of_agent.lock().unwrap();
            let words = if prompt.contains(part) { words } else { "" };
            // An id that is new in each run, as those of real agents are.
            let call = json!({"id": format!("c-{}", calls.fetch_add(1, SeqCst)), "tool": "look", "input": {"at": prompt}});
            let reply = json!({"text": format!("Seen {prompt}{words}"), "steps": [call]});
            answer(stream, "200 OK", JSON, &reply.to_string())
        });
        let is_broken = Arc::new(AtomicBool::new(false));
        let replies = Arc::new(AtomicUsize::new(usize::MAX));
        let (broken, left) = (is_broken.clone(), replies.clone());
        let judge = JudgeDouble::start(move |asked| {
            if left
                .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1))
                .is_err()
            {
                loop {
                    std::thread::park();
                }
            }
            if broken.load(SeqCst) {
                Say::Text("ok".into())
            } else {
                Say::Text(reply(asked))
            }
        });
        let turn = |prompt: &str| {
            json!({"user_content": {"role": "user", "parts": [{"text": prompt}]},
                "final_response": {"role": "model", "parts": [{"text": format!("Seen {prompt}")}]}})
        };
        let cases = json!([
            {"eval_id": "one", "conversation": [turn("the lamp")]},
            {"eval_id": "two", "conversation": [turn("the door"), turn("the window")]},
        ]);
        let toml = format!(
            "[judge]\njobs = 1\n\n[agents.seer]\nkind = \"http\"\nurl = \"http://127.0.0.1:{}/\"\n\
             body = {{ message = \"{{prompt}}\" }}\nresponse = \"$.text\"\n\
             calls = {{ path = \"$.steps[*]\", name = \"$.tool\", args = \"$.input\", id = \"$.id\" }}\n",
            agent.port
        );
        let set = json!({"eval_set_id": "s", "eval_cases": cases}).to_string();
        let workspace = TestWorkspace::new(&[("s.evalset.json", set), ("evaltrail.toml", toml)]);
        World {
            workspace,
            agent,
            judge,
            ending,
            is_broken,
            replies,
            seen: 0,
        }
    }

    fn command(&self, setup: &Setup, args: &[&str]) -> Command {
        std::fs::write(self.workspace.path().join("c.json"), setup.criteria()).unwrap();
        let mut command = evaltrail(&self.workspace.path().join("home"));
        with_keys(&mut command);
        self.judge.answers_for(&mut command);
        command.args([
            "run", ".", "--agent", "seer", "--trust", "--config", "c.json", "--json", "-q",
        ]);
        command.args(args).current_dir(self.workspace.path());
        command
    }

    /// The report of a run with these arguments, and the number of requests that the judge received.
    fn run(&mut self, setup: &Setup, args: &[&str]) -> (Value, usize) {
        let ran = output(&mut self.command(setup, args));
        let report = serde_json::from_str(&text(&ran)).unwrap_or_else(|_| panic!("{}", both(&ran)));
        self.judge.assert_requests_valid();
        (report, self.new_requests())
    }

    fn new_requests(&mut self) -> usize {
        let all = self.judge.questions().len();
        let new = all - self.seen;
        self.seen = all;
        new
    }

    /// Runs, and checks the number of requests. All other responses come from the cache, and all cases pass.
    fn expect(&mut self, what: &str, setup: &Setup, requests: usize) {
        let (report, asked) = self.run(setup, &[]);
        assert_eq!(asked, requests, "{what}: {report}");
        assert_eq!(report["summary"]["passed"], 2, "{what}: {report}");
        let spent = &report["summary"]["judges"];
        assert_eq!(
            (&spent["asked"], &spent["missing"]),
            (&json!(requests), &json!(0)),
            "{what}"
        );
        assert_eq!(spent["cached"], setup.all() - requests, "{what}");
    }

    fn cached(&self) -> usize {
        let folder = self.workspace.path().join("home/cache/judge");
        let paths = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path());
        // A name with a dot is a file that is being written.
        let files = paths
            .filter(|path| path.is_dir())
            .flat_map(|path| std::fs::read_dir(path).unwrap());
        files
            .filter(|file| {
                !file
                    .as_ref()
                    .unwrap()
                    .file_name()
                    .to_string_lossy()
                    .contains('.')
            })
            .count()
    }
}

/// A favourable reply to each question, with the codes of the prompt.
fn reply(asked: &Asked) -> String {
    let code = codes(&asked.prompt).into_iter().next().unwrap_or_default();
    if asked.prompt.contains("\"labels\"") {
        let label = json!({"sentence": 1, "rationale": "r", "supporting_excerpt": "", "contradicting_excerpt": "",
            "code": code, "label": "supported"});
        return json!({"labels": [label]}).to_string();
    }
    if asked.prompt.contains("\"verdicts\"") {
        let verdict = json!({"id": "short", "evidence": "e", "rationale": "r", "code": code, "verdict": "yes"});
        return json!({"verdicts": [verdict]}).to_string();
    }
    if asked.prompt.starts_with("Split a text") {
        let text = asked
            .prompt
            .lines()
            .skip_while(|line| !line.starts_with("[BEGIN text"))
            .nth(1)
            .unwrap();
        return format!("<sentence>{text}</sentence>");
    }
    assert!(
        asked.prompt.contains("is_the_agent_response_valid"),
        "{}",
        asked.prompt
    );
    json!({"reasoning": "r", "code": code, "is_the_agent_response_valid": "valid"}).to_string()
}

#[test]
fn only_uncached_replies_are_requested() {
    let mut world = World::start();
    let first = Setup::first();
    world.expect("the first run", &first, first.all());
    world.expect("again", &first, 0);
    world.expect(
        "another threshold",
        &Setup {
            threshold: 1.0,
            ..first.clone()
        },
        0,
    );
    world.expect(
        "fewer samples",
        &Setup {
            samples: 1,
            ..first.clone()
        },
        0,
    );
    world.expect(
        "more samples",
        &Setup {
            samples: 5,
            ..first.clone()
        },
        TURNS * 2 * 3,
    );
    world.expect(
        "settings of the connection",
        &with_settings(&first, json!({"http_options": {"timeout": 9000}})),
        0,
    );
    world.expect(
        "another order of settings",
        &with_settings(&first, json!({})),
        0,
    );
    let of_one_metric = TURNS * first.samples;
    world.expect(
        "another rubric",
        &Setup {
            rubric: "It is polite.",
            ..first.clone()
        },
        of_one_metric,
    );
    world.expect(
        "other settings",
        &with_settings(&first, json!({"seed": 2})),
        first.all(),
    );
    world.expect(
        "another model",
        &Setup {
            model: "openai/gpt-x",
            ..first.clone()
        },
        first.all(),
    );
    *world.ending.lock().unwrap() = ("window", ", which is open");
    world.expect("another answer in one turn", &first, first.all() / TURNS);
    *world.ending.lock().unwrap() = ("", "");
    world.expect("the first answer again", &first, 0);
    assert!(
        world.agent.received().len() >= 12 * TURNS,
        "the agent is run each time"
    );
}

fn with_settings(setup: &Setup, more: Value) -> Setup {
    // The keys in another order than in the first setup.
    let mut settings = json!({"temperature": 0.5, "seed": 1});
    settings
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    Setup {
        settings,
        ..setup.clone()
    }
}

#[test]
fn resume_requests_only_missing_replies() {
    const RECEIVED: usize = 7;
    let mut world = World::start();
    let first = Setup::first();
    world.replies.store(RECEIVED, SeqCst);
    let mut command = world.command(&first, &[]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(
        "the request without a reply",
        Duration::from_secs(60),
        || {
            (world.judge.questions().len() == RECEIVED + 1 && world.cached() == RECEIVED)
                .then_some(())
        },
    );
    // The first Ctrl-C waits for the request in flight, the second one does not.
    let pid = rustix::process::Pid::from_child(&child);
    let ended = wait_for("the end of the run", Duration::from_secs(60), || {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        child.try_wait().unwrap()
    });
    assert_eq!(ended.code(), Some(130));
    world.new_requests();
    world.replies.store(usize::MAX, SeqCst);
    let (report, asked) = world.run(&first, &["--resume"]);
    assert_eq!(
        (asked, &report["summary"]["passed"]),
        (first.all() - RECEIVED, &json!(2)),
        "{report}"
    );
    world.expect("again", &first, 0);
}

/// The result of a metric of a case.
fn result<'a>(report: &'a Value, case: usize, name: &str) -> &'a Value {
    let metrics = report["cases"][case]["metrics"].as_array().unwrap();
    metrics
        .iter()
        .find(|metric| metric["metric"] == name)
        .unwrap()
}

#[test]
fn unusable_replies_are_not_cached() {
    let mut world = World::start();
    let first = Setup::first();
    // Without sentences there is no second question about them.
    let without_labels = first.all() - TURNS;
    world.is_broken.store(true, SeqCst);
    for _ in 0..2 {
        let (report, asked) = world.run(&first, &[]);
        assert_eq!((asked, world.cached()), (without_labels, 0), "{report}");
        assert_eq!(report["summary"]["not_evaluated"], 2, "{report}");
        let of_sentences = result(&report, 0, HALLUCINATIONS);
        let why =
            "the response was not split into sentences: the judge's answer contains no sentences";
        assert!(
            of_sentences["explanation"].as_str().unwrap().contains(why),
            "{of_sentences}"
        );
        assert_eq!(of_sentences["findings"][0]["text"], why, "{of_sentences}");
        assert!(
            result(&report, 0, MATCH)["explanation"]
                .as_str()
                .unwrap()
                .contains("no verdict")
        );
    }
    world.is_broken.store(false, SeqCst);
    world.expect("the judge is repaired", &first, first.all());
    world.expect("again", &first, 0);
}

/// Replies that an earlier version cached although they cannot be used.
#[test]
fn unusable_cached_reply_is_requested_again() {
    let mut world = World::start();
    let first = Setup::first();
    world.expect("the first run", &first, first.all());
    let entries = std::fs::read_dir(world.workspace.path().join("home/cache/judge")).unwrap();
    let subfolders = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    for file in subfolders.flat_map(|subfolder| std::fs::read_dir(subfolder).unwrap()) {
        std::fs::write(file.unwrap().path(), json!({"text": "ok"}).to_string()).unwrap();
    }
    world.expect("after the cache was damaged", &first, first.all());
}

#[test]
fn a_cache_that_cannot_be_used_is_a_warning() {
    let mut world = World::start();
    let first = Setup::first();
    let codes = world.workspace.path().join("home/cache/judge/codes");
    std::fs::create_dir_all(&codes).unwrap();
    world.expect("without a cache", &first, first.all());
    assert_eq!(
        world.cached(),
        0,
        "responses that no later run can use are not stored"
    );
    let run = output(&mut world.command(&first, &[]));
    let warning = format!(
        "responses of judges are not cached, and all are requested: {}",
        codes.display()
    );
    assert!(both(&run).contains(&warning), "{}", both(&run));
    std::fs::remove_dir(&codes).unwrap();
    std::fs::write(&codes, "short").unwrap();
    world.new_requests();
    world.expect("with a damaged secret", &first, first.all());
    world.expect("with the new secret", &first, 0);
}

#[test]
fn lost_code_key_invalidates_cached_replies() {
    let mut world = World::start();
    let first = Setup::first();
    world.expect("the first run", &first, first.all());
    let prompts = |world: &World| -> Vec<Vec<String>> {
        world
            .judge
            .questions()
            .iter()
            .map(|asked| codes(&asked.prompt))
            .collect()
    };
    let before = prompts(&world);
    std::fs::remove_file(world.workspace.path().join("home/cache/judge/codes")).unwrap();
    // The requests without codes, to split a text, are the same as before.
    world.expect("without the key", &first, first.all() - TURNS);
    let after = prompts(&world).split_off(before.len());
    let is_new = |codes: &Vec<String>| !codes.is_empty() && !before.contains(codes);
    assert!(after.iter().all(is_new), "{after:?}");
}

/// Attempts of a case with equal answers ask the same questions at the same time: each is asked once.
#[test]
fn concurrent_equal_requests_are_sent_once() {
    let (asked, conversations) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, ended) = (asked.clone(), conversations.clone());
    let judge = JudgeDouble::start(move |asked| {
        count.fetch_add(1, SeqCst);
        // No reply comes before all attempts are judged.
        wait_for("8 conversations", Duration::from_secs(30), || {
            (ended.load(SeqCst) == 8).then_some(())
        });
        Say::Text(reply(asked))
    });
    let agent = ScriptedServer::start(move |_, stream| {
        conversations.fetch_add(1, SeqCst);
        answer(stream, "200 OK", JSON, r#"{"text": "Seen it"}"#)
    });
    let turn = json!({"user_content": {"role": "user", "parts": [{"text": "look"}]},
        "final_response": {"role": "model", "parts": [{"text": "Seen it"}]}});
    let set =
        json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "one", "conversation": [turn]}]});
    let toml = format!(
        "[judge]\njobs = 8\n\n[agents.seer]\nkind = \"http\"\nurl = \"http://127.0.0.1:{}/\"\n\
         body = {{ message = \"{{prompt}}\" }}\nresponse = \"$.text\"\n",
        agent.port
    );
    let workspace = TestWorkspace::new(&[
        ("s.evalset.json", set.to_string()),
        ("evaltrail.toml", toml),
    ]);
    std::fs::write(workspace.path().join("c.json"), Setup::first().criteria()).unwrap();
    let mut command = evaltrail(&workspace.path().join("home"));
    with_keys(&mut command);
    judge.answers_for(&mut command);
    let setup = Setup::first();
    command.args([
        "run",
        "s.evalset.json",
        "--config",
        "c.json",
        "--trust",
        "--repeat",
        "8",
        "-j",
        "8",
    ]);
    let ended = output(command.current_dir(workspace.path()));
    assert_eq!(asked.load(SeqCst), setup.all() / TURNS, "{}", both(&ended));
}
