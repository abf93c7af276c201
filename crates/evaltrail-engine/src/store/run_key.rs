//! The key with which evaltrail signs the runs of this user. It is stored outside of every workspace: someone who can
//! write into a workspace can add a run to it, but cannot sign it.

#![expect(clippy::disallowed_methods, reason = "it reads what evaltrail wrote")]

use super::lock::{SHORT_CHANGE, lock_within};
use super::secret_file::stored_secret;
use super::{AppFolders, write_whole};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

/// The block length of SHA-256, so that HMAC uses the key without hashing or padding it.
const KEY_BYTES: usize = 64;
/// Hexadecimal digits of a signature: HMAC-SHA-256.
pub(super) const SIGNATURE_LENGTH: usize = 64;

/// Signs runs, and numbers them in the order in which they are recorded.
#[derive(Clone)]
pub struct RunKey {
    /// A signer that has not read anything but the key.
    signer: Hmac<Sha256>,
    folder: PathBuf,
}

impl std::fmt::Debug for RunKey {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str("RunKey")
    }
}

impl RunKey {
    /// The key of this user, created on first use; `None` if there is no directory for it.
    pub fn find() -> Option<RunKey> {
        RunKey::open(&AppFolders::find()?).ok()
    }

    /// The key in these directories. It is created if it does not exist.
    pub fn open(app_folders: &AppFolders) -> io::Result<RunKey> {
        let folder = app_folders.data.join("runs");
        let key: [u8; KEY_BYTES] = stored_secret(&folder, "key")?;
        Ok(RunKey {
            signer: <Hmac<Sha256> as KeyInit>::new(&key.into()),
            folder,
        })
    }

    /// An id that distinguishes this key from others and reveals nothing about it.
    pub fn id(&self) -> String {
        self.signature(&[b"id"])
    }

    /// The number of a new run: greater than that of every earlier run, independent of the clock.
    pub(super) fn next_number(&self) -> io::Result<u64> {
        let lock = File::create(self.folder.join("lock"))?;
        lock_within(&lock, SHORT_CHANGE, "numbering a run")?;
        let file = self.folder.join("last_number");
        let last = match fs::read_to_string(&file) {
            Ok(text) => text
                .trim()
                .parse()
                .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let next: u64 = last + 1;
        write_whole(&file, next.to_string().as_bytes())?;
        Ok(next)
    }

    /// The signature of these parts, in hexadecimal.
    pub(super) fn signature(&self, parts: &[&[u8]]) -> String {
        self.signer(parts).signature()
    }

    /// Whether the parts were signed with this key. The comparison takes constant time.
    pub(super) fn has_signed(&self, parts: &[&[u8]], signature: &str) -> bool {
        self.signer(parts).has_signed(signature)
    }

    /// Signs these parts, and data that is added to them.
    pub(super) fn signer(&self, parts: &[&[u8]]) -> RunSigner {
        let mut mac = self.signer.clone();
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        RunSigner(mac)
    }
}

/// Signs data as it is written or read.
pub(super) struct RunSigner(Hmac<Sha256>);

impl RunSigner {
    /// Adds data.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The signature of all data, in hexadecimal.
    pub(super) fn signature(self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
        let bytes = self.0.finalize().into_bytes();
        bytes
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
            .collect()
    }

    /// Whether this is the signature of all data. The comparison takes constant time.
    pub(super) fn has_signed(self, signature: &str) -> bool {
        let half = |digit: u8| char::from(digit).to_digit(16).map(|half| half as u8);
        let byte = |pair: &[u8]| Some(half(pair[0])? << 4 | half(pair[1])?);
        let (pairs, []) = signature.as_bytes().as_chunks::<2>() else {
            return false;
        };
        let bytes: Option<Vec<u8>> = pairs.iter().map(|pair| byte(pair)).collect();
        bytes.is_some_and(|bytes| self.0.verify_slice(&bytes).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app_folders() -> (tempfile::TempDir, AppFolders) {
        let home = tempfile::tempdir().unwrap();
        let app_folders = AppFolders {
            data: home.path().to_path_buf(),
            cache: home.path().join("cache"),
            config: home.path().to_path_buf(),
        };
        (home, app_folders)
    }

    #[test]
    fn signature_is_valid_only_for_parts_and_key() {
        let (_home, mine) = app_folders();
        let key = RunKey::open(&mine).unwrap();
        let signature = key.signature(&[b"run", b"line"]);
        assert_eq!(signature.len(), SIGNATURE_LENGTH);
        assert!(
            RunKey::open(&mine)
                .unwrap()
                .has_signed(&[b"run", b"line"], &signature),
            "the key is stored"
        );
        assert!(!key.has_signed(&[b"runl", b"ine"], &signature));
        assert!(!key.has_signed(&[b"run", b"line"], &signature[2..]));
        assert!(!key.has_signed(&[b"run", b"line"], ""));
        assert!(!key.has_signed(&[b"run", b"line"], "no signature"));
        let (_other_home, other) = app_folders();
        assert!(
            !RunKey::open(&other)
                .unwrap()
                .has_signed(&[b"run", b"line"], &signature)
        );
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_the_key() {
        use std::os::unix::fs::PermissionsExt;
        let (home, app_folders) = app_folders();
        RunKey::open(&app_folders).unwrap();
        let mode = fs::metadata(home.path().join("runs/key"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn numbers_never_repeat() {
        let (_home, app_folders) = app_folders();
        let key = RunKey::open(&app_folders).unwrap();
        let mut numbers: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..10)
                            .map(|_| key.next_number().unwrap())
                            .collect::<Vec<u64>>()
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        });
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=40).collect::<Vec<u64>>());
    }
}
