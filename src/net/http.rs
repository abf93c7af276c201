//! HTTP: creating clients, reading bodies and `Retry-After`, describing errors.

use futures_util::StreamExt;
use reqwest::{Client, Response};
use std::time::Duration;
use url::Url;

const CONNECT: Duration = Duration::from_secs(10);

/// Creates a client. It does not follow redirects, so that keys and bodies are sent only to the given address, and it
/// does not use a proxy for addresses on this machine.
pub(crate) fn client(base: &Url) -> Result<Client, String> {
    // The provider is process-wide; one that is already installed is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("evaltrail/", env!("CARGO_PKG_VERSION")));
    if is_loopback(base) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| chain(&error))
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
