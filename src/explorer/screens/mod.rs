//! One folder for each screen: its state, its update and its view.

pub mod browse;
pub mod case;
pub mod chat;
pub mod edit;
pub mod run;

use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// What stands on a screen that has no room.
pub(crate) fn too_small(area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let (width, height) = crate::explorer::SMALLEST;
    let words = format!("too small: {width}×{height} is needed");
    put(buffer, area.x, area.y + area.height / 2, area.width, &words, theme.style(Role::Bad));
}

/// A metric's name without what is the same in all of them.
fn short_metric(name: &str) -> &str {
    match name {
        "tool_trajectory_avg_score" => "trajectory",
        "response_match_score" => "response",
        "trajectory_match" => "matched",
        "session_state_match" => "state",
        "trajectory_exact_match" => "exact",
        "final_response_match_v2" => "judged",
        "rubric_based_final_response_quality_v1" => "rubrics",
        "rubric_based_tool_use_quality_v1" => "tool rubrics",
        "rubric_based_multi_turn_trajectory_quality_v1" => "trail rubrics",
        "hallucinations_v1" => "supported",
        "per_turn_user_simulator_quality_v1" => "user",
        name => name.strip_suffix("_v1").or(name.strip_suffix("_v2")).unwrap_or(name),
    }
}
