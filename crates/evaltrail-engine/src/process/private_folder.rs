//! Temporary folders that only the user can read. They are deleted when they are dropped, when a signal ends the process,
//! and, if the process could not do it, at the next start of evaltrail.

#![expect(clippy::disallowed_methods, reason = "it reads what evaltrail wrote")]

use super::ended::has_ended;
use parking_lot::{Mutex, MutexGuard};
use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the names of all folders begin with. The id of the process follows.
const PREFIX: &str = "evaltrail-";
/// The file that is locked while the process exists.
const LOCK: &str = ".evaltrail-lock";
/// The age after which an unlocked folder counts as left over, even if its process seems to exist: ids are reused.
const OLD: Duration = Duration::from_secs(60);
/// How often the deletion is tried: other threads may still be writing in the folder.
const TRIES: usize = 3;

/// What the names of files begin with that were written for the user to read: edits that could not be saved, long texts for
/// the clipboard.
pub const FILE_FOR_USER: &str = "evaltrail-for-you-";
/// The age after which such a file is deleted.
const READ_WITHIN: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The folders of this process.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn folders() -> MutexGuard<'static, Vec<PathBuf>> {
    FOLDERS.lock()
}

/// A temporary folder with mode 0700. Dropping it deletes it.
#[derive(Debug)]
pub struct PrivateFolder {
    /// Open until the folder is deleted.
    lock: Option<File>,
    path: PathBuf,
}

impl PrivateFolder {
    /// Creates a folder in the system's temporary folder. `kind` is a part of its name.
    pub fn create(kind: &str) -> io::Result<PrivateFolder> {
        let prefix = format!("{PREFIX}{}-{kind}-", std::process::id());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        // No signal can come between the creation of the folder and its registration.
        let mut registered = folders();
        let path = builder.tempdir()?.keep();
        registered.push(path.clone());
        drop(registered);
        let mut folder = PrivateFolder { lock: None, path };
        let lock = private_file(&folder.path.join(LOCK))?;
        // If files cannot be locked, the folder counts as left over only when it is old.
        let _ = lock.try_lock();
        folder.lock = Some(lock);
        Ok(folder)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates a file that only the user can read.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl Drop for PrivateFolder {
    /// Deletes the folder. A signal that ends the process meanwhile waits until it is deleted: see [`exit`].
    fn drop(&mut self) {
        let mut registered = folders();
        // Windows deletes no open files.
        self.lock = None;
        remove_folder(&self.path);
        registered.retain(|path| *path != self.path);
    }
}

/// Ends the process without dropping anything, and deletes its folders before.
pub fn exit(code: i32) -> ! {
    remove_private_folders();
    std::process::exit(code)
}

/// Deletes the folders of this process, which is about to end without dropping them.
fn remove_private_folders() {
    for folder in folders().drain(..) {
        remove_folder(&folder);
    }
}

fn remove_folder(folder: &Path) {
    for _ in 0..TRIES {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {}
            _ => break,
        }
    }
}

/// Deletes the folders that processes left which have ended.
pub fn remove_left_over_folders() {
    remove_left_over_folders_in(&std::env::temp_dir());
}

fn remove_left_over_folders_in(temporary: &Path) {
    let Ok(entries) = fs::read_dir(temporary) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name
            .to_str()
            .is_some_and(|name| name.starts_with(FILE_FOR_USER))
            && is_old_file(&entry)
        {
            let _ = fs::remove_file(entry.path());
            continue;
        }
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        let Some(process) = rest.split('-').next().and_then(|pid| pid.parse().ok()) else {
            continue;
        };
        if is_left_over(&entry, process) {
            // Another process may be deleting it as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_old_file(entry: &DirEntry) -> bool {
    let Ok(meta) = entry.metadata() else {
        return false;
    };
    let age = meta.modified().ok().and_then(|at| at.elapsed().ok());
    meta.is_file() && ownership::is_private(&meta) && age.is_some_and(|age| age > READ_WITHIN)
}

fn is_left_over(entry: &DirEntry, process: i32) -> bool {
    // Of the folder itself: a link to a folder is not followed.
    let Ok(meta) = entry.metadata() else {
        return false;
    };
    let age = meta.modified().ok().and_then(|at| at.elapsed().ok());
    let has_ended = has_ended(process) || age.is_some_and(|age| age > OLD);
    let is_locked = || match File::open(entry.path().join(LOCK)) {
        Ok(lock) => lock.try_lock().is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    meta.is_dir() && ownership::is_private(&meta) && has_ended && !is_locked()
}

#[cfg(unix)]
mod ownership {
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt;

    /// Whether the user owns a folder, and nobody else can read it.
    pub(super) fn is_private(meta: &Metadata) -> bool {
        meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 == 0
    }
}

/// On Windows the temporary folder is the user's own, and the age decides.
#[cfg(windows)]
mod ownership {
    use std::fs::Metadata;

    pub(super) fn is_private(_: &Metadata) -> bool {
        true
    }
}

/// Deletes the folders of this process when a signal is about to end it, until [`signals_are_handled`].
#[cfg(unix)]
pub fn remove_private_folders_on_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    remove_private_folders_on(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM])
}

/// The same when the terminal is closed, unless the process is to survive that (`nohup`). Other signals end a run in order.
#[cfg(unix)]
pub fn remove_private_folders_on_hangup() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGQUIT};
    // Elsewhere it is not known whether the signal is ignored; what is left is deleted at the next start.
    if is_hangup_ignored() == Some(false) {
        remove_private_folders_on(&[SIGHUP, SIGQUIT])
    } else {
        Ok(())
    }
}

/// Whether this process ignores the signal of a closed terminal; `None` where the system does not tell.
#[cfg(unix)]
fn is_hangup_ignored() -> Option<bool> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(mask & (1 << (signal_hook::consts::SIGHUP - 1)) != 0)
}

/// Does nothing: Windows has no such signal.
#[cfg(windows)]
pub fn remove_private_folders_on_hangup() -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn remove_private_folders_on(signals: &[i32]) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new(signals)?;
    std::thread::Builder::new()
        .name("folders".into())
        .spawn(move || {
            for signal in signals.forever() {
                if !HANDLED.load(std::sync::atomic::Ordering::SeqCst) {
                    remove_private_folders();
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            }
        })?;
    Ok(())
}

/// Does nothing: folders that are left over are removed at the next start.
#[cfg(windows)]
pub fn remove_private_folders_on_signals() -> io::Result<()> {
    Ok(())
}

/// Whether another part of the program handles signals.
#[cfg(unix)]
static HANDLED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// From now on the caller handles the signals that end the process, and calls [`exit`].
#[cfg(unix)]
pub fn signals_are_handled() {
    HANDLED.store(true, std::sync::atomic::Ordering::SeqCst);
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn folder_is_private_and_deleted_on_drop() {
        let folder = PrivateFolder::create("test").unwrap();
        let path = folder.path().to_path_buf();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        fs::write(path.join("file"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());
        assert!(!folders().contains(&path));
    }

    /// Otherwise a signal could end the process between the two, and the folder would stay.
    #[test]
    fn folder_is_registered_until_it_is_deleted() {
        let folder = PrivateFolder::create("test").unwrap();
        let path = folder.path().to_path_buf();
        for n in 0..2_000 {
            fs::write(path.join(n.to_string()), "x").unwrap();
        }
        let dropping = std::thread::spawn(move || drop(folder));
        while folders().contains(&path) {
            std::thread::yield_now();
        }
        assert!(!path.exists());
        dropping.join().unwrap();
    }

    /// The child is this test in another process.
    #[test]
    fn exit_deletes_folders_without_drop() {
        const IS_CHILD: &str = "EVALTRAIL_TEST_EXITS";
        if std::env::var_os(IS_CHILD).is_some() {
            let folder = PrivateFolder::create("test").unwrap();
            fs::write(folder.path().join("file"), "x").unwrap();
            println!("folder {}", folder.path().display());
            exit(7);
        }
        let name = "process::private_folder::tests::exit_deletes_folders_without_drop";
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let ended = child
            .args(["--exact", name, "--nocapture"])
            .env(IS_CHILD, "1")
            .output()
            .unwrap();
        let printed = String::from_utf8(ended.stdout).unwrap();
        assert_eq!(ended.status.code(), Some(7), "{printed}");
        let folder = printed
            .split("folder ")
            .nth(1)
            .and_then(|rest| rest.lines().next())
            .unwrap();
        assert!(
            folder.contains(PREFIX) && !Path::new(folder).exists(),
            "{folder}"
        );
    }

    /// The child is this test in another process, which receives the signal of a closed terminal.
    #[cfg(target_os = "linux")]
    #[test]
    fn hangup_deletes_folders_unless_ignored() {
        const IS_CHILD: &str = "EVALTRAIL_TEST_HANGS_UP";
        if std::env::var_os(IS_CHILD).is_some() {
            remove_private_folders_on_hangup().unwrap();
            let folder = PrivateFolder::create("test").unwrap();
            println!("folder {}", folder.path().display());
            let this = rustix::process::getpid();
            rustix::process::kill_process(this, rustix::process::Signal::HUP).unwrap();
            if std::env::var(IS_CHILD).unwrap() == "default" {
                // The signal arrives on another thread.
                loop {
                    std::thread::park();
                }
            }
            println!("there: {}", folder.path().exists());
            return;
        }
        if is_hangup_ignored() == Some(true) {
            eprintln!("the tests run with nohup, which a child cannot undo: skipped");
            return;
        }
        let name = "process::private_folder::tests::hangup_deletes_folders_unless_ignored";
        let run = |kind: &str, before: &str| {
            let program = std::env::current_exe().unwrap();
            let script = format!(
                "{before} exec '{}' --exact {name} --nocapture",
                program.display()
            );
            let mut child = std::process::Command::new("sh");
            let ended = child
                .args(["-c", &script])
                .env(IS_CHILD, kind)
                .output()
                .unwrap();
            (ended.status, String::from_utf8(ended.stdout).unwrap())
        };
        let (status, printed) = run("default", "");
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(1),
            "{printed}"
        );
        let folder = printed
            .split("folder ")
            .nth(1)
            .and_then(|rest| rest.lines().next())
            .unwrap();
        assert!(
            folder.contains(PREFIX) && !Path::new(folder).exists(),
            "{folder}"
        );
        let (status, printed) = run("ignored", "trap '' HUP;");
        assert!(
            status.success() && printed.contains("there: true"),
            "{printed}"
        );
    }

    #[test]
    fn only_folders_of_ended_processes_are_removed() {
        let temporary = tempfile::tempdir().unwrap();
        // No process has such a high id.
        let of = |name: &str, mode: u32| {
            let path = temporary.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let left = of("evaltrail-2147483646-run-a", 0o700);
        let locked = of("evaltrail-2147483646-run-b", 0o700);
        let lock = File::create(locked.join(LOCK)).unwrap();
        lock.try_lock().unwrap();
        let alive = of(&format!("evaltrail-{}-run-c", std::process::id()), 0o700);
        let others = [
            of("evaltrail-2147483646-run-d", 0o755),
            of("evaltrail-notes", 0o700),
            of("mine", 0o700),
        ];
        let outside = of("outside", 0o700);
        std::os::unix::fs::symlink(
            &outside,
            temporary.path().join("evaltrail-2147483646-run-e"),
        )
        .unwrap();
        let file = |name: &str, mode: u32, age: Duration| {
            let path = temporary.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_permissions(fs::Permissions::from_mode(mode))
                .unwrap();
            file.set_modified(std::time::SystemTime::now() - age)
                .unwrap();
            path
        };
        let old_file = file("evaltrail-for-you-edit-a.json", 0o600, 2 * READ_WITHIN);
        let new_file = file("evaltrail-for-you-edit-b.json", 0o600, READ_WITHIN / 2);
        let of_others = file("evaltrail-for-you-edit-c.json", 0o644, 2 * READ_WITHIN);
        remove_left_over_folders_in(temporary.path());
        assert!(!left.exists() && !old_file.exists());
        assert!(new_file.exists() && of_others.exists());
        for stays in others.iter().chain([&locked, &alive, &outside]) {
            assert!(stays.join("file").exists(), "{}", stays.display());
        }
    }
}
