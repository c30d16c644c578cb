//! Commands that are printed for somebody to paste.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A word as a shell takes it for one word.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

/// An option that names a file, wherever it is pasted.
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
