//! Publishes JSON Schemas (draft 2020-12) of the contracts, the configuration and the lines of a replay. They are
//! derived from the Rust types, or from the tables that the readers use.
//!
//! The folder `schemas/` of the repository holds the same documents. A test fails when they differ.

use answerback_contracts::governance::{Handoff, Lock, Manifest};
use answerback_contracts::{atdf, governed, tool, ui};
use answerback_findings::ValidationError;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::checker::{self, CallReply};
use crate::config;

/// A schema that this crate publishes.
#[derive(Debug)]
#[non_exhaustive]
pub struct Published {
    /// The short name, as `answerback schema` takes it.
    pub name: &'static str,
    /// The title, which names the described document.
    pub title: &'static str,
    generate: fn() -> Value,
}

/// Every published schema.
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
    Published { name: "handoff", title: "handoff", generate: of::<Handoff> },
    Published { name: "manifest", title: "prompt manifest", generate: of::<Manifest> },
    Published { name: "lock", title: "prompt lock", generate: of::<Lock> },
    Published {
        name: "refusal",
        title: "refusal, the content of a governed response that refuses",
        generate: of::<governed::Refusal>,
    },
    Published {
        name: "finding",
        title: "a finding, one of a check's output",
        generate: of::<ValidationError>,
    },
    Published {
        name: "config",
        title: "the configuration, .agent/config.yml",
        generate: config::schema,
    },
    Published {
        name: "call",
        title: "a call, one line of a replay's log",
        generate: checker::call_schema,
    },
    Published {
        name: "answer",
        title: "the answer to a call, one line of a replay's output",
        generate: of_output::<CallReply>,
    },
];

impl Published {
    /// Generates the schema document.
    pub fn document(&self) -> Value {
        let mut document = (self.generate)();
        plain_descriptions(&mut document);
        let Value::Object(mut derived) = document else { return document };
        let mut members = Map::new();
        if let Some(dialect) = derived.shift_remove("$schema") {
            members.insert("$schema".to_owned(), dialect);
        }
        let id = format!("https://answerback.dev/schemas/{}.v1.schema.json", self.name);
        members.insert("$id".to_owned(), json!(id));
        members.insert("title".to_owned(), json!(self.title));
        derived.shift_remove("title");
        members.extend(derived);
        Value::Object(members)
    }
}

/// Turns Markdown links in descriptions into plain code spans and removes examples. Descriptions come from Rust doc
/// comments, whose links and examples make no sense in a schema.
fn plain_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if name == "description" => {
                        let prose = text.split("\n\n```").next().unwrap_or_default();
                        *text = prose.replace("[`", "`").replace("`]", "`");
                    }
                    value => plain_descriptions(value),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(plain_descriptions),
        _ => {}
    }
}

/// Generates the schema of a document that other programs send.
fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

/// Generates the schema of a document that we write. Members that are always present are required, even if they can
/// be null.
fn of_output<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}
