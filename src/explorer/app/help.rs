//! Help: the keys of a screen by group, with the reasons why some are disabled.

use crate::explorer::commands::general::HELP;
use crate::explorer::commands::{COMMANDS, Command, CommandGroup, hint_keys};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::screen::layout;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::scrolled;
use crate::explorer::widgets::text::put;
use evaltrail_core::diff::{Span, wrap_line};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

const WIDTH: u16 = 96;
/// Width of the keys, in columns.
const KEYS: u16 = 16;
/// Width in columns from which the names of commands are shown.
const NAMES_FROM: u16 = 70;
const NAMES: u16 = 18;

/// The help of the current screen.
#[derive(Debug, Default)]
pub struct Help {
    scroll: usize,
}

/// A line of the help.
enum HelpLine {
    Heading(&'static str),
    /// Keys, name, description, and whether the command is enabled.
    Command(String, &'static str, String, bool),
    /// Continuation of a description, and whether the command is enabled.
    More(String, bool),
}

/// Opens the help or, if a dialog is open, closes it.
pub(crate) fn toggle(model: &mut Model) -> Vec<Effect> {
    match model.view.open_dialog.take() {
        None => dialog::open(model, Help::default()),
        Some(_) => Vec::new(),
    }
}

/// A heading, and the commands below it.
type HelpSection = (&'static str, Vec<&'static Command>);

/// The commands of the screen: first those with a hint that are enabled, in the order of the hints, then the groups. Groups
/// whose commands are available on few screens are before those that are general.
fn sections(model: &Model) -> Vec<HelpSection> {
    let context = model.screen_context();
    let is_first = |command: &&Command| {
        let is_general = command.group == CommandGroup::General;
        command.hint.is_some() && !is_general && command.is_enabled(model).is_ok()
    };
    let here = COMMANDS.iter().copied().filter(|one| one.is_in(context));
    let (first, rest): (Vec<&Command>, Vec<&Command>) = here.partition(is_first);
    let mut groups: Vec<HelpSection> = CommandGroup::ALL
        .iter()
        .map(|group| {
            let commands = rest.iter().copied().filter(|one| one.group == *group);
            (group.title(), commands.collect())
        })
        .filter(|(_, commands): &HelpSection| !commands.is_empty())
        .collect();
    let screens_per_command = |(_, commands): &HelpSection| {
        let screens: usize = commands.iter().map(|one| one.contexts.len()).sum();
        screens * 100 / commands.len()
    };
    groups.sort_by_key(screens_per_command);
    if !first.is_empty() {
        groups.insert(0, ("This screen", first));
    }
    groups
}

fn lines(model: &Model, width: u16) -> Vec<HelpLine> {
    let room = width.saturating_sub(2 + KEYS + if width >= NAMES_FROM { NAMES } else { 0 });
    let mut lines = Vec::new();
    for (title, commands) in sections(model) {
        if !lines.is_empty() {
            lines.push(HelpLine::Heading(""));
        }
        lines.push(HelpLine::Heading(title));
        commands
            .into_iter()
            .for_each(|command| push(model, command, usize::from(room.max(10)), &mut lines));
    }
    lines
}

fn push(model: &Model, command: &'static Command, room: usize, lines: &mut Vec<HelpLine>) {
    let (text, enabled) = match command.is_enabled(model) {
        Ok(()) => (command.help.to_string(), true),
        Err(why) => (format!("{} — disabled: {why}", command.help), false),
    };
    let span = Span {
        text,
        ..Span::default()
    };
    let wrapped = wrap_line(&[span], room);
    let words = |line: &[Span]| {
        line.iter()
            .map(|span| span.text.as_str())
            .collect::<String>()
    };
    for (at, line) in wrapped.iter().enumerate() {
        lines.push(match at {
            0 => HelpLine::Command(hint_keys(command), command.name(), words(line), enabled),
            _ => HelpLine::More(words(line), enabled),
        });
    }
}

impl Dialog for Help {
    fn context(&self) -> Option<Context> {
        Some(Context::Reading)
    }

    fn scroll(&mut self, model: &mut Model, motion: Motion) {
        let body = layout(model).body;
        let page = usize::from(body.height.saturating_sub(2));
        let count = lines(model, body.width.min(WIDTH).saturating_sub(2)).len();
        self.scroll = motion.target(self.scroll, count.saturating_sub(page) + 1, page);
    }

    fn draw(
        &self,
        model: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let lines = lines(model, areas.body.width.min(WIDTH).saturating_sub(2));
        let title = format!("help   {} and esc close", HELP.key());
        let (inner, first) = scrolled(
            areas.body,
            WIDTH,
            (lines.len(), self.scroll),
            &title,
            theme,
            buffer,
        );
        for (row, line) in lines
            .iter()
            .skip(first)
            .take(usize::from(inner.height))
            .enumerate()
        {
            draw_line(
                line,
                Rect {
                    y: inner.y + row as u16,
                    height: 1,
                    ..inner
                },
                theme,
                buffer,
            );
        }
        None
    }
}

fn draw_line(line: &HelpLine, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    let has_names = row.width >= NAMES_FROM;
    let x = row.x + 1 + KEYS + if has_names { NAMES } else { 0 };
    let room = row.right().saturating_sub(x);
    let role = |enabled: bool| theme.style(if enabled { Role::Text } else { Role::Faint });
    match line {
        HelpLine::Heading(title) => {
            put(
                buffer,
                row.x + 1,
                row.y,
                row.width - 2,
                title,
                theme.style(Role::Title),
            );
        }
        HelpLine::Command(keys, name, words, enabled) => {
            put(
                buffer,
                row.x + 1,
                row.y,
                KEYS - 1,
                keys,
                theme.style(Role::Accent),
            );
            if has_names {
                put(
                    buffer,
                    row.x + 1 + KEYS,
                    row.y,
                    NAMES - 1,
                    name,
                    theme.style(Role::Key),
                );
            }
            put(buffer, x, row.y, room, words, role(*enabled));
        }
        HelpLine::More(words, enabled) => {
            put(buffer, x, row.y, room, words, role(*enabled));
        }
    }
}
