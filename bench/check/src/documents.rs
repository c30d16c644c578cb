//! Documents of all four contracts in the sizes that agents and tools send: a few hundred bytes, mostly a
//! few kilobytes, now and then a table of a hundred rows.

use answerback::contract::Contract;
use answerback::{Timestamp, UuidV4};
use serde_json::{Value, json};

use crate::random::Random;

/// The documents of a run.
pub(crate) struct Corpus {
    pub(crate) documents: Vec<Document>,
}

/// One document, as it would arrive.
pub(crate) struct Document {
    pub(crate) contract: Contract,
    pub(crate) bytes: Vec<u8>,
    /// Whether a member was removed or replaced.
    pub(crate) is_spoiled: bool,
}

impl Corpus {
    pub(crate) fn new(count: usize) -> Self {
        let mut random = Random::new(0x00a5_5e5b_ac4d);
        let documents = (0..count).map(|_| Document::new(&mut random)).collect();
        Self { documents }
    }
}

impl Document {
    fn new(random: &mut Random) -> Self {
        let contracts = [Contract::Atdf, Contract::Governed, Contract::Ui, Contract::Tool];
        let contract = random.pick(&contracts);
        let mut value = match contract {
            Contract::Atdf => atdf(random),
            Contract::Governed => governed(random),
            Contract::Ui => ui(random),
            _ => tool(random),
        };
        let is_spoiled = random.once_in(5);
        if is_spoiled {
            spoil(&mut value, random);
        }
        Self { contract, bytes: value.to_string().into_bytes(), is_spoiled }
    }
}

/// Removes or replaces a member, at the top or one group below.
fn spoil(document: &mut Value, random: &mut Random) {
    let Some(members) = document.as_object_mut() else { return };
    let name = members.keys().nth(random.below(members.len())).cloned().unwrap_or_default();
    let Some(member) = members.get_mut(&name) else { return };
    if member.as_object().is_some_and(|below| !below.is_empty()) && random.once_in(2) {
        return spoil(member, random);
    }
    if random.once_in(2) {
        *member = json!(7);
    } else {
        members.shift_remove(&name);
    }
}

fn time(random: &mut Random) -> Timestamp {
    let second = i64::try_from(random.below(31_536_000)).unwrap_or_default();
    Timestamp::from_unix_micros(1_767_225_600_000_000 + second * 1_000_317)
}

fn uuid(random: &mut Random) -> String {
    UuidV4::from_random(random.bytes()).to_string()
}

/// A count that is mostly small and sometimes large.
fn size(random: &mut Random, usual: usize, large: usize) -> usize {
    if random.once_in(10) { large / 2 + random.below(large / 2) } else { 1 + random.below(usual) }
}

fn rows(random: &mut Random, count: usize) -> Vec<Value> {
    (0..count)
        .map(|row| {
            json!([
                row,
                random.sentence(3),
                f64::from(random.price()) / 100.0,
                random.once_in(2),
                time(random).to_utc_seconds(),
            ])
        })
        .collect()
}

fn records(random: &mut Random, count: usize) -> Vec<Value> {
    (0..count)
        .map(|_| {
            json!({
                "id": uuid(random),
                "name": random.sentence(2),
                "count": random.below(10_000),
                "tags": [random.sentence(1), random.sentence(1)],
                "owner": null,
            })
        })
        .collect()
}

fn tool(random: &mut Random) -> Value {
    let count = size(random, 12, 80);
    let problem = |random: &mut Random| {
        let code = random.pick(&["PROJECT_NOT_FOUND", "FRONTMATTER_INVALID", "IO_ERROR"]);
        json!({"code": code, "message": random.sentence(8), "path": "docs/a/b.md", "details": {"line": random.below(900)}})
    };
    let problems = |random: &mut Random| -> Vec<Value> {
        if random.once_in(4) {
            (0..=random.below(3)).map(|_| problem(random)).collect()
        } else {
            Vec::new()
        }
    };
    let (warnings, errors) = (problems(random), problems(random));
    let status = match (errors.len(), warnings.len()) {
        (0, 0) => "ok",
        (0, _) => "warning",
        _ => "error",
    };
    json!({
        "schema_id": "dotbot-mcp-response@1",
        "tool": "solution.structure",
        "version": "1.4.0",
        "status": status,
        "summary": random.sentence(9),
        "data": {"projects": records(random, count), "total": count},
        "warnings": warnings,
        "errors": errors,
        "audit": {
            "timestamp": time(random).to_utc_seconds(),
            "duration_ms": random.below(5_000),
            "source": ".bot/mcp/tools/solution-structure/script.ps1",
            "host": "ci",
            "correlation_id": uuid(random),
        },
        "intent": {"recommended_next": "solution.info", "reason": random.sentence(6), "parameters": {}},
    })
}

fn governed(random: &mut Random) -> Value {
    let hash = format!("{:016x}", random.next()).repeat(4);
    let count = size(random, 10, 60);
    let content = if random.once_in(3) {
        let text: Vec<String> = (0..count).map(|_| random.sentence(14)).collect();
        json!({"type": "text", "data": text.join("\n\n"), "format": "markdown"})
    } else {
        let data = json!({"narrative": random.sentence(30), "findings": records(random, count)});
        json!({"type": "mixed", "data": data, "format": "json"})
    };
    json!({
        "response_id": uuid(random),
        "timestamp": time(random).to_utc_seconds(),
        "protocol_version": "1.0.0",
        "agent": {
            "agent_type": "domain",
            "agent_id": "domain-02-analysis",
            "agent_version": "1.0.0",
            "prompt_hash": hash,
        },
        "response": {"status": "success", "content": content, "confidence": "high"},
        "request_context": {
            "request_id": uuid(random),
            "request_type": "analysis",
            "request_summary": random.sentence(8),
        },
        "governance": {
            "within_scope": true,
            "boundaries_respected": true,
            "quality_standards_met": true,
            "constraints_followed": true,
            "audit_trail": format!("ledger:{}", random.below(1_000_000)),
        },
        "next_actions": {
            "suggested_handoffs": [
                {"target_agent": "domain-05-product", "reason": random.sentence(9), "required": false},
            ],
            "followup_questions": [random.sentence(7), random.sentence(9)],
            "additional_context_needed": [],
        },
    })
}

fn ui(random: &mut Random) -> Value {
    let artifacts: Vec<Value> = (0..random.below(4)).map(|_| artifact(random)).collect();
    let mission = uuid(random);
    let signals: Vec<Value> = (0..random.below(5))
        .map(|_| {
            json!({
                "signal_type": "navigation",
                "signal_layer": "execution",
                "signal_source": "browser",
                "timestamp": time(random).to_offset_micros(),
                "summary": random.sentence(6),
            })
        })
        .collect();
    json!({
        "response_type": if artifacts.is_empty() { "text" } else { "artifact_bundle" },
        "summary": random.sentence(12),
        "artifacts": artifacts,
        "missions_spawned": [{
            "mission_id": mission,
            "status": "proposed",
            "objective_type": "extract",
            "objective_description": random.sentence(10),
        }],
        "signals_emitted": signals,
        "live_stream_id": null,
        "ui_hints": {
            "layout": "inline",
            "priority": "normal",
            "suggested_actions": ["Review", "Approve"],
            "color_scheme": "info",
            "icon": null,
            "expandable": true,
        },
        "timestamp": time(random).to_offset_micros(),
        "metadata": {"confidence": 0.87},
    })
}

fn artifact(random: &mut Random) -> Value {
    let count = size(random, 20, 120);
    let (kind, content) = match random.below(4) {
        0 => {
            let columns = json!(["Id", "Name", "Amount", "Open", "Since"]);
            let rows = rows(random, count);
            (
                "table",
                json!({"columns": columns, "rows": rows, "row_count": count, "column_count": 5}),
            )
        }
        1 => {
            let lines: Vec<String> = (0..count).map(|_| random.sentence(6)).collect();
            let code = lines.join("\n");
            ("code_block", json!({"code": code, "language": "text", "line_count": count}))
        }
        2 => {
            let sections: Vec<Value> = (0..=count / 6)
                .map(|_| json!({"heading": random.sentence(3), "content": random.sentence(40)}))
                .collect();
            let length = sections.len();
            (
                "document",
                json!({"format": "markdown", "sections": sections, "section_count": length}),
            )
        }
        _ => ("json_data", json!({"records": records(random, count / 2)})),
    };
    json!({"artifact_type": kind, "title": random.sentence(3), "content": content, "metadata": {}})
}

fn atdf(random: &mut Random) -> Value {
    let meta = json!({"timestamp": time(random).to_offset_micros()});
    if random.once_in(2) {
        let count = size(random, 8, 60);
        let data = json!({"message": random.sentence(8), "results": records(random, count)});
        return json!({"status": "success", "data": data, "meta": meta});
    }
    let conditions: Vec<String> = (0..=random.below(5)).map(|_| random.sentence(8)).collect();
    json!({
        "status": "error",
        "data": {
            "code": "INVALID_DATE_RANGE",
            "message": random.sentence(10),
            "details": {
                "field": "date_range",
                "received": {"start_date": "2026-03-01T00:00:00Z", "end_date": "2026-02-01T00:00:00Z"},
                "expected": {
                    "conditions": conditions,
                    "format": "ISO 8601 (YYYY-MM-DDTHH:mm:ssZ)",
                    "constraints": {"min_start_date": "now + 1 day", "max_end_date": "now + 365 days"},
                    "examples": {
                        "valid": [{"start_date": "2026-04-01T00:00:00Z", "end_date": "2026-04-02T00:00:00Z"}],
                        "invalid": [{"value": "2026-13-01", "reason": random.sentence(5)}],
                    },
                },
                "validation_results": {"start_before_end": false, "start_after_now": true},
                "solution": random.sentence(25),
            },
        },
        "meta": meta,
    })
}
