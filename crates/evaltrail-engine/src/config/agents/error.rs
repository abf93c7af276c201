//! Why an agent cannot be read from the configuration.

/// Why a text does not specify an agent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct AgentSpecError(pub String);

/// The message of an error in a table, with the key that it is about.
pub(super) fn with_key(error: &toml::de::Error) -> String {
    // The second line names the key.
    error.to_string().trim().replace('\n', " ")
}
