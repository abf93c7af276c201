//! The end of a triage: a summary of the decisions and of the changes of files. Once it is confirmed, the files are
//! written as one edit, which can be undone, and cases are run again.

use crate::explorer::authoring::proposal::{Proposal, ProposalLine};
use crate::explorer::authoring::{self, NotAccepted};
use crate::explorer::case_list::listing;
use crate::explorer::prompts::confirm;
use crate::explorer::running::start;
use crate::explorer::screens::queue::count::pending;
use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, ResultEffect, ScreenRequest};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shared::triage::{Applying, FinishedTriage};
use crate::explorer::what_if;
use evaltrail_core::domain::{Decision, DecisionKind, Status, counted};
use evaltrail_core::metrics::WhatIf;
use evaltrail_engine::store::{FileAction, FileEdit};
use std::collections::BTreeSet;

/// Shows what was decided and what would be written.
pub(crate) fn summary(model: &mut Model) -> Vec<Effect> {
    let Some(queue) = &model.queue else {
        return Vec::new();
    };
    if !queue.change.is_empty() {
        let sets: BTreeSet<usize> = queue.cases().map(|case| case.set).collect();
        let (change, sets) = (queue.change.clone(), sets.into_iter().collect());
        return vec![Effect::Results(ResultEffect::PlanCriteria(change, sets))];
    }
    show_summary(model, Vec::new())
}

/// The changes of the configs are known: shows the summary, unless the queue was left or other criteria are tried.
pub(crate) fn criteria_planned(
    model: &mut Model,
    change: &WhatIf,
    jobs: Result<Vec<FileEdit>, String>,
) -> Vec<Effect> {
    let is_awaited = model.screen_context() == Context::Queue
        && model.view.open_dialog.is_none()
        && model
            .queue
            .as_ref()
            .is_some_and(|queue| queue.change == *change);
    match jobs {
        _ if !is_awaited => Vec::new(),
        Ok(jobs) => show_summary(model, jobs),
        Err(why) => notices::notify(
            model,
            format!("the criteria cannot be changed: {why}"),
            true,
        ),
    }
}

fn show_summary(model: &mut Model, criteria: Vec<FileEdit>) -> Vec<Effect> {
    let Some(queue) = &model.queue else {
        return Vec::new();
    };
    let decided = pending(model, queue);
    let undecided = queue
        .cases()
        .filter(|case| model.is_undecided(*case))
        .count();
    let relaxed = relaxed(model);
    if decided.is_empty() && relaxed.is_empty() && criteria.is_empty() {
        let words = match undecided {
            0 => "every failure is decided, and nothing is left to do",
            _ => "nothing is decided yet",
        };
        return notices::notify(model, words.into(), false);
    }
    let (of_cases, refused) = match jobs_of(model, &decided) {
        Ok(made) => made,
        Err(why) => return notices::notify(model, why, true),
    };
    // First what is about more than the decided cases.
    let mut jobs = criteria;
    jobs.extend(of_cases);
    let mut lines = summary_lines(model, &decided, &refused, undecided, relaxed.len());
    lines.extend(files_text(&jobs));
    let refused: BTreeSet<CaseRef> = refused.into_iter().map(|(case, _)| case).collect();
    let carried_out: Vec<(CaseRef, Decision)> = decided
        .into_iter()
        .filter(|(case, _)| !refused.contains(case))
        .collect();
    let run_again = carried_out
        .iter()
        .filter(|(_, one)| one.kind == Some(DecisionKind::RunAgain));
    let run_again = run_again.map(|(case, _)| *case).collect();
    let decisions: Vec<Decision> = carried_out
        .into_iter()
        .map(|(_, decision)| decision)
        .collect();
    let words = match (decisions.len(), relaxed.len()) {
        (0, _) => "triage: criteria changed".to_string(),
        (decided, 0) => format!("triage: {}", counted(decided, "decision")),
        (decided, _) => format!("triage: {}, criteria changed", counted(decided, "decision")),
    };
    let applying = Applying {
        decisions,
        run_again,
        relaxed,
        words: words.clone(),
    };
    if let Some(queue) = &mut model.queue {
        queue.applying = Some(applying);
    }
    if jobs.is_empty() {
        return confirm::open(
            model,
            "Finish the triage?",
            lines,
            ScreenRequest::FinishTriage,
        );
    }
    let mut proposal = Proposal::new(words, jobs, |job| authoring::shown_path(model, &job.path));
    let headings = lines.into_iter().map(ProposalLine::Heading);
    proposal.lines.splice(0..0, headings);
    model.view.open_dialog = Some(Box::new(proposal));
    Vec::new()
}

/// How many files are changed and created; `None` if none is.
fn files_text(jobs: &[FileEdit]) -> Option<String> {
    let is_new = |job: &&FileEdit| matches!(job.action, FileAction::Create(_));
    let new = jobs.iter().filter(is_new).count();
    let text = match (jobs.len() - new, new) {
        (0, 0) => return None,
        (changed, 0) => format!("changes {}", counted(changed, "file")),
        (0, new) => format!("creates {}", counted(new, "file")),
        (changed, new) => format!("changes {}, creates {new}", counted(changed, "file")),
    };
    Some(text)
}

/// One line for each kind of decision, and what is left out.
fn summary_lines(
    model: &Model,
    decided: &[(CaseRef, Decision)],
    refused: &[(CaseRef, String)],
    undecided: usize,
    relaxed: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in [
        DecisionKind::Accept,
        DecisionKind::RunAgain,
        DecisionKind::Quarantine,
        DecisionKind::Comment,
    ] {
        match decided
            .iter()
            .filter(|(_, decision)| decision.kind == Some(kind))
            .count()
        {
            0 => {}
            1 => lines.push(format!("{}: 1 case", kind.label())),
            count => lines.push(format!("{}: {count} cases", kind.label())),
        }
    }
    if let Some(queue) = model
        .queue
        .as_ref()
        .filter(|queue| !queue.change.is_empty())
    {
        let passing = if relaxed == 1 {
            "1 more case passes".into()
        } else {
            format!("{relaxed} more cases pass")
        };
        lines.push(format!(
            "{}: {} ({passing})",
            model.changed_criteria_text(&queue.change),
            queue.change.describe().join(", ")
        ));
    }
    for (case, why) in refused.iter().take(5) {
        lines.push(format!("left out: {}: {why}", model.eval_id(*case)));
    }
    if refused.len() > 5 {
        lines.push(format!("left out: {} more", refused.len() - 5));
    }
    if undecided > 0 {
        lines.push(format!("still undecided: {undecided}"));
    }
    lines
}

/// The changes of the sets' files and of the files beside them, and the cases that cannot be accepted.
fn jobs_of(
    model: &Model,
    decided: &[(CaseRef, Decision)],
) -> Result<(Vec<FileEdit>, NotAccepted), String> {
    let of_kind = |kind| {
        decided
            .iter()
            .filter(move |(_, decision)| decision.kind == Some(kind))
    };
    let accepted: Vec<(CaseRef, u32)> = of_kind(DecisionKind::Accept)
        .map(|(case, decision)| (*case, decision.attempt))
        .collect();
    let (edits, refused) = authoring::accepting_edits(model, &accepted);
    let mut jobs = Vec::new();
    for (set, edits) in edits {
        jobs.extend(model.propose(set, edits, String::new())?.jobs);
    }
    let quarantined: Vec<_> = of_kind(DecisionKind::Quarantine)
        .map(|(case, decision)| (*case, Some((decision.until.clone(), decision.note.clone()))))
        .collect();
    jobs.extend(authoring::quarantine::quarantine_jobs(model, &quarantined)?);
    Ok((jobs, refused))
}

/// Decisions on the cases that pass with the changed criteria. Rules are for the whole workspace; other criteria are
/// written for the folders of the queue's sets only.
fn relaxed(model: &Model) -> Vec<Decision> {
    let (Some(queue), Some(what_if)) = (&model.queue, &model.view.what_if) else {
        return Vec::new();
    };
    let sets = model.sets_in_queue_folders();
    let has_only_rules = queue.change.has_only_rules();
    let note = queue.change.describe().join(", ");
    let passing = what_if.status_changes.iter().filter(|status_change| {
        status_change.to == Status::Passed
            && model.decision(status_change.case).is_none()
            && (has_only_rules || sets.contains(&status_change.case.set))
    });
    passing
        .map(|status_change| Decision {
            kind: Some(DecisionKind::Relax),
            finding: model.finding_of(status_change.case),
            note: note.clone(),
            is_applied: true,
            ..model.blank_decision(status_change.case)
        })
        .collect()
}

/// The decisions before a triage was finished: those that were to be carried out, and none on the other cases.
fn decisions_before(decided: &[Decision], relaxed: &[Decision]) -> Vec<Decision> {
    let none = |decision: &Decision| Decision {
        kind: None,
        ..decision.clone()
    };
    decided
        .iter()
        .cloned()
        .chain(relaxed.iter().map(none))
        .collect()
}

/// The edit of a triage was undone or redone: its decisions are taken back with it, or made again.
pub(crate) fn edited(model: &mut Model, words: &str, stands: bool) -> Vec<Effect> {
    let is_it = |triage: &&mut FinishedTriage| triage.words == words && triage.is_undone == stands;
    // The last triage is undone first, and redone last.
    let mut triages = model.finished_triages.iter_mut();
    let finished = match stands {
        true => triages.find(is_it),
        false => triages.rfind(is_it),
    };
    let Some(triage) = finished else {
        return Vec::new();
    };
    triage.is_undone = !stands;
    let decisions = match stands {
        true => triage.after.clone(),
        false => triage.before.clone(),
    };
    let save = model.decide(decisions);
    listing::relist(model);
    vec![save]
}

/// The files are written: the decisions are carried out, and cases are run again. Comments stay.
pub(crate) fn applied(model: &mut Model) -> Vec<Effect> {
    let Some(applying) = model.queue.as_mut().and_then(|queue| queue.applying.take()) else {
        return Vec::new();
    };
    let done = |decision: &Decision| match decision.kind {
        Some(DecisionKind::Comment) => Decision {
            is_applied: true,
            ..decision.clone()
        },
        _ => Decision {
            kind: None,
            ..decision.clone()
        },
    };
    let mut decisions: Vec<Decision> = applying.decisions.iter().map(done).collect();
    decisions.extend(applying.relaxed.iter().cloned());
    model.finished_triages.push(FinishedTriage {
        words: applying.words,
        is_undone: false,
        before: decisions_before(&applying.decisions, &applying.relaxed),
        after: decisions.clone(),
    });
    // The results are those of the runs again; the next run uses the new criteria.
    let mut effects = what_if::drop_what_if(model);
    effects.push(model.decide(decisions));
    model.queue = None;
    if model.open_case().is_some() {
        model.show(BrowseScreen);
    }
    if !applying.run_again.is_empty() {
        let against = start::against_of(model, &applying.run_again);
        effects.extend(start::start(model, applying.run_again, against));
    }
    effects
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two triages of as many failures have the same description.
    #[test]
    fn each_undo_reverts_its_own_triage() {
        let mut model = Model::new("w".into(), Vec::new(), (80, 24));
        let of = |eval_id: &str, kind| Decision {
            file: "f".into(),
            eval_id: eval_id.into(),
            kind,
            ..Decision::default()
        };
        model.finished_triages = ["a", "b"]
            .map(|eval_id| FinishedTriage {
                words: "triage: 1 decision".into(),
                is_undone: false,
                before: vec![of(eval_id, None)],
                after: vec![of(eval_id, Some(DecisionKind::Relax))],
            })
            .into();
        let mut steps = Vec::new();
        for stands in [false, false, true, true, false] {
            let effects = edited(&mut model, "triage: 1 decision", stands);
            let [Effect::Results(ResultEffect::SaveDecisions(decisions))] = &effects[..] else {
                panic!("{effects:?}")
            };
            steps.push((decisions[0].eval_id.clone(), decisions[0].kind.is_some()));
        }
        let step = |eval_id: &str, is_decided| (eval_id.to_string(), is_decided);
        assert_eq!(
            steps,
            [
                step("b", false),
                step("a", false),
                step("a", true),
                step("b", true),
                step("b", false)
            ]
        );
    }
}
