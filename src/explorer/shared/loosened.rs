//! Which criteria a change of a triage is about.

use crate::explorer::shared::model::Model;
use evaltrail_core::domain::counted;
use evaltrail_core::metrics::WhatIf;
use std::collections::BTreeSet;
use std::path::Path;

impl Model {
    /// What a change of criteria would change if it were written at the end of the triage: the rules of the workspace, or the
    /// criteria of all sets in the folders of the queue's cases.
    pub(crate) fn loosened_text(&self, change: &WhatIf) -> String {
        let without_rules = WhatIf {
            rules: Vec::new(),
            ..change.clone()
        };
        let criteria = match self.sets_beside_queue() {
            _ if without_rules.is_empty() => return "rules of all sets".into(),
            ..2 => "criteria".into(),
            count => format!("criteria of {}", counted(count, "set")),
        };
        match change.rules.is_empty() {
            true => criteria,
            false => format!("{criteria}, rules of all sets"),
        }
    }

    /// The number of sets in the folders of the queue's cases: sets in a folder share their criteria.
    fn sets_beside_queue(&self) -> usize {
        let folder = |set: usize| self.view.sets[set].path.path.parent();
        let sets: BTreeSet<usize> = self
            .queue
            .iter()
            .flat_map(|queue| queue.cases().map(|case| case.set))
            .collect();
        let folders: BTreeSet<Option<&Path>> = sets.into_iter().map(folder).collect();
        let is_beside = |set: &usize| folders.contains(&folder(*set));
        (0..self.view.sets.len()).filter(is_beside).count()
    }
}
