//! A past run as a file for others: a report in the format of the file's ending, or the run itself.

use super::format::without_gz;
use super::{EarlierRuns, REPORTS, ReportFormat};
use crate::runner::{export, redacted};
use crate::store::{AppFolders, LoadedRun, RecordedOutput, fill_output};
use crate::workspace::Workspace;
use std::io;
use std::path::Path;

/// What a run was written as.
pub struct ExportedFile {
    /// The format of the report; `None`: the run itself, which `evaltrail open` opens.
    pub report: Option<&'static ReportFormat>,
    /// Why the report may be listed as a data set: it could not be recorded as evaltrail's own.
    pub not_recorded: Option<String>,
}

/// Writes a run, without known secrets, to a file. Errors: the run or one of its attempts cannot be read, the file cannot be
/// written, or [its name promises another format](export_name_problem).
pub fn export_as_named(
    workspace: &Workspace,
    run: &LoadedRun,
    to: &Path,
) -> io::Result<ExportedFile> {
    if let Some(problem) = export_name_problem(to) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    if let Some(folder) = to.parent().filter(|folder| !folder.as_os_str().is_empty())
        && !folder.is_dir()
    {
        let problem = format!("there is no folder {}", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    let Some(format) = format_of(to) else {
        export(workspace, run, to)?;
        return Ok(ExportedFile {
            report: None,
            not_recorded: None,
        });
    };
    let state = redacted(workspace, &run.state)?;
    let mut recorded = Ok(());
    fill_output(to, |out| {
        let mut out = RecordedOutput::new(out);
        format.write_named(&state, EarlierRuns::default(), to, &mut out)?;
        recorded = AppFolders::find().map_or(Ok(()), |app_folders| out.record(&app_folders));
        Ok(())
    })?;
    Ok(ExportedFile {
        report: Some(format),
        not_recorded: recorded.err().map(|error| error.to_string()),
    })
}

/// Why a run is not written to a file of this name: its ending is that of another format. `None` if it is written.
pub fn export_name_problem(file: &Path) -> Option<String> {
    let ending = file.extension()?.to_str()?;
    let is_of_a_format =
        matches!(ending.len(), 1..=5) && ending.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_known = format_of(file).is_some() || ["evaltrail", "gz"].contains(&ending);
    (is_of_a_format && !is_known).then(|| {
        format!(".{ending} is not a format of reports; use .html, .md, .xml, .json or .csv, or .evaltrail for the run itself")
    })
}

/// The format whose extension, name or alias is the extension of a file, or stands before `.gz`.
fn format_of(file: &Path) -> Option<&'static ReportFormat> {
    let unpacked = without_gz(file);
    let ending = unpacked
        .as_deref()
        .unwrap_or(file)
        .extension()?
        .to_str()?
        .to_ascii_lowercase();
    let with_ending = |format: &&ReportFormat| {
        let names = [format.ending, format.name, format.alias];
        !format.ending.is_empty() && !ending.is_empty() && names.contains(&ending.as_str())
    };
    REPORTS.iter().copied().find(with_ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ending_chooses_the_format() {
        for (file, expected) in [
            ("run.html", Some("html")),
            ("RUN.HTML", Some("html")),
            ("run.md", Some("markdown")),
            ("run.markdown", Some("markdown")),
            ("run.junit", Some("junit")),
            ("run.xml", Some("junit")),
            ("run.json", Some("json")),
            ("run.json.gz", Some("json")),
            ("run.gz", None),
            ("run.csv", Some("csv")),
            ("run.evaltrail", None),
            ("html", None),
            ("run.", None),
        ] {
            let found = format_of(Path::new(file)).map(|format| format.name);
            assert_eq!(found, expected, "{file}");
        }
    }

    #[test]
    fn ending_of_another_format_is_refused() {
        for file in ["run.pdf", "a/run.htm", "run.TXT"] {
            let problem = export_name_problem(Path::new(file)).unwrap_or_default();
            assert!(problem.contains(".html, .md"), "{file}: {problem}");
        }
        for file in [
            "run",
            "run.evaltrail",
            "run.html",
            "run.json.gz",
            "run.2026-11-28",
            "run.v2",
        ] {
            assert_eq!(export_name_problem(Path::new(file)), None, "{file}");
        }
    }
}
