//! The server of an agent: requests with limits, and errors in the words of the server and without its secrets.
//!
//! ```text
//! endpoint            the address, and what is sent with each request
//! masking             texts, values and errors without secrets
//! connection_errors   there is no response, or not all of it
//! body                the bodies of responses
//! refusal             responses without success
//! requests            turns, and calls with a time limit
//! ```

mod body;
mod connection_errors;
mod endpoint;
mod error_body;
mod masking;
mod refusal;
mod requests;
mod setup_error;

pub(super) use body::{MAX_BODY, MAX_TURN};
pub(super) use connection_errors::silence;
pub(super) use endpoint::Remote;
pub(super) use error_body::{error_message, error_text};
pub(super) use requests::{RequestBody, SHORT_CALL};
pub(super) use setup_error::setup;
