//! Reading of the bodies of responses, up to a limit of size.

use super::endpoint::Remote;
use crate::agents::memory_limit::parse_answer;
use crate::agents::{AgentError, ErrorKind, TurnBudget};
use crate::net::http::{self, BodyError};
use reqwest::Response;
use serde_json::Value;

/// The maximum size of a response body, in bytes.
pub(in crate::agents) const MAX_BODY: usize = 32 << 20;
/// The maximum size of the items of one turn as they are sent, in bytes.
pub(in crate::agents) const MAX_TURN: usize = 256 << 20;

impl Remote {
    /// Reads the body of a response as text.
    pub(in crate::agents) async fn text(&self, response: Response) -> Result<String, AgentError> {
        http::text(response, MAX_BODY)
            .await
            .map_err(|error| match error {
                BodyError::Broken(error) => self.broken(error),
                BodyError::TooLong => AgentError::new(
                    ErrorKind::Protocol,
                    "the server's response is longer than 32 MB",
                ),
            })
    }

    /// Parses a body that is not an event of a turn.
    pub(in crate::agents) fn parsed(&self, text: &str) -> Result<Value, AgentError> {
        let short = self.beginning(text);
        parse_answer(text).map_err(|error| {
            self.error(
                ErrorKind::Protocol,
                format!("the answer is not JSON ({error}): {short}"),
            )
        })
    }

    /// Reads the response to a turn as one value.
    pub(in crate::agents) async fn json_body(
        &self,
        response: Response,
        budget: &mut TurnBudget,
    ) -> Result<Value, AgentError> {
        let text = self.text(response).await?;
        if text.len() > budget.left() {
            return Err(budget.exceeded());
        }
        let short = self.beginning(&text);
        let (value, size) = budget.parse(&text, |error| {
            self.clean(&format!("the answer is not JSON ({error}): {short}"))
        })?;
        budget.charge(size)?;
        Ok(value)
    }
}
