//! A criterion that a judge decides.

use crate::domain::{Criterion, CustomMetric, JudgeTemplate, Rubric, VerdictParsing};
use crate::metrics::catalog::Build;
use crate::metrics::judged::{Judge, Template};
use crate::metrics::{CriterionError, Direction, JudgeOptions, info, registry};

/// A criterion that a judge decides, with its options read.
pub struct JudgedMetric {
    pub(super) criterion: Criterion,
    pub(super) direction: Direction,
    pub(super) options: JudgeOptions,
    pub(super) reading: VerdictParsing,
    pub(super) service: bool,
    pub(super) judge: Box<dyn Judge>,
}

impl JudgedMetric {
    /// Reads a criterion; `None` when no judge decides it.
    pub fn new(
        criterion: &Criterion,
        reading: VerdictParsing,
        samples: Option<u32>,
    ) -> Result<Option<JudgedMetric>, CriterionError> {
        let metric = match &criterion.custom {
            Some(CustomMetric::Judged(template)) => {
                registry::check_threshold(criterion)?;
                return Ok(Some(JudgedMetric::of_template(
                    criterion, template, reading, samples,
                )));
            }
            Some(_) => return Ok(None),
            None => info(criterion.name()),
        };
        let Some(metric) = metric else {
            return Ok(None);
        };
        if !matches!(metric.build, Build::Computed(_)) {
            registry::check_threshold(criterion)?;
        }
        let mut options = JudgeOptions::parse(criterion)?;
        options.samples = options.samples.or(samples);
        let judge: Box<dyn Judge> = match metric.build {
            Build::Computed(_) => return Ok(None),
            Build::Judged(build) => build(criterion, &options, reading)?,
            Build::Served(served) => Box::new(served),
        };
        let service = matches!(metric.build, Build::Served(_));
        let criterion = criterion.clone();
        Ok(Some(JudgedMetric {
            criterion,
            direction: metric.direction,
            options,
            reading,
            service,
            judge,
        }))
    }

    fn of_template(
        criterion: &Criterion,
        template: &JudgeTemplate,
        reading: VerdictParsing,
        samples: Option<u32>,
    ) -> JudgedMetric {
        let mut options = JudgeOptions {
            model: template.model.clone(),
            ..JudgeOptions::default()
        };
        options.samples = template.samples.or(samples);
        if let Some(system) = &template.system {
            options
                .config
                .insert("system_instruction".into(), system.clone().into());
        }
        let direction = if template.lower_is_better {
            Direction::Lower
        } else {
            Direction::Higher
        };
        let judge = Box::new(Template::new(template, &options, reading));
        JudgedMetric {
            criterion: criterion.clone(),
            direction,
            options,
            reading,
            service: false,
            judge,
        }
    }

    /// The model and its settings.
    pub fn options(&self) -> &JudgeOptions {
        &self.options
    }

    /// The criterion.
    pub fn criterion(&self) -> &Criterion {
        &self.criterion
    }

    /// Whether a model's replies are read as ADK reads them.
    pub fn reads_as_adk(&self) -> bool {
        self.reading == VerdictParsing::Adk && !self.service
    }

    /// Whether Vertex AI's evaluation service is used instead of a model.
    pub fn asks_service(&self) -> bool {
        self.service
    }

    /// Why a case with these rubrics, its own and its turns', cannot be judged; `None` if it can, and for other
    /// metrics.
    pub fn rubric_problem(&self, case: &[Rubric], turns: &[&[Rubric]]) -> Option<String> {
        self.judge.rubric_problem(case, turns)
    }
}
