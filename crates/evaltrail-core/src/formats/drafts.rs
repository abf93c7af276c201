//! The file of drafts beside a set: cases that were derived or generated and are not yet accepted into the set, and those that
//! were dropped, so that they are not proposed again. One JSON object a line.

use super::adk::write_case;
use super::json;
use super::own::DRAFT_KEY;
use super::problem::FileProblem;
use super::set_file::SetFile;
use crate::domain::{DraftCheck, DraftVerdict, EvalCase};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_128;

/// A draft of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The kind of the change, such as `value`.
    pub kind: String,
    /// The id of the case that it is derived from; empty if it was written for what no case tests.
    pub source: String,
    /// What differs from that case, or what it was written for. A draft is identified by its kind, its source and this.
    pub change: String,
    /// A digest of the source, by which it is noticed that the source changed since; empty if it is not known.
    pub source_digest: String,
    /// Whether the expectation of the source is that of the draft as well. Otherwise a person decides what to expect.
    pub keeps_expectation: bool,
    /// What an agent did with it; `None` if none was run.
    pub check: Option<CheckedDraft>,
    /// The line as it was read; `None` for a new draft, and for one that was changed after it was read.
    pub text: Option<Box<str>>,
    /// The case, or why it was dropped.
    pub content: DraftContent,
}

/// What an agent did with a draft.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedDraft {
    /// How that compares with what the draft expects.
    pub check: DraftCheck,
    /// The case with the calls of the agent as the expected ones, if it always made the same other calls.
    pub agent_case: Option<Box<EvalCase>>,
}

/// What a draft contains.
#[derive(Clone, Debug, PartialEq)]
pub enum DraftContent {
    /// A case to accept or drop.
    Case(Box<EvalCase>),
    /// It was dropped.
    Dropped {
        /// Why; may be empty.
        reason: String,
    },
}

impl Draft {
    /// The case; `None` if it was dropped.
    pub fn case(&self) -> Option<&EvalCase> {
        match &self.content {
            DraftContent::Case(case) => Some(case),
            DraftContent::Dropped { .. } => None,
        }
    }

    /// What tells it apart for a reader: what it changes, or, where the id says what it was written for, what the user says.
    pub fn summary(&self) -> String {
        match self.case() {
            Some(case) if self.source.is_empty() => case.first_prompt(MAX_PROMPT),
            _ => self.change.clone(),
        }
    }

    /// What identifies it: kind, source and change.
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.kind, &self.source, &self.change)
    }

    /// Whether an agent made the expected calls each time.
    pub fn is_verified(&self) -> bool {
        let verdict = self.check.as_ref().map(|checked| checked.check.verdict);
        verdict == Some(DraftVerdict::Verified)
    }

    /// The draft with what an agent did with it. Members of its line that are not known stay.
    pub fn with_check(&self, checked: CheckedDraft) -> Draft {
        let mut draft = Draft {
            check: Some(checked),
            ..self.clone()
        };
        if let Some(text) = &self.text
            && let Ok(parsed) = json::parse(text)
            && let Value::Object(mut members) = parsed.value
        {
            draft.write_check(&mut members);
            draft.text = Some(Value::Object(members).to_string().into());
        }
        draft
    }

    /// Replaces what a line says about the check.
    fn write_check(&self, members: &mut Map<String, Value>) {
        members.shift_remove("agent_case");
        let (Some(CheckedDraft { check, agent_case }), Some(case)) = (&self.check, self.case())
        else {
            members.shift_remove("check");
            return;
        };
        let mut line = json!({
            "verdict": check.verdict.name(),
            "attempts": check.attempts,
            "agent": check.agent,
            "case": case_digest(case),
        });
        if let Some(error) = &check.error {
            line["error"] = error.clone().into();
        }
        members.insert("check".into(), line);
        if let Some(case) = agent_case {
            members.insert("agent_case".into(), write_case(case));
        }
    }

    /// The draft without its case, so that it is not proposed again.
    pub fn dropped(&self, reason: &str) -> Draft {
        Draft {
            content: DraftContent::Dropped {
                reason: reason.into(),
            },
            check: None,
            text: None,
            ..self.clone()
        }
    }

    fn line(&self) -> Value {
        let mut line = Map::new();
        line.insert(DRAFT_KEY.into(), self.kind.clone().into());
        line.insert("source".into(), self.source.clone().into());
        line.insert("change".into(), self.change.clone().into());
        let expectation = if self.keeps_expectation {
            KEPT
        } else {
            TO_DECIDE
        };
        line.insert("expectation".into(), expectation.into());
        line.insert("source_digest".into(), self.source_digest.clone().into());
        self.write_check(&mut line);
        match &self.content {
            DraftContent::Case(case) => line.insert("case".into(), write_case(case)),
            DraftContent::Dropped { reason } => {
                line.insert("dropped".into(), reason.clone().into())
            }
        };
        Value::Object(line)
    }
}

/// The characters of the first message that are in the summary of a draft.
const MAX_PROMPT: usize = 200;
/// The largest file of drafts that is read, in bytes.
const MAX_FILE: usize = 64 << 20;

const KEPT: &str = "kept";
const TO_DECIDE: &str = "to_decide";

/// The text of a file of drafts. Those that were read are written as they were.
pub fn write_drafts(drafts: &[Draft]) -> String {
    let line = |draft: &Draft| match &draft.text {
        Some(text) => format!("{text}\n"),
        None => format!("{}\n", draft.line()),
    };
    drafts.iter().map(line).collect()
}

/// Reads a file of drafts.
///
/// # Errors
///
/// The first line that is not a draft, with its position; or the file is larger than 64 MB.
pub fn read_drafts(text: &str) -> Result<Vec<Draft>, FileProblem> {
    if text.len() > MAX_FILE {
        let found = format!("{} MB", text.len().div_ceil(1 << 20));
        return Err(FileProblem::here("", "at most 64 MB of drafts", &found));
    }
    let mut drafts = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if !line.trim().is_empty() {
            let draft = read_draft(line).map_err(|problem| FileProblem {
                line: at + 1,
                ..problem
            })?;
            drafts.push(draft);
        }
    }
    Ok(drafts)
}

fn read_draft(line: &str) -> Result<Draft, FileProblem> {
    let parsed = json::parse(line).map_err(|error| FileProblem::syntax(line, error))?;
    let value = parsed.value;
    let text = |key: &str| {
        let found = value.get(key).and_then(Value::as_str);
        found.map(str::to_string).ok_or_else(|| {
            let problem = FileProblem::here(line, "a text", "none");
            FileProblem {
                path: key.into(),
                ..problem
            }
        })
    };
    let content = match (value.get("case"), value.get("dropped")) {
        (_, Some(_)) => DraftContent::Dropped {
            reason: text("dropped")?,
        },
        (Some(case), None) => DraftContent::Case(Box::new(read_case(case, "case", line)?)),
        (None, None) => return Err(FileProblem::here(line, "a case, or dropped", "neither")),
    };
    Ok(Draft {
        kind: text(DRAFT_KEY)?,
        source: text("source")?,
        change: text("change")?,
        source_digest: match value.get("source_digest") {
            Some(_) => text("source_digest")?,
            None => String::new(),
        },
        keeps_expectation: match text("expectation")?.as_str() {
            KEPT => true,
            TO_DECIDE => false,
            other => {
                let problem = FileProblem::here(line, "kept or to_decide", other);
                return Err(FileProblem {
                    path: "expectation".into(),
                    ..problem
                });
            }
        },
        check: match (value.get("check"), &content) {
            (Some(check), DraftContent::Case(case)) => read_check(check, case, &value, line)?,
            _ => None,
        },
        text: Some(line.into()),
        content,
    })
}

/// What an agent did with a draft; `None` if the case was changed since.
fn read_check(
    check: &Value,
    case: &EvalCase,
    members: &Value,
    line: &str,
) -> Result<Option<CheckedDraft>, FileProblem> {
    let text = |key: &str| check.get(key).and_then(Value::as_str);
    let verdict = text("verdict").and_then(DraftVerdict::from_name);
    let attempts = check.get("attempts").and_then(Value::as_u64);
    let (Some(verdict), Some(attempts)) = (verdict, attempts) else {
        return Err(FileProblem {
            path: "check".into(),
            ..FileProblem::here(line, "a verdict and a number of attempts", "something else")
        });
    };
    if text("case") != Some(&case_digest(case)) {
        return Ok(None);
    }
    let agent_case = members.get("agent_case");
    let agent_case = agent_case.map(|case| read_case(case, "agent_case", line));
    Ok(Some(CheckedDraft {
        check: DraftCheck {
            verdict,
            attempts: attempts as usize,
            agent: text("agent").unwrap_or_default().to_string(),
            error: text("error").map(str::to_string),
        },
        agent_case: agent_case.transpose()?.map(Box::new),
    }))
}

/// A digest of a case, by which a check is recognised as that of another version.
fn case_digest(case: &EvalCase) -> String {
    let text = write_case(case).to_string();
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

fn read_case(case: &Value, key: &str, line: &str) -> Result<EvalCase, FileProblem> {
    let set = json!({"eval_set_id": "drafts", "eval_cases": [case]});
    let read = SetFile::open(set.to_string().into(), "drafts").and_then(|file| file.case(0));
    // The problem names a position in the set that was made for reading, not in the line.
    read.map_err(|problem| FileProblem {
        path: key.into(),
        ..FileProblem::here(line, &problem.expected, &problem.found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Content, Conversation, Invocation};

    fn draft() -> Draft {
        let turn = Invocation {
            user: Content::text("user", "hello"),
            ..Invocation::default()
        };
        Draft {
            kind: "wording".into(),
            source: "a".into(),
            change: "in lower case".into(),
            source_digest: "d".into(),
            keeps_expectation: true,
            check: None,
            text: None,
            content: DraftContent::Case(Box::new(EvalCase {
                eval_id: "a_wording".into(),
                conversation: Conversation::Turns(vec![turn]),
                ..EvalCase::default()
            })),
        }
    }

    #[test]
    fn drafts_are_read_as_they_were_written() {
        let drafts = [draft(), draft().dropped("asks for nothing")];
        let text = write_drafts(&drafts);
        assert!(
            text.starts_with("{\"evaltrail_draft\":\"wording\",\"source\":\"a\""),
            "{text}"
        );
        let read = read_drafts(&format!("\n{text}")).unwrap();
        assert_eq!(write_drafts(&read), text);
        assert_eq!(read[0].key(), drafts[0].key());
        assert_eq!(
            read[0].case().map(|case| case.eval_id.as_str()),
            Some("a_wording")
        );
        assert_eq!(read[1].content, drafts[1].content);
        let spaced = text.replace("\"source\":\"a\"", "\"mine\": 1, \"source\": \"a\"");
        assert_eq!(write_drafts(&read_drafts(&spaced).unwrap()), spaced);
    }

    fn checked() -> CheckedDraft {
        CheckedDraft {
            check: DraftCheck {
                verdict: DraftVerdict::Disputed,
                attempts: 3,
                agent: "garden".into(),
                error: None,
            },
            agent_case: draft().case().cloned().map(Box::new),
        }
    }

    #[test]
    fn check_is_read_as_it_was_written() {
        let draft = draft().with_check(checked());
        let text = write_drafts(std::slice::from_ref(&draft));
        let read = read_drafts(&text).unwrap();
        let [found, wanted] = [&read[0], &draft].map(|one| one.check.as_ref().unwrap());
        assert_eq!(found.check, wanted.check);
        assert_eq!(
            found.agent_case.as_ref().unwrap().eval_id,
            wanted.agent_case.as_ref().unwrap().eval_id
        );
        assert!(!read[0].is_verified());
        assert_eq!(read[0].dropped("no").check, None);
    }

    #[test]
    fn check_of_an_edited_case_does_not_count() {
        let text = write_drafts(&[draft().with_check(checked())]);
        let edited = text.replace("hello", "hello there");
        let read = read_drafts(&edited).unwrap();
        assert_eq!(read[0].check, None);
        assert_eq!(write_drafts(&read), edited);
    }

    #[test]
    fn unknown_members_stay_beside_a_check() {
        let text = write_drafts(&[draft()]).replace("\"source\":", "\"mine\":1,\"source\":");
        let read = read_drafts(&text).unwrap();
        let twice = read[0].with_check(checked()).with_check(checked());
        let text = write_drafts(&[twice]);
        assert!(text.contains("\"mine\":1"), "{text}");
        assert_eq!(text.matches("\"agent_case\"").count(), 1);
        assert!(read_drafts(&text).unwrap()[0].check.is_some());
    }

    #[test]
    fn invalid_lines_have_a_position() {
        let valid = write_drafts(&[draft()]);
        for (line, problem) in [
            ("{", "line 2, column 2: expected"),
            (
                "{\"evaltrail_draft\":\"x\"}",
                "expected a case, or dropped, found neither",
            ),
            (
                "{\"evaltrail_draft\":\"x\",\"dropped\":\"\"}",
                "source: expected a text, found none",
            ),
            (
                "{\"evaltrail_draft\":\"x\",\"dropped\":\"\",\"source\":\"\",\"change\":\"\",\"expectation\":\"Kept\"}",
                "expectation: expected kept or to_decide, found Kept",
            ),
            (
                "{\"evaltrail_draft\":\"x\",\"dropped\":\"\",\"source\":\"\",\"change\":\"\",\"source_digest\":7}",
                "source_digest: expected a text, found none",
            ),
            (
                "{\"evaltrail_draft\":\"x\",\"case\":{\"eval_id\":\"a\",\"conversation\":[]},\"source\":\"\",\"change\":\"\",\"expectation\":\"kept\",\"check\":{\"verdict\":\"good\"}}",
                "check: expected a verdict and a number of attempts",
            ),
            (
                "{\"case\":{\"eval_id\":\"a\",\"conversation\":7}}",
                "line 2, column 1: case: expected",
            ),
        ] {
            let found = read_drafts(&format!("{valid}{line}"))
                .unwrap_err()
                .to_string();
            assert!(found.contains(problem), "{line}: {found}");
        }
    }
}
