//! All integration tests in one binary, so that it is linked once and its tests run in parallel. `cargo test --test
//! integration explorer::` runs those of one file.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod a2a_texts;
mod adk_results;
mod agents;
mod agents_init;
mod answer_forms;
mod any_input;
mod architecture;
mod author_cli;
mod authoring;
mod bigquery;
mod bisect;
mod bucket_attacks;
mod buckets;
mod causes;
mod check_self;
mod clocks;
mod command_texts;
mod common;
mod comparison;
mod conversations;
mod convert;
mod coverage;
mod crash;
mod datasets;
mod docs;
mod dotenv;
mod drafts;
mod edits;
mod endings;
mod explorer;
mod frames;
mod fuzz;
mod history;
mod hostile;
mod hostile_corpus;
mod judge_attacks;
mod judge_cache;
mod judge_details;
mod judge_spending;
mod judged;
mod judges;
mod keys;
mod laws;
mod layouts;
mod machines;
mod model_errors;
mod npm;
mod numbers;
mod opened_runs;
mod orders;
mod outputs;
mod own_files;
mod parity;
mod past_runs;
mod protocols;
mod pty;
mod pytest_plugin;
mod python_libraries;
mod queue;
mod real_adk;
mod real_agents;
mod real_authoring;
mod reported_cases;
mod run_records;
mod runs;
mod score;
mod secrets;
mod server_output;
mod setups;
mod shards;
mod stopped_workers;
mod stubs;
mod tables;
mod templates;
mod traces;
mod trends;
mod triage;
mod watch;
mod watchdog;
mod what_if;
mod written_drafts;
