//! HTTP as evaltrail speaks it: one way to make a client, one way to wait, one way to tell a cause.

use futures_util::StreamExt;
use reqwest::{Client, Response};
use std::time::Duration;
use url::Url;

const CONNECT: Duration = Duration::from_secs(10);

/// A client that follows no redirects: what carries a key or a body goes where it was sent. Nothing that stays
/// on this machine goes through a proxy.
pub(crate) fn client(base: &Url) -> Result<Client, String> {
    // The provider is process-wide; another one in place already is as good.
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

/// The cause alone: reqwest's own text repeats the address, which may hold secrets.
pub(crate) fn cause(error: &reqwest::Error) -> &dyn std::error::Error {
    std::error::Error::source(error).unwrap_or(error)
}

/// An error with its causes, each said once.
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

/// What a server asks to wait: seconds, or a date.
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
    /// It broke off.
    Broken(reqwest::Error),
    /// It is longer than anyone needs.
    TooLong,
}

/// A body as text, of at most so many bytes.
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
