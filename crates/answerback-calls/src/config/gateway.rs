//! Defines the JSON Schema of `gateway`. The gateway's own crate reads the section, and a test there compares
//! the two.

use serde_json::{Value, json};

use super::setting::{PATH, URL, words_in_a_file};
use super::store::VARIABLE;

/// The pattern of a server's name, which is part of URLs and the prefix of tool names.
const NAME: &str = "^[A-Za-z0-9_-]{1,64}$";

/// Returns the JSON Schema of `gateway`.
pub(super) fn schema() -> Value {
    let mut properties = modes();
    let more = json!({
        "unknown_tool": words(
            &["error", "result"],
            "How a call of a tool that does not exist is answered: with an error of the protocol, or with a result \
             that the model sees.",
        ),
        "envelope": words(
            &["off", "meta", "structured"],
            "Where the tool envelope of a result goes; structured makes it the structuredContent of tools that \
             declare no output schema.",
        ),
        "pinning": words(
            MODES,
            "What happens to a tool whose definition is not the one that was first seen.",
        ),
        "answers": words(
            &["as_needed", "stream", "poll"],
            "How requests of clients with sessions are answered over HTTP: with a stream where there is need, with a \
             stream always, or with one that ends when it is quiet and whose client comes back for the rest.",
        ),
        "sharing": words(
            &["per_client", "shared"],
            "Which clients without sessions share a connection to a server: those of one token that call themselves \
             alike and can do the same, or all of one token.",
        ),
        "allow": names("The tools that there are; others look absent. * at the end stands for any rest."),
        "deny": names("Tools that look absent. * at the end stands for any rest."),
        "largest_message": number(1 << 10, 1 << 30, "The largest message, in bytes."),
        "shown_bytes": number(
            1 << 8,
            1 << 30,
            "How many bytes of a result's text the model is shown; the record has all of it.",
        ),
        "most_calls": number(1, 10_000, "How many calls may be under way at once."),
        "call_seconds": number(1, 86_400, "How long a call, or any other request, may take."),
        "idle_seconds": number(
            1,
            86_400,
            "How long nothing may be heard of a call, neither progress nor anything else about it, before it is given \
             up.",
        ),
        "most_connections": number(1, 65_536, "How many connections `answerback serve` has at once."),
        "most_connections_per_token": number(
            1,
            65_536,
            "How many connections one token has at once; beyond it requests are answered with 429.",
        ),
        "most_half_open": number(
            1,
            65_536,
            "How many connections of one address wait without having sent a request with a token. When there is one \
             more, the one that has waited longest is closed with 429.",
        ),
        "most_sessions": number(1, 10_000, "How many sessions there are at once; beyond it the answer is 503."),
        "most_sessions_per_token": number(
            1,
            10_000,
            "How many sessions one token has at once; beyond it the answer is 429.",
        ),
        "session_idle_seconds": number(1, 86_400, "How long a session may be idle before it is ended."),
        "tools": {
            "description": "What holds for single tools, by name.",
            "type": ["object", "null"],
            "additionalProperties": {
                "type": ["object", "null"],
                "properties": modes(),
                "additionalProperties": false,
            },
        },
        "listen": {
            "description": "Where `answerback serve` listens: an address with a port.",
            "type": "string",
            "pattern": r"^(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+(%[0-9]+)?\]):\d{1,5}$",
            "default": "127.0.0.1:7311",
        },
        "upstreams": {
            "description": "The servers behind `answerback serve`, in their order: of two tools with one name the \
                            first keeps it.",
            "type": ["object", "null"],
            "propertyNames": {"pattern": NAME},
            "additionalProperties": {"oneOf": [program(), remote()]},
        },
        "tokens": {
            "description": "Who may do what, by name, beside our own token, which may call, hand in and read.",
            "type": ["object", "null"],
            "additionalProperties": token(),
        },
    });
    if let Value::Object(more) = more {
        properties.extend(more);
    }
    json!({
        "description": "How the gateway behaves, who is served and what lies behind.",
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": false,
    })
}

const MODES: &[&str] = &["off", "warn", "enforce"];

/// Returns the settings that apply to all tools or to a single one.
fn modes() -> serde_json::Map<String, Value> {
    let input =
        "How arguments are checked against the tool's input schema before the call is forwarded.";
    let output = "How results are checked against the tool's output schema; a result is never withheld for its shape.";
    [("input", input), ("output", output)]
        .map(|(name, about)| (name.to_owned(), words(MODES, about)))
        .into_iter()
        .collect()
}

fn words(words: &[&str], about: &str) -> Value {
    json!({"description": about, "enum": words_in_a_file(words)})
}

fn names(about: &str) -> Value {
    json!({"description": about, "type": "array", "items": {"type": "string"}})
}

fn number(least: u32, most: u32, about: &str) -> Value {
    json!({"description": about, "type": "integer", "minimum": least, "maximum": most})
}

fn program() -> Value {
    json!({
        "type": "object",
        "description": "A program that speaks on standard input and output.",
        "required": ["command"],
        "properties": {
            "command": {"type": "string", "minLength": 1, "description": "The program."},
            "args": {
                "type": "array",
                "items": {"type": ["string", "number"]},
                "description": "Its arguments.",
            },
            "env": {
                "type": ["object", "null"],
                "additionalProperties": {"oneOf": [
                    {"type": ["string", "number", "boolean"], "minLength": 1},
                    in_variable(),
                    in_file(),
                ]},
                "description": "Variables that it gets, as text or, where they are secrets, from a variable or a file; \
                                it does not inherit those of ours that hold secrets.",
            },
            "folder": {"type": "string", "pattern": PATH.pattern, "description": "The folder that it runs in."},
        },
        "additionalProperties": false,
    })
}

fn remote() -> Value {
    json!({
        "type": "object",
        "description": "A server that is reached over HTTP.",
        "required": ["url"],
        "properties": {
            "url": {"type": "string", "pattern": URL.pattern, "description": "Where it is."},
            "headers": {
                "type": ["object", "null"],
                "additionalProperties": {"oneOf": [in_variable(), in_file()]},
                "description": "Headers that it gets with every request; their values are secrets, and never stand here.",
            },
        },
        "additionalProperties": false,
    })
}

fn token() -> Value {
    json!({
        "type": "object",
        "description": "A token, and what its bearer may do. It stands in a variable or in a file, never here.",
        "required": ["scopes"],
        "properties": {
            "scopes": {
                "type": "array",
                "items": {"enum": ["call", "ingest", "read", "decide", "admin"]},
                "description": "What its bearer may do; admin does not include decide.",
            },
            "env": variable(),
            "file": file(),
        },
        "oneOf": [{"required": ["env"]}, {"required": ["file"]}],
        "additionalProperties": false,
    })
}

fn in_variable() -> Value {
    json!({"type": "object", "required": ["env"], "properties": {"env": variable()}, "additionalProperties": false})
}

fn in_file() -> Value {
    json!({"type": "object", "required": ["file"], "properties": {"file": file()}, "additionalProperties": false})
}

fn variable() -> Value {
    json!({"type": "string", "pattern": VARIABLE, "description": "The variable that holds it."})
}

fn file() -> Value {
    json!({"type": "string", "pattern": PATH.pattern, "description": "The file that holds it, made on first use where it is a token's."})
}
