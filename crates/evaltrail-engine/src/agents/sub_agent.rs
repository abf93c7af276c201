//! A sub-agent of an ADK application alone: an application in a folder of evaltrail's own whose root agent it is, served by
//! an unchanged `adk api_server`.

use super::AgentError;
use super::remote::setup;
use crate::process::PrivateFolder;
use evaltrail_core::domain::ProgramSpec;
use std::io::Write;

/// The folder of agents with the application of a sub-agent. It is deleted when this is dropped.
#[derive(Debug)]
pub(super) struct SubAgentFolder {
    folder: PrivateFolder,
    /// The name of the application.
    pub(super) app: String,
}

impl SubAgentFolder {
    /// Writes the application. `program` serves the folder of the original one, which is its working folder.
    pub(super) fn write(
        app: &str,
        agent_name: &str,
        program: &ProgramSpec,
    ) -> Result<SubAgentFolder, AgentError> {
        let failed = |error: std::io::Error| {
            setup(format!(
                "the application of {agent_name} cannot be written: {error}"
            ))
        };
        let name: String = agent_name
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '_' })
            .collect();
        let own = format!("{app}__{name}");
        let folder = PrivateFolder::create("agent").map_err(failed)?;
        let below = folder.path().join(&own);
        std::fs::create_dir(&below).map_err(failed)?;
        let text = |value: &str| serde_json::Value::from(value).to_string();
        let agents = program
            .cwd
            .to_str()
            .ok_or_else(|| setup("the folder of the agents is not valid UTF-8"))?;
        let source = format!(
            "from google.adk.cli.utils.agent_loader import AgentLoader\n\n\
             loaded = AgentLoader({agents}).load_agent({app})\n\
             root = getattr(loaded, 'root_agent', loaded)\n\
             root_agent = root.find_agent({agent})\n\
             if root_agent is None:\n    raise ValueError('there is no agent ' + {agent} + ' below ' + root.name)\n",
            agents = text(agents),
            app = text(app),
            agent = text(agent_name),
        );
        for (file, text) in [
            ("__init__.py", "from . import agent\n"),
            ("agent.py", source.as_str()),
        ] {
            let mut file = std::fs::File::create_new(below.join(file)).map_err(failed)?;
            file.write_all(text.as_bytes()).map_err(failed)?;
        }
        Ok(SubAgentFolder { folder, app: own })
    }

    /// The program that serves this folder in place of the original one.
    pub(super) fn program(&self, original: &ProgramSpec) -> Result<ProgramSpec, AgentError> {
        let served = original.cwd.display().to_string();
        let mut program = original.clone();
        match program.argv.iter_mut().find(|word| **word == served) {
            Some(word) => *word = self.folder.path().display().to_string(),
            None => {
                return Err(setup(
                    "a sub-agent alone needs a server that evaltrail starts for the folder of agents",
                ));
            }
        }
        Ok(program)
    }
}
