//! External documents that a schema may refer to.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::{Retrieve, Uri};
use serde_json::Value;

use super::outline::calls_secrets;
use super::schema::bound;
use super::schema_error::SchemaError;

/// External documents that a schema's references may lead to, by their address. The host passes them in. An address
/// that is not among them is never fetched.
///
/// They come from the host, so they are as trusted as its code. Their size and depth are limited, but their branching
/// is not. Findings do not list the fields they declare. If any document marks something as secret, all values
/// checked by a document are redacted.
///
/// ```
/// use answerback_calls::call::{Documents, Schema};
/// use serde_json::json;
///
/// let documents = Documents::default()
///     .with("https://example.com/port.json", json!({"type": "integer", "maximum": 65535}))?;
/// let schema = json!({"properties": {"port": {"$ref": "https://example.com/port.json"}}});
/// let schema = Schema::compile_with(schema, &documents)?;
/// assert!(schema.is_valid(&json!({"port": 80}))?);
/// assert!(!schema.is_valid(&json!({"port": 70000}))?);
/// # Ok::<(), answerback_calls::call::SchemaError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Documents(Arc<HashMap<String, Value>>);

impl Documents {
    /// Adds a document under the address that references name, without a fragment.
    ///
    /// # Errors
    ///
    /// Returns an error if the document is too deep or too large.
    pub fn with(
        mut self,
        address: impl Into<String>,
        document: Value,
    ) -> Result<Self, SchemaError> {
        bound(&document)?;
        Arc::make_mut(&mut self.0).insert(address.into(), document);
        Ok(self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if there is a document with this address.
    pub(super) fn contains(&self, address: &str) -> bool {
        self.0.contains_key(address)
    }

    /// True if any document marks something as secret.
    pub(super) fn call_secrets(&self) -> bool {
        self.0.values().any(calls_secrets)
    }
}

/// Gives the validator access to the documents.
pub(super) struct Shelf(pub(super) Documents);

impl Retrieve for Shelf {
    fn retrieve(
        &self,
        address: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let Documents(documents) = &self.0;
        documents.get(address.as_str()).cloned().ok_or_else(|| "it was not handed in".into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Schema, SchemaErrorKind, check};
    use super::*;

    fn documents() -> Documents {
        let login = json!({"properties": {"word": {"type": "string", "writeOnly": true}}});
        Documents::default().with("https://example.com/login.json", login).unwrap()
    }

    #[test]
    fn only_what_was_handed_in_is_reached() {
        let schema = json!({"$ref": "https://example.com/other.json"});
        let error = Schema::compile_with(schema, &documents()).unwrap_err();
        assert_eq!(error.kind(), SchemaErrorKind::Reference);
    }

    #[test]
    fn a_finding_says_nothing_of_what_stands_elsewhere() {
        let schema = json!({"title": "Server", "minProperties": 1, "properties": {
            "port": {"$ref": "https://example.com/port.json"},
        }});
        let port = json!({"type": "integer", "maximum": 65535});
        let documents = Documents::default().with("https://example.com/port.json", port).unwrap();
        let schema = Schema::compile_with(schema, &documents).unwrap();
        let findings = check(&schema, &json!({"port": 70000}), ()).unwrap();
        let [finding] = findings.as_slice() else { panic!("{findings:?}") };
        assert_eq!(
            (finding.to_string().as_str(), &finding.expected_value),
            ("error VAL-003 at /port: Value out of range: 70000 exceeds maximum 65535", &None)
        );
        // Rules in the schema itself are still described.
        let findings = check(&schema, &json!({}), ()).unwrap();
        assert_eq!(findings[0].expected_value.as_deref(), Some("object of at least 1 fields"));
    }

    #[test]
    fn what_cannot_be_followed_may_be_secret() {
        let outside = json!({"properties": {"login": {"$ref": "https://example.com/login.json"}}});
        let rebased = json!({
            "properties": {"login": {"$ref": "https://example.com/inside.json"}},
            "$defs": {"inside": {
                "$id": "https://example.com/inside.json",
                "properties": {"word": {"type": "string", "format": "password"}},
            }},
        });
        for schema in [outside, rebased] {
            let schema = Schema::compile_with(schema, &documents()).unwrap();
            for arguments in
                [json!({"login": {"word": ["velvet"]}}), json!({"login": {"word": 7, "velvet": 1}})]
            {
                let findings = check(&schema, &arguments, ()).unwrap();
                assert!(!findings.is_empty());
                let told = format!("{findings:?} {}", schema.without_secrets(&arguments));
                assert!(!told.contains("velvet"), "{told}");
            }
        }
    }
}
