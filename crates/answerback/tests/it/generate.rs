//! Documents of every contract, made at random: valid ones, with whatever a contract allows.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use answerback::contract::Contract;

/// A valid document of a contract.
pub(crate) fn document(contract: Contract) -> BoxedStrategy<Value> {
    match contract {
        Contract::Atdf => atdf().boxed(),
        Contract::Governed => governed().boxed(),
        Contract::Tool => tool().boxed(),
        Contract::Ui => ui().boxed(),
        other => panic!("no generator for {other}"),
    }
}

/// Any JSON value, not too large, with awkward names and texts.
pub(crate) fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            members(inner).prop_map(Value::Object)
        ]
    })
    .boxed()
}

fn members(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    btree_map(name(), values, 0..4).prop_map(|members| members.into_iter().collect())
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    members(value())
}

/// Names, among them those that the contracts and our conversions use themselves.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,6}",
        1 => "[a-zé/~ .-]{0,5}",
        2 => select(vec![
            "message", "summary", "text", "artifacts", "missions", "signals", "answerback", "details", "code",
            "error_code", "narrative", "findings", "error", "reply", "exact", "lifted", "status",
        ])
        .prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-zA-Z ]{0,12}", 1 => "\\PC{0,8}", 1 => "[a-z\n\t]{0,8}"]
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[A-Z][a-z]{1,10}( [a-z]{1,6}){0,3}\\.?", 1 => "❌ Error: [a-z]{1,5}", 1 => "[a-zäß]{1,30}"]
}

fn code() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "IO_ERROR",
            "PARTIAL_RESULT",
            "UNSPECIFIED",
            "OUT_OF_SCOPE",
            "INVALID_PARAMETER"
        ])
        .prop_map(str::to_owned),
        "[A-Z][A-Z_]{0,6}",
        "[A-Z][A-Z0-9_]{0,6}",
    ]
}

fn time() -> impl Strategy<Value = String> {
    (
        2000..2100,
        1..13,
        1..29,
        0..24,
        0..60,
        select(vec!["Z", ".5Z", ".123456789Z", "+00:00", ".000000+00:00"]),
    )
        .prop_map(|(year, month, day, hour, minute, zone)| {
            format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:07{zone}")
        })
}

fn uuid() -> impl Strategy<Value = String> {
    any::<[u8; 16]>().prop_map(|random| answerback::UuidV4::from_random(random).to_string())
}

/// Puts optional members in when they are there.
fn with(
    mut members: Map<String, Value>,
    optional: Vec<(&str, Option<Value>)>,
) -> Map<String, Value> {
    for (name, value) in optional {
        if let Some(value) = value {
            members.insert(name.to_owned(), value);
        }
    }
    members
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}

fn tool() -> impl Strategy<Value = Value> {
    let entry = || {
        (code(), line(), option::of(text()), option::of(object())).prop_map(
            |(code, message, path, details)| {
                let members = map(json!({"code": code, "message": message}));
                let optional =
                    vec![("path", path.map(Value::from)), ("details", details.map(Value::from))];
                Value::Object(with(members, optional))
            },
        )
    };
    let audit = (
        time(),
        any::<u32>(),
        option::of(select(vec![json!("warp"), json!("ci"), Value::Null, json!("other")])),
        option::of(uuid()),
        option::of("[a-z]{1,4}/[a-z]{1,4}"),
    )
        .prop_map(|(time, duration, host, correlation, written)| {
            let members =
                map(json!({"timestamp": time, "duration_ms": duration, "source": "tools/x.rs"}));
            let optional = vec![
                ("host", host),
                ("correlation_id", correlation.map(Value::from)),
                ("write_to", written.map(Value::from)),
            ];
            Value::Object(with(members, optional))
        });
    let intent = (line(), line(), option::of(object())).prop_map(|(next, reason, parameters)| {
        let members = map(json!({"recommended_next": next, "reason": reason}));
        Value::Object(with(members, vec![("parameters", parameters.map(Value::from))]))
    });
    let action = (line(), line(), line(), line()).prop_map(|(id, label, reason, tool)| {
        json!({"id": id, "type": "suggestion", "label": label, "reason": reason, "tool": tool})
    });
    (
        (line(), object(), vec(entry(), 0..3), vec(entry(), 0..3), audit),
        (option::of(intent), option::of(vec(action, 0..3)), option::of(object()), option::of(value())),
    )
        .prop_map(|((summary, data, warnings, errors, audit), (intent, actions, meta, unknown))| {
            let status = match (errors.len(), warnings.len()) {
                (0, 0) => "ok",
                (0, _) => "warning",
                _ => "error",
            };
            let members = map(json!({
                "schema_id": "dotbot-mcp-response@1", "tool": "demo.tool", "version": "1.2.3", "status": status,
                "summary": summary, "data": data, "warnings": warnings, "errors": errors, "audit": audit,
            }));
            let optional = vec![
                ("intent", intent),
                ("actions", actions.map(Value::from)),
                ("_meta", meta.map(Value::from)),
                ("unknown", unknown),
            ];
            Value::Object(with(members, optional))
        })
}

fn atdf() -> impl Strategy<Value = Value> {
    let success = (line(), object()).prop_map(|(message, mut data)| {
        data.insert("message".into(), message.into());
        ("success", data)
    });
    let details = (line(), object(), vec(line(), 0..3), line(), object()).prop_map(
        |(field, received, conditions, solution, more)| {
            let mut details = more;
            // Members with rules of their own are not left to chance.
            for name in ["errors", "validation_results", "suggested_value"] {
                details.shift_remove(name);
            }
            details.extend(map(json!({
                "field": field, "received": received, "expected": {"conditions": conditions}, "solution": solution,
            })));
            details
        },
    );
    let error = ("[A-Z][A-Z_]{0,8}", line(), details, object()).prop_map(
        |(code, message, details, more)| {
            let mut data = more;
            data.extend(map(json!({"code": code, "message": message, "details": details})));
            ("error", data)
        },
    );
    (prop_oneof![success, error], time(), option::of(object()), option::of(value())).prop_map(
        |((status, data), time, more, unknown)| {
            let mut meta = more.unwrap_or_default();
            // The slot for extensions is an object by its rule.
            meta.retain(|name, value| name != "answerback" || value.is_object());
            meta.insert("timestamp".into(), time.into());
            let members = map(json!({"status": status, "data": data, "meta": meta}));
            Value::Object(with(members, vec![("unknown", unknown)]))
        },
    )
}

fn ui() -> impl Strategy<Value = Value> {
    let cells = (1..3usize, 0..3usize)
        .prop_flat_map(|(columns, rows)| (vec(line(), columns), vec(vec(value(), columns), rows)));
    let table = cells.prop_map(|(columns, rows)| {
        json!({"artifact_type": "table", "title": "T", "metadata": {}, "content": {
            "row_count": rows.len(), "column_count": columns.len(), "columns": columns, "rows": rows,
        }})
    });
    let json_data = (line(), object(), object()).prop_map(|(title, content, metadata)| {
        json!({"artifact_type": "json_data", "title": title, "content": content, "metadata": metadata})
    });
    let mission = (line(), line()).prop_map(|(id, description)| {
        json!({"mission_id": id, "status": "proposed", "objective_type": "extract", "objective_description": description})
    });
    let signal = (line(), time(), option::of(line())).prop_map(|(kind, time, summary)| {
        json!({"signal_type": kind, "signal_layer": "mission", "signal_source": "test", "timestamp": time, "summary": summary})
    });
    let hints = (option::of(select(vec!["inline", "split"])), vec(line(), 0..3), any::<bool>()).prop_map(
        |(layout, actions, expandable)| {
            json!({"layout": layout, "priority": "low", "suggested_actions": actions, "color_scheme": null,
                "icon": null, "expandable": expandable})
        },
    );
    let artifact = prop_oneof![table, json_data];
    (
        (select(vec!["text", "table", "report", "live_execution", "artifact_bundle"]), line(), vec(artifact, 0..3)),
        (vec(mission, 0..2), vec(signal, 0..2), option::of(line()), option::of(hints)),
        (time(), object(), any::<bool>(), option::of(value())),
    )
        .prop_map(
            |((kind, summary, artifacts), (missions, signals, stream, hints), (time, mut metadata, failed, unknown))| {
                if failed {
                    metadata.insert("error".into(), true.into());
                }
                let members = map(json!({
                    "response_type": kind, "summary": summary, "artifacts": artifacts,
                    "missions_spawned": missions, "signals_emitted": signals, "live_stream_id": stream,
                    "ui_hints": hints, "timestamp": time, "metadata": metadata,
                }));
                Value::Object(with(members, vec![("unknown", unknown)]))
            },
        )
}

fn governed() -> impl Strategy<Value = Value> {
    let nonempty = || {
        (object(), line()).prop_map(|(mut data, line)| {
            data.insert("finding".into(), line.into());
            data
        })
    };
    let text = line().prop_map(|words| {
        ("success", json!({"type": "text", "data": words, "format": "markdown"}))
    });
    let structured = (select(vec!["success", "partial"]), nonempty()).prop_map(|(status, data)| {
        (status, json!({"type": "structured", "data": data, "format": "json"}))
    });
    let mixed = (line(), nonempty()).prop_map(|(narrative, mut data)| {
        data.insert("narrative".into(), narrative.into());
        ("success", json!({"type": "mixed", "data": data, "format": "json"}))
    });
    let error = (line(), line(), object()).prop_map(|(message, more, mut data)| {
        data.extend(map(json!({
            "error_code": "ERR_X", "error_message": message, "error_details": more, "recovery_suggestion": "Try again",
        })));
        ("error", json!({"type": "structured", "data": data, "format": "json"}))
    });
    let refused = (select(vec!["OUT_OF_SCOPE", "BOUNDARY_VIOLATION"]), line(), object()).prop_map(
        |(reason, explanation, mut data)| {
            data.extend(map(json!({
                "refusal_reason": reason, "explanation": explanation, "suggested_agent": "domain-05-product",
                "governance_rule": "rule 3",
            })));
            ("refused", json!({"type": "structured", "data": data, "format": "json"}))
        },
    );
    let handoff = (line(), any::<bool>()).prop_map(|(reason, required)| {
        json!({"target_agent": "domain-05-product", "reason": reason, "required": required})
    });
    let next = (
        option::of(vec(handoff, 0..2)),
        option::of(vec(line(), 0..2)),
        option::of(vec(line(), 0..2)),
    )
        .prop_map(|(handoffs, questions, context)| {
            let optional = vec![
                ("suggested_handoffs", handoffs.map(Value::from)),
                ("followup_questions", questions.map(Value::from)),
                ("additional_context_needed", context.map(Value::from)),
            ];
            Value::Object(with(Map::new(), optional))
        });
    (
        (uuid(), time(), prop_oneof![text, structured, mixed, error, refused]),
        (select(vec!["high", "low", "not_applicable"]), option::of(uuid()), line(), any::<bool>()),
        (option::of(next), option::of(object()), option::of(value())),
    )
        .prop_map(|((id, time, (status, content)), (confidence, request, asked, flag), (next, meta, unknown))| {
            let mut context = map(json!({"request_type": "task", "request_summary": asked}));
            if let Some(request) = request {
                context.insert("request_id".into(), request.into());
            }
            let members = map(json!({
                "response_id": id, "timestamp": time, "protocol_version": "1.0.0",
                "agent": {"agent_type": "domain", "agent_id": "domain-02-analysis", "agent_version": "1.0.0",
                    "prompt_hash": "e7b34ef33d23d41e67ba23c640b26cbc4179840cc2be1278703e89fd74aefd9c"},
                "response": {"status": status, "content": content, "confidence": confidence},
                "request_context": context,
                "governance": {"within_scope": flag, "boundaries_respected": true, "quality_standards_met": true,
                    "constraints_followed": true, "explanation": "as asked", "audit_trail": "log/1"},
            }));
            let optional =
                vec![("next_actions", next), ("_meta", meta.map(Value::from)), ("unknown", unknown)];
            Value::Object(with(members, optional))
        })
}
