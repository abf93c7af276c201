//! Why an object store could not be used, in words that name the address.

use super::address::BucketAddress;
use super::connection::Refused;
use crate::domain::{Secrets, is_ordinary_value, may_be_secret_name};
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
        error => BucketError::Other(format!("{named}: {}", masked(&shortened(&words(error)), environment()))),
    }
}

/// The variables of the environment that are texts.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Variables with paths of files, whose names look like those of secrets.
const PATHS: [&str; 4] = [
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
];

/// What a store answered, without the secrets of the environment: a store may repeat what it was sent.
fn masked(text: &str, variables: impl Iterator<Item = (String, String)>) -> String {
    let is_secret = |(name, value): &(String, String)| {
        may_be_secret_name(name) && !PATHS.contains(&name.as_str()) && !is_ordinary_value(value)
    };
    Secrets::of(variables.filter(is_secret).map(|(_, value)| value)).mask(text).into_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_shown_without_the_secrets_of_the_environment() {
        let variables = [
            ("AWS_SECRET_ACCESS_KEY", "canary/key+1"),
            ("AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=canary"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
            ("AWS_REGION", "eu-west-1"),
        ];
        let text = "no canary%2Fkey%2B1 in eu-west-1: sv=1&sig=canary, /home/me/key.json";
        let variables = variables.into_iter().map(|(name, value)| (name.to_string(), value.to_string()));
        assert_eq!(masked(text, variables), "no [redacted] in eu-west-1: [redacted], /home/me/key.json");
    }
}
