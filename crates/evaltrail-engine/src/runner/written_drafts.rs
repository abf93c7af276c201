//! Drafts of cases for what no case of an agent tests: planned by its coverage, written by a model, and checked.

use super::coverage::{
    CollectedAgent, CoverageRequest, CoveredWorkspace, ToolSource, agent_name, collect_agents,
};
use super::draft_writer::{DraftWriter, UnwrittenCase, WrittenConversation};
use crate::judge::Judges;
use crate::workspace::{SetPath, Workspace, app_of_first_case, open_full_set};
use evaltrail_core::analysis::{
    CoveredCase, Declarations, KnownConversations, PROVENANCE_KEY, PlanFocus, PlanRequest,
    PlannedDraft, PromptContext, generated_case, plan_cases,
};
use evaltrail_core::domain::{EvalCase, JudgeUsage, valid_free_id};
use evaltrail_core::formats::{Draft, DraftContent, SetFile};
use futures_util::StreamExt;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use tokio_util::sync::CancellationToken;

/// User texts of existing cases that a model is shown as examples.
const EXAMPLES: usize = 5;

/// For what drafts are planned.
#[derive(Clone, Copy, Debug)]
pub struct DraftPlanRequest<'a> {
    /// The workspace, whose cases of the same agent are known.
    pub workspace: &'a Workspace,
    /// The set that the drafts are for.
    pub set: (&'a SetPath, &'a SetFile),
    /// The agent; `None` for that of the set.
    pub agent: Option<&'a str>,
    /// Declarations of tools.
    pub declared: &'a [ToolSource],
    /// What the drafts are for.
    pub focus: &'a PlanFocus,
    /// The maximum number of drafts.
    pub most: usize,
    /// Chooses among what is equally useful.
    pub seed: u64,
    /// The drafts of the set.
    pub existing: &'a [Draft],
}

/// Planned drafts, and what is known when they are written.
pub struct DraftPlan {
    /// What each draft is for, in the order of use.
    pub planned: Vec<PlannedDraft>,
    /// What is left out or cannot be read, as messages.
    pub notes: Vec<String>,
    /// The tools that the agent declares.
    pub declared: Declarations,
    /// The number of cases of the agent.
    pub cases: usize,
    app: Option<String>,
    known: KnownConversations,
    /// The ids of the known conversations.
    known_ids: Vec<String>,
    examples: Vec<String>,
    ids: HashSet<String>,
}

/// How drafts are written.
#[derive(Clone, Copy)]
pub struct WritingOptions<'a> {
    /// The model.
    pub judges: &'a Judges,
    /// The name of the model.
    pub model: &'a str,
    /// What the agent is for; may be empty.
    pub about_agent: &'a str,
    /// The language of the users.
    pub language: &'a str,
    /// The number with which drafts were planned.
    pub seed: u64,
    /// Today, as `2026-12-31`.
    pub date: &'a str,
    /// No request is sent after its cancellation.
    pub ends: &'a CancellationToken,
}

/// What a model wrote.
#[derive(Debug, Default)]
pub struct WrittenDrafts {
    /// The drafts.
    pub drafts: Vec<Draft>,
    /// How many were not kept, by the kind of the reason.
    pub refused: BTreeMap<&'static str, usize>,
    /// What each of these was for, and the reason.
    pub reasons: Vec<(String, String)>,
    /// The cost.
    pub spent: JudgeUsage,
    /// Why no more requests were sent, if not all drafts were written.
    pub stopped: Option<String>,
    /// Whether that was a request to end.
    pub interrupted: bool,
}

/// Plans drafts. No model is asked.
pub fn plan_drafts(request: &DraftPlanRequest<'_>) -> DraftPlan {
    let DraftPlanRequest {
        workspace,
        set: (set, file),
        ..
    } = *request;
    let agent = request.agent.map(str::to_string);
    let agent = agent.or_else(|| agent_name(workspace, set, file));
    let mut covered = CoveredWorkspace::default();
    let of_agent = CoverageRequest {
        agent: agent.as_deref(),
        declared: request.declared,
        ..CoverageRequest::default()
    };
    let mut collected = collect_agents(workspace, &of_agent, &mut covered)
        .remove(&agent)
        .unwrap_or_else(|| CollectedAgent::declaring(agent.as_deref(), request.declared));
    let declared = collected.collector.declarations().clone();
    // What is covered by a draft needs no other one.
    for case in request.existing.iter().filter_map(Draft::case) {
        collected.collector.add_case(CoveredCase {
            name: &case.eval_id,
            case,
            attempts: &[],
        });
    }
    let coverage = collected.collector.finish();
    let cases = cases_of_agent(workspace, agent.as_deref(), (set, file));
    let known = known_lines(request.existing, &cases);
    let planned = plan_cases(&PlanRequest {
        coverage: &coverage,
        declared: &declared,
        waived: &workspace.config.coverage.waived,
        focus: request.focus,
        count: request.most,
        seed: request.seed,
        known: &known,
    });
    let of_drafts = || request.existing.iter().filter_map(Draft::case);
    let texts = cases.iter().filter_map(|case| case.turns().first());
    let ids = file.eval_ids().map(|id| id.into_owned());
    DraftPlan {
        planned,
        notes: covered.notes,
        declared,
        cases: cases.len(),
        app: app_of_first_case(file).or(agent),
        examples: texts
            .map(|turn| turn.user.spoken_text())
            .filter(|text| !text.trim().is_empty())
            .take(EXAMPLES)
            .collect(),
        ids: ids
            .chain(of_drafts().map(|case| case.eval_id.clone()))
            .collect(),
        known: KnownConversations::new(cases.iter().chain(of_drafts())),
        known_ids: cases
            .iter()
            .chain(of_drafts())
            .map(|case| case.eval_id.clone())
            .collect(),
    }
}

/// The cases of an agent in a workspace, and those of a set that may be outside of it.
fn cases_of_agent(
    workspace: &Workspace,
    agent: Option<&str>,
    (own, own_file): (&SetPath, &SetFile),
) -> Vec<EvalCase> {
    let read = |file: &SetFile| -> Vec<EvalCase> {
        (0..file.len())
            .filter_map(|at| file.case(at).ok())
            .collect()
    };
    let mut cases = read(own_file);
    for set in &workspace.sets {
        if set.path == own.path || set.is_unknown_data {
            continue;
        }
        // What cannot be read is noted where its coverage is.
        if let Ok(open) = open_full_set(set)
            && agent_name(workspace, set, &open.file).as_deref() == agent
        {
            cases.extend(read(&open.file));
        }
    }
    cases
}

/// What drafts were written for already: those that wait, that were dropped, and that are cases now.
fn known_lines(existing: &[Draft], cases: &[EvalCase]) -> BTreeSet<String> {
    let drafts = existing.iter().filter(|draft| draft.source.is_empty());
    let accepted = cases.iter().filter_map(|case| {
        let provenance = case.extra.get(PROVENANCE_KEY)?;
        let text = |key: &str| provenance.get(key).and_then(Value::as_str);
        text("source_case")
            .unwrap_or_default()
            .is_empty()
            .then(|| {
                let change = text("change");
                change.map(str::to_string)
            })?
    });
    drafts
        .map(|draft| draft.change.clone())
        .chain(accepted)
        .collect()
}

/// Has a model write the planned drafts. `observe` is called after each of them with the number that is done.
pub async fn write_planned_drafts(
    mut plan: DraftPlan,
    options: WritingOptions<'_>,
    observe: impl FnMut(usize),
) -> WrittenDrafts {
    let mut found = WrittenDrafts::default();
    let conversations = write_conversations(&plan, &options, observe, &mut found).await;
    for (at, conversation) in conversations {
        let planned = plan.planned[at].clone();
        match conversation.and_then(|written| plan.draft(&planned, &written, &options)) {
            Ok(draft) => found.drafts.push(draft),
            Err(why) => {
                *found.refused.entry(why.label).or_default() += 1;
                found.reasons.push((planned.describe(), why.reason));
            }
        }
    }
    found
}

/// What a model wrote, by position in the plan.
type Conversations = BTreeMap<usize, Result<WrittenConversation, UnwrittenCase>>;

/// Asks the model for all planned drafts, several at once. Notes in `found` the cost, and why it ended early.
async fn write_conversations(
    plan: &DraftPlan,
    options: &WritingOptions<'_>,
    mut observe: impl FnMut(usize),
    found: &mut WrittenDrafts,
) -> Conversations {
    let writer = &DraftWriter {
        judges: options.judges,
        model: options.model,
        context: PromptContext {
            declared: &plan.declared,
            about_agent: options.about_agent,
            language: options.language,
            examples: &plan.examples,
        },
        // Another seed has other answers, also where the plan is the same.
        sample: (options.seed % u64::from(u32::MAX)) as u32 + 1,
        ends: options.ends,
        spent: Mutex::default(),
    };
    let mut written = Conversations::new();
    let planned = plan.planned.iter().enumerate();
    let requests = planned.map(|(at, planned)| async move { (at, writer.write(planned).await) });
    let at_once = options.judges.spec().jobs.max(1) as usize;
    let mut answers = futures_util::stream::iter(requests).buffer_unordered(at_once);
    while found.stopped.is_none() {
        let next = tokio::select! {
            next = answers.next() => next,
            () = options.ends.cancelled() => {
                found.interrupted = true;
                found.stopped = Some("interrupted".into());
                break;
            }
        };
        let Some((at, conversation)) = next else {
            break;
        };
        if let Err(why) = &conversation
            && why.is_final
        {
            found.stopped = Some(why.reason.clone());
        }
        written.insert(at, conversation);
        observe(written.len());
    }
    // The cost of requests in flight is estimated when they are dropped.
    drop(answers);
    found.spent = writer.spent.lock().and(options.judges.cancelled());
    written
}

impl DraftPlan {
    /// The draft of a written case, unless there is a case like it.
    fn draft(
        &mut self,
        planned: &PlannedDraft,
        written: &WrittenConversation,
        options: &WritingOptions,
    ) -> Result<Draft, UnwrittenCase> {
        let change = planned.describe();
        let id = valid_free_id(&id_of(&change), "draft", |id| self.ids.contains(id));
        let app = self.app.as_deref();
        let mut case = generated_case(&id, &written.blueprint, &written.texts, app);
        if let Some(other) = self.known.duplicate_of(&case) {
            let reason = format!("it is like the case {:?}", self.known_ids[other]);
            return Err(UnwrittenCase::new("like another case", reason));
        }
        self.known.add(&case);
        self.known_ids.push(id.clone());
        self.ids.insert(id);
        let kind = planned.gap.name();
        let provenance = json!({
            "kind": kind,
            "change": change,
            "persona": planned.persona.name(),
            "model": options.model,
            "seed": options.seed,
            "date": options.date,
        });
        case.extra.insert(PROVENANCE_KEY.into(), provenance);
        Ok(Draft {
            kind: kind.into(),
            source: String::new(),
            change,
            source_digest: String::new(),
            keeps_expectation: false,
            check: None,
            text: None,
            content: DraftContent::Case(Box::new(case)),
        })
    }
}

/// What a draft was written for, as an id: its words and numbers, joined by underscores.
fn id_of(change: &str) -> String {
    let parts = change.split(|c: char| !c.is_ascii_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_words_of_the_plan() {
        assert_eq!(id_of("read_soil.bed: not ASCII"), "read_soil_bed_not_ASCII");
        assert_eq!(id_of("order.kind: \"tomato\""), "order_kind_tomato");
        assert_eq!(id_of("water, then another bed"), "water_then_another_bed");
        assert_eq!(id_of("…"), "");
    }
}
