//! Asks for permission for actions that the files of a folder cause.

use super::output::{can_prompt, confirm, tell};
use crate::domain::{clean_exact, clean_line};
use crate::judge::Keys;
use crate::runner::{KeyOffer, TrustAction, TrustQuestion};
use crate::store::{Places, Trust};
use std::io;

/// Whether all actions are allowed: by an earlier permission, by `--trust`, or by the user now.
pub(super) fn allowed(questions: &[TrustQuestion], trust_all: bool) -> anyhow::Result<bool> {
    let mut trust = Trust::load(Places::find().as_ref());
    let open: Vec<&TrustQuestion> =
        questions.iter().filter(|question| !trust_all && !trust.allows(&question.fingerprint)).collect();
    let asked = can_prompt();
    for question in &open {
        tell(question.action.words());
        tell(&format!("    {}", clean_exact(&question.command)));
        tell(&format!("    in {}", clean_exact(&question.folder)));
        if asked && !said_yes(question.action)? {
            tell("Not allowed. Nothing was run.");
            return Ok(false);
        }
        if asked {
            trust.grant(&question.fingerprint, &question.command)?;
        }
    }
    if !asked && !open.is_empty() {
        tell("Without a terminal, evaltrail cannot ask. Review this, then run again with --trust.");
        return Ok(false);
    }
    Ok(true)
}

/// The keys that may be used: all of the offer, or none. The run continues without them.
pub(super) fn allowed_keys(offer: KeyOffer, trust_all: bool) -> anyhow::Result<Keys> {
    let KeyOffer { question, keys } = offer;
    let mut trust = Trust::load(Places::find().as_ref());
    let (names, file) = (keys.words().join(", "), keys.file().display().to_string());
    if trust_all || trust.allows(&question.fingerprint) {
        tell(&clean_line(&format!("using {names} from {file}")));
        return Ok(keys);
    }
    if !can_prompt() {
        let words = format!("the judge needs {names}, which {file} contains; run with --trust to allow it");
        tell(&clean_line(&words));
        return Ok(Keys::default());
    }
    tell(question.action.words());
    tell(&format!("    {}", clean_exact(&question.command)));
    if !said_yes(question.action)? {
        tell("Not used.");
        return Ok(Keys::default());
    }
    trust.grant(&question.fingerprint, &question.command)?;
    Ok(keys)
}

fn said_yes(action: TrustAction) -> io::Result<bool> {
    let what = match action {
        TrustAction::Start => "Start it",
        TrustAction::Connect => "Send them there",
        TrustAction::Send => "Send it there",
        TrustAction::Use => "Use it",
    };
    confirm(&format!("{what}, and remember this?"))
}
