//! The one table of metrics: what each is called, needs, says and means. `evaltrail metrics`, the
//! explorer's screen of metrics and the registry all read it.

use super::efficiency::Cost;
use super::matched::Reading;
use super::text::RougeKind;
use super::tool_call::Aspect;
use super::vertex_trajectory::Comparison;

/// What a metric is and needs.
#[derive(Clone, Copy, Debug)]
pub struct MetricInfo {
    /// The name, as its family defines it.
    pub name: &'static str,
    /// Whose definition it is.
    pub family: Family,
    /// What it says, in a sentence.
    pub summary: &'static str,
    /// How it is computed.
    pub definition: &'static str,
    /// What we chose where the definition is silent, with an example; empty where it is not.
    pub choices: &'static str,
    /// What must be there.
    pub needs: &'static [Need],
    /// Lowest and highest score, where there are bounds.
    pub range: Option<(f64, f64)>,
    /// Which scores are better.
    pub direction: Direction,
    /// Its options beside the threshold.
    pub options: &'static [OptionInfo],
    /// Where the definition is from.
    pub source: &'static str,
    /// How it is computed here.
    pub(super) kind: Kind,
}

/// Whose definition a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Google's ADK.
    Adk,
    /// Vertex AI's evaluation service.
    Vertex,
    /// evaltrail's own.
    Own,
}

impl Family {
    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            Family::Adk => "ADK",
            Family::Vertex => "Vertex AI",
            Family::Own => "evaltrail",
        }
    }
}

/// What a metric needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The calls that are expected.
    ReferenceTrajectory,
    /// The response that is expected.
    ReferenceResponse,
    /// The calls that were made.
    Trajectory,
    /// What was said.
    Response,
    /// Recorded events.
    Events,
    /// The session's state afterwards.
    State,
    /// Rubrics.
    Rubrics,
    /// A judge model.
    Judge,
    /// Google's service.
    Cloud,
}

impl Need {
    /// The words for people.
    pub fn label(self) -> &'static str {
        match self {
            Need::ReferenceTrajectory => "reference trajectory",
            Need::ReferenceResponse => "reference response",
            Need::Trajectory => "trajectory",
            Need::Response => "response",
            Need::Events => "events",
            Need::State => "session state",
            Need::Rubrics => "rubrics",
            Need::Judge => "judge model",
            Need::Cloud => "Vertex AI",
        }
    }
}

/// Which scores are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// At or above the threshold passes.
    Higher,
    /// At or below the threshold passes.
    Lower,
}

/// An option of a metric.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// Its name; camelCase works too.
    pub name: &'static str,
    /// What it takes.
    pub takes: &'static str,
    /// What it is when it is not given.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    AdkTrajectory,
    ResponseMatch,
    Cost(Cost),
    Comparison(Comparison),
    SingleToolUse,
    Latency,
    Failure,
    ExactMatch,
    Bleu,
    Rouge(RougeKind),
    ToolCall(Aspect),
    Matched(Reading),
    State,
    Judge,
    Vertex,
}

const UNIT: Option<(f64, f64)> = Some((0.0, 1.0));
const BOTH_TRAJECTORIES: &[Need] = &[Need::ReferenceTrajectory, Need::Trajectory];
const BOTH_RESPONSES: &[Need] = &[Need::ReferenceResponse, Need::Response];
const VERTEX_DOCS: &str = "Vertex AI, Evaluate Gen AI agents";

const BASE: MetricInfo = MetricInfo {
    name: "",
    family: Family::Adk,
    summary: "",
    definition: "",
    choices: "",
    needs: &[],
    range: UNIT,
    direction: Direction::Higher,
    options: &[],
    source: "google-adk 2.13.0",
    kind: Kind::Judge,
};

const fn option(
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    help: &'static str,
) -> OptionInfo {
    OptionInfo { name, takes, default, help }
}

const fn judged(name: &'static str, summary: &'static str, needs: &'static [Need]) -> MetricInfo {
    MetricInfo { name, summary, needs, definition: "A judge model decides; this version asks none.", ..BASE }
}

const fn cloud(name: &'static str, summary: &'static str, range: Option<(f64, f64)>) -> MetricInfo {
    MetricInfo {
        name,
        summary,
        range,
        kind: Kind::Vertex,
        needs: &[Need::Cloud],
        definition: "Google's service decides; this version does not ask it.",
        ..BASE
    }
}

const fn cost(name: &'static str, kind: Cost, summary: &'static str, definition: &'static str) -> MetricInfo {
    MetricInfo {
        name,
        summary,
        definition,
        kind: Kind::Cost(kind),
        range: None,
        direction: Direction::Lower,
        needs: &[Need::Events],
        choices: "Informational: it takes no threshold, as in ADK.",
        ..BASE
    }
}

const TRAJECTORY_CHOICES: &str = "Calls are equal when name and input are, as JSON: numbers by value (3 is 3.0, not \"3\"), true is not 1, \
     null is not absent, key order is free. A trajectory that is null is unknown and not evaluated; [] is empty. \
     Several turns: the mean.";

const fn comparison(
    name: &'static str,
    kind: Comparison,
    summary: &'static str,
    definition: &'static str,
    choices: &'static str,
) -> MetricInfo {
    MetricInfo {
        name,
        family: Family::Vertex,
        summary,
        definition,
        choices,
        needs: BOTH_TRAJECTORIES,
        source: VERTEX_DOCS,
        kind: Kind::Comparison(kind),
        ..BASE
    }
}

const fn rouge(name: &'static str, kind: RougeKind, definition: &'static str) -> MetricInfo {
    MetricInfo {
        name,
        family: Family::Vertex,
        summary: "overlap of the response with the reference (ROUGE, F measure)",
        definition,
        choices: "Words are runs of a-z and 0-9, lower-cased: other scripts have none and score 0. Two empty texts \
                  score 0. Sentences are lines; with split_summaries they are Unicode's (UAX 29), where rouge_score \
                  asks nltk's Punkt. \"running dogs\" against \"run dog\": 0, with use_stemmer 1.",
        needs: BOTH_RESPONSES,
        options: ROUGE_OPTIONS,
        source: "rouge_score 0.1.2, which the Vertex AI documentation points to",
        kind: Kind::Rouge(kind),
        ..BASE
    }
}

const ROUGE_OPTIONS: &[OptionInfo] = &[
    option("use_stemmer", "true or false", "false", "words of more than three letters are stemmed (Porter)"),
    option(
        "split_summaries",
        "true or false",
        "false",
        "rouge_l_sum finds sentences itself instead of taking lines",
    ),
];

const fn tool_call(
    name: &'static str,
    aspect: Aspect,
    summary: &'static str,
    definition: &'static str,
) -> MetricInfo {
    MetricInfo {
        name,
        family: Family::Vertex,
        summary,
        definition,
        choices: "Several calls in one answer are compared by position. Values are equal as JSON (3 is 3.0), with \
                  use_strict_string_match as texts. A reference without arguments: the names decide. An agent that \
                  ran answers with the calls it made when its text is no such JSON. {\"a\":1,\"b\":2} against \
                  {\"a\":1.0,\"c\":3}: keys 0.5, keys with values 0.5.",
        needs: BOTH_RESPONSES,
        options: TOOL_CALL_OPTIONS,
        source: "Vertex AI, tool use metrics",
        kind: Kind::ToolCall(aspect),
        ..BASE
    }
}

const TOOL_CALL_OPTIONS: &[OptionInfo] =
    &[option("use_strict_string_match", "true or false", "false", "values are compared as texts")];

const NAMES: OptionInfo = option("ignore_args", "true or false", "false", "names alone count");
const OWN_OPTIONS: &[OptionInfo] = &[NAMES, RULES];
const RULES: OptionInfo = option(
    "[[match]]",
    "rules in evaltrail.toml",
    "none",
    "how arguments are compared, which calls may or must not come",
);

const fn own(
    name: &'static str,
    reading: Reading,
    summary: &'static str,
    definition: &'static str,
) -> MetricInfo {
    MetricInfo {
        name,
        family: Family::Own,
        summary,
        definition,
        choices: "Pairs are one to one and as many as can be: A A made against A expected has precision 0.5 and \
                  recall 1. Nothing expected and nothing made scores 1. Optional calls that stay away are not \
                  missed. Arguments are equal as in ADK (1 is 1.0 and true).",
        needs: BOTH_TRAJECTORIES,
        options: OWN_OPTIONS,
        source: "evaltrail",
        kind: Kind::Matched(reading),
        ..BASE
    }
}

/// Every metric there is: ADK's in its order, Vertex's, ours.
pub const METRICS: &[MetricInfo] = &[
    MetricInfo {
        name: "tool_trajectory_avg_score",
        summary: "the share of turns whose tool calls match the expected ones",
        definition: "1 for a turn whose calls match under match_type, else 0; the mean over turns. EXACT: the same \
                     calls, order and number. IN_ORDER: the expected calls as a subsequence. ANY_ORDER: each \
                     expected call has one of its own.",
        choices: "Equality is Python's: 1 == 1.0 == true. A file that names no calls expects none, as in ADK.",
        needs: BOTH_TRAJECTORIES,
        options: &[
            option(
                "match_type",
                "EXACT, IN_ORDER, ANY_ORDER or 0, 1, 2",
                "EXACT",
                "how the two lists are compared",
            ),
            NAMES,
        ],
        kind: Kind::AdkTrajectory,
        ..BASE
    },
    cloud("response_evaluation_score", "coherence, as Vertex AI judges it", Some((1.0, 5.0))),
    MetricInfo {
        name: "response_match_score",
        summary: "word overlap with the reference (ROUGE-1 F)",
        definition: "The harmonic mean of the shares of words that response and reference have in common, stemmed, \
                     letters of all scripts; the mean over turns.",
        choices: "Two empty responses score 0, as in ADK. Thoughts in the response count, as in ADK.",
        needs: BOTH_RESPONSES,
        kind: Kind::ResponseMatch,
        ..BASE
    },
    cloud("safety_v1", "safety, as Vertex AI judges it", UNIT),
    cloud("multi_turn_task_success_v1", "task success over the conversation, as Vertex AI judges it", UNIT),
    cloud(
        "multi_turn_trajectory_quality_v1",
        "trajectory quality over the conversation, as Vertex AI judges it",
        UNIT,
    ),
    cloud("multi_turn_tool_use_quality_v1", "tool use over the conversation, as Vertex AI judges it", UNIT),
    judged(
        "final_response_match_v2",
        "a judge's verdict on whether the response agrees with the reference",
        &[Need::ReferenceResponse, Need::Response, Need::Judge],
    ),
    judged(
        "rubric_based_final_response_quality_v1",
        "the share of response rubrics that a judge says yes to",
        &[Need::Rubrics, Need::Response, Need::Judge],
    ),
    judged(
        "hallucinations_v1",
        "the share of sentences that a judge finds supported",
        &[Need::Events, Need::Judge],
    ),
    judged(
        "rubric_based_tool_use_quality_v1",
        "the share of tool use rubrics that a judge says yes to",
        &[Need::Rubrics, Need::Trajectory, Need::Judge],
    ),
    judged(
        "per_turn_user_simulator_quality_v1",
        "whether the simulated user keeps to its plan",
        &[Need::Judge],
    ),
    judged(
        "rubric_based_multi_turn_trajectory_quality_v1",
        "the share of trajectory rubrics that a judge says yes to",
        &[Need::Rubrics, Need::Events, Need::Judge],
    ),
    cost(
        "tool_call_count_v1",
        Cost::ToolCalls,
        "tool calls a turn",
        "The mean number of tool calls in a turn.",
    ),
    cost(
        "inference_call_count_v1",
        Cost::ModelCalls,
        "model calls a turn",
        "The mean number of events with token counts or a model's version.",
    ),
    cost(
        "token_usage_v1",
        Cost::Tokens,
        "tokens a turn",
        "Input and output tokens of a turn, the mean over all turns.",
    ),
    cost(
        "invocation_duration_v1",
        Cost::Seconds,
        "seconds a turn",
        "The mean time of a turn, to the millisecond.",
    ),
    comparison(
        "trajectory_exact_match",
        Comparison::Exact,
        "whether the same calls were made in the same order",
        "1 when predicted and reference trajectory are the same calls in the same order, else 0.",
        TRAJECTORY_CHOICES,
    ),
    comparison(
        "trajectory_in_order_match",
        Comparison::InOrder,
        "whether the reference calls came in order, others allowed",
        "1 when the reference is an ordered subsequence of the prediction, else 0.",
        "An empty reference is contained in everything: 1. Otherwise as trajectory_exact_match.",
    ),
    comparison(
        "trajectory_any_order_match",
        Comparison::AnyOrder,
        "whether the reference calls came in any order, others allowed",
        "1 when all reference calls occur in the prediction, else 0.",
        "A repeated reference call needs as many predicted ones: A against A A is 0. An empty reference: 1. \
         Otherwise as trajectory_exact_match.",
    ),
    comparison(
        "trajectory_precision",
        Comparison::Precision,
        "the share of calls made that are in the reference",
        "Predicted calls that also appear in the reference, by all predicted calls.",
        "Repeats each count: A A against A is 1.0; one-to-one pairing is trajectory_match_precision. Nothing \
         predicted: 0/0, not evaluated. Otherwise as trajectory_exact_match.",
    ),
    comparison(
        "trajectory_recall",
        Comparison::Recall,
        "the share of reference calls that were made",
        "Reference calls that also appear in the prediction, by all reference calls.",
        "Repeats each count: A against A A is 1.0; one-to-one pairing is trajectory_match_recall. An empty \
         reference: 0/0, not evaluated. Otherwise as trajectory_exact_match.",
    ),
    MetricInfo {
        name: "trajectory_single_tool_use",
        family: Family::Vertex,
        summary: "whether a tool was called",
        definition: "1 when a call of the tool is in the prediction, else 0; number, order and arguments do not count.",
        choices: "Use it several times with labels, trajectory_single_tool_use:NAME; without tool_name the label is \
                  the tool. Several turns: the mean.",
        needs: &[Need::Trajectory],
        options: &[option("tool_name", "a tool's name", "the label", "which tool")],
        source: VERTEX_DOCS,
        kind: Kind::SingleToolUse,
        ..BASE
    },
    MetricInfo {
        name: "latency_in_seconds",
        family: Family::Vertex,
        summary: "how long the agent took",
        definition: "The wall time of the agent's work on the case.",
        choices: "With a threshold, at or below it passes. A file's own latency_in_seconds column is taken when saved \
                  responses are scored.",
        range: None,
        direction: Direction::Lower,
        source: VERTEX_DOCS,
        kind: Kind::Latency,
        ..BASE
    },
    MetricInfo {
        name: "failure",
        family: Family::Vertex,
        summary: "whether the agent failed",
        definition: "1 when the agent's call raised, else 0.",
        choices: "With a threshold, at or below it passes: 0 wants no failure. Why it failed is kept, which Vertex loses.",
        direction: Direction::Lower,
        source: VERTEX_DOCS,
        kind: Kind::Failure,
        ..BASE
    },
    MetricInfo {
        name: "exact_match",
        family: Family::Vertex,
        summary: "whether the response is the reference",
        definition: "1 when the two texts are equal, else 0.",
        choices: "Every character counts, blanks and case too: \"Done\" against \"Done \" is 0.",
        needs: BOTH_RESPONSES,
        source: "Vertex AI, computation-based metrics",
        kind: Kind::ExactMatch,
        ..BASE
    },
    MetricInfo {
        name: "bleu",
        family: Family::Vertex,
        summary: "overlap of runs of up to four words (sentence BLEU)",
        definition: "sacrebleu's sentence BLEU: tokeniser 13a, case kept, exponential smoothing, brevity penalty; \
                     divided by 100.",
        choices: "A response of fewer than four words scores 0 unless use_effective_order is on.",
        needs: BOTH_RESPONSES,
        options: &[option(
            "use_effective_order",
            "true or false",
            "false",
            "stop at the longest run of words that the response has",
        )],
        source: "sacrebleu 2.6.0, which the Vertex AI documentation points to",
        kind: Kind::Bleu,
        ..BASE
    },
    rouge("rouge_1", RougeKind::N(1), "Words in common."),
    rouge("rouge_2", RougeKind::N(2), "Pairs of neighbouring words in common."),
    rouge("rouge_l", RougeKind::L, "The longest common subsequence of words."),
    rouge(
        "rouge_l_sum",
        RougeKind::LSum,
        "The union of the longest common subsequences, sentence by sentence.",
    ),
    tool_call(
        "tool_call_valid",
        Aspect::Valid,
        "whether the answer is a valid tool call",
        "1 when the answer is JSON with a list tool_calls whose entries have a name and an object of arguments.",
    ),
    tool_call(
        "tool_name_match",
        Aspect::Name,
        "whether the answer names the reference's tools",
        "1 when the names of the calls are those of the reference, else 0.",
    ),
    tool_call(
        "tool_parameter_key_match",
        Aspect::Keys,
        "the share of the reference's arguments that the answer names",
        "Argument names of the reference that the answer's call of the same tool has, by all of them.",
    ),
    tool_call(
        "tool_parameter_kv_match",
        Aspect::Values,
        "the share of the reference's arguments that the answer has with their values",
        "Arguments of the reference that the answer's call of the same tool has with the same value, by all of them.",
    ),
    MetricInfo {
        options: &[
            option(
                "mode",
                "strict, in_order, unordered, subset or superset",
                "strict",
                "when two trajectories match",
            ),
            NAMES,
            RULES,
        ],
        ..own(
            "trajectory_match",
            Reading::Match,
            "the share of turns whose calls match under the rules of [[match]]",
            "1 for a turn whose calls match under the mode, else 0; the mean over turns. strict: the same calls in \
             order. in_order: as a subsequence. unordered: the same calls in any order. subset: nothing but expected \
             calls. superset: all expected calls, others allowed. Forbidden tools and counts out of bounds: 0.",
        )
    },
    own(
        "trajectory_match_precision",
        Reading::Precision,
        "the share of calls made that answer an expected one of their own",
        "Pairs by calls made, the mean over turns.",
    ),
    own(
        "trajectory_match_recall",
        Reading::Recall,
        "the share of expected calls that have one of their own",
        "Pairs by calls expected, the mean over turns.",
    ),
    own(
        "trajectory_match_f1",
        Reading::F1,
        "the harmonic mean of trajectory_match_precision and trajectory_match_recall",
        "2PR / (P + R) in each turn, the mean over turns.",
    ),
    MetricInfo {
        name: "session_state_match",
        family: Family::Own,
        summary: "whether the session's state ends as final_session_state says",
        definition: "1 when the state is equal (exact) or holds all that is expected (subset), else 0.",
        choices: "ADK declares final_session_state and never compares it. An empty one counts as none.",
        needs: &[Need::State],
        options: &[option(
            "mode",
            "exact or subset",
            "exact",
            "whether more than the expected state may be there",
        )],
        source: "evaltrail",
        kind: Kind::State,
        ..BASE
    },
];
