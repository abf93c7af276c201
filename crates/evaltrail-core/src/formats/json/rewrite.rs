//! The smallest change of a text that changes a value: equal parts keep their bytes, and new parts are written in
//! the style of their neighbours.

use super::layout::{Container, Style, container, indent_of, levels_of};
use super::pairing::{ElementMatch, pair_up};
use super::splice::{Splice, TextChange};
use super::{JsonPath, SyntaxError, locate, parse};
use crate::formats::read::{camel, same_name};
use serde_json::{Map, Value};
use std::ops::Range;

/// How keys are spelt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// As they are: the keys are data.
    Exact,
    /// Known keys, looked up in either spelling; new ones in snake_case.
    Snake,
    /// Known keys, looked up in either spelling; new ones in camelCase.
    Camel,
}

/// The keys inside the values of these keys are data.
const OPAQUE: &[&str] = &[
    "args",
    "response",
    "state",
    "final_session_state",
    "app_details",
    "conversation_scenario",
    "grounding_metadata",
    "usage_metadata",
    "part_metadata",
    "tool_input",
];

impl Names {
    fn below(self, key: &str) -> Names {
        if OPAQUE.iter().any(|known| same_name(key, known)) {
            Names::Exact
        } else {
            self
        }
    }

    fn spelt(self, key: &str) -> String {
        match self {
            Names::Camel => camel(key),
            _ => key.to_string(),
        }
    }

    fn find(self, found: &Container, key: &str) -> Option<usize> {
        let last = |name: &str| found.items.iter().rposition(|item| item.key == name);
        match self {
            Names::Exact => last(key),
            // ADK uses the camelCase key when both are present.
            _ => last(&camel(key)).or_else(|| last(key)),
        }
    }

    fn means(self, spelt: &str, key: &str) -> bool {
        spelt == key || (self != Names::Exact && spelt == camel(key))
    }

    /// A value with its known keys in this spelling.
    fn convert_key_case(self, value: &Value) -> Value {
        match value {
            Value::Object(map) if self == Names::Camel => map
                .iter()
                .map(|(key, value)| (camel(key), self.below(key).convert_key_case(value)))
                .collect(),
            Value::Array(list) => list
                .iter()
                .map(|value| self.convert_key_case(value))
                .collect(),
            other => other.clone(),
        }
    }
}

/// The change that turns the value at a range from `old` into `new`. What the text contains beyond `old`
/// (keys that the reader dropped, spellings, white space) stays.
pub fn rewrite(
    text: &str,
    at: Range<usize>,
    old: &Value,
    new: &Value,
    names: Names,
) -> Result<TextChange, SyntaxError> {
    let style = Style::detect(text, at.clone());
    let mut rewriter = Rewriter {
        text,
        style,
        splices: Vec::new(),
    };
    rewriter.value(at, 0, (old, new), names)?;
    Ok(TextChange::new(rewriter.splices))
}

/// The change that inserts an element into the list at an offset, in the style of its neighbours. If there is a
/// `verbatim` text, it is inserted as it is.
pub fn insert_element(
    text: &str,
    list: usize,
    index: usize,
    element: &Value,
    verbatim: Option<&str>,
) -> Result<TextChange, SyntaxError> {
    let found = container(text, list)?;
    let beside = found
        .items
        .get(index.saturating_sub(1))
        .map(|item| item.value.clone());
    // An empty list has no style: the element is written in the style of the whole document, and its content as
    // ADK writes it.
    let style = Style::detect(
        text,
        beside
            .clone()
            .unwrap_or(locate(text, &JsonPath::default())..text.len()),
    );
    let mut rewriter = Rewriter {
        text,
        style,
        splices: Vec::new(),
    };
    let room = rewriter.room(&found, 0);
    let spelt = match verbatim {
        Some(text) => text.to_string(),
        None => {
            let levels = match beside {
                Some(_) => rewriter.sibling_levels(&found, index, 1),
                None if room.on_lines => usize::MAX,
                None => 0,
            };
            rewriter.style.spell(element, &room.indent, levels)
        }
    };
    let anchor = index.checked_sub(1);
    rewriter.items(
        &found,
        &vec![true; found.items.len()],
        vec![(anchor, spelt)],
        &room,
    );
    Ok(TextChange::new(rewriter.splices))
}

/// The change that removes elements from the list at an offset.
pub fn remove_elements(text: &str, list: usize, gone: &[usize]) -> Result<TextChange, SyntaxError> {
    let found = container(text, list)?;
    let style = Style::detect(text, list..list);
    let mut rewriter = Rewriter {
        text,
        style,
        splices: Vec::new(),
    };
    let kept: Vec<bool> = (0..found.items.len())
        .map(|at| !gone.contains(&at))
        .collect();
    let room = rewriter.room(&found, 0);
    rewriter.items(&found, &kept, Vec::new(), &room);
    Ok(TextChange::new(rewriter.splices))
}

struct Rewriter<'a> {
    text: &'a str,
    style: Style,
    splices: Vec<Splice>,
}

/// The layout for new items of a container.
struct ItemLayout {
    /// The white space between items, after the comma.
    gap: String,
    /// The indentation of an item's line.
    indent: String,
    /// Whether items are on separate lines.
    on_lines: bool,
}

impl Rewriter<'_> {
    fn value(
        &mut self,
        at: Range<usize>,
        depth: usize,
        (old, new): (&Value, &Value),
        names: Names,
    ) -> Result<(), SyntaxError> {
        if old == new {
            return Ok(());
        }
        let opens = self.text.as_bytes().get(at.start);
        match (old, new, opens) {
            (Value::Object(old), Value::Object(new), Some(b'{')) => {
                self.object(at.start, depth, (old, new), names)
            }
            (Value::Array(old), Value::Array(new), Some(b'[')) => {
                let found = container(self.text, at.start)?;
                match found.items.len() == old.len() {
                    true => self.array(&found, depth, (old, new), names),
                    false => self.replace(at, depth, &Value::Array(new.clone()), names),
                }
            }
            _ => self.replace(at, depth, new, names),
        }
    }

    fn object(
        &mut self,
        at: usize,
        depth: usize,
        (old, new): (&Map<String, Value>, &Map<String, Value>),
        names: Names,
    ) -> Result<(), SyntaxError> {
        let found = container(self.text, at)?;
        let gone: Vec<&String> = old.keys().filter(|key| !new.contains_key(*key)).collect();
        let is_gone = |spelt: &str| gone.iter().any(|key| names.means(spelt, key));
        let kept: Vec<bool> = found.items.iter().map(|item| !is_gone(&item.key)).collect();
        let room = self.room(&found, depth);
        let levels = if room.on_lines {
            self.style.levels_at(depth)
        } else {
            0
        };
        let mut added = Vec::new();
        let mut anchor = None;
        for (key, value) in new {
            match (names.find(&found, key), old.get(key)) {
                (Some(at), before) => {
                    anchor = Some(at);
                    let range = found.items[at].value.clone();
                    match before {
                        Some(before) => {
                            self.value(range, depth + 1, (before, value), names.below(key))?
                        }
                        None => self.replace(range, depth + 1, value, names.below(key))?,
                    }
                }
                (None, _) => {
                    let value = names.below(key).convert_key_case(value);
                    let member = self
                        .style
                        .member(&names.spelt(key), &value, &room.indent, levels);
                    let after = anchor.or(found.items.len().checked_sub(1));
                    added.push((after, member));
                }
            }
        }
        self.items(&found, &kept, added, &room);
        Ok(())
    }

    fn array(
        &mut self,
        found: &Container,
        depth: usize,
        (old, new): (&[Value], &[Value]),
        names: Names,
    ) -> Result<(), SyntaxError> {
        let matches = pair_up(old, new);
        let mut kept = vec![false; old.len()];
        let mut added = Vec::new();
        let mut anchor = None;
        let room = self.room(found, depth);
        for element in matches {
            match element {
                ElementMatch::Paired(o, n) => {
                    kept[o] = true;
                    anchor = Some(o);
                    self.value(
                        found.items[o].value.clone(),
                        depth + 1,
                        (&old[o], &new[n]),
                        names,
                    )?;
                }
                ElementMatch::Gone(o) => anchor = Some(o),
                ElementMatch::New(n) => {
                    // An element that was moved or duplicated keeps its spelling.
                    let spelt = match old.iter().position(|value| *value == new[n]) {
                        Some(same) => self.text[found.items[same].value.clone()].to_string(),
                        None => {
                            let beside = anchor.map_or(0, |at| at + 1);
                            let levels = self.sibling_levels(found, beside, depth + 1);
                            self.style
                                .spell(&names.convert_key_case(&new[n]), &room.indent, levels)
                        }
                    };
                    added.push((anchor, spelt));
                }
            }
        }
        self.items(found, &kept, added, &room);
        Ok(())
    }

    /// How many levels of a new element have their items on separate lines: none if its neighbour has none; else as
    /// many as in its neighbour, and at least as many as in the style.
    fn sibling_levels(&self, found: &Container, index: usize, depth: usize) -> usize {
        let neighbour = found
            .items
            .get(index.saturating_sub(1))
            .or(found.items.first());
        match neighbour.map(|item| &self.text[item.value.clone()]) {
            Some(text) if text.starts_with(['{', '[']) => match levels_of(text) {
                0 => 0,
                levels => levels.max(self.style.levels_at(depth)),
            },
            Some(_) => 0,
            None => self.style.levels_at(depth),
        }
    }

    fn replace(
        &mut self,
        at: Range<usize>,
        depth: usize,
        new: &Value,
        names: Names,
    ) -> Result<(), SyntaxError> {
        let old = &self.text[at.clone()];
        let holds_items =
            matches!(parse(old)?.value, Value::Array(l) if !l.is_empty()) || old.starts_with('{');
        let levels = if holds_items {
            levels_of(old)
        } else {
            self.style.levels_at(depth)
        };
        let indent = indent_of(self.text, at.start);
        let spelt = self
            .style
            .spell(&names.convert_key_case(new), indent, levels);
        self.splices
            .extend(TextChange::one(at.start, old, &spelt).0);
        Ok(())
    }

    fn room(&self, found: &Container, depth: usize) -> ItemLayout {
        let line = indent_of(self.text, found.open);
        let Some(first) = found.items.first() else {
            let on_lines = self.style.levels_at(depth) > 0;
            return ItemLayout {
                gap: String::new(),
                indent: format!("{line}{}", self.style.unit()),
                on_lines,
            };
        };
        let lead = &self.text[found.open + 1..first.all.start];
        let gap = match found.items.get(1) {
            Some(second) => {
                let between = &self.text[first.all.end..second.all.start];
                between[between.find(',').map_or(0, |comma| comma + 1)..].to_string()
            }
            None if lead.contains('\n') => lead.to_string(),
            None => self.style.comma()[1..].to_string(),
        };
        let on_lines = gap.contains('\n');
        let indent = match gap.rfind('\n') {
            Some(line) => gap[line + 1..].to_string(),
            None => line.to_string(),
        };
        ItemLayout {
            gap,
            indent,
            on_lines,
        }
    }

    /// Removes and inserts items, with the commas and white space between them.
    fn items(
        &mut self,
        found: &Container,
        kept: &[bool],
        added: Vec<(Option<usize>, String)>,
        room: &ItemLayout,
    ) {
        let items = &found.items;
        let last_kept = kept.iter().rposition(|kept| *kept);
        let (Some(first), Some(last)) = (kept.iter().position(|kept| *kept), last_kept) else {
            self.refill(
                found,
                added.into_iter().map(|(_, text)| text).collect(),
                room,
            );
            return;
        };
        for (at, _) in kept
            .iter()
            .enumerate()
            .take(last)
            .filter(|(_, kept)| !**kept)
        {
            self.cut(items[at].all.start..items[at + 1].all.start);
        }
        self.cut(items[last].all.end..items[items.len() - 1].all.end);
        for (anchor, text) in added {
            let after = anchor.and_then(|anchor| kept[..=anchor].iter().rposition(|kept| *kept));
            let (at, new) = match after {
                Some(after) => (items[after].all.end, format!(",{}{text}", room.gap)),
                None => (items[first].all.start, format!("{text},{}", room.gap)),
            };
            self.splices.push(Splice {
                at,
                old: String::new(),
                new,
            });
        }
    }

    /// Replaces all items of a container.
    fn refill(&mut self, found: &Container, added: Vec<String>, room: &ItemLayout) {
        let inside = found.open + 1..found.close;
        let old = &self.text[inside.clone()];
        let new = match (added.is_empty(), found.items.is_empty()) {
            (true, true) => return,
            (true, false) => String::new(),
            (false, true) if room.on_lines => self
                .style
                .on_lines(&added, indent_of(self.text, found.open)),
            (false, true) => added.join(self.style.comma()),
            (false, false) => {
                let lead = &old[..old.len() - old.trim_start().len()];
                let tail = &old[old.trim_end().len()..];
                format!("{lead}{}{tail}", added.join(&format!(",{}", room.gap)))
            }
        };
        self.splices
            .extend(TextChange::one(inside.start, old, &new).0);
    }

    fn cut(&mut self, range: Range<usize>) {
        let old = self.text[range.clone()].to_string();
        self.splices.push(Splice {
            at: range.start,
            old,
            new: String::new(),
        });
    }
}
