//! The official JSON Schema test suite through our checker: our verdict is the suite's.
//!
//! `scripts/fetch-json-schema-suite` fetches it; without it this test says so and passes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use answerback::call::{Schema, SchemaErrorKind, check};
use serde_json::{Value, json};

const DRAFTS: [(&str, &str); 5] = [
    ("draft4", "http://json-schema.org/draft-04/schema#"),
    ("draft6", "http://json-schema.org/draft-06/schema#"),
    ("draft7", "http://json-schema.org/draft-07/schema#"),
    ("draft2019-09", "https://json-schema.org/draft/2019-09/schema"),
    ("draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
];

/// Files we do not follow, with the reason: the tests in them are not run.
const LEFT_OUT: [(&str, &str); 3] = [
    ("format.json", "it asks that formats are not asserted; we assert them, as a model needs it"),
    ("idn-email.json", "the tables for it are 35 more crates; of 5,717 real schemas one names it"),
    ("idn-hostname.json", "as idn-email"),
];

/// Tests that end otherwise than the suite says, as "draft/file: case: test".
const EXPECTED_FAILURES: [&str; 0] = [];

#[test]
fn verdicts_are_the_suites() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/json-schema-suite/tests");
    if !suite.is_dir() {
        println!("skipped: {} is not there; run scripts/fetch-json-schema-suite", suite.display());
        return;
    }
    let mut run = 0;
    let mut refused = 0;
    let mut failures = BTreeSet::new();
    for (draft, name) in DRAFTS {
        for file in files(&suite.join(draft)) {
            let cases: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            let label = format!("{draft}/{}", file.file_name().unwrap().to_string_lossy());
            for case in cases.as_array().unwrap() {
                let mut schema = case["schema"].clone();
                if let Value::Object(members) = &mut schema {
                    members.entry("$schema").or_insert_with(|| json!(name));
                }
                let schema = match Schema::compile(schema) {
                    Ok(schema) => schema,
                    // References to other documents are refused by design.
                    Err(error) if error.kind() == SchemaErrorKind::Reference => {
                        refused += 1;
                        continue;
                    }
                    Err(error) => {
                        failures.insert(format!("{label}: {}: {error}", case["description"]));
                        continue;
                    }
                };
                for test in case["tests"].as_array().unwrap() {
                    run += 1;
                    let findings = check(&schema, &test["data"], ()).unwrap();
                    let valid = !findings.iter().any(answerback::ValidationError::is_error);
                    let quick = schema.is_valid(&test["data"]).unwrap();
                    if valid != test["valid"] || quick != test["valid"] {
                        failures.insert(format!(
                            "{label}: {}: {}",
                            case["description"], test["description"]
                        ));
                    }
                }
            }
        }
    }
    println!("{run} tests run, {refused} cases refused for references outside the schema");
    let expected = EXPECTED_FAILURES.iter().map(ToString::to_string).collect();
    let new: Vec<_> = failures.difference(&expected).collect();
    let mended: Vec<_> = expected.difference(&failures).collect();
    assert!(new.is_empty(), "{} tests fail:\n{new:#?}", new.len());
    assert!(mended.is_empty(), "these pass now, take them off the list: {mended:#?}");
    assert!(run > 5_000 && refused < 120, "{run} run, {refused} refused: is the suite whole?");
}

/// The required tests of a draft, and those of its formats.
fn files(draft: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = [draft.to_owned(), draft.join("optional/format")]
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|folder| folder.filter_map(Result::ok))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| {
            // The formats' own file of that name, below `optional`, is another.
            let required = path.parent() == Some(draft);
            let named = |name: &str| path.ends_with(name) && (required || name != "format.json");
            !LEFT_OUT.iter().any(|(name, _)| named(name))
        })
        .collect();
    files.sort();
    files
}
