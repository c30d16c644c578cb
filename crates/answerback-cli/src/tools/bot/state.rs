//! Reads the installation state, `.bot/.dotbot-state.json`.

use std::sync::LazyLock;

use answerback::call::{Schema, SchemaError};
use answerback::contract::tool::ErrorObject;
use serde::Deserialize;
use serde_json::json;

use super::document::{UnusableFile, read_document};
use super::folder::BotFolder;
use crate::tools::issue::code;

pub(crate) const STATE: &str = ".bot/.dotbot-state.json";

/// The state of an installation.
#[derive(Debug, Deserialize)]
pub(crate) struct InstallationState {
    pub(crate) version: String,
    pub(crate) profile: String,
    pub(crate) installed_at: String,
}

static SCHEMA: LazyLock<Result<Schema, SchemaError>> = LazyLock::new(|| {
    let text = json!({"type": "string", "minLength": 1});
    Schema::compile(json!({
        "type": "object",
        "properties": {"version": text, "profile": text, "installed_at": text},
        "required": ["version", "profile", "installed_at"],
    }))
});

impl InstallationState {
    /// Reads the state, or returns the error that makes it unusable.
    pub(crate) fn read(folder: &BotFolder) -> Result<Result<Self, ErrorObject>, SchemaError> {
        let schema = SCHEMA.as_ref().map_err(Clone::clone)?;
        Ok(read_document(folder, STATE, schema)?
            .and_then(|value| serde_json::from_value(value).map_err(UnusableFile::unread))
            .map_err(|unusable| unusable.issue(code::STATE_FILE_INVALID, "The state file", STATE)))
    }
}
