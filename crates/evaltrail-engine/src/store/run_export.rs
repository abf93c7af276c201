//! A run as one file that can be opened elsewhere: gzip of lines of JSON.
//!
//! ```text
//! {"evaltrail_run": 1, "run_id": "…"}     the version of the format
//! {…}                                     the plan
//! {…}                                     one line for each attempt that ended, with judges' responses
//! {"spent_on_cancelled": {…}}             if judges spent something on attempts that were cancelled
//! {"ended": true}                         if the run is complete
//! ```
//!
//! The file is not signed: elsewhere the run is foreign.

use super::evaltrail_folder::EvaltrailFolder;
use super::journal_block::is_block;
use super::journal_line::{JOURNAL, SpentOnCancelledLine};
use super::journal_reader::LoadedRun;
use super::output::fill_output;
use super::plan_file::{PLAN, RUN_FORMAT, each_path, read_plan, relative_to};
use super::read::{open_regular, read_line_within};
use super::run_folders::RUNS;
use evaltrail_core::domain::JudgeUsage;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// The version of the format.
const FORMAT: u64 = 1;
/// The maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 256 << 20;
/// The maximum length of the plan, in bytes: it takes a multiple of its length in memory.
const MAX_PLAN_BYTES: usize = 64 << 20;
/// The maximum size of an unpacked file, in bytes.
const MAX_FILE_BYTES: u64 = 2 << 30;
/// How many times the size of a packed file its content may have: a small file can contain a huge one.
const HIGHEST_RATIO: u64 = 200;
/// The size up to which a file may have any ratio, in bytes.
const SMALL: u64 = 32 << 20;
/// The maximum length of a run's id, which is the name of a folder. That of a result of ADK is the name of a file.
const MAX_ID: usize = 240;
/// The maximum length of the first line, in bytes.
const MAX_HEADER: usize = 1024;

#[derive(Deserialize)]
struct ExportHeader {
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
    plan.run_id = file_id(&plan.run_id);
    let run_id = plan.run_id.clone();
    each_path(&mut plan.sets, |path| relative_to(workspace, path));
    fill_output(to, |out| {
        let mut out = GzEncoder::new(out, Compression::default());
        let mut line = |mut value: Value| {
            redact(&mut value);
            // In one call: the compressor takes as long for a bracket as for a whole line.
            out.write_all(format!("{value}\n").as_bytes())
        };
        line(json!({"evaltrail_run": FORMAT, "run_id": run_id}))?;
        line(serde_json::to_value(&plan)?)?;
        for case in 0..plan.cases.len() {
            for attempt in state.attempts_of(case) {
                line(serde_json::to_value(&*attempt.read_to_write()?)?)?;
            }
        }
        if state.spent_on_cancelled != JudgeUsage::default() {
            line(serde_json::to_value(SpentOnCancelledLine {
                spent_on_cancelled: state.spent_on_cancelled,
            })?)?;
        }
        if run.ended {
            line(json!({"ended": true}))?;
        }
        out.finish().map(|_| ())
    })
}

/// Unpacks the file of a run into a folder, as a run of that workspace which only the user can read. Returns the run's
/// folder. Errors: for example that the file is not regular, not one of a run, incomplete or of a newer format, that it
/// unpacks to many times its size, or that it has more lines than the run has attempts.
pub fn unpack_run(file: &Path, workspace: &Path) -> io::Result<PathBuf> {
    let mut lines = PackedLines::open(file)?;
    lines.next(MAX_HEADER).map_err(|_| invalid(NOT_A_RUN))?;
    let header: ExportHeader =
        serde_json::from_slice(&lines.line).map_err(|_| invalid(NOT_A_RUN))?;
    if header.evaltrail_run > FORMAT {
        return Err(invalid("it was written by a newer evaltrail"));
    }
    if header.run_id.is_empty() || file_id(&header.run_id) != header.run_id {
        return Err(invalid("the id of the run is not valid"));
    }
    let folder = EvaltrailFolder::make(workspace)?
        .make_folder(RUNS)?
        .make_folder(&header.run_id)?;
    if !lines.next(MAX_PLAN_BYTES)? {
        return Err(invalid(DAMAGED));
    }
    let members = lines
        .line
        .strip_prefix(b"{")
        .filter(|members| members.trim_ascii() != b"}");
    let members = members.ok_or_else(|| invalid(DAMAGED))?;
    let mut plan = format!("{{\"format\":{RUN_FORMAT},").into_bytes();
    plan.extend_from_slice(members);
    folder.create(PLAN)?.write_all(&plan)?;
    drop(plan);
    // One line for each attempt, one for the cost of cancelled attempts, and one for the end.
    let most = read_plan(&folder, None)?.plan.attempts() + 2;
    let mut journal = io::BufWriter::new(folder.create(JOURNAL)?);
    let mut count = 0;
    while lines.next(MAX_LINE_BYTES)? {
        count += 1;
        if count > most {
            return Err(invalid("it has more lines than the run has attempts"));
        }
        // An export has a line for each attempt.
        if is_block(&lines.line) {
            return Err(invalid(DAMAGED));
        }
        journal.write_all(&lines.line)?;
    }
    journal.flush()?;
    Ok(folder.path().to_path_buf())
}

/// The id of a run as part of the name of a file or folder: ids of results of ADK contain the names of applications and sets.
pub fn file_id(run_id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let id: String = run_id
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .take(MAX_ID)
        .collect();
    // A name of dots is another folder, and Windows removes dots at the end.
    let end = id.trim_end_matches('.').len();
    let id = id[..end].to_string() + &"_".repeat(id.len() - end);
    match id.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => id,
    }
}

const NOT_A_RUN: &str = "it is not a run that was written by evaltrail export";
const DAMAGED: &str = "the file is damaged or incomplete";

fn invalid(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

/// The lines of a packed file.
struct PackedLines {
    reader: BufReader<GzDecoder<BufReader<File>>>,
    /// The line that was read last, with its end.
    line: Vec<u8>,
    /// How much was unpacked, in bytes.
    unpacked: u64,
    /// How much may be unpacked, in bytes.
    most: u64,
}

impl PackedLines {
    fn open(path: &Path) -> io::Result<PackedLines> {
        let file = open_regular(path)?;
        let most = file
            .metadata()?
            .len()
            .saturating_mul(HIGHEST_RATIO)
            .clamp(SMALL, MAX_FILE_BYTES);
        let reader = BufReader::new(GzDecoder::new(BufReader::new(file)));
        Ok(PackedLines {
            reader,
            line: Vec::new(),
            unpacked: 0,
            most,
        })
    }

    /// Reads the next line, of at most `longest` bytes; `false` at the end of the file. Every line is an object.
    fn next(&mut self, longest: usize) -> io::Result<bool> {
        let left = self.most - self.unpacked;
        // One byte more than allowed, to distinguish a file that is too large from one that ends.
        let mut reader = (&mut self.reader).take(left + 1);
        let (length, is_whole) =
            read_line_within(&mut reader, longest, &mut self.line).map_err(|_| invalid(DAMAGED))?;
        if length > left {
            let most = self.most >> 20;
            return Err(invalid(format!(
                "it unpacks to more than {most} MB, too much for its size"
            )));
        }
        self.unpacked += length;
        match (length, is_whole) {
            // Nothing may follow: an unlimited number of packed files without content, for example.
            (0, _) if self.reader.get_mut().get_mut().fill_buf()?.is_empty() => Ok(false),
            (_, true) if length <= longest as u64 && self.line.starts_with(b"{") => Ok(true),
            _ => Err(invalid(DAMAGED)),
        }
    }
}
