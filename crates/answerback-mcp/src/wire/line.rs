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
pub enum Line {
    /// Text, without the line's end.
    Text(String),
    /// Bytes that are not UTF-8.
    NotText,
    /// More than the bound; it was passed over.
    TooLong,
}

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
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let mut line = Vec::new();
            let mut is_too_long = false;
            let ended = loop {
                let bytes = self.from.fill_buf().await?;
                if bytes.is_empty() {
                    break true;
                }
                let end = memchr::memchr(b'\n', bytes);
                let piece = &bytes[..end.unwrap_or(bytes.len())];
                if line.len() + piece.len() > self.most {
                    is_too_long = true;
                    line = Vec::new();
                }
                if !is_too_long {
                    line.extend_from_slice(piece);
                }
                let used = piece.len() + usize::from(end.is_some());
                self.from.consume(used);
                if end.is_some() {
                    break false;
                }
            };
            if is_too_long {
                return Ok(Some(Line::TooLong));
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
            return Ok(Some(String::from_utf8(line).map_or(Line::NotText, Line::Text)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let text = |text: &str| Line::Text(text.to_owned());
            assert_eq!(lines, [Line::NotText, text("{}"), Line::TooLong, text("last"), text("é")]);
        }
    }
}
