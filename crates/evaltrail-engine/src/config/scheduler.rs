//! The shard of this machine and its job, as the environment of a scheduler tells.

use super::shard::shard_of;
use evaltrail_core::domain::{Shard, ShardBy};

/// The shard, such as `3/10`, if the environment sets it.
const SHARD: &str = "EVALTRAIL_SHARD";
/// The number of shards, for schedulers that set only the index.
const SHARDS: &str = "EVALTRAIL_SHARDS";

/// The scheduler job of the shards, if the user named one.
const JOB: &str = "EVALTRAIL_JOB";
/// The variables in which schedulers name the job of a task. It stays the same when a task is repeated.
const JOBS: [&str; 12] = [
    JOB,
    "CLOUD_RUN_EXECUTION",
    "BATCH_JOB_UID",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_JOB_ID",
    "LSB_JOBID",
    "CI_PIPELINE_ID",
    "GITHUB_RUN_ID",
    "CIRCLE_WORKFLOW_ID",
    "BUILDKITE_BUILD_ID",
    "BITBUCKET_BUILD_NUMBER",
    "BUILD_BUILDID",
];

/// The variables in which a scheduler numbers a task.
struct Scheduler {
    name: &'static str,
    index: &'static str,
    /// The index of the first task.
    first: First,
    /// The number of tasks; of several variables, the first that is set.
    count: &'static [&'static str],
}

enum First {
    At(u64),
    /// That of a variable, with the distance between two tasks in another.
    Variable {
        first: &'static str,
        step: &'static str,
    },
}

/// The schedulers, in the order in which they are looked for: the one nearest to the task first.
const SCHEDULERS: [Scheduler; 14] = [
    at(
        "Cloud Run",
        "CLOUD_RUN_TASK_INDEX",
        0,
        &["CLOUD_RUN_TASK_COUNT"],
    ),
    at("Google Batch", "BATCH_TASK_INDEX", 0, &["BATCH_TASK_COUNT"]),
    at(
        "AWS Batch",
        "AWS_BATCH_JOB_ARRAY_INDEX",
        0,
        &["AWS_BATCH_JOB_ARRAY_SIZE"],
    ),
    at("Kubernetes", "JOB_COMPLETION_INDEX", 0, &[]),
    Scheduler {
        name: "a SLURM array",
        index: "SLURM_ARRAY_TASK_ID",
        first: First::Variable {
            first: "SLURM_ARRAY_TASK_MIN",
            step: "SLURM_ARRAY_TASK_STEP",
        },
        count: &["SLURM_ARRAY_TASK_COUNT"],
    },
    at("SLURM", "SLURM_PROCID", 0, &["SLURM_NTASKS"]),
    at("PBS", "PBS_ARRAY_INDEX", 1, &[]),
    at("LSF", "LSB_JOBINDEX", 1, &["LSB_JOBINDEX_END"]),
    at("Grid Engine", "SGE_TASK_ID", 1, &["SGE_TASK_LAST"]),
    at("GitLab", "CI_NODE_INDEX", 1, &["CI_NODE_TOTAL"]),
    at("CircleCI", "CIRCLE_NODE_INDEX", 0, &["CIRCLE_NODE_TOTAL"]),
    at(
        "Buildkite",
        "BUILDKITE_PARALLEL_JOB",
        0,
        &["BUILDKITE_PARALLEL_JOB_COUNT"],
    ),
    at(
        "Bitbucket",
        "BITBUCKET_PARALLEL_STEP",
        0,
        &["BITBUCKET_PARALLEL_STEP_COUNT"],
    ),
    at(
        "Azure Pipelines",
        "SYSTEM_JOBPOSITIONINPHASE",
        1,
        &["SYSTEM_TOTALJOBSINPHASE"],
    ),
];

const fn at(
    name: &'static str,
    index: &'static str,
    first: u64,
    count: &'static [&'static str],
) -> Scheduler {
    Scheduler {
        name,
        index,
        first: First::At(first),
        count,
    }
}

/// The shard of this task, as the environment tells, and from which variables it was taken. The error is a message.
pub fn shard_of_environment(
    by: ShardBy,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(Shard, String), String> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if let Some(text) = set(SHARD) {
        let shard = shard_of(&text, by).map_err(|why| format!("{SHARD}: {why}"))?;
        return Ok((shard, format!("from {SHARD}")));
    }
    let Some(scheduler) = SCHEDULERS
        .iter()
        .find(|scheduler| set(scheduler.index).is_some())
    else {
        let known: Vec<&str> = SCHEDULERS.iter().map(|scheduler| scheduler.index).collect();
        return Err(format!(
            "--shard auto: the environment does not tell which shard this is; set {SHARD}=K/N (looked for: {})",
            known.join(", ")
        ));
    };
    let number = |name: &str| {
        let text = set(name).ok_or_else(|| format!("--shard auto: {name} is not set"))?;
        text.trim()
            .parse::<u64>()
            .map_err(|_| format!("--shard auto: {name} is {text:?}, not a number"))
    };
    let Scheduler {
        name,
        index,
        first,
        count,
    } = scheduler;
    let (first, step) = match first {
        First::At(first) => (*first, 1),
        First::Variable { first, step } => (
            number(first)?,
            set(step).map_or(Ok(1), |_| number(step))?.max(1),
        ),
    };
    // The count that the user gives is of the shards; a scheduler's may be of other tasks, too.
    let counted = std::iter::once(&SHARDS)
        .chain(count.iter())
        .find(|name| set(name).is_some());
    let counted = counted.ok_or_else(|| {
        format!(
            "--shard auto: {name} tells the index ({index}), but not how many tasks there are; set {SHARDS}"
        )
    })?;
    let (position, of) = (number(index)?, number(counted)?);
    let distance = position
        .checked_sub(first)
        .filter(|distance| distance % step == 0);
    let text = format!(
        "{}/{of}",
        distance.map_or(0, |distance| distance / step + 1)
    );
    let shard = shard_of(&text, by).map_err(|_| {
        format!(
            "--shard auto: {index}={position} is not one of {of} tasks ({counted}) from {first} in steps of {step}; \
             set {SHARD}=K/N"
        )
    })?;
    Ok((shard, format!("from {index} and {counted} of {name}")))
}

/// The job of the scheduler that runs the shards, as `CI_PIPELINE_ID 12`; `None` if the environment does not tell.
pub fn job_of_environment(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    JOBS.iter().find_map(|name| {
        let value = variable(name).filter(|value| !value.trim().is_empty())?;
        Some(format!("{name} {}", value.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<(u32, u32), String> {
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value.to_string())
        };
        shard_of_environment(ShardBy::Slice, variable).map(|(shard, _)| (shard.number, shard.of))
    }

    #[test]
    fn shard_is_read_from_every_scheduler() {
        for (variables, shard) in [
            (
                &[
                    ("CLOUD_RUN_TASK_INDEX", "2"),
                    ("CLOUD_RUN_TASK_COUNT", "10"),
                ][..],
                (3, 10),
            ),
            (
                &[("BATCH_TASK_INDEX", "0"), ("BATCH_TASK_COUNT", "4")],
                (1, 4),
            ),
            (
                &[
                    ("AWS_BATCH_JOB_ARRAY_INDEX", "3"),
                    ("AWS_BATCH_JOB_ARRAY_SIZE", "4"),
                ],
                (4, 4),
            ),
            (
                &[("JOB_COMPLETION_INDEX", "9"), ("EVALTRAIL_SHARDS", "10")],
                (10, 10),
            ),
            (
                &[
                    ("SLURM_ARRAY_TASK_ID", "1"),
                    ("SLURM_ARRAY_TASK_MIN", "1"),
                    ("SLURM_ARRAY_TASK_COUNT", "5"),
                ],
                (1, 5),
            ),
            (
                &[
                    ("SLURM_ARRAY_TASK_ID", "14"),
                    ("SLURM_ARRAY_TASK_MIN", "10"),
                    ("SLURM_ARRAY_TASK_STEP", "2"),
                    ("SLURM_ARRAY_TASK_COUNT", "5"),
                    ("SLURM_PROCID", "0"),
                    ("SLURM_NTASKS", "1"),
                ],
                (3, 5),
            ),
            (&[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2")], (2, 2)),
            (
                &[("PBS_ARRAY_INDEX", "2"), ("EVALTRAIL_SHARDS", "3")],
                (2, 3),
            ),
            (&[("LSB_JOBINDEX", "3"), ("LSB_JOBINDEX_END", "3")], (3, 3)),
            (&[("SGE_TASK_ID", "1"), ("SGE_TASK_LAST", "2")], (1, 2)),
            (&[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "2")], (2, 2)),
            (
                &[("CIRCLE_NODE_INDEX", "1"), ("CIRCLE_NODE_TOTAL", "2")],
                (2, 2),
            ),
            (
                &[
                    ("BUILDKITE_PARALLEL_JOB", "0"),
                    ("BUILDKITE_PARALLEL_JOB_COUNT", "2"),
                ],
                (1, 2),
            ),
            (
                &[
                    ("BITBUCKET_PARALLEL_STEP", "1"),
                    ("BITBUCKET_PARALLEL_STEP_COUNT", "2"),
                ],
                (2, 2),
            ),
            (
                &[
                    ("SYSTEM_JOBPOSITIONINPHASE", "1"),
                    ("SYSTEM_TOTALJOBSINPHASE", "2"),
                ],
                (1, 2),
            ),
            (
                &[
                    ("EVALTRAIL_SHARD", "2/7"),
                    ("CI_NODE_INDEX", "1"),
                    ("CI_NODE_TOTAL", "2"),
                ],
                (2, 7),
            ),
        ] {
            assert_eq!(found(variables), Ok(shard), "{variables:?}");
        }
    }

    #[test]
    fn invalid_shard_environment_is_an_error() {
        assert!(found(&[]).unwrap_err().contains("set EVALTRAIL_SHARD=K/N"));
        assert!(
            found(&[("JOB_COMPLETION_INDEX", "1")])
                .unwrap_err()
                .contains("set EVALTRAIL_SHARDS")
        );
        assert!(
            found(&[("CI_NODE_INDEX", "3"), ("CI_NODE_TOTAL", "2")])
                .unwrap_err()
                .contains("not one of 2 tasks")
        );
        assert!(
            found(&[("CI_NODE_INDEX", "0"), ("CI_NODE_TOTAL", "2")])
                .unwrap_err()
                .contains("not one of 2 tasks")
        );
        assert!(
            found(&[("CI_NODE_INDEX", "x"), ("CI_NODE_TOTAL", "2")])
                .unwrap_err()
                .contains("not a number")
        );
        // Of a SLURM array with gaps.
        let array = |id| {
            [
                ("SLURM_ARRAY_TASK_ID", id),
                ("SLURM_ARRAY_TASK_MIN", "1"),
                ("SLURM_ARRAY_TASK_STEP", "2"),
                ("SLURM_ARRAY_TASK_COUNT", "3"),
            ]
        };
        assert_eq!(found(&array("3")), Ok((2, 3)));
        assert!(
            found(&array("4"))
                .unwrap_err()
                .contains("in steps of 2; set EVALTRAIL_SHARD=K/N")
        );
        // LSF sets an index of 0 for a job that is not part of an array.
        assert!(found(&[("LSB_JOBINDEX", "0"), ("LSB_JOBINDEX_END", "0")]).is_err());
    }
}
