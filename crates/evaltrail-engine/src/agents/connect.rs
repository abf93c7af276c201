//! The agents of a run: each is connected once, and its server is restarted when it ends.

use super::a2a::A2aAgent;
use super::address::address_of;
use super::adk::AdkAgent;
use super::adk_server::{AdkAddress, adk_address};
use super::ag_ui::AgUiAgent;
use super::agent_engine::EngineAgent;
use super::command::CommandAgent;
use super::connection_status::ConnectionStatus;
use super::http::HttpAgent;
use super::langgraph::LanggraphAgent;
use super::masked::{mask_agent, secrets_for, sent_to};
use super::mcp::McpAgent;
use super::memory_limit::RunMemory;
use super::observed::ObservedSession;
use super::openai::OpenaiAgent;
use super::python::PythonAgent;
use super::remote::Remote;
use super::server::{Server, StartedServerSession};
use super::sub_agent::SubAgentFolder;
use super::tools::{AttemptRegistration, Interception, PluginFolder};
use super::{Agent, AgentDescription, AgentError, ErrorKind, Replay, Session, SessionOptions};
use crate::process::clock::timeout;
use async_trait::async_trait;
use evaltrail_core::domain::{
    AgentServer, AgentSpec, ProgramSpec, Protocol, SentSecrets, ServerSpec, ToolsSpec,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// The agents of a run, each connected once.
#[derive(Debug, Default)]
pub struct Agents {
    /// The memory of the events that the agents sent.
    pub memory: Arc<RunMemory>,
    /// The secrets that are sent to the agents.
    sent: Arc<SentSecrets>,
    connections: Mutex<HashMap<(AgentSpec, ToolsSpec), Arc<AgentConnection>>>,
}

/// The connection of one agent.
#[derive(Debug, Default)]
struct AgentConnection {
    /// The number of connection attempts that ended.
    tried: AtomicU64,
    connection: Mutex<ConnectionState>,
}

#[derive(Debug, Default)]
struct ConnectionState {
    connected: Option<Arc<dyn Agent>>,
    /// Why the last try failed.
    failed: Option<AgentError>,
    /// Whether another try would fail in the same way.
    is_final: bool,
    /// The number of tries that timed out.
    timeouts: u32,
    /// How often the server that evaltrail starts was restarted because it had ended.
    restarts: u32,
}

/// The maximum number of restarts of a server.
const RESTARTS: u32 = 3;
/// The number of timeouts after which no connection to an agent is attempted.
const TIMEOUTS: u32 = 2;

impl Agents {
    /// Returns the agent. The first caller connects, within `limit` (the start of a server has its own limit);
    /// concurrent callers share the outcome. A server that evaltrail started and that has ended is restarted. A failure
    /// that would repeat is cached.
    pub async fn connect(
        &self,
        spec: &AgentSpec,
        tools: &ToolsSpec,
        limit: Duration,
        status: &ConnectionStatus,
    ) -> Result<Arc<dyn Agent>, AgentError> {
        let key = (spec.clone(), tools.clone());
        let known = self
            .connections
            .lock()
            .await
            .entry(key)
            .or_default()
            .clone();
        let tried = known.tried.load(Ordering::Acquire);
        let mut connection = known.connection.lock().await;
        if let Some(agent) = connection.live_agent().await {
            return Ok(agent);
        }
        let was_waited_for = known.tried.load(Ordering::Acquire) > tried;
        if let Some(failed) = connection
            .failed
            .as_ref()
            .filter(|_| connection.is_final || was_waited_for)
        {
            return Err(failed.clone());
        }
        self.sent.add(secrets_for(spec));
        self.sent.add(tools.secret_values());
        // On the heap: it contains the connection of every kind of agent.
        let request = ConnectionRequest {
            limit,
            sent: &self.sent,
            status: &status.without(&self.sent),
        };
        let outcome = Box::pin(connected_with_tools(spec, tools, &request)).await;
        let outcome = mask_agent(outcome, &self.sent);
        known.tried.fetch_add(1, Ordering::Release);
        connection.take(outcome)
    }

    /// Deletes pinned sessions and stops the servers that evaltrail started.
    pub async fn finish(&self) {
        for (_, known) in self.connections.lock().await.drain() {
            if let Some(agent) = known.connection.lock().await.connected.take() {
                agent.finish().await;
            }
        }
    }
}

impl ConnectionState {
    /// The agent if it is connected and its server, if evaltrail started it, still runs.
    async fn live_agent(&mut self) -> Option<Arc<dyn Agent>> {
        let agent = self.connected.clone()?;
        let Some(why) = agent.exit_error().await else {
            return Some(agent);
        };
        self.connected = None;
        self.restarts += 1;
        if self.restarts > RESTARTS {
            let why = format!(
                "it was restarted {RESTARTS} times and ended each time; most recently: {why}"
            );
            self.failed = Some(AgentError::new(ErrorKind::Setup, why));
            self.is_final = true;
        }
        None
    }

    fn take(
        &mut self,
        outcome: Result<Box<dyn Agent>, AgentError>,
    ) -> Result<Arc<dyn Agent>, AgentError> {
        match outcome {
            Ok(agent) => {
                self.failed = None;
                Ok(self.connected.insert(agent.into()).clone())
            }
            Err(error) => {
                self.timeouts += u32::from(error.kind == ErrorKind::Timeout);
                self.is_final = error.kind == ErrorKind::Setup || self.timeouts >= TIMEOUTS;
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }
}

/// How an agent is connected.
struct ConnectionRequest<'a> {
    /// The time limit, without the start of a server.
    limit: Duration,
    /// The secrets that are sent to it.
    sent: &'a Arc<SentSecrets>,
    status: &'a ConnectionStatus,
}

/// Connects to an agent, and returns what it says about itself. A server that evaltrail starts for it is stopped again.
pub async fn probe_server(
    spec: &AgentSpec,
    limit: Duration,
) -> Result<AgentDescription, AgentError> {
    let sent = Arc::new(sent_to(spec));
    let request = ConnectionRequest {
        limit,
        sent: &sent,
        status: &ConnectionStatus::default(),
    };
    let agent = mask_agent(connected(spec, &request).await, &sent)?;
    let description = agent.describe().await;
    agent.finish().await;
    Ok(description)
}

/// A connected agent, and its server if evaltrail started it.
#[derive(Debug)]
struct ServedAgent {
    agent: Box<dyn Agent>,
    /// Stopped when this and the sessions are dropped.
    server: Mutex<Option<Arc<Server>>>,
    #[expect(dead_code, reason = "deleted with the connection")]
    folders: ServerFolders,
}

/// The folders that evaltrail wrote for a server. They are deleted when this is dropped.
#[derive(Debug, Default)]
#[expect(dead_code, reason = "deleted when this is dropped")]
struct ServerFolders {
    /// The folder that the server serves.
    agent: Option<SubAgentFolder>,
    /// The plugin that it has loaded.
    plugin: Option<PluginFolder>,
}

/// A connected agent whose calls evaltrail sees before its tools do.
#[derive(Debug)]
struct InterceptedAgent {
    agent: Box<dyn Agent>,
    interception: Interception,
}

#[async_trait]
impl Agent for InterceptedAgent {
    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        let (id, tools) = (opening.session_id.clone(), opening.tools.clone());
        let session = self.agent.open(opening).await?;
        Ok(match self.interception.observes() {
            true => Box::new(ObservedSession::new(
                session,
                &id,
                tools,
                self.interception.traces().cloned(),
            )),
            false => session,
        })
    }

    async fn register_attempt(&self, opening: &SessionOptions) -> Option<AttemptRegistration> {
        Some(self.interception.register_attempt(opening).await)
    }

    async fn describe(&self) -> AgentDescription {
        self.agent.describe().await
    }

    async fn exit_error(&self) -> Option<String> {
        self.agent.exit_error().await
    }

    async fn finish(&self) {
        self.agent.finish().await;
    }
}

/// Connects to an agent whose tools are answered as specified.
async fn connected_with_tools(
    spec: &AgentSpec,
    tools: &ToolsSpec,
    request: &ConnectionRequest<'_>,
) -> Result<Box<dyn Agent>, AgentError> {
    let mut spec = spec.clone();
    let Some(interception) = Interception::prepare(&mut spec, tools).await? else {
        return Box::pin(connected(&spec, request)).await;
    };
    let agent = Box::pin(connected(&spec, request)).await?;
    if interception.requires_handshake() {
        let loaded = agent
            .load_plugins()
            .await
            .and_then(|()| interception.check());
        if let Err(error) = loaded {
            return Err(agent.explain(error).await);
        }
    }
    Ok(Box::new(InterceptedAgent {
        agent,
        interception,
    }))
}

#[async_trait]
impl Agent for ServedAgent {
    /// The server's own words say less than its output, for example when the agent cannot be imported.
    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        let Some(server) = self.server.lock().await.clone() else {
            return self.agent.open(opening).await;
        };
        let mark = server.mark();
        match self.agent.open(opening).await {
            Ok(session) => Ok(Box::new(StartedServerSession { session, server })),
            Err(error) => Err(server.explain_since(error, mark).await),
        }
    }

    async fn describe(&self) -> AgentDescription {
        self.agent.describe().await
    }

    async fn load_plugins(&self) -> Result<(), AgentError> {
        self.agent.load_plugins().await
    }

    async fn explain(&self, error: AgentError) -> AgentError {
        match self.server.lock().await.clone() {
            Some(server) => server.explain(error).await,
            None => error,
        }
    }

    async fn exit_error(&self) -> Option<String> {
        self.server.lock().await.clone()?.exit_error().await
    }

    async fn finish(&self) {
        self.agent.finish().await;
        if let Some(server) = self.server.lock().await.take() {
            server.stop().await;
        }
    }
}

/// Connects to an agent. Every kind of agent is registered here.
async fn connected(
    spec: &AgentSpec,
    request: &ConnectionRequest<'_>,
) -> Result<Box<dyn Agent>, AgentError> {
    Ok(match spec {
        AgentSpec::Adk {
            server: AgentServer::Start(program),
            app,
            agent_name: Some(name),
        } => connected_to_sub_agent(program, app, name, request).await?,
        AgentSpec::Adk { server, app, .. } => connected_to_adk(server, app, request).await?,
        AgentSpec::Server(spec) => {
            let (address, started) = address_of(&spec.server, &spec.path, request.status).await?;
            let connecting = connected_to_server(&address, spec, request.sent);
            let connected = within(request.limit, &address, connecting).await;
            let agent = explained(connected, &started).await?;
            served(agent, started, ServerFolders::default())
        }
        AgentSpec::Python { function, program } => {
            request.status.report(&format!("importing {function}"), "");
            Box::new(PythonAgent::connect(function, program).await?)
        }
        AgentSpec::Command(program) => Box::new(CommandAgent::connect(program.clone())?),
        AgentSpec::Saved | AgentSpec::PriorAttempts => {
            return Err(AgentError::new(
                ErrorKind::Setup,
                "saved responses are scored, not run",
            ));
        }
        AgentSpec::Replay {
            path,
            speed,
            fallback,
        } => {
            let (path, speed, fallback) = (path.clone(), *speed, fallback.clone());
            let read =
                tokio::task::spawn_blocking(move || Replay::read(&path, speed, fallback)).await;
            let replay =
                read.map_err(|error| AgentError::new(ErrorKind::Setup, error.to_string()))??;
            Box::new(Arc::new(replay))
        }
    })
}

/// Connects to an application on an ADK server.
async fn connected_to_adk(
    server: &AgentServer,
    app: &str,
    request: &ConnectionRequest<'_>,
) -> Result<Box<dyn Agent>, AgentError> {
    let AdkAddress {
        url,
        server,
        plugin,
    } = adk_address(server, request.status).await?;
    let connecting = AdkAgent::connect(&url, app, request.sent);
    let connected = within(request.limit, &url, connecting).await;
    let agent = explained(connected, &server).await?;
    // Not with the first session, whose latency is measured.
    agent.load_descriptions().await;
    let folders = ServerFolders {
        agent: None,
        plugin,
    };
    Ok(served(Box::new(agent), server, folders))
}

/// Starts a server with a folder in which the sub-agent is the root agent.
async fn connected_to_sub_agent(
    program: &ProgramSpec,
    app: &str,
    name: &str,
    request: &ConnectionRequest<'_>,
) -> Result<Box<dyn Agent>, AgentError> {
    let folder = SubAgentFolder::write(app, name, program)?;
    let server = AgentServer::Start(folder.program(program)?);
    let AdkAddress {
        url,
        server,
        plugin,
    } = adk_address(&server, request.status).await?;
    let connecting = async {
        let connecting = AdkAgent::connect(&url, &folder.app, request.sent);
        let agent = within(request.limit, &url, connecting).await?;
        within(request.limit, &url, agent.load())
            .await
            .map(|()| agent)
    };
    let agent = explained(connecting.await, &server).await?;
    agent.load_descriptions().await;
    let folders = ServerFolders {
        agent: Some(folder),
        plugin,
    };
    Ok(served(Box::new(agent), server, folders))
}

/// Connects to an agent on a server. Every protocol is registered here.
async fn connected_to_server(
    address: &str,
    spec: &ServerSpec,
    sent: &Arc<SentSecrets>,
) -> Result<Box<dyn Agent>, AgentError> {
    let remote = Arc::new(Remote::from_spec(address, spec, sent)?);
    // A server that evaltrail started has answered.
    if matches!(spec.server, AgentServer::Url(_)) {
        remote.check_reachable().await?;
    }
    Ok(match &spec.protocol {
        Protocol::A2a(settings) => Box::new(A2aAgent::connect(remote, settings).await?),
        Protocol::AgUi(settings) => Box::new(AgUiAgent::connect(remote, settings)?),
        Protocol::AgentEngine(settings) => Box::new(EngineAgent::connect(remote, settings)),
        Protocol::Http(settings) => Box::new(HttpAgent::connect(remote, address, settings)?),
        Protocol::Mcp(settings) => Box::new(McpAgent::connect(remote, settings).await?),
        Protocol::Openai(settings) => Box::new(OpenaiAgent::connect(remote, settings)?),
        Protocol::Langgraph(settings) => Box::new(LanggraphAgent::connect(remote, settings).await?),
    })
}

fn served(
    agent: Box<dyn Agent>,
    server: Option<Arc<Server>>,
    folders: ServerFolders,
) -> Box<dyn Agent> {
    Box::new(ServedAgent {
        agent,
        server: Mutex::new(server),
        folders,
    })
}

/// The outcome of connecting to an agent, with the output of its server if it failed.
async fn explained<T>(
    outcome: Result<T, AgentError>,
    server: &Option<Arc<Server>>,
) -> Result<T, AgentError> {
    match (outcome, server) {
        (Err(error), Some(server)) => Err(server.explain(error).await),
        (outcome, _) => outcome,
    }
}

async fn within<T>(
    limit: Duration,
    address: &str,
    connecting: impl Future<Output = Result<T, AgentError>>,
) -> Result<T, AgentError> {
    match timeout(limit, connecting).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Remote::plain(address, &Arc::default())?.silent(limit)),
    }
}
