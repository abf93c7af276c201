//! Variants: other trajectories that are allowed for a case. They are chosen from actual attempts and saved next to
//! the file.

use crate::explorer::authoring::notes::notes_job;
use crate::explorer::authoring::proposal::Proposal;
use crate::explorer::authoring::show;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shared::{dialog, notices};
use crate::explorer::widgets::picker::{Picker, pick};
use crate::explorer::widgets::text::put;
use evaltrail_core::domain::{Invocation, Trajectory, Variant, value_text};
use evaltrail_core::metrics::candidates;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use tui_input::InputRequest;

/// The trajectories of a case to choose from.
#[derive(Debug)]
pub struct VariantList {
    /// The case.
    pub case: CaseRef,
    /// Allowed trajectories, followed by other actual ones.
    pub picker: Picker<VariantItem>,
}

/// A trajectory of a case other than the expected one in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantItem {
    /// An allowed trajectory, by its position.
    Allowed(usize),
    /// An actual trajectory, by its position among the candidates.
    Seen(usize),
}

/// Opens the list of allowed and actual trajectories.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let Some(case) = model.current_case() else {
        return Vec::new();
    };
    let allowed = allowed(model, case);
    let seen = seen(model, case);
    if allowed.is_empty() && seen.is_empty() {
        let why = "no other trajectory yet: run or repeat the case; trajectories that differ are listed here";
        return notices::notify(model, why.into(), false);
    }
    let listed = allowed.iter().enumerate().map(|(at, variant)| {
        (
            VariantItem::Allowed(at),
            format!("{}   {}", variant.name, summary(&variant.turns)),
        )
    });
    let candidates = seen.iter().enumerate().map(|(at, (turns, count))| {
        (
            VariantItem::Seen(at),
            format!("seen {count}×   {}", summary(turns)),
        )
    });
    let found = listed.chain(candidates).collect();
    dialog::open(
        model,
        VariantList {
            case,
            picker: Picker::new(found),
        },
    )
}

fn allowed(model: &Model, case: CaseRef) -> Vec<Variant> {
    model
        .notes(case)
        .map(|notes| notes.variants.clone())
        .unwrap_or_default()
}

/// Actual trajectories in the attempts of the last run that are neither expected nor allowed, with their counts.
fn seen(model: &Model, case: CaseRef) -> Vec<(Vec<Trajectory>, usize)> {
    let Some(now) = model
        .file(case.set)
        .and_then(|file| file.case(case.index).ok())
    else {
        return Vec::new();
    };
    let Some(outcome) = model.view.outcomes.get(case) else {
        return Vec::new();
    };
    let ended = outcome
        .attempts
        .iter()
        .filter(|attempt| attempt.error.is_none());
    let whole: Vec<_> = ended.filter_map(|attempt| attempt.read().ok()).collect();
    let ran: Vec<&[Invocation]> = whole.iter().map(|attempt| &*attempt.actual).collect();
    candidates(now.turns(), &allowed(model, case), &ran)
}

/// Formats the calls of a trajectory on one line; turns are separated by slashes.
fn summary(turns: &[Trajectory]) -> String {
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
        if calls.is_empty() {
            "no calls".to_string()
        } else {
            calls.join(", ")
        }
    };
    turns.iter().map(turn).collect::<Vec<_>>().join("  /  ")
}

/// Allows an actual trajectory, or removes an allowed one.
fn choose(model: &mut Model, case: CaseRef, item: VariantItem) -> Vec<Effect> {
    let id = model.eval_id(case).into_owned();
    let mut variants = allowed(model, case);
    let words = match item {
        VariantItem::Allowed(at) if at < variants.len() => {
            let gone = variants.remove(at);
            format!("remove the variant {} of {id}", gone.name)
        }
        VariantItem::Seen(at) => {
            let Some((turns, _)) = seen(model, case).into_iter().nth(at) else {
                return Vec::new();
            };
            let taken = |name: &str| variants.iter().any(|variant| variant.name == name);
            let name = (1..)
                .map(|n| format!("variant_{n}"))
                .find(|name| !taken(name))
                .unwrap_or_default();
            let words = format!("allow another trajectory of {id}, as {name}");
            variants.push(Variant { name, turns });
            words
        }
        VariantItem::Allowed(_) => return Vec::new(),
    };
    let job = notes_job(model, case.set, |notes| {
        notes.entry(id).or_default().variants = variants
    });
    match job {
        Ok(Some(job)) => {
            let name = job
                .path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let proposal = Proposal::new(words, vec![job], |_| name.clone());
            show(model, proposal)
        }
        Ok(None) => Vec::new(),
        Err(why) => notices::notify(model, why, true),
    }
}

impl Dialog for VariantList {
    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        self.picker.edit(request);
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.picker.scroll(motion);
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        Some(
            self.picker
                .chosen()
                .map_or_else(Vec::new, |item| choose(model, self.case, item)),
        )
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let row = |(item, words): &(VariantItem, String),
                   area: Rect,
                   style: Style,
                   buffer: &mut Buffer| {
            let sign = if matches!(item, VariantItem::Allowed(_)) {
                "✓"
            } else {
                "+"
            };
            put(
                buffer,
                area.x,
                area.y,
                2,
                sign,
                theme.within(style, theme.style(Role::Accent)),
            );
            put(
                buffer,
                area.x + 2,
                area.y,
                area.width.saturating_sub(2),
                words,
                style,
            );
        };
        let title = "other trajectories   enter on + allow, on ✓ remove; esc cancel";
        Some(pick(&self.picker, title, areas, theme, buffer, row))
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        new(self.case).map(|now| self.case = now).is_some()
    }
}
