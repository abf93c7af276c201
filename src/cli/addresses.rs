//! Addresses of object stores in the place of paths. What a command reads is copied first, and the command works with the
//! copy; what it writes is uploaded.

use super::args::CaseArgs;
use super::output::{print_note, print_progress};
use super::standard_input::read_standard_input;
use anyhow::{Context, bail};
use evaltrail_engine::buckets::{
    BigQueryTable, Bucket, BucketAddress, TableAddress, is_bucket_address, is_table_address,
};
use evaltrail_engine::store::{
    self, AppFolders, Copied, CopyError, RecordedOutput, address_of_copy, copy_bucket,
    copy_pushed_runs, copy_table, new_copy,
};
use evaltrail_engine::workspace::edited_with;
use serde_json::{Map, Value};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Replaces the addresses in the arguments of `run` and `score` by the paths of copies.
pub(super) fn copy_case_inputs(cases: &mut CaseArgs) -> anyhow::Result<()> {
    read_standard_input(cases)?;
    cases.paths.iter_mut().try_for_each(copy_target)?;
    cases.config.iter_mut().try_for_each(copy_at)?;
    cases.initial_session.iter_mut().try_for_each(copy_at)
}

/// The address that a path stands for, if it is one. The error is a message.
pub(super) fn address_in(path: &Path) -> anyhow::Result<Option<BucketAddress>> {
    let Some(text) = path.to_str() else {
        return Ok(None);
    };
    if is_bucket_address(text) {
        return BucketAddress::parse(text)
            .map(Some)
            .map_err(anyhow::Error::msg);
    }
    // A mistyped address must not become a folder. A drive letter of Windows is one character.
    let scheme = text.split_once(":/").map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &&str| {
        scheme.len() > 1
            && scheme
                .chars()
                .all(|one| one.is_ascii_alphanumeric() || one == '+')
    };
    if scheme.filter(is_scheme).is_some() && !path.exists() {
        bail!("{text}: this kind of address is not known; write gs://, s3://, az:// or file:///");
    }
    Ok(None)
}

/// Replaces an address by the path of its copy. Other paths stay.
pub(super) fn copy_at(path: &mut PathBuf) -> anyhow::Result<()> {
    if let Some(table) = table_in(path)? {
        let _waiting = print_when_slow(&table);
        *path = copy_table(&table, &app_folders()?)?;
        return Ok(());
    }
    if let Some(address) = address_in(path)? {
        *path = copy_of(&address)?;
        if !path.exists() {
            bail!("{address}: there is nothing at this address");
        }
    }
    Ok(())
}

/// Replaces the address in `ADDRESS[:id,id]` by the path of its copy.
pub(super) fn copy_target(target: &mut String) -> anyhow::Result<()> {
    replace_target(target, copy_of)
}

/// Like [`copy_target`], for an object that may not exist yet: then its folder is copied.
pub(super) fn copy_target_or_folder(target: &mut String) -> anyhow::Result<()> {
    replace_target(target, |address| match copy_of(address) {
        Err(error)
            if error
                .downcast_ref()
                .is_some_and(|error| matches!(error, CopyError::Refused(_))) =>
        {
            match copy_of(&address.parent()) {
                Ok(folder) => Ok(folder.join(address.name())),
                // Object stores have no folders: a new one comes with its first object.
                Err(_) => Ok(new_copy(address, &app_folders()?)?),
            }
        }
        copied => copied,
    })
}

fn replace_target(
    target: &mut String,
    copy: impl FnOnce(&BucketAddress) -> anyhow::Result<PathBuf>,
) -> anyhow::Result<()> {
    if is_table_address(target) {
        let (address, ids) = match target[5..].find(':') {
            Some(at) => target.split_at(5 + at),
            None => (target.as_str(), ""),
        };
        let table = TableAddress::parse(address).map_err(anyhow::Error::msg)?;
        let _waiting = print_when_slow(&table);
        *target = format!("{}{ids}", text_of(&copy_table(&table, &app_folders()?)?)?);
        return Ok(());
    }
    if !is_bucket_address(target) {
        return Ok(());
    }
    let start = target.find("://").map_or(0, |at| at + 3);
    // The colon after a drive of Windows, as in `file:///C:/folder`, is not that before the cases.
    let has_drive = cfg!(windows) && target.get(start + 2..start + 3) == Some(":");
    let start = if has_drive { start + 3 } else { start };
    let (address, ids) = match target[start..].find(':') {
        Some(at) => target.split_at(start + at),
        None => (target.as_str(), ""),
    };
    let copy = copy(&BucketAddress::parse(address).map_err(anyhow::Error::msg)?)?;
    *target = format!("{}{ids}", text_of(&copy)?);
    Ok(())
}

fn text_of(path: &Path) -> anyhow::Result<&str> {
    path.to_str()
        .context("the path of the cache is not valid UTF-8")
}

/// The table, if a path is the address of one.
fn table_in(path: &Path) -> anyhow::Result<Option<TableAddress>> {
    let text = path.to_str().filter(|text| is_table_address(text));
    text.map(|text| TableAddress::parse(text).map_err(anyhow::Error::msg))
        .transpose()
}

fn copy_of(address: &BucketAddress) -> anyhow::Result<PathBuf> {
    if let Some(path) = address.local_path() {
        return Ok(path);
    }
    let app_folders = app_folders()?;
    let names = edited_with(Path::new(address.name()));
    let names = names
        .iter()
        .skip(1)
        .filter_map(|path| path.to_str())
        .map(str::to_string);
    let beside: Vec<String> = names.chain(["evaltrail.toml".to_string()]).collect();
    let _waiting = print_when_slow(address);
    Ok(path_of(
        address,
        copy_bucket(address, &beside, &app_folders, &mut progress(address))?,
    ))
}

/// The path of a copy. Prints what was left out.
fn path_of(address: &BucketAddress, copied: Copied) -> PathBuf {
    if copied.left_out.count > 0 {
        print_note(&format!("{address}: {}", copied.left_out));
    }
    copied.path
}

/// Copies the runs at an address, or updates the copy, and returns its path.
pub(super) fn copy_runs(address: &BucketAddress) -> anyhow::Result<PathBuf> {
    let _waiting = print_when_slow(address);
    Ok(path_of(
        address,
        copy_pushed_runs(address, &app_folders()?, &mut progress(address))?,
    ))
}

/// Like [`copy_runs`], without printing anything.
pub(super) fn copy_runs_quietly(address: &BucketAddress) -> anyhow::Result<PathBuf> {
    Ok(copy_pushed_runs(address, &app_folders()?, &mut |_, _| ())?.path)
}

/// Prints what is waited for if the returned value is not dropped within two seconds.
pub(super) fn print_when_slow(address: &dyn std::fmt::Display) -> Sender<()> {
    const SLOW: Duration = Duration::from_secs(2);
    let (done, is_done) = channel();
    let words = format!("waiting for {address}");
    std::thread::spawn(move || {
        if is_done.recv_timeout(SLOW) == Err(RecvTimeoutError::Timeout) {
            print_note(&words);
        }
    });
    done
}

fn app_folders() -> anyhow::Result<AppFolders> {
    AppFolders::find().context("there is no folder for copies: set EVALTRAIL_HOME")
}

/// Displays how many objects were copied.
fn progress(address: &BucketAddress) -> impl FnMut(usize, usize) + use<> {
    const INTERVAL: Duration = Duration::from_millis(100);
    let (address, mut shown) = (address.to_string(), Instant::now());
    move |done, all| {
        if done == all || shown.elapsed() > INTERVAL {
            shown = Instant::now();
            print_progress(
                &format!("{address}: {done} of {all} objects copied"),
                done == all,
            );
        }
    }
}

/// Checks whether [`fill_output`] can probably write a file or an object.
pub(super) fn can_write_output(path: &Path) -> anyhow::Result<()> {
    if let Some(table) = table_in(path)? {
        return Ok(BigQueryTable::open(&table).map(drop)?);
    }
    match address_in(path)? {
        Some(address) if address.key.is_empty() => {
            bail!("{address}: the name of the object is missing")
        }
        Some(address) if address.local_path().is_none() => {
            let _waiting = print_when_slow(&address);
            Ok(Bucket::open(&address)?.check()?)
        }
        Some(address) => Ok(store::can_write_output(&local_output(&address)?)?),
        None => Ok(store::can_write_output(path)?),
    }
}

/// Writes a file, or an object, replacing an existing one.
pub(super) fn fill_output(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    if let Some(table) = table_in(path)? {
        let mut lines = Vec::new();
        fill(&mut lines)?;
        let _waiting = print_when_slow(&table);
        return Ok(BigQueryTable::open(&table)?.append(table_rows(&lines)?)?);
    }
    let address = address_in(path)?;
    match address {
        Some(address) if address.local_path().is_none() => {
            let mut bytes = Vec::new();
            fill(&mut bytes)?;
            let _waiting = print_when_slow(&address);
            Ok(Bucket::open(&address)?.put("", bytes).map(drop)?)
        }
        Some(address) => Ok(store::fill_output(&local_output(&address)?, fill)?),
        None => Ok(store::fill_output(path, fill)?),
    }
}

/// Writes a report or a recording like [`fill_output`], and records its content, so that it is not taken for a data set.
pub(super) fn fill_result(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut recorded = Ok(());
    fill_output(path, |out| {
        let mut out = RecordedOutput::new(out);
        fill(&mut out)?;
        recorded = AppFolders::find().map_or(Ok(()), |app_folders| out.record(&app_folders));
        Ok(())
    })?;
    if let Err(error) = recorded {
        print_note(&not_recorded_note(path, &error.to_string()));
    }
    Ok(())
}

/// The note that a written file may be listed as a data set, and why.
pub(super) fn not_recorded_note(path: &Path, why: &str) -> String {
    format!(
        "{}: it may be listed as a data set, because it could not be recorded: {why}",
        path.display()
    )
}

/// The rows of lines of JSON, with names that BigQuery accepts: `metric/score` becomes `metric_score`. Lists and objects are
/// written as texts of JSON.
fn table_rows(lines: &[u8]) -> anyhow::Result<Vec<Map<String, Value>>> {
    let cell = |value: Value| match value {
        Value::Array(_) | Value::Object(_) => Value::String(value.to_string()),
        value => value,
    };
    let name = |name: String| -> String {
        name.chars()
            .map(|one| {
                if one.is_alphanumeric() || one == '_' {
                    one
                } else {
                    '_'
                }
            })
            .collect()
    };
    let row = |line: &[u8]| -> anyhow::Result<Map<String, Value>> {
        let row: Map<String, Value> =
            serde_json::from_slice(line).context("only `vertex` can be written to a table")?;
        Ok(row
            .into_iter()
            .map(|(key, value)| (name(key), cell(value)))
            .collect())
    };
    lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(row)
        .collect()
}

/// The path of an object in a folder of this machine. The folders above it are created, as objects need none.
fn local_output(address: &BucketAddress) -> io::Result<PathBuf> {
    let path = address.local_path().unwrap_or_default();
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    Ok(path)
}

/// The title of a folder or file in the explorer, if it is a copy.
pub(super) fn title_of_copy(path: &Path) -> Option<String> {
    let mut app_folders = AppFolders::find()?;
    app_folders.cache = dunce::canonicalize(&app_folders.cache).unwrap_or(app_folders.cache);
    address_of_copy(path, &app_folders).map(|address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_urls_are_used_as_local_paths() {
        let mut target = "file:///tmp/x.evalset.json:a,b".to_string();
        copy_target(&mut target).unwrap();
        assert_eq!(target, "/tmp/x.evalset.json:a,b");
        let mut path = PathBuf::from("file:///nowhere/x");
        assert!(
            copy_at(&mut path)
                .unwrap_err()
                .to_string()
                .contains("nothing at this address")
        );
        let mut other = PathBuf::from("dir/x");
        copy_at(&mut other).unwrap();
        assert_eq!(other, Path::new("dir/x"));
    }
}
