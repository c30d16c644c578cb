//! Every rule of every contract, broken once: a good document, a patch that spoils it, and exactly the
//! findings that must come of it. `tests/cases/<contract>.json` are the tables, `tests/documents` the good ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use answerback::contract::{Contract, Profile, recognise};
use answerback::finding::codes;
use answerback::json::patch::{PatchOperation, apply};
use answerback::json::{Limits, read};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What the case shows.
    name: String,
    /// The good document it starts from, in `tests/documents`.
    document: String,
    /// What spoils it.
    patch: Vec<PatchOperation>,
    /// `code pointer` of each finding, in any order, under the strict profile.
    strict: Vec<String>,
    /// The same under the lenient profile, where that differs. A trailing `?` marks a finding that is no error.
    #[serde(default)]
    lenient: Option<Vec<String>>,
}

pub(crate) fn tests_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
}

fn document(name: &str) -> Value {
    let path = tests_folder().join("documents").join(name).with_extension("json");
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    read(&bytes, Limits::default()).unwrap().value
}

/// `code pointer`, and `?` when it is no error.
fn found(contract: Contract, document: &Value, profile: Profile) -> BTreeSet<String> {
    let findings = contract.check(document, profile);
    let mark = |is_error: bool| if is_error { "" } else { "?" };
    findings
        .iter()
        .map(|finding| {
            format!("{} {}{}", finding.error_code, finding.field_path, mark(finding.is_error()))
        })
        .collect()
}

fn tables() -> Vec<(Contract, Vec<Case>)> {
    let mut tables = Vec::new();
    for contract in Contract::ALL {
        let path = tests_folder().join("cases").join(contract.as_str()).with_extension("json");
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let cases = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        tables.push((contract, cases));
    }
    tables
}

fn cases(contract: Contract) -> impl Iterator<Item = Case> {
    tables().into_iter().filter(move |(of, _)| *of == contract).flat_map(|(_, cases)| cases)
}

fn spoiled(contract: Contract, case: &Case) -> Value {
    apply(&document(&case.document), &case.patch)
        .unwrap_or_else(|error| panic!("{contract}: {}: {error}", case.name))
}

/// The good documents of a contract, by name.
pub(crate) fn good_documents(contract: Contract) -> Vec<(String, Value)> {
    let names: BTreeSet<String> = cases(contract).map(|case| case.document).collect();
    names.into_iter().map(|name| (name.clone(), document(&name))).collect()
}

/// The spoiled documents of a contract, each with what its case shows.
pub(crate) fn spoiled_documents(contract: Contract) -> Vec<(String, Value)> {
    cases(contract).map(|case| (case.name.clone(), spoiled(contract, &case))).collect()
}

#[test]
fn each_broken_rule_yields_exactly_its_finding() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (contract, cases) in tables() {
        for case in cases {
            count += 1;
            let spoiled = spoiled(contract, &case);
            let lenient = case.lenient.as_ref().unwrap_or(&case.strict);
            for (profile, expected) in
                [(Profile::Strict, &case.strict), (Profile::Lenient, lenient)]
            {
                let expected: BTreeSet<String> = expected.iter().cloned().collect();
                let found = found(contract, &spoiled, profile);
                if found != expected {
                    wrong.push(format!(
                        "{contract}: {} ({profile:?})\n  expected {expected:?}\n  found    {found:?}",
                        case.name
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 150, "only {count} cases");
}

/// Every text of every good document, one after the other, by its pointer.
fn texts(value: &Value, place: &str, into: &mut Vec<String>) {
    let token = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::String(_) => into.push(place.to_owned()),
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                texts(element, &format!("{place}/{index}"), into);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                texts(member, &format!("{place}/{}", token(name)), into);
            }
        }
        _ => {}
    }
}

/// A text in which nothing is seen is as blank as a space, wherever a contract asks for a text.
#[test]
fn what_nobody_sees_is_blank() {
    let mut blank = 0;
    for contract in Contract::ALL {
        for (name, document) in good_documents(contract) {
            let mut places = Vec::new();
            texts(&document, "", &mut places);
            for place in places {
                let with = |text: &str, profile| {
                    let mut document = document.clone();
                    *document.pointer_mut(&place).unwrap() = text.into();
                    found(contract, &document, profile)
                };
                for profile in [Profile::Strict, Profile::Lenient] {
                    let expected = with(" ", profile);
                    blank += usize::from(!expected.is_empty());
                    for text in ["\u{200b}", "\u{feff} \u{2060}", "\u{3164}", "\u{2800}", "\u{ad}"]
                    {
                        let found = with(text, profile);
                        let missing: Vec<_> = expected.difference(&found).collect();
                        let text = text.escape_unicode();
                        assert!(missing.is_empty(), "{name} {place} {text}: {missing:?}");
                    }
                }
            }
        }
    }
    assert!(blank >= 100, "only {blank} texts must not be blank");
}

#[test]
fn no_rule_is_without_a_case() {
    let tested: BTreeSet<String> = tables()
        .iter()
        .flat_map(|(_, cases)| cases)
        .flat_map(|case| case.strict.iter().chain(case.lenient.iter().flatten()))
        .filter_map(|finding| finding.split(' ').next())
        .map(str::to_owned)
        .chain(crate::governance::tested_codes())
        // These need a clock or another document; they are tested in the module of governance.
        .chain(["GOV-048", "HAND-023", "LOCK-105"].map(str::to_owned))
        .collect();
    let untested: Vec<&str> = codes::all()
        .map(|rule| rule.code)
        // The reader's own rules are tested beside the reader, the rules of calls beside the call checker.
        .filter(|code| !code.starts_with("DOC-") && !code.starts_with("VAL-"))
        // This needs to know which tool was called; it is tested beside the check.
        .filter(|code| *code != "TOOL-005" && !tested.contains(*code))
        .collect();
    assert!(untested.is_empty(), "no case breaks {untested:?}");
}

#[test]
fn good_documents_are_clean_and_recognised() {
    for (contract, cases) in tables() {
        let names: BTreeSet<&str> = cases.iter().map(|case| case.document.as_str()).collect();
        for name in names {
            let document = document(name);
            assert_eq!(found(contract, &document, Profile::Strict), BTreeSet::new(), "{name}");
            let recognised =
                recognise(&document).unwrap_or_else(|| panic!("{name} is not recognised"));
            assert_eq!(recognised.contract, contract, "{name}: {}", recognised.reason);
        }
    }
}

#[test]
fn codes_are_unique_well_formed_and_explained() {
    let mut seen = BTreeSet::new();
    for rule in codes::all() {
        assert!(seen.insert(rule.code), "{} stands twice", rule.code);
        let (family, number) = rule.code.split_once('-').unwrap();
        let families = ["DOC", "VAL", "ATDF", "GOV", "HAND", "MAN", "LOCK", "UI", "TOOL"];
        assert!(families.contains(&family), "{}", rule.code);
        assert!(
            number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit()),
            "{}",
            rule.code
        );
        for text in [rule.title, rule.reason, rule.remedy] {
            assert!(text.len() > 8 && !text.contains('\n'), "{}: {text:?}", rule.code);
        }
        assert!(rule.lenient >= rule.severity, "{}: lenient is never stricter", rule.code);
    }
}
