//! A recorded judge: its responses come from a file instead of a model.

use super::error::{JudgeError, JudgeErrorKind};
use super::sample::{SampleRequest, SampleResponse};
use crate::store::read_text_file;
use evaltrail_core::domain::JudgeUsage;
use evaltrail_core::formats::{RecordedResponses, read_responses};
use std::collections::HashMap;
use std::path::Path;

/// Maximum size of a recording, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Recorded responses by case.
#[derive(Debug)]
pub(super) struct Recording {
    of_case: HashMap<String, Vec<RecordedResponses>>,
}

impl Recording {
    /// Reads a recording. The error names the file and the line.
    pub(super) fn read(path: &Path) -> Result<Recording, String> {
        let read =
            || read_responses(&read_text_file(path, MAX_BYTES).map_err(|error| error.to_string())?);
        let mut of_case: HashMap<String, Vec<RecordedResponses>> = HashMap::new();
        for answers in read().map_err(|why| format!("{}: {why}", path.display()))? {
            of_case
                .entry(answers.eval_id.clone())
                .or_default()
                .push(answers);
        }
        Ok(Recording { of_case })
    }

    /// The recorded response to a question.
    pub(super) fn answer(&self, asking: SampleRequest) -> SampleResponse {
        match self.reply(asking) {
            Ok(reply) => {
                let spent = JudgeUsage {
                    asked: 1,
                    ..JudgeUsage::default()
                };
                SampleResponse {
                    text: Ok(reply.to_string()),
                    cached: false,
                    spent,
                }
            }
            Err(error) => SampleResponse::none(error),
        }
    }

    fn reply(&self, asking: SampleRequest) -> Result<&str, JudgeError> {
        let is_it = |one: &&RecordedResponses| {
            one.metric == asking.metric
                && (one.turn, one.text) == (asking.id.turn + 1, asking.id.text + 1)
                && one.about.as_ref().is_none_or(|about| about == asking.about)
        };
        let none = |why: String| JudgeError::new(JudgeErrorKind::Setup, why);
        let found = self
            .of_case
            .get(asking.eval_id)
            .and_then(|answers| answers.iter().find(is_it));
        let (metric, eval_id, turn) = (asking.metric, asking.eval_id, asking.id.turn + 1);
        let found = found.ok_or_else(|| {
            none(format!(
                "no recorded answer for {metric} of {eval_id} in turn {turn}"
            ))
        })?;
        let reply = found.replies.get(asking.sample as usize - 1);
        reply.map(String::as_str).ok_or_else(|| {
            let recorded = found.replies.len();
            none(format!(
                "only {recorded} answers are recorded for {metric} of {eval_id}"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::QuestionId;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    #[test]
    fn answer_belongs_to_the_question() {
        let recorded = |turn: usize, about: Option<&str>, replies: &[&str]| {
            let answers = json!({"eval_id": "a", "metric": "m", "turn": turn, "about": about, "replies": replies});
            serde_json::from_value::<RecordedResponses>(answers).unwrap()
        };
        let answers = vec![
            recorded(1, Some("tone"), &["first"]),
            recorded(1, Some("facts"), &["second", "third"]),
            recorded(2, None, &["any"]),
        ];
        let recording = Recording {
            of_case: [("a".to_string(), answers)].into_iter().collect(),
        };
        let reply = |metric: &str, turn: usize, about: &str, sample: u32| {
            let id = QuestionId {
                turn,
                ..QuestionId::default()
            };
            let (prompt, identity, shape) = ("", None, None);
            let asking = SampleRequest {
                eval_id: "a",
                metric,
                id,
                about,
                sample,
                prompt,
                identity,
                shape,
                ends: &CancellationToken::new(),
            };
            let answer = recording.answer(asking);
            assert_eq!(answer.spent.asked, u32::from(answer.text.is_ok()));
            answer.text.map_err(|error| error.message)
        };
        assert_eq!(reply("m", 0, "tone", 1), Ok("first".to_string()));
        assert_eq!(reply("m", 0, "facts", 2), Ok("third".to_string()));
        assert_eq!(reply("m", 1, "tone", 1), Ok("any".to_string()));
        assert_eq!(
            reply("n", 0, "tone", 1).unwrap_err(),
            "no recorded answer for n of a in turn 1"
        );
        assert_eq!(
            reply("m", 2, "tone", 1).unwrap_err(),
            "no recorded answer for m of a in turn 3"
        );
        assert_eq!(
            reply("m", 0, "tone", 2).unwrap_err(),
            "only 1 answers are recorded for m of a"
        );
    }
}
