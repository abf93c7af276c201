//! Drafts that are derived from the cases of a set, without a model.

use super::coverage::{ToolSource, agent_name};
use crate::store::fingerprint;
use crate::workspace::{SetPath, Workspace, open_full_set};
use evaltrail_core::analysis::{
    Declarations, MutatedCase, MutationKind, MutationRequest, PROVENANCE_KEY, mutated_cases,
};
use evaltrail_core::domain::{EvalCase, counted, valid_free_id};
use evaltrail_core::formats::{Draft, DraftContent, SetFile};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Other cases of the agent than these are not read to find out what is tested already.
const MAX_KNOWN_CASES: usize = 20_000;
/// From more cases no drafts are derived at once.
const MAX_SOURCES: usize = 5_000;

/// For what drafts are derived.
#[derive(Clone, Copy, Debug)]
pub struct DerivedDraftRequest<'a> {
    /// The workspace, whose cases of the same agent are known.
    pub workspace: &'a Workspace,
    /// The set whose cases are mutated, with an absolute path.
    pub set: (&'a SetPath, &'a SetFile),
    /// The positions of the cases that are mutated; `None` for all that are not derived themselves.
    pub sources: Option<&'a [usize]>,
    /// Declarations of tools.
    pub declared: &'a [ToolSource],
    /// How cases are derived.
    pub kinds: &'a [MutationKind],
    /// Chooses among values and sentences that are equally good.
    pub seed: u64,
    /// The maximum number of new drafts.
    pub most: usize,
    /// The drafts of the set.
    pub existing: &'a [Draft],
    /// Today, as `2026-12-31`.
    pub date: &'a str,
}

/// New drafts, and how many were left out.
#[derive(Debug, Default)]
pub struct DerivedDrafts {
    /// The drafts, the most useful first.
    pub drafts: Vec<Draft>,
    /// Of each of [`DerivedDrafts::drafts`], whether no case expects an argument like its new value.
    pub closes_gap: Vec<bool>,
    /// How many are equal to a case or to another one.
    pub duplicates: usize,
    /// How many are drafts already.
    pub known: usize,
    /// How many are cases of the set already.
    pub accepted: usize,
    /// How many were dropped before.
    pub dropped: usize,
    /// How many exceed the maximum number.
    pub more: usize,
    /// What is left out or cannot be read, as messages.
    pub notes: Vec<String>,
}

/// What became of a mutation before.
enum KnownAs {
    Draft,
    Accepted,
    Dropped,
}

/// A digest of a case of a set, by which a draft notices that its source changed. Empty if the case cannot be read.
pub(super) fn source_digest(file: &SetFile, at: usize) -> String {
    let text = file.case_text(at);
    text.map_or(String::new(), |text| {
        fingerprint(&[text.as_bytes()])[..16].to_string()
    })
}

/// Derives drafts from cases of a set.
pub fn derive_drafts(request: &DerivedDraftRequest) -> DerivedDrafts {
    let mut derived = DerivedDrafts::default();
    let (set, file) = request.set;
    let own = own_cases(request, &mut derived.notes);
    let mut cases: Vec<EvalCase> = own.iter().map(|(_, case)| case.clone()).collect();
    let sources = sources(request, &own, &mut derived.notes);
    add_cases_of_agent(request, &mut cases, &mut derived.notes);
    let mut declared = Declarations::default();
    for tools in request.declared {
        for (name, schema) in &tools.declarations.tools {
            let known = declared.tools.entry(name.clone()).or_default();
            *known = known.take().or_else(|| schema.clone());
        }
    }
    let known = known_mutations(request.existing, &own);
    let mut counts = [0; 3];
    let is_known = |mutated: &MutatedCase| {
        let key = key_of(mutated.kind.name(), &mutated.case.eval_id, &mutated.change);
        let Some(known) = known.get(&key) else {
            return false;
        };
        counts[match known {
            KnownAs::Draft => 0,
            KnownAs::Accepted => 1,
            KnownAs::Dropped => 2,
        }] += 1;
        true
    };
    let mutation = MutationRequest {
        cases: &cases,
        sources: &sources,
        declared: &declared,
        kinds: request.kinds,
        seed: request.seed,
    };
    let (mutated, duplicates) = mutated_cases(&mutation, is_known);
    derived.duplicates = duplicates;
    [derived.known, derived.accepted, derived.dropped] = counts;
    derived.more = mutated.len().saturating_sub(request.most);
    let mut ids: HashSet<String> = file.eval_ids().map(|id| id.into_owned()).collect();
    let of_drafts = request.existing.iter().filter_map(Draft::case);
    ids.extend(of_drafts.map(|case| case.eval_id.clone()));
    for one in mutated.into_iter().take(request.most) {
        let digest = own
            .get(one.source)
            .map_or(String::new(), |(at, _)| source_digest(file, *at));
        derived.closes_gap.push(one.closes_gap);
        derived
            .drafts
            .push(draft_of(one, digest, request.date, &mut ids));
    }
    debug_assert!(set.path.is_absolute(), "sets are told apart by their paths");
    derived
}

fn key_of(kind: &str, source: &str, change: &str) -> [String; 3] {
    [kind, source, change].map(str::to_string)
}

/// The mutations that are drafts, or were accepted or dropped.
fn known_mutations(existing: &[Draft], own: &[(usize, EvalCase)]) -> HashMap<[String; 3], KnownAs> {
    let provenance = own.iter().filter_map(|(_, case)| {
        let provenance = case.extra.get(PROVENANCE_KEY)?;
        let text = |key: &str| provenance.get(key).and_then(Value::as_str);
        let key = key_of(text("kind")?, text("source_case")?, text("change")?);
        Some((key, KnownAs::Accepted))
    });
    let drafts = existing.iter().map(|draft| {
        let (kind, source, change) = draft.key();
        let known = match draft.case() {
            Some(_) => KnownAs::Draft,
            None => KnownAs::Dropped,
        };
        (key_of(kind, source, change), known)
    });
    provenance.chain(drafts).collect()
}

/// The cases of the set that can be read, with their positions.
fn own_cases(request: &DerivedDraftRequest, notes: &mut Vec<String>) -> Vec<(usize, EvalCase)> {
    let (set, file) = request.set;
    let mut cases = Vec::new();
    for at in 0..file.len() {
        match file.case(at) {
            Ok(case) => cases.push((at, case)),
            Err(problem) => notes.push(format!("{}: {problem}", set.shown)),
        }
    }
    cases
}

/// The cases that are mutated, by their positions in `own`.
fn sources(
    request: &DerivedDraftRequest,
    own: &[(usize, EvalCase)],
    notes: &mut Vec<String>,
) -> Vec<usize> {
    let named: Option<HashSet<usize>> = request.sources.map(|at| at.iter().copied().collect());
    let is_source = |(at, case): &(usize, EvalCase)| match &named {
        Some(named) => named.contains(at),
        // Drafts of drafts differ in more than one thing.
        None => !case.extra.contains_key(PROVENANCE_KEY),
    };
    let all = own.iter().enumerate().filter(|(_, one)| is_source(one));
    let mut sources: Vec<usize> = all.map(|(at, _)| at).collect();
    if sources.len() > MAX_SOURCES {
        let left_out = counted(sources.len() - MAX_SOURCES, "case");
        notes.push(format!(
            "drafts are derived from the first {MAX_SOURCES} cases; {left_out} left out, name them to use them"
        ));
        sources.truncate(MAX_SOURCES);
    }
    sources
}

/// Adds the cases of other sets of the same agent, which are tested already.
fn add_cases_of_agent(
    request: &DerivedDraftRequest,
    cases: &mut Vec<EvalCase>,
    notes: &mut Vec<String>,
) {
    let (set, file) = request.set;
    let agent = agent_name(request.workspace, set, file);
    let limit = cases.len() + MAX_KNOWN_CASES;
    for other in &request.workspace.sets {
        if other.path == set.path || other.is_unknown_data {
            continue;
        }
        let open = match open_full_set(other) {
            Ok(open) => open,
            Err(error) => {
                notes.push(format!("{}: {error}", other.shown));
                continue;
            }
        };
        if agent_name(request.workspace, other, &open.file) != agent {
            continue;
        }
        let room = limit - cases.len();
        for at in 0..open.file.len().min(room) {
            match open.file.case(at) {
                Ok(case) => cases.push(case),
                Err(problem) => notes.push(format!("{}: {problem}", other.shown)),
            }
        }
        if open.file.len() > room {
            notes.push(format!(
                "{}: not all of its cases are known to the search for values that no case expects",
                other.shown
            ));
        }
    }
}

/// A draft of a mutated case, with an id that is not taken.
fn draft_of(
    mutated: MutatedCase,
    source_digest: String,
    date: &str,
    ids: &mut HashSet<String>,
) -> Draft {
    let MutatedCase {
        kind,
        change,
        mut case,
        ..
    } = mutated;
    let source = case.eval_id.clone();
    let id = format!("{source}_{}", kind.name());
    let id = valid_free_id(&id, kind.name(), |id| ids.contains(id));
    ids.insert(id.clone());
    case.eval_id = id;
    let provenance =
        json!({"kind": kind.name(), "source_case": source, "change": change, "date": date});
    case.extra.insert(PROVENANCE_KEY.into(), provenance);
    Draft {
        kind: kind.name().into(),
        source,
        change,
        source_digest,
        keeps_expectation: kind.keeps_expectation(),
        check: None,
        text: None,
        content: DraftContent::Case(Box::new(case)),
    }
}
