//! `hallucinations_v1`: a judge splits the agent's texts into sentences, then labels each by whether the events
//! support it. The sentences are stored, which ADK does not do.

use super::hallucination_reply::{
    Labelled, label_objects, labelled, own_blocks, score_of, sentences, sentences_of,
};
use super::judge::{Judge, Question, TurnVerdict, Verdict, is_answered, is_history};
use super::verdict_codes::{VerdictCodes, agreed, labelled_with_code, skeleton, values_with_code};
use super::{AnswerShape, evidence_text, fill};
use crate::domain::{
    Criterion, Invocation, InvocationEvent, JudgedQuestion, QuestionId, RubricScore, Sample, Score,
    VerdictParsing, value_text,
};
use crate::metrics::criterion_error::CriterionError;
use crate::metrics::measure::{Evidence, mean};
use crate::metrics::options::flag_option;
use serde_json::json;

const SEGMENT: &str = include_str!("prompts/sentences.md");
const SUPPORT: &str = include_str!("prompts/support.md");

pub(in crate::metrics) struct Hallucinations {
    all_texts: bool,
    reading: VerdictParsing,
}

/// A text that is judged, and the events before it.
struct Text<'a> {
    text: String,
    before: &'a [InvocationEvent],
}

impl Hallucinations {
    pub(in crate::metrics) fn new(
        criterion: &Criterion,
        reading: VerdictParsing,
    ) -> Result<Hallucinations, CriterionError> {
        let (snake, camel) = (
            "evaluate_intermediate_nl_responses",
            "evaluateIntermediateNlResponses",
        );
        Ok(Hallucinations {
            all_texts: flag_option(criterion, snake, camel)?,
            reading,
        })
    }

    /// The texts of a turn that are judged: on request each intermediate text, and the final response.
    fn texts<'a>(&self, turn: &'a Invocation) -> Vec<Text<'a>> {
        let events = evidence_text::events(turn);
        let mut texts = Vec::new();
        if self.all_texts {
            for (at, event) in events.iter().enumerate() {
                let parts = event.content.iter().flat_map(|content| &content.parts);
                let said = parts
                    .filter_map(|part| part.text.clone())
                    .filter(|text| !text.is_empty());
                texts.extend(said.map(|text| Text {
                    text,
                    before: &events[..at],
                }));
            }
        }
        let last = turn.response_text();
        if !last.is_empty() {
            texts.push(Text {
                text: last,
                before: events,
            });
        }
        texts
    }

    fn support(
        &self,
        turns: &[Invocation],
        id: QuestionId,
        text: &Text,
        codes: &[(String, String)],
    ) -> String {
        let turn = &turns[id.turn];
        let form = match self.reading {
            VerdictParsing::Careful => include_str!("prompts/answer_support.md"),
            VerdictParsing::Adk => include_str!("prompts/answer_support_adk.md"),
        };
        let list: Vec<String> = (1..)
            .zip(codes)
            .map(|(number, (sentence, code))| {
                format!("{number}. [code: {code}] <sentence>{sentence}</sentence>")
            })
            .collect();
        fill(
            &format!("{SUPPORT}{form}"),
            &[
                ("developer_instructions", &instructions(turn)),
                ("available_tools", &evidence_text::tools(turn)),
                ("user_prompt", &turn.user.scored_text()),
                ("grounding_metadata", &evidence_text::grounding(turn)),
                ("what_happened", &happened(turn, text.before)),
                ("sentences", &list.join("\n")),
            ],
        )
    }

    fn read_reply(&self, sample: &mut Sample, asked: &[(String, String)], codes: &VerdictCodes) {
        let Some(reply) = &sample.reply else { return };
        let verdicts = match self.reading {
            VerdictParsing::Adk => labelled(reply)
                .iter()
                .map(|block| self.verdict(block))
                .collect(),
            VerdictParsing::Careful => self.careful(reply, asked, codes),
        };
        sample.score = mean(verdicts.iter().filter_map(|one| one.score())).and_then(Score::new);
        let unsupported = verdicts
            .iter()
            .filter(|one| one.score() == Some(0.0))
            .count();
        sample.reason = match sample.score() {
            None => "no labels in the judge's answer".into(),
            Some(_) => format!("{unsupported} of {} sentences not supported", asked.len()),
        };
        sample.verdicts = verdicts;
    }

    /// The labels that come with their sentence's code. If there are none, the labels of the judge's own objects or
    /// blocks.
    fn careful(
        &self,
        reply: &str,
        asked: &[(String, String)],
        codes: &VerdictCodes,
    ) -> Vec<RubricScore> {
        let sentences: Vec<&str> = asked
            .iter()
            .map(|(sentence, _)| sentence.as_str())
            .collect();
        let listed = label_objects(reply, asked, codes);
        let coded = |rationale: &dyn Fn(usize) -> Option<String>| -> Vec<RubricScore> {
            let score = |word: &String| score_of(word, self.reading);
            let of = |(at, (sentence, code)): (usize, &(String, String))| {
                let words: Vec<String> = labelled_with_code(reply, code, "label")
                    .into_iter()
                    .chain(values_with_code(reply, code, "label"))
                    .collect();
                let score = agreed(words.iter().map(score))?;
                let (rubric_id, rationale) = (sentence.clone(), rationale(at));
                Some(RubricScore {
                    rubric_id,
                    score: Score::new(score),
                    rationale,
                    votes: None,
                })
            };
            asked.iter().enumerate().filter_map(of).collect()
        };
        if let Some(listed) = listed {
            let verdicts: Vec<Option<RubricScore>> = listed
                .iter()
                .map(|label| Some(self.verdict(label.as_ref()?)))
                .collect();
            let coded = coded(&|at| verdicts[at].as_ref()?.rationale.clone());
            return if coded.is_empty() {
                verdicts.into_iter().flatten().collect()
            } else {
                coded
            };
        }
        let blocks = own_blocks(reply, sentences.iter().copied(), codes);
        let mut verdicts: Vec<RubricScore> =
            blocks.iter().map(|block| self.verdict(block)).collect();
        let coded = coded(&|at| {
            let is_its =
                |one: &&RubricScore| skeleton(&one.rubric_id).starts_with(&skeleton(sentences[at]));
            verdicts.iter().find(is_its)?.rationale.clone()
        });
        if !coded.is_empty() {
            return coded;
        }
        one_label_each(&mut verdicts);
        verdicts
    }

    fn verdict(&self, block: &Labelled) -> RubricScore {
        let excerpt = block.contradicting.as_ref().or(block.supporting.as_ref());
        let excerpt = excerpt.map(|text| format!(" “{text}”")).unwrap_or_default();
        RubricScore {
            rubric_id: block.sentence.clone(),
            score: block.score(self.reading).and_then(Score::new),
            rationale: Some(format!("{}: {}{excerpt}", block.label, block.rationale)),
            votes: None,
        }
    }
}

/// The only sample of a question.
fn first_sample(answered: &[JudgedQuestion], id: QuestionId) -> Option<&Sample> {
    answered
        .iter()
        .find(|asked| asked.id == id)?
        .samples
        .first()
}

/// Removes the label of a sentence that has different ones, and then duplicates.
fn one_label_each(verdicts: &mut Vec<RubricScore>) {
    let scores: Vec<(String, Option<f64>)> = verdicts
        .iter()
        .map(|one| (one.rubric_id.clone(), one.score()))
        .collect();
    for verdict in verdicts.iter_mut() {
        if scores
            .iter()
            .any(|(id, score)| *id == verdict.rubric_id && *score != verdict.score())
        {
            verdict.score = None;
            verdict.rationale = Some("the judge's answer contradicts itself".into());
        }
    }
    let mut seen = std::collections::HashSet::new();
    verdicts.retain(|verdict| seen.insert(verdict.rubric_id.clone()));
}

/// The instructions of the agents that acted in a turn, as in ADK.
fn instructions(turn: &Invocation) -> String {
    let all = evidence_text::instructions(turn)
        .into_iter()
        .filter(|(_, text)| !text.is_empty());
    all.map(|(name, text)| format!("{name}:\n{text}"))
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// The events in order: texts, calls and responses. If there are none, the known calls.
fn happened(turn: &Invocation, events: &[InvocationEvent]) -> String {
    if evidence_text::events(turn).is_empty() {
        return evidence_text::steps(turn);
    }
    let mut lines = Vec::new();
    for content in events.iter().filter_map(|event| event.content.as_ref()) {
        let text = content.scored_text();
        if !text.is_empty() {
            lines.push(text);
        }
        let calls: Vec<_> = content
            .calls()
            .map(|call| json!({"name": call.name, "args": call.args}))
            .collect();
        if !calls.is_empty() {
            lines.push(format!("tool_calls:\n{}", value_text(&calls.into())));
        }
        let outputs: Vec<_> = content
            .responses()
            .map(|one| json!({"name": one.name, "response": one.response}))
            .collect();
        if !outputs.is_empty() {
            lines.push(format!("tool_outputs:\n{}", value_text(&outputs.into())));
        }
    }
    lines.join("\n")
}

impl Hallucinations {
    /// The sentences into which the judge split a text; `None` while they are not known.
    fn sentences(
        &self,
        evidence: &Evidence,
        answered: &[JudgedQuestion],
        id: QuestionId,
    ) -> Option<Vec<String>> {
        let first = QuestionId { step: 0, ..id };
        let asked = answered.iter().find(|asked| asked.id == first)?;
        let Some(reply) = asked
            .samples
            .first()
            .and_then(|sample| sample.reply.as_deref())
        else {
            return Some(Vec::new());
        };
        let text = self
            .texts(evidence.actual.get(id.turn)?)
            .into_iter()
            .nth(id.text)?
            .text;
        Some(match self.reading {
            VerdictParsing::Adk => sentences(reply),
            VerdictParsing::Careful => sentences_of(reply, &text),
        })
    }

    /// Why not all sentences of a text have a label; `None` if they have. `id` is that of the text's second question.
    fn unlabelled(
        &self,
        evidence: &Evidence,
        answered: &[JudgedQuestion],
        id: QuestionId,
    ) -> Option<String> {
        let wanted = self
            .sentences(evidence, answered, id)
            .map_or(0, |sentences| sentences.len());
        if wanted == 0 {
            let split = first_sample(answered, QuestionId { step: 0, ..id });
            let why = split
                .filter(|sample| sample.reply.is_none())
                .map(|sample| sample.reason.as_str());
            let why = why
                .filter(|why| !why.is_empty())
                .unwrap_or("the judge's answer contains no sentences");
            return Some(format!("the response was not split into sentences: {why}"));
        }
        let verdicts = first_sample(answered, id).map_or(&[][..], |sample| &sample.verdicts);
        match verdicts.iter().filter(|one| one.score().is_some()).count() {
            0 => Some("no sentence has a label".into()),
            labelled if labelled < wanted => Some(format!(
                "{} of {wanted} sentences have no label",
                wanted - labelled
            )),
            _ => None,
        }
    }

    /// The sentences of a text with their codes.
    fn coded(
        &self,
        evidence: &Evidence,
        answered: &[JudgedQuestion],
        id: QuestionId,
        codes: &VerdictCodes,
    ) -> Vec<(String, String)> {
        let sentences = self.sentences(evidence, answered, id).unwrap_or_default();
        let id = QuestionId { step: 1, ..id };
        let coded = sentences.into_iter().enumerate();
        coded
            .map(|(number, sentence)| (sentence, codes.code(id, &number.to_string())))
            .collect()
    }
}

impl Judge for Hallucinations {
    fn questions(
        &self,
        evidence: &Evidence,
        answered: &[JudgedQuestion],
        codes: &VerdictCodes,
    ) -> Result<Vec<Question>, String> {
        let mut questions = Vec::new();
        let judged = evidence
            .actual
            .iter()
            .enumerate()
            .filter(|(at, _)| !is_history(evidence, *at));
        for (at, turn) in judged {
            for (number, text) in self.texts(turn).iter().enumerate() {
                let first = QuestionId {
                    turn: at,
                    text: number,
                    step: 0,
                };
                let second = QuestionId { step: 1, ..first };
                let question = |id, about, prompt, shape| Question {
                    id,
                    about,
                    prompt,
                    identity: None,
                    samples: 1,
                    shape,
                };
                match self.sentences(evidence, answered, first) {
                    None => {
                        let prompt = fill(SEGMENT, &[("text", &text.text)]);
                        questions.push(question(first, "sentences", prompt, None));
                    }
                    Some(sentences) if !sentences.is_empty() && !is_answered(answered, second) => {
                        let coded = self.coded(evidence, answered, second, codes);
                        let prompt = self.support(evidence.actual, second, text, &coded);
                        questions.push(question(
                            second,
                            "support",
                            prompt,
                            Some(AnswerShape::Support),
                        ));
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(questions)
    }

    fn has_details(&self) -> bool {
        true
    }

    fn read(&self, evidence: &Evidence, answered: &mut [JudgedQuestion], codes: &VerdictCodes) {
        let known = answered.to_vec();
        for asked in answered.iter_mut().filter(|asked| asked.id.step == 1) {
            let coded = self.coded(evidence, &known, asked.id, codes);
            asked
                .samples
                .iter_mut()
                .for_each(|sample| self.read_reply(sample, &coded, codes));
        }
    }

    fn is_complete(
        &self,
        evidence: &Evidence,
        answered: &[JudgedQuestion],
        id: QuestionId,
    ) -> bool {
        match id.step {
            0 => self
                .sentences(evidence, answered, id)
                .is_some_and(|sentences| !sentences.is_empty()),
            _ => self.unlabelled(evidence, answered, id).is_none(),
        }
    }

    fn tally(&self, evidence: &Evidence, answered: &[JudgedQuestion]) -> Verdict {
        let mut gap = None;
        let turn = |(at, turn): (usize, &Invocation)| {
            let ids: Vec<QuestionId> = (0..self.texts(turn).len())
                .map(|number| QuestionId {
                    turn: at,
                    text: number,
                    step: 1,
                })
                .collect();
            let missing = match ids.is_empty() {
                true => Some("there is no response to judge".to_string()),
                false => ids
                    .iter()
                    .find_map(|id| self.unlabelled(evidence, answered, *id)),
            };
            let missing = missing.filter(|_| !is_history(evidence, at));
            if let (Some(why), None) = (&missing, &gap) {
                gap = Some(format!("turn {}: {why}", at + 1));
            }
            let samples: Vec<&Sample> = ids
                .iter()
                .filter_map(|id| first_sample(answered, *id))
                .collect();
            let reasons: Vec<&str> = samples
                .iter()
                .map(|sample| sample.reason.as_str())
                .collect();
            TurnVerdict {
                score: mean(samples.iter().filter_map(|sample| sample.score())),
                why: if reasons.is_empty() {
                    missing.unwrap_or_default()
                } else {
                    reasons.join("; ")
                },
                rubrics: Vec::new(),
            }
        };
        let turns: Vec<TurnVerdict> = evidence.actual.iter().enumerate().map(turn).collect();
        Verdict {
            score: mean(turns.iter().filter_map(|turn| turn.score)),
            gap,
            turns,
            rubrics: Vec::new(),
        }
    }
}
