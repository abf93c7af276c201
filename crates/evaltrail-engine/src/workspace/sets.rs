//! Opening of a set: its text, its index and its digest. Reading of configuration files.

use super::SetPath;
use crate::store::{Fingerprint, fingerprint, read_file, read_start, read_text_file};
use evaltrail_core::formats::adk::{ADK_RESULT, app_of_result};
use evaltrail_core::formats::vertex::LineIndexer;
use evaltrail_core::formats::{
    FileHints, FileProblem, RangeReader, SetFile, Source, decoded_text, is_utf16, what_bytes_are,
};
use parking_lot::Mutex;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest file that is read into memory, in bytes.
const MAX_BYTES: u64 = 1 << 30;
/// Largest file of JSON Lines that is read into memory, in bytes. Larger ones are streamed to find their rows.
const MAX_IN_MEMORY: u64 = 64 << 20;

/// The digest of a file of at least this size, in bytes, is computed on another processor.
const HASHED_APART: usize = 1 << 20;

/// A set that was opened.
#[derive(Clone, Debug)]
pub struct OpenSet {
    /// Its cases.
    pub file: SetFile,
    /// SHA-256 of its bytes.
    pub digest: String,
}

/// Why a set cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SetProblem {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file is of another kind: what it is.
    #[error("{0}")]
    OtherKind(&'static str),
    /// The file's content is invalid.
    #[error("{0}")]
    Content(#[from] FileProblem),
}

/// Opens a set of which every case is going to be used: a JSON document with a syntax error anywhere is an error.
pub fn open_full_set(set: &SetPath) -> Result<OpenSet, SetProblem> {
    let open = open_set(set)?;
    match open.file.syntax_problem() {
        Some(problem) => Err(SetProblem::Content(problem)),
        None => Ok(open),
    }
}

/// Opens a set.
pub fn open_set(set: &SetPath) -> Result<OpenSet, SetProblem> {
    let meta = std::fs::metadata(&set.path)?;
    let name = set.path.file_name().unwrap_or_default().to_string_lossy();
    let read_as = FileHints::named(&name, set.columns.clone());
    if meta.is_file()
        && let Some(what) = what_bytes_are(&name, &read_start(&set.path, 4)?)
    {
        return Err(SetProblem::OtherKind(what));
    }
    if read_as.is_lines && meta.is_file() && meta.len() > MAX_IN_MEMORY {
        return open_lines(set);
    }
    let text = read_set_text(&set.path)?;
    let digest = || fingerprint(&[text.as_bytes()]);
    let open = || SetFile::open_as(Arc::from(&*text), &set.stem, &read_as);
    let (digest, file) = match text.len() {
        ..HASHED_APART => (digest(), open()),
        _ => rayon::join(digest, open),
    };
    let file = file.map_err(|problem| with_app_of_result(problem, &set.path))?;
    Ok(OpenSet {
        file: file.with_session(set.session.clone()),
        digest,
    })
}

/// Of a result of ADK where ADK stores results, the problem names the folder of the agent.
fn with_app_of_result(problem: FileProblem, path: &Path) -> FileProblem {
    match app_of_result(path) {
        Some(app) if problem.found.starts_with(ADK_RESULT) => FileProblem {
            found: format!(
                "{ADK_RESULT}; to view it, open the folder of its agent: {}",
                app.display()
            ),
            ..problem
        },
        _ => problem,
    }
}

/// Streams a file once to find its rows and compute its digest, without storing its text. The digest is computed
/// on another thread, since that is slower than reading.
fn open_lines(set: &SetPath) -> Result<OpenSet, SetProblem> {
    const CHUNK: usize = 1 << 20;
    let mut file = File::open(&set.path)?;
    let (chunks, to_hash) = std::sync::mpsc::sync_channel::<Arc<[u8]>>(4);
    let hashing = std::thread::spawn(move || {
        let mut hash = Fingerprint::default();
        to_hash.iter().for_each(|chunk| hash.update(&chunk));
        hash.finish()
    });
    let mut indexer = LineIndexer::new(set.columns.clone());
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        let chunk: Arc<[u8]> = Arc::from(&buffer[..count]);
        // If the thread has panicked, the error is reported below.
        let _ = chunks.send(chunk.clone());
        indexer.push(&chunk);
    }
    drop(chunks);
    let digest = hashing
        .join()
        .map_err(|_| std::io::Error::other("the digest could not be computed"))?;
    let source = Source::Outside(Arc::new(PiecesOf {
        path: set.path.clone(),
        file: Mutex::new(file),
    }));
    let file = SetFile::of_lines(indexer.finish(), source, &set.stem, &set.columns);
    Ok(OpenSet {
        file: file.with_session(set.session.clone()),
        digest,
    })
}

/// Reads ranges of a file that stays open.
#[derive(Debug)]
struct PiecesOf {
    path: PathBuf,
    file: Mutex<File>,
}

impl RangeReader for PiecesOf {
    fn piece(&self, range: Range<u64>) -> Result<String, String> {
        let said = |error: std::io::Error| format!("{}: {error}", self.path.display());
        let mut file = self.file.lock();
        file.seek(SeekFrom::Start(range.start)).map_err(said)?;
        let mut bytes = vec![0; (range.end - range.start) as usize];
        file.read_exact(&mut bytes).map_err(said)?;
        String::from_utf8(bytes)
            .map_err(|_| "bytes that are not UTF-8; save the file as UTF-8".into())
    }
}

/// Largest configuration file that is read, in bytes.
const MAX_CONFIG: u64 = 8 << 20;

/// Reads a configuration file of an untrusted folder. It must be a regular file; the target of a link must be below
/// `root`, so that no other file of the user is read and quoted in an error.
pub(super) fn read_config_text(path: &Path, root: &Path) -> std::io::Result<String> {
    let invalid = |why: String| std::io::Error::new(std::io::ErrorKind::InvalidData, why);
    let target = dunce::canonicalize(path)?;
    let is_link = std::fs::symlink_metadata(path)?.is_symlink();
    if is_link && !target.starts_with(dunce::canonicalize(root)?) {
        return Err(invalid(
            "it is a link to a file outside of the folder".into(),
        ));
    }
    read_text_file(&target, MAX_CONFIG)
}

/// Reads a file of cases as text. UTF-16 is decoded.
pub fn read_set_text(path: &Path) -> std::io::Result<String> {
    match is_utf16(&read_start(path, 4)?) {
        true => Ok(decoded_text(&read_file(path, MAX_BYTES)?)),
        false => read_text(path),
    }
}

/// Reads a regular file as text. Pipes and devices, which could block forever, are refused.
pub fn read_text(path: &Path) -> std::io::Result<String> {
    read_text_file(path, MAX_BYTES)
}
