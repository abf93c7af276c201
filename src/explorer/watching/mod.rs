//! Watch mode: cases that change are run again, and those that changed can be run with one key. A run that takes long or
//! may cost something is asked about first.

pub mod state;
mod update;

pub(crate) use update::{
    can_run_changed, can_watch, files_changed, found, on_run_started, run_changed, run_ended, run_refused,
    toggle,
};
