//! Checks forms of text that several contracts require.

use std::cmp::Ordering;

use answerback_json::time::{Timestamp, Zone};
use answerback_redaction::is_blank;

/// True if the text is a version by Semantic Versioning 2.0.0.
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

/// Compares two versions by Semantic Versioning 2.0.0, without build metadata. A text that is not a version
/// counts as equal to every other text.
pub(crate) fn compare_semver(left: &str, right: &str) -> Ordering {
    fn parts(version: &str) -> (&str, Option<&str>) {
        let version = version.split('+').next().unwrap_or_default();
        version.split_once('-').map_or((version, None), |(core, pre)| (core, Some(pre)))
    }
    // Without leading zeros, the longer number is the larger one.
    fn numbers(left: &str, right: &str) -> Ordering {
        left.len().cmp(&right.len()).then_with(|| left.cmp(right))
    }
    fn identifiers(left: &str, right: &str) -> Ordering {
        match (is_digits(left), is_digits(right)) {
            (true, true) => numbers(left, right),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => left.cmp(right),
        }
    }
    if !is_semver(left) || !is_semver(right) {
        return Ordering::Equal;
    }
    let ((left, left_pre), (right, right_pre)) = (parts(left), parts(right));
    let core = left.split('.').zip(right.split('.')).map(|(left, right)| numbers(left, right));
    core.fold(Ordering::Equal, Ordering::then).then_with(|| match (left_pre, right_pre) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(left), Some(right)) => {
            let pairs = left.split('.').zip(right.split('.'));
            pairs
                .map(|(left, right)| identifiers(left, right))
                .fold(Ordering::Equal, Ordering::then)
                .then_with(|| left.split('.').count().cmp(&right.split('.').count()))
        }
    })
}

/// True if the path is relative and written with forward slashes. It then means the same on every machine,
/// and reveals nothing about the machine that wrote it.
pub(crate) fn is_relative_path(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    !is_blank(path)
        && !path.starts_with(['/', '~'])
        && !path.contains('\\')
        && !path.to_ascii_lowercase().starts_with("file:")
        && !drive
}

/// True if the text has only uppercase letters, digits and underscores, and starts with a letter.
pub(crate) fn is_code(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

/// True if the text is an RFC 3339 date and time: with `T`, and with `Z` or an offset in hours and minutes.
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
    fn versions_are_ordered() {
        // This is the example of the Semantic Versioning specification, followed by versions that sort
        // wrongly as strings.
        let chain = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.2.0",
            "1.10.0",
            "2.0.0",
            "10.0.0",
        ];
        for (index, left) in chain.iter().enumerate() {
            for (other, right) in chain.iter().enumerate() {
                assert_eq!(compare_semver(left, right), index.cmp(&other), "{left} {right}");
            }
        }
        assert_eq!(compare_semver("1.0.0+a", "1.0.0+b"), Ordering::Equal);
        assert_eq!(compare_semver("2", "1.0.0"), Ordering::Equal);
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
