//! The tools that are known, for the completion of what is typed.

use crate::domain::ToolCall;
use std::collections::{BTreeMap, BTreeSet};

/// The known tools, each with the names of its arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tools(pub BTreeMap<String, BTreeSet<String>>);

impl Tools {
    /// Adds the tool and the arguments of a call.
    pub fn see(&mut self, call: &ToolCall) {
        let known = self.0.entry(call.name.clone()).or_default();
        known.extend(call.args.iter().flat_map(|args| args.keys().cloned()));
    }

    /// Adds a tool that an agent declares.
    pub fn declare(&mut self, name: String, args: Vec<String>) {
        self.0.entry(name).or_default().extend(args);
    }
}
