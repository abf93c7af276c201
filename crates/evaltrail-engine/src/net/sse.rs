//! A decoder of server-sent events. It accepts every line ending, and input that is split at any byte.

/// The maximum size of a line or an event, in bytes.
const MAX_EVENT_BYTES: usize = 64 << 20;

/// A server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The name of the event; empty if the server gave none.
    pub name: String,
    /// Its data: the data lines, joined by newlines.
    pub data: String,
}

/// Decodes a stream of server-sent events. Comments, and events without data, are skipped.
#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    name: String,
    data: String,
    has_data: bool,
    after_cr: bool,
    started: bool,
}

impl SseDecoder {
    /// Decodes more bytes, and returns every event that is now complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, String> {
        let mut out = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|&b| b == b'\n' || b == b'\r') {
            let ends_crlf = self.after_cr && at == 0 && rest[0] == b'\n' && self.line.is_empty();
            self.take(&rest[..at])?;
            self.after_cr = rest[at] == b'\r';
            rest = &rest[at + 1..];
            if !ends_crlf {
                out.extend(self.end_line()?);
            }
        }
        if !rest.is_empty() {
            self.after_cr = false;
        }
        self.take(rest)?;
        Ok(out)
    }

    /// Ends the stream. Returns an event that was not followed by a blank line.
    pub fn finish(&mut self) -> Result<Option<SseEvent>, String> {
        self.end_line()?;
        Ok(self.end_event())
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.line.len() + self.data.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(format!(
                "an event is longer than {} MB",
                MAX_EVENT_BYTES >> 20
            ));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, String> {
        let line = std::mem::take(&mut self.line);
        let mut line =
            String::from_utf8(line).map_err(|_| "the stream is not UTF-8".to_string())?;
        if !std::mem::replace(&mut self.started, true) && line.starts_with('\u{FEFF}') {
            line.remove(0);
        }
        if line.is_empty() {
            return Ok(self.end_event());
        }
        if let Some(name) = line.strip_prefix("event:") {
            self.name = name.strip_prefix(' ').unwrap_or(name).to_string();
        }
        if let Some(data) = line.strip_prefix("data:") {
            if self.has_data {
                self.data.push('\n');
            }
            self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            self.has_data = true;
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let (name, data) = (
            std::mem::take(&mut self.name),
            std::mem::take(&mut self.data),
        );
        std::mem::take(&mut self.has_data).then_some(SseEvent { name, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(chunks: &[&[u8]]) -> Vec<SseEvent> {
        let mut decoder = SseDecoder::default();
        let mut out: Vec<SseEvent> = chunks
            .iter()
            .flat_map(|chunk| decoder.feed(chunk).unwrap())
            .collect();
        out.extend(decoder.finish().unwrap());
        out
    }

    const STREAM: &str = "\u{feff}: hello\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nevent: error\rdata:é\r\rid: 3\n\ndata: last";

    #[test]
    fn split_events_are_joined() {
        let found = all(&[STREAM.as_bytes()]);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|one| (one.name.as_str(), one.data.as_str()))
            .collect();
        assert_eq!(found, [("", "{\"a\":\n1}"), ("error", "é"), ("", "last")]);
    }

    #[test]
    fn a_flood_without_a_line_end_is_refused() {
        let mut decoder = SseDecoder::default();
        let chunk = vec![b'x'; 1 << 20];
        let refused = (0..80).any(|_| decoder.feed(&chunk).is_err());
        assert!(refused);
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_chunks(mut cuts in proptest::collection::vec(0..STREAM.len(), 0..6)) {
            cuts.sort_unstable();
            let bytes = STREAM.as_bytes();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(all(&chunks), all(&[bytes]));
        }
    }
}
