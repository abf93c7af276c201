//! The spans of a batch that an agent sends, within a limit of memory.

use super::TraceSpan;
use crate::formats::json::{ITEM, MEMBER};
use serde_json::Value;

/// Spans of wanted traces.
#[derive(Debug, Default)]
pub struct SpanBatch {
    /// The spans, in the order of the batch.
    pub spans: Vec<TraceSpan>,
    /// The memory that they take, in bytes.
    pub size: usize,
    /// The ids of wanted traces of which spans are missing, because they need too much memory.
    pub cut: Vec<String>,
    most: usize,
}

/// Why a batch cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UnusableBatch {
    /// It needs too much memory.
    #[error("it needs too much memory")]
    TooLarge,
    /// It is not in a known format. Contains the message.
    #[error("{0}")]
    Invalid(String),
}

/// The memory of the digits of a number, in bytes.
const NUMBER: usize = 32;

/// Memory that a span may take, in bytes.
pub(super) struct SpanMemory {
    left: usize,
}

impl SpanMemory {
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), UnusableBatch> {
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or(UnusableBatch::TooLarge)?;
        Ok(())
    }

    /// Takes the memory of an element of a list.
    pub(super) fn item(&mut self) -> Result<(), UnusableBatch> {
        self.take(ITEM)
    }

    /// Copies a value.
    pub(super) fn copy(&mut self, value: &Value) -> Result<Value, UnusableBatch> {
        self.take_copy(value)?;
        Ok(value.clone())
    }

    /// Takes the memory of a copy of a value.
    fn take_copy(&mut self, value: &Value) -> Result<(), UnusableBatch> {
        match value {
            Value::Null | Value::Bool(_) => Ok(()),
            Value::Number(_) => self.take(NUMBER),
            Value::String(text) => self.take(text.len()),
            Value::Array(items) => items.iter().try_for_each(|item| {
                self.item()?;
                self.take_copy(item)
            }),
            Value::Object(members) => members.iter().try_for_each(|(name, member)| {
                self.member()?;
                self.take(name.len())?;
                self.take_copy(member)
            }),
        }
    }

    /// Takes the memory of a member of an object.
    pub(super) fn member(&mut self) -> Result<(), UnusableBatch> {
        self.take(MEMBER)
    }
}

impl SpanBatch {
    pub(super) fn new(most: usize) -> SpanBatch {
        SpanBatch {
            most,
            ..SpanBatch::default()
        }
    }

    /// Adds the span that `read` makes. Its trace is cut off if it needs more memory than is left.
    pub(super) fn add(
        &mut self,
        trace: String,
        read: impl FnOnce(&str, &mut SpanMemory) -> Result<TraceSpan, UnusableBatch>,
    ) -> Result<(), UnusableBatch> {
        let mut room = SpanMemory {
            left: self.most - self.size,
        };
        match read(&trace, &mut room) {
            Ok(span) => {
                self.size = self.most - room.left;
                self.spans.push(span);
            }
            Err(UnusableBatch::TooLarge) if !self.cut.contains(&trace) => self.cut.push(trace),
            Err(UnusableBatch::TooLarge) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
