//! The times of the events of a turn.

use super::OnEvent;
use crate::process::clock::Stopwatch;
use evaltrail_core::formats::adk::Event;

/// Passes events on, each with the seconds since this call, which begins the turn.
pub(super) fn with_times(on_event: OnEvent<'_>) -> impl FnMut(Event) + Send {
    let began = Stopwatch::start();
    move |event: Event| {
        on_event(Event {
            at: Some(began.elapsed().as_secs_f64()),
            ..event
        })
    }
}
