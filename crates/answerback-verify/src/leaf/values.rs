//! Parses values of the forms that members have.

use super::span::LeafSpan;
use crate::hex::{from_hex, is_hex};
use crate::json::{CanonicalReader, FormError};
use crate::name_set::NameSet;

/// The maximum length of a token in bytes.
const LONGEST_TOKEN: usize = 128;

/// Builds the [`NameSet`] of a list of names.
macro_rules! names {
    ($($name:expr),*) => {{
        const SPELLINGS: &[$crate::name_set::Spelling] =
            &[$($crate::name_set::Spelling::of($name.as_bytes())),*];
        $crate::name_set::NameSet::new(SPELLINGS)
    }};
}

pub(super) use names;

/// Parses a token and returns its position and text.
pub(super) fn token<'a>(
    reader: &mut CanonicalReader<'a>,
) -> Result<(LeafSpan, &'a [u8]), FormError> {
    let Some(text) = reader.fit(&IN_TOKEN) else {
        // A malformed string is reported before a malformed token.
        reader.plain()?;
        return reader.error("expected a token");
    };
    if is_token_long(text) {
        Ok((LeafSpan::before_reader(reader, text), text))
    } else {
        reader.error("expected a token")
    }
}

pub(super) fn tokens(reader: &mut CanonicalReader<'_>) -> Result<(), FormError> {
    let mut previous: Option<&[u8]> = None;
    reader.array(|reader| {
        let (_, token) = token(reader)?;
        if previous.is_some_and(|previous| previous >= token) {
            return reader.error("a list is not sorted, or has a code twice");
        }
        previous = Some(token);
        Ok(())
    })
}

pub(super) fn flags(reader: &mut CanonicalReader<'_>) -> Result<(), FormError> {
    static FLAGS: NameSet = names![
        "boundaries_respected",
        "constraints_followed",
        "quality_standards_met",
        "within_scope"
    ];
    let mut expected = 0;
    reader.object(&FLAGS, |reader, name| {
        if name.known != Some(expected) {
            return reader.error("expected the four attestation flags");
        }
        expected += 1;
        reader.boolean().map(drop)
    })?;
    if expected < 4 { reader.error("an attestation flag is missing") } else { Ok(()) }
}

pub(super) fn verdict(reader: &mut CanonicalReader<'_>) -> Result<LeafSpan, FormError> {
    static VERDICT: NameSet = names!["failed", "result"];
    let (mut failed, mut result) = (false, None);
    reader.object(&VERDICT, |reader, name| match name.known {
        Some(0) => {
            failed = true;
            tokens(reader)
        }
        Some(_) => {
            let text = reader.plain()?;
            if !matches!(text, b"accepted" | b"refused" | b"unverified") {
                return reader.error("the verdict's result is unknown");
            }
            result = Some(LeafSpan::before_reader(reader, text));
            Ok(())
        }
        None => reader.error("a verdict has only failed and result"),
    })?;
    match result {
        Some(result) if failed => Ok(result),
        _ => reader.error("a verdict has failed and result"),
    }
}

/// True for each byte that a token may contain.
pub(super) const IN_TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'.' | b'_' | b':' | b'@' | b'/' | b'+' | b'=' | b'-');
        byte += 1;
    }
    table
};

/// True if the length is valid for a token.
pub(super) fn is_token_long(text: &[u8]) -> bool {
    (1..=LONGEST_TOKEN).contains(&text.len())
}

pub(super) fn is_uuid(text: &[u8; 36]) -> bool {
    let Some(digits) = uuid_digits(text) else { return false };
    is_hex(&digits)
}

/// Returns the digits of a UUID without its four hyphens.
fn uuid_digits(text: &[u8; 36]) -> Option<[u8; 32]> {
    if [text[8], text[13], text[18], text[23]] != *b"----" {
        return None;
    }
    let mut digits = [0; 32];
    digits[..8].copy_from_slice(&text[..8]);
    digits[8..12].copy_from_slice(&text[9..13]);
    digits[12..16].copy_from_slice(&text[14..18]);
    digits[16..20].copy_from_slice(&text[19..23]);
    digits[20..].copy_from_slice(&text[24..]);
    Some(digits)
}

/// Parses a UUID in lower case with its four hyphens.
pub(crate) fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    from_hex(&uuid_digits(text.try_into().ok()?)?)
}
