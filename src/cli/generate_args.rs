//! The arguments of `evaltrail generate`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use evaltrail_core::analysis::{MutationKind, PlanFocus};
use std::path::PathBuf;

/// Make drafts of new cases, for a person to accept
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  evaltrail generate lights.evalset.json                    20 drafts from all cases
  evaltrail generate lights.evalset.json:dim --kind value   other values in one case
  evaltrail generate lights.evalset.json --declarations tools.json --dry-run
  evaltrail generate lights.evalset.json --model gemini-2.5-flash --agent home --dry-run    only the plan
  evaltrail generate lights.evalset.json --model gemini-2.5-flash --agent home --for tool:dim

Without --model no model is asked, and drafts are derived from the cases. The kinds are: value (a value that the user states and a call has as an argument is another one: of a class that no case expects yet, such as a limit, or one of another case), order (two turns that do not depend on each other change places), wording (an irrelevant sentence, lower case) and state (an entry of the initial state is missing or empty). Order and wording keep the expectation of the case; the others have its calls with the new value and no response, for a person to decide.

With --model, drafts are planned for what no case tests (tools, values of arguments, pairs of tools, transfers, a missing argument, a change of mind, what the agent cannot do), without a model; the model then writes the expected calls and what the user says. What contradicts the declarations of the tools, does not test what was planned, or is like another case, is left out with the reason. The model is called as judges are: its provider, address, prices and spending limit are those of [judge].

Drafts are in SET.drafts.jsonl and not in the set: `evaltrail drafts` shows, verifies, accepts and drops them.")]
pub(super) struct GenerateArgs {
    /// The set; FILE:id,id takes only these cases
    #[arg(value_name = "FILE[:ID,ID]")]
    pub(super) target: String,
    /// Only these kinds of drafts
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = kind_parser(), conflicts_with = "model")]
    pub(super) kind: Vec<MutationKind>,
    /// The maximum number of new drafts
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) count: u32,
    /// Read the tools that the agent declares from this JSON file, to know the values that their arguments can have
    /// (repeatable; see `evaltrail help coverage`)
    #[arg(long, value_name = "FILE")]
    pub(super) declarations: Vec<PathBuf>,
    /// Chooses among what is equally good; the same number makes the same plan
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
    /// Print the drafts, or with --model what is planned, without writing anything
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Have this model write drafts for what no case tests
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub(super) model: Option<String>,
    /// Ask this agent for its tools (by name or address)
    #[arg(long, value_name = "AGENT", requires = "model", help_heading = MODEL)]
    pub(super) agent: Option<String>,
    /// What drafts are written for: gaps (all that no case tests), or tool:NAME
    #[arg(long = "for", value_name = "WHAT", requires = "model", default_value = "gaps", value_parser = parse_focus, help_heading = MODEL)]
    pub(super) focus: PlanFocus,
    /// The language of the users
    #[arg(long, value_name = "LANGUAGE", requires = "model", default_value = "English", help_heading = MODEL)]
    pub(super) language: String,
    /// Allow what the files of the folder name, such as the agent's program and the model's address, without asking
    #[arg(long, requires = "model", help_heading = MODEL)]
    pub(super) trust: bool,
}

const MODEL: &str = "With a model";

/// What drafts are written for.
fn parse_focus(text: &str) -> Result<PlanFocus, String> {
    match (text, text.split_once(':')) {
        ("gaps", _) => Ok(PlanFocus::Gaps),
        (_, Some(("tool", name))) if !name.is_empty() => Ok(PlanFocus::Tool(name.to_string())),
        _ => Err("expected gaps, or tool:NAME".into()),
    }
}

fn kind_parser() -> impl TypedValueParser<Value = MutationKind> {
    PossibleValuesParser::new(MutationKind::ALL.map(MutationKind::name)).map(|name| {
        let kind = MutationKind::from_name(&name);
        kind.unwrap_or(MutationKind::Value)
    })
}
