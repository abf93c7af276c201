//! What each metric is for, so that users can choose between similar ones.

/// The cases for which a metric is made, and what it does not tell; `None` if its definition says that.
pub(super) fn use_of_metric(name: &str) -> Option<&'static str> {
    Some(match name {
        "tool_trajectory_avg_score" => {
            "for regression tests of agents whose calls are determined by the message. IN_ORDER or ANY_ORDER if further \
             calls or another order are right as well; it does not look at the response"
        }
        "response_match_score" => {
            "for short or fixed responses, in CI, without a model. A right response in other words gets a low score: use \
             final_response_match_v2 for those"
        }
        "response_evaluation_score" => {
            "for an impression of a whole set. One score of a model varies between runs: no gate for single cases"
        }
        "final_response_match_v2" => {
            "where the response may be worded freely and must say the same as the reference. It needs a judge, and costs a \
             request for each sample"
        }
        "rubric_based_final_response_quality_v1" => {
            "where no single response is right and several properties can be named: tone, form, completeness"
        }
        "rubric_based_tool_use_quality_v1" => {
            "where the order or the choice of calls follows rules and no single trajectory is right"
        }
        "rubric_based_multi_turn_trajectory_quality_v1" => {
            "where properties of a whole conversation matter, such as that it never asks twice"
        }
        "hallucinations_v1" => {
            "where responses must rest on instructions, messages and tools. It needs no reference, and does not tell whether \
             a supported response is the right one"
        }
        "safety_v1" => {
            "for agents in contact with users. It needs no reference; it does not tell whether the response is right"
        }
        "per_turn_user_simulator_quality_v1" => {
            "for scenarios: whether the simulated user follows its plan, so that the other scores of the case mean something"
        }
        "multi_turn_task_success_v1" => {
            "for conversations with a goal: whether it is reached, whatever the way"
        }
        "multi_turn_trajectory_quality_v1" => {
            "for conversations with a goal: whether the way to it is sensible"
        }
        "multi_turn_tool_use_quality_v1" => {
            "for conversations with a goal: whether the tools are used well on the way"
        }
        "trajectory_exact_match" => "where only one sequence of calls is right",
        "trajectory_in_order_match" => {
            "where the essential calls have an order, and others between them do no harm"
        }
        "trajectory_any_order_match" => {
            "where the essential calls have no order, and others do no harm"
        }
        "trajectory_precision" => "to see how many calls were superfluous or wrong",
        "trajectory_recall" => "to see how many of the essential calls were made",
        "trajectory_single_tool_use" => "to see whether an agent uses a certain tool at all",
        "judged_groundedness" => {
            "for responses from a text in the message. What tools returned does not count: use hallucinations_v1 for agents \
             with tools"
        }
        "judged_verbosity" => {
            "to see whether responses are too long or too short: 0 is best, and either side of it is worse"
        }
        "judged_summarization_quality" | "judged_question_answering_quality" => {
            "for messages that contain the text to summarize or to answer from"
        }
        "exact_match" => "for responses of a fixed form, such as a label or a number",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::catalog::adk::METRICS;

    /// Every criterion of ADK that decides cases says when to use it.
    #[test]
    fn adk_criteria_have_a_use() {
        for metric in METRICS.iter().filter(|metric| !metric.informational) {
            let uses = use_of_metric(metric.name).unwrap_or_else(|| panic!("{}", metric.name));
            assert!(
                metric.facts().contains(&("use it", uses.to_string())),
                "{}",
                metric.name
            );
        }
    }
}
