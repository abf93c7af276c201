//! Options for one run: agent, judge, criteria, how often, and which of the cases. What was chosen is remembered until
//! evaltrail ends; a run without this dialog takes what is configured.

use crate::explorer::case_list::listing;
use crate::explorer::running::start;
use crate::explorer::shared::agent_line::AgentLine;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::configured_run::ConfiguredRun;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::{Effect, RunOverrides, RunTarget, SetEffect};
use crate::explorer::shared::key::{Key, KeyCode};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::{fit, put};
use crate::explorer::widgets::text_field::text_field;
use evaltrail_core::domain::{Gate, Query, StubMode, clean_line, did_you_mean};
use evaltrail_core::metrics::{catalog, info};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use std::collections::BTreeSet;
use tui_input::{Input, InputRequest};

const WIDTH: u16 = 78;
/// Columns of the labels.
const LABELS: u16 = 15;
/// Columns of a value, where its description stands beside it.
const VALUES: u16 = 26;
/// More digits than this are not taken.
const DIGITS: usize = 3;

/// An option of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunOption {
    Repeats,
    Jobs,
    Agent,
    Stubs,
    Judge,
    Samples,
    Criteria,
    Metrics,
    Filter,
    Gate,
}

impl RunOption {
    /// In the order of the dialog: what is changed most often is first.
    const ALL: [RunOption; 10] = [
        RunOption::Repeats,
        RunOption::Jobs,
        RunOption::Agent,
        RunOption::Stubs,
        RunOption::Judge,
        RunOption::Samples,
        RunOption::Criteria,
        RunOption::Metrics,
        RunOption::Filter,
        RunOption::Gate,
    ];

    fn label(self) -> &'static str {
        match self {
            RunOption::Repeats => "repeats",
            RunOption::Gate => "gate",
            RunOption::Jobs => "jobs",
            RunOption::Agent => "agent",
            RunOption::Stubs => "stubs",
            RunOption::Judge => "judge",
            RunOption::Samples => "judge samples",
            RunOption::Criteria => "criteria",
            RunOption::Metrics => "more metrics",
            RunOption::Filter => "filter",
        }
    }

    /// The hint beside the field.
    fn help(self) -> &'static str {
        match self {
            RunOption::Repeats => "attempts of each case",
            RunOption::Gate => "all, mean or a share as 0.8",
            RunOption::Jobs => "attempts at the same time",
            RunOption::Agent => "name, cmd:… or adk+http://…",
            RunOption::Stubs => "how calls of tools are answered",
            RunOption::Judge => "judge model",
            RunOption::Samples => "if a criterion has none",
            RunOption::Criteria => "file, for all sets of the run",
            RunOption::Metrics => "beside the criteria, by comma",
            RunOption::Filter => "run only the cases that match",
        }
    }

    /// Whether there is a list of values, through which `tab` goes.
    fn has_values(self) -> bool {
        matches!(
            self,
            RunOption::Agent
                | RunOption::Stubs
                | RunOption::Gate
                | RunOption::Criteria
                | RunOption::Metrics
        )
    }

    fn is_number(self) -> bool {
        matches!(
            self,
            RunOption::Repeats | RunOption::Jobs | RunOption::Samples
        )
    }
}

/// The options being chosen, as typed; an empty field is what is configured.
#[derive(Debug)]
pub struct RunOptionsForm {
    /// Ticket of the request for what is configured.
    ticket: Ticket,
    fields: Vec<(RunOption, Input)>,
    cursor: usize,
    /// Whether the field under the cursor was typed into since the cursor came: the first digit replaces its value.
    is_typed: bool,
    /// The cases that the filter chooses from.
    cases: Vec<CaseRef>,
    /// The agents that can be named.
    agents: Vec<String>,
    /// What is used where a field is empty, once it was read.
    configured: Option<ConfiguredRun>,
    /// The agents that are configured for the sets of the cases.
    agents_of_cases: String,
    /// How many attempts run, and how long and for how much. Computed when it changes: it depends on all cases.
    estimate: String,
    /// Why the filter cannot be used.
    wrong: Option<String>,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let chosen = &model.run_overrides;
    let number = |value: Option<u32>| value.map(|value| value.to_string()).unwrap_or_default();
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let value = |option: RunOption| match option {
        RunOption::Repeats => number(chosen.repeat),
        RunOption::Gate => chosen.gate.map(Gate::name).unwrap_or_default(),
        RunOption::Jobs => number(chosen.jobs),
        RunOption::Agent => text(&chosen.agent),
        RunOption::Stubs => stubs_name(chosen.stubs).to_string(),
        RunOption::Judge => text(&chosen.judge),
        RunOption::Samples => number(chosen.samples),
        RunOption::Criteria => text(&chosen.criteria),
        RunOption::Metrics => chosen.metrics.join(", "),
        RunOption::Filter => chosen.filter.clone(),
    };
    let fields = RunOption::ALL
        .map(|option| (option, Input::new(value(option))))
        .to_vec();
    let cases = start::cases_in_scope(model);
    let agents = model.agents.clone();
    let sets: BTreeSet<usize> = cases.iter().map(|case| case.set).collect();
    let agents_of_cases = agents_of_sets(model, &sets);
    let files = sets.into_iter();
    let files = files.filter_map(|set| Some((set, model.file(set)?.clone())));
    let files = files.collect();
    let ticket = model.ticket();
    let read = SetEffect::ReadConfigured(ticket, files);
    let form = RunOptionsForm {
        ticket,
        fields,
        cursor: 0,
        is_typed: false,
        cases,
        agents,
        configured: None,
        agents_of_cases,
        estimate: String::new(),
        wrong: None,
    };
    let mut effects = dialog::open(model, form);
    effects.push(Effect::Sets(SetEffect::ListAgents));
    effects.push(Effect::Sets(read));
    effects
}

/// Shows what a run of the cases uses where a field is empty.
pub(crate) fn show_configured_values(model: &mut Model, ticket: Ticket, configured: ConfiguredRun) {
    if let Some(mut form) = model.take_dialog::<RunOptionsForm>() {
        if form.ticket == ticket {
            form.show_configured(model, configured);
        }
        model.view.open_dialog = Some(Box::new(form));
    }
}

fn agents_of_sets(model: &Model, sets: &BTreeSet<usize>) -> String {
    let agents = sets.iter().map(|set| &model.view.sets[*set].agent);
    let names: BTreeSet<&str> = agents
        .map(|agent| agent.as_ref().map_or("none", String::as_str))
        .collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn stubs_name(mode: Option<StubMode>) -> &'static str {
    StubMode::NAMES
        .iter()
        .find(|(_, one)| Some(*one) == mode)
        .map_or("", |(name, _)| name)
}

fn stubs_named(name: &str) -> Option<StubMode> {
    StubMode::NAMES
        .iter()
        .find(|(one, _)| *one == name)
        .map(|(_, mode)| *mode)
}

impl RunOptionsForm {
    fn value(&self, option: RunOption) -> &str {
        let field = self.fields.iter().find(|(other, _)| *other == option);
        field.map_or("", |(_, input)| input.value().trim())
    }

    fn overrides(&self) -> RunOverrides {
        let number = |option| self.value(option).parse().ok().filter(|value| *value > 0);
        let text = |option| Some(self.value(option).to_string()).filter(|value| !value.is_empty());
        RunOverrides {
            repeat: number(RunOption::Repeats),
            gate: Gate::parse(self.value(RunOption::Gate)).ok(),
            jobs: number(RunOption::Jobs),
            agent: text(RunOption::Agent),
            stubs: stubs_named(self.value(RunOption::Stubs)),
            keeps_stubs: false,
            judge: text(RunOption::Judge),
            samples: number(RunOption::Samples),
            criteria: text(RunOption::Criteria),
            metrics: self.metrics().map(String::from).collect(),
            filter: self.value(RunOption::Filter).to_string(),
        }
    }

    fn show_configured(&mut self, model: &Model, configured: ConfiguredRun) {
        self.configured = Some(configured);
        self.estimate = self.estimate(model);
    }

    /// The further metrics.
    fn metrics(&self) -> impl Iterator<Item = &str> {
        let names = self.value(RunOption::Metrics).split(',').map(str::trim);
        names.filter(|name| !name.is_empty())
    }

    /// What an empty field means.
    fn default_text(&self, model: &Model, option: RunOption) -> String {
        let Some(configured) = &self.configured else {
            return "…".into();
        };
        let listed = |list: &[String]| list.join(", ");
        match option {
            RunOption::Repeats => configured.repeat.to_string(),
            RunOption::Gate => configured.gate.clone(),
            RunOption::Jobs => configured.jobs.to_string(),
            RunOption::Agent => self.agents_of_cases.clone(),
            RunOption::Stubs => configured.stubs.clone(),
            RunOption::Judge => match &model.judge {
                Some(judge) => judge.clone(),
                None => "as each criterion says".into(),
            },
            RunOption::Samples if configured.samples.is_empty() => "as each criterion says".into(),
            RunOption::Samples => configured.samples.clone(),
            RunOption::Criteria => listed(&configured.criteria),
            RunOption::Metrics => "none".into(),
            RunOption::Filter => "all cases".into(),
        }
    }

    /// How many attempts run, and how long and for how much, judging by the results that are shown.
    fn estimate(&self, model: &Model) -> String {
        let Ok(cases) = self.chosen_cases(model) else {
            return String::new();
        };
        let configured = self.configured.clone().unwrap_or_default();
        let number = |option: RunOption, configured: u32| {
            let typed = self.value(option).parse().ok().filter(|value| *value > 0);
            typed.unwrap_or(configured.max(1))
        };
        let repeat = number(RunOption::Repeats, configured.repeat);
        let jobs = number(RunOption::Jobs, configured.jobs);
        start::estimate(model, &cases, repeat, (jobs, configured.rate))
    }

    /// Completes the metric that is being typed: the first one that begins with it, then the next one.
    fn complete_metric(&mut self) {
        let typed = self.value(RunOption::Metrics).to_string();
        let (before, last) = typed.rsplit_once(',').unwrap_or(("", &typed));
        let last = last.trim();
        let names: Vec<&str> = catalog().map(|metric| metric.name).collect();
        let next = match names.iter().position(|name| *name == last) {
            Some(at) => names.get(at + 1).or(names.first()).copied(),
            None => names.iter().find(|name| name.starts_with(last)).copied(),
        };
        let Some(next) = next else { return };
        let text = match before.trim() {
            "" => next.to_string(),
            before => format!("{before}, {next}"),
        };
        self.fields[self.cursor].1 = Input::new(text);
    }

    /// Types into the field under the cursor.
    fn take_input(&mut self, request: InputRequest) {
        let (option, input) = &mut self.fields[self.cursor];
        self.wrong = None;
        match (option.is_number(), request) {
            (true, InputRequest::InsertChar(c)) => {
                if !c.is_ascii_digit() {
                    return;
                }
                if !std::mem::replace(&mut self.is_typed, true) {
                    *input = Input::default();
                }
                if input.value().len() < DIGITS {
                    input.handle(request);
                }
            }
            _ => {
                self.is_typed = true;
                input.handle(request);
            }
        }
    }

    /// The first number that is zero.
    fn zero(&self) -> Option<String> {
        let is_zero = |(option, input): &&(RunOption, Input)| {
            option.is_number() && input.value().parse::<u32>().is_ok_and(|value| value == 0)
        };
        self.fields
            .iter()
            .find(is_zero)
            .map(|(option, _)| format!("{}: at least 1", option.label()))
    }

    /// The cases that would run, or why the filter leaves none.
    fn chosen_cases(&self, model: &Model) -> Result<Vec<CaseRef>, String> {
        let query =
            Query::parse(self.value(RunOption::Filter)).map_err(|error| error.to_string())?;
        let cases = listing::filtered(model, &self.cases, &query);
        let none = || format!("the filter matches none of {} cases", self.cases.len());
        if cases.is_empty() && !self.cases.is_empty() {
            Err(none())
        } else {
            Ok(cases)
        }
    }

    /// The next value of a field whose values are known; after the last one, what is configured.
    fn next_value(&mut self, option: RunOption) {
        let known: Vec<&str> = match option {
            RunOption::Stubs => StubMode::NAMES.iter().map(|(name, _)| *name).collect(),
            RunOption::Gate => vec!["all", "mean"],
            RunOption::Criteria => {
                let files = self.configured.iter().flat_map(|one| &one.criteria_files);
                files.map(String::as_str).collect()
            }
            _ => self.agents.iter().map(String::as_str).collect(),
        };
        let now = self.value(option);
        let next = match known.iter().position(|one| *one == now) {
            Some(at) => known.get(at + 1),
            None => known.first(),
        };
        self.fields[self.cursor].1 = Input::new(next.map(ToString::to_string).unwrap_or_default());
    }

    /// What is wrong with a value that is chosen from a list.
    fn unknown(&self) -> Option<String> {
        let gate = self.value(RunOption::Gate);
        if let (false, Err(why)) = (gate.is_empty(), Gate::parse(gate)) {
            return Some(format!("gate: {why}"));
        }
        if let Some(why) = self.unknown_agent() {
            return Some(why);
        }
        let stubs = self.value(RunOption::Stubs);
        let names = StubMode::NAMES.map(|(name, _)| name).join(", ");
        if !stubs.is_empty() && stubs_named(stubs).is_none() {
            return Some(format!("stubs: one of {names}"));
        }
        let own = || self.configured.iter().flat_map(|one| &one.own_metrics);
        // A metric can have a label of its own: NAME:LABEL.
        let base = |name: &str| name.split(':').next().unwrap_or_default().to_string();
        let is_known = |name: &&str| {
            info(&base(name)).is_some() || own().any(|own| own == name || *own == base(name))
        };
        let unknown = self.metrics().find(|name| !is_known(name))?;
        let known = catalog().map(|metric| metric.name);
        Some(format!(
            "there is no metric {unknown}{}",
            did_you_mean(unknown, known)
        ))
    }

    /// Why the agent in the field cannot be one: it looks like a name, and no agent has it. Addresses and paths are read when
    /// the run starts.
    fn unknown_agent(&self) -> Option<String> {
        let named = self.value(RunOption::Agent);
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let is_unknown = !self.agents.is_empty()
            && !named.is_empty()
            && named.chars().all(is_name)
            && !self.agents.iter().any(|agent| agent == named);
        is_unknown.then(|| {
            let known = self.agents.iter().map(String::as_str);
            format!(
                "there is no agent {named}{} (a folder: ./{named})",
                did_you_mean(named, known)
            )
        })
    }

    /// What the agent in the field says about itself, or the names that can be chosen.
    fn agent_note(&self, model: &Model) -> String {
        let named = self.value(RunOption::Agent);
        match model.agent_lines.iter().find(|line| line.name == named) {
            Some(AgentLine { label, state, .. }) => {
                clean_line(&format!("{label} · {state}")).into_owned()
            }
            None if self.agents.is_empty() => String::new(),
            None => format!("tab: {}", self.agents.join(" · ")),
        }
    }

    /// What is run: the id of a single case, else a description of the cases.
    fn scope_text(&self, model: &Model) -> String {
        /// A longer id is cut, in columns.
        const MAX_ID: usize = 24;
        let scope = start::scope(model);
        match self.cases[..] {
            [case] if scope == "case" => format!("case {}", fit(&model.shown_id(case), MAX_ID)),
            _ => scope,
        }
    }

    /// The last line: what is wrong, or more about the field under the cursor.
    fn note(&self, model: &Model) -> (String, Role) {
        if let Some(wrong) = &self.wrong {
            return (wrong.clone(), Role::Bad);
        }
        let words = match self.fields[self.cursor].0 {
            RunOption::Gate => match Gate::parse(self.value(RunOption::Gate)) {
                Ok(gate) => gate.describe(),
                Err(_) => "tab: all · mean; or a share of the attempts, as 0.8 or 80%".into(),
            },
            RunOption::Agent => self.agent_note(model),
            RunOption::Stubs => match self.value(RunOption::Stubs) {
                "" => "tab: off · fail · error · live · nearest".into(),
                "off" => "the agent's own tools run".into(),
                "fail" => "a call without a stub makes the attempt errored".into(),
                "error" => "a call without a stub is answered with an error".into(),
                "live" => "the agent's own tool answers a call without a stub".into(),
                _ => "the nearest stub answers a call without one".into(),
            },
            RunOption::Judge => {
                let judge = model
                    .judge
                    .as_deref()
                    .unwrap_or("as each criterion specifies");
                format!("configured: {judge}")
            }
            RunOption::Filter => match self.chosen_cases(model) {
                Ok(cases) => format!(
                    "{} of {} cases   status:failed tool:name -tag:slow",
                    cases.len(),
                    self.cases.len()
                ),
                Err(why) => why,
            },
            RunOption::Criteria if self.value(RunOption::Criteria).is_empty() => {
                let metrics = self.configured.iter().flat_map(|one| &one.metrics);
                let metrics: Vec<&str> = metrics.map(String::as_str).collect();
                format!("now: {}; tab: the next file", metrics.join(", "))
            }
            RunOption::Criteria => "like test_config.json; relative to the workspace".into(),
            RunOption::Metrics => {
                let typed = self.value(RunOption::Metrics).rsplit(',').next();
                let typed = typed.unwrap_or_default().trim();
                let names = catalog().map(|metric| metric.name);
                let fitting: Vec<&str> = names.filter(|name| name.starts_with(typed)).collect();
                format!("tab: {}", fitting.join(" · "))
            }
            _ => String::new(),
        };
        (words, Role::Faint)
    }
}

impl Dialog for RunOptionsForm {
    /// `tab` names the next agent, mode of stubs, gate, file of criteria or metric.
    fn own_key(&mut self, key: Key) -> bool {
        if key.code != KeyCode::Tab {
            return false;
        }
        match self.fields[self.cursor].0 {
            RunOption::Metrics => self.complete_metric(),
            option @ (RunOption::Agent
            | RunOption::Stubs
            | RunOption::Gate
            | RunOption::Criteria) => self.next_value(option),
            _ => return false,
        }
        self.wrong = None;
        true
    }

    fn edit(&mut self, model: &mut Model, request: InputRequest) {
        self.take_input(request);
        self.estimate = self.estimate(model);
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.cursor = motion.target(self.cursor, self.fields.len(), self.fields.len());
        self.is_typed = false;
        self.wrong = None;
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let chosen = self
            .zero()
            .or(self.unknown())
            .map_or_else(|| self.chosen_cases(model), Err);
        match chosen {
            Ok(cases) => {
                model.run_overrides = self.overrides();
                let against = RunTarget::AgentWith(Box::new(model.run_overrides.clone()));
                Some(start::start(model, cases, against))
            }
            Err(why) => {
                self.wrong = Some(why);
                None
            }
        }
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        dialog::follow_all(&mut self.cases, new)
    }

    fn draw(
        &self,
        model: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let title = format!(
            "run {}   enter run, {}esc cancel",
            self.scope_text(model),
            if self.fields[self.cursor].0.has_values() {
                "tab next value, "
            } else {
                ""
            }
        );
        let inner = over(
            areas.body,
            WIDTH,
            self.fields.len() as u16 + 4,
            &title,
            theme,
            buffer,
        );
        let rows = usize::from(inner.height.saturating_sub(2)).max(1);
        let first = self.cursor.saturating_sub(rows - 1);
        let mut cursor = None;
        for (at, field) in self.fields.iter().enumerate().skip(first).take(rows) {
            let row = Rect {
                y: inner.y + (at - first) as u16,
                height: 1,
                ..inner
            };
            let is_here = at == self.cursor;
            let default = self.default_text(model, field.0);
            let position = draw_field(field, &default, is_here, row, theme, buffer);
            cursor = cursor.or(position.filter(|_| is_here));
        }
        let (words, role) = self.note(model);
        let y = inner.bottom().saturating_sub(1);
        let width = inner.width.saturating_sub(2);
        let above = y.saturating_sub(1).max(inner.y);
        put(
            buffer,
            inner.x + 1,
            above,
            width,
            &self.estimate,
            theme.style(Role::Text),
        );
        put(
            buffer,
            inner.x + 1,
            y,
            inner.width.saturating_sub(2),
            &words,
            theme.style(role),
        );
        cursor
    }
}

/// Draws one field. Returns the position of the text cursor in it.
fn draw_field(
    (option, input): &(RunOption, Input),
    default: &str,
    is_here: bool,
    row: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let style = theme.row(is_here);
    buffer.set_style(row, style);
    put(
        buffer,
        row.x + 1,
        row.y,
        LABELS,
        option.label(),
        theme.within(style, theme.style(Role::Key)),
    );
    let x = row.x + 1 + LABELS;
    let faint = theme.within(style, theme.style(Role::Faint));
    let room = row.right().saturating_sub(x + 1);
    let is_beside = room > VALUES + 8;
    // A long value needs the whole row.
    let is_long = input.value().chars().count() >= usize::from(VALUES);
    if is_beside && !is_long {
        let x = x + VALUES + 1;
        put(
            buffer,
            x,
            row.y,
            row.right().saturating_sub(x + 1),
            option.help(),
            faint,
        );
    }
    if input.value().is_empty() {
        let room = if is_beside { VALUES } else { room };
        put(buffer, x, row.y, room, default, faint);
        return Some(Position { x, y: row.y });
    }
    let value = theme.within(style, theme.style(Role::Value));
    Some(text_field(input, x, row.y, room, value, buffer))
}
