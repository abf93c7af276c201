//! Texts of the dialog: what is run, what an empty field means, and the note on the field under the cursor.

use super::form::{RunOption, RunOptionsForm};
use crate::explorer::running::start;
use crate::explorer::shared::agent_line::AgentLine;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::Role;
use crate::explorer::widgets::text::fit;
use evaltrail_core::domain::{Gate, clean_line};
use evaltrail_core::metrics::catalog;

impl RunOptionsForm {
    /// What an empty field means.
    pub(super) fn default_text(&self, model: &Model, option: RunOption) -> String {
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

    /// What is run: the id of a single case, else a description of the cases.
    pub(super) fn scope_text(&self, model: &Model) -> String {
        /// A longer id is cut, in columns.
        const MAX_ID: usize = 24;
        // An agent that is named runs cases of sets without one, too.
        let scope = match self.value(RunOption::Agent) {
            "" => start::scope(model),
            _ => start::scope_of(model, self.cases.len()),
        };
        match self.cases[..] {
            [case] if scope == "case" => format!("case {}", fit(&model.shown_id(case), MAX_ID)),
            _ => scope,
        }
    }

    /// The last line: what is wrong, or more about the field under the cursor.
    pub(super) fn note(&self, model: &Model) -> (String, Role) {
        if let Some(wrong) = &self.wrong {
            return (wrong.clone(), Role::Bad);
        }
        let words = match self.fields[self.cursor].0 {
            RunOption::Gate => match Gate::parse(self.value(RunOption::Gate)) {
                Ok(gate) => gate.describe(),
                Err(_) => "tab: all · mean; or a share of the attempts, as 0.8; or until=0.8: until the rate is known".into(),
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
}
