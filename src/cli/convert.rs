//! `evaltrail convert`: converts legacy tests and other formats to eval sets, or to Vertex JSON Lines.

use super::Exit;
use super::addresses::copy_at;
use super::addresses::fill_output;
use super::output::print_note;
use super::subcommand::CliCommand;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use evaltrail_core::domain::clean_line;
use evaltrail_core::domain::counted;
use evaltrail_core::formats::ColumnMap;
use evaltrail_core::formats::{
    ConversionInputs, ConversionTarget, Converted, SetFile, adk, convert as convert_cases,
};
use evaltrail_engine::workspace::{Workspace, open_set, read_text};
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// Convert legacy tests and other formats to ADK eval sets, or to Vertex JSON Lines
#[derive(Args, Debug)]
pub(super) struct ConvertArgs {
    /// The file to convert
    pub(super) input: PathBuf,
    /// The file to write: .evalset.json for ADK, .jsonl for Vertex
    #[arg(short, long)]
    pub(super) output: PathBuf,
    /// Read these columns of data sets as those that evaltrail knows, e.g. prompt=question,reference=answer
    #[arg(long, value_name = "KNOWN=NAME,...", value_parser = ColumnMap::parse, default_value = "", hide_default_value = true)]
    pub(super) columns: ColumnMap,
    /// Output format, if the file extension does not determine it
    #[arg(long, value_enum)]
    pub(super) to: Option<ConvertTo>,
    /// File with the initial session, for ADK's older test files
    #[arg(long, value_name = "FILE")]
    pub(super) initial_session: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConvertTo {
    Adk,
    Vertex,
}

impl CliCommand for ConvertArgs {
    const NAME: &'static str = "convert";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_at(&mut self.input)?;
        self.initial_session.iter_mut().try_for_each(copy_at)
    }

    fn run(self) -> anyhow::Result<Exit> {
        convert(self)
    }
}

pub(super) fn convert(args: ConvertArgs) -> anyhow::Result<Exit> {
    let target = target(&args)?;
    if args.output.exists() && !args.force {
        bail!(
            "{} already exists; --force overwrites it",
            args.output.display()
        );
    }
    let workspace = Workspace::open_with(&args.input, &args.columns)?;
    let Some(set) = workspace.sets.first().filter(|_| args.input.is_file()) else {
        bail!("{} is a folder; name one file", args.input.display());
    };
    let open = open_set(set).with_context(|| args.input.display().to_string())?;
    // A list of turns has no id of its own; ADK names its one case after the file.
    let file = match open.file.form {
        evaltrail_core::formats::FileFormat::TurnList => {
            let name = args.input.file_name().unwrap_or_default().to_string_lossy();
            SetFile::open(Arc::from(open.file.text()), &name)?
        }
        _ => open.file,
    };
    let session = match &args.initial_session {
        None => None,
        Some(path) => adk::read_initial_session(&read_text(path)?)
            .with_context(|| path.display().to_string())?,
    };
    let mut id = || uuid::Uuid::new_v4().to_string();
    let now = jiff::Timestamp::now().as_microsecond() as f64 / 1e6;
    let mut fresh = ConversionInputs {
        set_id: stem(&args.output),
        now,
        id: &mut id,
        session,
    };
    let converted = convert_cases(&file, target, &mut fresh);
    if converted.cases == 0 {
        converted
            .problems
            .iter()
            .for_each(|problem| print_note(&clean_line(&problem.to_string())));
        bail!(
            "{}: there is no case that can be converted",
            args.input.display()
        );
    }
    fill_output(&args.output, |out| out.write_all(converted.text.as_bytes()))
        .with_context(|| args.output.display().to_string())?;
    Ok(print_conversion(&args.output, &converted))
}

fn print_conversion(output: &Path, converted: &Converted) -> Exit {
    for problem in &converted.problems {
        print_note(&format!("left out: {}", clean_line(&problem.to_string())));
    }
    converted
        .of_set
        .iter()
        .for_each(|what| print_note(&format!("lost: {}", clean_line(what))));
    for (what, count) in &converted.lost {
        print_note(&format!(
            "lost in {count} of {}: {what}",
            counted(converted.cases, "case")
        ));
    }
    print_note(&format!(
        "{} in {}",
        counted(converted.cases, "case"),
        output.display()
    ));
    if converted.problems.is_empty() {
        Exit::Success
    } else {
        Exit::Failures
    }
}

/// The output format, from the option or else from the file extension.
fn target(args: &ConvertArgs) -> anyhow::Result<ConversionTarget> {
    let name = args.output.to_string_lossy();
    Ok(match args.to {
        Some(ConvertTo::Adk) => ConversionTarget::EvalSet,
        Some(ConvertTo::Vertex) => ConversionTarget::VertexLines,
        None if name.ends_with(".jsonl") || name.ends_with(".ndjson") => {
            ConversionTarget::VertexLines
        }
        None if name.ends_with(".json") => ConversionTarget::EvalSet,
        None => bail!(
            "{name}: use the extension .evalset.json or .jsonl, or give --to adk or --to vertex"
        ),
    })
}

/// The id of the set: ADK finds a set by its file name, so the id must be that name.
fn stem(output: &Path) -> String {
    let name = output
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let stem = [".evalset.json", ".test.json", ".json", ".jsonl"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending));
    stem.map(str::to_string).unwrap_or(name)
}
