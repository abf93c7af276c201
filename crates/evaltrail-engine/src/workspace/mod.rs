//! The contents of a folder: agents, eval sets, configs. Reading a folder executes nothing, connects to nothing and
//! follows no link out of it.

mod agent;
mod agent_files;
mod agent_folders;
mod changed;
mod commit;
mod criteria;
mod discover;
mod dotenv;
mod named_path;
mod programs;
mod root;
mod set_path;
mod sets;
mod sidecar_files;
mod watch;

pub use agent::{
    AgentNotFound, agent_for, agent_named, agent_of_set, app_of_first_case, has_agent,
    is_known_app, named_agents, with_python,
};
pub use agent_files::agent_files_hash;
pub use agent_folders::{AgentFolder, is_agent};
pub use changed::{sources_changed_at, watched_folders};
pub use commit::current_commit;
pub use criteria::{CriteriaProblem, CriteriaSource, criteria_for, default_criteria, user_for};
pub use discover::{Workspace, WorkspaceError};
pub use dotenv::dotenv_near;
pub use named_path::named_path;
pub use root::root_of;
pub use set_path::SetPath;
pub use sets::{OpenSet, SetProblem, open_full_set, open_set, read_set_text, read_text};
pub use sidecar_files::{
    DRAFTS_ENDING, NOTES_ENDING, STUBS_ENDING, SetStubs, drafts_path, edited_with, notes_path,
    read_notes, read_stubs, stubs_path, stubs_text,
};
pub use watch::Watch;
