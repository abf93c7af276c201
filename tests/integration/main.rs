//! All integration tests in one binary, so that it is linked once and its tests run in parallel. `cargo test --test
//! integration explorer::` runs those of one file.

mod agents;
mod answer_forms;
mod any_input;
mod architecture;
mod author_cli;
mod authoring;
mod common;
mod convert;
mod crash;
mod datasets;
mod docs;
mod dotenv;
mod edits;
mod endings;
mod explorer;
mod frames;
mod fuzz;
mod history;
mod hostile;
mod hostile_corpus;
mod judge_attacks;
mod judged;
mod judges;
mod keys;
mod laws;
mod orders;
mod parity;
mod pty;
mod real_adk;
mod real_authoring;
mod run_records;
mod runs;
mod score;
mod trial;
mod triage;
