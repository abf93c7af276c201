//! `evaltrail generate`: makes drafts of cases from existing ones.

use super::Exit;
use super::addresses::{copy_at, copy_target};
use super::coverage::read_declarations;
use super::generate_args::GenerateArgs;
use super::open_drafts::{OpenDrafts, draft_lines};
use super::output::{print_line, print_note};
use super::paths::parse_target;
use super::subcommand::CliCommand;
use super::written_drafts::write_drafts;
use anyhow::{Context, bail};
use evaltrail_core::analysis::MutationKind;
use evaltrail_core::domain::{clean_line, counted, did_you_mean};
use evaltrail_core::formats::SetFile;
use evaltrail_engine::report::shell_word;
use evaltrail_engine::runner::{DerivedDraftRequest, DerivedDrafts, derive_drafts};

impl CliCommand for GenerateArgs {
    const NAME: &'static str = "generate";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_target(&mut self.target)?;
        self.declarations.iter_mut().try_for_each(copy_at)
    }

    fn run(self) -> anyhow::Result<Exit> {
        generate(&self)
    }
}

fn generate(args: &GenerateArgs) -> anyhow::Result<Exit> {
    let target = parse_target(&args.target);
    let mut open = OpenDrafts::open(&target.path)?;
    if let Some(model) = &args.model {
        if !target.ids.is_empty() {
            bail!("with --model, drafts are written for the whole set; leave out the ids");
        }
        return write_drafts(args, model, &open);
    }
    let (fresh, stale) = open.drafts.without_stale(&open.file);
    open.drafts = fresh;
    let sources = positions(&open.file, &target.ids).with_context(|| open.set.shown.clone())?;
    let declared = read_declarations(&args.declarations)?;
    let kinds = match args.kind.as_slice() {
        [] => &MutationKind::ALL[..],
        kinds => kinds,
    };
    let derived = derive_drafts(&DerivedDraftRequest {
        workspace: &open.workspace,
        set: (&open.set, &open.file),
        sources: sources.as_deref(),
        declared: &declared,
        kinds,
        seed: args.seed,
        most: args.count as usize,
        existing: &open.drafts.drafts,
        date: &jiff::Zoned::now().date().to_string(),
    });
    for note in &derived.notes {
        print_note(&clean_line(note));
    }
    for line in draft_lines(&derived.drafts.iter().collect::<Vec<_>>()) {
        print_line(&line);
    }
    print_note(&summary(&derived));
    if stale > 0 {
        let words = counted(stale, "draft");
        print_note(&format!(
            "{words} removed: the source was changed or removed"
        ));
    }
    if derived.drafts.is_empty() && stale == 0 {
        return Ok(Exit::Success);
    }
    if args.dry_run {
        print_note("nothing was written, because of --dry-run");
        return Ok(Exit::Success);
    }
    let words = format!("generate {}", counted(derived.drafts.len(), "draft"));
    open.make(&words, &[open.drafts.adding(&derived.drafts)])?;
    let file = shell_word(&target.path.display().to_string());
    print_note(&format!(
        "they are in {}; `evaltrail drafts {file}:ID` shows one, `evaltrail drafts {file}:ID --accept` adds it to the set",
        open.shown_path()
    ));
    Ok(Exit::Success)
}

/// The positions of the cases with these ids; `None` if there are no ids.
fn positions(file: &SetFile, ids: &[String]) -> anyhow::Result<Option<Vec<usize>>> {
    let mut found = Vec::new();
    for id in ids {
        let before = found.len();
        found.extend(file.positions_of(id));
        if found.len() == before {
            bail!(
                "there is no case {id:?}{}",
                did_you_mean(id, file.eval_ids())
            );
        }
    }
    Ok((!ids.is_empty()).then_some(found))
}

/// The number of drafts by their expectation, and why others were left out.
fn summary(derived: &DerivedDrafts) -> String {
    let drafts = counted(derived.drafts.len(), "draft");
    let kept = derived
        .drafts
        .iter()
        .filter(|draft| draft.keeps_expectation)
        .count();
    let gaps = derived.closes_gap.iter().filter(|closes| **closes).count();
    let counts = [
        (derived.duplicates, "equal to a case or another draft"),
        (derived.known, "drafts already"),
        (derived.accepted, "accepted before"),
        (derived.dropped, "dropped before"),
        (derived.more, "more than --count"),
    ];
    let left_out: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let left_out = match left_out.is_empty() {
        true => String::new(),
        false => format!("; left out: {}", left_out.join(", ")),
    };
    if derived.drafts.is_empty() {
        return format!("no new draft{left_out}");
    }
    let decide = derived.drafts.len() - kept;
    format!(
        "{drafts}: {kept} with the expectation of their case, {decide} to decide; {gaps} with values that no case expects{left_out}"
    )
}
