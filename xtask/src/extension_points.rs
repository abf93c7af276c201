//! Adds a sample of each extension point to a clone and compiles it: what docs/developers.md says is enough to add a
//! screen, a dialog, a command, a subcommand, a report, a metric or a library that writes traces is enough. Prints the
//! files that each one changes.

use crate::commands::{command, root, run, text};
use crate::repository_clone::RepositoryClone;
use anyhow::Context;
use std::fs;

/// A sample of an extension point.
struct Sample {
    name: &'static str,
    /// The new file and its text.
    file: Option<(&'static str, &'static str)>,
    /// Lines that are added to other files.
    lines: &'static [AddedLine],
}

/// Text that is inserted after the first line that contains `after`; at the end of the file if that is empty.
struct AddedLine {
    file: &'static str,
    after: &'static str,
    text: &'static str,
}

const SAMPLES: &[Sample] = &[
    Sample {
        name: "screen",
        file: Some(("src/explorer/screens/sample/mod.rs", SCREEN)),
        lines: &[AddedLine {
            file: "src/explorer/screens/mod.rs",
            after: "pub mod runs;",
            text: "pub mod sample;",
        }],
    },
    Sample {
        name: "dialog",
        file: Some(("src/explorer/dialogs/sample.rs", DIALOG)),
        lines: &[AddedLine {
            file: "src/explorer/dialogs/mod.rs",
            after: "pub mod rule;",
            text: "pub mod sample;",
        }],
    },
    Sample {
        name: "command",
        file: None,
        lines: &[
            AddedLine {
                file: "src/explorer/commands/general.rs",
                after: "",
                text: COMMAND,
            },
            AddedLine {
                file: "src/explorer/commands/mod.rs",
                after: "    &QUIT,",
                text: "    &SAMPLE_COMMAND,",
            },
        ],
    },
    Sample {
        name: "subcommand",
        file: Some(("src/cli/sample.rs", SUBCOMMAND)),
        lines: &[
            AddedLine {
                file: "src/cli/mod.rs",
                after: "mod runs;",
                text: "mod sample;",
            },
            AddedLine {
                file: "src/cli/mod.rs",
                after: "    CommandRow::new::<docs::ManArgs>(),",
                text: "    CommandRow::new::<sample::SampleArgs>(),",
            },
        ],
    },
    Sample {
        name: "report",
        file: Some(("crates/evaltrail-engine/src/report/sample.rs", REPORT)),
        lines: &[
            AddedLine {
                file: "crates/evaltrail-engine/src/report/mod.rs",
                after: "mod rerun;",
                text: "mod sample;",
            },
            AddedLine {
                file: "crates/evaltrail-engine/src/report/mod.rs",
                after: "    &json::REPORT,",
                text: "    &sample::REPORT,",
            },
        ],
    },
    Sample {
        name: "library",
        file: Some((
            "crates/evaltrail-core/src/formats/spans/libraries/sample.rs",
            LIBRARY,
        )),
        lines: &[
            AddedLine {
                file: "crates/evaltrail-core/src/formats/spans/libraries/mod.rs",
                after: "mod openinference;",
                text: "mod sample;",
            },
            AddedLine {
                file: "crates/evaltrail-core/src/formats/spans/libraries/mod.rs",
                after: "    &ai_sdk::DIALECT,",
                text: "    &sample::DIALECT,",
            },
        ],
    },
    Sample {
        name: "metric",
        file: Some(("crates/evaltrail-core/src/metrics/sample.rs", METRIC)),
        lines: &[
            AddedLine {
                file: "crates/evaltrail-core/src/metrics/mod.rs",
                after: "mod rules;",
                text: "mod sample;",
            },
            AddedLine {
                file: "crates/evaltrail-core/src/metrics/catalog/own.rs",
                after: "pub(super) const METRICS",
                text: METRIC_ROW,
            },
        ],
    },
];

pub fn check() -> anyhow::Result<()> {
    let clone = RepositoryClone::new()?;
    for sample in SAMPLES {
        sample.add(&clone).with_context(|| sample.name)?;
        run(&mut clone.git(&["add", "-A"]))?;
        let changes = text(&mut clone.git(&["diff", "--cached", "--name-status"]))?;
        let change = |line: &str| match line.split_once('\t') {
            Some(("A", file)) => format!("+ {file}"),
            Some((_, file)) => format!("~ {file}"),
            None => line.to_string(),
        };
        let changes: Vec<String> = changes.lines().map(change).collect();
        println!("{:<10} {}", sample.name, changes.join(" "));
        let author = [
            "-c",
            "user.name=sample",
            "-c",
            "user.email=sample@localhost",
        ];
        run(&mut clone.git(&[&author[..], &["commit", "-qm", sample.name]].concat()))?;
    }
    let mut check = command(clone.path(), "cargo", &["check", "--locked", "--lib"]);
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        check.env("CARGO_TARGET_DIR", root().join("target"));
    }
    run(&mut check)?;
    println!("every sample compiles");
    Ok(())
}

impl Sample {
    fn add(&self, clone: &RepositoryClone) -> anyhow::Result<()> {
        if let Some((file, code)) = self.file {
            let path = clone.path().join(file);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, code)?;
        }
        self.lines.iter().try_for_each(|line| line.add(clone))
    }
}

impl AddedLine {
    fn add(&self, clone: &RepositoryClone) -> anyhow::Result<()> {
        let path = clone.path().join(self.file);
        let code = fs::read_to_string(&path)?;
        let end = match self.after {
            "" => code.len(),
            after => {
                let line = code.lines().find(|line| line.contains(after));
                let line =
                    line.with_context(|| format!("{}: no line has {after:?} in it", self.file))?;
                code.find(line).unwrap_or_default() + line.len()
            }
        };
        let (start, rest) = code.split_at(end);
        Ok(fs::write(path, format!("{start}\n{}{rest}", self.text))?)
    }
}

const SCREEN: &str = "//! A sample.

use crate::explorer::shared::context::Context;
use crate::explorer::shared::model::{Screen, ScreenFunctions};
use crate::explorer::shared::screen::nothing;

static SCREEN: ScreenFunctions = ScreenFunctions {
    context: Context::Live,
    layout: |base, _| base,
    title: |_, _, _, _| {},
    status: None,
    draw: |_, _, _, _| None,
    scroll: |_, _| {},
    mouse: |_, _| Vec::new(),
    open: nothing,
    back: nothing,
    text: None,
};

/// A sample.
#[derive(Debug)]
pub struct SampleScreen;

impl Screen for SampleScreen {
    fn functions(&self) -> &'static ScreenFunctions {
        &SCREEN
    }
}
";

const DIALOG: &str = "//! A sample.

use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;

/// A sample.
#[derive(Debug)]
pub struct SampleDialog;

impl Dialog for SampleDialog {
    fn draw(&self, _: &Model, _: &Layout, _: &Theme, _: &mut Buffer) -> Option<Position> {
        None
    }
}
";

const COMMAND: &str = r#"
pub static SAMPLE_COMMAND: Command = Command {
    id: &CommandName { name: "sample", default_keys: &["c 9"] },
    help: "do nothing",
    ..BASE
};
"#;

const SUBCOMMAND: &str = r#"//! `evaltrail sample`.

use super::Exit;
use super::subcommand::CliCommand;
use clap::Args;

/// Do nothing
#[derive(Args, Debug)]
pub(super) struct SampleArgs {}

impl CliCommand for SampleArgs {
    const NAME: &'static str = "sample";

    fn run(self) -> anyhow::Result<Exit> {
        Ok(Exit::Success)
    }
}
"#;

const REPORT: &str = r#"//! A sample.

use super::format::{BASE, ReportFormat};

/// A sample.
pub(super) const REPORT: ReportFormat =
    ReportFormat { name: "sample", write: |_, _, out| writeln!(out, "sample"), ..BASE };
"#;

const LIBRARY: &str = "//! A sample.

use crate::formats::spans::dialect::Dialect;
use crate::formats::spans::facts::SpanFacts;

/// A sample.
pub(super) static DIALECT: Dialect =
    Dialect { wrote: |_| false, facts_of: |_| SpanFacts::default(), how_to_record: None };
";

const METRIC: &str = r#"//! A sample.

use super::criterion_error::CriterionError;
use super::measure::{Evidence, Measure, Outcome, TurnScore, by_every_turn};
use crate::domain::Criterion;

/// A sample.
pub(super) struct Sample;

impl Sample {
    pub(super) fn new(_: &Criterion) -> Result<Self, CriterionError> {
        Ok(Sample)
    }
}

impl Measure for Sample {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        by_every_turn(evidence, |_, _| TurnScore::scored(1.0, ""))
    }
}
"#;

const METRIC_ROW: &str = r#"    MetricInfo {
        name: "sample",
        family: Family::Own,
        summary: "a sample",
        definition: "1.",
        source: "evaltrail",
        build: Build::Computed(|criterion| computed(crate::metrics::sample::Sample::new(criterion))),
        ..BASE
    },"#;
