//! Incremental parser for server-sent events.
//!
//! Written by hand, because it is small and, without a stream type around it, also parses
//! recordings. Characters may be split between chunks, so lines are decoded only when complete.
//! Comments and unknown fields are ignored.

/// One event: its name, if it has one, and its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

#[derive(Default)]
pub(crate) struct SseReader {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// The last byte was CR: an LF right after it belongs to the same line end.
    after_return: bool,
    begun: bool,
}

/// A line or an event that exceeds the maximum size.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLong;

/// Maximum size of an event: larger than any model's answer, but bounded.
const MAX_EVENT_BYTES: usize = 32 << 20;

impl SseReader {
    /// Parses the next bytes and returns the events they complete.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, EventTooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            // CRLF may be split between two chunks, so the CR is remembered.
            if byte == b'\n' && std::mem::take(&mut self.after_return) {
                continue;
            }
            self.after_return = byte == b'\r';
            if byte == b'\n' || byte == b'\r' {
                events.extend(self.end_line());
            } else {
                self.line.push(byte);
            }
            // A server that never ends its line would otherwise fill the memory.
            if self.line.len() + self.event.data.len() > MAX_EVENT_BYTES {
                return Err(EventTooLong);
            }
        }
        Ok(events)
    }

    /// Returns the pending event at the end of the stream: some servers omit the last empty line.
    pub(crate) fn finish_stream(&mut self) -> Option<SseEvent> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.take_pending_event()
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let mut line = &*line;
        if !std::mem::replace(&mut self.begun, true) {
            // The standard allows one byte order mark at the start.
            line = line.trim_start_matches('\u{feff}');
        }
        if line.is_empty() {
            return self.take_pending_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        // Exactly one space belongs to the syntax; more are data.
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.name = Some(value.to_owned()),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
        None
    }

    fn take_pending_event(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        // An event without a data field is not dispatched, even if it has a name.
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(Option<String>, String)> {
        let mut reader = SseReader::default();
        let mut events: Vec<SseEvent> = pieces
            .into_iter()
            .flat_map(|piece| reader.push_bytes(piece).unwrap())
            .collect();
        events.extend(reader.finish_stream());
        events
            .into_iter()
            .map(|event| (event.name, event.data))
            .collect()
    }

    const STREAM: &str = "\u{feff}: hello\n\ndata: one\n\nevent: ping\rdata:{\"ä\":\"日本\"}\r\rid: 7\r\ndata: two\r\ndata:  three\r\nretry: 1\r\n\r\nevent: empty\n\ndata: last";

    #[test]
    fn events_are_told_apart() {
        let expected = [
            (None, "one"),
            (Some("ping"), "{\"ä\":\"日本\"}"),
            (None, "two\n three"),
            (None, "last"),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, data)| (name.map(str::to_owned), (*data).to_owned()))
            .collect();
        assert_eq!(read([STREAM.as_bytes()]), expected);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut reader = SseReader::default();
        let piece = vec![b'x'; MAX_EVENT_BYTES / 2];
        assert!(reader.push_bytes(&piece).is_ok());
        assert_eq!(
            reader
                .push_bytes(&piece)
                .and_then(|_| reader.push_bytes(b"x")),
            Err(EventTooLong)
        );
    }

    proptest! {
        /// However the bytes are cut, also inside a letter or a line end, the events are the same.
        #[test]
        fn cuts_do_not_matter(cuts in proptest::collection::vec(0..STREAM.len(), 0..20)) {
            let mut cuts = cuts;
            cuts.extend([0, STREAM.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).filter_map(|pair| match pair {
                [from, to] => STREAM.as_bytes().get(*from..*to),
                _ => None,
            });
            prop_assert_eq!(read(pieces), read([STREAM.as_bytes()]));
        }
    }
}
