//! A rule for comparing calls, to be tried as a what-if.

use super::line::draw_line;
use super::{Dialog, Overlay};
use crate::domain::MatchRule;
use crate::explorer::effect::Effect;
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::theme::Theme;
use crate::explorer::what_if;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use tui_input::{Input, InputRequest};

/// A rule being typed.
#[derive(Debug, Default)]
pub struct RuleLine {
    /// The rule as typed.
    pub input: Input,
    /// Why it cannot be read.
    pub wrong: Option<String>,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    super::open(model, Overlay::Rule(RuleLine::default()))
}

impl Dialog for RuleLine {
    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        self.input.handle(request);
        self.wrong = None;
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        match MatchRule::parse(self.input.value()) {
            Ok(rule) => Some(what_if::change(model, |change| change.rules.push(rule))),
            Err(why) => {
                self.wrong = Some(why);
                None
            }
        }
    }

    fn draw(&self, _: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
        let example = "search_* query ignore · * limit tolerance 5 · book city regex ^O · log optional";
        draw_line("match ", &self.input, (self.wrong.as_deref(), example), areas, theme, buffer)
    }
}
