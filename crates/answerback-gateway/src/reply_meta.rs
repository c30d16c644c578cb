//! Adds our members to the `_meta` of a result.

use answerback_mcp::wire::Object;

pub(crate) const RETRY: &str = "dev.answerback/retry";
pub(crate) const ENVELOPE: &str = "dev.answerback/envelope";
pub(crate) const RECEIPT: &str = "dev.answerback/receipt";
pub(crate) const NOTES: &str = "dev.answerback/notes";
pub(crate) const TRUNCATION: &str = "dev.answerback/cut";
pub(crate) const MARKER: &str = "dev.answerback/marker";

/// Adds members to a result's `_meta` and keeps every other byte. Returns `None` if `_meta` is not an object,
/// because a server's invalid `_meta` must not be replaced.
pub(crate) fn with_members(meta: &str, added: &[(&str, String)]) -> Option<String> {
    let mut meta = meta.to_owned();
    for (name, value) in added {
        meta = Object::read_repeating(&meta).ok()?.with(name, value);
    }
    Some(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_members_change_no_other_byte() {
        let added = [("dev.answerback/x", "1".to_owned())];
        for (meta, expected) in [
            ("{}", r#"{"dev.answerback/x":1}"#),
            (r#"{ "a":1.50 }"#, r#"{ "a":1.50 ,"dev.answerback/x":1}"#),
            (r#"{"dev.answerback/x":7}"#, r#"{"dev.answerback/x":1}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2,"dev.answerback/x":1}"#),
        ] {
            assert_eq!(with_members(meta, &added).as_deref(), Some(expected));
        }
        assert_eq!(with_members("3", &added), None);
    }
}
