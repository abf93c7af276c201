//! `run.json`: the plan of a run, the format of the run's files, the run's number and its signature.
//!
//! Paths inside the workspace are stored relative to it, so that runs stay valid when the workspace is copied or moved.

use super::evaltrail_folder::EvaltrailFolder;
use super::run_key::{RunKey, SIGNATURE_LENGTH};
use evaltrail_core::domain::{
    CompressedCases, JudgeSpec, MAX_COMPRESSED_CASES, PlannedCases, PlannedSet, RunOptions, RunPlan,
};
use std::io;
use std::path::{Path, PathBuf};

/// The version of the format in which runs are written. Version 1 had no version number and no content hashes of cases;
/// version 2 had no signatures, and its paths were absolute; version 3 had no blocks in the journal; version 4 has no compressed
/// cases, and is still written for plans that have a list of cases.
pub const RUN_FORMAT: u64 = 5;
/// The version of runs whose cases are a list.
const LIST_FORMAT: u64 = 4;

pub(super) const PLAN: &str = "run.json";
/// The prefix of the signed data. With it, a signed line of a journal is not a valid plan.
const SIGNED_AS: &[u8] = b"run.json";

/// The contents of `run.json`.
#[derive(Debug, Clone)]
pub struct StoredPlan {
    /// The plan, with resolved paths.
    pub plan: RunPlan,
    /// Whether it is signed with this user's key.
    pub is_signed: bool,
    /// The number of the run among those of this user; 0 if it is not signed.
    pub number: u64,
}

/// The first members of the file.
#[derive(serde::Deserialize)]
struct PlanHeader {
    #[serde(default)]
    format: Option<serde_json::Value>,
    #[serde(default)]
    signature: String,
    #[serde(default)]
    number: u64,
}

/// The workspace to which the folder of a run belongs.
pub(super) fn workspace_of(folder: &Path) -> &Path {
    folder.ancestors().nth(3).unwrap_or(folder)
}

/// `run.json` as it is written. The fields of the plan are listed, because a copy of its cases would take as much memory
/// as the plan.
#[derive(serde::Serialize)]
struct WrittenPlan<'a> {
    format: u64,
    signature: &'a str,
    number: u64,
    run_id: &'a str,
    started: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: &'a Option<String>,
    sets: &'a [PlannedSet],
    cases: WrittenCases<'a>,
    options: &'a RunOptions,
    judge: &'a JudgeSpec,
}

/// The cases of a plan as they are written.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum WrittenCases<'a> {
    List(&'a PlannedCases),
    Compressed(CompressedCases<'a>),
}

/// The file's text. The cases are compressed if there are many.
pub(super) fn plan_text(
    plan: &RunPlan,
    workspace: &Path,
    key: Option<&RunKey>,
    number: u64,
) -> serde_json::Result<String> {
    let compressed = CompressedCases::new(&plan.cases).map(WrittenCases::Compressed);
    let cases = compressed.unwrap_or(WrittenCases::List(&plan.cases));
    text_of_plan(plan, cases, workspace, key, number)
}

/// The text of a plan that is not signed and has a list of cases, so that it is the same on all machines: the compressed form
/// may differ.
pub(super) fn list_plan_text(plan: &RunPlan, workspace: &Path) -> serde_json::Result<String> {
    text_of_plan(plan, WrittenCases::List(&plan.cases), workspace, None, 0)
}

fn text_of_plan(
    plan: &RunPlan,
    cases: WrittenCases,
    workspace: &Path,
    key: Option<&RunKey>,
    number: u64,
) -> serde_json::Result<String> {
    let RunPlan {
        run_id,
        started,
        commit,
        sets,
        cases: _,
        options,
        judge,
    } = plan;
    let mut sets: Vec<PlannedSet> = sets.iter().map(PlannedSet::without_secrets).collect();
    each_path(&mut sets, |path| relative_to(workspace, path));
    let (signature, sets, judge) = ("", &sets[..], &judge.without_secrets());
    let written = WrittenPlan {
        format: match cases {
            WrittenCases::List(_) => LIST_FORMAT,
            WrittenCases::Compressed(_) => RUN_FORMAT,
        },
        signature,
        number,
        run_id,
        started,
        commit,
        sets,
        cases,
        options,
        judge,
    };
    let mut text = serde_json::to_string_pretty(&written)?;
    // A plan may have hundreds of megabytes: it is signed where it is.
    if let (Some(key), Some(at)) = (key, text.find(UNSIGNED)) {
        let signature = key.signature(&[SIGNED_AS, text.as_bytes()]);
        text.insert_str(at + UNSIGNED.len() - 1, &signature);
    }
    Ok(text)
}

/// The maximum number of attempts of a run.
pub const MAX_ATTEMPTS: usize = MAX_COMPRESSED_CASES;

/// Checks that every case is of a set of the plan, and that there are not too many attempts.
pub(super) fn check_plan(plan: &RunPlan) -> io::Result<()> {
    if plan.attempts() > MAX_ATTEMPTS {
        return Err(invalid(format!(
            "it has {} attempts; at most {MAX_ATTEMPTS} are possible",
            plan.attempts()
        )));
    }
    match plan.cases.iter().find(|case| case.set >= plan.sets.len()) {
        None => Ok(()),
        Some(case) => {
            let (id, set, sets) = (&case.eval_id, case.set, plan.sets.len());
            Err(invalid(format!(
                "case {id:?} refers to set {set}, but the run has only {sets} (counted from 0)"
            )))
        }
    }
}

/// The signature in the text that is signed.
const UNSIGNED: &str = "\"signature\": \"\"";

/// Reads the plan of a run, and checks its indices. Errors: for example that the format is newer, or that the plan is
/// inconsistent.
pub(super) fn read_plan(folder: &EvaltrailFolder, key: Option<&RunKey>) -> io::Result<StoredPlan> {
    let bytes = folder.read(PLAN)?;
    let text = String::from_utf8_lossy(&bytes);
    let header: PlanHeader = serde_json::from_str(&text)?;
    let format = match &header.format {
        None => Some(1),
        Some(format) => format.as_u64(),
    };
    let relative = match format {
        Some(format @ 1..=RUN_FORMAT) => format >= 3,
        Some(newer) => {
            return Err(invalid(format!(
                "format {newer} was written by a newer evaltrail; this one reads formats up to {RUN_FORMAT}"
            )));
        }
        None => return Err(invalid("\"format\" is not a whole number".into())),
    };
    let mut plan: RunPlan = serde_json::from_str(&text)?;
    check_plan(&plan)?;
    if relative {
        let workspace = workspace_of(folder.path());
        each_path(&mut plan.sets, |path| *path = workspace.join(&*path));
    }
    let is_signed = key.is_some_and(|key| is_signed(key, &text, &header.signature));
    Ok(StoredPlan {
        plan,
        is_signed,
        number: if is_signed { header.number } else { 0 },
    })
}

fn is_signed(key: &RunKey, text: &str, signature: &str) -> bool {
    signature.len() == SIGNATURE_LENGTH && {
        let signed = text.replacen(&format!("\"signature\": \"{signature}\""), UNSIGNED, 1);
        key.has_signed(&[SIGNED_AS, signed.as_bytes()], signature)
    }
}

pub(super) fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Makes a path inside the workspace relative to it.
pub(super) fn relative_to(workspace: &Path, path: &mut PathBuf) {
    if let Ok(inside) = path.strip_prefix(workspace) {
        *path = inside.to_path_buf();
    }
}

/// Calls `change` for every path of the sets of a plan.
pub(super) fn each_path(sets: &mut [PlannedSet], mut change: impl FnMut(&mut PathBuf)) {
    for set in sets {
        change(&mut set.path);
        set.app_dir.iter_mut().for_each(&mut change);
        set.agent.path_mut().into_iter().for_each(&mut change);
    }
}
