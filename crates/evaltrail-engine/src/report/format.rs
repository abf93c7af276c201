//! A format of reports.

use super::cause_states::CauseStates;
use super::comparison::ComparedRuns;
use crate::history::RunTrends;
use evaltrail_core::domain::RunState;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a report. Errors: those of the output, and attempts that cannot be read.
pub type WriteReport = fn(&RunState, EarlierRuns<'_>, &mut dyn Write) -> io::Result<()>;

/// What a report may contain besides the run: how it compares with earlier runs.
#[derive(Clone, Copy, Default)]
pub struct EarlierRuns<'a> {
    /// The trends of its sets over the runs of the workspace.
    pub trends: Option<&'a RunTrends>,
    /// What became of the causes of failures.
    pub causes: Option<CauseStates<'a>>,
    /// The comparison with the baseline.
    pub baseline: Option<BaselineText<'a>>,
}

/// How a run compares with the baseline.
#[derive(Clone, Copy)]
pub struct BaselineText<'a> {
    /// A line, followed by lines with cases.
    pub words: &'a str,
    /// The cases that passed in the baseline and do not any more, as positions in the plan, ascending.
    pub broke: &'a [usize],
}

impl EarlierRuns<'_> {
    /// Whether a case passed in the baseline and does not any more.
    pub(super) fn has_broken(&self, case: usize) -> bool {
        let broke = self.baseline.map(|baseline| baseline.broke);
        broke.is_some_and(|broke| broke.binary_search(&case).is_ok())
    }
}

/// Writes two compared runs. Errors: those of the output.
pub type WriteComparison = fn(&ComparedRuns<'_>, &mut dyn Write) -> io::Result<()>;

/// A format of reports. Each has a file with a constant of this type, and a line in [`REPORTS`](super::REPORTS).
#[derive(Clone, Copy)]
pub struct ReportFormat {
    /// The name on the command line.
    pub name: &'static str,
    /// Another name on the command line; empty if there is none.
    pub alias: &'static str,
    /// The file name extension that selects this format for an export, without the dot; empty if none does.
    pub ending: &'static str,
    /// Writes the report of a run.
    pub write: WriteReport,
    /// Writes the report of a run with an indented line for each value, if `write` has a shorter form.
    pub write_indented: Option<WriteReport>,
    /// Whether the report contains the trends of its sets.
    pub has_trends: bool,
    /// Writes the report to a file whose name ends in `.csv`, if that is another form.
    pub write_csv: Option<WriteReport>,
    /// Writes two compared runs, if the format has a form for them.
    pub write_comparison: Option<WriteComparison>,
}

/// The fields that most formats share.
pub(super) const BASE: ReportFormat = ReportFormat {
    name: "",
    alias: "",
    ending: "",
    write: |_, _, _| Ok(()),
    write_indented: None,
    has_trends: false,
    write_csv: None,
    write_comparison: None,
};

impl ReportFormat {
    /// The same format, with an indented line for each value if it has such a form.
    pub fn indented(self) -> ReportFormat {
        ReportFormat {
            write: self.write_indented.unwrap_or(self.write),
            ..self
        }
    }

    /// Writes the report of a run to a file of this name; with the ending `.gz`, it is compressed. Errors: as of
    /// [`WriteReport`].
    pub fn write_named(
        &self,
        state: &RunState,
        earlier: EarlierRuns<'_>,
        file: &Path,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(unpacked) = without_gz(file) else {
            return self.write_as_named(state, earlier, file, out);
        };
        let mut packed = GzEncoder::new(out, Compression::fast());
        self.write_as_named(state, earlier, &unpacked, &mut packed)?;
        packed.finish().map(|_| ())
    }

    fn write_as_named(
        &self,
        state: &RunState,
        earlier: EarlierRuns<'_>,
        file: &Path,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let is_csv = file
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        match self.write_csv {
            Some(write_csv) if is_csv => write_csv(state, earlier, out),
            _ => (self.write)(state, earlier, out),
        }
    }
}

/// The name of a compressed file without the ending `.gz`; `None` for other files.
pub(super) fn without_gz(file: &Path) -> Option<PathBuf> {
    let ending = file.extension()?;
    ending
        .eq_ignore_ascii_case("gz")
        .then(|| file.with_extension(""))
}

impl fmt::Debug for ReportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
