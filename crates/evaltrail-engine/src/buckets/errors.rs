//! Why an object store could not be used, in words that name the address.

use super::address::BucketAddress;
use super::connection::RequestRefusal;
use evaltrail_core::domain::{Secrets, is_ordinary_value, may_be_secret_name};
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
pub(super) fn bucket_error(address: &BucketAddress, error: &Error) -> BucketError {
    let named = address.to_string();
    if let Some(refused) = RequestRefusal::within(error) {
        return BucketError::Other(format!(
            "{named}: the store's answer is not accepted: {refused}"
        ));
    }
    match error {
        Error::NotFound { .. } => BucketError::Missing(named),
        Error::AlreadyExists { .. } => BucketError::Exists(named),
        Error::Precondition { .. } => BucketError::Changed(named),
        Error::PermissionDenied { .. } => BucketError::Other(format!("{named}: permission denied")),
        Error::Unauthenticated { .. } => BucketError::Other(format!(
            "{named}: the store does not accept the credentials"
        )),
        error => BucketError::Other(format!(
            "{named}: {}",
            mask_secrets(&shortened(&error_text(error)), environment())
        )),
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
fn mask_secrets(text: &str, variables: impl Iterator<Item = (String, String)>) -> String {
    let is_secret = |(name, value): &(String, String)| {
        may_be_secret_name(name) && !PATHS.contains(&name.as_str()) && !is_ordinary_value(value)
    };
    Secrets::new(variables.filter(is_secret).map(|(_, value)| value))
        .mask(text)
        .into_owned()
}

/// The part of an error of `object_store` that says why: the answer of the store without its XML, or the error of the
/// connection.
fn shortened(text: &str) -> String {
    const ANSWER: &str = "Server returned non-2xx status code: ";
    const CONNECTION: &str = "HTTP error: ";
    if let Some((_, answer)) = text.split_once(ANSWER) {
        let status = answer.split_once(": ").map_or(answer, |(status, _)| status);
        let message = answer
            .split_once("<Message>")
            .and_then(|(_, rest)| rest.split_once("</Message>"));
        let message =
            message.map_or_else(String::new, |(message, _)| format!(": {}", message.trim()));
        return format!("the store answered {status}{message}");
    }
    match text.split_once(CONNECTION) {
        Some((_, why)) => format!("the store cannot be reached: {why}"),
        None => text.to_string(),
    }
}

/// The causes of an error in one line, without repetitions.
pub(super) fn error_text(error: &Error) -> String {
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
    fn long_error_messages_are_shortened() {
        let address = BucketAddress::parse("gs://b/x").unwrap();
        let source = || -> Box<dyn std::error::Error + Send + Sync> { "cause".into() };
        let (path, store) = ("x".to_string(), "s");
        let denied = Error::PermissionDenied {
            path: path.clone(),
            source: source(),
        };
        assert_eq!(
            bucket_error(&address, &denied).to_string(),
            "gs://b/x: permission denied"
        );
        let unknown = Error::Unauthenticated {
            path: path.clone(),
            source: source(),
        };
        assert_eq!(
            bucket_error(&address, &unknown).to_string(),
            "gs://b/x: the store does not accept the credentials"
        );
        let missing = Error::NotFound {
            path: path.clone(),
            source: source(),
        };
        assert!(matches!(
            bucket_error(&address, &missing),
            BucketError::Missing(_)
        ));
        let exists = Error::AlreadyExists {
            path: path.clone(),
            source: source(),
        };
        assert!(matches!(
            bucket_error(&address, &exists),
            BucketError::Exists(_)
        ));
        let changed = Error::Precondition {
            path,
            source: source(),
        };
        assert!(matches!(
            bucket_error(&address, &changed),
            BucketError::Changed(_)
        ));
        let other = Error::Generic {
            store,
            source: source(),
        };
        assert_eq!(
            bucket_error(&address, &other).to_string(),
            "gs://b/x: Generic s error: cause"
        );
    }

    #[test]
    fn rejected_answer_is_reported() {
        use object_store::client::{HttpError, HttpErrorKind};
        let address = BucketAddress::parse("s3://b/x").unwrap();
        let refused = HttpError::new(
            HttpErrorKind::Unknown,
            RequestRefusal::Redirect("other.example".into()),
        );
        let error = Error::Generic {
            store: "s",
            source: Box::new(refused),
        };
        let said = bucket_error(&address, &error).to_string();
        assert!(
            said.starts_with(
                "s3://b/x: the store's answer is not accepted: it redirects to other.example;"
            ),
            "{said}"
        );
    }

    #[test]
    fn the_environment_is_that_of_the_process() {
        assert_eq!(
            environment()
                .find(|(name, _)| name == "PATH")
                .map(|(_, value)| value),
            std::env::var("PATH").ok()
        );
        assert!(environment().count() > 1);
    }

    #[test]
    fn store_errors_are_shown_without_xml() {
        let answer = "Error performing GET: Server returned non-2xx status code: 403 Forbidden: <Error><Message> no </Message></Error>";
        assert_eq!(shortened(answer), "the store answered 403 Forbidden: no");
        assert_eq!(
            shortened("Server returned non-2xx status code: 500 Internal Server Error"),
            "the store answered 500 Internal Server Error"
        );
        assert_eq!(
            shortened("HTTP error: connection refused"),
            "the store cannot be reached: connection refused"
        );
        assert_eq!(shortened("other"), "other");
    }

    /// Skips a cause that the text already contains.
    #[test]
    fn error_causes_are_named_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct WrappingError(#[source] std::io::Error);
        let source = Box::new(WrappingError(std::io::Error::other("first\nsecond")));
        assert_eq!(
            error_text(&Error::Generic { store: "s", source }),
            "Generic s error: outer: first second"
        );
    }

    #[test]
    fn error_text_masks_environment_secrets() {
        let variables = [
            ("AWS_SECRET_ACCESS_KEY", "canary/key+1"),
            ("AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=canary"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
            ("AWS_REGION", "eu-west-1"),
        ];
        let text = "no canary%2Fkey%2B1 in eu-west-1: sv=1&sig=canary, /home/me/key.json";
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        assert_eq!(
            mask_secrets(text, variables),
            "no [redacted] in eu-west-1: [redacted], /home/me/key.json"
        );
    }
}
