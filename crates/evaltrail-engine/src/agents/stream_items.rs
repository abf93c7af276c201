//! The items of a streamed response.

use crate::agents::remote::{MAX_BODY, MAX_TURN, Remote, silence};
use crate::agents::{AgentError, ErrorKind, TurnBudget};
use crate::net::{SseDecoder, SseEvent};
use crate::process::clock::timeout;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use std::collections::VecDeque;

/// One item of a turn.
#[derive(Debug)]
pub(super) struct StreamItem {
    /// The name of a server-sent event; empty if it has none.
    pub(super) name: String,
    /// Its data.
    pub(super) value: Value,
    /// The memory that the value takes, in bytes.
    pub(super) size: usize,
}

/// The items of a turn as they arrive.
pub(super) struct Items<'a> {
    remote: &'a Remote,
    response: Response,
    decoder: Decoder,
    waiting: VecDeque<SseEvent>,
    read: usize,
    has_ended: bool,
    budget: TurnBudget,
}

enum Decoder {
    Events(SseDecoder),
    /// Lines of JSON: the bytes of the last, incomplete one.
    Lines(Vec<u8>),
}

impl Remote {
    /// Reads the response to a turn item by item: server-sent events, or lines of JSON.
    pub(super) fn items<'a>(&'a self, response: Response, budget: TurnBudget) -> Items<'a> {
        let kind = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        let decoder = match kind.starts_with("text/event-stream") {
            true => Decoder::Events(SseDecoder::default()),
            false => Decoder::Lines(Vec::new()),
        };
        Items {
            remote: self,
            response,
            decoder,
            waiting: VecDeque::new(),
            read: 0,
            has_ended: false,
            budget,
        }
    }
}

impl Items<'_> {
    /// The next item; `None` at the end of the stream. `[DONE]` is skipped.
    pub(super) async fn next(&mut self) -> Result<Option<StreamItem>, AgentError> {
        loop {
            while let Some(event) = self.waiting.pop_front() {
                if event.data.trim() != "[DONE]" {
                    return self.parsed(event).map(Some);
                }
            }
            if self.has_ended {
                return Ok(None);
            }
            self.read_more().await?;
        }
    }

    /// Counts an item that is stored for the turn. Errors: the limit of the turn or of the run is exceeded.
    pub(super) fn charge(&mut self, size: usize) -> Result<(), AgentError> {
        self.budget.charge(size)
    }

    /// The budget of the turn, for what is read after the stream.
    pub(super) fn into_budget(self) -> TurnBudget {
        self.budget
    }

    async fn read_more(&mut self) -> Result<(), AgentError> {
        let protocol = |why: String| AgentError::new(ErrorKind::Protocol, why);
        let chunk = match self.remote.idle {
            None => self.response.chunk().await,
            Some(idle) => timeout(idle, self.response.chunk())
                .await
                .map_err(|_| silence(idle))?,
        };
        let Some(chunk) = chunk.map_err(|error| self.remote.broken(error))? else {
            self.has_ended = true;
            let last = match &mut self.decoder {
                Decoder::Events(decoder) => decoder.finish().map_err(protocol)?,
                Decoder::Lines(rest) => line_of(&std::mem::take(rest)),
            };
            self.waiting.extend(last);
            return Ok(());
        };
        self.read += chunk.len();
        if self.read > MAX_TURN {
            return Err(protocol(
                "the agent sent more than 256 MB in one turn".into(),
            ));
        }
        match &mut self.decoder {
            Decoder::Events(decoder) => {
                self.waiting.extend(decoder.feed(&chunk).map_err(protocol)?)
            }
            Decoder::Lines(rest) => {
                rest.extend_from_slice(&chunk);
                if let Some(end) = memchr::memrchr(b'\n', rest) {
                    let after = rest.split_off(end + 1);
                    let lines = std::mem::replace(rest, after);
                    self.waiting
                        .extend(lines.split(|byte| *byte == b'\n').filter_map(line_of));
                }
                if rest.len() > MAX_BODY {
                    return Err(protocol(
                        "a line of the response is longer than 32 MB".into(),
                    ));
                }
            }
        }
        Ok(())
    }

    fn parsed(&self, event: SseEvent) -> Result<StreamItem, AgentError> {
        if event.data.len() > self.budget.left() {
            return Err(self.budget.exceeded());
        }
        let short = || self.remote.beginning(&event.data);
        let no_json = |error| {
            self.remote
                .clean(&format!("an event is not JSON ({error}): {}", short()))
        };
        let (value, size) = self.budget.parse(&event.data, no_json)?;
        Ok(StreamItem {
            name: event.name,
            value,
            size,
        })
    }
}

/// A line of JSON as an event without a name; `None` for a blank line.
fn line_of(line: &[u8]) -> Option<SseEvent> {
    let data = String::from_utf8_lossy(line).trim().to_string();
    (!data.is_empty()).then_some(SseEvent {
        name: String::new(),
        data,
    })
}
