//! Formats commands for users to paste into a shell.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Quotes a word for a shell if needed.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

/// Formats an option with the absolute path of a file, so that it works in any folder.
pub(crate) fn file_option(option: &str, file: &Path) -> String {
    let file = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
    format!(" --{option} {}", quoted(&file.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one() {
        for (word, expected) in [
            ("/a/b-c_1.db", "/a/b-c_1.db"),
            ("/a b", "'/a b'"),
            ("it's", r"'it'\''s'"),
            ("$(x)", "'$(x)'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
