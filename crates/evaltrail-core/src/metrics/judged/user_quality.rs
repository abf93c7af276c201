//! `per_turn_user_simulator_quality_v1`: a judge decides whether the simulated user followed its scenario
//! (google-adk 2.13, `google/adk/evaluation/simulation/per_turn_user_simulator_quality_v1.py`).

use super::json_verdict::{JsonVerdict, VerdictKeys};
use super::judge::{
    Judge, Question, TurnVerdict, Verdict, all_answered, is_answered, majority, read_samples,
};
use super::prompt::fill_with_code;
use super::reply_objects::objects;
use super::verdict_codes::VerdictCodes;
use super::{AnswerShape, JudgeOptions};
use crate::domain::{
    Criterion, Invocation, JudgedQuestion, QuestionId, Sample, VerdictParsing, Votes,
};
use crate::metrics::criterion_error::CriterionError;
use crate::metrics::measure::{Evidence, flag};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

const PROMPT: &str = include_str!("prompts/user_quality.md");

pub(in crate::metrics) struct UserQuality {
    samples: u32,
    stop_signal: String,
    threshold: Option<f64>,
    reading: VerdictParsing,
}

impl UserQuality {
    pub(in crate::metrics) fn new(
        criterion: &Criterion,
        options: &JudgeOptions,
        reading: VerdictParsing,
    ) -> Result<UserQuality, CriterionError> {
        let stop_signal = match criterion.option("stop_signal", "stopSignal") {
            None => "</finished>".to_string(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => {
                return Err(CriterionError::Option {
                    option: "stop_signal",
                    expected: "a string",
                    found: other.to_string(),
                });
            }
        };
        Ok(UserQuality {
            samples: options.samples(),
            stop_signal,
            threshold: criterion.threshold,
            reading,
        })
    }

    fn read_reply(&self, reply: &str, codes: &VerdictCodes, code: &str) -> (Option<f64>, String) {
        let valid = match self.reading {
            VerdictParsing::Adk => {
                adk(reply).ok_or_else(|| "no verdict in the judge's answer".to_string())
            }
            VerdictParsing::Careful => careful(reply, codes, code),
        };
        match valid {
            Ok(valid) => (Some(flag(valid)), reasons(reply)),
            Err(why) => (None, why),
        }
    }

    fn judged(&self, asked: &JudgedQuestion) -> TurnVerdict {
        let chosen = majority(&asked.samples, |sample: &Sample| sample.score());
        let votes = Votes::count(asked.samples.iter().map(|sample| sample.score()));
        // A judge may name no criterion: all are met, or it gives no reason.
        let reason = chosen
            .map(|sample| sample.reason.as_str())
            .filter(|reason| !reason.is_empty());
        let reason = reason.unwrap_or("the judge names no criterion that is not met");
        TurnVerdict {
            score: chosen.and_then(|sample| sample.score()),
            why: format!("{}: {reason}", votes.describe()),
            rubrics: Vec::new(),
        }
    }
}

fn text(scenario: &Value, snake: &str, camel: &str) -> String {
    let value = scenario.get(camel).or_else(|| scenario.get(snake));
    value
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_string()
}

/// The persona as text: its id, or its definition as JSON.
pub(super) fn persona(scenario: &Value) -> String {
    let persona = scenario
        .get("user_persona")
        .or_else(|| scenario.get("userPersona"));
    match persona {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Object(_)) => super::evidence_text::pretty(persona.unwrap_or(&Value::Null)),
        _ => "none".into(),
    }
}

fn history(turns: &[Invocation]) -> String {
    let said = turns.iter().flat_map(|turn| {
        [
            format!("user: {}", turn.user.scored_text()),
            format!("model: {}", turn.response_text()),
        ]
    });
    said.collect::<Vec<_>>().join("\n\n")
}

/// ADK's reading: the first match, in any letter case.
fn adk(reply: &str) -> Option<bool> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?i)"is_valid":\s*\[*\s*"*([^"\]]*)"*\s*\]*\s*[,\n}]"#).ok()
    });
    let found = PATTERN.as_ref()?.captures(reply)?;
    let word = found[1]
        .trim()
        .trim_matches(|c: char| c == ',' || c == '}' || c.is_whitespace())
        .to_lowercase();
    match word.as_str() {
        "true" | "valid" => Some(true),
        "false" | "invalid" | "almost" | "partially valid" | "partially_valid" | "partially" => {
            Some(false)
        }
        _ => None,
    }
}

/// The careful reading. The error says why there is no verdict.
fn careful(reply: &str, codes: &VerdictCodes, code: &str) -> Result<bool, String> {
    static KEYS: LazyLock<VerdictKeys> = LazyLock::new(|| VerdictKeys::compile(&["is_valid"]));
    JsonVerdict {
        keys: &KEYS,
        read: &verdict_of,
    }
    .verdict(reply, codes, code)
}

fn verdict_of(_: &str, value: &Value) -> Option<bool> {
    match value {
        Value::Bool(valid) => Some(*valid),
        Value::String(word) => match word.trim().to_lowercase().trim_end_matches(['.', '!']) {
            "true" | "valid" | "yes" => Some(true),
            "false" | "invalid" | "no" | "not valid" | "almost" | "partially"
            | "partially valid" | "partially_valid" => Some(false),
            _ => None,
        },
        Value::Array(items) if items.len() == 1 => verdict_of("", &items[0]),
        _ => None,
    }
}

/// The criteria that are not met, with the judge's reasons.
fn reasons(reply: &str) -> String {
    let objects = objects(reply);
    let criteria = objects
        .iter()
        .rev()
        .find_map(|(_, _, object)| object.get("criteria")?.as_array().cloned());
    let failed = criteria.into_iter().flatten().filter(|one| {
        matches!(&one["passes"], Value::Bool(false))
            || one["passes"]
                .as_str()
                .is_some_and(|word| word.eq_ignore_ascii_case("false"))
    });
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().trim().to_string();
    let words = failed.filter_map(|one| match (text(&one, "name"), text(&one, "reasoning")) {
        (name, why) if name.is_empty() || why.is_empty() => {
            Some(name + &why).filter(|words| !words.is_empty())
        }
        (name, why) => Some(format!("{name}: {why}")),
    });
    words.collect::<Vec<_>>().join("; ")
}

impl Judge for UserQuality {
    fn questions(
        &self,
        evidence: &Evidence,
        answered: &[JudgedQuestion],
        codes: &VerdictCodes,
    ) -> Result<Vec<Question>, String> {
        let Some(scenario) = evidence.scenario else {
            return Err("the case is not a scenario and has no simulated user".into());
        };
        let turns = evidence.actual;
        // The last message is the stop signal, judged as if the user had sent it.
        let messages = turns
            .iter()
            .map(|turn| turn.user.scored_text())
            .chain([self.stop_signal.clone()]);
        let questions = messages
            .enumerate()
            .skip(1)
            .map(|(turn, message)| Question {
                id: QuestionId {
                    turn,
                    ..QuestionId::default()
                },
                about: "user",
                prompt: fill_with_code(
                    PROMPT,
                    &[
                        (
                            "conversation_plan",
                            &text(scenario, "conversation_plan", "conversationPlan"),
                        ),
                        ("conversation_history", &history(&turns[..turn])),
                        ("user_persona", &persona(scenario)),
                        ("stop_signal", &self.stop_signal),
                        ("user_message", &message),
                    ],
                    &codes.code(
                        QuestionId {
                            turn,
                            ..QuestionId::default()
                        },
                        "",
                    ),
                ),
                identity: None,
                samples: self.samples,
                shape: Some(AnswerShape::User),
            });
        Ok(questions
            .filter(|question| !is_answered(answered, question.id))
            .collect())
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
        let begins = evidence
            .scenario
            .map(|one| text(one, "starting_prompt", "startingPrompt"))
            .unwrap_or_default();
        let count = evidence.actual.len();
        let mut turns = vec![TurnVerdict::default(); count];
        if let (Some(turn), Some(first)) = (turns.first_mut(), evidence.actual.first()) {
            let same = first.user.scored_text().trim() == begins.trim();
            let why = if same {
                ""
            } else {
                "the first message is not the starting prompt"
            };
            *turn = TurnVerdict {
                score: Some(flag(same)),
                why: why.into(),
                rubrics: Vec::new(),
            };
        }
        for asked in answered {
            let judged = self.judged(asked);
            let threshold = self.threshold.unwrap_or(f64::MIN);
            match turns.get_mut(asked.id.turn) {
                Some(turn) => *turn = judged,
                // An early stop counts against the last turn.
                None if judged.score.is_some_and(|score| score < threshold) => {
                    if let Some(last) = turns.last_mut() {
                        *last = judged;
                    }
                }
                None => {}
            }
        }
        if !answered.iter().all(|asked| all_answered(&asked.samples)) {
            return Verdict {
                turns: vec![TurnVerdict::default(); count],
                ..Verdict::default()
            };
        }
        let gap = turns.iter().position(|turn| turn.score.is_none());
        let passed = turns
            .iter()
            .filter_map(|turn| turn.score)
            .filter(|score| self.threshold.is_none_or(|t| *score >= t));
        Verdict {
            score: (count > 0).then(|| passed.sum::<f64>() / count as f64),
            gap: gap.map(|at| format!("turn {} has no verdict", at + 1)),
            turns,
            rubrics: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Score;

    /// The replies were read by google-adk 2.13.
    #[test]
    fn adks_reading_is_adks() {
        for (reply, wanted) in [
            ("{\"is_valid\": True}", Some(true)),
            ("{\"is_valid\": true,}", Some(true)),
            ("{\"is_valid\": \"Valid\"}", Some(true)),
            ("{\"is_valid\":false}", Some(false)),
            ("{\"is_valid\": partially valid}", Some(false)),
            ("{\"is_valid\": True", None),
        ] {
            assert_eq!(adk(reply), wanted, "{reply}");
        }
        let both = "{\"is_valid\": true} {\"is_valid\": false}";
        let codes = VerdictCodes::without_codes(&Evidence::default());
        assert!(adk(both) == Some(true) && careful(both, &codes, "bcdfghjk").is_err());
    }

    /// A judge may say that a message is not valid and name no criterion, or one without a reason.
    #[test]
    fn the_reason_of_a_turn_is_never_empty() {
        let metric = UserQuality {
            samples: 1,
            stop_signal: "</finished>".into(),
            threshold: Some(1.0),
            reading: VerdictParsing::Adk,
        };
        let why = |reply: &str| {
            let codes = VerdictCodes::without_codes(&Evidence::default());
            let (score, reason) = metric.read_reply(reply, &codes, "");
            assert_eq!(score, Some(0.0), "{reply}");
            let sample = Sample {
                reason,
                score: score.and_then(Score::new),
                ..Sample::default()
            };
            metric
                .judged(&JudgedQuestion {
                    samples: vec![sample],
                    ..JudgedQuestion::default()
                })
                .why
        };
        let none = "the judge names no criterion that is not met";
        let of = |criteria: &str| {
            why(&format!(
                "{{\"criteria\": {criteria}, \"is_valid\": false}}"
            ))
        };
        assert!(why("{\"is_valid\": false}").ends_with(&format!(": {none}")));
        for empty in [
            "[]",
            "[{\"passes\": false}]",
            "[{\"passes\": true, \"name\": \"TONE\"}]",
        ] {
            assert!(
                of(empty).ends_with(&format!(": {none}")),
                "{empty}: {}",
                of(empty)
            );
        }
        assert!(
            of("[{\"passes\": false, \"name\": \"TONE\", \"reasoning\": \" \"}]")
                .ends_with(": TONE")
        );
        let named = of("[{\"passes\": false, \"name\": \"TONE\", \"reasoning\": \"rude\"}]");
        assert!(named.ends_with(": TONE: rude"), "{named}");
    }
}
