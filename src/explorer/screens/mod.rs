//! Screens. Each has a folder with its view, what its keys do, and the state that only it has.
//!
//! To add a screen, add a folder with a type that implements [`Screen`](super::shared::model::Screen), and its line below.
//! A screen uses no other screen, no dialog and no command: it returns a [`ScreenRequest`](super::shared::effect::ScreenRequest).

pub mod browse;
pub mod case;
pub mod chat;
pub mod comparison;
pub mod edit;
pub mod live;
pub mod queue;
pub mod run;
pub mod runs;
pub mod trends;
