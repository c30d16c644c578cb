use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Reads messages a line each, none longer than a bound.
#[derive(Debug)]
pub struct LineReader<R> {
    from: R,
    most: usize,
}

/// What stood on a line.
#[derive(Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "whoever reads lines has to know all of them")]
pub enum WireLine {
    /// Text, without the line's end.
    Text(String),
    /// Bytes that are not UTF-8, with U+FFFD in place of what is wrong. The rest shows which message it was.
    NotText(String),
    /// More than the bound; it was passed over, but for its edges.
    TooLong {
        /// How it begins.
        head: String,
        /// How it ends.
        tail: String,
    },
}

/// How much of a line that is too long is kept at either end: enough for the members beside a result.
const EDGE: usize = 512;

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    /// A reader of lines of at most so many bytes.
    pub const fn new(from: R, most: usize) -> Self {
        Self { from, most }
    }

    /// The next line that is not blank, or nothing at the end.
    ///
    /// # Errors
    ///
    /// When reading fails.
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
        // However the bytes arrive.
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
