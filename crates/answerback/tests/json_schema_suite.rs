//! The official JSON Schema test suite through our checker: our verdict is the suite's, in every required
//! and every optional test of drafts 4 to 2020-12 but those in [`OUT_OF_CONTRACT`].
//!
//! `scripts/test` fetches the suite with `scripts/fetch-json-schema-suite`. Where it is absent this test says
//! so and passes, unless `ANSWERBACK_REQUIRE_SUITE` is set, as continuous integration does.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use answerback::call::{CheckOptions, Documents, FormatMode, Schema, check};
use serde_json::{Value, json};

/// The drafts, the name of each, and how many tests the pinned suite has for it: a suite that is not whole
/// would prove nothing.
const DRAFTS: [(&str, &str, usize); 5] = [
    ("draft4", "http://json-schema.org/draft-04/schema#", 863),
    ("draft6", "http://json-schema.org/draft-06/schema#", 1_149),
    ("draft7", "http://json-schema.org/draft-07/schema#", 1_465),
    ("draft2019-09", "https://json-schema.org/draft/2019-09/schema", 1_864),
    ("draft2020-12", "https://json-schema.org/draft/2020-12/schema", 1_906),
];

/// Where the suite's own documents are served, by its convention.
const REMOTES: &str = "http://localhost:1234/";

/// Tests whose outcome our contract sets otherwise. They are run too: each has to end as our contract says.
struct Exception {
    /// The file below a draft's folder.
    file: &'static str,
    /// What the test's description ends with; empty for every test of the file.
    test: &'static str,
    /// How many tests that is, over all drafts.
    count: usize,
    reason: &'static str,
}

const OUT_OF_CONTRACT: [Exception; 1] = [Exception {
    file: "format.json",
    test: "only an annotation by default",
    count: 19,
    reason: "formats are asserted: VAL-010 is one of the contract's ten codes",
}];

#[test]
fn verdicts_are_the_suites() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/json-schema-suite");
    if !suite.is_dir() {
        let missing =
            format!("{} is not there; run scripts/fetch-json-schema-suite", suite.display());
        assert!(env::var_os("ANSWERBACK_REQUIRE_SUITE").is_none(), "{missing}");
        println!("skipped: {missing}");
        return;
    }
    // The suite's optional tests expect formats to be asserted.
    let asserted = CheckOptions::default().with_formats(FormatMode::Assert);
    let documents = remotes(&suite.join("remotes"));
    let mut failures = Vec::new();
    let mut excepted: BTreeMap<&str, usize> = BTreeMap::new();
    for (draft, name, count) in DRAFTS {
        let folder = suite.join("tests").join(draft);
        let mut run = 0;
        for path in files(&folder) {
            let file = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
            let cases: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            for case in cases.as_array().unwrap() {
                let mut schema = case["schema"].clone();
                if let Value::Object(members) = &mut schema {
                    members.entry("$schema").or_insert_with(|| json!(name));
                }
                let label = format!("{draft}/{file}: {}", case["description"]);
                let schema = match Schema::compile_with(schema, &documents) {
                    Ok(schema) => schema,
                    Err(error) => {
                        failures.push(format!("{label}: {error}"));
                        continue;
                    }
                };
                for test in case["tests"].as_array().unwrap() {
                    run += 1;
                    let description = test["description"].as_str().unwrap();
                    let mut expected = test["valid"].as_bool().unwrap();
                    if let Some(exception) = exception(&file, description) {
                        *excepted.entry(exception.reason).or_default() += 1;
                        expected = !expected;
                    }
                    let findings = check(&schema, &test["data"], asserted).unwrap();
                    let valid = !findings.iter().any(answerback::ValidationError::is_error);
                    let quick = schema.is_valid_with(&test["data"], asserted).unwrap();
                    if (valid, quick) != (expected, expected) {
                        failures.push(format!("{label}: {description}: {valid}, {quick}"));
                    }
                }
            }
        }
        println!("{draft}: {run} tests");
        assert!(run == count || !failures.is_empty(), "{draft}: {run} tests, {count} in the suite");
    }
    assert!(failures.is_empty(), "{} tests end otherwise:\n{failures:#?}", failures.len());
    for Exception { reason, count, .. } in OUT_OF_CONTRACT {
        println!("{count} tests out of contract: {reason}");
        assert_eq!(excepted.get(reason), Some(&count), "{reason}");
    }
}

fn exception(file: &str, description: &str) -> Option<&'static Exception> {
    OUT_OF_CONTRACT
        .iter()
        .find(|exception| file == exception.file && description.ends_with(exception.test))
}

/// Every file of a draft, required and optional.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The documents that the suite's schemas refer to, under the addresses by which they do.
fn remotes(folder: &Path) -> Documents {
    files(folder).iter().fold(Documents::default(), |documents, path| {
        let address = format!("{REMOTES}{}", path.strip_prefix(folder).unwrap().to_str().unwrap());
        let document = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        documents.with(address, document).unwrap()
    })
}
