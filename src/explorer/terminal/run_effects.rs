//! Starts runs, and finds the cases to run again.

use crate::explorer::shared::message::{Msg, RunMsg};
use crate::explorer::shared::run_target::RunTarget;
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::shared::watching::CasesToRunAgain;
use crate::explorer::terminal::effects::{EffectExecutor, LoopEvent};
use crate::explorer::terminal::run_request::{ChosenCase, GivenConsents, left_out, prepare};
use evaltrail_engine::runner::{self, ChangedCase, Selection, TrustQuestion};
use evaltrail_engine::workspace::SetPath;

impl EffectExecutor {
    /// Starts a run of these cases. Their keys are of the files as the person saw them.
    pub(crate) fn start(
        &self,
        cases: Vec<ChosenCase>,
        granted: Vec<TrustQuestion>,
        against: RunTarget,
    ) {
        let context = self.context();
        let (back, app_folders) = (self.back.clone(), self.app_folders.clone());
        let allowed = GivenConsents {
            granted,
            declined: self.declined.clone(),
        };
        self.workers.spawn(async move {
            let root = context.workspace.root.clone();
            let started = tokio::task::spawn_blocking(move || {
                let permitted = prepare(&context, cases, allowed, against, app_folders.as_ref())?;
                let left_out = left_out(&permitted.prepared);
                let run = runner::start(permitted.prepared, permitted.resumed, &root);
                let removed = runner::remove_old(&context.workspace);
                let left_out = left_out.map(|words| Msg::Run(RunMsg::LeftOut(words)));
                let remarks = permitted.remarks.into_iter().map(Msg::Notice).map(Some);
                let notices: Vec<_> = remarks
                    .chain([removed.map(Msg::Notice), left_out])
                    .collect();
                Ok((run, notices))
            })
            .await;
            let arrivals = match started {
                // The notices come after the screen of the run.
                Ok(Ok((run, notices))) => {
                    let notices = notices.into_iter().flatten().map(LoopEvent::Msg);
                    std::iter::once(LoopEvent::Run(Box::new(run)))
                        .chain(notices)
                        .collect()
                }
                Ok(Err(msg)) => vec![LoopEvent::Msg(Msg::Run(msg))],
                Err(error) => vec![LoopEvent::Msg(Msg::Failed(error.to_string()))],
            };
            for arrival in arrivals {
                let _ = back.send(arrival).await;
            }
        });
    }

    /// Finds the cases that changed since their latest results.
    pub(crate) fn find_changed(&self, ticket: Ticket) {
        self.elsewhere(move |context| {
            let selections: Vec<Selection> =
                context.sets.iter().cloned().map(Selection::all).collect();
            let changed = runner::changed_cases(&context.workspace, &selections);
            let of_set = |(set, cases): (&SetPath, Option<Vec<ChangedCase>>)| {
                let path = set.path.clone();
                cases
                    .unwrap_or_default()
                    .into_iter()
                    .map(move |case| (path.clone(), case))
            };
            let cases = context
                .sets
                .iter()
                .zip(changed.of_selections)
                .flat_map(of_set)
                .collect();
            let changed = CasesToRunAgain {
                cases,
                options: context.workspace.config.run_options(),
            };
            Some(Msg::Run(RunMsg::ChangedFound(ticket, Box::new(changed))))
        });
    }
}
