//! The criteria of a set: those of its config, or defaults that depend on its content; with the workspace's own
//! metrics and rules.

use super::programs::find_python;
use super::sets::{read_config_text, read_text};
use super::{SetPath, Workspace};
use crate::config::{CRITERIA_FILE, DefinedKind, DefinedMetric};
use evaltrail_core::domain::{
    CallingConvention, Criterion, CustomMetric, MetricProgram, ProgramSpec, UserSpec,
};
use evaltrail_core::formats::{
    AGENTS_CLI_CONFIGS, ConfiguredKind, ConfiguredMetric, FileProblem, SetFile, adk,
    read_agents_cli_config,
};
use evaltrail_core::metrics::with_rules;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The configuration of the workspace, as shown.
const CONFIG: &str = "evaltrail.toml";

/// The source of criteria.
#[derive(Clone, Debug, PartialEq)]
pub enum CriteriaSource {
    /// A config file, as shown.
    File(String),
    /// Defaults.
    Default,
}

/// Why the criteria of a set cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct CriteriaProblem {
    /// The config.
    pub path: PathBuf,
    /// The reason.
    pub why: String,
    /// Where, if the content of the config is invalid.
    pub malformed: Option<Box<FileProblem>>,
}

impl CriteriaProblem {
    fn new(path: impl Into<PathBuf>, why: impl ToString) -> CriteriaProblem {
        CriteriaProblem {
            path: path.into(),
            why: why.to_string(),
            malformed: None,
        }
    }
}

/// The criteria of a set: from the specified config, else from `test_config.json` beside the file, else defaults;
/// with `metrics` added.
pub fn criteria_for(
    workspace: &Workspace,
    set: &SetPath,
    file: &SetFile,
    config: Option<&Path>,
    metrics: &[String],
) -> Result<(Vec<Criterion>, CriteriaSource), CriteriaProblem> {
    let path = config_path(set, config).or_else(|| config_of_agents_cli(workspace, set, file));
    let (mut criteria, custom, source) = match path {
        None => (default_criteria(file), Map::new(), CriteriaSource::Default),
        Some(path) if is_agents_cli(&path) => {
            let shown = path.display().to_string();
            let text = read_config(workspace, &path, config)
                .map_err(|error| CriteriaProblem::new(&path, error))?;
            let metrics =
                read_agents_cli_config(&text).map_err(|why| CriteriaProblem::new(&path, why))?;
            let folder = path.parent().unwrap_or(&workspace.root);
            // The file has no thresholds, so what the rows expect decides, as without it.
            let own = metrics
                .into_iter()
                .map(|metric| agents_cli_metric(workspace, folder, metric));
            (
                default_criteria(file).into_iter().chain(own).collect(),
                Map::new(),
                CriteriaSource::File(shown),
            )
        }
        Some(path) => {
            let shown = path.display().to_string();
            let text = read_config(workspace, &path, config)
                .map_err(|error| CriteriaProblem::new(&path, error))?;
            let config = adk::read_config(&text).map_err(|error| CriteriaProblem {
                malformed: Some(Box::new(error.clone())),
                ..CriteriaProblem::new(&path, error)
            })?;
            (
                config.criteria,
                config.custom_metrics,
                CriteriaSource::File(shown),
            )
        }
    };
    for metric in metrics {
        if !criteria.iter().any(|criterion| criterion.metric == *metric) {
            criteria.push(Criterion::new(metric, None));
        }
    }
    let failed = |why: String| match &source {
        CriteriaSource::File(shown) => CriteriaProblem::new(shown, why),
        CriteriaSource::Default => CriteriaProblem::new(CONFIG, why),
    };
    adk_functions(workspace, &mut criteria, &custom).map_err(failed)?;
    defined(workspace, &mut criteria).map_err(|why| CriteriaProblem::new(CONFIG, why))?;
    Ok((with_rules(criteria, &workspace.config.rules), source))
}

/// The specified config, else the one beside the file.
fn config_path(set: &SetPath, config: Option<&Path>) -> Option<PathBuf> {
    let beside = set.path.with_file_name(CRITERIA_FILE);
    match config {
        Some(path) => Some(path.to_path_buf()),
        None => beside.symlink_metadata().is_ok().then_some(beside),
    }
}

/// The config of agents-cli for a data set: beside it, or in the folder above, as agents-cli creates it.
fn config_of_agents_cli(workspace: &Workspace, set: &SetPath, file: &SetFile) -> Option<PathBuf> {
    let folders = set
        .path
        .ancestors()
        .skip(1)
        .take(2)
        .filter(|folder| folder.starts_with(&workspace.root));
    let mut paths =
        folders.flat_map(|folder| AGENTS_CLI_CONFIGS.iter().map(|name| folder.join(name)));
    if file.form.is_adk() {
        None
    } else {
        paths.find(|path| path.is_file())
    }
}

fn is_agents_cli(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    AGENTS_CLI_CONFIGS.contains(&&*name) || name.ends_with(".yaml") || name.ends_with(".yml")
}

/// A metric of agents-cli as an informational criterion.
fn agents_cli_metric(workspace: &Workspace, folder: &Path, metric: ConfiguredMetric) -> Criterion {
    let python = |function: String| match python(workspace, None, Vec::new()) {
        Ok(program) => CustomMetric::Python {
            function,
            convention: CallingConvention::Vertex,
            program: MetricProgram {
                program,
                timeout_ms: 60_000,
            },
        },
        Err(why) => CustomMetric::Unavailable { why },
    };
    let (name, custom) = match metric.kind {
        ConfiguredKind::Known(name) => (name, None),
        ConfiguredKind::Judged(template) => (metric.name, Some(CustomMetric::Judged(template))),
        ConfiguredKind::Source(source) => (metric.name, Some(python(source))),
        ConfiguredKind::File(file) => {
            let path = folder.join(&file);
            let custom = match path.is_file() {
                true => python(path.display().to_string()),
                false => CustomMetric::Unavailable {
                    why: format!("there is no file {file}"),
                },
            };
            (metric.name, Some(custom))
        }
        ConfiguredKind::Unavailable(why) => (metric.name, Some(CustomMetric::Unavailable { why })),
    };
    let mut criterion = Criterion {
        custom,
        ..Criterion::new(&name, None)
    };
    if let Some(group) = metric.rubric_group {
        criterion
            .options
            .insert("rubric_group_key".into(), group.into());
    }
    criterion
}

/// Reads a config. One that the user specified may be outside of the workspace.
fn read_config(
    workspace: &Workspace,
    path: &Path,
    named: Option<&Path>,
) -> std::io::Result<String> {
    match named {
        Some(_) => read_text(path),
        None => read_config_text(path, &workspace.root),
    }
}

/// The simulated user for a set's scenarios, as specified in its config. A config that cannot be read is ignored here;
/// it is reported by [`criteria_for`].
pub fn user_for(workspace: &Workspace, set: &SetPath, config: Option<&Path>) -> UserSpec {
    let path = config_path(set, config).filter(|path| !is_agents_cli(path));
    let text = path.and_then(|path| read_config(workspace, &path, config).ok());
    let config = text.and_then(|text| adk::read_config(&text).ok());
    config
        .and_then(|config| config.user_simulator)
        .map(|user| UserSpec::from_config(&user))
        .unwrap_or_default()
}

/// ADK's defaults for ADK's files. For other files, similar criteria for the expected values that the file contains,
/// and Vertex's metrics as informational ones.
pub fn default_criteria(file: &SetFile) -> Vec<Criterion> {
    /// Number of cases that are read to see which expected values the file contains.
    const LOOKED_INTO: usize = 50;
    if file.form.is_adk() {
        return adk::default_criteria();
    }
    let cases: Vec<_> = (0..file.len().min(LOOKED_INTO))
        .filter_map(|at| file.case(at).ok())
        .collect();
    // History has no expected values.
    let turns = || {
        cases
            .iter()
            .flat_map(|case| case.turns())
            .filter(|turn| !turn.history)
    };
    let mut criteria = Vec::new();
    let mut add = |name: &str, threshold| criteria.push(Criterion::new(name, threshold));
    if turns().any(|turn| turn.trajectory.is_known()) {
        add("trajectory_exact_match", Some(1.0));
        for name in ["in_order_match", "any_order_match", "precision", "recall"] {
            add(&format!("trajectory_{name}"), None);
        }
    }
    if turns().any(|turn| turn.final_response.is_some()) {
        add("response_match_score", Some(0.8));
        add("exact_match", None);
        add("rouge_l_sum", None);
    }
    criteria
}

/// Sets the functions of ADK's custom metrics, as specified in `custom_metrics` of the config. The error is a message.
fn adk_functions(
    workspace: &Workspace,
    criteria: &mut [Criterion],
    custom: &Map<String, Value>,
) -> Result<(), String> {
    for criterion in criteria {
        let Some(metric) = custom.get(criterion.name()) else {
            continue;
        };
        let code = metric
            .get("code_config")
            .or_else(|| metric.get("codeConfig"));
        let function = code
            .and_then(|code| code.get("name"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        criterion.custom = Some(CustomMetric::Python {
            function: function.to_string(),
            convention: CallingConvention::Adk,
            program: MetricProgram {
                program: python(workspace, None, Vec::new())
                    .map_err(|why| format!("{}: {why}", criterion.name()))?,
                timeout_ms: 30_000,
            },
        });
    }
    Ok(())
}

/// Adds the workspace's own metrics. If a config contains one of them, the config's threshold applies.
/// The error is a message.
fn defined(workspace: &Workspace, criteria: &mut Vec<Criterion>) -> Result<(), String> {
    for metric in &workspace.config.metrics {
        let custom =
            custom(workspace, metric).map_err(|why| format!("metrics.{}: {why}", metric.name))?;
        // Readers of results have only the criterion's options, which therefore contain the direction.
        let mut options = Map::new();
        if matches!(&custom, CustomMetric::Judged(template) if template.lower_is_better) {
            options.insert("direction".into(), "lower".into());
        }
        let named: Vec<usize> = (0..criteria.len())
            .filter(|&at| criteria[at].name() == metric.name)
            .collect();
        for &at in &named {
            criteria[at].custom = Some(custom.clone());
            criteria[at].options.extend(options.clone());
            criteria[at].threshold = criteria[at].threshold.or(metric.threshold);
        }
        if named.is_empty() {
            criteria.push(Criterion {
                custom: Some(custom),
                options,
                ..Criterion::new(&metric.name, metric.threshold)
            });
        }
    }
    Ok(())
}

fn custom(workspace: &Workspace, metric: &DefinedMetric) -> Result<CustomMetric, String> {
    Ok(match metric.kind.clone() {
        DefinedKind::Tools { tools } => CustomMetric::Tools { tools },
        DefinedKind::Response { pattern } => CustomMetric::Response { pattern },
        DefinedKind::Argument {
            tool,
            path,
            equals,
            pattern,
        } => CustomMetric::Argument {
            tool,
            path,
            equals,
            pattern,
        },
        DefinedKind::Judged(template) => CustomMetric::Judged(template),
        DefinedKind::MaxCalls { tool, max } => CustomMetric::MaxCalls { tool, max },
        DefinedKind::Command {
            argv,
            env,
            timeout_ms,
        } => {
            let program = ProgramSpec {
                argv,
                cwd: workspace.root.clone(),
                env,
                ..ProgramSpec::default()
            };
            CustomMetric::Command(MetricProgram {
                program,
                timeout_ms,
            })
        }
        DefinedKind::Python {
            function,
            convention,
            python: named,
            env,
            timeout_ms,
        } => {
            let program = MetricProgram {
                program: python(workspace, named, env)?,
                timeout_ms,
            };
            CustomMetric::Python {
                function,
                convention,
                program,
            }
        }
    })
}

/// The workspace's Python, run in the workspace's root folder. The error is a message.
fn python(
    workspace: &Workspace,
    named: Option<String>,
    env: Vec<String>,
) -> Result<ProgramSpec, String> {
    let python = match named {
        Some(named) => named,
        None => find_python(&workspace.root)?.display().to_string(),
    };
    Ok(ProgramSpec {
        argv: vec![python],
        cwd: workspace.root.clone(),
        env,
        ..ProgramSpec::default()
    })
}
