//! The complete examples that the source documents print must check as valid. The documents lie beside
//! the project, not in it; without them this test says so and passes.

use std::fs;
use std::path::Path;

use answerback::contract::{Contract, Profile, recognise};
use answerback::json::{Limits, read};

#[test]
fn complete_examples_of_the_documents_are_valid() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/seeds"));
    if !folder.is_dir() {
        println!("skipped: the source documents are not beside the project");
        return;
    }
    let mut checked = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        for block in text.split("```json\n").skip(1) {
            let block = block.split("\n```").next().unwrap_or_default();
            let Ok(document) = read(block.as_bytes(), Limits::default()) else { continue };
            let Some(found) = recognise(&document.value) else { continue };
            // Drawings of the structure use words in place of values.
            let is_drawing = [
                "ok|warning|error",
                "\"UUID\"",
                "UUID v4",
                "success|error",
                "success | partial",
                "canonical-id",
            ]
            .iter()
            .any(|word| block.contains(word));
            let is_whole = match found.contract {
                Contract::Atdf => document.value.get("meta").is_some(),
                Contract::Governed => document.value.get("governance").is_some(),
                Contract::Ui => {
                    document.value.get("timestamp").is_some()
                        && document.value.get("artifacts").is_some()
                }
                _ => document.value.get("audit").is_some(),
            };
            if is_drawing || !is_whole {
                continue;
            }
            let errors: Vec<String> = found
                .contract
                .check(&document.value, Profile::Strict)
                .into_iter()
                .filter(answerback::ValidationError::is_error)
                .map(|finding| finding.to_string())
                .collect();
            assert!(errors.is_empty(), "{}: {errors:?}\n{block}", path.display());
            checked.push(found.contract.as_str());
        }
    }
    checked.sort_unstable();
    assert_eq!(checked, ["governed", "tool", "tool", "tool", "ui", "ui", "ui"]);
}
