//! Decides if a text in the place of a secret really is one, rather than a placeholder, code, or a word of a
//! sentence.

use super::SecretKind;
use super::name::kind_of_name;

/// Values that name a type or mean "nothing". They are not secret even after the name of a secret.
const STAND_INS: &[&str] = &[
    "string",
    "str",
    "text",
    "none",
    "null",
    "nil",
    "undefined",
    "true",
    "false",
    "required",
    "optional",
    "bool",
    "boolean",
    "integer",
    "int",
    "number",
    "object",
    "bytes",
    "any",
    "self",
    "hidden",
    "masked",
    "redacted",
    "input",
    "password",
    "secret",
    "token",
    "username",
    "email",
    "example",
    "placeholder",
    "changed",
    "missing",
    "empty",
    "yes",
    "no",
    "invalid",
    "expired",
    "incorrect",
    "wrong",
    "unknown",
    "secretstr",
    "varchar",
    "bearer",
    "basic",
];

/// True if a value is only a placeholder for a secret: a type, a variable, a mask.
pub(super) fn is_stand_in(content: &str, kind: SecretKind) -> bool {
    const LONGEST: usize = 64;
    let content = content.trim();
    let bare = match content.split_once(' ') {
        Some((scheme, rest))
            if kind == SecretKind::Authorization && !rest.contains(' ') && scheme.len() <= 8 =>
        {
            rest
        }
        _ => content,
    };
    content.is_empty()
        || bare.len() <= LONGEST && STAND_INS.iter().any(|word| bare.eq_ignore_ascii_case(word))
        || bare.starts_with(['$', '{', '<', '%', '[', '*', '('])
        || content.bytes().all(|byte| matches!(byte, b'*' | b'x' | b'.' | b'?'))
}

/// True if a value without quotes is an expression: `getpass()`, `os.environ[…]`, `config.token`.
pub(super) fn is_code(content: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|character: char| character.is_ascii_alphabetic() || character == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
    };
    content.contains(['(', '[', '{']) || content.contains('.') && content.split('.').all(is_name)
}

/// True if a value is an identifier rather than a password: `new_password`.
pub(super) fn is_variable(content: &str) -> bool {
    content.contains('_')
        && content.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && kind_of_name(content).is_some()
}

/// True if the text after `password: ` in prose looks like a password. A password contains a digit or a symbol; a
/// word of the sentence does not.
pub(super) fn reads_like_a_password(content: &str) -> bool {
    content.chars().take(6).count() == 6
        && content
            .chars()
            .any(|character| character.is_ascii_digit() || "!@#$%^&*_+=".contains(character))
}

/// True if the text after `the password is ` looks like a secret: letters and digits together, and neither an address
/// nor an expression.
pub(super) fn reads_like_a_secret(content: &str) -> bool {
    content.len() >= 6
        && content.bytes().any(|byte| byte.is_ascii_digit())
        && content.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !content.starts_with(['$', '{', '<', '%', '[', '('])
        && !content.contains("://")
        && !is_code(content)
}

/// True if a value looks like a key: long, in one piece, and with letters and digits mixed. This check is for vague
/// names such as `key` or `auth`.
pub(super) fn is_key_like(content: &str) -> bool {
    const LENGTHS: std::ops::RangeInclusive<usize> = 16..=512;
    const LONG: usize = 24;
    let bytes = content.as_bytes();
    if !LENGTHS.contains(&bytes.len()) {
        return false;
    }
    let has = |is: fn(&u8) -> bool| bytes.iter().any(is);
    let is_in_one_piece = |signs: &[u8]| {
        bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || signs.contains(byte))
    };
    let has_digit = has(u8::is_ascii_digit);
    let (has_small, has_large) = (has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase));
    // Ids of accounts and keys at Twilio are two letters and a number.
    let is_sid = bytes.len() == 34
        && bytes[..2].iter().all(u8::is_ascii_uppercase)
        && bytes[2..].iter().all(u8::is_ascii_hexdigit);
    has_digit
        && !is_sid
        && (has_small && has_large && is_in_one_piece(b"+/=_-~%")
            || bytes.len() >= LONG && has_small && is_in_one_piece(b"="))
}
