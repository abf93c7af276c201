//! What evaltrail knows about evaluations of agents without running anything: eval sets are read and edited, expected and
//! actual trajectories are aligned, scored and explained, and conclusions are drawn from results.
//!
//! There is no I/O, no clock and no randomness in this crate. The modules are layers: each may import those above it in
//! this list, never those below. The test `tests/integration/architecture` checks the imports.
//!
//! | module | purpose |
//! |---|---|
//! | [`domain`] | plain data: eval set, case, invocation, criterion, score, run |
//! | [`diff`] | alignment of calls, differences of values and texts, rows |
//! | [`metrics`] | (expected, actual, criterion) → score with an explanation |
//! | [`analysis`] | conclusions from results: groups of failures, comparison of runs |
//! | [`formats`] | bytes ⇄ domain |
//!
//! # Examples
//!
//! A case is read, and what an agent did is scored against it and explained:
//!
//! ```
//! use evaltrail_core::domain::{Criterion, Invocation, Status, ToolCall, Trajectory};
//! use evaltrail_core::formats::SetFile;
//! use evaltrail_core::metrics::{Evidence, score};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let set = json!({"eval_set_id": "lights", "eval_cases": [{"eval_id": "dim", "conversation": [{
//!     "user_content": {"role": "user", "parts": [{"text": "dim the lamp"}]},
//!     "intermediate_data": {"tool_uses": [{"name": "set_light", "args": {"level": 20}}]},
//! }]}]});
//! let set = SetFile::open(set.to_string().into(), "lights")?;
//! let expected = set.case(0)?.turns().to_vec();
//!
//! let args = json!({"level": 50}).as_object().cloned();
//! let actual = [Invocation {
//!     trajectory: Trajectory::Listed {
//!         calls: vec![ToolCall::new("set_light", args)],
//!         responses: vec![],
//!         texts: vec![],
//!     },
//!     ..expected[0].clone()
//! }];
//! let criterion = Criterion::new("tool_trajectory_avg_score", Some(1.0));
//! let result = score(&criterion, &Evidence::turns(Some(&expected), &actual));
//! assert_eq!((result.status, result.score()), (Status::Failed, Some(0.0)));
//! assert!(result.explanation.contains("set_light.level: expected 20, got 50"));
//! # Ok(())
//! # }
//! ```
//!
//! An edit changes only the bytes of what it is about:
//!
//! ```
//! use evaltrail_core::formats::{Edit, SetFile, plan};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = r#"{ "eval_set_id":"s", "eval_cases":[ {"eval_id": "a", "conversation": []} ] }"#;
//! let set = SetFile::open(text.into(), "s")?;
//! let change = plan(&set, &[Edit::Remove(vec![0])])?;
//! let edited = change.apply(text);
//! assert_eq!(edited.as_deref(), Some(r#"{ "eval_set_id":"s", "eval_cases":[] }"#));
//! # Ok(())
//! # }
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::unwrap_used))]

pub mod domain;

pub mod diff;

pub mod metrics;

pub mod analysis;

pub mod formats;
