//! How long a run worked. The time in which a run that was resumed was interrupted does not count.

use super::{AttemptSummary, RunPlan, unix_seconds};

/// Collects when the attempts of a run ended.
#[derive(Clone, Debug)]
pub struct WorkedTime {
    /// The parts of the run, in order: when each began, and when its last attempt ended, in Unix seconds.
    parts: Vec<(f64, Option<f64>)>,
}

impl WorkedTime {
    /// Of a run with this plan, without attempts.
    pub fn new(plan: &RunPlan) -> WorkedTime {
        let begins = std::iter::once(&plan.started).chain(&plan.options.resumed);
        let mut parts: Vec<(f64, Option<f64>)> = begins
            .filter_map(|begin| Some((unix_seconds(begin)?, None)))
            .collect();
        parts.sort_by(|one, other| one.0.total_cmp(&other.0));
        WorkedTime { parts }
    }

    /// Adds an attempt that ended: its end is that of its last response of the agent.
    pub fn add(&mut self, attempt: &AttemptSummary) {
        let Some(started) = unix_seconds(&attempt.started) else {
            return;
        };
        let after = self.parts.partition_point(|(begin, _)| *begin <= started);
        if let Some((_, end)) = self.parts.get_mut(after.saturating_sub(1)) {
            let ended = started + attempt.latency_s.unwrap_or(0.0);
            *end = Some(end.map_or(ended, |end| end.max(ended)));
        }
    }

    /// The sum over the parts of the seconds from the beginning to the last response; `None` without an attempt that ended.
    pub fn seconds(&self) -> Option<f64> {
        let lengths = self.parts.iter();
        let lengths = lengths.filter_map(|(begin, end)| Some(((*end)? - begin).max(0.0)));
        lengths.reduce(|sum, length| sum + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Attempt, AttemptKey, EndedAttempt, JudgeSpec, PlannedCases, RunOptions};

    fn worked(resumed: &[&str], attempts: &[(&str, f64)]) -> Option<f64> {
        let plan = RunPlan {
            run_id: "r".into(),
            started: "2026-01-01T10:00:00Z".into(),
            commit: None,
            sets: Vec::new(),
            cases: PlannedCases::default(),
            options: RunOptions {
                resumed: resumed.iter().map(|time| time.to_string()).collect(),
                ..RunOptions::default()
            },
            judge: JudgeSpec::standard(),
        };
        let mut time = WorkedTime::new(&plan);
        for (started, latency) in attempts {
            let key = AttemptKey {
                case: 0,
                attempt: 1,
            };
            let attempt = EndedAttempt::unrecorded(Attempt {
                started: started.to_string(),
                latency_s: Some(*latency),
                ..Attempt::blank(key, "a")
            });
            time.add(attempt.summary());
        }
        time.seconds()
    }

    #[test]
    fn time_between_parts_of_a_run_does_not_count() {
        let attempts = [
            ("2026-01-01T10:00:01Z", 3.0),
            ("2026-01-01T10:00:02Z", 1.0),
            ("2026-01-01T11:30:05Z", 5.5),
        ];
        let resumed = ["2026-01-01T11:00:00Z", "2026-01-01T11:30:00Z"];
        assert_eq!(worked(&resumed, &attempts), Some(4.0 + 10.5));
        assert_eq!(worked(&[], &attempts[..2]), Some(4.0));
        assert_eq!(worked(&resumed, &[]), None);
    }
}
