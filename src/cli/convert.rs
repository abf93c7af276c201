//! `evaltrail convert`: converts legacy tests and other formats to eval sets, or to Vertex JSON Lines.

use super::Exit;
use super::addresses::fill_output;
use super::args::{ConvertArgs, ConvertTo};
use super::output::print_note;
use anyhow::{Context, bail};
use evaltrail_core::domain::clean_line;
use evaltrail_core::domain::counted;
use evaltrail_core::formats::{
    ConversionInputs, ConversionTarget, Converted, SetFile, adk, convert as convert_cases,
};
use evaltrail_engine::workspace::{Workspace, open_set, read_text};
use std::path::Path;
use std::sync::Arc;

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
    Ok(said(&args.output, &converted))
}

fn said(output: &Path, converted: &Converted) -> Exit {
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
