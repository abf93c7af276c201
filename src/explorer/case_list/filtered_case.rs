//! A case as the filter reads it.

use crate::explorer::case_list::decisions::quarantine_of;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::CaseOutcome;
use crate::explorer::shared::set_view::CaseSummary;
use evaltrail_core::domain::{Cause, Filterable, MetricSummary, Status, causes_of_worst_attempt};
use evaltrail_core::formats::SetFile;
use std::borrow::Cow;

/// A case of a file that was read.
pub(crate) struct ListedCase<'a> {
    pub(crate) model: &'a Model,
    pub(crate) file: &'a SetFile,
    pub(crate) case: CaseRef,
}

impl<'a> ListedCase<'a> {
    fn summary(&self) -> Option<&'a CaseSummary> {
        self.model.view.sets[self.case.set]
            .summaries
            .as_ref()?
            .get(self.case.index)
    }

    fn outcome(&self) -> Option<&'a CaseOutcome> {
        self.model.view.outcomes.get(self.case)
    }
}

impl Filterable for ListedCase<'_> {
    fn eval_id(&self) -> Cow<'_, str> {
        self.file.eval_id(self.case.index)
    }
    fn set(&self) -> &str {
        &self.model.view.sets[self.case.set].path.stem
    }
    fn agent(&self) -> &str {
        self.model.view.sets[self.case.set]
            .agent
            .as_deref()
            .unwrap_or_default()
    }
    fn turns(&self) -> usize {
        self.summary().map_or(0, |summary| summary.turns)
    }
    fn text(&self) -> &str {
        self.summary().map_or("", |summary| summary.text.as_str())
    }
    fn tools(&self) -> &[String] {
        self.summary()
            .map_or(&[], |summary| summary.tools.as_slice())
    }
    fn tags(&self) -> &[String] {
        self.model
            .notes(self.case)
            .map_or(&[], |notes| notes.tags.as_slice())
    }
    fn status(&self) -> Option<Status> {
        self.outcome().map(|outcome| outcome.worst)
    }
    fn is_unsteady(&self) -> bool {
        self.outcome().is_some_and(|outcome| outcome.unsteady)
    }
    fn is_flaky(&self) -> bool {
        self.outcome().is_some_and(|outcome| outcome.is_flaky)
    }
    fn is_quarantined(&self) -> bool {
        quarantine_of(self.model, self.case).is_some()
    }
    fn metrics(&self) -> &[MetricSummary] {
        let first = self.outcome().and_then(|outcome| outcome.attempts.first());
        first.map_or(&[], |attempt| attempt.metrics.as_slice())
    }
    fn causes(&self) -> &[Cause] {
        self.outcome()
            .and_then(|outcome| causes_of_worst_attempt(&outcome.attempts))
            .unwrap_or_default()
    }
}
