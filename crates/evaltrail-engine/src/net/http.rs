//! HTTP: creating clients, reading bodies and `Retry-After`, describing errors.

#![expect(
    clippy::disallowed_methods,
    reason = "it makes the client that all others use"
)]

use futures_util::StreamExt;
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Client, ClientBuilder, Response, StatusCode};
use std::time::Duration;
use url::Url;

const CONNECT: Duration = Duration::from_secs(10);

/// How long an idle connection is kept: less than common servers keep it (uvicorn and Node.js close it after 5 seconds), so
/// that no request is sent on a connection that the server is closing.
const IDLE: Duration = Duration::from_secs(4);

/// The environment variables that name a proxy.
const PROXY_VARIABLES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];

/// What all clients have in common. None follows redirects, so that keys and bodies are sent only to the given address.
pub(crate) fn client_builder() -> ClientBuilder {
    // The provider is process-wide; one that is already installed is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("evaltrail/", env!("CARGO_PKG_VERSION")))
}

/// Creates a client. It does not use a proxy for addresses on this machine.
pub(crate) fn client(base: &Url) -> Result<Client, String> {
    build_client(client_builder_for(base))
}

/// Like [`client`], but every request opens a connection of its own.
pub(crate) fn client_for_turns(base: &Url) -> Result<Client, String> {
    build_client(client_builder_for(base).pool_max_idle_per_host(0))
}

fn client_builder_for(base: &Url) -> ClientBuilder {
    match is_loopback(base) {
        true => client_builder().no_proxy(),
        false => client_builder(),
    }
}

fn build_client(builder: ClientBuilder) -> Result<Client, String> {
    builder.build().map_err(|error| chain(&error))
}

/// Connects to the host of an address and closes the connection. It is not tried where requests may go through a proxy, and a
/// host that does not answer in time may answer requests, which try its addresses in another way. The error is a message.
pub(crate) async fn check_listening(url: &Url) -> Result<(), String> {
    let is_proxied = || {
        PROXY_VARIABLES
            .iter()
            .any(|name| std::env::var_os(name).is_some())
    };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Ok(());
    };
    if !is_loopback(url) && is_proxied() {
        return Ok(());
    }
    // The host of an IPv6 address is in brackets.
    let host = host.trim_matches(['[', ']']);
    let connected = tokio::net::TcpStream::connect((host, port));
    match tokio::time::timeout(CONNECT, connected).await {
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(_)) | Err(_) => Ok(()),
    }
}

/// The host, with its port, to which an answer redirects; `None` if it is no redirect to an address. The rest of the
/// address is left out: it may repeat secrets of the request.
pub(crate) fn redirect_host(status: StatusCode, headers: &HeaderMap) -> Option<String> {
    let location = headers.get(LOCATION).filter(|_| status.is_redirection())?;
    Some(named_host(location.as_bytes()).unwrap_or_else(|| "another path of the same host".into()))
}

/// The host that an absolute address, or one without a scheme (`//host/path`), names, with its port.
fn named_host(location: &[u8]) -> Option<String> {
    /// No host has this name.
    const SAME: &str = "same.invalid";
    let text = std::str::from_utf8(location).ok()?;
    let url = Url::parse(&format!("http://{SAME}"))
        .ok()?
        .join(text)
        .ok()?;
    let host = url.host_str().filter(|host| *host != SAME)?;
    Some(
        url.port()
            .map_or_else(|| host.to_string(), |port| format!("{host}:{port}")),
    )
}

/// Whether an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// The cause without reqwest's own message, which contains the address and may reveal secrets.
pub(crate) fn cause(error: &reqwest::Error) -> &dyn std::error::Error {
    std::error::Error::source(error).unwrap_or(error)
}

/// An error and its causes as one message, without repetitions.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        next = error.source();
    }
    words
}

/// The innermost cause of an error.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// The delay from the `Retry-After` header, which contains seconds or a date.
pub(crate) fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get("retry-after")?.to_str().ok()?;
    if let Ok(seconds) = text.trim().parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    let wait = date.duration_since(jiff::Timestamp::now());
    Duration::try_from(wait).ok()
}

/// Why a body could not be read.
pub(crate) enum BodyError {
    /// The connection failed before the end of the body.
    Broken(reqwest::Error),
    /// It is longer than the limit.
    TooLong,
}

/// Reads a body of at most `most` bytes as text. Invalid UTF-8 is replaced.
pub(crate) async fn text(response: Response, most: usize) -> Result<String, BodyError> {
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk.map_err(BodyError::Broken)?);
        if bytes.len() > most {
            return Err(BodyError::TooLong);
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_error_contains_only_the_host() {
        for (location, host) in [
            ("https://other/x?key=canary", "other"),
            ("HTTP://me:canary@other:81/", "other:81"),
            ("//other:81/x", "other:81"),
            ("\\\\other/x", "other"),
            ("/\\other/x", "other"),
            ("ftp://other/x", "other"),
            ("/other", "another path of the same host"),
            ("other", "another path of the same host"),
            ("?key=canary", "another path of the same host"),
        ] {
            let headers = HeaderMap::from_iter([(LOCATION, location.parse().unwrap())]);
            let found = redirect_host(StatusCode::TEMPORARY_REDIRECT, &headers);
            assert_eq!(found.as_deref(), Some(host), "{location}");
            assert_eq!(redirect_host(StatusCode::OK, &headers), None);
        }
        assert_eq!(redirect_host(StatusCode::FOUND, &HeaderMap::new()), None);
    }
}
