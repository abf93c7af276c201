//! The explorer with messages in random order: changed files, late and reordered results of effects, runs, past
//! results, what-ifs and keys. At the end nothing is lost and nothing is stale. A failing seed is printed.

use crate::common::TestWorkspace;
use evaltrail::explorer::{
    CaseRef, Effect, Model, Msg, OpenedSet, ResultEffect, ResultMsg, RunMsg, SetEffect, SetLoaded,
    SetMsg, parse_key, reevaluated, requested_cases, rescored, update,
};
use evaltrail_core::domain::{
    AgentSpec, Attempt, AttemptKey, AttemptRecords, Content, Conversation, Criterion, EndedAttempt,
    EvalCase, InMemory, Invocation, MAX_FULL_ATTEMPTS, PlannedCase, PlannedCases, PlannedSet,
    RecordedAt, RunBy, RunEvent, RunOptions, RunPlan, RunRef, RunState, ToolCall, Trajectory,
    case_status,
};
use evaltrail_core::formats::Notes;
use evaltrail_core::formats::adk::write_case;
use evaltrail_core::metrics::{Evidence, score_case};
use evaltrail_engine::history::{PastResult, ResultOrigin, reevaluate};
use evaltrail_engine::workspace::{SetPath, open_set, read_notes};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

const SETS: [&str; 2] = ["a.evalset.json", "b.evalset.json"];

fn turn(id: &str, litres: u32) -> Invocation {
    let args = json!({"litres": litres}).as_object().cloned();
    Invocation {
        user: Content::text("user", format!("water for {id}")),
        final_response: Some(Content::text("model", "done")),
        trajectory: Trajectory::Listed {
            calls: vec![ToolCall::new("water", args)],
            responses: vec![],
            texts: vec![],
        },
        ..Invocation::default()
    }
}

/// The cases of a file: id and expected litres.
type Cases = Vec<(String, u32)>;

fn text(cases: &Cases) -> String {
    let case = |(id, litres): &(String, u32)| {
        let conversation = Conversation::Turns(vec![turn(id, *litres)]);
        write_case(&EvalCase {
            eval_id: id.clone(),
            conversation,
            ..EvalCase::default()
        })
    };
    json!({"eval_set_id": "s", "eval_cases": cases.iter().map(case).collect::<Vec<Value>>()})
        .to_string()
}

/// A journal with one attempt, which is read again whenever the whole attempt is needed.
struct Journal(String);

impl AttemptRecords for Journal {
    fn read(&self, _: RecordedAt) -> Result<Arc<Attempt>, String> {
        serde_json::from_str(&self.0)
            .map(Arc::new)
            .map_err(|error| error.to_string())
    }
}

fn wholes(attempts: &[Arc<EndedAttempt>]) -> Vec<Arc<Attempt>> {
    attempts
        .iter()
        .map(|attempt| attempt.read().unwrap())
        .collect()
}

fn attempt(key: AttemptKey, id: &str, expected: u32, actual: u32) -> Arc<EndedAttempt> {
    let criteria = [Criterion::new("tool_trajectory_avg_score", Some(1.0))];
    let mut attempt = Attempt {
        expected: [turn(id, expected)].into(),
        actual: [turn(id, actual)].into(),
        ..Attempt::blank(key, id)
    };
    attempt.metrics = score_case(&criteria, &Evidence::from_attempt(&attempt));
    attempt.status = case_status(&attempt.metrics);
    let journal: Arc<dyn AttemptRecords> =
        Arc::new(Journal(serde_json::to_string(&attempt).unwrap()));
    let at = RecordedAt {
        offset: 0,
        length: MAX_FULL_ATTEMPTS + 1,
    };
    Arc::new(EndedAttempt::recorded(
        attempt,
        at,
        &journal,
        InMemory::Whole,
    ))
}

struct World {
    rng: StdRng,
    workspace: TestWorkspace,
    sets: Vec<SetPath>,
    disk: Vec<Cases>,
    model: Model,
    /// Effects that are not executed yet, and their results that are not delivered yet.
    effects: Vec<Effect>,
    answers: Vec<Msg>,
    /// Events of the live run that are not delivered yet, in order.
    run: VecDeque<RunEvent>,
    runs: usize,
    made: usize,
    /// The latest run of each case, with its original attempt.
    last: HashMap<(usize, String), (String, Arc<EndedAttempt>)>,
    history_at: usize,
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = StdRng::seed_from_u64(seed);
        let disk: Vec<Cases> = (0..SETS.len())
            .map(|set| {
                (0..rng.random_range(1..6))
                    .map(|n| (format!("s{set}_c{n}"), n))
                    .collect()
            })
            .collect();
        let files: Vec<(&str, String)> = SETS
            .iter()
            .zip(&disk)
            .map(|(name, cases)| (*name, text(cases)))
            .collect();
        let workspace = TestWorkspace::new(&files);
        let sets: Vec<SetPath> = SETS
            .iter()
            .map(|name| SetPath::of_file(&workspace.path().join(name), workspace.path()))
            .collect();
        let model = Model::new("w".into(), sets.clone(), (120, 40));
        let mut world = World {
            rng,
            workspace,
            sets,
            disk,
            model,
            effects: Vec::new(),
            answers: Vec::new(),
            run: VecDeque::new(),
            runs: 0,
            made: 0,
            last: HashMap::new(),
            history_at: 0,
        };
        world.take(Msg::Sets(SetMsg::Found(world.sets.clone())));
        world.past_results();
        world
    }

    fn take(&mut self, msg: Msg) {
        let effects = update(&mut self.model, msg);
        self.effects.extend(effects);
    }

    /// Changes a file: a case is inserted at the front or removed, the cases are rotated, or an expectation changes.
    fn change_a_file(&mut self) {
        let set = self.rng.random_range(0..SETS.len());
        self.made += 1;
        let cases = &mut self.disk[set];
        match self.rng.random_range(0..4) {
            0 => cases.insert(0, (format!("s{set}_new{}", self.made), 7)),
            1 if cases.len() > 1 => {
                let (id, _) = cases.remove(self.rng.random_range(0..cases.len()));
                self.last.remove(&(set, id));
            }
            2 => cases.rotate_left(1),
            _ => {
                let at = self.rng.random_range(0..cases.len());
                cases[at].1 = self.rng.random_range(0..4);
            }
        }
        std::fs::write(self.workspace.path().join(SETS[set]), text(&self.disk[set])).unwrap();
        self.answers.push(Msg::Sets(SetMsg::FilesChanged));
    }

    /// Executes one of the pending effects, with the current files.
    fn work(&mut self) {
        if self.effects.is_empty() {
            return;
        }
        let at = self.rng.random_range(0..self.effects.len());
        let answer = match self.effects.swap_remove(at) {
            Effect::Sets(SetEffect::Load { set, ticket }) => {
                let path = &self.model.view.sets[set].path;
                let open = open_set(path).unwrap();
                let (file, digest) = (Arc::new(open.file), open.digest);
                let notes = read_notes(&path.path);
                let result = Ok(OpenedSet {
                    criteria: None,
                    file,
                    digest,
                    agent: Ok("a".into()),
                    notes,
                    stubs: None,
                });
                Msg::Sets(SetMsg::Loaded(SetLoaded {
                    set,
                    ticket,
                    result,
                }))
            }
            Effect::Sets(SetEffect::Rediscover) => Msg::Sets(SetMsg::Found(self.sets.clone())),
            Effect::Sets(SetEffect::Summarise { set, digest, file }) => {
                let summaries = Arc::new((0..file.len()).map(|_| Default::default()).collect());
                Msg::Sets(SetMsg::Summarised {
                    set,
                    digest,
                    summaries,
                })
            }
            Effect::Sets(SetEffect::Reevaluate {
                set,
                digest,
                file,
                notes,
                cases,
            }) => {
                let results = reevaluated(&file, &notes, &cases);
                Msg::Sets(SetMsg::Reevaluated {
                    set,
                    digest,
                    requested: requested_cases(&cases),
                    results,
                })
            }
            Effect::Results(ResultEffect::Rescore {
                ticket,
                change,
                before,
            }) => {
                let rescored = rescored(&before, &change);
                Msg::Results(ResultMsg::Rescored(ticket, Box::new(rescored)))
            }
            _ => return,
        };
        self.answers.push(answer);
    }

    fn deliver(&mut self) {
        if !self.answers.is_empty() {
            let at = self.rng.random_range(0..self.answers.len());
            let answer = self.answers.swap_remove(at);
            self.take(answer);
        }
    }

    /// Plans a run of some cases of a current file.
    fn start_a_run(&mut self) {
        if !self.run.is_empty() {
            return;
        }
        self.runs += 1;
        let set = self.rng.random_range(0..SETS.len());
        let open = open_set(&self.sets[set]).unwrap();
        let chosen: Vec<usize> = (0..open.file.len())
            .filter(|_| self.rng.random_range(0..3) > 0)
            .collect();
        let cases = chosen.iter().map(|index| PlannedCase {
            set: 0,
            index: *index,
            eval_id: open.file.eval_id(*index),
            content: open.file.content_hash(*index).into(),
            quarantine: None,
        });
        let plan = RunPlan {
            commit: None,
            judge: evaltrail_core::domain::JudgeSpec::standard(),
            run_id: format!("run {}", self.runs),
            started: format!("2026-02-01T00:{:02}:{:02}Z", self.runs / 60, self.runs % 60),
            sets: vec![PlannedSet {
                stubs: None,
                tools: Default::default(),
                user: Default::default(),
                id: "s".into(),
                file: self.sets[set].shown.clone(),
                path: self.sets[set].path.clone(),
                digest: open.digest,
                agent: AgentSpec::Saved,
                agent_name: "a".into(),
                agent_jobs: None,
                agent_files: None,
                file_cases: None,
                app_dir: None,
                criteria: vec![],
            }],
            cases: PlannedCases::new(cases).unwrap(),
            options: RunOptions::default(),
        };
        let run_id = plan.run_id.clone();
        for (case, planned) in plan.cases.iter().enumerate() {
            let key = AttemptKey { case, attempt: 1 };
            let expected = self.disk[set]
                .iter()
                .find(|(id, _)| *id == planned.eval_id)
                .unwrap()
                .1;
            let ran = attempt(key, &planned.eval_id, expected, self.rng.random_range(0..4));
            self.last.insert(
                (set, planned.eval_id.to_string()),
                (run_id.clone(), ran.clone()),
            );
            self.run.push_back(RunEvent::Started { key, slot: case });
            self.run.push_back(RunEvent::Finished(ran));
        }
        self.run.push_back(RunEvent::Ended { duration_s: 1.0 });
        let state = RunState::new(Arc::new(plan));
        self.take(Msg::Run(RunMsg::Started(Box::new(state))));
    }

    fn run_in_progress(&mut self) {
        let count = self.rng.random_range(1..4).min(self.run.len());
        let events: Vec<RunEvent> = self.run.drain(..count).collect();
        if !events.is_empty() {
            self.take(Msg::Run(RunMsg::Events(events)));
        }
    }

    /// Adds results of an older run, with a new ticket, to the results to deliver.
    fn past_results(&mut self) {
        let run = Arc::new(RunRef {
            id: "past".into(),
            started: "2026-01-01T00:00:00Z".into(),
            by: RunBy::Evaltrail,
        });
        let mut results = Vec::new();
        for set in 0..SETS.len() {
            for n in 0..2 {
                let id = format!("s{set}_c{n}");
                let ran = attempt(
                    AttemptKey {
                        case: n as usize,
                        attempt: 1,
                    },
                    &id,
                    n,
                    2,
                );
                if self.disk[set].iter().any(|(known, _)| *known == id) {
                    self.last
                        .entry((set, id.clone()))
                        .or_insert_with(|| ("past".into(), ran.clone()));
                }
                results.push(PastResult {
                    origin: ResultOrigin::new(&self.sets[set].path, run.clone()),
                    eval_id: id,
                    content: String::new(),
                    attempts: vec![ran],
                    planned: None,
                    found: None,
                });
            }
        }
        let ticket = self.model.ticket();
        self.history_at += 1;
        self.answers.push(Msg::Results(ResultMsg::History {
            ticket,
            results: results.into(),
        }));
    }

    fn step(&mut self) {
        match self.rng.random_range(0..12) {
            0 => self.change_a_file(),
            1 => self.start_a_run(),
            2 => self.past_results(),
            3 => {
                let keys = [
                    "j", "k", "enter", "esc", "w", "m", "d", "left", "right", "space", "o", "n",
                    "tab",
                ];
                let key = keys[self.rng.random_range(0..keys.len())];
                self.take(Msg::Key(parse_key(key).unwrap()));
            }
            4..6 => self.run_in_progress(),
            6..9 => self.work(),
            _ => self.deliver(),
        }
    }

    /// Executes and delivers everything that is pending.
    fn settle(&mut self) {
        self.answers.push(Msg::Sets(SetMsg::FilesChanged));
        while !(self.effects.is_empty() && self.answers.is_empty() && self.run.is_empty()) {
            self.run_in_progress();
            self.work();
            self.deliver();
        }
        if self.model.view.what_if.is_some() {
            self.take(Msg::Command(evaltrail::explorer::commands::DROP_WHAT_IF.id));
            self.settle();
        }
    }

    fn check(&self) {
        for set in 0..SETS.len() {
            let at = self
                .model
                .view
                .sets
                .iter()
                .position(|view| view.path == self.sets[set])
                .unwrap();
            let file = self.model.file(at).expect("the file is shown");
            assert_eq!(
                file.text(),
                text(&self.disk[set]),
                "the newest file is shown"
            );
            let summaries = self.model.view.sets[at]
                .summaries
                .as_ref()
                .expect("its summaries are there");
            assert_eq!(summaries.len(), file.len());
            let mut seen = BTreeMap::new();
            for index in 0..file.len() {
                let (case, id) = (CaseRef { set: at, index }, file.eval_id(index).into_owned());
                let outcome = self.model.view.outcomes.get(case);
                let Some((run, ran)) = self.last.get(&(set, id.clone())) else {
                    assert!(outcome.is_none(), "{id} was never run");
                    continue;
                };
                let outcome =
                    outcome.unwrap_or_else(|| panic!("the result of {id} in {run} is lost"));
                assert_eq!(outcome.run.id, *run, "{id} is shown of its latest run");
                assert_eq!(wholes(outcome.as_they_ran()), [ran.read().unwrap()], "{id}");
                let again = reevaluate(file, &Notes::default(), index, std::slice::from_ref(ran));
                let now = again.unwrap_or_else(|| vec![ran.clone()]);
                assert_eq!(wholes(&outcome.attempts), wholes(&now), "{id} is stale");
                *seen.entry(outcome.worst.key()).or_insert(0usize) += 1;
            }
            let totals = self.model.view.outcomes.totals(at);
            let counted: BTreeMap<&str, usize> = totals
                .each()
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, status)| (status.key(), count))
                .collect();
            assert_eq!(counted, seen, "the counts are those of the cases");
        }
    }
}

#[test]
fn state_is_current_after_random_messages() {
    let rounds: u64 = std::env::var("EVALTRAIL_ROUNDS").map_or(1, |text| text.parse().unwrap());
    for seed in 0..150 * rounds {
        let mut world = World::new(seed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..120 {
                world.step();
            }
            world.settle();
            world.check();
        }));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}
