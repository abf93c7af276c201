//! A record of the reports and recordings that were written, by their content. Formats of other tools have no room for
//! a mark, so that such a file could not be told from a data set wherever it is moved.
//!
//! `<data>/written.jsonl`: `{"format": 1, "size": 1234, "sha256": "…"}` for each file.

use super::{AppFolders, Fingerprint, append_to, read_file, write_whole};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const FORMAT: u32 = 1;
/// The maximum size of the record, in bytes. Of a larger one, the older half is removed.
const MAX_BYTES: u64 = 4 << 20;
/// The maximum size of a record that is read, in bytes.
const MAX_READ: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
struct WrittenFile {
    format: u32,
    size: u64,
    sha256: String,
}

/// The files that were written.
#[derive(Debug, Default)]
pub struct WrittenFiles {
    by_size: HashMap<u64, HashSet<String>>,
}

impl WrittenFiles {
    /// Reads the record. Damaged lines and lines of newer formats are left out, and a record that does not exist is empty.
    pub fn load(app_folders: Option<&AppFolders>) -> WrittenFiles {
        let text = app_folders
            .and_then(|app_folders| read_file(&path_in(app_folders), MAX_READ).ok())
            .unwrap_or_default();
        let mut found = WrittenFiles::default();
        let lines = text
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok());
        // Earlier versions recorded empty files, too.
        for WrittenFile { size, sha256, .. } in
            lines.filter(|entry: &WrittenFile| entry.format == FORMAT && entry.size > 0)
        {
            found.by_size.entry(size).or_default().insert(sha256);
        }
        found
    }

    /// Whether a file with these first bytes is such a record, of any user.
    pub fn is_record(start: &str) -> bool {
        start
            .lines()
            .next()
            .is_some_and(|line| serde_json::from_str::<WrittenFile>(line).is_ok())
    }

    /// Whether a file has the content of one that was written. Only files of the same size are read. Files that cannot
    /// be read do not have it.
    pub fn contains(&self, path: &Path) -> bool {
        let digests = std::fs::metadata(path)
            .ok()
            .and_then(|meta| self.by_size.get(&meta.len()));
        digests.is_some_and(|digests| digest_of(path).is_ok_and(|digest| digests.contains(&digest)))
    }
}

fn path_in(app_folders: &AppFolders) -> PathBuf {
    app_folders.data.join("written.jsonl")
}

fn digest_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Fingerprint::default();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finish()),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// Passes on what is written, and computes its digest.
pub struct RecordedOutput<'a> {
    out: &'a mut dyn Write,
    hash: Fingerprint,
    size: u64,
}

impl<'a> RecordedOutput<'a> {
    /// Writes to `out`.
    pub fn new(out: &'a mut dyn Write) -> RecordedOutput<'a> {
        RecordedOutput {
            out,
            hash: Fingerprint::default(),
            size: 0,
        }
    }

    /// Adds what was written to the record, unless it is empty: every empty file has the same content. Errors: those of the
    /// record's file.
    pub fn record(self, app_folders: &AppFolders) -> io::Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        let entry = WrittenFile {
            format: FORMAT,
            size: self.size,
            sha256: self.hash.finish(),
        };
        let path = path_in(app_folders);
        std::fs::create_dir_all(&app_folders.data)?;
        if std::fs::metadata(&path).is_ok_and(|meta| meta.len() > MAX_BYTES) {
            let text = read_file(&path, MAX_READ)?;
            let half = text.len() / 2;
            let start = memchr::memchr(b'\n', &text[half..]).map_or(text.len(), |at| half + at + 1);
            write_whole(&path, &text[start..])?;
        }
        append_to(
            &path,
            format!("{}\n", serde_json::to_string(&entry)?).as_bytes(),
        )
    }
}

impl Write for RecordedOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.size += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of nothing.
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn written_file_is_recognised_by_content() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let app_folders = AppFolders {
            data: data.clone(),
            cache: data.clone(),
            config: data.clone(),
        };
        let write = |text: &str| {
            let mut bytes = Vec::new();
            let mut out = RecordedOutput::new(&mut bytes);
            out.write_all(text.as_bytes()).unwrap();
            out.record(&app_folders).unwrap();
        };
        let path = folder.path().join("elsewhere.jsonl");
        let is_known = |text: &str| {
            std::fs::write(&path, text).unwrap();
            WrittenFiles::load(Some(&app_folders)).contains(&path)
        };
        assert!(!is_known("report 1"));
        write("report 1");
        write("another report");
        assert!(is_known("report 1") && is_known("another report"));
        write("");
        append_to(
            &path_in(&app_folders),
            format!("{{\"format\":1,\"size\":0,\"sha256\":\"{EMPTY}\"}}\n").as_bytes(),
        )
        .unwrap();
        assert!(
            !is_known("report 2") && !is_known(""),
            "an empty file is an input"
        );
        append_to(&path_in(&app_folders), b"damaged\n").unwrap();
        write("report 3");
        assert!(is_known("report 1") && is_known("report 3"));
        assert!(!WrittenFiles::load(None).contains(&path));
    }

    #[test]
    fn the_record_does_not_grow_without_limit() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().to_path_buf();
        let app_folders = AppFolders {
            data: data.clone(),
            cache: data.clone(),
            config: data,
        };
        let line = format!(
            "{}\n",
            serde_json::to_string(&WrittenFile {
                format: FORMAT,
                size: 1,
                sha256: "x".repeat(64)
            })
            .unwrap()
        );
        std::fs::write(
            path_in(&app_folders),
            line.repeat(1 + MAX_BYTES as usize / line.len()),
        )
        .unwrap();
        let mut bytes = Vec::new();
        let mut out = RecordedOutput::new(&mut bytes);
        out.write_all(b"new").unwrap();
        out.record(&app_folders).unwrap();
        let text = std::fs::read_to_string(path_in(&app_folders)).unwrap();
        assert!((text.len() as u64) < MAX_BYTES * 2 / 3, "{}", text.len());
        assert!(
            text.lines()
                .all(|line| serde_json::from_str::<WrittenFile>(line).is_ok())
        );
        assert_eq!(
            text.lines()
                .filter(|line| line.contains("\"size\":3,"))
                .count(),
            1,
            "the new one is in it"
        );
    }
}
