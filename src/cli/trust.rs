//! Asks for permission for actions that the files of a folder cause.

use super::output::{can_prompt, confirm, print_note};
use evaltrail_core::domain::{clean_exact, clean_line};
use evaltrail_engine::judge::ApiKeys;
use evaltrail_engine::runner::{
    DotenvKeyQuestion, PreparedRun, TrustAction, TrustQuestion, allowed_destinations, offered_keys,
};
use evaltrail_engine::store::{AppFolders, Trust};
use evaltrail_engine::workspace::Workspace;
use std::io;

/// Whether all actions are allowed: by an earlier permission, by `--trust`, or by the user now.
pub(super) fn allowed(questions: &[TrustQuestion], trust_all: bool) -> anyhow::Result<bool> {
    let mut trust = Trust::load(AppFolders::find().as_ref());
    let open: Vec<&TrustQuestion> = questions
        .iter()
        .filter(|question| !trust_all && !trust.allows(&question.fingerprint))
        .collect();
    let asked = can_prompt();
    for question in &open {
        print_note(question.action.describe());
        print_note(&format!("    {}", clean_exact(&question.command)));
        print_note(&format!("    in {}", clean_exact(&question.folder)));
        if asked && !is_yes(question.action)? {
            print_note("Not allowed. Nothing was run.");
            return Ok(false);
        }
        if asked {
            trust.grant(&question.fingerprint, &question.command)?;
        }
    }
    if !asked && !open.is_empty() {
        print_note(
            "Without a terminal, evaltrail cannot ask. Review this, then run again with --trust.",
        );
        return Ok(false);
    }
    Ok(true)
}

/// Asks about what a run would start and contact, and about the keys that its judges need. Notes in the run what is allowed. Returns
/// whether it may run.
pub(super) fn allow_run(
    workspace: &Workspace,
    prepared: &mut PreparedRun,
    questions: &[TrustQuestion],
    trust_all: bool,
) -> anyhow::Result<bool> {
    if !allowed(questions, trust_all)? {
        return Ok(false);
    }
    prepared.grant.destinations = allowed_destinations(questions);
    if let Some(offer) = offered_keys(workspace, prepared) {
        prepared.grant.keys = allowed_keys(offer, trust_all)?;
    }
    Ok(true)
}

/// The keys that may be used: all of the offer, or none. The run continues without them.
pub(super) fn allowed_keys(offer: DotenvKeyQuestion, trust_all: bool) -> anyhow::Result<ApiKeys> {
    let DotenvKeyQuestion { question, keys } = offer;
    let mut trust = Trust::load(AppFolders::find().as_ref());
    let (names, file) = (
        keys.describe().join(", "),
        keys.file().display().to_string(),
    );
    if trust_all || trust.allows(&question.fingerprint) {
        print_note(&clean_line(&format!("using {names} from {file}")));
        return Ok(keys);
    }
    if !can_prompt() {
        let words =
            format!("the judge needs {names}, which {file} contains; run with --trust to allow it");
        print_note(&clean_line(&words));
        return Ok(ApiKeys::default());
    }
    print_note(question.action.describe());
    print_note(&format!("    {}", clean_exact(&question.command)));
    if !is_yes(question.action)? {
        print_note("Not used.");
        return Ok(ApiKeys::default());
    }
    trust.grant(&question.fingerprint, &question.command)?;
    Ok(keys)
}

fn is_yes(action: TrustAction) -> io::Result<bool> {
    let what = match action {
        TrustAction::Start => "Start it",
        TrustAction::Connect => "Send them there",
        TrustAction::Send => "Send it there",
        TrustAction::Use => "Use it",
    };
    confirm(&format!("{what}, and remember this?"))
}
