//! Generates `docs/codes.md` from the table of codes that `answerback explain` prints.

use std::fmt::Write;

use answerback::finding::{Rule, codes};

use crate::GeneratedFile;

const HEAD: &str = "# Codes\n\n\
    Every finding has a code. `answerback explain CODE` prints what stands here; both come from one table.\n\
    A severity behind a slash is that of the lenient profile.\n";

const FAMILIES: [(&str, &str); 9] = [
    ("DOC", "Any document: what reading it already tells"),
    ("TOOL", "Tool envelopes"),
    ("UI", "UI envelopes"),
    ("ATDF", "ATDF enriched responses and tool descriptors"),
    ("GOV", "Governed responses; from 101 on against manifest, lock and handoff"),
    ("HAND", "Handoffs; from 101 on against manifest and lock"),
    ("MAN", "Prompt manifests"),
    (
        "LOCK",
        "Prompt locks; from 101 on with the manifest, from 201 with the files, from 301 with the lock before",
    ),
    ("VAL", "Calls: the retry contract"),
];

pub(crate) fn file() -> GeneratedFile {
    let mut text = HEAD.to_owned();
    for (family, title) in FAMILIES {
        let rules: Vec<&Rule> =
            codes::all().filter(|rule| rule.code.split('-').next() == Some(family)).collect();
        if rules.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n## {family}: {title}\n");
        text.push_str("| code | severity | the rule | why | remedy |\n|---|---|---|---|---|\n");
        for rule in rules {
            let severity = if rule.severity == rule.lenient {
                rule.severity.to_string()
            } else {
                format!("{} / {}", rule.severity, rule.lenient)
            };
            let _ = writeln!(
                text,
                "| {} | {severity} | {} | {} | {} |",
                rule.code,
                cell(rule.title),
                cell(rule.reason),
                cell(rule.remedy)
            );
        }
    }
    GeneratedFile { path: "docs/codes.md".into(), text }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
