//! Executes the effects on results: reads, compares and saves them.

use crate::explorer::dialogs::causes::changes_for_groups;
use crate::explorer::shared::effect::{ReadFiles, ResultEffect};
use crate::explorer::shared::message::{Msg, ResultMsg};
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::shown_case::body::build_body;
use crate::explorer::terminal::effects::{EffectExecutor, LoopEvent};
use crate::explorer::terminal::newer_run::NewerRun;
use crate::explorer::terminal::past::{history, trends};
use crate::explorer::terminal::{criteria, runs};
use crate::explorer::what_if::rescored;
use evaltrail_engine::runner::{self, CoverageRequest};
use evaltrail_engine::store::{read_decisions, read_verdicts, save_decisions, save_verdicts};
use evaltrail_engine::workspace::SetPath;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl EffectExecutor {
    pub(crate) fn results(&mut self, effect: ResultEffect) {
        match effect {
            ResultEffect::Rescore {
                ticket,
                change,
                before,
            } => self.elsewhere(move |_| {
                let rescored = Box::new(rescored(&before, &change));
                Some(Msg::Results(ResultMsg::Rescored(ticket, rescored)))
            }),
            ResultEffect::RelaxGroups(ticket, groups) => self.elsewhere(move |_| {
                let changes = changes_for_groups(&groups);
                Some(Msg::Results(ResultMsg::GroupsRelaxed(ticket, changes)))
            }),
            ResultEffect::ReadCoverage(ticket, files) => self.elsewhere(move |context| {
                let covered = runner::coverage_of_workspace(
                    &context.workspace,
                    &CoverageRequest {
                        files: Some(&files),
                        ..CoverageRequest::default()
                    },
                );
                Some(Msg::Results(ResultMsg::CoverageRead(
                    ticket,
                    Arc::new(covered),
                )))
            }),
            ResultEffect::Forget(outcomes) => self.elsewhere(move |_| {
                drop(outcomes);
                None
            }),
            ResultEffect::PlanCriteria(change, sets) => self.elsewhere(move |context| {
                let paths: Vec<&SetPath> = sets
                    .iter()
                    .filter_map(|set| context.sets.get(*set))
                    .collect();
                let planned = criteria::jobs(&context.workspace, &paths, &change);
                let planned = planned.map_err(|error| format!("{error:#}"));
                Some(Msg::Results(ResultMsg::CriteriaPlanned(change, planned)))
            }),
            // At once, as the verdicts below, so that they are written in the order in which they were made.
            ResultEffect::SaveDecisions(decisions) => {
                self.report_if_unsaved(
                    "decisions",
                    save_decisions(&self.workspace.root, &decisions),
                );
            }
            ResultEffect::SaveVerdicts(verdicts) => {
                self.report_if_unsaved("verdicts", save_verdicts(&self.workspace.root, &verdicts));
            }
            ResultEffect::BuildBody(key, compared) => self.elsewhere(move |_| {
                let body = build_body(&compared, key.view);
                Some(Msg::Results(ResultMsg::BodyBuilt(key, Arc::new(body))))
            }),
            ResultEffect::ReadAttempt(key, attempt) => self.elsewhere(move |_| {
                Some(Msg::Results(ResultMsg::AttemptRead(key, attempt.read())))
            }),
            ResultEffect::CompareBaseline(ticket) => self.compare_with_baseline(ticket),
            ResultEffect::ReadTrends(ticket) => self.read_trends(ticket),
            ResultEffect::ReadDecisions(ticket) => self.read_decisions(ticket),
            ResultEffect::ReadVerdicts(ticket) => self.read_verdicts(ticket),
            ResultEffect::ReadAgain(ticket, files) => self.read_history(ticket, files),
        }
    }

    /// Reports that something could not be saved.
    fn report_if_unsaved(&self, what: &str, saved: io::Result<()>) {
        if let Err(error) = saved {
            let failed = Msg::Failed(format!("the {what} are not saved: {error}"));
            self.elsewhere(move |_| Some(failed));
        }
    }

    fn read_decisions(&self, ticket: Ticket) {
        self.elsewhere(move |context| {
            let decisions = read_decisions(&context.workspace.root);
            Some(Msg::Results(ResultMsg::Decisions(ticket, decisions)))
        });
    }

    fn read_verdicts(&self, ticket: Ticket) {
        self.elsewhere(move |context| {
            let verdicts = read_verdicts(&context.workspace.root);
            Some(Msg::Results(ResultMsg::Verdicts(ticket, verdicts)))
        });
    }

    /// Reads the past results. `files` are the files that were read already.
    pub(crate) fn read_history(&self, ticket: Ticket, files: ReadFiles) {
        // If reading them fails, nothing waits for them.
        let failed = self.results_placed.clone().drop_guard();
        self.elsewhere(move |context| {
            let results = history(context, &files);
            failed.disarm();
            Some(Msg::Results(ResultMsg::History { ticket, results }))
        });
        self.read_verdicts(ticket);
        self.compare_with_baseline(ticket);
        self.read_trends(ticket);
        self.read_decisions(ticket);
    }

    fn read_trends(&self, ticket: Ticket) {
        self.after_results(move |context| {
            let trends = Arc::new(trends(context));
            Some(Msg::Results(ResultMsg::Trends(ticket, trends)))
        });
    }

    /// Compares the last run with the baseline.
    fn compare_with_baseline(&self, ticket: Ticket) {
        self.after_results(move |context| {
            let compared = runs::compared_with_baseline(context);
            Some(Msg::Results(ResultMsg::BaselineCompared(ticket, compared)))
        });
    }

    /// Reads the opened run again whenever machines have uploaded results, until the explorer ends.
    pub(crate) fn renew(&self, mut newer: NewerRun) {
        /// The shortest time between two reads.
        const INTERVAL: Duration = Duration::from_secs(10);
        /// The longest part of the time that is spent on reading.
        const PART: u32 = 10;
        let context = self.context();
        let back = self.back.clone();
        std::thread::spawn(move || {
            let (mut unread, mut is_failing, mut pause) = (None, false, INTERVAL);
            loop {
                std::thread::sleep(pause);
                let began = Instant::now();
                let read = newer().and_then(|run| {
                    unread = run.or(unread.take());
                    unread
                        .as_ref()
                        .map(|run| runs::renewed(&context, run))
                        .transpose()
                });
                pause = INTERVAL.max(began.elapsed() * PART);
                let was_failing = std::mem::replace(&mut is_failing, read.is_err());
                let msg = match read {
                    Ok(Some(msg)) => {
                        unread = None;
                        msg
                    }
                    Err(why) if !was_failing => {
                        Msg::Failed(format!("newer results cannot be read: {why}"))
                    }
                    Ok(None) | Err(_) => continue,
                };
                if back.blocking_send(LoopEvent::Msg(msg)).is_err() {
                    return;
                }
            }
        });
    }
}
