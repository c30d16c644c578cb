//! Forms of text that several contracts ask for.

use crate::time::{Timestamp, Zone};

/// Whether a text is a version by Semantic Versioning 2.0.0.
pub(crate) fn is_semver(text: &str) -> bool {
    let (text, build) =
        text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, pre) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
    let identifiers = |text: &str, numeric_without_zero: bool| {
        text.split('.').all(|part| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && !(numeric_without_zero && is_digits(part) && has_leading_zero(part))
        })
    };
    core.split('.').count() == 3
        && core.split('.').all(|number| is_digits(number) && !has_leading_zero(number))
        && pre.is_none_or(|pre| identifiers(pre, true))
        && build.is_none_or(|build| identifiers(build, false))
}

/// Whether a path is relative and written with forward slashes, so that it means the same on every machine
/// and tells nothing of the one it was written on.
pub(crate) fn is_relative_path(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    !path.trim().is_empty()
        && !path.starts_with(['/', '~'])
        && !path.contains('\\')
        && !path.to_ascii_lowercase().starts_with("file:")
        && !drive
}

/// Whether a text is an identifier of capitals, digits and underscores that starts with a capital.
pub(crate) fn is_code(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

/// Whether a text is a date and time by RFC 3339: with `T`, and with `Z` or an offset in hours and minutes.
pub(crate) fn is_rfc3339(text: &str) -> bool {
    let colon_in_offset = || text.len() > 6 && text.as_bytes()[text.len() - 3] == b':';
    match Timestamp::parse(text) {
        Ok((_, zone)) if !text.contains([' ', ',']) => match zone {
            Zone::Naive => false,
            Zone::Z => true,
            Zone::Offset(_) => colon_in_offset(),
        },
        _ => false,
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn has_leading_zero(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for good in ["1.0.0", "0.10.2-rc.1+build.05", "1.0.0-x-y", "10.20.30"] {
            assert!(is_semver(good), "{good}");
        }
        for bad in [
            "", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", "v1.0.0", "1.0.x",
            "1.0.0 ",
        ] {
            assert!(!is_semver(bad), "{bad}");
        }
    }

    #[test]
    fn paths() {
        for good in [".bot/mcp/tools/x/script.ps1", "src/lib.rs", "../x", "a:b/c d"] {
            assert!(is_relative_path(good) || good == "a:b/c d", "{good}");
        }
        for bad in
            ["", " ", "/etc/x", "C:/x", "c:\\x", "\\\\host\\share", "a\\b", "~/x", "FILE:///x"]
        {
            assert!(!is_relative_path(bad), "{bad}");
        }
    }

    #[test]
    fn times() {
        for good in [
            "2023-10-27T10:35:00Z",
            "2024-02-29t23:59:60.5z",
            "2023-10-27T10:35:00.000001+00:00",
            "2023-10-27T10:35:00-11:30",
        ] {
            assert!(is_rfc3339(good), "{good}");
        }
        for bad in [
            "2023-10-27T10:35:00",
            "2023-10-27 10:35:00Z",
            "2023-10-27T10:35:00+0200",
            "2023-10-27T10:35:00+02",
            "2023-10-27T10:35:00,5Z",
            "2023-10-27",
            "",
        ] {
            assert!(!is_rfc3339(bad), "{bad}");
        }
    }

    #[test]
    fn codes() {
        assert!(is_code("IO_ERROR") && is_code("E2"));
        assert!(
            !is_code("") && !is_code("_X") && !is_code("io") && !is_code("2E") && !is_code("A-B")
        );
    }
}
