//! The lines of the judges tab: each rubric with its votes, each sample with its reason, verdicts given by people,
//! and the raw responses.

use crate::explorer::shared::case_lines::BodyLine;
use evaltrail_core::diff::{Line, Span, Tone, wrap_line};
use evaltrail_core::domain::{
    Attempt, HumanVerdict, JudgedQuestion, Judgement, MetricResult, Rubric, RubricScore, Sample,
    Status, clean_line, compared_texts, score_text,
};
use evaltrail_core::metrics::criterion_of;
use serde_json::Value;
use std::borrow::Cow;

/// Maximum number of lines shown of a raw response.
const ANSWER_LINES: usize = 60;

/// Builds the lines of an attempt's judged metrics.
pub(crate) fn judged_lines(
    attempt: Option<&Attempt>,
    people: &[HumanVerdict],
    width: usize,
) -> Vec<BodyLine> {
    let mut lines = JudgedLines {
        lines: Vec::new(),
        width,
    };
    let judged = |metric: &&MetricResult| metric.judgement.is_some();
    let mut metrics: Vec<&MetricResult> = attempt
        .iter()
        .flat_map(|one| &one.metrics)
        .filter(judged)
        .collect();
    if metrics.is_empty() {
        lines.add_line(0, &[faint("no judge scored this case")]);
    }
    // Metrics that did not pass come first. The raw responses follow after all verdicts.
    metrics.sort_by_key(|metric| metric.status == Status::Passed);
    for metric in &metrics {
        if let (Some(attempt), Some(judgement)) = (attempt, &metric.judgement) {
            lines.metric(attempt, metric, judgement, people);
        }
    }
    for metric in metrics {
        for asked in metric
            .judgement
            .iter()
            .flat_map(|judgement| &judgement.questions)
        {
            lines.answers(metric, asked);
        }
    }
    lines.lines
}

struct JudgedLines {
    lines: Vec<BodyLine>,
    width: usize,
}

fn faint(text: &str) -> Span {
    Span::single_line(text, Tone::Faint)
}

fn plain(text: &str) -> Span {
    Span::single_line(text, Tone::Plain)
}

/// Symbol and style of a verdict.
fn sign(score: Option<f64>) -> Span {
    match score {
        Some(score) if score >= 1.0 => plain("✓ "),
        Some(score) if score > 0.0 => Span::single_line("◐ ", Tone::Note),
        Some(_) => Span::single_line("✗ ", Tone::Note),
        None => faint("? "),
    }
}

impl JudgedLines {
    /// Adds a wrapped line, indented by `indent` columns.
    fn add_line(&mut self, indent: usize, line: &[Span]) {
        let room = self.width.saturating_sub(2 + indent).max(10);
        for piece in wrap_line(line, room) {
            let mut whole: Line = vec![plain(&" ".repeat(indent))];
            whole.extend(piece);
            self.lines.push(BodyLine::Wide(whole));
        }
    }

    fn metric(
        &mut self,
        attempt: &Attempt,
        metric: &MetricResult,
        judgement: &Judgement,
        people: &[HumanVerdict],
    ) {
        let numbers = match (metric.score(), metric.threshold) {
            (Some(score), Some(threshold)) => {
                let (score, threshold) = compared_texts(score, threshold);
                format!("  {score} / {threshold}")
            }
            (Some(score), None) => format!("  {}", score_text(score)),
            _ => String::new(),
        };
        let unsteady = if metric.is_unsteady() {
            "  ≈ unsteady"
        } else {
            ""
        };
        let title = format!(
            "{} {}{numbers}{unsteady}",
            metric.status.glyph(),
            clean_line(&metric.metric)
        );
        self.lines.push(BodyLine::Rule(title));
        self.add_line(0, &[faint(&headline(metric, judgement))]);
        for warning in &judgement.warnings {
            self.add_line(0, &[Span::single_line(&format!("! {warning}"), Tone::Note)]);
        }
        for note in &judgement.notes {
            self.add_line(0, &[faint(note)]);
        }
        self.opinion(people, &metric.metric, None);
        let rubrics = rubrics_of(attempt, metric);
        let turns = judgement
            .questions
            .iter()
            .map(|asked| asked.id.turn)
            .max()
            .unwrap_or(0)
            + 1;
        for asked in &judgement.questions {
            if turns > 1 || asked.id.text > 0 {
                let position = match asked.id.text {
                    // The question whether a simulated user may end the conversation comes after the last turn.
                    _ if asked.id.turn >= attempt.actual.len() => "the end".to_string(),
                    0 => format!("turn {}", asked.id.turn + 1),
                    text => format!("turn {}, text {}", asked.id.turn + 1, text + 1),
                };
                self.add_line(
                    0,
                    &[Span::single_line(
                        &format!("{position}  {}", asked.about),
                        Tone::Key,
                    )],
                );
            }
            self.question(asked, metric, &rubrics, people);
        }
    }

    fn question(
        &mut self,
        asked: &JudgedQuestion,
        metric: &MetricResult,
        rubrics: &[Rubric],
        people: &[HumanVerdict],
    ) {
        match asked.about.as_str() {
            "rubrics" => {
                let of_turn = metric
                    .per_invocation
                    .get(asked.id.turn)
                    .map(|turn| &turn.rubrics[..]);
                for verdict in of_turn.unwrap_or_default() {
                    self.rubric(asked, metric, verdict, rubrics, people);
                }
            }
            "support" => {
                for verdict in asked.samples.iter().flat_map(|sample| &sample.verdicts) {
                    self.add_line(0, &[sign(verdict.score()), plain(&verdict.rubric_id)]);
                    self.add_line(
                        4,
                        &[faint(verdict.rationale.as_deref().unwrap_or_default())],
                    );
                }
            }
            "sentences" => {}
            _ => {
                let votes = asked
                    .votes()
                    .first()
                    .map(|votes| votes.describe())
                    .unwrap_or_default();
                self.add_line(
                    0,
                    &[
                        plain("votes  "),
                        plain(&ballot(&asked.samples, |one| one.score())),
                        faint(&format!("  {votes}")),
                    ],
                );
                for (at, sample) in asked.samples.iter().enumerate() {
                    self.sample(at, sample.score(), &sample.reason, sample);
                }
            }
        }
    }

    fn rubric(
        &mut self,
        asked: &JudgedQuestion,
        metric: &MetricResult,
        verdict: &RubricScore,
        rubrics: &[Rubric],
        people: &[HumanVerdict],
    ) {
        let id = &verdict.rubric_id;
        let text = rubrics
            .iter()
            .find(|rubric| rubric.id == *id)
            .and_then(|rubric| rubric.text.as_deref());
        let votes = verdict.votes.unwrap_or_else(|| asked.votes_on(id));
        let of = |sample: &Sample| {
            sample
                .verdicts
                .iter()
                .find(|one| one.rubric_id == *id)
                .and_then(|one| one.score())
        };
        let spans = [
            sign(verdict.score()),
            Span::single_line(id, Tone::Key),
            plain("  "),
            plain(&ballot(&asked.samples, of)),
            faint(&format!("  {}", votes.describe())),
        ];
        self.add_line(0, &spans);
        if let Some(text) = text {
            self.add_line(2, &[plain(text)]);
        }
        self.opinion(people, &metric.metric, Some(id));
        for (at, sample) in asked.samples.iter().enumerate() {
            let said = sample.verdicts.iter().find(|one| one.rubric_id == *id);
            let why = said
                .and_then(|said| said.rationale.as_deref())
                .unwrap_or("no verdict");
            self.sample(at, said.and_then(|said| said.score()), why, sample);
        }
    }

    fn sample(&mut self, at: usize, score: Option<f64>, why: &str, sample: &Sample) {
        let why = sample.error.as_deref().unwrap_or(why);
        self.add_line(
            4,
            &[faint(&format!("{} ", at + 1)), sign(score), faint(why)],
        );
    }

    /// Adds verdicts given by people.
    fn opinion(&mut self, people: &[HumanVerdict], metric: &str, rubric: Option<&str>) {
        let mine = |one: &&HumanVerdict| one.metric == metric && one.rubric_id.as_deref() == rubric;
        for one in people.iter().filter(mine) {
            let word = if one.verdict == Some(true) {
                "yes"
            } else {
                "no"
            };
            let note = if one.note.is_empty() {
                String::new()
            } else {
                format!("  {}", one.note)
            };
            let differs = if one.computed != one.verdict {
                "  (differs from the judge)"
            } else {
                ""
            };
            self.add_line(
                2,
                &[Span::single_line(
                    &format!("human verdict: {word}{note}{differs}"),
                    Tone::Tool,
                )],
            );
        }
    }

    /// Adds the raw responses.
    fn answers(&mut self, metric: &MetricResult, asked: &JudgedQuestion) {
        for (at, sample) in asked.samples.iter().enumerate() {
            let kept = if sample.cached { ", cached" } else { "" };
            let name = clean_line(&metric.metric);
            let title = format!(
                "{name}, turn {}, {} {}{kept}",
                asked.id.turn + 1,
                asked.about,
                at + 1
            );
            self.lines.push(BodyLine::Rule(title));
            let text = laid_out(
                sample
                    .reply
                    .as_deref()
                    .or(sample.error.as_deref())
                    .unwrap_or_default(),
            );
            let count = text.lines().count();
            for line in text.lines().take(ANSWER_LINES) {
                self.add_line(2, &[faint(line)]);
            }
            if count > ANSWER_LINES {
                self.add_line(
                    2,
                    &[faint(&format!("… and {} more lines", count - ANSWER_LINES))],
                );
            }
        }
    }
}

/// Pretty-prints a JSON object that is on one line. Other texts are returned unchanged.
fn laid_out(text: &str) -> Cow<'_, str> {
    let is_line = text.starts_with('{') && !text.trim_end().contains('\n');
    let object: Option<Value> = is_line.then(|| serde_json::from_str(text).ok()).flatten();
    let pretty = object.and_then(|object| serde_json::to_string_pretty(&object).ok());
    pretty.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// One symbol for each sample, for example `✓✓✗?`.
fn ballot(samples: &[Sample], score: impl Fn(&Sample) -> Option<f64>) -> String {
    let sign = |sample: &Sample| match (score(sample), &sample.error) {
        (_, Some(_)) => '!',
        (Some(score), _) if score > 0.0 => '✓',
        (Some(_), _) => '✗',
        (None, _) => '?',
    };
    samples.iter().map(sign).collect()
}

/// The judge model, what was spent, the distance to the threshold, and how far the samples differ.
fn headline(metric: &MetricResult, judgement: &Judgement) -> String {
    let mut words = vec![judgement.model.clone(), judgement.spent.describe()];
    if let (Some(score), Some(threshold)) = (metric.score(), metric.threshold) {
        let side = if score >= threshold { "above" } else { "below" };
        let (distance, _) = compared_texts((score - threshold).abs(), 0.0);
        words.push(format!("{distance} {side} the threshold"));
    }
    if let Some((low, high)) = judgement.spread() {
        let text = |score: f64| {
            metric
                .threshold
                .map_or(score_text(score), |of| compared_texts(score, of).0)
        };
        words.push(format!(
            "scores of single samples: {} to {}",
            text(low),
            text(high)
        ));
    }
    if let Some(bias) = judgement.position_bias {
        words.push(format!("position bias {bias:+.2}"));
    }
    if judgement.disagreement() > 0.0 {
        words.push(format!(
            "{:.0} % of votes were against the majority",
            judgement.disagreement() * 100.0
        ));
    }
    words.join(" · ")
}

/// The rubrics that a metric may use: those of the criterion, the case and its turns.
fn rubrics_of(attempt: &Attempt, metric: &MetricResult) -> Vec<Rubric> {
    let criterion = criterion_of(metric);
    let text = |value: &Value, snake: &str, camel: &str| {
        value
            .get(camel)
            .or_else(|| value.get(snake))
            .and_then(Value::as_str)
            .map(str::to_string)
    };
    let own = criterion
        .options
        .get("rubrics")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|one| {
            let content = one
                .get("rubricContent")
                .or_else(|| one.get("rubric_content"));
            Rubric {
                id: text(one, "rubric_id", "rubricId").unwrap_or_default(),
                text: content.and_then(|content| text(content, "text_property", "textProperty")),
                ..Rubric::default()
            }
        });
    let of_turns = attempt.expected.iter().flat_map(|turn| &turn.rubrics);
    own.chain(attempt.rubrics.iter().chain(of_turns).cloned())
        .collect()
}
