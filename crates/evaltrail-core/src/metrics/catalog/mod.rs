//! The table of metrics: name, meaning, requirements and construction of each. `evaltrail metrics`, the explorer's
//! list of metrics and the registry read it.

mod adk;
mod judge_model;
mod metric_info;
mod own;
mod templates;
mod uses;
mod vertex;

pub(in crate::metrics) use metric_info::Build;
pub use metric_info::{Direction, Family, MetricInfo, Need, OptionInfo};

/// All metrics: ADK's in its order, Vertex AI's, evaltrail's own.
pub fn catalog() -> impl Iterator<Item = &'static MetricInfo> {
    adk::METRICS
        .iter()
        .chain(vertex::METRICS)
        .chain(own::METRICS)
        .chain(templates::METRICS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_of_a_metric_are_described() {
        let needs = |name: &str| {
            catalog()
                .find(|one| one.name == name)
                .unwrap()
                .needs
                .iter()
                .map(|need| need.label())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            needs("tool_trajectory_avg_score"),
            ["reference trajectory", "trajectory"]
        );
    }
}
