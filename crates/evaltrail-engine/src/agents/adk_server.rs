//! Starts ADK's server with a plugin that reports what the models of the agents receive.

use super::AgentError;
use super::address::address_of;
use super::connection_status::ConnectionStatus;
use super::server::Server;
use super::tools::{PLUGIN_OPTION, PluginFolder, REQUESTS};
use evaltrail_core::domain::{AgentServer, ProgramSpec};
use std::path::Path;
use std::sync::Arc;

/// The address of an ADK server.
pub(super) struct AdkAddress {
    pub(super) url: String,
    /// The server, if evaltrail started it.
    pub(super) server: Option<Arc<Server>>,
    /// The plugin that the server has loaded.
    pub(super) plugin: Option<PluginFolder>,
}

/// The address of an ADK server. A server that evaltrail starts with ADK's own command loads the plugin, unless its version
/// of ADK loads none.
pub(super) async fn adk_address(
    server: &AgentServer,
    status: &ConnectionStatus,
) -> Result<AdkAddress, AgentError> {
    if let AgentServer::Start(program) = server
        && is_adk_command(program)
    {
        let plugin = PluginFolder::write(&REQUESTS)?;
        let mut program = program.clone();
        plugin.load_into(&mut program);
        match address_of(&AgentServer::Start(program), "", status).await {
            Err(error) if error.message.contains(PLUGIN_OPTION) => {}
            started => {
                return started.map(|(url, server)| AdkAddress {
                    url,
                    server,
                    plugin: Some(plugin),
                });
            }
        }
    }
    let (url, server) = address_of(server, "", status).await?;
    Ok(AdkAddress {
        url,
        server,
        plugin: None,
    })
}

/// Whether a program is ADK's command itself: the plugin is an option of it, which another program may not know.
fn is_adk_command(program: &ProgramSpec) -> bool {
    let [command, verb, ..] = program.argv.as_slice() else {
        return false;
    };
    let is_adk = Path::new(command)
        .file_stem()
        .is_some_and(|name| name == "adk");
    is_adk && (verb == "api_server" || verb == "web")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_command_of_adk_gets_its_option() {
        let is_adk = |words: &str| {
            let argv = words.split(' ').map(String::from).collect();
            is_adk_command(&ProgramSpec {
                argv,
                ..ProgramSpec::default()
            })
        };
        assert!(
            is_adk("/w/.venv/bin/adk api_server --port {port} agents") && is_adk("adk web agents")
        );
        assert!(!is_adk("./serve.sh {port}") && !is_adk("sh -c adk api_server") && !is_adk("adk"));
    }
}
