//! For which sets the triage queue changes criteria.

use crate::explorer::shared::model::Model;
use evaltrail_core::domain::counted;
use evaltrail_core::metrics::WhatIf;
use std::collections::BTreeSet;
use std::path::Path;

impl Model {
    /// The files that a change of criteria is written to at the end of the triage, as text: the rules of the workspace, or the
    /// criteria of all sets in the folders of the queue's cases.
    pub(crate) fn changed_criteria_text(&self, change: &WhatIf) -> String {
        let criteria = match self.sets_in_queue_folders().len() {
            _ if change.has_only_rules() => return "rules of all sets".into(),
            ..2 => "criteria".into(),
            count => format!("criteria of {}", counted(count, "set")),
        };
        match change.rules.is_empty() {
            true => criteria,
            false => format!("{criteria}, rules of all sets"),
        }
    }

    /// The sets in the folders of the queue's cases. The sets of a folder share their criteria.
    pub(crate) fn sets_in_queue_folders(&self) -> BTreeSet<usize> {
        let folder = |set: usize| self.view.sets[set].path.path.parent();
        let cases = self.queue.iter().flat_map(|queue| queue.cases());
        let sets: BTreeSet<usize> = cases.map(|case| case.set).collect();
        let folders: BTreeSet<Option<&Path>> = sets.into_iter().map(folder).collect();
        let sets = 0..self.view.sets.len();
        sets.filter(|set| folders.contains(&folder(*set))).collect()
    }
}
