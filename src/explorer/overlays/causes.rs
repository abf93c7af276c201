//! Failures by cause: a row for each group of failures that share one. Choosing a row lists its cases.

use super::{Dialog, Overlay};
use crate::domain::clean_line;
use crate::explorer::case_ref::CaseRef;
use crate::explorer::commands::Motion;
use crate::explorer::effect::Effect;
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::screens::browse::state::{NarrowedTo, Narrowing, Pane};
use crate::explorer::screens::browse::{groups_here, narrow};
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::picker::{Picker, pick};
use crate::explorer::widgets::text::{put, put_right};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::collections::BTreeSet;
use tui_input::InputRequest;

/// Columns for the number of cases.
const COUNT_WIDTH: u16 = 6;
/// Columns for the share of all failures.
const SHARE_WIDTH: u16 = 6;

/// Groups to choose from, by index.
#[derive(Debug)]
pub struct CauseList {
    /// The matching groups.
    pub picker: Picker<usize>,
    groups: Vec<Group>,
    failures: usize,
}

#[derive(Debug)]
struct Group {
    what: Narrowing,
    cases: BTreeSet<CaseRef>,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let groups: Vec<Group> = groups_here(model)
        .into_iter()
        .map(|(what, members)| Group { what, cases: members.into_iter().collect() })
        .collect();
    let failures = groups.iter().map(|group| group.cases.len()).sum();
    let mut list = CauseList { picker: Picker::new(Vec::new()), groups, failures };
    list.find();
    let chosen = model.browse.narrowing.as_ref().map(|narrowing| &narrowing.what);
    let now = list.picker.found.iter().position(|(at, _)| Some(&list.groups[*at].what) == chosen);
    list.picker.cursor = now.unwrap_or(0);
    super::open(model, Overlay::Causes(list))
}

impl CauseList {
    fn find(&mut self) {
        let words = |(at, group): (usize, &Group)| (at, clean_line(&group.what.words()).into_owned());
        self.picker.find(self.groups.iter().enumerate().map(words));
    }

    /// "31 of 40 not passed share 3 causes"
    fn headline(&self) -> String {
        let shared = self.groups.iter().filter(|group| group.what != Narrowing::Alone);
        let (causes, cases) =
            shared.fold((0, 0), |(causes, cases), group| (causes + 1, cases + group.cases.len()));
        match causes {
            0 if self.failures == 0 => "every listed case passed or was not run".into(),
            0 => format!("{} not passed, each for its own reason", self.failures),
            1 => format!("{cases} of {} not passed share a cause", self.failures),
            _ => format!("{cases} of {} not passed share {causes} causes", self.failures),
        }
    }
}

impl Dialog for CauseList {
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
        narrow(model, Some(NarrowedTo { what: group.what.clone(), cases: group.cases.clone() }));
        model.browse.pane = Pane::Cases;
        Some(Vec::new())
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        for group in &mut self.groups {
            group.cases = group.cases.iter().filter_map(|case| new(*case)).collect();
        }
        true
    }

    fn draw(&self, _: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
        let row = |(at, words): &(usize, String), area: Rect, style: Style, buffer: &mut Buffer| {
            let cases = self.groups[*at].cases.len();
            let share = format!("{:.0} %", cases as f64 * 100.0 / self.failures.max(1) as f64);
            let count = theme.within(style, theme.style(Role::Failed));
            put_right(buffer, area.x + COUNT_WIDTH - 1, area.y, COUNT_WIDTH, &cases.to_string(), count);
            let x = area.x + COUNT_WIDTH + SHARE_WIDTH;
            let faint = theme.within(style, theme.style(Role::Faint));
            put_right(buffer, x - 1, area.y, SHARE_WIDTH, &share, faint);
            put(buffer, x + 1, area.y, area.right().saturating_sub(x + 1), words, style);
        };
        Some(pick(&self.picker, &self.headline(), areas, theme, buffer, row))
    }
}
