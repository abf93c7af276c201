//! Why a blueprint cannot be used.

/// The largest number of turns of a case.
pub(super) const MAX_TURNS: usize = 8;
/// The largest number of calls of a case.
pub(super) const MAX_CALLS: usize = 20;

/// Why a blueprint cannot be used. Calls are named by their position, as in `turn 1, call 2 (water)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlueprintProblem {
    /// It has no turns.
    NoTurns,
    /// A turn, from 1, has no goal.
    NoGoal(usize),
    /// It has too many turns or calls: their numbers.
    TooLong(usize, usize),
    /// No such tool is declared: the call.
    UnknownTool(String),
    /// No such agent is declared: the call, the agent.
    UnknownAgent(String, String),
    /// The tool does not declare an argument: the call, the argument.
    UndeclaredArgument(String, String),
    /// A required argument is missing: the call, the argument.
    NoRequiredArgument(String, String),
    /// The declaration does not allow a value: the call, the argument, the value.
    ForbiddenArgument(String, String, String),
    /// It is not said where the value of an argument is from: the call, the argument.
    NoSource(String, String),
    /// The value of an argument cannot be from there: the call, the argument, why.
    WrongSource(String, String, &'static str),
    /// It does not contain what was planned: what is missing.
    NotPlanned(String),
}

impl BlueprintProblem {
    /// The kind of the problem, by which problems are counted.
    pub fn label(&self) -> &'static str {
        match self {
            BlueprintProblem::NoTurns | BlueprintProblem::NoGoal(_) => "incomplete",
            BlueprintProblem::TooLong(..) => "too long",
            BlueprintProblem::UnknownTool(_) => "unknown tool",
            BlueprintProblem::UnknownAgent(..) => "unknown agent",
            BlueprintProblem::UndeclaredArgument(..)
            | BlueprintProblem::NoRequiredArgument(..)
            | BlueprintProblem::ForbiddenArgument(..) => "invalid arguments",
            BlueprintProblem::NoSource(..) | BlueprintProblem::WrongSource(..) => "unknown source",
            BlueprintProblem::NotPlanned(_) => "not the planned gap",
        }
    }

    /// The problem as a message.
    pub fn reason(&self) -> String {
        match self {
            BlueprintProblem::NoTurns => "there are no turns".into(),
            BlueprintProblem::NoGoal(turn) => format!("turn {turn} has no goal"),
            BlueprintProblem::TooLong(turns, calls) => format!(
                "there are {turns} turns and {calls} calls, and at most {MAX_TURNS} turns and {MAX_CALLS} calls are allowed"
            ),
            BlueprintProblem::UnknownTool(call) => {
                format!("{call}: the agent does not declare this tool")
            }
            BlueprintProblem::UnknownAgent(call, agent) => {
                format!("{call}: no agent {agent} is declared")
            }
            BlueprintProblem::UndeclaredArgument(call, argument) => {
                format!("{call}: the tool does not declare {argument}")
            }
            BlueprintProblem::NoRequiredArgument(call, argument) => {
                format!("{call}: the required argument {argument} is missing")
            }
            BlueprintProblem::ForbiddenArgument(call, argument, value) => {
                format!("{call}: {argument} does not allow the value {value}")
            }
            BlueprintProblem::NoSource(call, argument) => {
                format!("{call}: \"from\" does not say where the value of {argument} is from")
            }
            BlueprintProblem::WrongSource(call, argument, why) => {
                format!("{call}: the source of {argument} is wrong: {why}")
            }
            BlueprintProblem::NotPlanned(missing) => missing.clone(),
        }
    }
}
