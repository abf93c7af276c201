//! Plugins that an ADK server loads: one asks evaltrail before each call of a tool, one reports what models receive.

use crate::agents::AgentError;
use crate::agents::remote::setup;
use crate::process::PrivateFolder;
use evaltrail_core::domain::ProgramSpec;
use std::io::Write;

/// A plugin: the name of its module, and its source.
#[derive(Debug)]
pub(crate) struct AdkPlugin {
    module: &'static str,
    source: &'static str,
}

/// Asks evaltrail before each call of a tool.
pub(super) const TOOLS: AdkPlugin = AdkPlugin {
    module: "evaltrail_tools",
    source: concat!(
        include_str!("../../../assets/ask_evaltrail.py"),
        include_str!("../../../assets/adk_plugin.py")
    ),
};

/// Adds the instructions and tools that a model received to the events of its agent.
pub(crate) const REQUESTS: AdkPlugin = AdkPlugin {
    module: "evaltrail_requests",
    source: include_str!("../../../assets/adk_requests.py"),
};

/// The folder that contains a plugin. It is deleted when this is dropped.
#[derive(Debug)]
pub(crate) struct PluginFolder {
    folder: PrivateFolder,
    module: &'static str,
}

impl PluginFolder {
    /// Writes the plugin.
    pub(crate) fn write(plugin: &AdkPlugin) -> Result<PluginFolder, AgentError> {
        let written = || {
            let folder = PrivateFolder::create("plugin")?;
            let mut file =
                std::fs::File::create_new(folder.path().join(format!("{}.py", plugin.module)))?;
            file.write_all(plugin.source.as_bytes())?;
            Ok(PluginFolder {
                folder,
                module: plugin.module,
            })
        };
        written().map_err(|error: std::io::Error| {
            setup(format!("the plugin for ADK cannot be written: {error}"))
        })
    }

    /// Makes a program that starts an ADK server load the plugin.
    pub(crate) fn load_into(&self, program: &mut ProgramSpec) {
        program
            .argv
            .extend([OPTION.into(), format!("{}.Plugin", self.module)]);
        let set = program
            .variables
            .iter()
            .rev()
            .find(|(name, _)| name == PYTHONPATH);
        let others = set
            .map(|(_, value)| value.into())
            .or_else(|| std::env::var_os(PYTHONPATH));
        let others = others.iter().flat_map(std::env::split_paths);
        let folders = [self.folder.path().to_path_buf()].into_iter().chain(others);
        if let Ok(path) = std::env::join_paths(folders) {
            program.variables.retain(|(name, _)| name != PYTHONPATH);
            program
                .variables
                .push((PYTHONPATH.into(), path.to_string_lossy().into_owned()));
        }
    }
}

/// Where Python looks for modules.
const PYTHONPATH: &str = "PYTHONPATH";

/// The option of ADK's servers that loads a plugin. Old versions of ADK do not have it.
pub(crate) const OPTION: &str = "--extra_plugins";
