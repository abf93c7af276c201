//! The filter language of the explorer and the command line:
//! `status:failed metric:response_match_score<0.8 tool:set_light agent:home "free text" -tag:slow`.
//!
//! All words must match; `-` before a word negates it; text is searched without regard to case and accents.

use super::search_text::{contains, search_text};
use super::{Cause, MetricSummary, Status};
use std::borrow::Cow;

/// A parsed filter. The empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
struct Term {
    negated: bool,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Status(Option<Status>),
    Unsteady,
    Flaky,
    Quarantined,
    Metric {
        name: String,
        compare: Option<(NumberComparison, f64)>,
    },
    Turns(NumberComparison, f64),
    Cause(String),
    Field(QueryField, String),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum QueryField {
    Tool,
    Agent,
    Set,
    Id,
    Tag,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum NumberComparison {
    Less,
    AtMost,
    Equal,
    AtLeast,
    More,
}

/// Why a filter could not be parsed, with a hint about what to type instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct QueryError(String);

/// What a filter is applied to: one case with its latest outcome. Only what the words of the filter need is computed.
pub trait Filterable {
    /// The case's id.
    fn eval_id(&self) -> Cow<'_, str>;
    /// The set's name.
    fn set(&self) -> &str;
    /// The agent's name.
    fn agent(&self) -> &str;
    /// The number of turns.
    fn turns(&self) -> usize;
    /// The text that free words are searched in, as a [`search_text`].
    fn text(&self) -> &str;
    /// The tools that are expected or were called.
    fn tools(&self) -> &[String];
    /// The tags of the case.
    fn tags(&self) -> &[String];
    /// The outcome; `None` if the case has not been run.
    fn status(&self) -> Option<Status>;
    /// Whether the judge's samples disagree so much that the case could pass or fail.
    fn is_unsteady(&self) -> bool;
    /// Whether some attempts passed and others did not.
    fn is_flaky(&self) -> bool;
    /// Whether the case is quarantined today.
    fn is_quarantined(&self) -> bool;
    /// The scores.
    fn metrics(&self) -> &[MetricSummary];
    /// The causes of the attempt that represents the case, if it did not pass.
    fn causes(&self) -> &[Cause];
}

/// A [`Filterable`] of which everything is known already.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject<'a> {
    /// The case's id.
    pub eval_id: &'a str,
    /// The set's name.
    pub set: &'a str,
    /// The agent's name.
    pub agent: &'a str,
    /// The number of turns.
    pub turns: usize,
    /// The text that free words are searched in, as a [`search_text`].
    pub text: &'a str,
    /// The tools that are expected or were called.
    pub tools: &'a [String],
    /// The tags of the case.
    pub tags: &'a [String],
    /// The outcome; `None` if the case has not been run.
    pub status: Option<Status>,
    /// Whether the judge's samples disagree so much that the case could pass or fail.
    pub unsteady: bool,
    /// Whether some attempts passed and others did not.
    pub flaky: bool,
    /// Whether the case is quarantined today.
    pub quarantined: bool,
    /// The scores.
    pub metrics: &'a [MetricSummary],
    /// [`Filterable::causes`].
    pub causes: &'a [Cause],
}

impl Filterable for Subject<'_> {
    fn eval_id(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.eval_id)
    }
    fn set(&self) -> &str {
        self.set
    }
    fn agent(&self) -> &str {
        self.agent
    }
    fn turns(&self) -> usize {
        self.turns
    }
    fn text(&self) -> &str {
        self.text
    }
    fn tools(&self) -> &[String] {
        self.tools
    }
    fn tags(&self) -> &[String] {
        self.tags
    }
    fn status(&self) -> Option<Status> {
        self.status
    }
    fn is_unsteady(&self) -> bool {
        self.unsteady
    }
    fn is_flaky(&self) -> bool {
        self.flaky
    }
    fn is_quarantined(&self) -> bool {
        self.quarantined
    }
    fn metrics(&self) -> &[MetricSummary] {
        self.metrics
    }
    fn causes(&self) -> &[Cause] {
        self.causes
    }
}

impl Query {
    /// The names of the words that have a value, as in `tool:NAME`.
    pub const FIELDS: [&str; 9] = [
        "status", "cause", "metric", "tool", "agent", "set", "id", "tag", "turns",
    ];
    /// The values of `status:`.
    pub const STATUSES: [&str; 8] = [
        "passed",
        "failed",
        "errored",
        "not_evaluated",
        "unsteady",
        "flaky",
        "quarantined",
        "not_run",
    ];

    /// Parses a filter.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        let terms = split_into_words(text)
            .into_iter()
            .map(term)
            .collect::<Result<_, _>>()?;
        Ok(Query { terms })
    }

    /// Whether the filter needs results of runs.
    pub fn needs_results(&self) -> bool {
        let asks = |term: &Term| {
            matches!(
                term.test,
                Test::Status(_)
                    | Test::Unsteady
                    | Test::Flaky
                    | Test::Metric { .. }
                    | Test::Cause(_)
            )
        };
        self.terms.iter().any(asks)
    }

    /// Whether the filter is empty, so that it matches everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether the subject matches.
    pub fn matches(&self, subject: &impl Filterable) -> bool {
        self.terms
            .iter()
            .all(|term| term.test.holds(subject) != term.negated)
    }

    /// Whether the words show that a case that this filter matches is matched by the other one, too: each word of the other
    /// one is in this one, or extended in it.
    pub fn narrows(&self, other: &Query) -> bool {
        other
            .terms
            .iter()
            .all(|wider| self.terms.iter().any(|term| term.implies(wider)))
    }

    /// Whether the filter is about the contents of files alone, and not about results, agents or notes.
    pub fn is_about_files(&self) -> bool {
        let is_about_files = |term: &Term| match &term.test {
            Test::Turns(..) | Test::Text(_) => true,
            Test::Field(field, _) => {
                matches!(field, QueryField::Tool | QueryField::Set | QueryField::Id)
            }
            _ => false,
        };
        self.terms.iter().all(is_about_files)
    }
}

impl Term {
    /// Whether everything that has this property has the other one.
    fn implies(&self, other: &Term) -> bool {
        let extends = match (&self.test, &other.test) {
            (Test::Text(long), Test::Text(short)) | (Test::Cause(long), Test::Cause(short)) => {
                long.contains(short.as_str())
            }
            (Test::Field(one, long), Test::Field(field, short)) => {
                one == field && long.contains(short.as_str())
            }
            _ => false,
        };
        self == other || (extends && !self.negated && !other.negated)
    }
}

/// A word of the filter: whether it is negated, and whether it starts with a quotation mark.
struct Word {
    text: String,
    negated: bool,
    quoted: bool,
}

fn split_into_words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        if c.is_whitespace() {
            chars.next();
            continue;
        }
        let negated = c == '-';
        if negated {
            chars.next();
        }
        let quoted = chars.peek() == Some(&'"');
        let mut inside = false;
        let mut word = String::new();
        while let Some(&c) = chars.peek() {
            if c.is_whitespace() && !inside {
                break;
            }
            chars.next();
            if c == '"' {
                inside = !inside;
            } else {
                word.push(c);
            }
        }
        if !word.is_empty() {
            words.push(Word {
                text: word,
                negated,
                quoted,
            });
        }
    }
    words
}

fn term(word: Word) -> Result<Term, QueryError> {
    let negated = word.negated;
    let free = || Test::Text(search_text(&word.text));
    let test = match word.text.split_once(':') {
        _ if word.quoted => free(),
        Some(("status", "unsteady")) => Test::Unsteady,
        Some(("status", "flaky")) => Test::Flaky,
        Some(("status", "quarantined")) => Test::Quarantined,
        Some(("status", value)) => Test::Status(status(value)?),
        Some(("metric", value)) => metric(value)?,
        Some(("turns", value)) => turns(value)?,
        Some(("cause", value)) => Test::Cause(search_text(value)),
        Some((key, value)) => match field(key) {
            Some(field) => Test::Field(field, search_text(value)),
            None => {
                let known = Query::FIELDS.map(|field| format!("{field}:")).join(" ");
                return Err(QueryError(format!(
                    "unknown filter {key:?}; try {known}, or quote the text"
                )));
            }
        },
        None => free(),
    };
    Ok(Term { negated, test })
}

fn field(key: &str) -> Option<QueryField> {
    Some(match key {
        "tool" => QueryField::Tool,
        "agent" | "app" => QueryField::Agent,
        "set" | "file" => QueryField::Set,
        "id" | "case" => QueryField::Id,
        "tag" => QueryField::Tag,
        _ => return None,
    })
}

fn status(value: &str) -> Result<Option<Status>, QueryError> {
    Ok(match value.to_lowercase().as_str() {
        "passed" | "pass" | "ok" => Some(Status::Passed),
        "failed" | "fail" => Some(Status::Failed),
        "errored" | "error" => Some(Status::Errored),
        "not_evaluated" | "not-evaluated" | "unjudged" => Some(Status::NotEvaluated),
        "not_run" | "not-run" | "none" => None,
        other => {
            let known = Query::STATUSES.join(", ");
            return Err(QueryError(format!(
                "{other:?} is not a status; use one of {known}"
            )));
        }
    })
}

fn metric(value: &str) -> Result<Test, QueryError> {
    let Some(at) = value.find(['<', '>', '=']) else {
        return Ok(Test::Metric {
            name: value.to_lowercase(),
            compare: None,
        });
    };
    let compare = comparison(&value[at..])?;
    Ok(Test::Metric {
        name: value[..at].to_lowercase(),
        compare: Some(compare),
    })
}

fn turns(value: &str) -> Result<Test, QueryError> {
    let (comparison, number) = match value.parse() {
        Ok(number) => (NumberComparison::Equal, number),
        Err(_) => comparison(value)?,
    };
    Ok(Test::Turns(comparison, number))
}

fn comparison(text: &str) -> Result<(NumberComparison, f64), QueryError> {
    let signs = [
        ("<=", NumberComparison::AtMost),
        (">=", NumberComparison::AtLeast),
        ("==", NumberComparison::Equal),
        ("<", NumberComparison::Less),
        (">", NumberComparison::More),
        ("=", NumberComparison::Equal),
    ];
    for (sign, comparison) in signs {
        if let Some(number) = text.strip_prefix(sign) {
            return match number.parse() {
                Ok(number) => Ok((comparison, number)),
                Err(_) => Err(QueryError(format!(
                    "{number:?} after {sign} is not a number"
                ))),
            };
        }
    }
    Err(QueryError(format!(
        "{text:?} should be a comparison such as <0.8"
    )))
}

impl NumberComparison {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            NumberComparison::Less => left < right,
            NumberComparison::AtMost => left <= right,
            NumberComparison::Equal => left == right,
            NumberComparison::AtLeast => left >= right,
            NumberComparison::More => left > right,
        }
    }
}

impl Test {
    fn holds(&self, subject: &impl Filterable) -> bool {
        match self {
            Test::Status(status) => subject.status() == *status,
            Test::Unsteady => subject.is_unsteady(),
            Test::Flaky => subject.is_flaky(),
            Test::Quarantined => subject.is_quarantined(),
            Test::Metric { name, compare } => subject
                .metrics()
                .iter()
                .filter(|metric| metric.metric.to_lowercase().contains(name))
                .any(|metric| match (compare, metric.score()) {
                    (None, _) => true,
                    (Some((comparison, limit)), Some(score)) => comparison.holds(score, *limit),
                    (Some(_), None) => false,
                }),
            Test::Turns(comparison, number) => comparison.holds(subject.turns() as f64, *number),
            Test::Cause(words) => subject
                .causes()
                .iter()
                .any(|cause| contains(&cause.describe(), words)),
            Test::Field(field, value) => field.has(subject, value),
            Test::Text(text) => subject.text().contains(text) || contains(&subject.eval_id(), text),
        }
    }
}

impl QueryField {
    fn has(self, subject: &impl Filterable, value: &str) -> bool {
        match self {
            QueryField::Tool => subject.tools().iter().any(|tool| contains(tool, value)),
            QueryField::Tag => subject.tags().iter().any(|tag| contains(tag, value)),
            QueryField::Agent => contains(subject.agent(), value),
            QueryField::Set => contains(subject.set(), value),
            QueryField::Id => contains(&subject.eval_id(), value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Score;

    fn matches(query: &str, subject: &Subject) -> bool {
        Query::parse(query).expect(query).matches(subject)
    }

    #[test]
    fn every_word_must_hold() {
        let tools = ["set_light".to_string()];
        let subject = Subject {
            eval_id: "Lights_off",
            set: "lights",
            agent: "home",
            turns: 2,
            text: "turn off the lamp",
            tools: &tools,
            status: Some(Status::Failed),
            ..Subject::default()
        };
        assert!(matches("", &subject));
        assert!(matches(
            "status:failed tool:set agent:HOME lights",
            &subject
        ));
        assert!(matches(
            "\"off the lamp\" turns:>1 -status:passed",
            &subject
        ));
        assert!(!matches("-tool:set_light", &subject));
        assert!(!matches("status:not_run", &subject));
        assert!(matches("-status:passed -tag:slow turns:2", &subject));
    }

    #[test]
    fn metrics_are_compared_by_number() {
        let metrics = [MetricSummary {
            metric: "response_match_score".into(),
            score: Score::new(0.5),
            threshold: Some(0.8),
            status: Status::Failed,
            explanation: String::new(),
            variant: None,
            rubrics: vec![],
            judged: false,
            unsteady: false,
        }];
        let subject = Subject {
            metrics: &metrics,
            ..Subject::default()
        };
        assert!(matches("metric:response_match_score<0.8", &subject));
        assert!(matches("metric:response>=0.5", &subject));
        assert!(!matches("metric:response>0.5", &subject));
        assert!(!matches("metric:trajectory<1", &subject));
    }

    #[test]
    fn cause_is_found_by_its_text() {
        let causes = [
            Cause::Error("no session #".into()),
            Cause::Error("time-out".into()),
        ];
        let subject = Subject {
            causes: &causes,
            ..Subject::default()
        };
        assert!(matches("cause:\"No Session\" cause:time-out", &subject));
        assert!(!matches("cause:quota", &subject) && matches("-cause:quota", &subject));
        assert!(
            !matches("cause:", &Subject::default()),
            "a case that passed has no cause"
        );
        assert!(Query::parse("cause:x").unwrap().needs_results());
    }

    #[test]
    fn a_filter_with_longer_or_more_words_narrows() {
        let narrows = |longer: &str, shorter: &str| {
            Query::parse(longer)
                .unwrap()
                .narrows(&Query::parse(shorter).unwrap())
        };
        for (longer, shorter) in [
            ("", ""),
            ("lamp", ""),
            ("lamps", "lamp"),
            ("the lamp", "lamp"),
            ("tool:set_light", "tool:set"),
            ("x status:failed", "status:failed"),
            ("-tag:slow x", "-tag:slow"),
        ] {
            assert!(narrows(longer, shorter), "{longer:?} of {shorter:?}");
        }
        for (other, shorter) in [
            ("", "lamp"),
            ("lam", "lamp"),
            ("-lamps", "-lamp"),
            ("-lamps", "lamp"),
            ("id:lamp", "lamp"),
            ("id:lamps", "set:lamp"),
            ("turns:22", "turns:2"),
            ("metric:m<0.55", "metric:m<0.5"),
            ("status:not_run", "status:failed"),
        ] {
            assert!(!narrows(other, shorter), "{other:?} of {shorter:?}");
        }
        let is_about_files = |text| Query::parse(text).unwrap().is_about_files();
        assert!(is_about_files("lamp -tool:set turns:>1 id:a set:b"));
        for text in [
            "status:failed",
            "tag:slow",
            "agent:home",
            "cause:x",
            "metric:m",
            "status:quarantined",
        ] {
            assert!(!is_about_files(text), "{text}");
        }
    }

    #[test]
    fn errors_suggest_valid_input() {
        let said = |text| Query::parse(text).unwrap_err().to_string();
        assert!(said("colour:red").contains("unknown filter \"colour\""));
        assert!(said("status:green").contains("passed, failed, errored"));
        assert!(said("metric:x<lots").contains("not a number"));
    }
}
