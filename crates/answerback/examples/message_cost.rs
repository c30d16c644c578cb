//! CPU time of what is done for a failing call after it was checked: preview, aggregate, format, repair.
//!
//! `cargo run --release -p answerback --example message_cost`

use std::fs;
use std::hint::black_box;

use answerback::call::{Schema, check};
use answerback::finding::{Severity, ValidationError, aggregate, preview, secrets};
use answerback::message::{
    ErrorFormatter, Failure, Formatting, StandardFormatter, Style, Tool, nearest_tools, repair,
    suggest,
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file to read."},
            "encoding": {"enum": ["utf-8", "ascii", "utf-16"]},
            "limit": {"type": "integer"},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let four = [
        finding("VAL-005", "/pth", "Unknown field 'pth'", "/additionalProperties")?
            .with_actual("\"src/main.rs\""),
        finding("VAL-001", "/path", "Required field 'path' is missing", "/required")?
            .with_expected("string"),
        finding("VAL-008", "/encoding", "Invalid enum value 'uft8'", "/properties/encoding/enum")?
            .with_actual("\"uft8\"")
            .with_expected("utf-8, ascii, utf-16"),
        finding(
            "VAL-002",
            "/limit",
            "Type mismatch: expected integer, got string",
            "/properties/limit/type",
        )?
        .with_actual("\"10\"")
        .with_expected("integer"),
    ];
    let ten: Vec<_> = (0..10)
        .map(|index| {
            let message = "Type mismatch: expected integer, got string";
            Ok(finding("VAL-002", &format!("/field_{index}"), message, "/type")?
                .with_actual("\"a word\"")
                .with_expected("integer"))
        })
        .collect::<Result<_, Box<dyn std::error::Error>>>()?;
    let many: Vec<_> = (0..148)
        .map(|index| {
            finding(
                "VAL-002",
                &format!("/rows/{index}/cells/{}", index % 7),
                "Type mismatch",
                "/type",
            )
        })
        .collect::<Result<_, _>>()?;
    let detailed = Formatting::default();
    let compact = Formatting::default().with_style(Style::Compact);
    let typical = Failure::new("read_file", &four).with_schema(&schema);
    let text = Value::from(
        "an ordinary sentence about www.example.com, version 1.2.3, of some length".repeat(10),
    );
    let large = Value::from("word ".repeat(2_000_000));
    let rows = Value::from(vec![json!({"a": 1}); 100_000]);
    let names: Vec<String> = (0..40).map(|index| format!("tool_number_{index}")).collect();
    let tools: Vec<Tool<'_>> = names.iter().map(|name| Tool { name, schema: &schema }).collect();

    measure("format 1 finding, detailed", || {
        StandardFormatter.format(&Failure::new("t", &ten[..1]), &detailed).len()
    })?;
    measure("format 4 findings with schema and hints, detailed", || {
        StandardFormatter.format(&typical, &detailed).len()
    })?;
    measure("format 4 findings with schema and hints, compact", || {
        StandardFormatter.format(&typical, &compact).len()
    })?;
    measure("format 10 findings, detailed", || {
        StandardFormatter.format(&Failure::new("t", &ten), &detailed).len()
    })?;
    measure("format 148 findings, detailed", || {
        StandardFormatter.format(&Failure::new("t", &many), &detailed).len()
    })?;
    measure("aggregate 10 findings", || aggregate(&ten, 10).groups.len())?;
    measure("aggregate 148 findings", || aggregate(&many, 10).groups.len())?;
    measure("preview a short string", || preview(&Value::from("uft8")).len())?;
    measure("preview 720 characters", || preview(&text).len())?;
    measure("preview 10 MB of text", || preview(&large).len())?;
    measure("preview 100,000 objects", || preview(&rows).len())?;
    measure("redact 720 characters", || secrets::redact(text.as_str().unwrap_or_default()).len())?;
    measure("nearest of 40 names", || {
        suggest::nearest("tool_nmber_7", names.iter().map(String::as_str)).len()
    })?;
    measure("nearest of 40 tools", || {
        nearest_tools("tool_nmber_7", &json!({"path": "x"}), &tools).len()
    })?;
    let compiled = Schema::compile(schema.clone())?;
    for (what, arguments) in [
        ("repair: a field is missing, none is offered", json!({"encoding": "ascii"})),
        ("repair: a word for a number, none is offered", json!({"path": "x", "limit": "ten"})),
        ("repair: one number in quotes", json!({"path": "x", "limit": "10"})),
        (
            "repair: a name, an option and a number",
            json!({"pth": "src/main.rs", "encoding": "uft8", "limit": "10"}),
        ),
    ] {
        let findings = check(&compiled, &arguments, ())?;
        measure(what, || {
            repair(&compiled, &arguments, &findings, ()).map_or(0, |repair| repair.words().len())
        })?;
    }
    Ok(())
}

fn finding(
    code: &'static str,
    path: &str,
    message: &str,
    schema_path: &str,
) -> Result<ValidationError, Box<dyn std::error::Error>> {
    Ok(ValidationError::new(code, Severity::Error)
        .with_path(path.try_into()?)
        .with_message(message)
        .with_schema_path(schema_path.try_into()?))
}

/// Prints the CPU time of one call, the best of five rounds.
fn measure(what: &str, mut call: impl FnMut() -> usize) -> Result<(), Box<dyn std::error::Error>> {
    const TIMES: u32 = 2_000;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let before = cpu_nanoseconds()?;
        for _ in 0..TIMES {
            black_box(call());
        }
        best = best.min((cpu_nanoseconds()? - before) / f64::from(TIMES));
    }
    #[expect(clippy::print_stdout, reason = "figures are what this program is for")]
    {
        println!("{what:<52} {:>9.2} µs", best / 1000.0);
    }
    Ok(())
}

/// The CPU time of this process so far, as the Linux scheduler counts it: wall time would measure the
/// other users of the machine.
fn cpu_nanoseconds() -> Result<f64, Box<dyn std::error::Error>> {
    let text = fs::read_to_string("/proc/self/schedstat")?;
    Ok(text.split_whitespace().next().unwrap_or_default().parse()?)
}
