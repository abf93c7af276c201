//! What a person says of an attempt's verdicts.

use crate::domain::{Attempt, HumanVerdict, MetricResult};
use tui_input::Input;

/// A person's verdicts on an attempt, being given.
#[derive(Debug)]
pub struct Opinions {
    /// What can be said something of: the metrics, and their rubrics.
    pub items: Vec<Opinion>,
    /// The cursor.
    pub cursor: usize,
}

/// A person's verdict on a metric or rubric, being given.
#[derive(Debug)]
pub struct Opinion {
    /// What it is about, with what was computed.
    pub about: HumanVerdict,
    /// The verdict so far.
    pub verdict: Option<bool>,
    /// The note so far.
    pub note: Input,
}

impl Opinion {
    /// The verdict as it would be kept; nothing when it is as it was.
    pub(crate) fn changed(&self) -> Option<HumanVerdict> {
        let note = self.note.value().trim().to_string();
        let same = self.verdict == self.about.verdict && note == self.about.note;
        (!same).then(|| HumanVerdict { verdict: self.verdict, note, ..self.about.clone() })
    }
}

/// Everything in an attempt that can be judged by a person as well.
pub(crate) fn opinions(attempt: &Attempt, run_id: &str, file: &str, known: &[HumanVerdict]) -> Vec<Opinion> {
    let mut items = Vec::new();
    for metric in
        attempt.metrics.iter().filter(|metric| metric.threshold.is_some() || metric.judgement.is_some())
    {
        let mut add = |rubric_id: Option<String>, computed: Option<bool>| {
            let fresh = HumanVerdict {
                run_id: run_id.to_string(),
                file: file.to_string(),
                eval_id: attempt.eval_id.clone(),
                attempt: attempt.key.attempt,
                metric: metric.metric.clone(),
                rubric_id,
                computed,
                ..HumanVerdict::default()
            };
            let about = known.iter().find(|one| one.is_about(&fresh)).cloned().unwrap_or(fresh);
            let (verdict, note) = (about.verdict, Input::new(about.note.clone()));
            items.push(Opinion { about: HumanVerdict { computed, ..about }, verdict, note });
        };
        add(None, computed(metric));
        for rubric in &metric.rubrics {
            add(Some(rubric.rubric_id.clone()), rubric.score.map(|score| score >= 0.5));
        }
    }
    items
}

/// Whether a metric says yes: by its status, else by its score alone.
fn computed(metric: &MetricResult) -> Option<bool> {
    use crate::domain::Status;
    match metric.status {
        Status::Passed => Some(true),
        Status::Failed => Some(false),
        _ => None,
    }
}
