//! Masks everything in output that changes from run to run: times, ids, hashes, keys and folders.

use std::path::Path;

/// Masks a text. If several patterns match at one place, the first one counts.
pub(crate) fn masked(text: &str, folder: &Path) -> String {
    let text = text.replace(folder.to_str().unwrap(), "[folder]");
    let mut masked = String::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let (length, mask) = match found(rest) {
            Some(found) => found,
            None => (first.len_utf8(), ""),
        };
        masked.push_str(if mask.is_empty() { &rest[..length] } else { mask });
        rest = &rest[length..];
    }
    masked
}

fn found(text: &str) -> Option<(usize, &'static str)> {
    let run = |is: fn(&u8) -> bool| text.bytes().take_while(is).count();
    if is_like(text, "0000-00-00T00:00:00.000000Z") {
        return Some((27, "[time]"));
    }
    if is_like(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
        return Some((36, "[uuid]"));
    }
    if is_like(text, "-xxxxxxxxxxxx.anchor") {
        return Some((20, "-[name].anchor"));
    }
    if run(u8::is_ascii_hexdigit) == 64 {
        return Some((64, "[hash]"));
    }
    let base64 = run(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte));
    (base64 >= 40).then_some((base64, "[base64]"))
}

/// True if a text begins with the pattern: `0` is any digit, `x` any hexadecimal digit.
fn is_like(text: &str, pattern: &str) -> bool {
    text.len() >= pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(byte, like)| match like {
            b'0' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_hexdigit(),
            _ => byte == like,
        })
}
