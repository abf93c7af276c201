//! Reads files from untrusted sources: only regular files, up to a size limit. Pipes and devices, which could be
//! endless or block, are rejected without blocking.

use std::fs::File;
use std::io::{self, BufRead, Read, Seek};
use std::path::Path;

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Reads a regular file of at most `most` bytes.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    let too_long = |length: u64| {
        invalid(format!(
            "the file has {} MB; the limit is {} MB",
            length >> 20,
            most >> 20
        ))
    };
    if length > most {
        return Err(too_long(length));
    }
    let mut bytes = Vec::with_capacity(length as usize + 1);
    file.take(most + 1).read_to_end(&mut bytes)?;
    // It may have grown, and special file systems report a length of 0.
    if bytes.len() as u64 > most {
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Reads a regular file of at most `most` bytes as UTF-8.
pub fn read_text_file(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_file(path, most)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at]
            .iter()
            .filter(|&&b| b == b'\n')
            .count()
            + 1;
        invalid(format!(
            "line {line}: byte {at} is not UTF-8; save the file as UTF-8"
        ))
    })
}

/// Reads at most the first `most` bytes of a regular file of any length.
pub fn read_start(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let length = file.metadata()?.len().min(most as u64);
    // One byte more, so that the end of the file is found without another allocation.
    let mut start = Vec::with_capacity(length as usize + 1);
    file.take(most as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// Reads at most the last `most` bytes of a regular file of any length.
pub fn read_tail(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    file.seek(io::SeekFrom::Start(length.saturating_sub(most as u64)))?;
    let mut tail = Vec::with_capacity(length.min(most as u64) as usize + 1);
    file.take(most as u64).read_to_end(&mut tail)?;
    Ok(tail)
}

/// Reads the next line into `line`, including its end. Returns its length in bytes, and whether it ends with a line
/// feed. Of a line that is longer than `most` bytes, only the beginning is stored.
pub(super) fn read_line_within(
    reader: &mut impl BufRead,
    most: usize,
    line: &mut Vec<u8>,
) -> io::Result<(u64, bool)> {
    line.clear();
    let mut length = 0;
    loop {
        let part = reader.fill_buf()?;
        let end = memchr::memchr(b'\n', part);
        let taken = end.map_or(part.len(), |at| at + 1);
        if line.len() as u64 == length && line.len() + taken <= most {
            line.extend_from_slice(&part[..taken]);
        }
        length += taken as u64;
        reader.consume(taken);
        if end.is_some() || taken == 0 {
            return Ok((length, end.is_some()));
        }
    }
}

/// Opens a file for reading. Errors: for example that it is a pipe, a device or a folder; it is not waited for.
#[cfg(unix)]
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let file = File::from(open(
        path,
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    )?);
    regular(file)
}

#[cfg(windows)]
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    regular(File::open(path)?)
}

fn regular(file: File) -> io::Result<File> {
    let kind = file.metadata()?.file_type();
    match kind.is_file() {
        true => Ok(file),
        false if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        false => Err(invalid("not a regular file".into())),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn regular_files_are_read_up_to_limits() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        std::fs::write(&file, "ab\n\u{e9}").unwrap();
        assert_eq!(read_text_file(&file, 5).unwrap(), "ab\n\u{e9}");
        assert!(
            read_file(&file, 4)
                .unwrap_err()
                .to_string()
                .contains("the limit is 0 MB")
        );
        assert_eq!(read_start(&file, 2).unwrap(), b"ab");
        assert_eq!(
            (
                &read_tail(&file, 3).unwrap()[..],
                read_tail(&file, 9).unwrap().len()
            ),
            ("\n\u{e9}".as_bytes(), 5)
        );
        std::fs::write(&file, b"ab\n\xff").unwrap();
        assert!(
            read_text_file(&file, 5)
                .unwrap_err()
                .to_string()
                .contains("line 2: byte 3 is not UTF-8")
        );
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert!(read_file(path, 100).is_err(), "{}", path.display());
            assert!(read_start(path, 10).is_err() && read_tail(path, 10).is_err());
        }
        // A file of the system that reports a length of 0.
        assert!(read_file(Path::new("/proc/self/status"), 10).is_err());
    }
}
