//! What lies over the screen: help, filter, palette, jump, questions.

use crate::domain::Query;
use crate::explorer::commands::key::{Key, KeyCode};
use crate::explorer::commands::{COMMANDS, CommandId, command};
use crate::explorer::effect::Effect;
use crate::explorer::layout::layout;
use crate::explorer::model::{CaseRef, Model};
use crate::explorer::overlays::opinion_update as opinion;
use crate::explorer::overlays::{Confirm, ConfirmKind, Overlay, Picker};
use crate::explorer::screens::browse::update as browse;
use crate::explorer::screens::run::update::is_about_keys;
use crate::explorer::update::{give, moved};
use crate::metrics::{aggregates, catalog};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use tui_input::{Input, InputRequest};

/// More matches than this are not listed.
const FOUND_AT_MOST: usize = 200;
/// Rows of the help that the wheel or a key moves by.
const HELP_PAGE: usize = 10;

/// Whether plain characters are text here.
pub(crate) fn takes_text(model: &Model) -> bool {
    matches!(
        &model.overlay,
        Some(
            Overlay::Filter(..)
                | Overlay::Palette(_)
                | Overlay::Jump(_)
                | Overlay::Rule(..)
                | Overlay::Flips(_)
                | Overlay::Metrics(_)
                | Overlay::Opinions(_)
                | Overlay::Ask(_)
                | Overlay::MoveTo(_)
                | Overlay::Variants(..)
        )
    )
}

pub(crate) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    if let (Some(Overlay::Opinions(given)), false) = (&mut model.overlay, is_ending(key)) {
        opinion::key(given, key, request(key));
        return Vec::new();
    }
    match (key.code, key.ctrl) {
        (KeyCode::Esc, _) | (KeyCode::Char('c'), true) => close(model),
        (KeyCode::Enter, _) => choose(model),
        (KeyCode::Up, _) | (KeyCode::Char('p'), true) => move_cursor(model, CommandId::Up),
        (KeyCode::Down, _) | (KeyCode::Char('n'), true) => move_cursor(model, CommandId::Down),
        (KeyCode::PageUp, _) => move_cursor(model, CommandId::PageUp),
        (KeyCode::PageDown, _) => move_cursor(model, CommandId::PageDown),
        _ => edit(model, request(key)),
    }
}

pub(crate) fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    if takes_text(model) {
        for c in text.chars().filter(|c| !c.is_control()) {
            edit(model, Some(InputRequest::InsertChar(c)));
        }
    }
    Vec::new()
}

/// Whether a key ends an overlay, with or without taking what was given.
fn is_ending(key: Key) -> bool {
    matches!((key.code, key.ctrl), (KeyCode::Esc | KeyCode::Enter, _) | (KeyCode::Char('c'), true))
}

/// What a key does to a line of text.
pub(crate) fn request(key: Key) -> Option<InputRequest> {
    use InputRequest as R;
    Some(match (key.code, key.ctrl) {
        (KeyCode::Backspace, false) | (KeyCode::Char('h'), true) => R::DeletePrevChar,
        (KeyCode::Backspace, true) | (KeyCode::Char('w'), true) => R::DeletePrevWord,
        (KeyCode::Delete, _) | (KeyCode::Char('d'), true) => R::DeleteNextChar,
        (KeyCode::Left, false) | (KeyCode::Char('b'), true) => R::GoToPrevChar,
        (KeyCode::Right, false) | (KeyCode::Char('f'), true) => R::GoToNextChar,
        (KeyCode::Left, true) => R::GoToPrevWord,
        (KeyCode::Right, true) => R::GoToNextWord,
        (KeyCode::Home, _) | (KeyCode::Char('a'), true) => R::GoToStart,
        (KeyCode::End, _) | (KeyCode::Char('e'), true) => R::GoToEnd,
        (KeyCode::Char('u'), true) => R::DeleteLine,
        (KeyCode::Char('k'), true) => R::DeleteTillEnd,
        (KeyCode::Char(c), false) if !key.alt => R::InsertChar(c),
        _ => return None,
    })
}

fn edit(model: &mut Model, request: Option<InputRequest>) -> Vec<Effect> {
    let Some(request) = request else { return Vec::new() };
    match model.overlay.take() {
        Some(Overlay::Filter(mut input, _)) => {
            input.handle(request);
            let wrong = filter_as_typed(model, input.value());
            model.overlay = Some(Overlay::Filter(input, wrong));
        }
        Some(Overlay::Palette(mut picker)) => {
            picker.input.handle(request);
            find_commands(model, &mut picker);
            model.overlay = Some(Overlay::Palette(picker));
        }
        Some(Overlay::Jump(mut picker)) => {
            picker.input.handle(request);
            find_cases(model, &mut picker);
            model.overlay = Some(Overlay::Jump(picker));
        }
        Some(Overlay::Opinions(mut given)) => {
            opinion::note(&mut given, request);
            model.overlay = Some(Overlay::Opinions(given));
        }
        Some(Overlay::Rule(mut input, _)) => {
            input.handle(request);
            model.overlay = Some(Overlay::Rule(input, None));
        }
        Some(Overlay::Ask(mut ask)) => {
            ask.input.handle(request);
            ask.wrong = crate::explorer::authoring::sets::wrong(model, &ask.kind, ask.input.value());
            model.overlay = Some(Overlay::Ask(ask));
        }
        Some(Overlay::MoveTo(mut picker)) => {
            picker.input.handle(request);
            crate::explorer::authoring::sets::find_sets(model, &mut picker);
            model.overlay = Some(Overlay::MoveTo(picker));
        }
        Some(Overlay::Metrics(mut picker)) => {
            picker.input.handle(request);
            find_metrics(&mut picker);
            model.overlay = Some(Overlay::Metrics(picker));
        }
        other => model.overlay = other,
    }
    Vec::new()
}

/// The list follows every key; a filter that cannot be read yet leaves it as it is and says why.
fn filter_as_typed(model: &mut Model, typed: &str) -> Option<String> {
    match Query::parse(typed) {
        Ok(query) => {
            browse::set_filter(model, typed.to_string(), query);
            None
        }
        Err(error) => Some(error.to_string()),
    }
}

fn close(model: &mut Model) -> Vec<Effect> {
    model.overlay = None;
    Vec::new()
}

fn choose(model: &mut Model) -> Vec<Effect> {
    match model.overlay.take() {
        Some(Overlay::Palette(picker)) => match picker.found.get(picker.cursor) {
            Some((id, _)) => give(model, *id),
            None => Vec::new(),
        },
        Some(Overlay::Opinions(given)) => opinion::keep(model, &given),
        Some(Overlay::Rule(input, _)) => crate::explorer::what_if::update::rule_typed(model, input),
        Some(Overlay::Ask(ask)) => crate::explorer::authoring::sets::answered(model, ask),
        Some(Overlay::Variants(case, picker)) => crate::explorer::authoring::variants::choose(
            model,
            case,
            picker.found.get(picker.cursor).map(|found| found.0),
        ),
        Some(Overlay::MoveTo(picker)) => crate::explorer::authoring::sets::move_to(
            model,
            picker.found.get(picker.cursor).map(|found| found.0),
        ),
        Some(Overlay::Flips(picker) | Overlay::Jump(picker)) => {
            if let Some((case, _)) = picker.found.get(picker.cursor) {
                jump_to(model, *case);
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn jump_to(model: &mut Model, case: CaseRef) {
    if let Some(node) = browse::node_of_set(model, case.set) {
        browse::choose_node(model, node);
    }
    if !model.browse.visible.contains(&case) {
        browse::set_filter(model, String::new(), Query::default());
    }
    browse::open_case(model, case, false);
}

fn move_cursor(model: &mut Model, id: CommandId) -> Vec<Effect> {
    match &mut model.overlay {
        Some(Overlay::Palette(picker)) => picker.cursor = moved(picker.cursor, id, picker.found.len(), 8),
        Some(Overlay::Jump(picker) | Overlay::Flips(picker)) => {
            picker.cursor = moved(picker.cursor, id, picker.found.len(), 8);
        }
        Some(Overlay::Metrics(picker)) => picker.cursor = moved(picker.cursor, id, picker.found.len(), 8),
        Some(Overlay::Variants(_, picker)) => picker.cursor = moved(picker.cursor, id, picker.found.len(), 8),
        Some(Overlay::MoveTo(picker)) => picker.cursor = moved(picker.cursor, id, picker.found.len(), 8),
        _ => {}
    }
    Vec::new()
}

pub(crate) fn wheel(model: &mut Model, id: CommandId) -> Vec<Effect> {
    match &model.overlay {
        Some(Overlay::Help(_) | Overlay::Statistics(..) | Overlay::Agreement(..)) => help_command(model, id),
        _ => move_cursor(model, id),
    }
}

pub(crate) fn open_palette(model: &mut Model) -> Vec<Effect> {
    let mut picker = Picker { input: Input::default(), found: Vec::new(), cursor: 0 };
    find_commands(model, &mut picker);
    crate::explorer::update::open(model, Overlay::Palette(picker))
}

pub(crate) fn open_jump(model: &mut Model) -> Vec<Effect> {
    let mut picker = Picker { input: Input::default(), found: Vec::new(), cursor: 0 };
    find_cases(model, &mut picker);
    crate::explorer::update::open(model, Overlay::Jump(picker))
}

pub(crate) fn open_metrics(model: &mut Model) -> Vec<Effect> {
    let mut picker = Picker { input: Input::default(), found: Vec::new(), cursor: 0 };
    find_metrics(&mut picker);
    let at_hand = model.metric_at_hand().map(|metric| metric.metric.clone()).unwrap_or_default();
    let at_hand = picker.found.iter().position(|(name, _)| Some(*name) == at_hand.split(':').next());
    picker.cursor = at_hand.unwrap_or(0);
    crate::explorer::update::open(model, Overlay::Metrics(picker))
}

fn find_metrics(picker: &mut Picker<&'static str>) {
    let items = catalog().map(|metric| (metric.name, metric.name.to_string()));
    picker.found = ranked(picker.input.value(), items);
    picker.cursor = 0;
}

/// Statistics of the selected cases, or of those listed.
pub(crate) fn open_statistics(model: &mut Model) -> Vec<Effect> {
    let cases: Vec<CaseRef> = match model.browse.selected.is_empty() {
        true => model.browse.visible.clone(),
        false => model.browse.selected.iter().copied().collect(),
    };
    let outcomes = cases.iter().filter_map(|case| model.outcomes.get(*case));
    let attempts = outcomes.flat_map(|outcome| &outcome.attempts).map(|attempt| attempt.summary());
    let statistics = aggregates(attempts);
    crate::explorer::update::open(model, Overlay::Statistics(statistics, 0))
}

fn find_commands(model: &Model, picker: &mut Picker<CommandId>) {
    let context = model.screen_context();
    let here = COMMANDS.iter().filter(|command| command.contexts.contains(&context));
    let items = here.map(|command| (command.id, command.name.to_string()));
    picker.found = ranked(picker.input.value(), items);
    picker.cursor = 0;
}

fn find_cases(model: &Model, picker: &mut Picker<CaseRef>) {
    let items = model.listed_sets().flat_map(|set| {
        let entries = model.file(set).map_or(0, |file| file.len());
        (0..entries).map(move |index| {
            let case = CaseRef { set, index };
            (case, format!("{} › {}", model.sets[set].path.stem, model.eval_id(case)))
        })
    });
    picker.found = ranked(picker.input.value(), items);
    picker.cursor = 0;
}

/// Cases that come while one is looked for are found as well.
pub(crate) fn find_again(model: &mut Model) {
    if let Some(Overlay::Jump(mut picker)) =
        model.overlay.take_if(|overlay| matches!(overlay, Overlay::Jump(_)))
    {
        let cursor = picker.cursor;
        find_cases(model, &mut picker);
        picker.cursor = cursor.min(picker.found.len().saturating_sub(1));
        model.overlay = Some(Overlay::Jump(picker));
    }
}

/// What matches, best first; as it comes when nothing was typed.
pub(crate) fn ranked<T: Copy>(typed: &str, items: impl Iterator<Item = (T, String)>) -> Vec<(T, String)> {
    if typed.trim().is_empty() {
        return items.take(FOUND_AT_MOST).collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
    let mut buffer = Vec::new();
    let mut found: Vec<(u32, T, String)> = items
        .filter_map(|(item, words)| {
            let score = pattern.score(Utf32Str::new(&words, &mut buffer), &mut matcher)?;
            Some((score, item, words))
        })
        .collect();
    found.sort_by_key(|(score, ..)| std::cmp::Reverse(*score));
    found.into_iter().take(FOUND_AT_MOST).map(|(_, item, words)| (item, words)).collect()
}

pub(crate) fn help_command(model: &mut Model, id: CommandId) -> Vec<Effect> {
    if let Some(Overlay::Help(scroll)) = &mut model.overlay {
        match id {
            CommandId::Back | CommandId::Help => model.overlay = None,
            id => *scroll = moved(*scroll, id, COMMANDS.len(), HELP_PAGE),
        }
    } else if let Some(Overlay::Agreement(lines, scroll)) = &mut model.overlay {
        match id {
            CommandId::Back | CommandId::Help => model.overlay = None,
            id => *scroll = moved(*scroll, id, lines.len(), HELP_PAGE),
        }
    } else if let Some(Overlay::Statistics(lines, scroll)) = &mut model.overlay {
        match id {
            CommandId::Back | CommandId::Help => model.overlay = None,
            id => *scroll = moved(*scroll, id, lines.len(), HELP_PAGE),
        }
    }
    Vec::new()
}

/// Moves in a question that is longer than the screen.
pub(crate) fn scroll_question(model: &mut Model, id: CommandId) -> Vec<Effect> {
    let body = layout(model).body;
    if let Some(Overlay::Confirm(confirm)) = &mut model.overlay {
        let page = Confirm::rows(body);
        let last = confirm.laid_out(body).len().saturating_sub(page);
        confirm.scroll = moved(confirm.scroll, id, last + 1, page);
    }
    Vec::new()
}

/// Answers the open question. A yes is ignored until the end of the question is visible.
pub(crate) fn answer(model: &mut Model, yes: bool) -> Vec<Effect> {
    let body = layout(model).body;
    if yes && matches!(&model.overlay, Some(Overlay::Confirm(confirm)) if confirm.below(body) > 0) {
        return Vec::new();
    }
    let Some(Overlay::Confirm(confirm)) = model.overlay.take() else { return Vec::new() };
    match (confirm.kind, yes) {
        (ConfirmKind::Quit, true) => vec![Effect::Quit],
        (ConfirmKind::Trust(cases, questions, against), true) => {
            vec![Effect::StartTrusted(cases, questions, against)]
        }
        (ConfirmKind::WriteCriteria(change, sets), true) => vec![Effect::WriteCriteria(change, sets)],
        (ConfirmKind::DropDraft, true) => {
            crate::explorer::screens::edit::update::close(model);
            Vec::new()
        }
        (ConfirmKind::TrustChat { set, session, number, questions }, true) => {
            vec![Effect::OpenChat { set, session: *session, number, granted: questions }]
        }
        (ConfirmKind::TrustChat { .. }, false) => crate::explorer::screens::chat::update::close(model),
        (ConfirmKind::LeaveChat, true) => crate::explorer::screens::chat::update::close(model),
        (ConfirmKind::LeaveChat, false) => Vec::new(),
        (ConfirmKind::TypeAgain(of, text), true) => {
            crate::explorer::screens::edit::update::type_again(of, text)
        }
        (ConfirmKind::WriteCriteria(..) | ConfirmKind::DropDraft | ConfirmKind::TypeAgain(..), false) => {
            Vec::new()
        }
        (ConfirmKind::Trust(_, questions, _), false) if is_about_keys(&questions) => {
            let words = "not started; from now on runs go without it, and what needs it is not evaluated";
            let mut effects = crate::explorer::global::tell(model, words.into(), false);
            effects.push(Effect::DeclineKeys(questions));
            effects
        }
        (ConfirmKind::Trust(..), false) => crate::explorer::global::tell(
            model,
            format!("{}: not started", command(CommandId::Run).name),
            false,
        ),
        (ConfirmKind::Quit, false) => Vec::new(),
    }
}
