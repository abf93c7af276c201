//! The tools of one attempt: decides how each call is answered, and counts what came of it.

use super::attempt::AttemptStubs;
use super::file::StubFile;
use evaltrail_core::diff::calls_equal;
use evaltrail_core::domain::{
    Invocation, MissingAnswer, SentSecrets, StubMode, ToolCall, ToolFailure, ToolUse, ToolsSpec,
    value_text,
};
use evaltrail_core::formats::vertex::PLAIN_INPUT;
use evaltrail_core::metrics::CallPattern;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The tools of one attempt. All places that see the calls of an attempt share it.
#[derive(Default)]
pub struct AttemptTools {
    spec: ToolsSpec,
    /// Whether the agent leaves calls to its caller.
    leaves_calls_to_caller: bool,
    state: Mutex<StubState>,
    /// What the records of calls must not contain.
    sent: OnceLock<Arc<SentSecrets>>,
}

#[derive(Default)]
struct StubState {
    stubs: AttemptStubs,
    /// The current turn, from 1.
    turn: usize,
    tool_use: ToolUse,
    /// Why the attempt is errored.
    failure: Option<String>,
    /// The calls of the current turn that an MCP server or a tool's own process reported, with their results.
    seen: Vec<SeenCall>,
    /// The calls that may reach their tools and have not been seen there yet.
    allowed: Vec<ToolCall>,
    /// The number of calls of the current turn.
    calls: usize,
    /// The size of the arguments and results of the current turn, in bytes.
    size: usize,
}

/// The maximum number of calls in a turn.
const MAX_CALLS: usize = 10_000;
/// The maximum size of the arguments and results of a turn, in bytes.
const MAX_TURN: usize = 64 << 20;

/// A call that was seen on its way to a tool, and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenCall {
    /// The call.
    pub call: ToolCall,
    /// The result; `None` while the tool runs.
    pub result: Option<Value>,
}

/// How a call is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolAnswer {
    /// In place of the tool, after the time that the tool takes.
    Given {
        /// The response, or the words of an error.
        result: Result<Value, String>,
        /// How long the tool takes.
        after: Duration,
    },
    /// By the tool itself.
    Live,
    /// Not at all: the attempt is errored. The text says what is missing.
    Missing(String),
}

impl fmt::Debug for AttemptTools {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AttemptTools")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

impl AttemptTools {
    /// The tools of an attempt of a case. `leaves_calls_to_caller` tells whether the agent leaves calls to its caller; `expected` are
    /// the turns of the case, whose recorded responses are stubs too.
    pub fn new(
        (spec, leaves_calls_to_caller): (&ToolsSpec, bool),
        file: Arc<StubFile>,
        eval_id: &str,
        expected: &[Invocation],
    ) -> AttemptTools {
        let stubs = AttemptStubs::new(file, eval_id, expected);
        AttemptTools {
            spec: spec.clone(),
            leaves_calls_to_caller,
            state: Mutex::new(StubState {
                stubs,
                ..StubState::default()
            }),
            sent: OnceLock::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, StubState> {
        self.state.lock()
    }

    /// Removes these secrets from what is recorded about calls.
    pub fn mask_with(&self, sent: Arc<SentSecrets>) {
        // A conversation that is opened again has the same agent.
        let _ = self.sent.set(sent);
    }

    /// Starts a turn, from 1.
    pub fn begin_turn(&self, turn: usize) {
        let mut state = self.state();
        state.turn = turn;
        state.seen.clear();
        state.allowed.clear();
        (state.calls, state.size) = (0, 0);
    }

    /// How a call is answered that an agent makes.
    pub fn answer(&self, call: &ToolCall) -> ToolAnswer {
        self.answer_in(self.spec.stubs, call)
    }

    /// How a call is answered that an agent leaves to its caller: there is no tool that could run.
    pub fn answer_for_caller(&self, call: &ToolCall) -> ToolAnswer {
        let mode = match self.spec.stubs {
            StubMode::Off | StubMode::Live => StubMode::Fail,
            mode => mode,
        };
        self.answer_in(mode, call)
    }

    fn answer_in(&self, mode: StubMode, call: &ToolCall) -> ToolAnswer {
        let mut state = self.state();
        if let Some(why) = state.too_many(call) {
            return ToolAnswer::Missing(why);
        }
        if let Some(failure) = self.fault_of(call) {
            state.tool_use.faults += 1;
            return failed(failure);
        }
        match mode {
            StubMode::Off => state.live(),
            mode => state.stub_answer(call, mode),
        }
    }

    fn fault_of(&self, call: &ToolCall) -> Option<&ToolFailure> {
        let fits = |tool: &str| {
            CallPattern::new(tool, None, false).is_ok_and(|one| one.is_about(&call.name))
        };
        self.spec
            .faults
            .iter()
            .find(|fault| fits(&fault.tool))
            .map(|fault| &fault.failure)
    }

    /// Allows a call to reach its tool, whose server may see it as well.
    pub fn allow(&self, call: ToolCall) {
        self.state().allowed.push(call);
    }

    /// Whether a call was allowed before to reach its tool: then it is seen for the second time. A library may have
    /// completed its arguments; with `exactly`, such a call is not found.
    pub fn take_allowed(&self, call: &ToolCall, exactly: bool) -> bool {
        let mut state = self.state();
        let is_same = |one: &ToolCall| match exactly {
            true => calls_equal(one, call, false),
            false => one.name == call.name,
        };
        let at = state.allowed.iter().position(is_same);
        at.map(|at| state.allowed.swap_remove(at)).is_some()
    }

    /// Makes the attempt errored.
    pub fn fail(&self, why: &str) {
        self.state().failure.get_or_insert_with(|| why.to_string());
    }

    /// Whether tools were called, so that another try could repeat what they did.
    pub fn were_used(&self) -> bool {
        let tool_use = &self.state().tool_use;
        tool_use.live + tool_use.stubbed + tool_use.nearest > 0
    }

    /// Notes that no span came in a turn, although the agent's spans were to show its calls, and whether that is because the
    /// agent exports them over gRPC.
    pub fn note_missing_spans(&self, exports_over_grpc: bool) {
        let tool_use = &mut self.state().tool_use;
        tool_use.lacks_spans = true;
        tool_use.exports_over_grpc |= exports_over_grpc;
    }

    /// Notes the attributes in which the agent has kept something of earlier conversations.
    pub fn note_saved_state(&self, attributes: &str) {
        self.state().tool_use.kept_state = attributes.to_string();
    }

    /// Notes that a call did not say to which attempt it belongs.
    pub fn note_unnamed_call(&self) {
        self.state().tool_use.one_at_a_time = true;
    }

    /// Notes a call on its way to a tool. Returns its position, for [`AttemptTools::saw_result`].
    pub fn saw_call(&self, call: ToolCall) -> usize {
        let mut state = self.state();
        state.seen.push(SeenCall { call, result: None });
        state.seen.len() - 1
    }

    /// Notes the result of a call of this turn.
    pub fn saw_result(&self, at: usize, result: Value) {
        let mut state = self.state();
        state.size += value_text(&result).len();
        let has_room = state.size <= MAX_TURN;
        if let Some(seen) = state.seen.get_mut(at).filter(|_| has_room) {
            seen.result = Some(result);
        }
    }

    /// The calls of this turn that were seen on their way to a tool.
    pub fn seen(&self) -> Vec<SeenCall> {
        self.state().seen.clone()
    }

    /// Why the attempt is errored: a call had no answer.
    pub fn failure(&self) -> Option<String> {
        let failure = self.state().failure.clone()?;
        Some(
            self.sent
                .get()
                .map_or_else(|| failure.clone(), |sent| sent.mask(&failure)),
        )
    }

    /// Compares the calls that the agent reports in the current turn with those that evaltrail saw. The tools of calls that
    /// it did not see have run.
    pub fn compare_with(&self, reported: &[&ToolCall]) {
        // An agent that leaves some calls to its caller may run other tools by itself; those are not answered from stubs.
        if self.spec.stubs == StubMode::Off || self.leaves_calls_to_caller {
            return;
        }
        let mut state = self.state();
        let others: Vec<&str> = reported
            .iter()
            .map(|call| call.name.as_str())
            .filter(|name| !is_control_tool(name))
            .collect();
        let unseen = others.len().saturating_sub(state.calls);
        state.tool_use.live += unseen as u32;
        if unseen > 0 && self.spec.stubs == StubMode::Fail {
            let words = format!(
                "{unseen} of {} calls of tools ({}) did not ask evaltrail: the agent's own tools ran, or none. Is each of \
                 them a tool that can be answered, and does the agent take the addresses of MCP servers from the \
                 variables in stubs.mcp?",
                others.len(),
                others.join(", ")
            );
            state.failure.get_or_insert(words);
        }
    }

    /// What came of the calls; `None` when the agent's tools run as they are.
    pub fn tool_use(&self) -> Option<ToolUse> {
        let state = self.state();
        let mut tool_use = state.tool_use.clone();
        let is_as_it_is = self.spec.stubs == StubMode::Off
            && self.spec.faults.is_empty()
            && tool_use.stubbed == 0
            && !tool_use.lacks_spans
            && tool_use.kept_state.is_empty();
        if self.spec.stubs != StubMode::Off || tool_use.stubbed > 0 {
            tool_use.unused = state.stubs.unused();
        }
        for missing in &mut tool_use.missing {
            self.mask_missing(missing);
        }
        (!is_as_it_is).then_some(tool_use)
    }
}

impl AttemptTools {
    fn mask_missing(&self, missing: &mut MissingAnswer) {
        if let Some(secrets) = self.sent.get().map(|sent| sent.now()) {
            secrets.mask_text(&mut missing.why);
            secrets.mask_text(&mut missing.call.name);
            missing
                .call
                .args
                .iter_mut()
                .for_each(|args| secrets.mask_members(args));
        }
    }
}

impl StubState {
    /// Counts a call. The text says why the attempt is errored if there are too many of them.
    fn too_many(&mut self, call: &ToolCall) -> Option<String> {
        self.calls += 1;
        self.size += call
            .args
            .as_ref()
            .map_or(0, |args| value_text(&args.clone().into()).len());
        if self.calls <= MAX_CALLS && self.size <= MAX_TURN {
            return None;
        }
        let why = format!(
            "the agent made more than {MAX_CALLS} calls of tools in a turn, or sent more than 64 MB to them"
        );
        Some(self.failure.get_or_insert(why).clone())
    }

    fn live(&mut self) -> ToolAnswer {
        self.tool_use.live += 1;
        ToolAnswer::Live
    }

    fn stub_answer(&mut self, call: &ToolCall, mode: StubMode) -> ToolAnswer {
        let turn = self.turn.max(1);
        let why = match self.stubs.answer(turn, call) {
            Ok(answer) => {
                self.tool_use.stubbed += 1;
                return ToolAnswer::Given {
                    result: answer.result,
                    after: answer.after,
                };
            }
            Err(why) => why.to_string(),
        };
        if has_broken_arguments(call) {
            self.tool_use.stubbed += 1;
            return given(Err("the arguments are not JSON".into()));
        }
        if mode == StubMode::Live {
            return self.live();
        }
        if mode == StubMode::Nearest
            && let Some(answer) = self.stubs.nearest(turn, call)
        {
            self.tool_use.nearest += 1;
            return ToolAnswer::Given {
                result: answer.result,
                after: answer.after,
            };
        }
        self.tool_use.missing.push(MissingAnswer {
            turn,
            call: call.clone(),
            why: why.clone(),
        });
        if mode == StubMode::Error {
            return given(Err(why));
        }
        self.failure.get_or_insert_with(|| why.clone());
        ToolAnswer::Missing(why)
    }
}

fn given(result: Result<Value, String>) -> ToolAnswer {
    ToolAnswer::Given {
        result,
        after: Duration::ZERO,
    }
}

fn failed(failure: &ToolFailure) -> ToolAnswer {
    match failure {
        ToolFailure::Error(words) => given(Err(words.clone())),
        ToolFailure::Empty => given(Ok(Value::Object(Default::default()))),
        ToolFailure::Timeout(ms) => {
            let after = Duration::from_millis(*ms);
            ToolAnswer::Given {
                result: Err("the tool did not answer in time".into()),
                after,
            }
        }
    }
}

/// Whether a tool only steers the conversation, and has no effect elsewhere: such tools of ADK, and handovers to other
/// agents, are never answered from stubs.
pub(super) fn is_control_tool(name: &str) -> bool {
    const OF_ADK: [&str; 5] = [
        "exit_loop",
        "adk_request_credential",
        "adk_request_confirmation",
        "adk_request_input",
        "set_model_response",
    ];
    name.starts_with("transfer_to_") || OF_ADK.contains(&name)
}

/// Whether the arguments were a text that is not JSON. A tool would answer such a call with an error.
fn has_broken_arguments(call: &ToolCall) -> bool {
    call.args
        .as_ref()
        .is_some_and(|args| args.len() == 1 && args.contains_key(PLAIN_INPUT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::ToolFault;
    use serde_json::json;

    fn tools(stubs: StubMode, faults: Vec<ToolFault>) -> AttemptTools {
        let lines = [
            json!({"tool": "get", "args": {"city": "Oslo"}, "response": {"temp": 4}}),
            json!({"tool": "get", "args": {"city": "Bergen"}, "case": "c", "response": {"temp": 3}}),
        ];
        let text = lines.map(|line| line.to_string()).join("\n");
        let spec = ToolsSpec {
            stubs,
            faults,
            ..ToolsSpec::default()
        };
        AttemptTools::new(
            (&spec, false),
            Arc::new(StubFile::parse(&text).unwrap()),
            "c",
            &[],
        )
    }

    fn get(city: &str) -> ToolCall {
        ToolCall::new("get", json!({"city": city}).as_object().cloned())
    }

    #[test]
    fn call_without_stub_depends_on_stub_mode() {
        let answer = |mode| {
            let tools = tools(mode, Vec::new());
            tools.begin_turn(1);
            assert_eq!(tools.answer(&get("Oslo")), given(Ok(json!({"temp": 4}))));
            (tools.answer(&get("Rome")), tools)
        };
        let (missing, tools) = answer(StubMode::Fail);
        let why = "no answer is recorded for get {\"city\":\"Rome\"}; nearest: line 1 of the stubs, city differs";
        assert_eq!(missing, ToolAnswer::Missing(why.into()));
        assert_eq!(tools.failure().as_deref(), Some(why));
        let used = tools.tool_use().unwrap();
        assert_eq!(
            (used.counts().describe().as_str(), used.unused.as_slice()),
            (
                "tools: 1 stubbed · 0 live · 1 missing · 1 stub not used",
                &[2][..]
            )
        );
        assert_eq!(used.missing[0].call, get("Rome"));

        let (told, tools) = answer(StubMode::Error);
        assert_eq!(
            (
                told,
                tools.failure(),
                tools.tool_use().unwrap().missing.len()
            ),
            (given(Err(why.into())), None, 1)
        );
        let (live, tools) = answer(StubMode::Live);
        assert_eq!(
            (live, tools.tool_use().unwrap().live),
            (ToolAnswer::Live, 1)
        );
        let (nearest, tools) = answer(StubMode::Nearest);
        assert_eq!(
            (nearest, tools.tool_use().unwrap().nearest),
            (given(Ok(json!({"temp": 4}))), 1)
        );
    }

    #[test]
    fn calls_that_evaltrail_did_not_see_have_run() {
        let seen = |mode| {
            let tools = tools(mode, Vec::new());
            tools.begin_turn(1);
            tools.answer(&get("Oslo"));
            let hand_over = ToolCall::new("transfer_to_clerk", None);
            tools.compare_with(&[&get("Oslo"), &hand_over]);
            assert_eq!((tools.failure(), tools.tool_use().unwrap().live), (None, 0));
            tools.compare_with(&[&get("Oslo"), &get("Rome")]);
            (tools.failure(), tools.tool_use().unwrap().live)
        };
        let (failure, live) = seen(StubMode::Fail);
        assert!(
            failure
                .unwrap()
                .starts_with("1 of 2 calls of tools (get, get) did not ask")
        );
        assert_eq!((live, seen(StubMode::Error)), (1, (None, 1)));
    }

    #[test]
    fn a_fault_comes_before_every_answer() {
        let fault = |tool: &str, failure| ToolFault {
            tool: tool.into(),
            failure,
        };
        let tools = tools(
            StubMode::Off,
            vec![fault("g*", ToolFailure::Error("503".into()))],
        );
        assert_eq!(tools.answer(&get("Oslo")), given(Err("503".into())));
        assert_eq!(
            tools.answer(&ToolCall::new("other", None)),
            ToolAnswer::Live
        );
        let used = tools.tool_use().unwrap();
        assert_eq!((used.faults, used.live, used.unused.len()), (1, 1, 0));
    }
}
