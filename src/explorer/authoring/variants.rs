//! Other trajectories that are allowed for a case: kept beside the file, taken from what agents did.

use crate::domain::{Invocation, Trajectory, Variant, value_text};
use crate::explorer::authoring::sets::notes_job;
use crate::explorer::authoring::show;
use crate::explorer::effect::Effect;
use crate::explorer::global;
use crate::explorer::model::{CaseRef, Model};
use crate::explorer::overlays::proposal::Proposal;
use crate::explorer::overlays::{Overlay, Picker, VariantItem};
use crate::metrics::candidates;
use tui_input::Input;

/// Lists what is allowed and what was seen.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let Some(case) = model.current_case() else { return Vec::new() };
    let allowed = allowed(model, case);
    let seen = seen(model, case);
    if allowed.is_empty() && seen.is_empty() {
        let why = "no other trajectory was seen: run the case, or repeat it, and what differs is listed here";
        return global::tell(model, why.into(), false);
    }
    let listed = allowed.iter().enumerate().map(|(at, variant)| {
        (VariantItem::Allowed(at), format!("{}   {}", variant.name, words(&variant.turns)))
    });
    let candidates = seen
        .iter()
        .enumerate()
        .map(|(at, (turns, count))| (VariantItem::Seen(at), format!("seen {count}×   {}", words(turns))));
    let found = listed.chain(candidates).collect();
    model.overlay = Some(Overlay::Variants(case, Picker { input: Input::default(), found, cursor: 0 }));
    Vec::new()
}

fn allowed(model: &Model, case: CaseRef) -> Vec<Variant> {
    model.notes(case).map(|notes| notes.variants.clone()).unwrap_or_default()
}

/// What agents did instead, in the attempts of the last run.
fn seen(model: &Model, case: CaseRef) -> Vec<(Vec<Trajectory>, usize)> {
    let Some(now) = model.file(case.set).and_then(|file| file.case(case.index).ok()) else {
        return Vec::new();
    };
    let Some(outcome) = model.outcomes.get(case) else { return Vec::new() };
    let ended = outcome.attempts.iter().filter(|attempt| attempt.error.is_none());
    let whole: Vec<_> = ended.filter_map(|attempt| attempt.read().ok()).collect();
    let ran: Vec<&[Invocation]> = whole.iter().map(|attempt| &*attempt.actual).collect();
    candidates(now.turns(), &allowed(model, case), &ran)
}

/// The calls of a way in a line: turns apart.
fn words(turns: &[Trajectory]) -> String {
    let turn = |turn: &Trajectory| {
        let calls: Vec<String> = turn
            .calls()
            .iter()
            .map(|call| {
                let args: Vec<String> = call
                    .args
                    .iter()
                    .flatten()
                    .map(|(key, value)| format!("{key}={}", value_text(value)))
                    .collect();
                format!("{}({})", call.name, args.join(", "))
            })
            .collect();
        if calls.is_empty() { "no calls".to_string() } else { calls.join(", ") }
    };
    turns.iter().map(turn).collect::<Vec<_>>().join("  /  ")
}

/// Allows what was seen, or takes away what is allowed.
pub(crate) fn choose(model: &mut Model, case: CaseRef, item: Option<VariantItem>) -> Vec<Effect> {
    let Some(item) = item else { return Vec::new() };
    let id = model.eval_id(case).into_owned();
    let mut variants = allowed(model, case);
    let words = match item {
        VariantItem::Allowed(at) if at < variants.len() => {
            let gone = variants.remove(at);
            format!("take the variant {} of {id} away", gone.name)
        }
        VariantItem::Seen(at) => {
            let Some((turns, _)) = seen(model, case).into_iter().nth(at) else { return Vec::new() };
            let taken = |name: &str| variants.iter().any(|variant| variant.name == name);
            let name = (1..).map(|n| format!("variant_{n}")).find(|name| !taken(name)).unwrap_or_default();
            let words = format!("allow another trajectory of {id}, as {name}");
            variants.push(Variant { name, turns });
            words
        }
        VariantItem::Allowed(_) => return Vec::new(),
    };
    let job = notes_job(model, case.set, |notes| notes.entry(id).or_default().variants = variants);
    match job {
        Ok(Some(job)) => {
            let name = job.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let proposal = Proposal::new(words, vec![job], |_| name.clone());
            show(model, proposal)
        }
        Ok(None) => Vec::new(),
        Err(why) => global::tell(model, why, true),
    }
}
