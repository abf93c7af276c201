//! Files that the user asked for by their paths: reports, recordings and exports. A link at such a path may be another
//! person's: one that leads out of the folder is not written through.

use super::save::{can_write, fill_whole};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// Writes a file atomically, as [`fill_whole`]. Errors: as those of `fill_whole`, and that a link leads out of the folder.
pub fn fill_output(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    check_links(path)?;
    fill_whole(path, fill)
}

/// Checks whether [`fill_output`] can probably write a file, without changing it.
pub fn can_write_output(path: &Path) -> io::Result<()> {
    check_links(path)?;
    can_write(path)
}

/// Errors: a link in the path leads out of the folder in which the file is to be.
fn check_links(path: &Path) -> io::Result<()> {
    // `/dev/stdout` and `/dev/fd/63` are links to what the shell opened for this process.
    let is_of_process = ["/dev", "/proc/self/fd"].iter().any(|folder| path.starts_with(folder));
    let (Some(folder), Some(target)) = (folder_of(path), target_of(path)) else { return Ok(()) };
    if is_of_process || target.starts_with(&folder) {
        return Ok(());
    }
    let why = format!(
        "it is a link to {}, outside its folder; nothing was written: name that file itself to write there",
        target.display()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// The folder that must contain the file: the current one for a relative path; that which contains it for an absolute path,
/// and for one that leads upwards, whose folders the user chose. `None` if it does not exist.
fn folder_of(path: &Path) -> Option<PathBuf> {
    let leads_down = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let folder = match path.parent() {
        Some(parent) if !leads_down => parent,
        _ => Path::new("."),
    };
    dunce::canonicalize(folder).ok()
}

/// Where the file is, or the nearest of the folders above it that exists.
fn target_of(path: &Path) -> Option<PathBuf> {
    path.ancestors().map(|part| if part.as_os_str().is_empty() { Path::new(".") } else { part }).find_map(
        |part| {
            // A link to nothing is replaced, not followed.
            dunce::canonicalize(part).ok()
        },
    )
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_that_leads_out_of_the_folder_is_not_written_through() {
        let place = tempfile::tempdir().unwrap();
        let (folder, outside) = (place.path().join("folder"), place.path().join("outside"));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("mine"), "mine").unwrap();
        symlink(outside.join("mine"), folder.join("report.json")).unwrap();
        symlink("inside.json", folder.join("alias.json")).unwrap();
        symlink(outside.join("nothing"), folder.join("dangling.json")).unwrap();
        fs::write(folder.join("inside.json"), "before").unwrap();
        let write = |name: &str| fill_output(&folder.join(name), |out| out.write_all(b"new"));
        let refused = write("report.json").unwrap_err();
        assert!(refused.to_string().contains("outside its folder"), "{refused}");
        assert!(can_write_output(&folder.join("report.json")).is_err());
        assert_eq!(fs::read_to_string(outside.join("mine")).unwrap(), "mine");
        write("alias.json").unwrap();
        assert_eq!(fs::read_to_string(folder.join("inside.json")).unwrap(), "new");
        write("dangling.json").unwrap();
        assert_eq!(fs::read_to_string(folder.join("dangling.json")).unwrap(), "new");
        assert!(!outside.join("nothing").exists());
        // A folder that the user named by its own path may be a link.
        symlink(&folder, place.path().join("other_name")).unwrap();
        let through = place.path().join("other_name/new.json");
        fill_output(&through, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(folder.join("new.json")).unwrap(), "new");
    }

    #[test]
    fn the_streams_of_the_process_are_written() {
        can_write_output(Path::new("/dev/null")).unwrap();
        fill_output(Path::new("/dev/null"), |out| out.write_all(b"new")).unwrap();
    }
}
