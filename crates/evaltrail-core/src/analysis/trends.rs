//! The outcomes of a case over runs.

use crate::domain::Status;

/// The outcome of a case in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CasePoint {
    /// Position of the run among those of the trend, the oldest first.
    pub run: usize,
    /// The worst status of its attempts.
    pub status: Status,
    /// The number of attempts that passed.
    pub passed: u32,
    /// The number of attempts that were evaluated.
    pub evaluated: u32,
    /// A hash of the case's content at that time; 0 if it is not known.
    pub content: u32,
    /// The number of the criteria of the case's file: equal for runs with the same ones.
    pub criteria: u32,
}

/// The latest runs in which a case did not pass, without one in between in which it passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailingSince {
    /// The outcome in the first of these runs.
    pub first: CasePoint,
    /// The outcome in the last run before, in which it passed; `None` if no such run is known.
    pub last_passed: Option<CasePoint>,
    /// The number of these runs.
    pub runs: usize,
    /// Whether some of the attempts in these runs passed.
    pub is_flaky: bool,
}

impl FailingSince {
    /// Whether the case was edited between the last run in which it passed and the first in which it did not.
    pub fn was_edited(&self) -> bool {
        self.last_passed.is_some_and(|passed| {
            passed.content != 0 && self.first.content != 0 && passed.content != self.first.content
        })
    }
}

/// Since when a case does not pass; `None` if it passed in the latest run. An error counts as not passed; runs in which
/// it was not evaluated are left out, and so are those with other criteria than the latest one, because another outcome may
/// be due to the criteria. `points` are the outcomes, the oldest first.
pub fn failing_since(points: &[CasePoint]) -> Option<FailingSince> {
    let evaluated = points.iter().rev().filter(|point| {
        matches!(
            point.status,
            Status::Passed | Status::Failed | Status::Errored
        )
    });
    let mut since: Option<FailingSince> = None;
    let latest = evaluated.clone().next()?.criteria;
    for &point in evaluated.filter(|point| point.criteria == latest) {
        let failing = since.unwrap_or(FailingSince {
            first: point,
            last_passed: None,
            runs: 0,
            is_flaky: false,
        });
        if point.status == Status::Passed {
            return since.map(|since| FailingSince {
                last_passed: Some(point),
                ..since
            });
        }
        let is_flaky = failing.is_flaky || point.passed > 0;
        let runs = failing.runs + 1;
        since = Some(FailingSince {
            first: point,
            runs,
            is_flaky,
            ..failing
        });
    }
    since
}

/// The blocks of a sparkline, from the lowest to the highest value.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A value between `low` and `high` as a block of a sparkline. Values outside count as the nearest limit.
pub fn block(value: f64, (low, high): (f64, f64)) -> char {
    let share = if high > low {
        (value - low) / (high - low)
    } else {
        1.0
    };
    BLOCKS[(share.clamp(0.0, 1.0) * (BLOCKS.len() - 1) as f64).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(statuses: &[Status]) -> Vec<CasePoint> {
        let point = |(run, status): (usize, &Status)| CasePoint {
            run,
            status: *status,
            passed: u32::from(*status == Status::Passed),
            evaluated: 1,
            content: 7,
            criteria: 0,
        };
        statuses.iter().enumerate().map(point).collect()
    }

    #[test]
    fn failing_since_first_run_after_last_pass() {
        use Status::{Errored, Failed, NotEvaluated, Passed};
        let since = |statuses: &[Status]| {
            let since = failing_since(&points(statuses))?;
            Some((
                since.first.run,
                since.last_passed.map(|point| point.run),
                since.runs,
            ))
        };
        assert_eq!(
            since(&[Failed, Passed, Failed, Errored, Failed]),
            Some((2, Some(1), 3))
        );
        assert_eq!(
            since(&[Passed, NotEvaluated, Failed, NotEvaluated]),
            Some((2, Some(0), 1))
        );
        assert_eq!(since(&[Failed, NotEvaluated, Failed]), Some((0, None, 2)));
        assert_eq!(since(&[Failed, Passed]), None);
        assert_eq!(since(&[NotEvaluated]), None);
        assert_eq!(since(&[]), None);
    }

    #[test]
    fn failing_run_with_some_passes_is_flaky() {
        let mut points = points(&[Status::Failed, Status::Failed]);
        assert!(!failing_since(&points).unwrap().is_flaky);
        (points[0].passed, points[0].evaluated) = (3, 5);
        assert!(failing_since(&points).unwrap().is_flaky);
    }

    #[test]
    fn runs_with_other_criteria_are_ignored() {
        use Status::{Failed, Passed};
        let mut points = points(&[Passed, Failed, Passed, Failed, Failed]);
        (points[2].criteria, points[3].criteria) = (1, 1);
        let since = failing_since(&points).unwrap();
        assert_eq!(
            (
                since.first.run,
                since.last_passed.map(|point| point.run),
                since.runs
            ),
            (1, Some(0), 2)
        );
        points[0].criteria = 1;
        assert_eq!(failing_since(&points).unwrap().last_passed, None);
    }

    #[test]
    fn edit_between_runs_is_reported() {
        let mut points = points(&[Status::Passed, Status::Failed]);
        assert!(!failing_since(&points).unwrap().was_edited());
        points[1].content = 8;
        assert!(failing_since(&points).unwrap().was_edited());
        points[0].content = 0;
        assert!(
            !failing_since(&points).unwrap().was_edited(),
            "it is not known"
        );
    }

    #[test]
    fn a_block_is_as_high_as_the_value() {
        let blocks = |range| {
            [0.0, 0.5, 1.0]
                .map(|value| block(value, range))
                .iter()
                .collect::<String>()
        };
        assert_eq!(blocks((0.0, 1.0)), "▁▅█");
        assert_eq!(blocks((0.0, 0.5)), "▁██");
        assert_eq!(blocks((-1.0, 1.0)), "▅▆█");
        assert_eq!(blocks((0.5, 1.5)), "▁▁▅");
        assert_eq!(blocks((1.0, 1.0)), "███", "one value is no difference");
    }
}
