//! Generates `schemas/`, with a JSON Schema for every contract.

use crate::GeneratedFile;

pub(crate) fn files() -> Vec<GeneratedFile> {
    answerback::schema::ALL
        .iter()
        .map(|schema| GeneratedFile {
            path: format!("schemas/{}.schema.json", schema.name).into(),
            text: format!("{:#}\n", schema.document()),
        })
        .collect()
}
