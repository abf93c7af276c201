//! What is around the screens: routing of messages, header, footer, help and palette.

pub mod draw;
pub mod edits;
pub mod footer;
pub mod header;
pub mod help;
pub mod key_popup;
pub mod palette;
mod requests;
pub mod update;
