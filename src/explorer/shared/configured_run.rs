//! What a run uses where nothing is chosen for it.

/// The values of a run of some sets that come from the configuration and the files beside the sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfiguredRun {
    /// Attempts of each case.
    pub repeat: u32,
    /// The number of attempts in the configuration, if it is there.
    pub given_repeat: Option<u32>,
    /// Attempts in flight at the same time.
    pub jobs: u32,
    /// The maximum number of attempts that start per minute.
    pub rate: Option<u32>,
    /// When a case with several attempts passes.
    pub gate: String,
    /// How tools are answered.
    pub stubs: String,
    /// Judge samples; empty if each criterion says it.
    pub samples: String,
    /// The files of criteria of these sets, relative to the workspace; "defaults" for sets without one.
    pub criteria: Vec<String>,
    /// The metrics with their thresholds.
    pub metrics: Vec<String>,
    /// The names of metrics that these sets or the workspace define or use.
    pub own_metrics: Vec<String>,
    /// All files of criteria of the workspace, relative to it.
    pub criteria_files: Vec<String>,
}
