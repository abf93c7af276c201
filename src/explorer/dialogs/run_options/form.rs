//! The options as typed: their values, completion, and what is wrong with them.

use crate::explorer::case_list::listing;
use crate::explorer::running::start;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::configured_run::ConfiguredRun;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::run_target::RunOverrides;
use crate::explorer::shared::ticket::Ticket;
use evaltrail_core::domain::{Gate, Query, StubMode, did_you_mean};
use evaltrail_core::metrics::{catalog, info};
use tui_input::{Input, InputRequest};

/// More digits than this are not taken.
const DIGITS: usize = 3;

/// An option of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunOption {
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

    pub(super) fn label(self) -> &'static str {
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
    pub(super) fn help(self) -> &'static str {
        match self {
            RunOption::Repeats => "attempts of each case",
            RunOption::Gate => "all, mean, 0.8 or until=0.8",
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
    pub(super) fn has_values(self) -> bool {
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
    pub(super) ticket: Ticket,
    pub(super) fields: Vec<(RunOption, Input)>,
    pub(super) cursor: usize,
    /// Whether the field under the cursor was edited since the cursor came. Until then its text is selected: what is typed
    /// replaces it.
    pub(super) is_typed: bool,
    /// The cases that the filter chooses from.
    pub(super) cases: Vec<CaseRef>,
    /// The agents that can be named.
    pub(super) agents: Vec<String>,
    /// What is used where a field is empty, once it was read.
    pub(super) configured: Option<ConfiguredRun>,
    /// The agents that are configured for the sets of the cases.
    pub(super) agents_of_cases: String,
    /// How many attempts run, and how long and for how much. Computed when it changes: it depends on all cases.
    pub(super) estimate: String,
    /// Why the filter cannot be used.
    pub(super) wrong: Option<String>,
}

/// The fields with the options that were chosen for a run.
pub(super) fn filled_fields(chosen: &RunOverrides) -> Vec<(RunOption, Input)> {
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
    RunOption::ALL
        .map(|option| (option, Input::new(value(option))))
        .to_vec()
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
    pub(super) fn value(&self, option: RunOption) -> &str {
        let field = self.fields.iter().find(|(other, _)| *other == option);
        field.map_or("", |(_, input)| input.value().trim())
    }

    pub(super) fn overrides(&self) -> RunOverrides {
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

    pub(super) fn show_configured(&mut self, model: &Model, configured: ConfiguredRun) {
        self.configured = Some(configured);
        self.estimate = self.estimate(model);
    }

    /// The further metrics.
    fn metrics(&self) -> impl Iterator<Item = &str> {
        let names = self.value(RunOption::Metrics).split(',').map(str::trim);
        names.filter(|name| !name.is_empty())
    }

    /// Types into the field under the cursor.
    pub(super) fn take_input(&mut self, request: InputRequest) {
        let (option, input) = &mut self.fields[self.cursor];
        self.wrong = None;
        let is_number = option.is_number();
        if is_number && matches!(request, InputRequest::InsertChar(c) if !c.is_ascii_digit()) {
            return;
        }
        let is_selected = !std::mem::replace(&mut self.is_typed, true);
        let replaces = matches!(
            request,
            InputRequest::InsertChar(_)
                | InputRequest::DeletePrevChar
                | InputRequest::DeleteNextChar
        );
        if is_selected && replaces {
            *input = Input::default();
        }
        let is_full = is_number && input.value().len() >= DIGITS;
        if !(is_full && matches!(request, InputRequest::InsertChar(_))) {
            input.handle(request);
        }
    }

    /// Completes the metric that is being typed: the first one that begins with it, then the next one.
    pub(super) fn complete_metric(&mut self) {
        let typed = self.value(RunOption::Metrics).to_string();
        let (before, last) = typed.rsplit_once(',').unwrap_or(("", &typed));
        let last = last.trim();
        let names: Vec<&str> = catalog().map(|metric| metric.name).collect();
        let next = match names.iter().position(|name| *name == last) {
            Some(at) => names.get(at + 1).or(names.first()).copied(),
            None => names.iter().find(|name| name.starts_with(last)).copied(),
        };
        let Some(next) = next else { return };
        // Another metric can be typed behind it.
        self.is_typed = true;
        let text = match before.trim() {
            "" => next.to_string(),
            before => format!("{before}, {next}"),
        };
        self.fields[self.cursor].1 = Input::new(text);
    }

    /// The next value of a field whose values are known; after the last one, what is configured.
    pub(super) fn next_value(&mut self, option: RunOption) {
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

    /// The cases that would run, or why the filter leaves none.
    pub(super) fn chosen_cases(&self, model: &Model) -> Result<Vec<CaseRef>, String> {
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

    /// How many attempts run, and how long and for how much, judging by the results that are shown.
    pub(super) fn estimate(&self, model: &Model) -> String {
        let Ok(cases) = self.chosen_cases(model) else {
            return String::new();
        };
        let cases = match self.value(RunOption::Agent) {
            "" => start::runnable(model, &cases),
            _ => cases,
        };
        let configured = self.configured.clone().unwrap_or_default();
        let number = |option: RunOption, configured: u32| {
            let typed = self.value(option).parse().ok().filter(|value| *value > 0);
            typed.unwrap_or(configured.max(1))
        };
        let of_config = Gate::parse(&configured.gate).unwrap_or_default();
        let typed = self.value(RunOption::Repeats).parse().ok();
        let typed = typed.filter(|value| *value > 0);
        let gate = Gate::parse(self.value(RunOption::Gate)).ok();
        let repeat = Gate::attempts((configured.given_repeat, of_config), (typed, gate));
        let jobs = number(RunOption::Jobs, configured.jobs);
        start::estimate(model, &cases, repeat, (jobs, configured.rate))
    }

    /// The first number that is zero.
    pub(super) fn zero(&self) -> Option<String> {
        let is_zero = |(option, input): &&(RunOption, Input)| {
            option.is_number() && input.value().parse::<u32>().is_ok_and(|value| value == 0)
        };
        self.fields
            .iter()
            .find(is_zero)
            .map(|(option, _)| format!("{}: at least 1", option.label()))
    }

    /// What is wrong with a value that is chosen from a list.
    pub(super) fn unknown(&self) -> Option<String> {
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
}
