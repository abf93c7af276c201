//! A run as one file that can be opened elsewhere: gzip of lines of JSON.
//!
//! ```text
//! {"evaltrail_run": 1, "run_id": "…"}     the version of the format
//! {…}                                     the plan
//! {…}                                     one line for each attempt that ended, with judges' responses
//! {"ended": true}                         if the run is complete
//! ```
//!
//! The file is not signed: elsewhere the run is foreign.

use super::journal::LoadedRun;
use super::journal_line::JOURNAL;
use super::plan_file::{PLAN, RUN_FORMAT, each_path, relative_to};
use super::read::read_line_within;
use super::save::{fill_whole, write_whole};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// The version of the format.
const FORMAT: u64 = 1;
/// The maximum length of a line, in bytes.
const LONGEST: usize = 256 << 20;
/// The maximum length of the plan, in bytes: it takes a multiple of its length in memory.
const LONGEST_PLAN: usize = 64 << 20;
/// The maximum size of an unpacked file, in bytes: a small file can contain a huge one.
const LARGEST: u64 = 2 << 30;
/// The maximum length of a run's id, which is the name of a folder.
const LONGEST_ID: usize = 64;
/// The maximum length of the first line, in bytes.
const LONGEST_HEAD: usize = 1024;

#[derive(Deserialize)]
struct Head {
    evaltrail_run: u64,
    run_id: String,
}

/// Writes a run to a file. `redact` removes secrets from a line. Errors: those of the file, and attempts that cannot be
/// read.
pub fn export_run(
    run: &LoadedRun,
    workspace: &Path,
    to: &Path,
    redact: impl Fn(&mut Value),
) -> io::Result<()> {
    let state = &run.state;
    let mut plan = (*state.plan).clone();
    each_path(&mut plan.sets, |path| relative_to(workspace, path));
    fill_whole(to, |out| {
        let mut out = GzEncoder::new(out, Compression::default());
        let mut line = |mut value: Value| {
            redact(&mut value);
            writeln!(out, "{value}")
        };
        line(json!({"evaltrail_run": FORMAT, "run_id": state.plan.run_id}))?;
        line(serde_json::to_value(&plan)?)?;
        for case in 0..plan.cases.len() {
            for attempt in state.attempts_of(case) {
                line(serde_json::to_value(&*attempt.read_to_write()?)?)?;
            }
        }
        if run.ended {
            line(json!({"ended": true}))?;
        }
        out.finish().map(|_| ())
    })
}

/// Unpacks the file of a run into a folder, as a run of that workspace. Returns the run's folder. Errors: for example
/// that the file is not one of a run, is incomplete, or has a newer format.
pub fn unpack_run(file: &Path, workspace: &Path) -> io::Result<PathBuf> {
    let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_string());
    let (not_a_run, damaged) =
        ("it is not a run that was written by evaltrail export", "the file is damaged or incomplete");
    let packed = File::open(file)?;
    let mut lines = BufReader::new(MultiGzDecoder::new(packed).take(LARGEST));
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>, longest: usize| -> io::Result<bool> {
        match read_line_within(&mut lines, longest, line) {
            Ok((0, _)) => Ok(false),
            Ok((length, true)) if length <= longest as u64 => Ok(true),
            _ => Err(invalid(damaged)),
        }
    };
    next(&mut line, LONGEST_HEAD).map_err(|_| invalid(not_a_run))?;
    let head: Head = serde_json::from_slice(&line).map_err(|_| invalid(not_a_run))?;
    if head.evaltrail_run > FORMAT {
        return Err(invalid("it was written by a newer evaltrail"));
    }
    let is_id = |id: &str| {
        (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    if !is_id(&head.run_id) {
        return Err(invalid("the id of the run is not valid"));
    }
    let folder = workspace.join(".evaltrail").join("runs").join(&head.run_id);
    fs::create_dir_all(&folder)?;
    if !next(&mut line, LONGEST_PLAN)? {
        return Err(invalid(damaged));
    }
    let members = line.strip_prefix(b"{").filter(|members| members.trim_ascii() != b"}");
    let members = members.ok_or_else(|| invalid(damaged))?;
    let mut plan = format!("{{\"format\":{RUN_FORMAT},").into_bytes();
    plan.extend_from_slice(members);
    write_whole(&folder.join(PLAN), &plan)?;
    let mut journal = io::BufWriter::new(File::create(folder.join(JOURNAL))?);
    while next(&mut line, LONGEST)? {
        journal.write_all(&line)?;
    }
    journal.flush()?;
    Ok(folder)
}
