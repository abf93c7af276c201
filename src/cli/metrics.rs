//! `evaltrail metrics`: lists the metrics, or describes some of them.

use super::Exit;
use super::args::ColorWhen;
use super::output::{paint, print_json, print_line, print_note};
use super::subcommand::CliCommand;
use clap::Args;
use evaltrail_core::diff::{Span, wrap_line};
use evaltrail_core::domain::Criterion;
use evaltrail_core::metrics::{Direction, MetricInfo, catalog, unknown_metric};
use evaltrail_engine::report::Paint;
use serde_json::{Value, json};

/// List the metrics, or describe some of them
#[derive(Args, Debug)]
pub(super) struct MetricsArgs {
    /// Describe the metrics whose names begin with these prefixes
    pub(super) names: Vec<String>,
    /// Print the table as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl CliCommand for MetricsArgs {
    const NAME: &'static str = "metrics";

    fn run(self) -> anyhow::Result<Exit> {
        metrics(self)
    }
}

/// The width of the descriptions, in columns.
const WIDTH: usize = 86;

pub(super) fn metrics(args: MetricsArgs) -> anyhow::Result<Exit> {
    let asked = |metric: &&MetricInfo| {
        args.names.is_empty()
            || args
                .names
                .iter()
                .any(|name| metric.name.starts_with(name.as_str()))
    };
    let found: Vec<&MetricInfo> = catalog().filter(asked).collect();
    if found.is_empty() {
        let unknown = args
            .names
            .iter()
            .filter_map(|name| unknown_metric(&Criterion::new(name, None)));
        unknown.for_each(|why| print_note(&why.to_string()));
        print_note(&format!(
            "no metric's name begins with {}",
            args.names.join(" or ")
        ));
        return Ok(Exit::UsageError);
    }
    if args.json {
        let table: Vec<Value> = found.into_iter().map(as_json).collect();
        print_json(&serde_json::to_string_pretty(&table)?);
        return Ok(Exit::Success);
    }
    let paint = paint(ColorWhen::Auto);
    match args.names.is_empty() {
        true => list(&found, paint),
        false => found.iter().for_each(|metric| {
            print_line(&in_full(metric, paint));
        }),
    }
    Ok(Exit::Success)
}

fn list(found: &[&MetricInfo], paint: Paint) {
    let width = found
        .iter()
        .map(|metric| metric.name.len())
        .max()
        .unwrap_or(0);
    let mut family = None;
    for metric in found {
        if family.replace(metric.family) != Some(metric.family) {
            print_line(&paint.bold(metric.family.label()));
        }
        print_line(&format!(
            "  {:width$}  {}",
            metric.name,
            paint.faint(metric.summary)
        ));
    }
    print_line(&paint.faint("evaltrail metrics NAME describes a metric"));
}

fn in_full(metric: &MetricInfo, paint: Paint) -> String {
    let mut out = format!(
        "{}  {}\n  {}\n",
        paint.bold(metric.name),
        metric.family.label(),
        metric.summary
    );
    for (label, words) in metric.facts() {
        let span = Span {
            text: words,
            ..Span::default()
        };
        for (at, line) in wrap_line(&[span], WIDTH).into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let words: String = line.iter().map(|span| span.text.as_str()).collect();
            out.push_str(&format!(
                "  {}  {words}\n",
                paint.faint(&format!("{label:10}"))
            ));
        }
    }
    out
}

fn as_json(metric: &MetricInfo) -> Value {
    let options = metric.options.iter().map(|option| {
        json!({"name": option.name, "takes": option.takes, "default": option.default, "help": option.help})
    });
    json!({
        "name": metric.name,
        "family": metric.family.label(),
        "summary": metric.summary,
        "definition": metric.definition,
        "choices": metric.choices,
        "needs": metric.needs.iter().map(|need| need.label()).collect::<Vec<_>>(),
        "range": metric.range.map(|(low, high)| [low, high]),
        "direction": if metric.direction == Direction::Higher { "higher" } else { "lower" },
        "options": options.collect::<Vec<_>>(),
        "source": metric.source,
    })
}
