//! Recorded calls, which are not part of this repository: the promises kept for every one of them, and figures.
//!
//! `ANSWERBACK_WORKLOADS` names the directory that holds them, else they are looked for beside the project; where
//! there are none the tests say so and pass.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use answerback::checker::{CallRequest, ToolCatalog};
use answerback::finding::secrets::{find, kind_of_name};
use answerback::json::Limits;
use answerback::message::{CandidateTool, nearest_tools};
use serde_json::Value;

use crate::promises;

#[test]
fn the_promises_are_kept_for_recorded_calls() {
    let Some(folder) = workloads() else { return };
    keep(&folder, |file| file.extension().is_some_and(|extension| extension != "gz"));
}

/// `cargo test --release -p answerback --all-features --test it -- --ignored --nocapture recorded`
#[test]
#[ignore = "takes minutes unless it is built for release"]
fn the_promises_are_kept_for_all_recorded_calls() {
    let Some(folder) = workloads() else { return };
    keep(&folder, |_| true);
}

/// Holds every call of the parts whose files are taken to the promises.
#[expect(clippy::print_stdout, reason = "a figure is for people")]
fn keep(folder: &Path, takes: impl Fn(&Path) -> bool) {
    let (mut calls, mut repaired) = (0, 0);
    let is_calls = |file: &Path| file.to_string_lossy().contains("calls.ndjson");
    for file in all_files(folder).into_iter().filter(|file| is_calls(file) && takes(file)) {
        let tools = all_files(file.parent().unwrap())
            .into_iter()
            .find(|file| file.to_string_lossy().contains("tools.json"));
        let Some(tools) = tools.filter(|tools| takes(tools)) else { continue };
        let tools: Value = serde_json::from_str(&unpacked(&tools)).unwrap();
        let catalogue = ToolCatalog::read(&tools).unwrap();
        for line in unpacked(&file).lines() {
            let line = CallRequest::read(line.as_bytes(), Limits::default()).unwrap();
            let Some(arguments) = &line.arguments else { continue };
            promises::of_answers(&catalogue, &line.tool, arguments, 500);
            calls += 1;
            if let Some(Ok(schema)) = catalogue.schema(&line.tool)
                && !arguments.is_string()
            {
                promises::of_check(schema, arguments);
                repaired += usize::from(promises::of_repair(schema, arguments).is_some());
            }
        }
    }
    println!("{calls} recorded calls, {repaired} of them repaired");
    assert!(calls > 0, "no calls below {}", folder.display());
}

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
            .map(|tool| CandidateTool {
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
    let named = env::var_os("ANSWERBACK_WORKLOADS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/workloads");
    let folder = Some(named.unwrap_or(beside)).filter(|folder| folder.is_dir());
    if folder.is_none() {
        println!(
            "skipped: no recorded calls beside the project, and ANSWERBACK_WORKLOADS names no directory"
        );
    }
    folder
}

/// The files that are not packed.
fn files(folder: &Path) -> Vec<PathBuf> {
    let is_plain = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "json" || extension == "ndjson")
    };
    all_files(folder).into_iter().filter(is_plain).collect()
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { all_files(&path) } else { vec![path] })
        .collect();
    found.sort();
    found
}

#[expect(clippy::disallowed_types, reason = "a test may ask another program to unpack")]
fn unpacked(file: &Path) -> String {
    if file.extension().is_none_or(|extension| extension != "gz") {
        return fs::read_to_string(file).unwrap();
    }
    let output = std::process::Command::new("gzip").arg("-dc").arg(file).output().unwrap();
    assert!(output.status.success(), "gzip cannot unpack {}", file.display());
    String::from_utf8(output.stdout).unwrap()
}

fn values(file: &Path) -> Vec<Value> {
    let text = unpacked(file);
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
