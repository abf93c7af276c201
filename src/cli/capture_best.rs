//! `evaltrail capture --best`: saves the recorded conversations that add the most coverage as eval cases.

use super::Exit;
use super::capture_args::CaptureArgs;
use super::capture_file::{CaptureFile, now, session_input};
use super::capture_sources::conversations;
use super::coverage::read_declarations;
use super::output::print_note;
use super::paths::parse_target;
use anyhow::bail;
use evaltrail_core::analysis::{Addition, BestAdditions};
use evaltrail_core::domain::{EvalCase, captured_case, clean_line, counted, valid_free_id};
use evaltrail_core::formats::append_cases;
use evaltrail_engine::runner::{
    BestConversations, BestRequest, RecordedConversation, best_conversations, with_user_message,
};
use std::collections::HashSet;
use std::path::PathBuf;
use unicode_width::UnicodeWidthStr;

/// Items of coverage that are named of each conversation.
const MAX_ITEMS: usize = 6;
/// The longest id or item that is printed whole, in characters.
const MAX_WORD: usize = 60;

pub(super) fn capture_best(args: &CaptureArgs, most: usize) -> anyhow::Result<Exit> {
    let target = parse_target(&args.into);
    if !target.ids.is_empty() {
        bail!(
            "with --best, --into FILE names only the file: cases get the ids of their conversations"
        );
    }
    let target = CaptureFile::open_with_folder(target.path)?;
    // A file that no case can be added to is an error before the sources are read.
    append_cases(&target.file, &[EvalCase::default()])?;
    let declared = read_declarations(&args.declarations)?;
    let (found, exit) = read_sources(args, &target)?;
    let sources: Vec<PathBuf> = args.sources.iter().map(PathBuf::from).collect();
    let request = BestRequest {
        workspace: &target.workspace,
        set: (&target.set, &target.file),
        sources: &sources,
        declared: &declared,
        user_turns_only: args.user_turns_only,
        any_app: args.app.is_some(),
        most,
    };
    let chosen = best_conversations(&request, &found);
    for note in &chosen.notes {
        print_note(&clean_line(note));
    }
    if chosen.best.additions.is_empty() {
        print_nothing_saved(&chosen, found.len());
        return Ok(exit);
    }
    for addition in &chosen.best.additions {
        print_lacks(&found[addition.candidate]);
    }
    let new = new_cases(args, &target, &found, &chosen.best.additions);
    print_note(&format!(
        "of {}, these add the most to what {} cover:",
        counted(found.len(), "conversation"),
        compared_cases(&chosen)
    ));
    print_additions(&new, &chosen.best);
    let words = format!("capture {}", counted(new.len(), "conversation"));
    if target.save(&new, &words, args.dry_run)? {
        print_note(&format!(
            "{} saved in {}",
            counted(new.len(), "case"),
            target.path.display()
        ));
    }
    Ok(exit)
}

/// Reads the conversations of all sources. Of several sources, one that cannot be read is left out, which the exit code
/// tells.
fn read_sources(
    args: &CaptureArgs,
    target: &CaptureFile,
) -> anyhow::Result<(Vec<RecordedConversation>, Exit)> {
    let mut found: Vec<RecordedConversation> = Vec::new();
    let mut exit = Exit::Success;
    for source in &args.sources {
        match conversations(source, &target.workspace) {
            Ok(read) => found.extend(read),
            Err(error) if args.sources.len() > 1 => {
                print_note(&clean_line(&format!("left out: {error:#}")));
                exit = Exit::UsageError;
            }
            Err(error) => return Err(error),
        }
    }
    Ok((found, exit))
}

/// The number of cases that the conversations were compared with, and their agent.
fn compared_cases(chosen: &BestConversations) -> String {
    let cases = counted(chosen.cases, "case");
    match &chosen.agent {
        Some(agent) => format!("{cases} of {}", clean_line(agent)),
        None => format!("{cases} without an agent"),
    }
}

/// Prints why no conversation is saved.
fn print_nothing_saved(chosen: &BestConversations, found: usize) {
    let (all, cases) = (counted(found, "conversation"), compared_cases(chosen));
    print_note(&match counted(chosen.compared, "conversation") {
        _ if chosen.compared == 0 => format!("nothing is saved: {all}, none to compare"),
        compared => format!("nothing is saved: {compared} compared with {cases} add nothing"),
    });
}

/// Prints what the case of a conversation lacks.
fn print_lacks(conversation: &RecordedConversation) {
    let all = 0..conversation.turns.len();
    let (_, without) = with_user_message(&conversation.turns, all);
    let (_, lacks) = conversation.session_from(0);
    let left_out = without.iter().map(|turn| format!("left out: {turn}"));
    for note in conversation
        .notes
        .iter()
        .cloned()
        .chain(lacks)
        .chain(left_out)
    {
        let id = short(&conversation.id);
        print_note(&clean_line(&format!("{id}: {note}")));
    }
}

/// The cases of the chosen conversations, with ids that no case has.
fn new_cases(
    args: &CaptureArgs,
    target: &CaptureFile,
    found: &[RecordedConversation],
    additions: &[Addition],
) -> Vec<EvalCase> {
    let mut ids: HashSet<String> = target.file.eval_ids().map(|id| id.into_owned()).collect();
    let case = |addition: &Addition| {
        let conversation = &found[addition.candidate];
        let (turns, _) = with_user_message(&conversation.turns, 0..conversation.turns.len());
        let id = valid_free_id(&conversation.id, "conversation", |id| ids.contains(id));
        ids.insert(id.clone());
        let (input, _) = conversation.session_from(0);
        captured_case(
            &id,
            &turns,
            session_input(input, args.app.as_deref()),
            now(),
        )
    };
    additions.iter().map(case).collect()
}

/// One line for each case: its id, its turns and what it adds; then how many others would add something.
fn print_additions(cases: &[EvalCase], best: &BestAdditions) {
    let ids: Vec<String> = cases.iter().map(|case| short(&case.eval_id)).collect();
    let width = ids.iter().map(|id| id.width()).max().unwrap_or(0);
    for ((case, id), addition) in cases.iter().zip(&ids).zip(&best.additions) {
        let turns = counted(case.turns().len(), "turn");
        let items = addition.items.iter().take(MAX_ITEMS);
        let named: Vec<String> = items.map(|item| short(&item.text())).collect();
        let more = match addition.items.len().saturating_sub(MAX_ITEMS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!(
            "  {id:width$}  {turns:>8}  +{}: {}{more}",
            addition.items.len(),
            named.join(", ")
        );
        print_note(&clean_line(&text));
    }
    if best.others > 0 {
        print_note(&format!(
            "{} would add something as well, {} of them only another sequence of calls",
            counted(best.others, "other"),
            best.others_with_sequence
        ));
    }
}

/// The beginning of a text that is too long for a column.
fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_WORD) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
