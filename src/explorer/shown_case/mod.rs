//! The lines of one case: expected and actual side by side, timeline, judges, metrics.

pub mod body;
pub mod body_data;
pub mod compare;
pub mod draw_lines;
pub mod fitted_verdict;
pub mod judged;
pub mod movement;
pub mod pieces;
pub mod preview;
pub mod refresh;
pub mod response_text;
pub mod strip;
pub mod tabs;
pub mod timeline;
pub mod title;
pub mod upper_border;
pub mod verdict;
pub mod view;
