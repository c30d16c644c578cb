use std::fmt;

const DIGITS: &[u8; 16] = b"0123456789abcdef";
/// The number of bytes that are converted at once.
const PIECE: usize = 32;

/// Formats bytes as lowercase hexadecimal digits. Every entry of a ledger holds ids and digests, so this avoids the
/// slower number formatting of `std::fmt`.
///
/// ```
/// assert_eq!(answerback::Hex(&[0, 0x9f]).to_string(), "009f");
/// ```
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the type only formats bytes and will not gain fields"
)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in self.0.chunks(PIECE) {
            let mut digits = [0; 2 * PIECE];
            let written = &mut digits[..2 * piece.len()];
            write_hex(piece, written);
            formatter.write_str(std::str::from_utf8(written).map_err(|_| fmt::Error)?)?;
        }
        Ok(())
    }
}

fn write_hex(bytes: &[u8], digits: &mut [u8]) {
    for (byte, pair) in bytes.iter().zip(digits.chunks_exact_mut(2)) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 0x0f)];
    }
}

/// Formats the sixteen bytes of a UUID as hyphenated groups of lowercase hexadecimal digits.
///
/// ```
/// assert_eq!(answerback::UuidText(&[7; 16]).to_string(), "07070707-0707-0707-0707-070707070707");
/// ```
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the type only formats bytes and will not gain fields"
)]
pub struct UuidText<'a>(pub &'a [u8; 16]);

impl fmt::Display for UuidText<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [b'-'; 36];
        let (mut rest, mut at) = (&self.0[..], 0);
        for length in [4, 2, 2, 2, 6] {
            let group;
            (group, rest) = rest.split_at(length);
            write_hex(group, &mut text[at..at + 2 * length]);
            at += 2 * length + 1;
        }
        formatter.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// Fills `bytes` from lowercase hexadecimal digits. Returns false unless the text has exactly two such digits for
/// each byte.
pub(crate) fn read_hex(text: &str, bytes: &mut [u8]) -> bool {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks_exact(2);
    text.len() == bytes.len() * 2
        && bytes.iter_mut().zip(pairs).all(|(byte, pair)| match (digit(pair[0]), digit(pair[1])) {
            (Some(high), Some(low)) => {
                *byte = high << 4 | low;
                true
            }
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_standard_library_writes_it() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in [0, 1, 16, 31, 32, 33, 256] {
            let expected: String =
                bytes[..length].iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(Hex(&bytes[..length]).to_string(), expected);
        }
    }
}
