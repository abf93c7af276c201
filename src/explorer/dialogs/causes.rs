//! Failures by cause: a row for each group of failures that share one, and below it a row for each nested group.
//! Choosing a row lists its cases.

use crate::explorer::case_list::causes::{CauseGroup, cause_trend};
use crate::explorer::case_list::listing::{groups_here, narrow};
use crate::explorer::case_list::trend::cause_text;
use crate::explorer::shared::case_list::{NarrowedTo, Narrowing, Pane};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::{Effect, ResultEffect};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::widgets::picker::{Picker, PickerNote, pick_with_note};
use crate::explorer::widgets::text::{put, put_right};
use evaltrail_core::analysis::CauseTrend;
use evaltrail_core::domain::{EndedAttempt, Status, clean_line};
use evaltrail_core::metrics::{WhatIf, common_relaxation};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::collections::BTreeSet;
use std::sync::Arc;
use tui_input::InputRequest;

/// Columns for the number of cases.
const COUNT_WIDTH: u16 = 5;
/// Columns for the share of all failures.
const SHARE_WIDTH: u16 = 6;
/// A list of fewer columns has no share.
const WIDE: u16 = 48;

/// Maximum number of groups that are listed with nested groups unfolded at first.
const MAX_UNFOLDED: usize = 16;
/// Maximum number of groups, and of cases of a group, for which a change of criteria is searched.
const MAX_RELAXED: usize = 100;

/// Groups to choose from, by index.
#[derive(Debug)]
pub struct CauseList {
    /// The matching groups.
    pub picker: Picker<usize>,
    groups: Vec<GroupedCases>,
    /// The outermost groups whose nested groups are hidden.
    folded: BTreeSet<usize>,
    failures: usize,
    ticket: Ticket,
}

#[derive(Debug)]
struct GroupedCases {
    what: Narrowing,
    cases: BTreeSet<CaseRef>,
    /// The outermost group that it is nested in.
    within: Option<usize>,
    /// The number of groups nested in it.
    nested: usize,
    /// The number of its cases that are in no nested group.
    others: usize,
    relaxed: Relaxed,
}

/// The smallest change of criteria with which all cases of a group pass.
#[derive(Debug)]
enum Relaxed {
    /// It is being searched.
    Searching,
    /// It is not searched, because the group is too large or its cases share no cause.
    NotSearched,
    /// The change in words; `None` if there is none.
    Found(Option<String>),
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let ticket = model.ticket();
    let groups = flattened(groups_here(model));
    let outermost = || groups.iter().filter(|group| group.within.is_none());
    let failures = outermost().map(|group| group.cases.len()).sum();
    let with_nested = || {
        groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.nested > 0)
            .map(|(at, _)| at)
    };
    let folded = if groups.len() > MAX_UNFOLDED {
        with_nested().collect()
    } else {
        BTreeSet::new()
    };
    let failing = groups
        .iter()
        .map(|group| failing_attempts(model, group))
        .collect();
    let mut list = CauseList {
        picker: Picker::new(Vec::new()),
        groups,
        folded,
        failures,
        ticket,
    };
    list.find();
    let chosen = model
        .view
        .browse
        .narrowing
        .as_ref()
        .map(|narrowing| &narrowing.what);
    let now = list
        .picker
        .found
        .iter()
        .position(|(at, _)| Some(&list.groups[*at].what) == chosen);
    list.picker.cursor = now.unwrap_or(0);
    dialog::open(model, list);
    vec![Effect::Results(ResultEffect::RelaxGroups(ticket, failing))]
}

/// Lists the groups again, since what became of causes over the runs is known now. The typed text stays, and the cursor stays on its
/// group if it was moved.
pub(crate) fn refresh(model: &mut Model) -> Vec<Effect> {
    let Some(before) = model.take_dialog::<CauseList>() else {
        return Vec::new();
    };
    let chosen = before.picker.chosen().filter(|_| before.picker.cursor > 0);
    let chosen = chosen.map(|at| before.groups[at].what.clone());
    let effects = open(model);
    if let Some(list) = model.dialog_mut::<CauseList>() {
        list.picker.input = before.picker.input;
        list.find();
        let found = list.picker.found.iter();
        let is_chosen = |(at, _): &(usize, String)| Some(&list.groups[*at].what) == chosen.as_ref();
        let cursor = found.clone().position(is_chosen);
        list.picker.cursor = cursor.unwrap_or(list.picker.cursor);
    }
    effects
}

/// The groups, each followed by its nested groups.
fn flattened(outermost: Vec<CauseGroup>) -> Vec<GroupedCases> {
    let mut groups: Vec<GroupedCases> = Vec::new();
    for mut group in outermost {
        let (at, nested) = (groups.len(), std::mem::take(&mut group.nested));
        let in_nested = nested.iter().map(|one| one.cases.len()).sum::<usize>();
        let outer = listed(group, None);
        let others = outer.cases.len() - in_nested;
        groups.push(GroupedCases {
            nested: nested.len(),
            others,
            ..outer
        });
        groups.extend(nested.into_iter().map(|one| listed(one, Some(at))));
    }
    groups
        .iter_mut()
        .skip(MAX_RELAXED)
        .for_each(|group| group.relaxed = Relaxed::NotSearched);
    groups
}

fn listed(group: CauseGroup, within: Option<usize>) -> GroupedCases {
    let is_searched = group.what != Narrowing::Alone && group.cases.len() <= MAX_RELAXED;
    let relaxed = if is_searched {
        Relaxed::Searching
    } else {
        Relaxed::NotSearched
    };
    let cases: BTreeSet<CaseRef> = group.cases.into_iter().collect();
    GroupedCases {
        what: group.what,
        others: cases.len(),
        cases,
        within,
        nested: 0,
        relaxed,
    }
}

/// The attempts of a group for which a change of criteria is searched.
fn failing_attempts(model: &Model, group: &GroupedCases) -> Vec<Arc<EndedAttempt>> {
    let cases = group
        .cases
        .iter()
        .filter(|_| matches!(group.relaxed, Relaxed::Searching));
    let attempts = cases
        .filter_map(|case| model.view.outcomes.get(*case))
        .flat_map(|outcome| &outcome.attempts);
    attempts
        .filter(|attempt| attempt.status != Status::Passed)
        .cloned()
        .collect()
}

/// For each group of attempts the smallest change of criteria with which all of them pass; `None` if there is none, or
/// if one cannot be read.
pub fn changes_for_groups(groups: &[Vec<Arc<EndedAttempt>>]) -> Vec<Option<WhatIf>> {
    let change_for = |attempts: &Vec<Arc<EndedAttempt>>| {
        let whole: Option<Vec<_>> = attempts.iter().map(|attempt| attempt.read().ok()).collect();
        common_relaxation(&whole?)
    };
    groups.iter().map(change_for).collect()
}

/// Shows the changes of criteria that were found, if the dialog that asked for them is still open.
pub(crate) fn groups_relaxed(model: &mut Model, ticket: Ticket, changes: &[Option<WhatIf>]) {
    let Some(list) = model.dialog_mut::<CauseList>() else {
        return;
    };
    if list.ticket != ticket {
        return;
    }
    for (group, change) in list.groups.iter_mut().zip(changes) {
        if matches!(group.relaxed, Relaxed::Searching) {
            group.relaxed =
                Relaxed::Found(change.as_ref().map(|change| change.describe().join(", ")));
        }
    }
}

impl CauseList {
    /// Lists the groups that match the typed text; without one, those that are not folded.
    fn find(&mut self) {
        let is_typed = !self.picker.input.value().trim().is_empty();
        let is_listed = |group: &GroupedCases| {
            is_typed
                || group
                    .within
                    .is_none_or(|outer| !self.folded.contains(&outer))
        };
        let words = |(at, group): (usize, &GroupedCases)| {
            (at, clean_line(&group.what.describe()).into_owned())
        };
        let listed = self
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| is_listed(group))
            .map(words);
        self.picker.find(listed.collect::<Vec<_>>().into_iter());
    }

    /// Hides or shows the nested groups of the group under the cursor, or of the one that it is nested in.
    fn fold(&mut self) {
        let Some(at) = self.picker.chosen() else {
            return;
        };
        let outer = self.groups[at].within.unwrap_or(at);
        if self.groups[outer].nested == 0 {
            return;
        }
        if !self.folded.remove(&outer) {
            self.folded.insert(outer);
        }
        self.find();
        self.picker.cursor = self
            .picker
            .found
            .iter()
            .position(|(at, _)| *at == outer)
            .unwrap_or(0);
    }

    /// "31 of 40 not passed share 3 causes"
    fn headline(&self) -> String {
        let shared = || {
            self.groups
                .iter()
                .filter(|group| group.what != Narrowing::Alone && group.cases.len() > 1)
        };
        let cases: usize = shared()
            .filter(|group| group.within.is_none())
            .map(|group| group.cases.len())
            .sum();
        match shared().filter(|group| group.others > 0).count() {
            0 if self.failures == 0 => "every listed case passed or was not run".into(),
            0 => format!("{} not passed, each for its own reason", self.failures),
            1 => format!("{cases} of {} not passed share a cause", self.failures),
            causes => format!(
                "{cases} of {} not passed share {causes} causes",
                self.failures
            ),
        }
    }

    /// What became of the cause under the cursor over the runs, and what would make all of its cases pass.
    fn note(&self, model: &Model) -> Option<String> {
        let group = &self.groups[self.picker.chosen()?];
        let parts = [cause_text(model, &group.what), self.change_text()];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("  ·  "))
    }

    /// What would make all of the group under the cursor pass.
    fn change_text(&self) -> Option<String> {
        match &self.groups[self.picker.chosen()?].relaxed {
            Relaxed::Searching => Some("looking for the smallest change of the criteria".into()),
            Relaxed::NotSearched => None,
            Relaxed::Found(None) => {
                Some("no small change of the criteria makes all of them pass".into())
            }
            Relaxed::Found(Some(words)) => {
                Some(format!("all would pass with {}", clean_line(words)))
            }
        }
    }

    /// The keys, with the one that hides or shows the nested groups of the group under the cursor.
    fn keys(&self) -> String {
        let nested = self.picker.chosen().map(|at| (at, self.groups[at].nested));
        let fold = match nested {
            None | Some((_, 0)) => String::new(),
            Some((at, nested)) if self.folded.contains(&at) => {
                format!("   tab unfold ({nested})")
            }
            Some(_) => "   tab fold".into(),
        };
        format!("type to filter   enter list its cases{fold}   esc close")
    }
}

impl Dialog for CauseList {
    fn tab(&mut self, _: &mut Model) -> Option<Vec<Effect>> {
        if self.picker.input.value().trim().is_empty() {
            self.fold();
        }
        None
    }

    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        self.picker.input.handle(request);
        self.find();
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.picker.scroll(motion);
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let chosen = self.picker.chosen()?;
        let group = &self.groups[chosen];
        narrow(
            model,
            Some(NarrowedTo {
                what: group.what.clone(),
                cases: group.cases.clone(),
            }),
        );
        model.view.browse.pane = Pane::Cases;
        Some(Vec::new())
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        for group in &mut self.groups {
            group.cases = group.cases.iter().filter_map(|case| new(*case)).collect();
        }
        true
    }

    fn draw(
        &self,
        model: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let row = |(at, words): &(usize, String), area: Rect, style: Style, buffer: &mut Buffer| {
            let cases = self.groups[*at].cases.len();
            let share = format!(
                "{:.0} %",
                cases as f64 * 100.0 / self.failures.max(1) as f64
            );
            let count = theme.within(style, theme.style(Role::Failed));
            put_right(
                buffer,
                area.x + COUNT_WIDTH - 1,
                area.y,
                COUNT_WIDTH,
                &cases.to_string(),
                count,
            );
            let mut x = area.x + COUNT_WIDTH;
            let faint = theme.within(style, theme.style(Role::Faint));
            if area.width >= WIDE {
                x += SHARE_WIDTH;
                put_right(buffer, x - 1, area.y, SHARE_WIDTH, &share, faint);
            }
            let sign = match (self.groups[*at].nested, self.groups[*at].within) {
                (0, None) => "",
                (0, Some(_)) => "  ",
                _ if self.folded.contains(at) => "▸ ",
                _ => "▾ ",
            };
            put(buffer, x + 1, area.y, 2, sign, faint);
            x += sign.chars().count() as u16;
            let trend = cause_trend(model, &self.groups[*at].what);
            if let Some(state) = trend
                .map(CauseTrend::state)
                .filter(|state| state.is_new_or_back())
            {
                let look = theme.within(style, theme.style(Role::Note));
                x += put(buffer, x + 1, area.y, 6, state.name(), look) + 1;
            }
            put(
                buffer,
                x + 1,
                area.y,
                area.right().saturating_sub(x + 1),
                words,
                style,
            );
        };
        let (note, keys) = (self.note(model), self.keys());
        let title = self.headline();
        Some(pick_with_note(
            &self.picker,
            &title,
            PickerNote {
                note: note.as_deref(),
                keys: Some(&keys),
                ..PickerNote::default()
            },
            areas,
            theme,
            buffer,
            row,
        ))
    }
}
