//! `final_response_match_v2`: a judge says whether the response agrees with the reference.

use super::judge::{
    Judge, Question, TurnVerdict, Verdict, all_answered, is_answered, is_history, majority,
    read_samples,
};
use super::prompt::fill_with_code;
use super::verdict_codes::VerdictCodes;
use super::{AnswerShape, JudgeOptions, evidence_text, response_reply};
use crate::domain::{
    Criterion, Invocation, JudgedQuestion, QuestionId, Sample, VerdictParsing, Votes,
};
use crate::metrics::criterion_error::CriterionError;
use crate::metrics::measure::{Evidence, NO_REFERENCE, mean};

const PROMPT: &str = include_str!("prompts/response_verdict.md");

pub(in crate::metrics) struct ResponseVerdict {
    samples: u32,
    with_intermediate: bool,
    reading: VerdictParsing,
}

impl ResponseVerdict {
    pub(in crate::metrics) fn new(
        criterion: &Criterion,
        options: &JudgeOptions,
        reading: VerdictParsing,
    ) -> Result<ResponseVerdict, CriterionError> {
        Ok(ResponseVerdict {
            samples: options.samples(),
            with_intermediate: super::judge::with_intermediate(criterion)?,
            reading,
        })
    }

    fn read_reply(&self, reply: &str, codes: &VerdictCodes, code: &str) -> (Option<f64>, String) {
        let score = |valid: bool| Some(f64::from(u8::from(valid)));
        let unread = "no verdict in the judge's answer".to_string();
        match self.reading {
            VerdictParsing::Adk => match response_reply::adk(reply) {
                Some(valid) => (score(valid), response_reply::reasoning(reply)),
                None => (None, unread),
            },
            VerdictParsing::Careful => match response_reply::careful(reply, codes, code) {
                Ok(valid) => (score(valid), response_reply::reasoning(reply)),
                Err(why) => (None, why),
            },
        }
    }

    fn turn(&self, asked: &JudgedQuestion) -> TurnVerdict {
        let votes = Votes::count(asked.samples.iter().map(|sample| sample.score()));
        let chosen = majority(&asked.samples, |sample: &Sample| sample.score());
        let score = chosen
            .and_then(|sample| sample.score())
            .filter(|_| all_answered(&asked.samples));
        let reason = chosen
            .map(|sample| sample.reason.as_str())
            .unwrap_or_default();
        let verdict = match score {
            Some(score) if score > 0.0 => "valid",
            Some(_) => "invalid",
            None => "no verdict",
        };
        let reason = if reason.is_empty() {
            String::new()
        } else {
            format!(": {reason}")
        };
        TurnVerdict {
            score,
            why: format!("{verdict} {}{reason}", votes.describe()),
            rubrics: Vec::new(),
        }
    }
}

impl Judge for ResponseVerdict {
    fn questions(
        &self,
        evidence: &Evidence,
        answered: &[JudgedQuestion],
        codes: &VerdictCodes,
    ) -> Result<Vec<Question>, String> {
        let Some(expected) = evidence.expected else {
            return Err(
                "the case has no reference response: a scenario has no reference turns".into(),
            );
        };
        if expected
            .iter()
            .filter(|turn| !turn.history)
            .any(Invocation::lacks_reference)
        {
            return Err(NO_REFERENCE.into());
        }
        let turns = expected.iter().zip(evidence.actual).enumerate();
        let id = |turn| QuestionId {
            turn,
            ..QuestionId::default()
        };
        let questions = turns.map(|(turn, (expected, actual))| Question {
            id: id(turn),
            about: "verdict",
            prompt: fill_with_code(
                PROMPT,
                &[
                    ("user_prompt", &expected.user.scored_text()),
                    (
                        "agent_response",
                        &evidence_text::agent_text(actual, self.with_intermediate),
                    ),
                    (
                        "reference_response",
                        &evidence_text::agent_text(expected, self.with_intermediate),
                    ),
                ],
                &codes.code(id(turn), ""),
            ),
            identity: None,
            samples: self.samples,
            shape: Some(AnswerShape::Verdict),
        });
        let is_open = |question: &Question| {
            !is_answered(answered, question.id) && !is_history(evidence, question.id.turn)
        };
        Ok(questions.filter(is_open).collect())
    }

    fn read(&self, _: &Evidence, answered: &mut [JudgedQuestion], codes: &VerdictCodes) {
        for asked in answered {
            let code = codes.code(asked.id, "");
            read_samples(asked, |reply| {
                let (score, reason) = self.read_reply(reply, codes, &code);
                (score, reason, Vec::new())
            });
        }
    }

    fn tally(&self, evidence: &Evidence, answered: &[JudgedQuestion]) -> Verdict {
        let mut turns = vec![TurnVerdict::default(); evidence.actual.len()];
        for asked in answered {
            if let Some(turn) = turns.get_mut(asked.id.turn) {
                *turn = self.turn(asked);
            }
        }
        let unjudged =
            (0..turns.len()).find(|at| turns[*at].score.is_none() && !is_history(evidence, *at));
        Verdict {
            score: mean(turns.iter().filter_map(|turn| turn.score)),
            gap: unjudged.map(|at| format!("turn {} has no verdict", at + 1)),
            turns,
            rubrics: Vec::new(),
        }
    }
}
