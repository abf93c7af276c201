//! Scores an attempt with computed metrics, programs and judges.

use super::run_resources::{ProgressSink, RunResources};
use crate::judge::{Judging, JudgingObserver};
use evaltrail_core::domain::{
    AgentSpec, Attempt, Criterion, MetricResult, Progress, Status, Variant,
};
use evaltrail_core::metrics::{Evidence, unscored};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::collections::HashMap;
use tokio::sync::Mutex;

impl RunResources {
    /// Whether the attempts of a set are only computed: no agent, judge or program is waited for.
    pub(super) fn is_computed(&self, set: usize) -> bool {
        let planned = &self.plan.sets[set];
        let has_program = |criterion: &Criterion| {
            criterion
                .custom
                .as_ref()
                .is_some_and(|custom| custom.program().is_some())
        };
        matches!(planned.agent, AgentSpec::Saved | AgentSpec::PriorAttempts)
            && self.judged[set].is_empty()
            && !planned.criteria.iter().any(has_program)
    }

    /// Scores an attempt.
    pub(super) async fn score(&self, attempt: &mut Attempt, sink: &mut impl ProgressSink) {
        sink.send_progress(Progress::Scoring).await;
        let set = self.plan.cases.set_of(attempt.key.case);
        if let Some(notes) = self
            .notes
            .get(set)
            .and_then(|notes| notes.for_case(&attempt.eval_id))
        {
            attempt.variants = of_turn(&notes.variants, attempt.turn);
        }
        let evidence = Evidence::from_attempt(attempt);
        let mut given: HashMap<usize, MetricResult> = self
            .judge(set, &attempt.eval_id, &evidence, sink)
            .await
            .into_iter()
            .collect();
        for (at, criterion) in self.plan.sets[set].criteria.iter().enumerate() {
            if criterion
                .custom
                .as_ref()
                .is_some_and(|custom| custom.program().is_some())
            {
                given.insert(
                    at,
                    self.programs
                        .score(criterion, &attempt.eval_id, &evidence)
                        .await,
                );
            }
        }
        self.scorers[set].evaluate(attempt, |at| given.remove(&at));
    }

    /// The results of the judged metrics, which are evaluated concurrently.
    async fn judge(
        &self,
        set: usize,
        eval_id: &str,
        evidence: &Evidence<'_>,
        sink: &mut impl ProgressSink,
    ) -> Vec<(usize, MetricResult)> {
        let _room = match self.judged[set].is_empty() {
            true => None,
            false => {
                sink.on_conversation_ended();
                let room = self.judging.acquire().await.ok();
                sink.release_agent();
                room
            }
        };
        let telling = Mutex::new(sink);
        let mut asked: Vec<BoxFuture<(usize, MetricResult)>> = Vec::new();
        for (at, metric) in &self.judged[set] {
            let mut telling = JudgingProgress(&telling);
            asked.push(match metric {
                Ok(metric) => async move {
                    (
                        *at,
                        self.judges
                            .score(metric, eval_id, evidence, &mut telling)
                            .await,
                    )
                }
                .boxed(),
                Err(why) => {
                    let criterion = &self.plan.sets[set].criteria[*at];
                    let turns = evidence.actual.len();
                    let none = unscored(criterion, turns, Status::NotEvaluated, &why.to_string());
                    futures_util::future::ready((*at, none)).boxed()
                }
            });
        }
        futures_util::future::join_all(asked).await
    }
}

/// The variants; if a single turn is run, only their parts for that turn.
fn of_turn(variants: &[Variant], turn: Option<u32>) -> Vec<Variant> {
    let Some(turn) = turn else {
        return variants.to_vec();
    };
    let at = turn.saturating_sub(1) as usize;
    let cut = |variant: &Variant| {
        let turns = variant.turns.get(at).cloned().into_iter().collect();
        Variant {
            name: variant.name.clone(),
            turns,
        }
    };
    variants.iter().map(cut).collect()
}

/// Reports the progress of all judged metrics of a case to one `ProgressSink`.
struct JudgingProgress<'a, T>(&'a Mutex<&'a mut T>);

impl<T: ProgressSink> JudgingObserver for JudgingProgress<'_, T> {
    async fn judging(&mut self, judging: Judging) {
        let Judging {
            metric,
            about,
            turn,
            answered,
            of,
            spent,
        } = judging;
        let progress = Progress::Judging {
            metric,
            about: about.to_string(),
            turn,
            answered,
            of,
        };
        let mut sink = self.0.lock().await;
        sink.add_judge_usage(spent);
        sink.send_progress(progress).await;
    }
}
