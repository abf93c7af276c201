//! What is waited for while an agent is connected.

use evaltrail_core::domain::{SentSecrets, clean_line};
use std::sync::Arc;
use tokio::sync::watch;

/// Receives what is waited for. The default has no receiver.
#[derive(Clone, Debug, Default)]
pub struct ConnectionStatus {
    text: Option<watch::Sender<String>>,
    /// Removed from what a server printed.
    secrets: Arc<SentSecrets>,
}

impl ConnectionStatus {
    /// A status, and its receiver.
    pub fn new() -> (ConnectionStatus, watch::Receiver<String>) {
        let (sender, receiver) = watch::channel(String::new());
        let status = ConnectionStatus {
            text: Some(sender),
            ..ConnectionStatus::default()
        };
        (status, receiver)
    }

    /// The same status, without these secrets.
    pub(super) fn without(&self, secrets: &Arc<SentSecrets>) -> ConnectionStatus {
        ConnectionStatus {
            text: self.text.clone(),
            secrets: secrets.clone(),
        }
    }

    /// Says what is done, and the last line of what the program printed that does it. Both are shown without secrets.
    pub fn report(&self, doing: &str, printed: &str) {
        let Some(text) = &self.text else { return };
        // A secret can have several lines: they are removed before a line is taken.
        let printed = self.secrets.mask(printed);
        let last = printed.lines().rfind(|line| !line.trim().is_empty());
        let doing = clean_line(&self.secrets.mask(doing)).into_owned();
        let new = match last {
            None => doing,
            Some(last) => format!("{doing}: {}", clean_line(last.trim())),
        };
        text.send_if_modified(|old| {
            let differs = *old != new;
            *old = new;
            differs
        });
    }
}
