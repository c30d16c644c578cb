//! The contracts as JSON Schemas (draft 2020-12), derived from their types.
//!
//! `schemas/` in the repository holds the same documents; a test run fails when they differ.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::contract::{atdf, governed, tool, ui};
use crate::finding::ValidationError;

/// A schema that we publish.
#[derive(Debug)]
#[non_exhaustive]
pub struct Published {
    /// Its short name, as `answerback schema` takes it.
    pub name: &'static str,
    /// What it describes.
    pub title: &'static str,
    generate: fn() -> Value,
}

/// Every schema that we publish.
pub static ALL: &[Published] = &[
    Published {
        name: "atdf",
        title: "ATDF enriched response",
        generate: of::<atdf::EnrichedResponse>,
    },
    Published {
        name: "governed",
        title: "governed response",
        generate: of::<governed::GovernedResponse>,
    },
    Published { name: "ui", title: "UI envelope", generate: of::<ui::ResponseEnvelope> },
    Published { name: "tool", title: "tool envelope", generate: of::<tool::EnvelopeResponse> },
    Published {
        name: "descriptor",
        title: "ATDF tool descriptor",
        generate: of::<atdf::descriptor::Descriptor>,
    },
    Published {
        name: "finding",
        title: "a finding, one of a check's output",
        generate: of::<ValidationError>,
    },
];

impl Published {
    /// The schema document.
    pub fn document(&self) -> Value {
        let mut document = (self.generate)();
        if let Some(members) = document.as_object_mut() {
            let id = format!("https://answerback.dev/schemas/{}.v1.schema.json", self.name);
            members.insert("title".to_owned(), json!(self.title));
            members.shift_insert(1.min(members.len()), "$id".to_owned(), json!(id));
        }
        document
    }
}

fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}
