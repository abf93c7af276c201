//! ADK's three rubric metrics: a judge says yes or no to each property.

use super::judge::{
    Judge, Question, TurnVerdict, Verdict, all_answered, is_answered, is_history, majority,
    read_samples,
};
use super::verdict_codes::VerdictCodes;
use super::{AnswerShape, JudgeOptions, evidence_text, fill, rubric_careful, rubric_reply};
use crate::domain::{
    Criterion, Invocation, JudgedQuestion, QuestionId, RUBRIC_KINDS, Rubric, RubricScore, Sample,
    Score, VerdictParsing, Votes,
};
use crate::metrics::criterion_error::CriterionError;
use crate::metrics::measure::{Evidence, mean};
use serde_json::Value;

/// Which of the three metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::metrics) enum RubricMetricKind {
    FinalResponse,
    ToolUse,
    Trajectory,
}

impl RubricMetricKind {
    /// The type of rubrics that it reads from an eval set.
    fn kind(self) -> &'static str {
        match self {
            RubricMetricKind::FinalResponse => RUBRIC_KINDS[0],
            RubricMetricKind::ToolUse => RUBRIC_KINDS[1],
            RubricMetricKind::Trajectory => RUBRIC_KINDS[2],
        }
    }

    /// The question, and the form of the reply.
    fn prompt(self, reading: VerdictParsing) -> String {
        let question = match self {
            RubricMetricKind::FinalResponse => include_str!("prompts/final_response_quality.md"),
            RubricMetricKind::ToolUse => include_str!("prompts/tool_use_quality.md"),
            RubricMetricKind::Trajectory => include_str!("prompts/trajectory_quality.md"),
        };
        let form = match reading {
            VerdictParsing::Careful => include_str!("prompts/answer_rubrics.md"),
            VerdictParsing::Adk => include_str!("prompts/answer_rubrics_adk.md"),
        };
        format!("{question}{form}")
    }
}

pub(in crate::metrics) struct Rubrics {
    quality: RubricMetricKind,
    /// The criterion's own, which apply to every turn.
    rubrics: Vec<Rubric>,
    /// The only group of the set's rubrics that is read.
    group: Option<String>,
    samples: u32,
    with_intermediate: bool,
    reading: VerdictParsing,
}

impl Rubrics {
    pub(in crate::metrics) fn new(
        quality: RubricMetricKind,
        criterion: &Criterion,
        options: &JudgeOptions,
        reading: VerdictParsing,
    ) -> Result<Rubrics, CriterionError> {
        Ok(Rubrics {
            quality,
            rubrics: criterion_rubrics(criterion)?,
            group: group_name(criterion)?,
            samples: options.samples(),
            with_intermediate: super::judge::with_intermediate(criterion)?,
            reading,
        })
    }

    /// The rubrics of a turn: the criterion's, the case's and the turn's of the metric's type.
    fn of_turn(&self, evidence: &Evidence, turn: usize) -> Result<Vec<Rubric>, String> {
        let of_turn = evidence
            .expected
            .and_then(|turns| turns.get(turn))
            .map(|turn| &turn.rubrics[..]);
        self.together(evidence.rubrics, of_turn.unwrap_or_default(), turn)
    }

    fn together(
        &self,
        case: &[Rubric],
        of_turn: &[Rubric],
        turn: usize,
    ) -> Result<Vec<Rubric>, String> {
        let in_set = case.iter().chain(of_turn);
        let is_chosen = |rubric: &&Rubric| self.group.is_none() || rubric.group == self.group;
        let in_set = in_set
            .filter(|rubric| rubric.read_as() == Some(self.quality.kind()))
            .filter(is_chosen);
        let all: Vec<Rubric> = self.rubrics.iter().chain(in_set).cloned().collect();
        for (at, rubric) in all.iter().enumerate() {
            if all[..at].iter().any(|other| other.id == rubric.id) {
                return Err(format!(
                    "two rubrics have the id {:?}; ids must differ",
                    rubric.id
                ));
            }
        }
        let of_group = self
            .group
            .as_ref()
            .map(|group| format!(" in the group {group:?}"))
            .unwrap_or_default();
        match all.is_empty() {
            true => Err(format!(
                "turn {} has no rubrics: the criterion names none, and the set has none of type {} for it{of_group}",
                turn + 1,
                self.quality.kind()
            )),
            false => Ok(all),
        }
    }

    /// The turn with whose rubrics a reply is read. ADK reads every turn's replies with the last turn's rubrics.
    fn read_as(&self, evidence: &Evidence, id: QuestionId) -> usize {
        match self.reading {
            VerdictParsing::Adk => evidence.actual.len().saturating_sub(1),
            VerdictParsing::Careful => id.turn,
        }
    }

    /// The turns that are judged.
    fn turns(&self, of: usize) -> std::ops::Range<usize> {
        match self.quality {
            RubricMetricKind::Trajectory => of.saturating_sub(1)..of,
            _ => 0..of,
        }
    }

    fn prompt(
        &self,
        evidence: &Evidence,
        id: QuestionId,
        rubrics: &[Rubric],
        codes: &VerdictCodes,
    ) -> String {
        let turn = id.turn;
        let actual = &evidence.actual[turn];
        let properties: Vec<String> = rubrics
            .iter()
            .map(|rubric| {
                let text = rubric.text.as_deref().unwrap_or_default();
                format!(
                    "- [id: {}] [code: {}] {text}",
                    rubric.id,
                    codes.code(id, &rubric.id)
                )
            })
            .collect();
        let user = actual.user.scored_text();
        let mut data: Vec<(&str, String)> = vec![
            ("properties", properties.join("\n")),
            ("available_tools", evidence_text::tools(actual)),
        ];
        match self.quality {
            RubricMetricKind::FinalResponse => data.extend([
                (
                    "developer_instructions",
                    evidence_text::developer_instructions(actual),
                ),
                ("user_prompt", user),
                ("response_steps", evidence_text::steps(actual)),
                ("grounding_metadata", evidence_text::grounding(actual)),
                (
                    "final_answer",
                    evidence_text::agent_text(actual, self.with_intermediate),
                ),
            ]),
            RubricMetricKind::ToolUse => {
                data.extend([
                    ("user_prompt", user),
                    ("response_steps", evidence_text::steps(actual)),
                ]);
            }
            RubricMetricKind::Trajectory => data.extend([
                ("agent_instructions", all_instructions(evidence.actual)),
                (
                    "conversation_history",
                    evidence_text::conversation(evidence.actual),
                ),
            ]),
        }
        let data: Vec<(&str, &str)> = data
            .iter()
            .map(|(name, text)| (*name, text.as_str()))
            .collect();
        fill(&self.quality.prompt(self.reading), &data)
    }

    fn turn(&self, asked: &JudgedQuestion) -> TurnVerdict {
        if !all_answered(&asked.samples) {
            return TurnVerdict {
                why: "the judge failed".into(),
                ..TurnVerdict::default()
            };
        }
        let verdicts: Vec<&RubricScore> = asked
            .samples
            .iter()
            .flat_map(|sample| &sample.verdicts)
            .collect();
        let mut ids: Vec<&str> = Vec::new();
        for verdict in &verdicts {
            if !ids.contains(&verdict.rubric_id.as_str()) {
                ids.push(&verdict.rubric_id);
            }
        }
        let of = |id: &str| -> Option<RubricScore> {
            let mine: Vec<&RubricScore> = verdicts
                .iter()
                .copied()
                .filter(|one| one.rubric_id == id)
                .collect();
            let mut votes = Votes::count(mine.iter().map(|one| one.score()));
            let silent = asked
                .samples
                .iter()
                .filter(|s| s.verdicts.iter().all(|one| one.rubric_id != id));
            votes.none += silent.count() as u32;
            majority(&mine, |one| one.score()).map(|one| RubricScore {
                votes: Some(votes),
                ..(*one).clone()
            })
        };
        let rubrics: Vec<RubricScore> = ids.into_iter().filter_map(of).collect();
        let score = mean(rubrics.iter().filter_map(|rubric| rubric.score()));
        let why = match rubrics.is_empty() {
            true => "no verdicts in the judge's answers".to_string(),
            false => String::new(),
        };
        TurnVerdict {
            score,
            why,
            rubrics,
        }
    }

    /// The first turn with rubrics that have no verdict, as a sentence.
    fn gap(&self, evidence: &Evidence, turns: &[TurnVerdict]) -> Option<String> {
        self.turns(evidence.actual.len())
            .filter(|turn| !is_history(evidence, *turn))
            .find_map(|at| {
                let rubrics = self.of_turn(evidence, at).ok()?;
                let judged = |rubric: &&Rubric| {
                    turns[at]
                        .rubrics
                        .iter()
                        .any(|one| one.rubric_id == rubric.id && one.score().is_some())
                };
                let missing: Vec<&str> = rubrics
                    .iter()
                    .filter(|rubric| !judged(rubric))
                    .map(|rubric| rubric.id.as_str())
                    .collect();
                let words = format!(
                    "the judge gave no verdict on {} in turn {}",
                    missing.join(", "),
                    at + 1
                );
                (!missing.is_empty()).then_some(words)
            })
    }
}

impl Judge for Rubrics {
    fn rubric_problem(&self, case: &[Rubric], turns: &[&[Rubric]]) -> Option<String> {
        self.turns(turns.len())
            .find_map(|turn| self.together(case, turns[turn], turn).err())
    }

    fn questions(
        &self,
        evidence: &Evidence,
        answered: &[JudgedQuestion],
        codes: &VerdictCodes,
    ) -> Result<Vec<Question>, String> {
        let mut questions = Vec::new();
        for turn in self
            .turns(evidence.actual.len())
            .filter(|turn| !is_history(evidence, *turn))
        {
            let rubrics = self.of_turn(evidence, turn)?;
            let id = QuestionId {
                turn,
                ..QuestionId::default()
            };
            if !is_answered(answered, id) {
                let prompt = self.prompt(evidence, id, &rubrics, codes);
                let (samples, shape) = (self.samples, Some(AnswerShape::Rubrics));
                questions.push(Question {
                    id,
                    about: "rubrics",
                    prompt,
                    identity: None,
                    samples,
                    shape,
                });
            }
        }
        Ok(questions)
    }

    fn has_details(&self) -> bool {
        true
    }

    fn read(&self, evidence: &Evidence, answered: &mut [JudgedQuestion], codes: &VerdictCodes) {
        for asked in answered {
            let id = asked.id;
            let rubrics = self
                .of_turn(evidence, self.read_as(evidence, id))
                .unwrap_or_default();
            read_samples(asked, |reply| {
                let verdicts = match self.reading {
                    VerdictParsing::Adk => rubric_reply::adk(reply, &rubrics),
                    VerdictParsing::Careful => rubric_careful::careful(reply, &rubrics, codes, id),
                };
                let score = mean(verdicts.iter().filter_map(|one| one.score()));
                let why = if verdicts.is_empty() {
                    "no verdicts in the judge's answer"
                } else {
                    ""
                };
                (score, why.to_string(), verdicts)
            });
        }
    }

    fn is_complete(
        &self,
        evidence: &Evidence,
        answered: &[JudgedQuestion],
        id: QuestionId,
    ) -> bool {
        let rubrics = self
            .of_turn(evidence, self.read_as(evidence, id))
            .unwrap_or_default();
        let has_verdict = |sample: &Sample, rubric: &Rubric| {
            sample
                .verdicts
                .iter()
                .any(|one| one.rubric_id == rubric.id && one.score().is_some())
        };
        let asked = answered.iter().find(|asked| asked.id == id);
        asked.is_some_and(|asked| {
            asked
                .samples
                .iter()
                .all(|sample| rubrics.iter().all(|rubric| has_verdict(sample, rubric)))
        })
    }

    fn tally(&self, evidence: &Evidence, answered: &[JudgedQuestion]) -> Verdict {
        let mut turns = vec![TurnVerdict::default(); evidence.actual.len()];
        for asked in answered {
            if let Some(turn) = turns.get_mut(asked.id.turn) {
                *turn = self.turn(asked);
            }
        }
        let gap = self.gap(evidence, &turns);
        let all: Vec<&RubricScore> = turns.iter().flat_map(|turn| &turn.rubrics).collect();
        Verdict {
            score: mean(all.iter().filter_map(|rubric| rubric.score())),
            rubrics: over_turns(&all),
            gap,
            turns,
        }
    }
}

/// Each rubric over all turns: the mean of its scores, and its reason if it has only one.
fn over_turns(all: &[&RubricScore]) -> Vec<RubricScore> {
    let mut ids: Vec<&str> = Vec::new();
    for rubric in all {
        if !ids.contains(&rubric.rubric_id.as_str()) {
            ids.push(&rubric.rubric_id);
        }
    }
    let of = |id: &str| {
        let mine: Vec<&&RubricScore> = all.iter().filter(|one| one.rubric_id == id).collect();
        let votes = mine
            .iter()
            .filter_map(|one| one.votes)
            .fold(Votes::default(), |sum, one| Votes {
                yes: sum.yes + one.yes,
                no: sum.no + one.no,
                none: sum.none + one.none,
            });
        RubricScore {
            rubric_id: id.to_string(),
            score: mean(mine.iter().filter_map(|one| one.score())).and_then(Score::new),
            rationale: match mine[..] {
                [only] => only.rationale.clone(),
                _ => None,
            },
            votes: Some(votes),
        }
    };
    ids.into_iter().map(of).collect()
}

fn all_instructions(turns: &[Invocation]) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for (name, text) in turns.iter().flat_map(evidence_text::instructions) {
        let block = format!("Agent {name} instructions:\n{text}");
        if !blocks.contains(&block) {
            blocks.push(block);
        }
    }
    blocks.join("\n\n")
}

/// The group of rubrics that a criterion chooses.
fn group_name(criterion: &Criterion) -> Result<Option<String>, CriterionError> {
    match criterion.option("rubric_group_key", "rubricGroupKey") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) if !name.is_empty() => Ok(Some(name.clone())),
        Some(other) => Err(CriterionError::Option {
            option: "rubric_group_key",
            expected: "the name of a group in rubric_groups",
            found: other.to_string(),
        }),
    }
}

/// The rubrics in the options of a criterion.
pub fn criterion_rubrics(criterion: &Criterion) -> Result<Vec<Rubric>, CriterionError> {
    let wrong = |found: &Value| CriterionError::Option {
        option: "rubrics",
        expected: "a list of {rubric_id, rubric_content: {text_property}}",
        found: found.to_string(),
    };
    let rubrics = match criterion.options.get("rubrics") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(rubrics)) => rubrics,
        Some(other) => return Err(wrong(other)),
    };
    let text = |value: &Value, snake: &str, camel: &str| {
        value
            .get(camel)
            .or_else(|| value.get(snake))
            .and_then(Value::as_str)
            .map(str::to_string)
    };
    let read = |value: &Value| {
        let content = value
            .get("rubricContent")
            .or_else(|| value.get("rubric_content"));
        let content = content.ok_or_else(|| wrong(value))?;
        Ok(Rubric {
            id: text(value, "rubric_id", "rubricId").ok_or_else(|| wrong(value))?,
            text: text(content, "text_property", "textProperty"),
            description: text(value, "description", "description"),
            kind: text(value, "type", "type"),
            group: None,
        })
    };
    rubrics.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_chooses_one_group_of_rubrics() {
        let rubric = |id: &str, group: Option<&str>| Rubric {
            id: id.into(),
            text: Some("x".into()),
            group: group.map(str::to_string),
            ..Rubric::default()
        };
        let case = [
            rubric("a", Some("g1")),
            rubric("b", Some("g2")),
            rubric("c", None),
        ];
        let chosen = |quality: RubricMetricKind, key: Value| {
            let mut criterion = Criterion::new("rubric_based_final_response_quality_v1", Some(0.5));
            criterion.options.insert("rubric_group_key".into(), key);
            let options = JudgeOptions::default();
            let metric =
                Rubrics::new(quality, &criterion, &options, VerdictParsing::default()).ok()?;
            let found = metric.together(&case, &[], 0);
            Some(found.map(|found| found.into_iter().map(|one| one.id).collect::<Vec<_>>()))
        };
        let ids = |ids: &[&str]| Some(Ok(ids.iter().map(ToString::to_string).collect::<Vec<_>>()));
        assert_eq!(
            chosen(RubricMetricKind::FinalResponse, Value::Null),
            ids(&["a", "b"])
        );
        assert_eq!(
            chosen(RubricMetricKind::FinalResponse, json!("g2")),
            ids(&["b"])
        );
        let none = chosen(RubricMetricKind::FinalResponse, json!("g3"))
            .unwrap()
            .unwrap_err();
        assert!(none.ends_with("in the group \"g3\""), "{none}");
        assert!(
            chosen(RubricMetricKind::ToolUse, Value::Null)
                .unwrap()
                .is_err()
        );
        assert_eq!(chosen(RubricMetricKind::FinalResponse, json!(3)), None);
    }
}
