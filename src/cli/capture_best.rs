//! `evaltrail capture --best`: saves the recorded conversations that add the most coverage as eval cases.

use super::Exit;
use super::args::CaptureArgs;
use super::capture_file::{CaptureFile, now, session_input};
use super::capture_sources::conversations;
use super::coverage::read_declarations;
use super::output::print_note;
use super::paths::parse_target;
use crate::analysis::{Addition, CoverageItem};
use crate::domain::{EvalCase, captured_case, clean_line, counted, eval_id_error, free_id};
use crate::runner::{BestRequest, RecordedConversation, best_conversations, with_user_message};
use anyhow::bail;
use std::collections::HashSet;
use unicode_width::UnicodeWidthStr;

/// Items of coverage that are named of each conversation.
const MAX_ITEMS: usize = 6;
/// The longest id that is made of one that is not valid, in characters.
const MAX_ID: usize = 64;

pub(super) fn capture_best(args: &CaptureArgs, most: usize) -> anyhow::Result<Exit> {
    let target = parse_target(&args.into);
    if !target.ids.is_empty() {
        bail!(
            "with --best, --into FILE names only the file: cases get the ids of their conversations"
        );
    }
    let target = CaptureFile::open_with_folder(target.path)?;
    let declared = read_declarations(&args.declarations)?;
    let mut found: Vec<RecordedConversation> = Vec::new();
    for source in &args.sources {
        found.extend(conversations(source, &target.workspace)?);
    }
    let request = BestRequest {
        workspace: &target.workspace,
        set: (&target.set, &target.file),
        declared: &declared,
        user_turns_only: args.user_turns_only,
        any_app: args.app.is_some(),
        most,
    };
    let best = best_conversations(&request, &found);
    for note in &best.notes {
        print_note(&clean_line(note));
    }
    let cases = counted(best.cases, "case");
    if best.additions.is_empty() {
        print_note(&format!(
            "nothing is saved: none of {} covers anything that {cases} of the agent do not",
            counted(found.len(), "conversation")
        ));
        return Ok(Exit::Success);
    }
    let new = new_cases(args, &target, &found, &best.additions);
    let title = format!(
        "{} of {} add the most to what {cases} of the agent cover:",
        best.additions.len(),
        counted(found.len(), "conversation")
    );
    print_note(&title);
    print_additions(&new, &best.additions);
    let words = format!("capture {}", counted(new.len(), "conversation"));
    if target.save(&new, &words, args.dry_run)? {
        print_note(&format!(
            "{} saved in {}",
            counted(new.len(), "case"),
            target.path.display()
        ));
    }
    Ok(Exit::Success)
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
        let id = new_id(&conversation.id, |id| ids.contains(id));
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

/// The id itself if a case can have it, else one like it.
fn new_id(id: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let valid = match eval_id_error(id, std::iter::empty()) {
        None => id.to_string(),
        Some(_) => {
            let valid = |c: char| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '_'
                }
            };
            let id: String = id.chars().take(MAX_ID).map(valid).collect();
            match id.trim_matches('_') {
                "" => "conversation".into(),
                id => id.to_string(),
            }
        }
    };
    match is_taken(&valid) {
        true => free_id(&valid, is_taken),
        false => valid,
    }
}

/// One line for each case: its id, its turns and what it adds.
fn print_additions(cases: &[EvalCase], additions: &[Addition]) {
    let width = cases.iter().map(|case| case.eval_id.width()).max();
    let width = width.unwrap_or(0);
    for (case, addition) in cases.iter().zip(additions) {
        let turns = counted(case.turns().len(), "turn");
        let items = &addition.items;
        let named: Vec<String> = items
            .iter()
            .take(MAX_ITEMS)
            .map(CoverageItem::text)
            .collect();
        let more = match items.len().saturating_sub(MAX_ITEMS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!(
            "  {:width$}  {turns:>8}  +{}: {}{more}",
            case.eval_id,
            items.len(),
            named.join(", ")
        );
        print_note(&clean_line(&text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_ids_become_valid_ones() {
        let taken = ["a", "x_y"];
        let id = |id: &str| new_id(id, |other| taken.contains(&other));
        assert_eq!(id("s-1"), "s-1");
        assert_eq!(id("a"), "a_2");
        assert_eq!(id("x y"), "x_y_2");
        assert_eq!(id("ö/:"), "conversation");
        assert_eq!(id(&"é1".repeat(100)).len(), 63);
    }
}
