//! The address of an agent's server, which evaltrail starts if that is configured.

use super::AgentError;
use super::connection_status::ConnectionStatus;
use super::remote::{Remote, setup};
use super::server::Server;
use evaltrail_core::domain::AgentServer;
use std::sync::Arc;

/// The address of an agent, and its server if it must be started: then the server has answered.
pub(super) async fn address_of(
    server: &AgentServer,
    path: &str,
    status: &ConnectionStatus,
) -> Result<(String, Option<Arc<Server>>), AgentError> {
    match server {
        AgentServer::Url(url) => Ok((url.clone(), None)),
        AgentServer::Start(program) => {
            let server = Server::start(program)?;
            server
                .wait_until_up(
                    Remote::plain(&server.url(), &Arc::default())?.client(),
                    status,
                )
                .await?;
            let address = format!("{}{path}", server.url());
            let origin = |text: &str| url::Url::parse(text).map(|url| url.origin());
            if origin(&address) != origin(&server.url()) {
                return Err(setup(format!("{path:?} is not a path of the server")));
            }
            Ok((address, Some(Arc::new(server))))
        }
    }
}
