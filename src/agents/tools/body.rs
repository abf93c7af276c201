//! Requests and answers of the server that agents ask.

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use serde_json::Value;
use std::io;

/// The maximum size of a request, in bytes.
const LONGEST_REQUEST: usize = 16 << 20;

/// The body of an answer.
pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// The body of a request; `None` if it is incomplete or too long.
pub(super) async fn whole(request: Request<Incoming>) -> Option<Bytes> {
    Some(Limited::new(request.into_body(), LONGEST_REQUEST).collect().await.ok()?.to_bytes())
}

/// An answer in JSON.
pub(super) fn reply(value: &Value) -> Response<Body> {
    let mut response = empty(StatusCode::OK);
    *response.body_mut() = full(value.to_string().into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(full(Bytes::new()));
    *response.status_mut() = status;
    response
}

fn full(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}
