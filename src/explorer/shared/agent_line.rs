//! What an agent of the workspace says about itself.

/// An entry in the list of the agents of a workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentLine {
    /// The name under which it can be run.
    pub name: String,
    /// How it is reached, or why it cannot be.
    pub label: String,
    /// Whether it runs, and its tools.
    pub state: String,
}
