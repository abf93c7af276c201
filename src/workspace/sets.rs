//! Opening a set: its text, its index, its digest, and the criteria beside it.

use super::SetPath;
use crate::domain::Criterion;
use crate::formats::adk::{self, SetFile};
use crate::store::fingerprint;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Larger files are not read: evaltrail holds a set's text in memory.
const LARGEST: u64 = 1 << 30;

/// A set that was opened.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenSet {
    /// Its cases.
    pub file: SetFile,
    /// SHA-256 of its bytes.
    pub digest: String,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SetProblem {
    /// The file itself.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// What is in it.
    #[error("{0}")]
    Content(#[from] adk::FileProblem),
}

/// Opens a set.
pub fn open_set(set: &SetPath) -> Result<OpenSet, SetProblem> {
    let text = read_text(&set.path)?;
    let digest = fingerprint(&[text.as_bytes()]);

    Ok(OpenSet { file: SetFile::open(Arc::from(text), &set.stem)?, digest })
}

/// Reads a regular file as text. Pipes and devices, which could block for ever, are refused.
pub fn read_text(path: &Path) -> std::io::Result<String> {
    let invalid = |why: String| std::io::Error::new(std::io::ErrorKind::InvalidData, why);
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        return Err(invalid("this is no regular file".into()));
    }
    if meta.len() > LARGEST {
        return Err(invalid(format!(
            "the file has {} MB; the most is {} MB",
            meta.len() >> 20,
            LARGEST >> 20
        )));
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize + 1);
    File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1;
        invalid(format!("line {line}: byte {at} is not UTF-8; save the file as UTF-8"))
    })
}

/// Where criteria came from.
#[derive(Clone, Debug, PartialEq)]
pub enum CriteriaSource {
    /// A config file, as shown.
    File(String),
    /// ADK's defaults.
    Default,
}

/// The criteria of a set: from the config that was named, else from `test_config.json` beside the
/// file, else ADK's defaults.
pub fn criteria_for(
    set: &SetPath,
    config: Option<&Path>,
) -> Result<(Vec<Criterion>, CriteriaSource), (String, String)> {
    let beside = set.path.with_file_name("test_config.json");
    let path = match config {
        Some(path) => path.to_path_buf(),
        None if beside.is_file() => beside,
        None => return Ok((adk::default_criteria(), CriteriaSource::Default)),
    };
    let shown = path.display().to_string();
    let failed = |why: String| (shown.clone(), why);
    let text = read_text(&path).map_err(|error| failed(error.to_string()))?;
    let config = adk::read_config(&text).map_err(|error| failed(error.to_string()))?;
    Ok((config.criteria, CriteriaSource::File(shown)))
}
