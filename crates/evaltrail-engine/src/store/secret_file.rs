//! Files with a random secret.

use super::lock::{SHORT_CHANGE, lock_within};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// The secret in a file. A random one is created if the file does not exist or is too short; if two processes do so at
/// the same time, both get the first one. Only the owner can read the file.
pub(super) fn stored_secret<const BYTES: usize>(
    folder: &Path,
    name: &str,
) -> io::Result<[u8; BYTES]> {
    let file = folder.join(name);
    match read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create::<BYTES>(folder, &file)?;
            read(&file)
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => replace_short(folder, &file),
        read => read,
    }
}

/// Replaces a secret that is too short, unless another process has just done so.
fn replace_short<const BYTES: usize>(folder: &Path, file: &Path) -> io::Result<[u8; BYTES]> {
    let short = File::open(file)?;
    lock_within(
        &short,
        SHORT_CHANGE,
        "replacing a damaged file with a secret",
    )?;
    match read::<BYTES>(file) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            written::<BYTES>(folder)?
                .persist(file)
                .map_err(|error| error.error)?;
            read(file)
        }
        read => read,
    }
}

fn read<const BYTES: usize>(file: &Path) -> io::Result<[u8; BYTES]> {
    let mut secret = [0; BYTES];
    File::open(file)?.read_exact(&mut secret)?;
    Ok(secret)
}

fn create<const BYTES: usize>(folder: &Path, file: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    match written::<BYTES>(folder)?.persist_noclobber(file) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

/// A random secret in a temporary file that is readable only by its owner.
fn written<const BYTES: usize>(folder: &Path) -> io::Result<NamedTempFile> {
    let mut secret = [0; BYTES];
    getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
    let mut temporary = NamedTempFile::new_in(folder)?;
    temporary.write_all(&secret)?;
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_is_too_short_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let first: [u8; 32] = stored_secret(folder.path(), "codes").unwrap();
        fs::write(folder.path().join("codes"), &first[..7]).unwrap();
        let secret = || stored_secret(folder.path(), "codes").unwrap();
        let threads: Vec<[u8; 32]> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..8).map(|_| scope.spawn(secret)).collect();
            started
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert_ne!(threads[0], first);
        assert!(
            threads.iter().all(|one| *one == secret()),
            "all processes get the same"
        );
    }
}
