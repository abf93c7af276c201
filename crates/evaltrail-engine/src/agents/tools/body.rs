//! Answers of the server that agents ask.

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::Value;
use std::io;

/// The body of an answer.
pub(super) type ResponseBody = UnsyncBoxBody<Bytes, io::Error>;

/// An answer in JSON.
pub(super) fn reply(value: &Value) -> Response<ResponseBody> {
    let mut response = empty(StatusCode::OK);
    *response.body_mut() = full(value.to_string().into());
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(full(Bytes::new()));
    *response.status_mut() = status;
    response
}

fn full(bytes: Bytes) -> ResponseBody {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}
