//! Writes output. Every text from outside is sanitized here before it reaches a terminal.

use crate::log_format::{LogFormat, as_json};
use std::borrow::Cow;
use std::fmt::Write;
use std::io;

use serde::Serialize;

use crate::show::{self, Charset};

/// Returns a foreign text without anything that could control a terminal.
pub(crate) fn sanitise(text: &str) -> Cow<'_, str> {
    show::sanitise(text, Charset::Unicode)
}

/// Writes one line for people to standard error.
pub(crate) fn say(text: &str) {
    let line = match LogFormat::of_process() {
        LogFormat::Text => format!("{}\n", sanitise(text)),
        LogFormat::Json => format!("{}\n", as_json(text)),
    };
    // If standard error is closed, there is no other place to report it.
    let _ = io::Write::write_all(&mut anstream::stderr(), line.as_bytes());
}

/// The reason why the rest of an endless input was not checked.
pub(crate) const OUTPUT_CLOSED: &str =
    "the output was closed, so the rest was not checked; read the whole output";

/// An output whose consumer may stop reading, as `head` does. Later writes are discarded, so that the work continues to
/// its exit code. All our output goes through this type. So any other broken pipe is not ours, for example a
/// database's.
pub(crate) struct ClosableOutput<W> {
    output: W,
    is_closed: bool,
    /// True if the work continues after the consumer has stopped reading.
    continues_when_closed: bool,
}

impl<W> ClosableOutput<W> {
    pub(crate) const fn new(output: W) -> Self {
        Self { output, is_closed: false, continues_when_closed: true }
    }

    /// Creates an output for work whose exit code does not depend on the rest. Writing fails once the consumer has
    /// stopped reading.
    pub(crate) const fn ending(output: W) -> Self {
        Self { output, is_closed: false, continues_when_closed: false }
    }

    /// True if the consumer has stopped reading.
    pub(crate) const fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn unless_closed<T>(&mut self, done: io::Result<T>, otherwise: T) -> io::Result<T> {
        match done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                if self.continues_when_closed { Ok(otherwise) } else { Err(error) }
            }
            done => done,
        }
    }
}

impl<W: io::Write> io::Write for ClosableOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed && self.continues_when_closed {
            return Ok(bytes.len());
        }
        let written = self.output.write(bytes);
        self.unless_closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed && self.continues_when_closed {
            return Ok(());
        }
        let flushed = self.output.flush();
        self.unless_closed(flushed, ())
    }
}

/// Escapes every character in a JSON text that could control a terminal, or that some readers take for a line end. The
/// document stays the same.
pub(crate) fn quiet_json(json: &str) -> Cow<'_, str> {
    let Some(first) = first_control(json) else { return Cow::Borrowed(json) };
    let mut quiet = String::with_capacity(json.len() + 16);
    quiet.push_str(&json[..first]);
    for character in json[first..].chars() {
        if is_control(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(quiet, "\\u{unit:04x}");
            }
        } else {
            quiet.push(character);
        }
    }
    Cow::Owned(quiet)
}

/// Appends a value as one line of escaped JSON.
pub(crate) fn push_line(lines: &mut String, value: &impl Serialize) -> serde_json::Result<()> {
    let json = serde_json::to_string(value)?;
    lines.push_str(&quiet_json(&json));
    lines.push('\n');
    Ok(())
}

fn is_control(character: char) -> bool {
    character != '\n' && answerback::finding::is_control_or_format(character)
}

/// Returns the position of the first character to escape. Nearly all JSON is plain ASCII, which is skipped in chunks.
fn first_control(json: &str) -> Option<usize> {
    const PIECE: usize = 32;
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte);
    let bytes = json.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].first_chunk::<PIECE>().is_some_and(|piece| piece.iter().all(is_plain)) {
            at += PIECE;
        } else if is_plain(&bytes[at]) {
            at += 1;
        } else {
            let character = json[at..].chars().next()?;
            if is_control(character) {
                return Some(at);
            }
            at += character.len_utf8();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe whose consumer reads one chunk and stops.
    struct Head(usize);

    impl io::Write for Head {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 > 1 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(bytes.len()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_leaves_is_noticed_once_and_ends_nothing() {
        let mut output = ClosableOutput::new(Head(0));
        for is_closed in [false, true, true] {
            io::Write::write_all(&mut output, b"line").unwrap();
            assert_eq!(output.is_closed(), is_closed);
        }
        assert_eq!(output.output.0, 2);
        let mut output = ClosableOutput::ending(Head(0));
        io::Write::write_all(&mut output, b"line").unwrap();
        io::Write::write_all(&mut output, b"line").unwrap_err();
        assert!(output.is_closed());
    }

    #[test]
    fn quiet_json_is_the_same_document() {
        let value =
            serde_json::json!({"a\u{202e}": "\u{1b}[31m \u{9b} \u{e0041} é", "b": [1.5, null]});
        let text = value.to_string();
        let quiet = quiet_json(&text);
        assert_eq!(
            quiet,
            "{\"a\\u202e\":\"\\u001b[31m \\u009b \\udb40\\udc41 é\",\"b\":[1.5,null]}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&quiet).unwrap(), value);
    }

    #[test]
    fn the_first_that_acts_is_found_wherever_it_stands() {
        for before in 0..80 {
            let quiet = format!("\"{}é•\n\"", "x".repeat(before));
            assert_eq!(first_control(&quiet), None, "{before}");
            for acting in ['\u{7f}', '\u{85}', '\u{2028}', '\u{2029}', '\u{202e}'] {
                let text = format!("\"{}é{acting}{acting}\"", "x".repeat(before));
                assert_eq!(first_control(&text), Some(before + 3), "{before} {acting:?}");
            }
        }
    }

    #[test]
    fn a_line_stays_one_line() {
        let mut lines = String::new();
        push_line(&mut lines, &"a\u{2028}b\u{85}c\nd").unwrap();
        assert_eq!(lines, "\"a\\u2028b\\u0085c\\nd\"\n");
    }
}
