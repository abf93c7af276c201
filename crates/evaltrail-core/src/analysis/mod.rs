//! Conclusions from results. Pure.
//!
//! ```text
//! causes of each failure ──group──▶ groups of failures that share one, and the failures alone
//! two runs ───────────────compare──▶ what became of each case, each metric, and whether it is more than noise
//! several attempts ───────repeats──▶ pass rate with an interval, pass@k and pass^k, flaky cases
//! causes over the runs ───cause_history─▶ which are new, came back, go on, or are gone
//! what agents report ─────setup──▶ which model, instruction or tool differs between two runs
//! outcomes of a case ─────trends───▶ since which run it does not pass
//! people and a judge ─────calibration─▶ how often the judge is right, and pass rates corrected for its errors
//! attempts by commit ─────bisection─▶ from which commit on cases pass less often
//! cases and attempts ─────coverage─▶ which tools are expected and called, with which arguments
//! cases and criteria ────expectation_check─▶ cases that cannot be passed, that are too weak, and that contradict each other
//! cases ─────────────────mutations─▶ new cases that are derived from them
//! gaps of the coverage ─generation─▶ plans of new cases, prompts for a model, checks of its replies
//! ```

mod bisection;
mod calibration;
mod cause_history;
mod compare;
mod coverage;
mod evidence;
mod expectation_check;
mod generation;
mod groups;
mod mutations;
mod pass_rate;
mod pass_table;
mod permutation;
mod repeats;
mod setup;
mod statistics;
mod stratified;
mod sum_of_counts;
mod trends;

pub use bisection::{Bisection, BisectionVerdict, ChangePosterior};
pub use calibration::{Calibration, CalibrationVerdict, CorrectedRate, LEAST_RATE};
pub use cause_history::{
    CauseCount, CauseHistory, CauseHistoryBuilder, CauseState, CauseTrend, ObservedCase,
    ObservedFile,
};
pub use compare::{
    CaseChange, ChangedCondition, ComparedCase, ComparedCounts, ComparedMetric, OutcomeTest,
    OverallChange, RateChange, RunComparison, RunConditions, RunToCompare, ScoreTest,
    compare_counts, compare_runs, expectation_in_file, expectation_of, p_text,
};
pub use coverage::{
    Addition, AgentCoverage, ArgumentClass, ArgumentCoverage, Assertion, BestAdditions,
    CallOutcome, CandidateCase, CaseSet, CasesByColumn, Coverage, CoverageCollector,
    CoverageFinding, CoverageGates, CoverageItem, CoverageProblem, CoverageShare, CoveredAgent,
    CoveredCase, Declarations, GateFailure, MAX_COUNTED_VALUES, PairCoverage, Parameter,
    SchemaKnowledge, StateCoverage, ToolCoverage, ToolSchema, WaivedTools,
};
pub use evidence::{ChangeEvidence, ComparisonRule, DEFAULT_LEVEL};
pub use expectation_check::{ExpectationFault, ExpectationFaults, check_expectations};
pub use generation::{
    ArgumentSource, Blueprint, BlueprintCall, BlueprintProblem, BlueprintTurn, KnownConversations,
    PlanFocus, PlanRequest, PlannedDraft, PlannedGap, PromptContext, UserPersona, WordingProblem,
    blueprint_prompt, check_blueprint, check_wording, classify_draft, declaration_json,
    generated_case, parse_blueprint, parse_wording, plan_cases, repair_prompt, wording_prompt,
};
pub use groups::{FailureGroup, FailureGroups, group_failures};
pub use mutations::{MutatedCase, MutationKind, MutationRequest, PROVENANCE_KEY, mutated_cases};
pub use pass_rate::{PassRateCollector, pass_rate};
pub use pass_table::PassTable;
pub use repeats::{
    PassCount, RepeatedPass, RepeatedPasses, count_of, repeated_passes, wilson_interval,
};
pub use setup::{RunSetup, SetupChanges, declaration_changes};
pub use trends::{CasePoint, FailingSince, block, failing_since};
