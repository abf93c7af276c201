//! Notes of the comparison: how calls of tools were answered, and what the model reported.

use super::lines::ComparisonLines;
use evaltrail_core::diff::{Span, Tone};
use evaltrail_core::domain::{Invocation, ToolUse};

/// How the calls of tools were answered, what is missing, and which stubs were not used.
pub(super) fn add_tool_use(out: &mut ComparisonLines, tool_use: &ToolUse) {
    out.note(&tool_use.counts().describe());
    for missing in &tool_use.missing {
        out.wide(&[Span::single_line(
            &format!("turn {}: {}", missing.turn, missing.why),
            Tone::Note,
        )]);
    }
    if !tool_use.unused.is_empty() {
        let unused: Vec<String> = tool_use.unused.iter().map(usize::to_string).collect();
        out.note(&format!(
            "lines of the stubs for this case that answered no call: {}",
            unused.join(", ")
        ));
    }
}

/// Adds the errors that the model reported.
pub(super) fn add_model_errors(out: &mut ComparisonLines, actual: Option<&Invocation>) {
    for error in actual.into_iter().flat_map(Invocation::model_errors) {
        out.wide(&[
            Span::single_line("the model reported  ", Tone::Faint),
            Span::single_line(&error.text(), Tone::Note),
        ]);
    }
}
