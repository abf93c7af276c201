//! What every metric that a judge decides implements, and what several of them use.

use crate::domain::{Criterion, JudgedQuestion, QuestionId, Rubric, RubricScore, Sample, Score};
use crate::metrics::judged::verdict_codes::VerdictCodes;
use crate::metrics::{AnswerShape, CriterionError, Evidence};

/// A question for a judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Identifies the question in the case.
    pub id: QuestionId,
    /// What the question is about, in a word or two.
    pub about: &'static str,
    /// The whole prompt.
    pub prompt: String,
    /// What decides the reply, if that is not the whole prompt: the prompt without ids that change with every run.
    pub identity: Option<String>,
    /// The number of samples.
    pub samples: u32,
    /// The form of the reply, where a schema may be sent.
    pub shape: Option<AnswerShape>,
}

/// A built-in template, for each turn or for the whole conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::metrics) struct BuiltIn {
    pub(in crate::metrics) prompt: &'static str,
    pub(in crate::metrics) whole: bool,
    /// The scale; a rating outside of it is no verdict.
    pub(in crate::metrics) range: (f64, f64),
}

/// A judged metric with its options read.
pub(in crate::metrics) trait Judge: Send + Sync {
    /// The questions that can be sent now; empty when all are answered. The error says why the case cannot be judged.
    fn questions(
        &self,
        evidence: &Evidence,
        answered: &[JudgedQuestion],
        codes: &VerdictCodes,
    ) -> Result<Vec<Question>, String>;

    /// Why a case with these rubrics cannot be judged.
    fn rubric_problem(&self, _case: &[Rubric], _turns: &[&[Rubric]]) -> Option<String> {
        None
    }

    /// Whether the prompts contain the instructions and tools of the agent.
    fn has_details(&self) -> bool {
        false
    }

    /// Reads the replies, and sets score, reason and verdicts of each sample.
    fn read(&self, evidence: &Evidence, answered: &mut [JudgedQuestion], codes: &VerdictCodes);

    /// Whether the read replies to a question contain everything that it requests. `answered` also contains the
    /// questions before it.
    fn is_complete(
        &self,
        _evidence: &Evidence,
        answered: &[JudgedQuestion],
        id: QuestionId,
    ) -> bool {
        let asked = answered.iter().find(|asked| asked.id == id);
        asked.is_some_and(|asked| asked.samples.iter().all(|sample| sample.score().is_some()))
    }

    /// For a choice between two responses, the answers with each order on its own; empty for other metrics.
    fn orders(&self, _answered: &[JudgedQuestion]) -> Vec<Vec<JudgedQuestion>> {
        Vec::new()
    }

    /// For a choice between two responses, how much the judge prefers the second position: from −1 (always the first)
    /// to 1 (always the second). `None` for other metrics.
    fn position_bias(&self, _answered: &[JudgedQuestion]) -> Option<f64> {
        None
    }

    /// Scores the case from samples whose replies were read.
    fn tally(&self, evidence: &Evidence, answered: &[JudgedQuestion]) -> Verdict;
}

/// The result of the replies, before it is compared with the threshold.
#[derive(Default)]
pub(in crate::metrics) struct Verdict {
    pub(super) score: Option<f64>,
    pub(super) turns: Vec<TurnVerdict>,
    pub(super) rubrics: Vec<RubricScore>,
    /// Which requested verdict is missing, as a sentence. A pass would hide it.
    pub(super) gap: Option<String>,
}

/// The result of the replies for one turn.
#[derive(Clone, Default)]
pub(in crate::metrics) struct TurnVerdict {
    pub(super) score: Option<f64>,
    pub(super) why: String,
    pub(super) rubrics: Vec<RubricScore>,
}

/// The error of the first sample that failed.
pub(super) fn broken(answered: &[JudgedQuestion]) -> Option<&str> {
    answered
        .iter()
        .flat_map(|asked| &asked.samples)
        .find_map(|sample| sample.error.as_deref())
}

/// The sample that stands for the majority of the scored ones: the first of the winning side, or the first one
/// against on a tie. If none is scored, the first sample (ADK's rule).
pub(super) fn majority<T>(samples: &[T], score: impl Fn(&T) -> Option<f64>) -> Option<&T> {
    let is = |wanted: bool| {
        let score = &score;
        move |sample: &&T| score(sample).is_some_and(|score| (score > 0.0) == wanted)
    };
    let (yes, no) = (
        samples.iter().filter(is(true)).count(),
        samples.iter().filter(is(false)).count(),
    );
    match (yes, no) {
        (0, 0) => samples.first(),
        _ if yes > no => samples.iter().find(is(true)),
        _ => samples.iter().find(is(false)),
    }
}

/// Whether a turn is part of the file's history, for which nothing is expected. ADK's files have no such turns.
pub(super) fn is_history(evidence: &Evidence, turn: usize) -> bool {
    evidence
        .expected
        .and_then(|turns| turns.get(turn))
        .is_some_and(|turn| turn.history)
}

/// Whether every sample of a question has a reply. ADK drops a turn in which one has none.
pub(super) fn all_answered(samples: &[Sample]) -> bool {
    samples.iter().all(|sample| sample.error.is_none())
}

pub(super) fn is_answered(answered: &[JudgedQuestion], id: QuestionId) -> bool {
    answered.iter().any(|asked| asked.id == id)
}

/// Sets score, reason and verdicts of each sample from its reply.
pub(super) fn read_samples(
    asked: &mut JudgedQuestion,
    read: impl Fn(&str) -> (Option<f64>, String, Vec<RubricScore>),
) {
    for sample in &mut asked.samples {
        if let (Some(reply), None) = (&sample.reply, &sample.error) {
            let (score, reason, verdicts) = read(reply);
            (sample.score, sample.reason, sample.verdicts) =
                (score.and_then(Score::new), reason, verdicts);
        }
    }
}

/// Whether the agent's intermediate texts are part of its response.
pub(super) fn with_intermediate(criterion: &Criterion) -> Result<bool, CriterionError> {
    let (snake, camel) = (
        "include_intermediate_responses_in_final",
        "includeIntermediateResponsesInFinal",
    );
    crate::metrics::options::flag_option(criterion, snake, camel)
}
