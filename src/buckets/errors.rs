//! Why an object store could not be used, in words that name the address.

use super::address::BucketAddress;
use super::connection::Refused;
use object_store::Error;

/// Why an object store could not be used.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// There is no such object.
    #[error("{0}: there is no such object")]
    Missing(String),
    /// An object with this key exists.
    #[error("{0}: it exists already")]
    Exists(String),
    /// The object was changed after it was read.
    #[error("{0}: it was changed after it was read")]
    Changed(String),
    /// An object, or the number of objects, is above a limit.
    #[error("{0}")]
    TooLarge(String),
    /// For example that there are no credentials, or the store cannot be reached. Contains the message.
    #[error("{0}")]
    Other(String),
}

/// The error of a request in the words of evaltrail.
pub(super) fn told(address: &BucketAddress, error: &Error) -> BucketError {
    let named = address.to_string();
    if let Some(refused) = Refused::within(error) {
        return BucketError::Other(format!("{named}: the store's answer is not accepted: {refused}"));
    }
    match error {
        Error::NotFound { .. } => BucketError::Missing(named),
        Error::AlreadyExists { .. } => BucketError::Exists(named),
        Error::Precondition { .. } => BucketError::Changed(named),
        Error::PermissionDenied { .. } => BucketError::Other(format!("{named}: permission denied")),
        Error::Unauthenticated { .. } => {
            BucketError::Other(format!("{named}: the store does not accept the credentials"))
        }
        error => BucketError::Other(format!("{named}: {}", shortened(&words(error)))),
    }
}

/// The part of an error of `object_store` that says why: the answer of the store without its XML, or the error of the
/// connection.
fn shortened(text: &str) -> String {
    const ANSWER: &str = "Server returned non-2xx status code: ";
    const CONNECTION: &str = "HTTP error: ";
    if let Some((_, answer)) = text.split_once(ANSWER) {
        let status = answer.split_once(": ").map_or(answer, |(status, _)| status);
        let message = answer.split_once("<Message>").and_then(|(_, rest)| rest.split_once("</Message>"));
        let message = message.map_or_else(String::new, |(message, _)| format!(": {}", message.trim()));
        return format!("the store answered {status}{message}");
    }
    match text.split_once(CONNECTION) {
        Some((_, why)) => format!("the store cannot be reached: {why}"),
        None => text.to_string(),
    }
}

/// The causes of an error in one line, without repetitions.
pub(super) fn words(error: &Error) -> String {
    let mut told = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(one) = cause {
        let text = one.to_string();
        if !told.contains(&text) {
            told = format!("{told}: {text}");
        }
        cause = one.source();
    }
    told.replace('\n', " ")
}
