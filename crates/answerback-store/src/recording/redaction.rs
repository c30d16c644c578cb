use std::borrow::Cow;

use crate::{Store, StoreError};
use answerback::call::Schema;
use answerback::finding::secrets;
use answerback_ledger::{Hash, Part, Salt};
use serde_json::{Value, json};

use crate::system::random;

/// A member of a document whose schema marks secrets.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a member and its schema are all it needs")]
pub struct MemberSchema<'a> {
    /// The name of the member that the schema describes.
    pub member: &'static str,
    /// The schema of the member.
    pub schema: &'a Schema,
}

/// The suffix of a part that commits to the original of another part, before redaction.
pub const ORIGINAL: &str = ".original";

/// Creates the parts of an entry for a document. If the document contains secrets, the first part
/// is redacted, and a second part commits to the original. A holder of the original can prove that
/// it is the same document.
///
/// # Errors
///
/// Returns an error if there is no randomness for the salts.
pub fn redacted_parts(
    store: &Store,
    name: &str,
    document: &str,
    schema: Option<MemberSchema<'_>>,
) -> Result<Vec<Part>, StoreError> {
    let Cow::Owned(redacted) = redacted(document, schema) else {
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

/// Creates parts as [`redacted_parts`] does, for bytes that may not be UTF-8. Such bytes are stored
/// unchanged, unless their readable text contains secrets.
///
/// # Errors
///
/// Returns an error if there is no randomness for the salts.
pub fn parts_of_bytes(store: &Store, name: &str, bytes: &[u8]) -> Result<Vec<Part>, StoreError> {
    match String::from_utf8_lossy(bytes) {
        Cow::Owned(read) if matches!(redacted(&read, None), Cow::Borrowed(_)) => {
            Ok(vec![store.part(name, bytes)?])
        }
        read => redacted_parts(store, name, &read, None),
    }
}

/// Redacts the secrets in a document. Returns it unchanged if there are none.
pub fn redacted<'t>(document: &'t str, schema: Option<MemberSchema<'_>>) -> Cow<'t, str> {
    let marked = schema.filter(|member| member.schema.has_secrets());
    // Most documents contain no secrets. Skip parsing them.
    let holds_no_secret = matches!(secrets::text_holds_secret(document), Ok(false));
    if marked.is_none() && holds_no_secret {
        return Cow::Borrowed(document);
    }
    let Ok(value) = serde_json::from_str::<Value>(document) else {
        return secrets::redact(document);
    };
    let mut clean = secrets::redact_value(&value);
    if let Some(MemberSchema { member, schema }) = marked
        && let Some(arguments) = value.get(member)
    {
        clean[member] = secrets::redact_value(&schema.without_secrets(arguments));
    }
    // If a name occurs twice, the parsed value contains only the last one, but the text contains
    // both.
    if clean == value && holds_no_secret && !has_repeated_name(document) {
        return Cow::Borrowed(document);
    }
    Cow::Owned(clean.to_string())
}

/// True if a document repeats a name or cannot be parsed, so that its parsed value may miss some
/// text.
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
        let hide = MemberSchema { member: "arguments", schema: &schema };
        let shown = redacted(r#"{"arguments":{"word":"swordfish"}}"#, Some(hide));
        assert!(!shown.contains("swordfish"), "{shown}");
    }

    #[test]
    fn a_secret_does_not_hide_behind_a_name_that_stands_twice() {
        let schema =
            Schema::compile(json!({"properties": {"word": {"writeOnly": true}, "n": {}}})).unwrap();
        let hide = MemberSchema { member: "arguments", schema: &schema };
        for (document, secret, hide) in [
            (r#"{"a":"password=hunter22!","a":1}"#, "hunter22", None),
            (r#"{"content":[{"text":"password=hunter22!","text":"ok"}]}"#, "hunter22", None),
            (r#"{"password":"hunter22","password":null}"#, "hunter22", None),
            (r#"{"arguments":{"word":"swordfish","word":null}}"#, "swordfish", Some(hide)),
        ] {
            let shown = redacted(document, hide);
            assert!(!shown.contains(secret), "{shown}");
        }
        // A document without secrets or repeated names stays unchanged.
        let plain = r#"{ "arguments": {"n": 1e2} }"#;
        let shown = redacted(plain, Some(hide));
        assert!(matches!(shown, Cow::Borrowed(_)), "{shown}");
    }
}
