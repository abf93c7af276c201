//! The HTTP connections to object stores. All requests of the clients of `object_store` pass here, so that the limits
//! hold for each of them: an answer that redirects is an error, every wait and every body has a limit, and the entries of
//! a listing whose keys cannot be paths are left out.

use super::odd_keys::without_odd_keys;
use crate::net::http;
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, Error};
use reqwest::{Client, Method, NoProxy, Proxy};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time limit for the first answer of a store, with all attempts to connect.
const FIRST_WITHIN: Duration = Duration::from_secs(10);
/// The time limit for an answer of a store that has answered before, and for the next part of a body.
pub(super) const SILENT_FOR: Duration = Duration::from_secs(30);
/// The time limit of a request with its content: a large object takes long on a slow line.
const ANSWERED_WITHIN: Duration = Duration::from_secs(900);
/// The speed below which an upload is given up, in bytes per second.
const SLOWEST: usize = 64 << 10;
/// The maximum size of a page of a listing, in bytes. A page of 5,000 keys of 1,024 characters has some 8 MB.
const MAX_LISTING: usize = 32 << 20;
/// The maximum size of an answer that is neither an object nor a listing, in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// Makes the connections of a store's clients.
#[derive(Debug)]
pub(super) struct Connector;

/// The connection of a client.
#[derive(Debug)]
struct BucketConnection {
    client: Client,
    /// When the first request was sent.
    began: OnceLock<Instant>,
    has_answered: AtomicBool,
}

/// An answer whose body has not been read.
type StoreAnswer = Result<HttpResponse, HttpError>;

/// Why an answer is not accepted.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestRefusal {
    #[error(
        "it redirects to {0}; evaltrail does not follow redirects, so that keys are sent only to the given address"
    )]
    Redirect(String),
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    #[error("an answer has more than {} MB", .0 >> 20)]
    TooLong(usize),
}

impl RequestRefusal {
    fn into_error(self, kind: HttpErrorKind) -> HttpError {
        HttpError::new(kind, self)
    }

    /// The refusal that caused an error.
    pub(super) fn within(error: &Error) -> Option<&RequestRefusal> {
        let mut cause = std::error::Error::source(error);
        while let Some(one) = cause {
            if let Some(found) = one.downcast_ref() {
                return Some(found);
            }
            cause = one.source();
        }
        None
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = client(options).map_err(|error| Error::Generic {
            store: "HTTP",
            source: Box::new(error),
        })?;
        Ok(HttpClient::new(BucketConnection {
            client,
            began: OnceLock::new(),
            has_answered: AtomicBool::new(false),
        }))
    }
}

/// A client with the options that users can set by variables of the environment, such as `AWS_PROXY_URL`.
fn client(options: &ClientOptions) -> reqwest::Result<Client> {
    let value = |key| options.get_config_value(&key);
    let is_set = |key| value(key).is_some_and(|value| value == "true");
    let mut builder = http::client_builder()
        .http1_only()
        .timeout(ANSWERED_WITHIN)
        .https_only(!is_set(ClientConfigKey::AllowHttp))
        .danger_accept_invalid_certs(is_set(ClientConfigKey::AllowInvalidCertificates));
    // The addresses that provide the credentials of a cloud's machines have a short limit.
    let seconds = value(ClientConfigKey::ConnectTimeout)
        .and_then(|limit| limit.strip_suffix('s')?.parse().ok());
    if let Some(seconds) = seconds {
        builder = builder.connect_timeout(Duration::from_secs(seconds));
    }
    if let Some(url) = value(ClientConfigKey::ProxyUrl) {
        let excludes =
            value(ClientConfigKey::ProxyExcludes).and_then(|hosts| NoProxy::from_string(&hosts));
        builder = builder.proxy(Proxy::all(url)?.no_proxy(excludes));
        if let Some(certificate) = value(ClientConfigKey::ProxyCaCertificate) {
            builder =
                builder.tls_certs_merge([reqwest::Certificate::from_pem(certificate.as_bytes())?]);
        }
    }
    builder.build()
}

impl BucketConnection {
    /// The limit for the headers of an answer to a request with a body of `uploads` bytes, the part of it that has passed, and
    /// the kind of the error after it.
    fn limit(&self, uploads: usize) -> (Duration, Duration, HttpErrorKind) {
        let upload = Duration::from_secs((uploads / SLOWEST) as u64);
        match self.has_answered.load(Ordering::Relaxed) {
            true => (SILENT_FOR + upload, Duration::ZERO, HttpErrorKind::Timeout),
            // The limit covers all attempts; with this kind of error there is no other one.
            false => {
                let passed = self.began.get_or_init(Instant::now).elapsed();
                (FIRST_WITHIN + upload, passed, HttpErrorKind::Unknown)
            }
        }
    }

    /// Waits for the headers of an answer to a request with a body of `uploads` bytes.
    async fn headers(
        &self,
        uploads: usize,
        answer: impl Future<Output = StoreAnswer>,
    ) -> StoreAnswer {
        let (limit, passed, kind) = self.limit(uploads);
        let waited = tokio::time::timeout(limit.saturating_sub(passed), answer).await;
        waited.unwrap_or_else(|_| Err(RequestRefusal::Silent(limit).into_error(kind)))
    }
}

#[async_trait]
impl HttpService for BucketConnection {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (is_listing, is_get) = (is_listing(&request), request.method() == Method::GET);
        let uploads = request.body().content_length();
        let answer = self.headers(uploads, self.client.call(request)).await?;
        self.has_answered.store(true, Ordering::Relaxed);
        if let Some(host) = http::redirect_host(answer.status(), answer.headers()) {
            return Err(RequestRefusal::Redirect(host).into_error(HttpErrorKind::Unknown));
        }
        let is_success = answer.status().is_success();
        // Whoever reads an object knows how long it may be.
        if is_success && is_get && !is_listing {
            return Ok(answer);
        }
        let (mut parts, body) = answer.into_parts();
        let most = if is_listing { MAX_LISTING } else { MAX_ANSWER };
        let mut body = read_body(body, most, SILENT_FOR).await?;
        if is_success && is_listing {
            let (listing, left_out) = without_odd_keys(&body);
            parts.extensions.insert(left_out);
            body = listing.into();
        }
        Ok(HttpResponse::from_parts(parts, body.into()))
    }
}

/// Whether a request is for a page of a listing, by the interfaces of S3 and Google, and of Azure.
fn is_listing(request: &HttpRequest) -> bool {
    let mut parts = request.uri().query().unwrap_or_default().split('&');
    request.method() == Method::GET
        && parts.any(|part| part == "list-type=2" || part == "comp=list")
}

/// Reads a body of at most `most` bytes, whose next bytes must come within `limit`.
async fn read_body(
    body: HttpResponseBody,
    most: usize,
    limit: Duration,
) -> Result<Bytes, HttpError> {
    let mut bytes = BytesMut::new();
    let mut pieces = body.bytes_stream();
    loop {
        // An error of another kind would be retried, and each retry would take as long.
        let silent = |_| RequestRefusal::Silent(limit).into_error(HttpErrorKind::Unknown);
        let Some(piece) = tokio::time::timeout(limit, pieces.next())
            .await
            .map_err(silent)?
        else {
            return Ok(bytes.freeze());
        };
        bytes.extend_from_slice(&piece?);
        if bytes.len() > most {
            return Err(RequestRefusal::TooLong(most).into_error(HttpErrorKind::Unknown));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    /// An error of the kind `Timeout` would be retried, so a stalled listing would take four times as long.
    #[tokio::test]
    async fn stalled_body_is_not_retried() {
        let stopped = StreamBody::new(futures_util::stream::pending::<
            Result<Frame<Bytes>, HttpError>,
        >());
        let error = read_body(HttpResponseBody::new(stopped), 10, Duration::from_millis(1))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::Unknown);
    }

    #[tokio::test]
    async fn body_of_maximum_size_is_read() {
        let read = async |most: usize| {
            let body = HttpResponseBody::from(Bytes::from_static(b"abc"));
            read_body(body, most, SILENT_FOR).await
        };
        assert_eq!(read(3).await.unwrap(), "abc");
        assert!(read(2).await.is_err());
    }

    #[test]
    fn listing_is_a_get_with_its_parameter() {
        let is_listing_of = |method: Method, query: &str| {
            let mut request = HttpRequest::new(Bytes::new().into());
            *request.method_mut() = method;
            *request.uri_mut() = format!("http://store/b?{query}").parse().unwrap();
            is_listing(&request)
        };
        assert!(is_listing_of(Method::GET, "prefix=a&list-type=2"));
        assert!(is_listing_of(Method::GET, "comp=list"));
        assert!(!is_listing_of(Method::GET, "prefix=a"));
        assert!(!is_listing_of(Method::POST, "list-type=2"));
    }

    fn connection() -> BucketConnection {
        BucketConnection {
            client: client(&ClientOptions::new()).unwrap(),
            began: OnceLock::new(),
            has_answered: AtomicBool::new(false),
        }
    }

    #[test]
    fn upload_has_longer_time_limit() {
        let connection = connection();
        let (limit, passed, kind) = connection.limit(5 * SLOWEST);
        assert_eq!(limit, FIRST_WITHIN + Duration::from_secs(5));
        assert!(
            passed < limit && matches!(kind, HttpErrorKind::Unknown),
            "all attempts share the limit"
        );
        connection.has_answered.store(true, Ordering::Relaxed);
        let (limit, passed, kind) = connection.limit(5 * SLOWEST);
        assert_eq!(
            (limit, passed),
            (SILENT_FOR + Duration::from_secs(5), Duration::ZERO)
        );
        assert!(matches!(kind, HttpErrorKind::Timeout));
    }
}
