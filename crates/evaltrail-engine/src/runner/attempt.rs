//! Runs one attempt: connects to the agent, runs the conversation and scores it.

use super::conversation::{
    Interruption, PartialTurn, UserResponseTime, UserTurns, round, run_turns,
};
use super::run_resources::{ProgressSink, RunResources};
use crate::agents::{
    Agent, AgentError, AttemptRegistration, ConnectionStatus, ErrorKind, SessionOptions, TurnBudget,
};
use crate::judge::SimulatedUser;
use crate::net::Backoff;
use crate::process::clock::{Stopwatch, timeout_without};
use crate::stubs::AttemptTools;
use evaltrail_core::domain::{
    AgentSpec, Attempt, AttemptKey, Conversation, Criterion, CustomMetric, DetailsSource, EvalCase,
    FindingRule, Invocation, MetricResult, Progress, ReportedSetup, SESSION_STATE_MATCH, Status,
    adk_status, case_status,
};
use evaltrail_core::metrics::{Evidence, is_declared, score, unscored, without_responses};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// ADK's user id for a case that has none.
const DEFAULT_USER: &str = "test_user_id";

/// Metrics that can score an attempt in which the agent failed.
const OF_FAILURES: &[&str] = &["failure", "latency_in_seconds"];

/// The outcome of one try.
struct TryOutcome {
    turns: Vec<Invocation>,
    session_id: String,
    /// `None` if the agent was not reached.
    latency: Option<Duration>,
    state: Option<Value>,
    outcome: Result<(), Interruption>,
}

/// The kind of the error with which a conversation ended; `None` if the agent answered.
fn failure_of(outcome: &Result<(), Interruption>) -> Option<ErrorKind> {
    match outcome {
        Err(Interruption::Failed(error)) => Some(error.kind),
        Ok(()) | Err(Interruption::SpendingLimit(_)) => None,
    }
}

/// Admits the attempt to its agent. Reports if it has to wait for others.
async fn admitted(
    agent: &dyn Agent,
    opening: &SessionOptions,
    sink: &mut impl ProgressSink,
) -> Option<AttemptRegistration> {
    let mut admitting = agent.register_attempt(opening);
    tokio::select! {
        biased;
        admission = &mut admitting => return admission,
        () = std::future::ready(()) => {}
    }
    let why = "one case at a time, until a call of the agent's tools says to which case it belongs";
    sink.send_progress(Progress::Waiting(why.into())).await;
    admitting.await
}

impl RunResources {
    /// Runs one attempt to its end. Dropping the future cancels it.
    pub(super) async fn run(&self, key: AttemptKey, sink: &mut impl ProgressSink) -> Attempt {
        let cases = &self.plan.cases;
        let mut attempt = Attempt {
            started: self.clock.now().to_string(),
            ..Attempt::blank(key, cases.eval_id(key.case))
        };
        match self.sets[cases.set_of(key.case)].case(cases.index_in_file(key.case)) {
            Err(problem) => attempt.set_errored(format!("the case cannot be read: {problem}")),
            Ok(case) => match &case.conversation {
                _ if self.plan.set_of(key.case).agent == AgentSpec::Saved => {
                    self.score_saved(&mut attempt, case, sink).await;
                }
                _ if self.plan.set_of(key.case).agent == AgentSpec::PriorAttempts => {
                    self.judge_again(&mut attempt, case, sink).await;
                }
                Conversation::Scenario(scenario) => {
                    self.play(&mut attempt, &case, scenario, sink).await
                }
                Conversation::Turns(_) if case.missing_prompt().is_some() => {
                    attempt.set_errored(case.missing_prompt().unwrap_or_default());
                }
                Conversation::Turns(turns) => {
                    let speaker = UserTurns::Script { turns, before: 0 };
                    match self.plan.options.turn {
                        None => self.converse(&mut attempt, &case, speaker, sink).await,
                        Some(turn) => self.one_turn(&mut attempt, &case, turn, sink).await,
                    }
                }
            },
        }
        if attempt.status == Status::Errored {
            let set = cases.set_of(key.case);
            // Saved responses have no events for the metrics that are added to those of a run.
            let is_run = self.plan.sets[set].agent != AgentSpec::Saved;
            attempt.asked = self.scorers[set].names(is_run);
        }
        attempt
    }

    /// Runs a scenario: a simulated user talks to the agent.
    async fn play(
        &self,
        attempt: &mut Attempt,
        case: &EvalCase,
        scenario: &Value,
        sink: &mut impl ProgressSink,
    ) {
        attempt.scenario = Some(scenario.clone());
        match SimulatedUser::parse(scenario, &self.plan.set_of(attempt.key.case).user) {
            Err(why) => attempt.set_errored(why),
            Ok(user) => {
                // Checked first, so that no request is sent to the agent for nothing.
                if let Err(error) = user.can_play(&self.judges) {
                    return attempt
                        .set_errored(format!("the scenario's user cannot be simulated: {error}"));
                }
                let speaker = UserTurns::Simulated {
                    user,
                    judges: &self.judges,
                    attempt: attempt.key.attempt,
                    spent: parking_lot::Mutex::default(),
                    thinking: UserResponseTime::default(),
                };
                self.converse(attempt, case, speaker, sink).await;
            }
        }
    }

    /// Runs one turn of a case on the history that the case expects before it.
    async fn one_turn(
        &self,
        attempt: &mut Attempt,
        case: &EvalCase,
        turn: u32,
        sink: &mut impl ProgressSink,
    ) {
        attempt.turn = Some(turn);
        let before = turn.saturating_sub(1) as usize;
        let Some(alone) = case.turns().get(before) else {
            return attempt.set_errored(format!(
                "there is no turn {turn}: the case has {}",
                case.turns().len()
            ));
        };
        // The expected state is that after the whole conversation. The turns before were not run, so what they would
        // have stored is missing.
        let only = EvalCase {
            conversation: Conversation::Turns(vec![alone.clone()]),
            final_session_state: case
                .final_session_state
                .clone()
                .filter(|_| case.turns().len() == 1),
            ..case.clone()
        };
        let turns = std::slice::from_ref(alone);
        let speaker = UserTurns::Script { turns, before };
        self.converse_after(attempt, &only, &case.turns()[..before], speaker, sink)
            .await;
    }

    /// Re-evaluates an earlier attempt against the case as it is now.
    async fn judge_again(
        &self,
        attempt: &mut Attempt,
        case: EvalCase,
        sink: &mut impl ProgressSink,
    ) {
        let Some(kept) = self.kept.get(&attempt.key) else {
            return attempt
                .set_errored("the attempt to re-evaluate no longer exists; run the case".into());
        };
        let kept = match kept.read() {
            Ok(kept) => kept,
            Err(why) => {
                return attempt
                    .set_errored(format!("the attempt to re-evaluate cannot be read: {why}"));
            }
        };
        if let Conversation::Scenario(scenario) = &case.conversation {
            attempt.scenario = Some(scenario.clone());
        }
        attempt.expected = case.turns().into();
        attempt.expected_state = case.final_session_state;
        attempt.rubrics = case.rubrics;
        self.keep_variables(attempt, &case.extra);
        attempt.actual = kept.actual.clone();
        attempt.setup = kept.setup.clone();
        attempt.actual_state = kept.actual_state.clone();
        attempt.latency_s = kept.latency_s;
        attempt.failed = kept.failed;
        attempt.session_id = kept.session_id.clone();
        attempt.user_id = kept.user_id.clone();
        attempt.tool_use = kept.tool_use.clone();
        match &kept.error {
            // What the agent did before it failed is no response that could be scored.
            Some(error) => self.fail(attempt, error.clone()),
            None => self.score(attempt, sink).await,
        }
    }

    /// Scores the response that is saved in the file.
    async fn score_saved(
        &self,
        attempt: &mut Attempt,
        case: EvalCase,
        sink: &mut impl ProgressSink,
    ) {
        if let Conversation::Scenario(scenario) = &case.conversation {
            attempt.scenario = Some(scenario.clone());
        }
        attempt.expected = case.turns().into();
        attempt.expected_state = case.final_session_state;
        attempt.rubrics = case.rubrics;
        self.keep_variables(attempt, &case.extra);
        let Some(saved) = case.saved else {
            let set = self.plan.set_of(attempt.key.case);
            let why = "the file contains no saved response for this case; run the case";
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
        attempt.latency_s = saved.latency_s;
        attempt.failed = saved.failed;
        match saved.error {
            Some(error) => self.fail(attempt, error),
            None => self.score(attempt, sink).await,
        }
        // Scores from the file are added for metrics that are not computed here, with the reason where there is none.
        // They are informational, so the status of the attempt does not change.
        let is_new = |one: &MetricResult| {
            !attempt
                .metrics
                .iter()
                .any(|metric| metric.metric == one.metric)
        };
        let beside: Vec<MetricResult> = case
            .recorded
            .into_iter()
            .filter(is_new)
            .map(informational)
            .collect();
        attempt.metrics.extend(beside);
    }

    /// Ends an attempt that errored. Metrics about failures are still computed.
    fn fail(&self, attempt: &mut Attempt, why: String) {
        attempt.set_errored(why);
        let criteria = &self.plan.set_of(attempt.key.case).criteria;
        let asked = criteria
            .iter()
            .filter(|criterion| OF_FAILURES.contains(&criterion.name()));
        let evidence = Evidence::from_attempt(attempt);
        attempt.metrics = asked.map(|criterion| score(criterion, &evidence)).collect();
    }

    /// Ends an attempt whose conversation ended at the spending limit. No metric is evaluated.
    fn leave_unscored(&self, attempt: &mut Attempt, why: &str) {
        let turns = attempt.actual.len();
        let criteria = &self.plan.set_of(attempt.key.case).criteria;
        let rule = FindingRule::SpendingLimitReached;
        attempt.metrics = criteria
            .iter()
            .map(|criterion| without_responses(criterion, turns, rule, why))
            .collect();
        attempt.status = case_status(&attempt.metrics);
        attempt.adk_status = adk_status(&attempt.metrics);
    }

    async fn converse(
        &self,
        attempt: &mut Attempt,
        case: &EvalCase,
        speaker: UserTurns<'_>,
        sink: &mut impl ProgressSink,
    ) {
        self.converse_after(attempt, case, &[], speaker, sink).await;
    }

    /// Runs the conversation after the turns of `history`.
    async fn converse_after(
        &self,
        attempt: &mut Attempt,
        case: &EvalCase,
        history: &[Invocation],
        speaker: UserTurns<'_>,
        sink: &mut impl ProgressSink,
    ) {
        attempt.expected = case.turns().into();
        attempt.expected_state = case.final_session_state.clone();
        attempt.rubrics = case.rubrics.clone();
        self.keep_variables(attempt, &case.extra);
        let set = self.plan.cases.set_of(attempt.key.case);
        let opening = SessionOptions {
            history: history.to_vec(),
            ..opening_of(case, attempt.key.attempt)
        };
        attempt.user_id = opening.user_id.clone();
        let _turn = match opening.pinned {
            true => Some(self.pinned_turn(&opening.session_id).await),
            false => None,
        };
        let contact = self.lost_agents.attempt_began(set);
        let mut backoff = Backoff::new(self.plan.options.retries);
        loop {
            let tools = Arc::new(self.tools_of(attempt, history));
            let opening = SessionOptions {
                tools: tools.clone(),
                ..opening.clone()
            };
            let talk = self.run_once(attempt, &speaker, &opening, sink).await;
            attempt.tool_use = tools.tool_use();
            self.set_actual(attempt, talk.turns);
            attempt.session_id = talk.session_id;
            attempt.actual_state = talk.state;
            attempt.latency_s = talk.latency.map(round);
            attempt.user_spent = speaker.spent();
            attempt.failed = match &talk.outcome {
                Ok(()) => Some(false),
                Err(Interruption::Failed(_)) => Some(true),
                Err(Interruption::SpendingLimit(_)) => None,
            };
            self.lost_agents
                .attempt_ended(set, failure_of(&talk.outcome));
            match talk.outcome {
                Ok(()) => return self.score(attempt, sink).await,
                Err(Interruption::SpendingLimit(why)) => return self.leave_unscored(attempt, &why),
                Err(Interruption::Failed(error)) => {
                    // Retried only if the agent has not done anything yet: it may have side effects.
                    let fresh =
                        attempt.actual.is_empty() && !tools.were_used() && error.may_retry();
                    let delay = fresh.then(|| backoff.next(error.retry_after)).flatten();
                    let Some(delay) = delay else {
                        if fresh {
                            self.lost_agents
                                .attempt_failed(set, attempt.key, contact, &error);
                        }
                        return self.fail(attempt, error.message);
                    };
                    let delay_ms = delay.as_millis() as u64;
                    sink.send_progress(Progress::Retrying {
                        delay_ms,
                        error: error.message,
                    })
                    .await;
                    tokio::time::sleep(delay).await;
                    attempt.tries += 1;
                }
            }
        }
    }

    /// Sets the turns of the agent, and what it reported of itself. The instructions and declarations themselves are large: they stay
    /// where judges need them, and in the first attempt of a set, so that a comparison of runs can say how they differ.
    fn set_actual(&self, attempt: &mut Attempt, mut turns: Vec<Invocation>) {
        attempt.setup = ReportedSetup::new(&turns);
        let (cases, key) = (&self.plan.cases, attempt.key);
        let set = cases.set_of(key.case);
        let follows_same_set = key.case > 0 && cases.set_of(key.case - 1) == set;
        let is_first = key.attempt == 1 && !follows_same_set;
        if self.judged[set].is_empty() && !is_first {
            for turn in &mut turns {
                turn.app_details = None;
                turn.app_details_source = DetailsSource::default();
            }
        }
        attempt.actual = turns.into();
    }

    /// The tools of an attempt. The responses that the case records are stubs, also those of the turns before.
    fn tools_of(&self, attempt: &Attempt, history: &[Invocation]) -> AttemptTools {
        let set = self.plan.cases.set_of(attempt.key.case);
        let turns: Cow<'_, [Invocation]> = match history {
            [] => Cow::Borrowed(&attempt.expected),
            before => before
                .iter()
                .chain(attempt.expected.iter())
                .cloned()
                .collect(),
        };
        let planned = &self.plan.sets[set];
        let spec = (&planned.tools, planned.agent.leaves_calls_to_caller());
        AttemptTools::new(spec, self.stubs[set].clone(), &attempt.eval_id, &turns)
    }

    async fn pinned_turn(&self, session_id: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = self
            .pinned
            .lock()
            .await
            .entry(session_id.to_string())
            .or_default()
            .clone();
        lock.lock_owned().await
    }

    /// Connects to the agent and runs the conversation, with a limit on the agent's time.
    async fn run_once(
        &self,
        attempt: &Attempt,
        speaker: &UserTurns<'_>,
        opening: &SessionOptions,
        sink: &mut impl ProgressSink,
    ) -> TryOutcome {
        let mut talk = TryOutcome {
            turns: Vec::new(),
            session_id: opening.session_id.clone(),
            latency: None,
            state: None,
            outcome: Ok(()),
        };
        sink.send_progress(Progress::Connecting).await;
        let spec = &self.plan.set_of(attempt.key.case).agent;
        // The time to start a server does not count as time of the attempt.
        let limit = Duration::from_millis(self.plan.options.timeout_ms);
        let tools = &self.plan.set_of(attempt.key.case).tools;
        let status = ConnectionStatus::default();
        let agent = match self.agents.connect(spec, tools, limit, &status).await {
            Ok(agent) => agent,
            Err(error) => {
                return TryOutcome {
                    outcome: Err(error.into()),
                    ..talk
                };
            }
        };
        let _admission = admitted(agent.as_ref(), opening, sink).await;
        // The events of the current turn, so that they are not lost when the time limit interrupts it.
        let mut under_way = PartialTurn::default();
        let began = Stopwatch::start();
        let talking = self.run_conversation(
            agent.as_ref(),
            speaker,
            attempt,
            opening,
            (&mut talk, &mut under_way),
            sink,
        );
        let before = speaker.thought();
        let of_user = || speaker.thought().saturating_sub(before);
        let ended = timeout_without(of_user, limit, talking).await;
        let of_agent = began.elapsed().saturating_sub(of_user());
        match ended {
            Ok(Ok(spent)) => talk.latency = Some(spent),
            Ok(Err(error)) => {
                talk.latency = Some(of_agent);
                talk.outcome = Err(error);
            }
            Err(_) => {
                talk.latency = Some(of_agent);
                talk.outcome = Err(timeout_error(limit).into());
                talk.turns.extend(under_way.broken_off(of_agent));
            }
        }
        talk
    }

    /// Runs the conversation in a new session. Returns the time that it took, without that of the speaker.
    async fn run_conversation(
        &self,
        agent: &dyn Agent,
        speaker: &UserTurns<'_>,
        attempt: &Attempt,
        opening: &SessionOptions,
        (talk, under_way): (&mut TryOutcome, &mut PartialTurn),
        sink: &mut impl ProgressSink,
    ) -> Result<Duration, Interruption> {
        let began = Stopwatch::start();
        let turn_memory = (self.plan.options.turn_memory_mb as usize) << 20;
        let memory = sink.memory();
        let turn_budget = || TurnBudget::new(turn_memory, &memory);
        let mut session = agent
            .open(opening.clone())
            .await
            .map_err(Interruption::Failed)?;
        talk.session_id = session.id().to_string();
        let taken = run_turns(
            session.as_mut(),
            speaker,
            &turn_budget,
            opening,
            &mut talk.turns,
            under_way,
            sink,
        )
        .await;
        let spent = began.elapsed();
        if taken.is_ok() && self.wants_state(attempt) {
            talk.state = session.state().await;
        }
        session.close().await;
        taken.map(|thought| spent.saturating_sub(thought))
    }

    /// Whether the final state of the session is needed.
    fn wants_state(&self, attempt: &Attempt) -> bool {
        let criteria = &self.plan.set_of(attempt.key.case).criteria;
        attempt.expected_state.as_ref().is_some_and(is_declared)
            || criteria
                .iter()
                .any(|criterion| criterion.name() == SESSION_STATE_MATCH)
    }

    /// Stores the values that a prompt template may refer to.
    fn keep_variables(&self, attempt: &mut Attempt, extra: &Map<String, Value>) {
        let criteria = &self.plan.set_of(attempt.key.case).criteria;
        let is_template = |one: &Criterion| matches!(one.custom, Some(CustomMetric::Judged(_)));
        if criteria.iter().any(is_template) {
            attempt.variables = extra.clone();
        }
    }
}

fn timeout_error(limit: Duration) -> AgentError {
    let why = format!(
        "the agent took longer than the limit of {} s",
        limit.as_secs_f64()
    );
    AgentError::new(ErrorKind::Timeout, why)
}

fn opening_of(case: &EvalCase, attempt: u32) -> SessionOptions {
    let input = case.session_input.clone().unwrap_or_default();
    let pinned = input.session_id.filter(|id| !id.is_empty());
    SessionOptions {
        eval_id: case.eval_id.clone(),
        app: input.app_name,
        attempt,
        user_id: if input.user_id.is_empty() {
            DEFAULT_USER.into()
        } else {
            input.user_id
        },
        pinned: pinned.is_some(),
        // `adk web` hides sessions with this prefix.
        session_id: pinned.unwrap_or_else(|| format!("adk-eval-session-{}", uuid::Uuid::new_v4())),
        state: input.state,
        ..SessionOptions::default()
    }
}

/// A score from a file beside the criteria, which decide.
fn informational(recorded: MetricResult) -> MetricResult {
    match recorded.status {
        Status::NotEvaluated => MetricResult {
            status: Status::Informational,
            ..recorded
        },
        _ => recorded,
    }
}
