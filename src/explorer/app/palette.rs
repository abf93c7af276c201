//! The command palette: fuzzy search for commands by name or description.

use crate::explorer::commands::{COMMANDS, Command};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::{Effect, ScreenRequest};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::notices;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::picker::{Picker, contains_words, pick};
use crate::explorer::widgets::text::{put, put_right};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use tui_input::InputRequest;

/// Widths of names and keys, in columns.
const NAMES: u16 = 20;
const KEYS: u16 = 10;

/// Commands of the current screen to choose from. Those of other screens are found by their names, and only say where they are.
#[derive(Debug)]
pub struct Palette {
    /// The matching commands.
    pub picker: Picker<&'static Command>,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let mut palette = Palette {
        picker: Picker::new(Vec::new()),
    };
    palette.find(model);
    dialog::open(model, palette)
}

impl Palette {
    /// Lists commands whose names match before those whose descriptions match.
    fn find(&mut self, model: &Model) {
        let context = model.screen_context();
        let here = || {
            COMMANDS
                .iter()
                .copied()
                .filter(|command| command.is_in(context))
        };
        self.picker
            .find(here().map(|command| (command, command.name().to_string())));
        let mut by_help = Picker::new(Vec::new());
        by_help.input = self.picker.input.clone();
        by_help.find(here().map(|command| (command, command.help.to_string())));
        for (command, _) in by_help.found {
            if self.picker.found.iter().all(|(known, _)| *known != command) {
                self.picker
                    .found
                    .push((command, command.name().to_string()));
            }
        }
        let typed = self.picker.input.value();
        let mut others: Vec<&'static Command> = commands_elsewhere(context, typed);
        others.retain(|command| {
            self.picker
                .found
                .iter()
                .all(|(_, name)| name != command.name())
        });
        let others = others
            .into_iter()
            .map(|command| (command, command.name().to_string()));
        self.picker.found.extend(others);
        let has_words = |(command, name): &(&Command, String)| {
            contains_words(typed, name) || contains_words(typed, command.help)
        };
        if self.picker.found.iter().any(has_words) {
            self.picker.found.retain(has_words);
        }
    }
}

/// The commands of other screens whose names have the typed words.
fn commands_elsewhere(context: Context, typed: &str) -> Vec<&'static Command> {
    let is_named = |command: &&Command| {
        !command.is_in(context)
            && !command.screens().is_empty()
            && contains_words(typed, command.name())
    };
    match typed.trim() {
        "" => Vec::new(),
        _ => COMMANDS.iter().copied().filter(is_named).collect(),
    }
}

impl Dialog for Palette {
    fn edit(&mut self, model: &mut Model, request: InputRequest) {
        self.picker.input.handle(request);
        self.find(model);
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.picker.scroll(motion);
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let Some(command) = self.picker.chosen() else {
            return Some(Vec::new());
        };
        if command.is_in(model.screen_context()) {
            return Some(vec![ScreenRequest::Command(command.id).into()]);
        }
        let (name, screens) = (command.name(), command.screens());
        let text = format!("{name} is a command of other screens: {screens}");
        Some(notices::notify(model, text, false))
    }

    fn draw(
        &self,
        model: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let row = |(command, name): &(&'static Command, String),
                   area: Rect,
                   style: Style,
                   buffer: &mut Buffer| {
            put(buffer, area.x, area.y, NAMES - 1, name, style);
            let words = match command.is_enabled(model) {
                _ if !command.is_in(model.screen_context()) => {
                    format!("on another screen: {}", command.screens())
                }
                Ok(()) => command.help.to_string(),
                Err(why) => format!("disabled: {why}"),
            };
            let room = area.width.saturating_sub(NAMES + KEYS);
            put(
                buffer,
                area.x + NAMES,
                area.y,
                room,
                &words,
                theme.within(style, theme.style(Role::Faint)),
            );
            let keys = theme.within(style, theme.style(Role::Accent));
            put_right(buffer, area.right(), area.y, KEYS - 1, command.key(), keys);
        };
        Some(pick(
            &self.picker,
            "commands   enter run, esc cancel",
            areas,
            theme,
            buffer,
            row,
        ))
    }
}
