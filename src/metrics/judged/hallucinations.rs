//! `hallucinations_v1`: a judge splits what was said into sentences, then says of each whether what happened
//! supports it. The sentences are kept, which ADK does not do.

use super::hallucination_reply::{Labelled, labelled, sentences};
use super::{Judge, Question, TurnVerdict, Verdict, evidence_text, fill, is_answered, is_history};
use crate::domain::{
    Asked, Criterion, Invocation, InvocationEvent, QuestionId, Reading, RubricScore, Sample, value_text,
};
use crate::metrics::measure::{Evidence, mean};
use crate::metrics::options::flag_option;
use crate::metrics::registry::Unusable;
use serde_json::json;

const SEGMENT: &str = include_str!("prompts/sentences.md");
const SUPPORT: &str = include_str!("prompts/support.md");

pub(super) struct Hallucinations {
    all_texts: bool,
    reading: Reading,
}

/// A text that is judged, and the events before it.
struct Text<'a> {
    text: String,
    before: &'a [InvocationEvent],
}

impl Hallucinations {
    pub(super) fn of(criterion: &Criterion, reading: Reading) -> Result<Hallucinations, Unusable> {
        let (snake, camel) = ("evaluate_intermediate_nl_responses", "evaluateIntermediateNlResponses");
        Ok(Hallucinations { all_texts: flag_option(criterion, snake, camel)?, reading })
    }

    /// What is judged of a turn: on demand each text on the way, and the final response.
    fn texts<'a>(&self, turn: &'a Invocation) -> Vec<Text<'a>> {
        let events = evidence_text::events(turn);
        let mut texts = Vec::new();
        if self.all_texts {
            for (at, event) in events.iter().enumerate() {
                let parts = event.content.iter().flat_map(|content| &content.parts);
                let said = parts.filter_map(|part| part.text.clone()).filter(|text| !text.is_empty());
                texts.extend(said.map(|text| Text { text, before: &events[..at] }));
            }
        }
        let last = turn.response_text();
        if !last.is_empty() {
            texts.push(Text { text: last, before: events });
        }
        texts
    }

    fn support(&self, turns: &[Invocation], turn: &Invocation, text: &Text, sentences: &[String]) -> String {
        let list: Vec<String> = sentences.iter().map(|one| format!("<sentence>{one}</sentence>")).collect();
        fill(
            SUPPORT,
            &[
                ("developer_instructions", &instructions(turns)),
                ("available_tools", &evidence_text::tools(turn)),
                ("user_prompt", &turn.user.scored_text()),
                ("grounding_metadata", &evidence_text::grounding(turn)),
                ("what_happened", &happened(turn, text.before)),
                ("sentences", &list.join("\n")),
            ],
        )
    }

    fn read_reply(&self, sample: &mut Sample, wanted: usize) {
        let Some(reply) = &sample.reply else { return };
        let blocks = labelled(reply, self.reading);
        let mut verdicts: Vec<RubricScore> = blocks.iter().map(|block| self.verdict(block)).collect();
        if self.reading == Reading::Careful {
            one_label_each(&mut verdicts);
        }
        sample.score = mean(verdicts.iter().filter_map(|one| one.score));
        let unsupported = verdicts.iter().filter(|one| one.score == Some(0.0)).count();
        sample.reason = match sample.score {
            None => "no labels in the judge's answer".into(),
            Some(_) => format!("{unsupported} of {wanted} sentences not supported"),
        };
        sample.verdicts = verdicts;
    }

    fn verdict(&self, block: &Labelled) -> RubricScore {
        let excerpt = block.contradicting.as_ref().or(block.supporting.as_ref());
        let excerpt = excerpt.map(|text| format!(" “{text}”")).unwrap_or_default();
        RubricScore {
            rubric_id: block.sentence.clone(),
            score: block.score(self.reading),
            rationale: Some(format!("{}: {}{excerpt}", block.label, block.rationale)),
            votes: None,
        }
    }
}

/// A sentence that is labelled twice and differently has no label.
fn one_label_each(verdicts: &mut Vec<RubricScore>) {
    let scores: Vec<(String, Option<f64>)> =
        verdicts.iter().map(|one| (one.rubric_id.clone(), one.score)).collect();
    for verdict in verdicts.iter_mut() {
        if scores.iter().any(|(id, score)| *id == verdict.rubric_id && *score != verdict.score) {
            verdict.score = None;
            verdict.rationale = Some("the judge's answer contradicts itself".into());
        }
    }
    let mut seen = std::collections::HashSet::new();
    verdicts.retain(|verdict| seen.insert(verdict.rubric_id.clone()));
}

fn instructions(turns: &[Invocation]) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for (name, text) in turns.iter().flat_map(evidence_text::instructions) {
        let block = format!("{name}:\n{text}");
        if !blocks.contains(&block) {
            blocks.push(block);
        }
    }
    blocks.join("\n\n")
}

/// The events in order: what was said, called and returned. Where there are none, the calls that are known.
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
        let calls: Vec<_> =
            content.calls().map(|call| json!({"name": call.name, "args": call.args})).collect();
        if !calls.is_empty() {
            lines.push(format!("tool_calls:\n{}", value_text(&calls.into())));
        }
        let outputs: Vec<_> =
            content.responses().map(|one| json!({"name": one.name, "response": one.response})).collect();
        if !outputs.is_empty() {
            lines.push(format!("tool_outputs:\n{}", value_text(&outputs.into())));
        }
    }
    lines.join("\n")
}

/// The sentences that the judge made of a text; `None` while it is not known.
fn known_sentences(answered: &[Asked], id: QuestionId) -> Option<Vec<String>> {
    let asked = answered.iter().find(|asked| asked.id == id)?;
    let reply = asked.samples.first().and_then(|sample| sample.reply.as_deref());
    Some(reply.map(sentences).unwrap_or_default())
}

/// How many sentences the judge made of each text.
fn sentence_counts(answered: &[Asked]) -> Vec<(QuestionId, usize)> {
    let first = answered.iter().filter(|asked| asked.id.step == 0);
    first.map(|asked| (asked.id, known_sentences(answered, asked.id).map_or(0, |all| all.len()))).collect()
}

fn count_of(counts: &[(QuestionId, usize)], id: QuestionId) -> usize {
    let first = QuestionId { step: 0, ..id };
    counts.iter().find(|(known, _)| *known == first).map_or(0, |(_, count)| *count)
}

impl Judge for Hallucinations {
    fn questions(&self, evidence: &Evidence, answered: &[Asked]) -> Result<Vec<Question>, String> {
        let mut questions = Vec::new();
        let judged = evidence.actual.iter().enumerate().filter(|(at, _)| !is_history(evidence, *at));
        for (at, turn) in judged {
            for (number, text) in self.texts(turn).iter().enumerate() {
                let first = QuestionId { turn: at, text: number, step: 0 };
                let second = QuestionId { step: 1, ..first };
                let question = |id, about, prompt| Question { id, about, prompt, samples: 1 };
                match known_sentences(answered, first) {
                    None => {
                        let prompt = fill(SEGMENT, &[("text", &text.text)]);
                        questions.push(question(first, "sentences", prompt));
                    }
                    Some(sentences) if !sentences.is_empty() && !is_answered(answered, second) => {
                        let prompt = self.support(evidence.actual, turn, text, &sentences);
                        questions.push(question(second, "support", prompt));
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(questions)
    }

    fn read(&self, _: &Evidence, answered: &mut [Asked]) {
        let wanted = sentence_counts(answered);
        for asked in answered.iter_mut().filter(|asked| asked.id.step == 1) {
            let count = count_of(&wanted, asked.id);
            asked.samples.iter_mut().for_each(|sample| self.read_reply(sample, count));
        }
    }

    fn tally(&self, evidence: &Evidence, answered: &[Asked]) -> Verdict {
        let wanted = sentence_counts(answered);
        let mut gap = None;
        let turn = |(at, turn): (usize, &Invocation)| {
            let of = |number: usize| {
                let id = QuestionId { turn: at, text: number, step: 1 };
                answered.iter().find(|asked| asked.id == id).and_then(|asked| asked.samples.first())
            };
            let samples: Vec<Option<&Sample>> = (0..self.texts(turn).len()).map(of).collect();
            let unlabelled = samples.iter().enumerate().any(|(number, sample)| {
                let labelled = sample
                    .map_or(0, |sample| sample.verdicts.iter().filter(|one| one.score.is_some()).count());
                labelled == 0 || labelled < count_of(&wanted, QuestionId { turn: at, text: number, step: 1 })
            });
            if (unlabelled || samples.is_empty()) && !is_history(evidence, at) {
                gap.get_or_insert_with(|| match samples.is_empty() {
                    true => format!("turn {} has no response to judge", at + 1),
                    false => format!("some sentences of turn {} have no label", at + 1),
                });
            }
            let reasons = samples.iter().flatten().map(|sample| sample.reason.as_str());
            TurnVerdict {
                score: mean(samples.iter().flatten().filter_map(|sample| sample.score)),
                why: reasons.collect::<Vec<_>>().join("; "),
                rubrics: Vec::new(),
            }
        };
        let turns: Vec<TurnVerdict> = evidence.actual.iter().enumerate().map(turn).collect();
        Verdict { score: mean(turns.iter().filter_map(|turn| turn.score)), gap, turns, rubrics: Vec::new() }
    }
}
