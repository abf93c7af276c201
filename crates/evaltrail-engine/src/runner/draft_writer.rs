//! Asks a model for one planned case: first for the calls that are expected, then for what the user says. What it answers is
//! checked before it is used.

use crate::judge::{JudgeErrorKind, Judges, SampleRequest};
use evaltrail_core::analysis::{
    Blueprint, PlannedDraft, PromptContext, blueprint_prompt, check_blueprint, check_wording,
    parse_blueprint, parse_wording, repair_prompt, wording_prompt,
};
use evaltrail_core::domain::{JudgeUsage, QuestionId};
use parking_lot::Mutex;
use serde_json::Map;
use tokio_util::sync::CancellationToken;

/// A model that writes cases.
pub(super) struct DraftWriter<'a> {
    pub(super) judges: &'a Judges,
    /// The name of the model.
    pub(super) model: &'a str,
    /// What the prompts tell about the agent.
    pub(super) context: PromptContext<'a>,
    /// Requests with another number are answered anew, also if the prompt is the same.
    pub(super) sample: u32,
    /// No request is sent after its cancellation.
    pub(super) ends: &'a CancellationToken,
    /// The cost of all responses.
    pub(super) spent: Mutex<JudgeUsage>,
}

/// What a model wrote for a planned case.
pub(super) struct WrittenConversation {
    pub(super) blueprint: Blueprint,
    /// What the user says in each turn.
    pub(super) texts: Vec<String>,
}

/// Why there is no case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnwrittenCase {
    /// The kind of the reason, in words that are counted: `invalid arguments`.
    pub(super) label: &'static str,
    /// The reason.
    pub(super) reason: String,
    /// Whether no other request can be answered, either.
    pub(super) is_final: bool,
}

impl UnwrittenCase {
    pub(super) fn new(label: &'static str, reason: String) -> UnwrittenCase {
        UnwrittenCase {
            label,
            reason,
            is_final: false,
        }
    }
}

/// What an answer is read as, or why it cannot be used.
type Checked<T> = Result<T, (&'static str, String)>;

const NOT_READABLE: &str = "not in the requested form";

impl DraftWriter<'_> {
    /// Asks for a case. The error says why there is none.
    pub(super) async fn write(
        &self,
        planned: &PlannedDraft,
    ) -> Result<WrittenConversation, UnwrittenCase> {
        let about = planned.describe();
        let declared = self.context.declared;
        let read = |reply: &str| -> Checked<Blueprint> {
            let blueprint = parse_blueprint(reply).map_err(|why| (NOT_READABLE, why))?;
            match check_blueprint(&blueprint, planned, declared) {
                Ok(()) => Ok(blueprint),
                Err(problem) => Err((problem.label(), problem.reason())),
            }
        };
        let prompt = blueprint_prompt(planned, &self.context);
        let blueprint = self.ask_twice((&about, "calls"), &prompt, &read).await?;
        let read = |reply: &str| -> Checked<Vec<String>> {
            let texts =
                parse_wording(reply, blueprint.turns.len()).map_err(|why| (NOT_READABLE, why))?;
            match check_wording(&texts, &blueprint, declared) {
                Ok(()) => Ok(texts),
                Err(problem) => Err((problem.label(), problem.reason())),
            }
        };
        let prompt = wording_prompt(planned, &blueprint, &self.context);
        let texts = self.ask_twice((&about, "wording"), &prompt, &read).await?;
        Ok(WrittenConversation { blueprint, texts })
    }

    /// Asks, and once more with the reason if the answer cannot be used.
    async fn ask_twice<T>(
        &self,
        (case, about): (&str, &str),
        prompt: &str,
        read: &(dyn Fn(&str) -> Checked<T> + Sync),
    ) -> Result<T, UnwrittenCase> {
        let reply = self.ask((case, about, 1), prompt, read).await?;
        let (_, why) = match read(&reply) {
            Ok(found) => return Ok(found),
            Err(problem) => problem,
        };
        let repair = repair_prompt(prompt, &reply, &why);
        let reply = self.ask((case, about, 2), &repair, read).await?;
        read(&reply).map_err(|(label, reason)| UnwrittenCase::new(label, reason))
    }

    /// Sends one request. Only an answer that can be used is cached.
    async fn ask<T>(
        &self,
        (case, about, attempt): (&str, &str, usize),
        prompt: &str,
        read: &(dyn Fn(&str) -> Checked<T> + Sync),
    ) -> Result<String, UnwrittenCase> {
        let request = SampleRequest {
            eval_id: case,
            metric: "generate",
            id: QuestionId {
                turn: attempt - 1,
                ..QuestionId::default()
            },
            about,
            sample: self.sample,
            prompt,
            identity: None,
            shape: None,
            ends: self.ends,
        };
        let is_usable = |text: &str| read(text).is_ok();
        let config = Map::new();
        let response = self
            .judges
            .ask(self.model, &config, request, &is_usable)
            .await;
        let mut spent = self.spent.lock();
        *spent = spent.and(response.spent);
        drop(spent);
        response.text.map_err(|error| UnwrittenCase {
            is_final: match error.fault {
                JudgeErrorKind::Setup => !self.judges.is_replay(),
                JudgeErrorKind::Limit
                | JudgeErrorKind::Refused
                | JudgeErrorKind::UnknownModel
                | JudgeErrorKind::Quota => true,
                _ => false,
            },
            ..UnwrittenCase::new("no answer of the model", error.message)
        })
    }
}
