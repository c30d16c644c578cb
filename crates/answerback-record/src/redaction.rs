use std::borrow::Cow;

use answerback::call::Schema;
use answerback::finding::secrets;
use answerback_ledger::{Hash, Part, Salt};
use answerback_store::{Store, StoreError};
use serde_json::{Value, json};

use crate::system::random;

/// Where in a document a schema says what is secret.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a place and a schema")]
pub struct Hide<'a> {
    /// The member that the schema is about.
    pub member: &'static str,
    /// Its schema.
    pub schema: &'a Schema,
}

/// How the name of a part ends that commits to another part as it was before its secrets were taken out.
pub const ORIGINAL: &str = ".original";

/// The parts of an entry for a document: the document without its secrets, and where there are any, a commitment to the
/// document as it was. Whoever has the original can show that it is the one.
///
/// # Errors
///
/// When there is no randomness for the salts.
pub fn parts(
    store: &Store,
    name: &str,
    document: &str,
    hide: Option<Hide<'_>>,
) -> Result<Vec<Part>, StoreError> {
    let Cow::Owned(redacted) = redacted(document, hide) else {
        return Ok(vec![store.part(name, document.as_bytes())?]);
    };
    let salt: [u8; 32] = random().map_err(|error| StoreError::unit(error.to_string()))?;
    let commitment = json!({
        "alg": "hmac-sha256",
        "commit": Salt::new(salt).commit(document.as_bytes()).to_string(),
        "len": document.len(),
        "salt": Hash::from(salt).to_string(),
    });
    Ok(vec![
        store.part(name, redacted.into_bytes())?,
        store.part(&format!("{name}{ORIGINAL}"), commitment.to_string().into_bytes())?,
    ])
}

/// As [`parts`], for bytes that need not be text. Where they are none, they are kept as they are unless what can be read
/// of them has secrets.
///
/// # Errors
///
/// When there is no randomness for the salts.
pub fn parts_of_bytes(store: &Store, name: &str, bytes: &[u8]) -> Result<Vec<Part>, StoreError> {
    match String::from_utf8_lossy(bytes) {
        Cow::Owned(read) if matches!(redacted(&read, None), Cow::Borrowed(_)) => {
            Ok(vec![store.part(name, bytes)?])
        }
        read => parts(store, name, &read, None),
    }
}

/// A document without its secrets; as it is, where it has none.
pub fn redacted<'t>(document: &'t str, hide: Option<Hide<'_>>) -> Cow<'t, str> {
    let hidden = hide.filter(|hide| hide.schema.has_secrets());
    // Most documents have none, and are not built to see that.
    let is_clean = matches!(secrets::text_holds_secret(document), Ok(false));
    if hidden.is_none() && is_clean {
        return Cow::Borrowed(document);
    }
    let Ok(value) = serde_json::from_str::<Value>(document) else {
        return secrets::redact(document);
    };
    let mut shown = secrets::redact_value(&value);
    if let Some(Hide { member, schema }) = hidden
        && let Some(hidden) = value.get(member)
    {
        shown[member] = secrets::redact_value(&schema.without_secrets(hidden));
    }
    // Of a name that stands twice a tree has the last value, and the text has both.
    if shown == value && is_clean && !has_repeated_name(document) {
        return Cow::Borrowed(document);
    }
    Cow::Owned(shown.to_string())
}

/// Whether a document says something that a tree of it does not; yes, where that cannot be told.
fn has_repeated_name(document: &str) -> bool {
    let read = answerback::json::read(document.as_bytes(), answerback::json::Limits::default());
    read.map_or(true, |read| !read.findings.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_reach_the_record() {
        let plain = r#"{"name":"a","arguments":{"n":1.0}}"#;
        assert!(matches!(redacted(plain, None), Cow::Borrowed(_)));
        let secret = r#"{"name":"a","arguments":{"password":"hunter22"}}"#;
        let shown = redacted(secret, None);
        assert!(!shown.contains("hunter22"), "{shown}");
        let schema = Schema::compile(json!({"properties": {"word": {"writeOnly": true}}})).unwrap();
        let hide = Hide { member: "arguments", schema: &schema };
        let shown = redacted(r#"{"arguments":{"word":"swordfish"}}"#, Some(hide));
        assert!(!shown.contains("swordfish"), "{shown}");
    }

    #[test]
    fn a_secret_does_not_hide_behind_a_name_that_stands_twice() {
        let schema =
            Schema::compile(json!({"properties": {"word": {"writeOnly": true}, "n": {}}})).unwrap();
        let hide = Hide { member: "arguments", schema: &schema };
        for (document, secret, hide) in [
            (r#"{"a":"password=hunter22!","a":1}"#, "hunter22", None),
            (r#"{"content":[{"text":"password=hunter22!","text":"ok"}]}"#, "hunter22", None),
            (r#"{"password":"hunter22","password":null}"#, "hunter22", None),
            (r#"{"arguments":{"word":"swordfish","word":null}}"#, "swordfish", Some(hide)),
        ] {
            let shown = redacted(document, hide);
            assert!(!shown.contains(secret), "{shown}");
        }
        // What has neither stays as it is written.
        let plain = r#"{ "arguments": {"n": 1e2} }"#;
        let shown = redacted(plain, Some(hide));
        assert!(matches!(shown, Cow::Borrowed(_)), "{shown}");
    }
}
