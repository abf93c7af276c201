//! `evaltrail coverage`: what the cases of a folder cover, and whether that is as much as demanded.

use super::Exit;
use super::args::{ColorWhen, CoverageArgs};
use super::output::{paint, print_json, print_line, print_note};
use super::paths::parse_target;
use anyhow::{Context, bail};
use evaltrail_core::analysis::{Coverage, CoverageGates, Declarations, GateFailure, WaivedTools};
use evaltrail_core::domain::clean_line;
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

pub(super) fn coverage(args: CoverageArgs) -> anyhow::Result<Exit> {
    let target = parse_target(&args.path);
    let workspace = Workspace::open_with(&target.path, &args.columns)?;
    let gates = CoverageGates {
        min: args.min.clone(),
        require: args.require.clone(),
        waived: WaivedTools(args.waive.clone()),
    };
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
    for (pattern, _) in &gates.waived.0 {
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
