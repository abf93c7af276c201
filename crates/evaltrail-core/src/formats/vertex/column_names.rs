//! Names of columns that other tools use.

/// Columns of other tools by which a row is recognised.
pub(super) const TRIGGERS: &[&str] = &[
    "user_input",
    "input",
    "input_messages",
    "inputs",
    "item",
    "vars",
    "__expected",
];

/// Renamed columns of rows whose prompt is `input`.
pub(super) const INPUT: &[(&str, &str)] = &[
    ("input", "prompt"),
    ("input_messages", "prompt"),
    ("actual_output", "response"),
    ("output", "response"),
    ("expected_output", "reference"),
    ("expected_messages", "reference"),
    ("expected", "reference"),
    ("ideal", "reference"),
    ("target", "reference"),
];

/// Columns of what is expected and of what an agent did, which have one meaning whatever the prompt is called.
pub(super) const OUTCOMES: &[(&str, &str)] = &[
    ("actual_output", "response"),
    ("expected_output", "reference"),
    ("expected_response", "reference"),
    ("expected_answer", "reference"),
    ("tools_called", "predicted_trajectory"),
    ("actual_tool_calls", "predicted_trajectory"),
    ("actual_trajectory", "predicted_trajectory"),
    ("expected_tools", "reference_trajectory"),
    ("expected_tool_calls", "reference_trajectory"),
    ("expected_trajectory", "reference_trajectory"),
    ("reference_tool_calls", "reference_trajectory"),
];

/// The keys of a prompt in an object of inputs, the most telling first.
pub(super) const PROMPTS: &[&str] = &[
    "messages",
    "prompt",
    "input",
    "question",
    "query",
    "user_input",
    "user_query",
    "user_message",
    "message",
    "text",
];

/// The keys of an answer in an object of outputs, the most telling first.
pub(super) const ANSWERS: &[&str] = &[
    "messages",
    "reference",
    "ground_truth",
    "expected_output",
    "expected_response",
    "expected_answer",
    "expected",
    "answer",
    "output",
    "response",
    "correct_label",
    "ideal",
    "target",
    "label",
    "text",
    "content",
];

/// The keys of a list of calls in an object of outputs.
pub(super) const CALLS: &[&str] = &[
    "reference_trajectory",
    "predicted_trajectory",
    "expected_tool_calls",
    "expected_trajectory",
    "expected_tools",
    "expected_steps",
    "actual_steps",
    "tools_called",
    "output_tools",
    "tool_calls",
    "trajectory",
    "steps",
];

/// The assertions of promptfoo whose value is a reference.
pub(super) const REFERENCE_ASSERTS: &[&str] = &[
    "equals",
    "similar",
    "factuality",
    "rouge-n",
    "bleu",
    "gleu",
    "meteor",
    "levenshtein",
];
