//! The plugin that an ADK server loads, so that it asks evaltrail before each call of a tool.

use crate::agents::AgentError;
use crate::agents::remote::setup;
use crate::domain::ProgramSpec;
use crate::process::PrivateFolder;
use std::io::Write;

const PLUGIN: &str =
    concat!(include_str!("../../../assets/ask_evaltrail.py"), include_str!("../../../assets/adk_plugin.py"));

/// The folder that contains the plugin. It is deleted when this is dropped.
#[derive(Debug)]
pub(crate) struct PluginFolder(PrivateFolder);

impl PluginFolder {
    /// Writes the plugin.
    pub(crate) fn write() -> Result<PluginFolder, AgentError> {
        let written = || {
            let folder = PrivateFolder::create("plugin")?;
            let mut file = std::fs::File::create_new(folder.path().join("evaltrail_tools.py"))?;
            file.write_all(PLUGIN.as_bytes())?;
            Ok(PluginFolder(folder))
        };
        written()
            .map_err(|error: std::io::Error| setup(format!("the plugin for ADK cannot be written: {error}")))
    }

    /// Makes a program that starts an ADK server load the plugin.
    pub(crate) fn load_into(&self, program: &mut ProgramSpec) {
        program.argv.extend(["--extra_plugins".into(), "evaltrail_tools.Plugin".into()]);
        let others = std::env::var_os("PYTHONPATH");
        let folders =
            [self.0.path().to_path_buf()].into_iter().chain(others.iter().flat_map(std::env::split_paths));
        if let Ok(path) = std::env::join_paths(folders) {
            program.variables.push(("PYTHONPATH".into(), path.to_string_lossy().into_owned()));
        }
    }
}
