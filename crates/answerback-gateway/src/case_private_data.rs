//! Stores the private data of an open case: the arguments of the call that opened it, and their schema.

use answerback::UuidV7;
use answerback::call::Schema;
use answerback_store::CaseRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case_encryption::{CaseCipher, CipherPurpose};
use crate::redaction_marks::RedactedArguments;

/// The size limit for stored arguments, in bytes of JSON.
const MAX_ARGUMENT_BYTES: usize = 1 << 20;
/// The size limit for the schema that is stored with them.
const MAX_SCHEMA_BYTES: usize = 1 << 18;

/// Holds a case's private data, which is stored until the case closes.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct CasePrivateData {
    /// The key that the case's calls are counted under.
    pub(crate) retry_key: String,
    /// The encrypted original arguments, if parts of them are hidden from the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original: Option<String>,
    /// The schema that corrected arguments must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    /// True if a program waits for the decision. It receives the complete decision, while a model receives the
    /// recorded one.
    #[serde(default, rename = "is_awaited", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_for_program: bool,
}

impl CasePrivateData {
    /// Creates the private data of a new case. Arguments that cannot be encrypted are not stored, and the person
    /// must then enter the hidden values.
    pub(crate) fn new(
        retry_key: &str,
        case: &UuidV7,
        original: Option<&RedactedArguments>,
        schema: Option<&Value>,
        cipher: Option<&CaseCipher>,
    ) -> Self {
        let encrypted = original.zip(cipher).and_then(|(original, cipher)| {
            let bytes = zeroize::Zeroizing::new(serde_json::to_vec(original).ok()?);
            if bytes.len() > MAX_ARGUMENT_BYTES {
                return None;
            }
            let encrypted = cipher.encrypt(CipherPurpose::Original, case, &bytes);
            encrypted
                .inspect_err(
                    |error| tracing::warn!(%case, %error, "the original arguments are not stored"),
                )
                .ok()
        });
        // An oversized schema is not stored. The next call is checked anyway.
        let schema = schema.filter(|schema| schema.to_string().len() <= MAX_SCHEMA_BYTES).cloned();
        Self { retry_key: retry_key.to_owned(), original: encrypted, schema, is_for_program: false }
    }

    /// Sets if a program waits for the decision.
    pub(crate) fn for_program(mut self, is_for_program: bool) -> Self {
        self.is_for_program = is_for_program;
        self
    }

    /// Returns the schema that the arguments of the case's calls must fit.
    pub(crate) fn schema(&self) -> Option<Schema> {
        Schema::compile(self.schema.clone()?).ok()
    }

    /// Reads the private data of a case.
    pub(crate) fn read(record: &CaseRecord) -> Option<Self> {
        serde_json::from_slice(record.private.as_ref()?).ok()
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Decrypts the original arguments, if they are stored and readable.
    pub(crate) fn original(
        &self,
        case: &UuidV7,
        cipher: Option<&CaseCipher>,
    ) -> Option<RedactedArguments> {
        let decrypted = cipher?.decrypt(CipherPurpose::Original, case, self.original.as_ref()?);
        let decrypted = decrypted
            .inspect_err(
                |error| tracing::warn!(%case, %error, "the original arguments cannot be read"),
            )
            .ok()?;
        serde_json::from_slice(&decrypted).ok()
    }
}
