//! The metrics of Vertex AI's evaluation service.

use super::metric_info::{
    BASE, BOTH_RESPONSES, BOTH_TRAJECTORIES, Build, Direction, Family, MetricInfo, Need,
    OptionInfo, computed, option,
};
use crate::metrics::text::{BleuMetric, ExactMatch, Rouge, RougeKind};
use crate::metrics::tool_call::{Aspect, ToolCallMetric};
use crate::metrics::vertex_trajectory::{Failure, Latency, SingleToolUse, TrajectoryComparison};

const VERTEX_DOCS: &str = "Vertex AI, Evaluate Gen AI agents";

const TRAJECTORY_CHOICES: &str = "Calls are equal when name and input are equal as JSON: numbers by value (3 is 3.0, \
     not \"3\"), true is not 1, null is not absent; the order of keys does not matter. A trajectory that is null is \
     unknown and not evaluated; [] is empty. Several turns: the mean.";

const fn comparison(
    name: &'static str,
    build: Build,
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
        build,
        ..BASE
    }
}

const fn rouge(name: &'static str, build: Build, definition: &'static str) -> MetricInfo {
    MetricInfo {
        name,
        family: Family::Vertex,
        summary: "overlap of the response with the reference (ROUGE, F measure)",
        definition,
        choices: "Words are runs of a-z and 0-9, lower-cased: other scripts have none and score 0. Two empty texts \
                  score 0. Sentences are lines; with split_summaries they are Unicode's (UAX 29), where rouge_score \
                  uses nltk's Punkt. \"running dogs\" against \"run dog\": 0, with use_stemmer 1.",
        needs: BOTH_RESPONSES,
        options: ROUGE_OPTIONS,
        source: "rouge_score 0.1.2, which the Vertex AI documentation points to",
        build,
        ..BASE
    }
}

const ROUGE_OPTIONS: &[OptionInfo] = &[
    option(
        "use_stemmer",
        "true or false",
        "false",
        "words of more than three letters are stemmed (Porter)",
    ),
    option(
        "split_summaries",
        "true or false",
        "false",
        "rouge_l_sum splits the text into sentences instead of lines",
    ),
];

const fn tool_call(
    name: &'static str,
    build: Build,
    summary: &'static str,
    definition: &'static str,
) -> MetricInfo {
    MetricInfo {
        name,
        family: Family::Vertex,
        summary,
        definition,
        choices: "Several calls in one response are compared by position. Values are equal as JSON (3 is 3.0), with \
                  use_strict_string_match as text. If the reference has no arguments, the names decide. If the agent \
                  ran and its text is no such JSON, the calls that it made are compared. {\"a\":1,\"b\":2} against \
                  {\"a\":1.0,\"c\":3}: keys 0.5, keys with values 0.5.",
        needs: BOTH_RESPONSES,
        options: TOOL_CALL_OPTIONS,
        source: "Vertex AI, tool use metrics",
        build,
        ..BASE
    }
}

const TOOL_CALL_OPTIONS: &[OptionInfo] = &[option(
    "use_strict_string_match",
    "true or false",
    "false",
    "values are compared as text",
)];

pub(super) const METRICS: &[MetricInfo] = &[
    comparison(
        "trajectory_exact_match",
        Build::Computed(|_| Ok(Box::new(TrajectoryComparison::Exact))),
        "whether the same calls were made in the same order",
        "1 when predicted and reference trajectory are the same calls in the same order, else 0.",
        TRAJECTORY_CHOICES,
    ),
    comparison(
        "trajectory_in_order_match",
        Build::Computed(|_| Ok(Box::new(TrajectoryComparison::InOrder))),
        "whether the reference calls came in order, others allowed",
        "1 when the reference is an ordered subsequence of the prediction, else 0.",
        "An empty reference is contained in everything: 1. Otherwise as trajectory_exact_match.",
    ),
    comparison(
        "trajectory_any_order_match",
        Build::Computed(|_| Ok(Box::new(TrajectoryComparison::AnyOrder))),
        "whether the reference calls came in any order, others allowed",
        "1 when all reference calls occur in the prediction, else 0.",
        "A repeated reference call needs as many predicted ones: A against A A is 0. An empty reference: 1. \
         Otherwise as trajectory_exact_match.",
    ),
    comparison(
        "trajectory_precision",
        Build::Computed(|_| Ok(Box::new(TrajectoryComparison::Precision))),
        "the share of calls made that are in the reference",
        "Predicted calls that also appear in the reference, by all predicted calls.",
        "Repeats each count: A A against A is 1.0; one-to-one pairing is trajectory_match_precision. Nothing \
         predicted: 0/0, not evaluated. Otherwise as trajectory_exact_match.",
    ),
    comparison(
        "trajectory_recall",
        Build::Computed(|_| Ok(Box::new(TrajectoryComparison::Recall))),
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
        options: &[option(
            "tool_name",
            "a tool's name",
            "the label",
            "which tool",
        )],
        source: VERTEX_DOCS,
        build: Build::Computed(|criterion| computed(SingleToolUse::new(criterion))),
        ..BASE
    },
    MetricInfo {
        name: "latency_in_seconds",
        family: Family::Vertex,
        summary: "how long the agent took",
        definition: "The wall time of the agent's work on the case.",
        choices: "With a threshold, at or below it passes. The file's latency_in_seconds column is used when saved \
                  responses are scored.",
        range: None,
        direction: Direction::Lower,
        source: VERTEX_DOCS,
        build: Build::Computed(|_| Ok(Box::new(Latency))),
        ..BASE
    },
    MetricInfo {
        name: "failure",
        family: Family::Vertex,
        summary: "whether the agent failed",
        definition: "1 when the call of the agent raised an exception, else 0.",
        choices: "With a threshold, at or below it passes: 0 allows no failure. The reason is stored, unlike in \
                  Vertex AI.",
        direction: Direction::Lower,
        source: VERTEX_DOCS,
        build: Build::Computed(|_| Ok(Box::new(Failure))),
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
        build: Build::Computed(|_| Ok(Box::new(ExactMatch))),
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
        build: Build::Computed(|criterion| computed(BleuMetric::new(criterion))),
        ..BASE
    },
    rouge(
        "rouge_1",
        Build::Computed(|criterion| computed(Rouge::new(RougeKind::N(1), criterion))),
        "Words in common.",
    ),
    rouge(
        "rouge_2",
        Build::Computed(|criterion| computed(Rouge::new(RougeKind::N(2), criterion))),
        "Pairs of neighbouring words in common.",
    ),
    rouge(
        "rouge_l",
        Build::Computed(|criterion| computed(Rouge::new(RougeKind::L, criterion))),
        "The longest common subsequence of words.",
    ),
    rouge(
        "rouge_l_sum",
        Build::Computed(|criterion| computed(Rouge::new(RougeKind::LSum, criterion))),
        "The union of the longest common subsequences, sentence by sentence.",
    ),
    tool_call(
        "tool_call_valid",
        Build::Computed(|criterion| computed(ToolCallMetric::new(Aspect::Valid, criterion))),
        "whether the answer is a valid tool call",
        "1 when the answer is JSON with a list tool_calls whose entries have a name and an object of arguments.",
    ),
    tool_call(
        "tool_name_match",
        Build::Computed(|criterion| computed(ToolCallMetric::new(Aspect::Name, criterion))),
        "whether the answer names the reference's tools",
        "1 when the names of the calls are those of the reference, else 0.",
    ),
    tool_call(
        "tool_parameter_key_match",
        Build::Computed(|criterion| computed(ToolCallMetric::new(Aspect::Keys, criterion))),
        "the share of the reference's arguments that the answer names",
        "Argument names of the reference that the answer's call of the same tool has, by all of them.",
    ),
    tool_call(
        "tool_parameter_kv_match",
        Build::Computed(|criterion| computed(ToolCallMetric::new(Aspect::Values, criterion))),
        "the share of the reference's arguments that the answer has with their values",
        "Arguments of the reference that the answer's call of the same tool has with the same value, by all of them.",
    ),
];
