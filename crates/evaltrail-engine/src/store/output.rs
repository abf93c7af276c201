//! Files that the user asked for by their paths: reports, recordings, exports and new sets. A link at such a path may be another
//! person's: one that leads out of the folder is not written through.

use super::whole_file::{can_write, fill_whole};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// Writes a file atomically, as [`fill_whole`]. Errors: as those of `fill_whole`, and that a link leads out of the folder.
pub fn fill_output(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    check_links(path)?;
    fill_whole(path, fill)
}

/// Checks whether [`fill_output`] can probably write a file, without changing it.
pub fn can_write_output(path: &Path) -> io::Result<()> {
    check_links(path)?;
    can_write(path)
}

/// Checks the links in the path of a file or folder that is to be created. Errors: one leads out of the folder in which it is to
/// be, or belongs to another user.
pub fn check_links(path: &Path) -> io::Result<()> {
    // Devices and pipes are no files of anybody.
    if is_stream_of_process(path) || path.metadata().is_ok_and(|meta| !meta.is_file()) {
        return Ok(());
    }
    if let Some(link) = foreign_link(path) {
        let why = format!(
            "{} is a link of another user; nothing was written",
            link.display()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let (Some(folder), Some(target)) = (folder_of(path), target_of(path)) else {
        return Ok(());
    };
    if target.starts_with(&folder) {
        return Ok(());
    }
    let why = format!(
        "it is a link to {}, outside its folder; nothing was written: name that file itself to write there",
        target.display()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Whether a path is a link to what the shell opened for this process: `/dev/stdout`, `/dev/fd/63`.
fn is_stream_of_process(path: &Path) -> bool {
    let is_number = |name: &OsStr| {
        name.to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok())
    };
    match (path.parent().and_then(Path::to_str), path.file_name()) {
        (Some("/dev"), Some(name)) => name == "stdout" || name == "stderr",
        (Some("/dev/fd" | "/proc/self/fd"), Some(name)) => is_number(name),
        _ => false,
    }
}

/// The folder that must contain the file: the current one for a path in it; that which contains it for other absolute paths,
/// and for paths that lead upwards, whose folders the user chose. `None` if it does not exist.
fn folder_of(path: &Path) -> Option<PathBuf> {
    let leads_down = |path: &Path| {
        path.components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    };
    let current = std::env::current_dir().ok();
    let below = current
        .as_ref()
        .and_then(|current| path.strip_prefix(current).ok());
    let folder = match path.parent() {
        Some(parent) if !leads_down(below.unwrap_or(path)) => parent,
        _ => Path::new("."),
    };
    dunce::canonicalize(folder).ok()
}

/// The first link in a path that belongs neither to the user nor to root: another user chose where it leads.
#[cfg(unix)]
fn foreign_link(path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    let is_foreign = |path: &&Path| {
        let meta = path
            .symlink_metadata()
            .ok()
            .filter(|meta| meta.file_type().is_symlink());
        meta.is_some_and(|meta| ![0, user].contains(&meta.uid()))
    };
    path.ancestors()
        .filter(is_foreign)
        .last()
        .map(Path::to_path_buf)
}

/// On Windows only administrators create links.
#[cfg(windows)]
fn foreign_link(_: &Path) -> Option<PathBuf> {
    None
}

/// Where the file is, or the nearest of the folders above it that exists.
fn target_of(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .map(|part| {
            if part.as_os_str().is_empty() {
                Path::new(".")
            } else {
                part
            }
        })
        .find_map(|part| {
            // A link to nothing is replaced, not followed.
            dunce::canonicalize(part).ok()
        })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn output_is_not_written_through_outside_link() {
        let outer = tempfile::tempdir().unwrap();
        let (folder, outside) = (outer.path().join("folder"), outer.path().join("outside"));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("mine"), "mine").unwrap();
        symlink(outside.join("mine"), folder.join("report.json")).unwrap();
        symlink("inside.json", folder.join("alias.json")).unwrap();
        symlink(outside.join("nothing"), folder.join("dangling.json")).unwrap();
        fs::write(folder.join("inside.json"), "before").unwrap();
        let write = |name: &str| fill_output(&folder.join(name), |out| out.write_all(b"new"));
        let refused = write("report.json").unwrap_err();
        assert!(
            refused.to_string().contains("outside its folder"),
            "{refused}"
        );
        assert!(can_write_output(&folder.join("report.json")).is_err());
        assert_eq!(fs::read_to_string(outside.join("mine")).unwrap(), "mine");
        write("alias.json").unwrap();
        assert_eq!(
            fs::read_to_string(folder.join("inside.json")).unwrap(),
            "new"
        );
        write("dangling.json").unwrap();
        assert_eq!(
            fs::read_to_string(folder.join("dangling.json")).unwrap(),
            "new"
        );
        assert!(!outside.join("nothing").exists());
        // A folder that the user named by its own path may be a link.
        symlink(&folder, outer.path().join("other_name")).unwrap();
        let through = outer.path().join("other_name/new.json");
        fill_output(&through, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(folder.join("new.json")).unwrap(), "new");
    }

    #[test]
    fn only_streams_and_devices_are_exempt() {
        for (path, is_exempt) in [
            ("/dev/stdout", true),
            ("/dev/fd/63", true),
            ("/proc/self/fd/1", true),
            ("/dev/shm/report.json", false),
            ("/dev/fd/../shm/x", false),
            ("/proc/self/fd/1/x", false),
        ] {
            assert_eq!(is_stream_of_process(Path::new(path)), is_exempt, "{path}");
        }
    }

    #[test]
    fn a_link_of_another_user_is_not_followed() {
        let outer = tempfile::tempdir().unwrap();
        let (folder, link) = (outer.path().join("folder"), outer.path().join("link"));
        fs::create_dir(&folder).unwrap();
        symlink(&folder, &link).unwrap();
        let report = link.join("report.json");
        assert_eq!(foreign_link(&report), None);
        if std::os::unix::fs::lchown(&link, Some(4242), None).is_err() {
            assert!(
                std::env::var_os("EVALTRAIL_REQUIRE_ROOT").is_none(),
                "root is required here"
            );
            println!("skipped: only root can create links of another user");
            return;
        }
        let refused = fill_output(&report, |out| out.write_all(b"new")).unwrap_err();
        assert!(
            refused.to_string().contains("is a link of another user"),
            "{refused}"
        );
        assert!(!folder.join("report.json").exists());
    }

    #[test]
    fn the_streams_of_the_process_are_written() {
        can_write_output(Path::new("/dev/null")).unwrap();
        fill_output(Path::new("/dev/null"), |out| out.write_all(b"new")).unwrap();
    }
}
