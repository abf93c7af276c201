//! What is waited for while an agent is connected.

use crate::domain::{SentSecrets, clean_line};
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

    /// Says what is done, and what the program that does it printed last.
    pub fn set(&self, doing: &str, printed: &str) {
        let Some(text) = &self.text else { return };
        let printed = match printed.is_empty() {
            true => String::new(),
            false => format!(": {}", clean_line(&self.secrets.mask(printed))),
        };
        let new = format!("{doing}{printed}");
        text.send_if_modified(|old| {
            let differs = *old != new;
            *old = new;
            differs
        });
    }
}
