//! Figures on recorded calls, which are not part of this repository.
//!
//! `ANSWERBACK_WORKLOADS` names the directory that holds them; without it the tests say so and pass.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use answerback::finding::secrets::{find, kind_of_name};
use answerback::message::{Tool, nearest_tools};
use serde_json::Value;

#[test]
fn innocent_values_are_not_taken_for_secrets() {
    let Some(folder) = workloads() else { return };
    let (mut strings, mut names) = (0_u32, 0_u32);
    let mut alarms = BTreeMap::new();
    let mut telling = BTreeMap::new();
    for set in ["bfcl-valid", "bfcl-failing", "mcp-tools", "tool-names"] {
        for file in files(&folder.join(set)) {
            for value in values(&file) {
                visit(&value, &mut |name, text| {
                    if let Some(text) = text {
                        strings += 1;
                        for secret in find(text) {
                            let shown = format!("{:?}: {}", secret.kind, &text[secret.range]);
                            *alarms.entry(shown).or_insert(0_u32) += 1;
                        }
                        return;
                    }
                    names += 1;
                    if let Some(kind) = kind_of_name(name) {
                        *telling.entry(format!("{kind:?}: {name}")).or_insert(0_u32) += 1;
                    }
                });
            }
        }
    }
    println!("{} of {strings} strings marked by shape: {alarms:#?}", alarms.values().sum::<u32>());
    println!("{} of {names} names are telling: {telling:#?}", telling.values().sum::<u32>());
    assert!(strings > 0, "no workloads below {}", folder.display());
    assert!(alarms.values().sum::<u32>() * 2000 <= strings, "more than one false alarm in 2000");
}

#[test]
fn the_tool_that_was_meant_comes_first() {
    let Some(folder) = workloads() else { return };
    let mut right = BTreeMap::new();
    for calls in
        files(&folder.join("tool-names")).into_iter().filter(|file| file.ends_with("calls.ndjson"))
    {
        let part = calls.parent().unwrap_or(Path::new("."));
        let tools = values(&part.join("tools.json")).remove(0);
        let tools: Vec<_> = tools
            .as_array()
            .into_iter()
            .flatten()
            .map(|tool| Tool {
                name: tool["name"].as_str().unwrap_or_default(),
                schema: &tool["inputSchema"],
            })
            .collect();
        let (call, truth) =
            (values(&calls).remove(0), values(&part.join("truth.ndjson")).remove(0));
        let called = call["tool"].as_str().unwrap_or_default();
        let nearest = nearest_tools(called, &call["arguments"], &tools);
        let is_right = truth["right"] == nearest[0];
        if !is_right {
            println!(
                "{called}: {:?} instead of {}",
                &nearest[..nearest.len().min(3)],
                truth["right"]
            );
        }
        let (found, all) = right.entry(truth["variant"].to_string()).or_insert((0, 0));
        *found += u32::from(is_right);
        *all += 1;
    }
    println!("{right:?}");
    assert!(!right.is_empty(), "no workloads below {}", folder.display());
    for (found, all) in right.values() {
        assert!(found * 5 >= all * 4, "fewer than four in five");
    }
}

#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn workloads() -> Option<PathBuf> {
    let folder = std::env::var_os("ANSWERBACK_WORKLOADS")
        .map(PathBuf::from)
        .filter(|folder| folder.is_dir());
    if folder.is_none() {
        println!("skipped: ANSWERBACK_WORKLOADS names no directory");
    }
    folder
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| {
            path.extension().is_some_and(|extension| extension == "json" || extension == "ndjson")
        })
        .collect();
    found.sort();
    found
}

fn values(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).expect("a readable file");
    match serde_json::from_str(&text) {
        Ok(value) => vec![value],
        Err(_) => text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
    }
}

/// Calls `see` with every string, and with every member name and no text.
fn visit(value: &Value, see: &mut impl FnMut(&str, Option<&str>)) {
    match value {
        Value::String(text) => see("", Some(text)),
        Value::Array(items) => items.iter().for_each(|item| visit(item, see)),
        Value::Object(members) => {
            for (name, member) in members {
                see(name, None);
                visit(member, see);
            }
        }
        _ => {}
    }
}
