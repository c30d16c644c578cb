use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Reads one message per line, and limits the length of a line.
#[derive(Debug)]
pub struct LineReader<R> {
    from: R,
    most: usize,
}

/// Holds the content of one line.
#[derive(Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "code that reads lines must handle every case")]
pub enum WireLine {
    /// The text of the line, without its line break.
    Text(String),
    /// A line that is not UTF-8, with U+FFFD in place of the invalid bytes. The valid part can still identify the
    /// message.
    NotText(String),
    /// A line over the limit. Only its first and last bytes are stored.
    TooLong {
        /// The first bytes of the line.
        head: String,
        /// The last bytes of the line.
        tail: String,
    },
}

/// The number of bytes stored from each end of an oversized line. They are enough for the members next to a
/// result.
const EDGE: usize = 512;

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    /// Creates a reader whose lines may have at most `most` bytes.
    pub const fn new(from: R, most: usize) -> Self {
        Self { from, most }
    }

    /// Returns the next line that is not blank, or `None` at the end of the input.
    ///
    /// # Errors
    ///
    /// Returns an error if reading fails.
    pub async fn next(&mut self) -> io::Result<Option<WireLine>> {
        loop {
            let mut line = Vec::new();
            let mut too_long: Option<(Vec<u8>, Vec<u8>)> = None;
            let ended = loop {
                let bytes = self.from.fill_buf().await?;
                if bytes.is_empty() {
                    break true;
                }
                let end = memchr::memchr(b'\n', bytes);
                let piece = &bytes[..end.unwrap_or(bytes.len())];
                if too_long.is_none() && line.len() + piece.len() > self.most {
                    let kept = std::mem::take(&mut line);
                    let head = kept[..kept.len().min(EDGE)].to_vec();
                    too_long = Some((head, kept[kept.len().saturating_sub(EDGE)..].to_vec()));
                }
                match &mut too_long {
                    None => line.extend_from_slice(piece),
                    Some((head, tail)) => {
                        let missing = EDGE.saturating_sub(head.len()).min(piece.len());
                        head.extend_from_slice(&piece[..missing]);
                        tail.extend_from_slice(&piece[piece.len().saturating_sub(EDGE)..]);
                        tail.drain(..tail.len().saturating_sub(EDGE));
                    }
                }
                let used = piece.len() + usize::from(end.is_some());
                self.from.consume(used);
                if end.is_some() {
                    break false;
                }
            };
            if let Some((head, tail)) = too_long {
                let text = |edge: Vec<u8>| String::from_utf8_lossy(&edge).into_owned();
                return Ok(Some(WireLine::TooLong { head: text(head), tail: text(tail) }));
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                if ended {
                    return Ok(None);
                }
                continue;
            }
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(Some(String::from_utf8(line).map_or_else(
                |error| WireLine::NotText(String::from_utf8_lossy(error.as_bytes()).into_owned()),
                WireLine::Text,
            )));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_edges_of_a_line_that_is_too_long_are_kept() {
        let line = format!("head{}tail\nnext", "x".repeat(100_000));
        for capacity in [7, 1000, 1_000_000] {
            let from = tokio::io::BufReader::with_capacity(capacity, line.as_bytes());
            let mut reader = LineReader::new(from, 2000);
            let Some(WireLine::TooLong { head, tail }) = reader.next().await.unwrap() else {
                panic!()
            };
            assert!(head.starts_with("headx") && head.len() == EDGE, "{}", head.len());
            assert!(tail.ends_with("xtail") && tail.len() == EDGE, "{}", tail.len());
            assert_eq!(reader.next().await.unwrap(), Some(WireLine::Text("next".to_owned())));
        }
    }

    #[tokio::test]
    async fn lines_come_one_by_one() {
        let long = "x".repeat(20);
        let input = format!("{{}}\r\n\n  \n{long}\nlast\n\u{e9}");
        let mut bytes = input.into_bytes();
        bytes.splice(0..0, *b"\xff\n");
        // The size of the reads must not change the result.
        for capacity in [1, 3, 100] {
            let from = tokio::io::BufReader::with_capacity(capacity, &bytes[..]);
            let mut reader = LineReader::new(from, 10);
            let mut lines = Vec::new();
            while let Some(line) = reader.next().await.unwrap() {
                lines.push(line);
            }
            let text = |text: &str| WireLine::Text(text.to_owned());
            let too_long = WireLine::TooLong { head: long.clone(), tail: long.clone() };
            let not_text = WireLine::NotText("\u{fffd}".to_owned());
            assert_eq!(lines, [not_text, text("{}"), too_long, text("last"), text("é")]);
        }
    }
}
