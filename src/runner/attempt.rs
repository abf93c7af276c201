//! One attempt: connect, hold the conversation, score it.

use crate::agents::{AgentError, Agents, Backoff, ErrorKind, Opening, Turn};
use crate::domain::{
    AgentSpec, Attempt, AttemptKey, Content, Conversation, Criterion, EvalCase, Invocation, MetricResult,
    Part, Progress, RunPlan, Status, adk_status, case_status,
};
use crate::formats::SetFile;
use crate::formats::adk::{Event, invocations_of};
use crate::judge::{Judges, Judging, Programs, Watch};
use crate::metrics::{Evidence, JudgedMetric, Scorer, Unusable, is_declared, score, score_case, unscored};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// ADK's user when a case names none.
const DEFAULT_USER: &str = "test_user_id";

/// Metrics that say something of an agent that failed.
const OF_FAILURES: &[&str] = &["failure", "latency_in_seconds"];

/// What all attempts of a run share.
pub(super) struct Shared {
    pub(super) plan: Arc<RunPlan>,
    pub(super) sets: Vec<Arc<SetFile>>,
    pub(super) agents: Agents,
    programs: Programs,
    pub(super) judges: Judges,
    /// The criteria that a judge decides, by set and position.
    pub(super) judged: Vec<Vec<(usize, Result<JudgedMetric, Unusable>)>>,
    /// The criteria of each set, made ready.
    scorers: Vec<Scorer>,
    /// Cases that fix the same session id take turns.
    pinned: Mutex<HashMap<String, Arc<Mutex<()>>>>,
}

/// Where an attempt tells how far it is.
pub(super) trait Tell: Send {
    fn tell(&mut self, progress: Progress) -> impl Future<Output = ()> + Send;
}

/// What a try came to.
struct Talk {
    turns: Vec<Invocation>,
    session_id: String,
    latency: Duration,
    state: Option<Value>,
    outcome: Result<(), AgentError>,
}

impl Shared {
    pub(super) fn new(plan: Arc<RunPlan>, sets: Vec<Arc<SetFile>>, judges: Judges) -> Shared {
        Shared {
            scorers: plan.sets.iter().map(|set| Scorer::new(&set.criteria)).collect(),
            judged: plan.sets.iter().map(|set| judged_of(&set.criteria, &judges)).collect(),
            plan,
            sets,
            agents: Agents::default(),
            programs: Programs::default(),
            judges,
            pinned: Mutex::default(),
        }
    }

    /// Runs one attempt to its end. Cancelled by dropping it.
    pub(super) async fn run(&self, key: AttemptKey, tell: &mut impl Tell) -> Attempt {
        let planned = &self.plan.cases[key.case];
        let mut attempt = Attempt { started: now(), ..Attempt::blank(key, &planned.eval_id) };
        match self.sets[planned.set].case(planned.index) {
            Err(problem) => attempt.fail(format!("the case cannot be read: {problem}")),
            Ok(case) => match &case.conversation {
                _ if self.plan.set_of(key.case).agent == AgentSpec::Saved => {
                    self.score_saved(&mut attempt, case, tell).await;
                }
                Conversation::Scenario(_) => self.cannot_play(&mut attempt),
                Conversation::Turns(_) => self.converse(&mut attempt, &case, tell).await,
            },
        }
        attempt
    }

    /// A scenario takes a simulated user.
    fn cannot_play(&self, attempt: &mut Attempt) {
        let set = self.plan.set_of(attempt.key.case);
        attempt.metrics = score_case(&set.criteria, &Evidence::default());
        for metric in &mut attempt.metrics {
            if metric.status == Status::NotEvaluated {
                metric.explanation =
                    "a scenario takes a simulated user, which this version does not play".into();
            }
        }
        attempt.status = Status::NotEvaluated;
        attempt.adk_status = Status::NotEvaluated;
    }

    /// Scores what the file says an agent already did.
    async fn score_saved(&self, attempt: &mut Attempt, case: EvalCase, tell: &mut impl Tell) {
        attempt.expected = case.turns().into();
        attempt.expected_state = case.final_session_state;
        attempt.rubrics = case.rubrics;
        let Some(saved) = case.saved else {
            let set = self.plan.set_of(attempt.key.case);
            let why = "the file holds nothing that an agent did for this case; run it";
            let none = |criterion| unscored(criterion, 0, Status::NotEvaluated, why);
            attempt.metrics = match case.recorded.is_empty() {
                true => set.criteria.iter().map(none).collect(),
                false => case.recorded,
            };
            attempt.status = case_status(&attempt.metrics);
            attempt.adk_status = adk_status(&attempt.metrics);
            return;
        };
        attempt.actual = saved.turns.into();
        attempt.actual_state = saved.state;
        attempt.latency_s = saved.latency_s.unwrap_or(0.0);
        match saved.error {
            Some(error) => self.fail(attempt, error),
            None => self.score(attempt, tell).await,
        }
    }

    /// Ends an attempt that errored. What can be said of a failure is still scored.
    fn fail(&self, attempt: &mut Attempt, why: String) {
        attempt.fail(why);
        let criteria = &self.plan.set_of(attempt.key.case).criteria;
        let asked = criteria.iter().filter(|criterion| OF_FAILURES.contains(&criterion.name()));
        let evidence = Evidence::of(attempt);
        attempt.metrics = asked.map(|criterion| score(criterion, &evidence)).collect();
    }

    async fn converse(&self, attempt: &mut Attempt, case: &EvalCase, tell: &mut impl Tell) {
        attempt.expected = case.turns().into();
        attempt.expected_state = case.final_session_state.clone();
        attempt.rubrics = case.rubrics.clone();
        let opening = opening_of(case, attempt.key.attempt);
        attempt.user_id = opening.user_id.clone();
        let _turn = match opening.pinned {
            true => Some(self.pinned_turn(&opening.session_id).await),
            false => None,
        };
        let mut backoff = Backoff::new(self.plan.options.retries);
        loop {
            let talk = self.one_try(attempt, case, &opening, tell).await;
            attempt.actual = talk.turns.into();
            attempt.session_id = talk.session_id;
            attempt.actual_state = talk.state;
            attempt.latency_s = round(talk.latency);
            match talk.outcome {
                Ok(()) => return self.score(attempt, tell).await,
                Err(error) => {
                    // Nothing has happened yet, so nothing would happen twice.
                    let fresh = attempt.actual.is_empty() && error.may_retry();
                    let delay = fresh.then(|| backoff.next(error.retry_after, chance())).flatten();
                    let Some(delay) = delay else { return self.fail(attempt, error.message) };
                    let delay_ms = delay.as_millis() as u64;
                    tell.tell(Progress::Retrying { delay_ms, error: error.message }).await;
                    tokio::time::sleep(delay).await;
                    attempt.tries += 1;
                }
            }
        }
    }

    async fn pinned_turn(&self, session_id: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = self.pinned.lock().await.entry(session_id.to_string()).or_default().clone();
        lock.lock_owned().await
    }

    async fn one_try(
        &self,
        attempt: &Attempt,
        case: &EvalCase,
        opening: &Opening,
        tell: &mut impl Tell,
    ) -> Talk {
        let mut talk = Talk {
            turns: Vec::new(),
            session_id: opening.session_id.clone(),
            latency: Duration::ZERO,
            state: None,
            outcome: Ok(()),
        };
        tell.tell(Progress::Connecting).await;
        let spec = &self.plan.set_of(attempt.key.case).agent;
        // Starting a server takes its own time, which is no attempt's.
        let agent = match self.agents.connect(spec).await {
            Ok(agent) => agent,
            Err(error) => return Talk { outcome: Err(error), ..talk },
        };
        // The events of the turn under way, kept when the limit cuts it off.
        let mut seen: Vec<Event> = Vec::new();
        let began = Instant::now();
        let limit = Duration::from_millis(self.plan.options.timeout_ms);
        let talking = async {
            let mut session = agent.open(opening.clone()).await?;
            talk.session_id = session.id().to_string();
            let taken = take_turns(&mut session, case, &mut talk.turns, &mut seen, tell).await;
            let spent = began.elapsed();
            if taken.is_ok() && self.wants_state(attempt) {
                talk.state = session.state().await;
            }
            session.close().await;
            taken.map(|()| spent)
        };
        match tokio::time::timeout(limit, talking).await {
            Ok(Ok(spent)) => talk.latency = spent,
            Ok(Err(error)) => talk = Talk { latency: began.elapsed(), outcome: Err(error), ..talk },
            Err(_) => {
                let why = format!("the agent took longer than the limit of {} s", limit.as_secs_f64());
                talk.latency = began.elapsed();
                talk.outcome = Err(AgentError::new(ErrorKind::Timeout, why));
                if let (Some(expected), false) = (case.turns().get(talk.turns.len()), seen.is_empty()) {
                    talk.turns.push(invocation(&expected.user, seen, talk.latency));
                }
            }
        }
        talk
    }

    /// Whether anyone asks what the session's state is at the end.
    fn wants_state(&self, attempt: &Attempt) -> bool {
        let criteria = &self.plan.set_of(attempt.key.case).criteria;
        attempt.expected_state.as_ref().is_some_and(is_declared)
            || criteria.iter().any(|criterion| criterion.name() == "session_state_match")
    }

    /// What judges say, all metrics at once.
    async fn judge(
        &self,
        set: usize,
        eval_id: &str,
        evidence: &Evidence<'_>,
        tell: &mut impl Tell,
    ) -> Vec<(usize, MetricResult)> {
        let telling = Mutex::new(tell);
        let mut asked: Vec<BoxFuture<(usize, MetricResult)>> = Vec::new();
        for (at, metric) in &self.judged[set] {
            let mut telling = Telling(&telling);
            asked.push(match metric {
                Ok(metric) => {
                    async move { (*at, self.judges.score(metric, eval_id, evidence, &mut telling).await) }
                        .boxed()
                }
                Err(why) => {
                    let criterion = &self.plan.sets[set].criteria[*at];
                    let turns = evidence.actual.len();
                    let none = unscored(criterion, turns, Status::NotEvaluated, &why.to_string());
                    futures_util::future::ready((*at, none)).boxed()
                }
            });
        }
        futures_util::future::join_all(asked).await
    }

    async fn score(&self, attempt: &mut Attempt, tell: &mut impl Tell) {
        tell.tell(Progress::Scoring).await;
        let set = self.plan.cases[attempt.key.case].set;
        let evidence = Evidence::of(attempt);
        let mut metrics = self.scorers[set].score(&evidence);
        for (at, result) in self.judge(set, &attempt.eval_id, &evidence, tell).await {
            metrics[at] = result;
        }
        for (at, criterion) in self.plan.sets[set].criteria.iter().enumerate() {
            if criterion.custom.as_ref().is_some_and(|custom| custom.program().is_some()) {
                metrics[at] = self.programs.score(criterion, &attempt.eval_id, &evidence).await;
            }
        }
        attempt.metrics = metrics;
        attempt.status = case_status(&attempt.metrics);
        attempt.adk_status = adk_status(&attempt.metrics);
    }
}

/// The criteria that a judge decides, made ready.
fn judged_of(criteria: &[Criterion], judges: &Judges) -> Vec<(usize, Result<JudgedMetric, Unusable>)> {
    let spec = judges.spec();
    let ready = |criterion| JudgedMetric::of(criterion, spec.reading, spec.samples).transpose();
    criteria.iter().enumerate().filter_map(|(at, criterion)| Some((at, ready(criterion)?))).collect()
}

/// All judged metrics of a case tell through one.
struct Telling<'a, T>(&'a Mutex<&'a mut T>);

impl<T: Tell> Watch for Telling<'_, T> {
    async fn judging(&mut self, judging: Judging) {
        let Judging { metric, about, turn, answered, of } = judging;
        let progress = Progress::Judging { metric, about: about.to_string(), turn, answered, of };
        self.0.lock().await.tell(progress).await;
    }
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}

fn opening_of(case: &EvalCase, attempt: u32) -> Opening {
    let input = case.session_input.clone().unwrap_or_default();
    let pinned = input.session_id.filter(|id| !id.is_empty());
    Opening {
        eval_id: case.eval_id.clone(),
        attempt,
        user_id: if input.user_id.is_empty() { DEFAULT_USER.into() } else { input.user_id },
        pinned: pinned.is_some(),
        // `adk web` hides sessions that are named so.
        session_id: pinned.unwrap_or_else(|| format!("adk-eval-session-{}", uuid::Uuid::new_v4())),
        state: input.state,
    }
}

/// Says each user turn in order, whatever the agent answered before, as ADK does.
async fn take_turns(
    session: &mut crate::agents::Session,
    case: &EvalCase,
    done: &mut Vec<Invocation>,
    seen: &mut Vec<Event>,
    tell: &mut impl Tell,
) -> Result<(), AgentError> {
    let of = case.turns().len();
    for (at, expected) in case.turns().iter().enumerate() {
        tell.tell(Progress::Turn { turn: at + 1, of }).await;
        let began = Instant::now();
        let turn = Turn { number: at + 1, user: &expected.user };
        // Emptied before the turn goes on, so it never holds more than one read's events.
        let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
        let mut on_event = move |event: Event| {
            let _ = sender.send(event);
        };
        let outcome = {
            let mut taking = std::pin::pin!(session.turn(turn, &mut on_event));
            loop {
                tokio::select! {
                    biased;
                    Some(event) = events.recv() => {
                        if let Some(progress) = progress_of(&event) {
                            tell.tell(progress).await;
                        }
                        seen.push(event);
                    }
                    outcome = &mut taking => break outcome,
                }
            }
        };
        while let Ok(event) = events.try_recv() {
            seen.push(event);
        }
        let none = seen.is_empty();
        if !none || outcome.is_ok() {
            done.push(invocation(&expected.user, std::mem::take(seen), began.elapsed()));
        }
        outcome?;
        if none {
            return Err(AgentError::new(
                ErrorKind::Protocol,
                format!("the agent sent no events in turn {}", at + 1),
            ));
        }
    }
    Ok(())
}

/// The events of a turn as one invocation, the user's words in front.
fn invocation(user: &Content, mut events: Vec<Event>, took: Duration) -> Invocation {
    let id = events.first().map(|event| event.invocation_id.clone()).unwrap_or_default();
    let timestamp = events.first().and_then(|event| event.timestamp);
    for event in &mut events {
        event.invocation_id.clone_from(&id);
    }
    let said = Event {
        invocation_id: id,
        author: "user".into(),
        content: Some(user.clone()),
        timestamp,
        ..Event::default()
    };
    events.insert(0, said);
    let mut invocation = invocations_of(&events).into_iter().next().unwrap_or_default();
    invocation.durations.total = Some(round(took));
    invocation
}

/// More of a text than this is not shown as progress.
const PROGRESS_CHARS: usize = 200;

fn progress_of(event: &Event) -> Option<Progress> {
    let content = event.content.as_ref()?;
    if let Some(call) = content.calls().last() {
        let args = call.args.iter().flatten().map(|(name, value)| format!("{name}={value}"));
        let call = format!("{}({})", call.name, args.collect::<Vec<_>>().join(", "));
        return Some(Progress::Calls(call.chars().take(PROGRESS_CHARS).collect()));
    }
    if let Some(response) = content.responses().last() {
        return Some(Progress::Answered(response.name.clone()));
    }
    let text = content.parts.iter().rev().find(|part| part.has_text());
    let text = text.and_then(|part: &Part| part.text.as_deref());
    text.map(|text| Progress::Says(text.chars().take(PROGRESS_CHARS).collect()))
}

/// Seconds, to the millisecond, as ADK rounds them.
fn round(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

/// Between 0 and 1, from the system's randomness.
fn chance() -> f64 {
    f64::from(uuid::Uuid::new_v4().as_u128() as u32) / f64::from(u32::MAX)
}
