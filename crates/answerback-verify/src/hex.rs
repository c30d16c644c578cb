//! Parses lower-case hexadecimal digits of fixed length, without a branch per digit. So the
//! compiler can vectorize it, which the check of every id and digest in every leaf needs.

/// True if all bytes are lower-case hexadecimal digits.
pub(crate) fn is_hex<const DIGITS: usize>(text: &[u8; DIGITS]) -> bool {
    text.iter()
        .fold(true, |all, byte| all & (byte.wrapping_sub(b'0') < 10 || byte.wrapping_sub(b'a') < 6))
}

/// Parses hexadecimal digits to half as many bytes.
pub(crate) fn from_hex<const DIGITS: usize, const BYTES: usize>(
    text: &[u8; DIGITS],
) -> Option<[u8; BYTES]> {
    const { assert!(DIGITS == 2 * BYTES, "two digits make a byte") };
    if !is_hex(text) {
        return None;
    }
    // The low four bits of the letters a to f are 1 to 6.
    let value = |digit: u8| (digit & 15) + (digit >> 6) * 9;
    let (pairs, _) = text.as_chunks::<2>();
    let mut bytes = [0; BYTES];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = value(*high) << 4 | value(*low);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_bytes_is_read_as_the_standard_library_reads_it() {
        for high in 0..=u8::MAX {
            for low in 0..=u8::MAX {
                let text = [high, low];
                let lower =
                    text.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
                let expected = str::from_utf8(&text)
                    .ok()
                    .filter(|_| lower)
                    .and_then(|text| u8::from_str_radix(text, 16).ok());
                assert_eq!(from_hex::<2, 1>(&text).map(|[byte]| byte), expected, "{text:?}");
                assert_eq!(is_hex(&text), expected.is_some(), "{text:?}");
            }
        }
    }
}
