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

/// Writes a run, without known secrets, to a file. Errors: the run or one of its attempts cannot be read, or the file
/// cannot be written.
pub fn export_as_named(
    workspace: &Workspace,
    run: &LoadedRun,
    to: &Path,
) -> io::Result<ExportedFile> {
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
        recorded = AppFolders::find().map_or(Ok(()), |places| out.record(&places));
        Ok(())
    })?;
    Ok(ExportedFile {
        report: Some(format),
        not_recorded: recorded.err().map(|error| error.to_string()),
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
}
