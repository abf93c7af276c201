//! `evaltrail coverage`: what the cases of a folder cover, and whether that is as much as demanded.

use super::Exit;
use super::addresses::{copy_at, copy_target};
use super::arg_values::{parse_min, parse_waived};
use super::args::ColorWhen;
use super::output::{paint, print_json, print_line, print_note};
use super::paths::parse_target;
use super::subcommand::CliCommand;
use anyhow::{Context, bail};
use clap::Args;
use evaltrail_core::analysis::CoverageShare;
use evaltrail_core::analysis::{Coverage, CoverageGates, Declarations, GateFailure, WaivedTools};
use evaltrail_core::domain::clean_line;
use evaltrail_core::formats::ColumnMap;
use evaltrail_engine::report::{
    AgentReport, coverage_html, coverage_json, coverage_markdown, coverage_text, markdown_cell,
};
use evaltrail_engine::runner::{
    CoverageRequest, ToolSource, coverage_of_workspace, tools_of_running_agents,
};
use evaltrail_engine::store::{AppFolders, Trust};
use evaltrail_engine::workspace::{Workspace, read_text};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Show which tools the cases exercise, with which arguments, and what nothing tests
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  evaltrail coverage                                    all agents of this folder
  evaltrail coverage . --min tools=0.9 --require 'pay_*'    for CI: exit code 1 if it is less
  evaltrail coverage . --waive 'debug_*=only for developers'
  evaltrail coverage . --declarations tools.json        tools of an agent whose results do not name them

A number is a number of cases. Expected: the expected side of a case asks for the tool. Called: an attempt of the latest results called it. Passed: an attempt that passed did. The tools that an agent declares are read from --declarations and --ask-agents, else from its results, if they contain them; without declarations nothing is a share of all tools. [coverage] in evaltrail.toml has what is demanded always.")]
pub(super) struct CoverageArgs {
    /// Folder or file; PATH:id,id takes only these cases
    #[arg(default_value = ".", value_name = "PATH[:ID,ID]")]
    pub(super) path: String,
    /// Only the cases of this agent
    #[arg(long, value_name = "NAME")]
    pub(super) agent: Option<String>,
    /// Read the tools that the agent declares from this JSON file: ADK's app-info, the tools of an OpenAI request, or MCP's
    /// tools/list (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(super) declarations: Vec<PathBuf>,
    /// Ask agents which tools they declare: servers that run already, and that may be contacted
    #[arg(long)]
    pub(super) ask_agents: bool,
    /// Demand a share, e.g. tools=0.9; the shares are tools, called, passed, arguments and pairs (repeatable)
    #[arg(long, value_name = "SHARE=NUMBER", value_parser = parse_min)]
    pub(super) min: Vec<(CoverageShare, f64)>,
    /// Demand that a case expects each tool whose name matches, with * and ? (repeatable)
    #[arg(long, value_name = "TOOLS")]
    pub(super) require: Vec<String>,
    /// Leave tools out of every share, with the reason (repeatable)
    #[arg(long, value_name = "TOOLS=REASON", value_parser = parse_waived)]
    pub(super) waive: Vec<(String, String)>,
    /// Read these columns of data sets as those that evaltrail knows, e.g. prompt=question,reference=answer
    #[arg(long, value_name = "KNOWN=NAME,...", value_parser = ColumnMap::parse, default_value = "", hide_default_value = true)]
    pub(super) columns: ColumnMap,
    /// Print the coverage as JSON, with the cases behind each number
    #[arg(long)]
    pub(super) json: bool,
    /// Print the coverage as Markdown
    #[arg(long, conflicts_with_all = ["json", "html"])]
    pub(super) markdown: bool,
    /// Print the coverage as one HTML page
    #[arg(long, conflicts_with = "json")]
    pub(super) html: bool,
}

impl CliCommand for CoverageArgs {
    const NAME: &'static str = "coverage";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_target(&mut self.path)?;
        self.declarations.iter_mut().try_for_each(copy_at)
    }

    fn run(self) -> anyhow::Result<Exit> {
        coverage(self)
    }
}

pub(super) fn coverage(args: CoverageArgs) -> anyhow::Result<Exit> {
    let target = parse_target(&args.path);
    let workspace = Workspace::open_with(&target.path, &args.columns)?;
    let is_whole = args.agent.is_none()
        && target.ids.is_empty()
        && dunce::canonicalize(&target.path).is_ok_and(|path| path == workspace.root);
    let gates = gates_for(&args, &workspace.config.coverage, is_whole);
    let mut declared = read_declarations(&args.declarations)?;
    if args.ask_agents {
        declared.extend(ask_agents(&workspace)?);
    }
    let covered = coverage_of_workspace(
        &workspace,
        &CoverageRequest {
            ids: &target.ids,
            agent: args.agent.as_deref(),
            files: None,
            declared: &declared,
        },
    );
    for note in &covered.notes {
        print_note(&clean_line(note));
    }
    if let Some(id) = covered.unknown_ids.first() {
        bail!("there is no case {id:?} in {}", target.path.display());
    }
    if !args.declarations.is_empty() && covered.agents.len() > 1 {
        let names = covered.agents.iter().filter_map(|agent| agent.name.clone());
        bail!(
            "--declarations is about one agent; name it with --agent: {}",
            names.collect::<Vec<_>>().join(", ")
        );
    }
    if covered.agents.is_empty() && !covered.is_unreadable {
        match &args.agent {
            Some(agent) => bail!("no eval set here is of the agent {agent}"),
            None => bail!("there are no eval sets in {}", target.path.display()),
        }
    }
    let reports: Vec<AgentReport> = covered
        .agents
        .into_iter()
        .map(|agent| AgentReport {
            agent,
            waived: gates.waived.clone(),
        })
        .collect();
    for (pattern, _) in &args.waive {
        let is_known = |report: &AgentReport| report.agent.coverage.has_tool(pattern);
        if !reports.iter().any(is_known) {
            print_note(&format!(
                "--waive: no tool has a name that matches {}",
                clean_line(pattern)
            ));
        }
    }
    let failures = failures_of(&reports, &gates);
    print_reports(&args, &reports, &failures)?;
    Ok(match (failures.is_empty(), covered.is_unreadable) {
        (_, true) => Exit::UsageError,
        (false, false) => Exit::Failures,
        (true, false) => Exit::Success,
    })
}

/// The gates of the options. For a whole workspace, those of the configuration are added, except shares that the options
/// set.
fn gates_for(args: &CoverageArgs, configured: &CoverageGates, is_whole: bool) -> CoverageGates {
    let is_given = |share| args.min.iter().any(|(given, _)| *given == share);
    let kept = configured.min.iter();
    let kept = kept.filter(|(share, _)| is_whole && !is_given(*share));
    let required = configured.require.iter().filter(|_| is_whole);
    let waived = args.waive.iter().chain(&configured.waived.0);
    CoverageGates {
        min: args.min.iter().chain(kept).copied().collect(),
        require: args.require.iter().chain(required).cloned().collect(),
        waived: WaivedTools(waived.cloned().collect()),
    }
}

/// The documents of `--declarations`. Errors: one cannot be read, or declares no tool.
pub(super) fn read_declarations(paths: &[PathBuf]) -> anyhow::Result<Vec<ToolSource>> {
    let mut found = Vec::new();
    for path in paths {
        let shown = path.display().to_string();
        let text = read_text(path).with_context(|| shown.clone())?;
        let document: Value = serde_json::from_str(&text).with_context(|| shown.clone())?;
        let mut declarations = Declarations::default();
        if !declarations.add(&document) {
            bail!(
                "{shown} declares no tool; ADK's app-info, the tools of an OpenAI request, and MCP's tools/list are read"
            );
        }
        found.push(ToolSource {
            agent: None,
            source: shown,
            declarations,
        });
    }
    Ok(found)
}

/// What the agents declare that run already, and that may be contacted.
fn ask_agents(workspace: &Workspace) -> anyhow::Result<Vec<ToolSource>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let trust = Trust::load(AppFolders::find().as_ref());
    let found = runtime.block_on(tools_of_running_agents(workspace, &trust));
    if found.is_empty() {
        print_note(
            "no agent here that runs and may be contacted declares tools; `evaltrail agents check NAME` asks for the permission",
        );
    }
    Ok(found)
}

/// The demands that are not met, each with its agent if there are several.
fn failures_of(reports: &[AgentReport], gates: &CoverageGates) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let unknown = |coverage: &Coverage, pattern: &str| {
        let failure = GateFailure::NoSuchTool(pattern.to_string());
        coverage.failures(gates).contains(&failure)
    };
    for report in reports {
        for failure in report.agent.coverage.failures(gates) {
            // A pattern is about the agents that have such a tool.
            if let GateFailure::NoSuchTool(pattern) = &failure
                && !reports
                    .iter()
                    .all(|report| unknown(&report.agent.coverage, pattern))
            {
                continue;
            }
            let text = match (reports.len(), &report.agent.name, &failure) {
                (0 | 1, ..) | (.., GateFailure::NoSuchTool(_)) => failure.text(),
                (_, agent, _) => {
                    let agent = agent.as_deref().unwrap_or("cases without an agent");
                    format!("{agent}: {}", failure.text())
                }
            };
            if !found.contains(&text) {
                found.push(text);
            }
        }
    }
    found
}

fn print_reports(
    args: &CoverageArgs,
    reports: &[AgentReport],
    failures: &[String],
) -> anyhow::Result<()> {
    if args.json {
        let agents: Vec<Value> = reports.iter().map(coverage_json).collect();
        let report = json!({"agents": agents, "not_met": failures});
        print_json(&serde_json::to_string_pretty(&report)?);
    } else if args.html {
        print_json(&coverage_html(reports));
    } else {
        let paint = paint(ColorWhen::Auto);
        if args.markdown {
            for failure in failures {
                print_line(&format!("**Not met:** {}\n", markdown_cell(failure)));
            }
        }
        for (at, report) in reports.iter().enumerate() {
            if at > 0 {
                print_line("");
            }
            print_line(&match args.markdown {
                true => coverage_markdown(report),
                false => coverage_text(report, paint),
            });
        }
    }
    for failure in failures {
        print_note(&format!("not met: {}", clean_line(failure)));
    }
    Ok(())
}
