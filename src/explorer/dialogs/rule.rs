//! The line in which a rule for comparing calls is typed, to be tried as a what-if.

use crate::explorer::prompts::line::draw_line;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::theme::Theme;
use crate::explorer::what_if;
use evaltrail_core::domain::{COMPARISONS, MatchRule, ToolCall};
use evaltrail_core::metrics::argument_paths;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use std::collections::{BTreeMap, BTreeSet};
use tui_input::{Input, InputRequest};

/// Keywords that may follow a tool and an argument, beside [`COMPARISONS`].
const WITH_VALUE: &[&str] = &["default", "tolerance", "relative", "regex", "any_of"];
/// Keywords that may follow a tool.
const HOW_OFTEN: &[&str] = &["optional", "forbidden", "required", "max", "min", "others"];
/// What a rule consists of.
const SYNTAX: &str = "TOOL ARGUMENT HOW";
/// Rules that are shown where no tool is known.
const EXAMPLES: &str =
    "search_* query ignore · * limit tolerance 5 · book city regex ^O · log optional";
/// Maximum number of argument paths of a call that are used for completion.
const MAX_PATHS: usize = 200;
/// Number of completions that are shown.
const SHOWN: usize = 5;

/// A rule that is being typed.
#[derive(Debug, Default)]
pub struct RuleLine {
    /// The rule as typed.
    pub input: Input,
    /// Why the rule is invalid, if it is.
    pub wrong: Option<String>,
    /// The tools of the current case, each with the paths of its arguments.
    tools: BTreeMap<String, BTreeSet<String>>,
    /// The text before `tab` completed it, and the index of the current completion.
    completed: Option<(String, usize)>,
}

/// Opens the line. Completion uses the tools and arguments of the current attempt.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let mut line = RuleLine::default();
    // Attempts that are slow to read are not used for completion.
    let attempt = model.current_attempt().filter(|attempt| !attempt.is_slow());
    let attempt = attempt.and_then(|attempt| attempt.read().ok());
    for turn in attempt
        .iter()
        .flat_map(|attempt| attempt.expected.iter().chain(attempt.actual.iter()))
    {
        turn.calls().into_iter().for_each(|call| line.know(call));
    }
    dialog::open(model, line)
}

impl RuleLine {
    fn know(&mut self, call: &ToolCall) {
        let paths = call.args.as_ref().map(argument_paths).unwrap_or_default();
        self.tools
            .entry(call.name.clone())
            .or_default()
            .extend(paths.into_iter().take(MAX_PATHS));
    }

    /// Completions of the last word.
    fn completions(&self, typed: &str) -> Vec<String> {
        let words: Vec<&str> = typed.split_whitespace().collect();
        let is_new = typed.is_empty() || typed.ends_with(' ');
        let (before, word) = match (is_new, words.split_last()) {
            (false, Some((word, before))) => (before, *word),
            _ => (&words[..], ""),
        };
        let names: Vec<String> = match before {
            [] => self.tools.keys().cloned().collect(),
            [tool] => {
                let tool = tool.trim_end_matches(':');
                let of = |name: &String| wildmatch::WildMatch::new(tool).matches(name);
                let paths: BTreeSet<&String> = self
                    .tools
                    .iter()
                    .filter(|(name, _)| of(name))
                    .flat_map(|(_, paths)| paths)
                    .collect();
                let often = HOW_OFTEN.iter().map(|word| word.to_string());
                paths.into_iter().cloned().chain(often).collect()
            }
            [_, "forbidden"] => vec!["after".to_string()],
            [_, "forbidden", "after", ..] => self.tools.keys().cloned().collect(),
            [_, "others"] => ["ignore", "superset", "subset"].map(str::to_string).into(),
            [_, second] if !HOW_OFTEN.contains(second) => COMPARISONS
                .iter()
                .chain(WITH_VALUE)
                .map(|word| word.to_string())
                .collect(),
            _ => Vec::new(),
        };
        names
            .into_iter()
            .filter(|name| name.starts_with(word) && name != word)
            .collect()
    }

    /// A rule for an argument of the current case.
    fn example(&self) -> String {
        let mut arguments = self
            .tools
            .iter()
            .filter_map(|(tool, paths)| Some((tool, paths.first()?)));
        match arguments.next() {
            Some((tool, path)) => format!("{tool} {path} ignore"),
            None => "search_* query ignore".into(),
        }
    }

    /// Completes the last word. If repeated, uses the next completion.
    fn complete(&mut self) {
        let (typed, nth) = match self.completed.take() {
            Some((typed, nth)) => (typed, nth + 1),
            None => (self.input.value().to_string(), 0),
        };
        let names = self.completions(&typed);
        let Some(name) = names.get(nth % names.len().max(1)) else {
            return;
        };
        let start = typed.rfind(' ').map_or(0, |at| at + 1);
        self.input = Input::new(format!("{}{name}", &typed[..start]));
        self.completed = Some((typed, nth));
        self.wrong = None;
    }
}

impl Dialog for RuleLine {
    fn tab(&mut self, _: &mut Model) -> Option<Vec<Effect>> {
        self.complete();
        None
    }

    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        self.input.handle(request);
        self.completed = None;
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

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let typed = self
            .completed
            .as_ref()
            .map_or(self.input.value(), |(typed, _)| typed.as_str());
        let names = self.completions(typed);
        let shown = names[..names.len().min(SHOWN)].join(" · ");
        let hint = match (self.input.value().is_empty(), names.is_empty()) {
            (true, true) => format!("{SYNTAX}: {EXAMPLES}"),
            (true, false) => format!("{SYNTAX}: {}   tab {shown}", self.example()),
            (false, true) => "enter try it  esc cancel".to_string(),
            (false, false) => format!("tab {shown}   enter try it  esc cancel"),
        };
        draw_line(
            "match ",
            &self.input,
            (self.wrong.as_deref(), &hint),
            areas,
            theme,
            buffer,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_line_shows_the_syntax() {
        let shown = |line: &RuleLine| {
            let model = Model::new("w".into(), Vec::new(), (100, 30));
            let areas = Layout {
                footer: ratatui::layout::Rect::new(0, 0, 100, 1),
                ..Layout::default()
            };
            let mut buffer = Buffer::empty(areas.footer);
            line.draw(
                &model,
                &areas,
                &Theme::named("default", true).unwrap(),
                &mut buffer,
            );
            let cells = buffer.content.iter().map(|cell| cell.symbol());
            cells.collect::<String>()
        };
        let mut line = RuleLine::default();
        assert!(shown(&line).contains("TOOL ARGUMENT HOW: search_* query ignore"));
        let args = serde_json::json!({"sides": 6}).as_object().cloned();
        line.know(&ToolCall::new("throw_die", args));
        assert!(shown(&line).contains("TOOL ARGUMENT HOW: throw_die sides ignore   tab throw_die"));
        assert!(
            line.completions("throw_die: ")
                .contains(&"sides".to_string())
        );
    }

    #[test]
    fn completed_sequences_are_rules() {
        let mut line = RuleLine::default();
        line.know(&ToolCall::new("login", None));
        assert_eq!(line.completions("pay forbidden "), ["after"]);
        assert_eq!(line.completions("pay forbidden after l"), ["login"]);
        assert!(
            MatchRule::parse("pay forbidden after login")
                .unwrap()
                .after
                .is_some()
        );
        assert!(
            !line.completions("pay a").contains(&"after".to_string()),
            "not a rule by itself"
        );
    }
}
