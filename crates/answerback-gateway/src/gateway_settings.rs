use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::settings_reader::{SettingsError, SettingsReader};

/// The effect of a check's findings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the configuration allows exactly these values")]
pub enum CheckMode {
    /// Checks nothing.
    Off,
    /// Reports findings together with the result.
    Warn,
    /// Rejects calls and results with errors.
    Enforce,
}

/// The response to a call of an unknown tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the configuration allows exactly these values")]
pub enum UnknownTool {
    /// A protocol error, as the MCP specification says.
    Error,
    /// A result with `isError`, which the model can read.
    Result,
}

/// The place of a result's tool envelope.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the configuration allows exactly these values")]
pub enum EnvelopeMode {
    /// Adds no envelope.
    Off,
    /// Puts the envelope into the result's `_meta`. Its data refers to the content of the result.
    Meta,
    /// Puts the complete envelope into `structuredContent` if the tool declares no output schema. Otherwise it
    /// goes into `_meta`.
    Structured,
}

/// The kind of response to HTTP requests of clients with sessions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the configuration allows exactly these values")]
pub enum ResponseMode {
    /// Streams the response if the server does, if the server sends messages before it, or if it takes long.
    /// Otherwise the response is a single message.
    AsNeeded,
    /// Always streams the response, so that a client that loses its connection can resume it.
    Stream,
    /// Streams the response, but ends an idle stream and lets the client resume it. This is for proxies that
    /// limit the duration of a response.
    Poll,
}

/// The clients without sessions that share a connection to a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the configuration allows exactly these values")]
pub enum Sharing {
    /// All clients of one token share a connection, regardless of their names and capabilities.
    Shared,
    /// Clients of one token share a connection if they have the same name and capabilities.
    PerClient,
}

/// The check modes of one tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ToolModes {
    /// The mode of the argument check before a call is forwarded.
    pub input: CheckMode,
    /// The mode of the result check before a result is returned.
    pub output: CheckMode,
}

/// The behavior of the gateway: the key `gateway` of the configuration, without listeners, upstreams and
/// tokens.
///
/// ```
/// use answerback_gateway::{CheckMode, GatewaySettings};
/// use serde_json::json;
///
/// let parsed = json!({"gateway": {"tools": {"search": {"input": "warn"}}}});
/// let (settings, _) = GatewaySettings::from_value("config.yml", &parsed)?;
/// assert_eq!(settings.of("search").input, CheckMode::Warn);
/// assert_eq!(settings.of("other").input, CheckMode::Enforce);
/// # Ok::<(), answerback_gateway::SettingsError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GatewaySettings {
    /// The modes of tools that have none of their own.
    pub default: ToolModes,
    /// The modes of single tools, by name.
    pub tools: BTreeMap<String, ToolModes>,
    /// The tools that are listed and may be called. `None` allows all tools.
    pub allow: Option<Vec<String>>,
    /// The tools that are hidden and cannot be called.
    pub deny: Vec<String>,
    /// The response to a call of an unknown tool.
    pub unknown_tool: UnknownTool,
    /// The place of the tool envelope.
    pub envelope: EnvelopeMode,
    /// The effect of a tool definition that changed since it was first seen.
    pub pinning: CheckMode,
    /// The kind of response to requests of clients with sessions over HTTP.
    pub response_mode: ResponseMode,
    /// The clients without sessions that share a connection to a server.
    pub sharing: Sharing,
    /// The largest message, in bytes.
    pub largest_message: usize,
    /// The number of bytes of a result's text that the model receives. `None` means all of them.
    pub shown_bytes: Option<usize>,
    /// The largest number of concurrent calls.
    pub most_calls: usize,
    /// The longest duration of a call or any other request.
    pub call_time: Duration,
    /// The longest time without any message about a request. `None` means that only `call_time` applies.
    pub idle_time: Option<Duration>,
    /// The limits for the clients of `answerback serve`.
    pub limits: ServeLimits,
}

/// Limits the resources that clients of `answerback serve` may use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ServeLimits {
    /// The largest number of connections.
    pub connections: usize,
    /// The largest number of connections of one token.
    pub connections_per_token: usize,
    /// The largest number of connections of one address that have not sent a request with a token.
    pub half_open: usize,
    /// The largest number of sessions.
    pub sessions: usize,
    /// The largest number of sessions of one token.
    pub sessions_per_token: usize,
    /// The time after which an idle session ends.
    pub session_idle: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_token: 256,
            half_open: 256,
            sessions: 256,
            sessions_per_token: 32,
            session_idle: Duration::from_mins(30),
        }
    }
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self {
            default: ToolModes { input: CheckMode::Enforce, output: CheckMode::Warn },
            tools: BTreeMap::new(),
            allow: None,
            deny: Vec::new(),
            unknown_tool: UnknownTool::Error,
            envelope: EnvelopeMode::Meta,
            pinning: CheckMode::Warn,
            response_mode: ResponseMode::AsNeeded,
            sharing: Sharing::PerClient,
            largest_message: 64 << 20,
            shown_bytes: None,
            most_calls: 256,
            call_time: Duration::from_mins(10),
            idle_time: None,
            limits: ServeLimits::default(),
        }
    }
}

const MODES: &[(&str, CheckMode)] =
    &[("off", CheckMode::Off), ("warn", CheckMode::Warn), ("enforce", CheckMode::Enforce)];
const UNKNOWN_TOOLS: &[(&str, UnknownTool)] =
    &[("error", UnknownTool::Error), ("result", UnknownTool::Result)];
const ENVELOPES: &[(&str, EnvelopeMode)] = &[
    ("off", EnvelopeMode::Off),
    ("meta", EnvelopeMode::Meta),
    ("structured", EnvelopeMode::Structured),
];
const RESPONSE_MODES: &[(&str, ResponseMode)] = &[
    ("as_needed", ResponseMode::AsNeeded),
    ("stream", ResponseMode::Stream),
    ("poll", ResponseMode::Poll),
];
const SHARING: &[(&str, Sharing)] =
    &[("per_client", Sharing::PerClient), ("shared", Sharing::Shared)];
/// The keys that `ServiceSettings` reads.
const SERVICE_KEYS: &[&str] = &["listen", "upstreams", "tokens"];

impl GatewaySettings {
    /// Reads the key `gateway` of a configuration. Also returns warnings about keys that have no effect.
    ///
    /// # Errors
    ///
    /// Returns an error that lists all unknown keys and invalid values.
    pub fn from_value(file: &str, parsed: &Value) -> Result<(Self, Vec<String>), SettingsError> {
        let mut reader = SettingsReader::default();
        let mut settings = Self::default();
        let empty = Map::new();
        let gateway = reader.object("gateway", parsed.get("gateway")).unwrap_or(&empty);
        for (key, value) in gateway {
            let path = format!("gateway.{key}");
            match key.as_str() {
                "input" => reader.word(&path, value, MODES, &mut settings.default.input),
                "output" => reader.word(&path, value, MODES, &mut settings.default.output),
                "pinning" => reader.word(&path, value, MODES, &mut settings.pinning),
                "unknown_tool" => {
                    reader.word(&path, value, UNKNOWN_TOOLS, &mut settings.unknown_tool);
                }
                "envelope" => reader.word(&path, value, ENVELOPES, &mut settings.envelope),
                "answers" => reader.word(&path, value, RESPONSE_MODES, &mut settings.response_mode),
                "sharing" => reader.word(&path, value, SHARING, &mut settings.sharing),
                "allow" => settings.allow = Some(reader.names(&path, value)),
                "deny" => settings.deny = reader.names(&path, value),
                "largest_message" => {
                    if let Some(bytes) = reader.number(&path, value, 1 << 10, 1 << 30) {
                        settings.largest_message = bytes;
                    }
                }
                "shown_bytes" => {
                    settings.shown_bytes = reader.number(&path, value, 1 << 8, 1 << 30);
                }
                "most_calls" => {
                    if let Some(calls) = reader.number(&path, value, 1, 10_000) {
                        settings.most_calls = calls;
                    }
                }
                "call_seconds" => {
                    if let Some(seconds) = reader.number(&path, value, 1, 86_400) {
                        settings.call_time = Duration::from_secs(seconds as u64);
                    }
                }
                "idle_seconds" => {
                    let seconds = reader.number(&path, value, 1, 86_400);
                    settings.idle_time = seconds.map(|seconds| Duration::from_secs(seconds as u64));
                }
                "most_connections" => {
                    reader.limit(&path, value, 65_536, &mut settings.limits.connections);
                }
                "most_connections_per_token" => {
                    let limit = &mut settings.limits.connections_per_token;
                    reader.limit(&path, value, 65_536, limit);
                }
                "most_half_open" => {
                    reader.limit(&path, value, 65_536, &mut settings.limits.half_open);
                }
                "most_sessions" => {
                    reader.limit(&path, value, 10_000, &mut settings.limits.sessions);
                }
                "most_sessions_per_token" => {
                    reader.limit(&path, value, 10_000, &mut settings.limits.sessions_per_token);
                }
                "session_idle_seconds" => {
                    if let Some(seconds) = reader.number(&path, value, 1, 86_400) {
                        settings.limits.session_idle = Duration::from_secs(seconds as u64);
                    }
                }
                // Tools refine the default modes, which may come later in the file.
                "tools" => {}
                key if SERVICE_KEYS.contains(&key) => {}
                _ => reader.unknown(&path),
            }
        }
        for (tool, value) in reader.object("gateway.tools", gateway.get("tools")).unwrap_or(&empty)
        {
            let path = format!("gateway.tools.{tool}");
            let mut modes = settings.default;
            for (key, value) in reader.object(&path, Some(value)).unwrap_or(&empty) {
                let path = format!("{path}.{key}");
                match key.as_str() {
                    "input" => reader.word(&path, value, MODES, &mut modes.input),
                    "output" => reader.word(&path, value, MODES, &mut modes.output),
                    _ => reader.unknown(&path),
                }
            }
            settings.tools.insert(tool.clone(), modes);
        }
        reader.finish(file, settings)
    }

    /// The check modes of a tool.
    pub fn of(&self, tool: &str) -> ToolModes {
        self.tools.get(tool).copied().unwrap_or(self.default)
    }

    /// True if a tool is listed and may be called.
    pub fn allows(&self, tool: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| matches(name, tool));
        self.allow.as_deref().is_none_or(is_named) && !is_named(&self.deny)
    }

    /// True if no tool is hidden.
    pub(crate) fn allows_all(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty()
    }
}

/// True if the pattern is this name, or ends with a star and is a prefix of it.
fn matches(pattern: &str, tool: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => tool.starts_with(prefix),
        None => pattern == tool,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(gateway: Value) -> Result<(GatewaySettings, Vec<String>), SettingsError> {
        GatewaySettings::from_value("f", &json!({ "gateway": gateway }))
    }

    #[test]
    fn tools_refine_the_default_in_any_order() {
        let (settings, warnings) =
            read(json!({"tools": {"a": {"output": "enforce"}}, "input": "warn"})).unwrap();
        assert_eq!(
            settings.of("a"),
            ToolModes { input: CheckMode::Warn, output: CheckMode::Enforce }
        );
        assert_eq!(settings.of("b"), ToolModes { input: CheckMode::Warn, output: CheckMode::Warn });
        assert!(warnings.is_empty());
        let error = read(json!({"typo": 1, "tools": {"a": {"inputs": "off"}}})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "f: gateway.typo is not a known key; gateway.tools.a.inputs is not a known key"
        );
    }

    #[test]
    fn every_problem_is_reported() {
        let error =
            read(json!({"input": "strict", "deny": "x", "most_calls": 0, "tools": {"a": 1}}));
        insta::assert_snapshot!(error.unwrap_err(), @"f: gateway.input is \"strict\"; expected one of off, warn, enforce; gateway.deny is \"x\"; expected a list of tool names, where * at the end stands for any rest; gateway.most_calls is 0; expected an integer from 1 to 10000; gateway.tools.a is 1; expected a mapping");
        assert!(GatewaySettings::from_value("f", &Value::Null).is_ok());
    }

    /// The published schema accepts exactly the configurations that the code reads without errors or warnings.
    #[test]
    fn the_schema_agrees_with_the_readers() {
        let schema = answerback::config::schema();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let is_quiet = |gateway: &Value| {
            let parsed = json!({ "gateway": gateway });
            let mine = GatewaySettings::from_value("f", &parsed);
            let others = crate::ServiceSettings::from_value("f", &parsed);
            matches!((mine, others), (Ok((_, mine)), Ok((_, others))) if mine.is_empty() && others.is_empty())
        };
        for gateway in [
            Value::Null,
            json!({"input": "warn", "output": "off", "pinning": "enforce", "envelope": "structured"}),
            json!({"input": false, "unknown_tool": "result", "envelope": false}),
            json!({"input": true}),
            json!({"input": null}),
            json!({"unknown_tool": false}),
            json!({"unknown_tool": "off"}),
            json!({"answers": "as_needed"}),
            json!({"answers": "stream"}),
            json!({"answers": "poll"}),
            json!({"answers": "json"}),
            json!({"answers": false}),
            json!({"sharing": "shared"}),
            json!({"sharing": "per_client"}),
            json!({"sharing": "per_token"}),
            json!({"allow": ["a", "b*"], "deny": []}),
            json!({"allow": "a"}),
            json!({"deny": [1]}),
            json!({"largest_message": 1024, "most_calls": 10_000, "call_seconds": 1}),
            json!({"largest_message": 1023}),
            json!({"shown_bytes": 255}),
            json!({"shown_bytes": 256}),
            json!({"most_calls": 10_001}),
            json!({"most_connections": 1, "most_connections_per_token": 65_536, "most_half_open": 8}),
            json!({"most_connections": 0}),
            json!({"most_connections_per_token": 65_537}),
            json!({"most_half_open": "8"}),
            json!({"most_sessions": 10_000, "most_sessions_per_token": 1, "session_idle_seconds": 60}),
            json!({"most_sessions": 10_001}),
            json!({"most_sessions_per_token": 0}),
            json!({"session_idle_seconds": 86_401}),
            json!({"call_seconds": 0}),
            json!({"idle_seconds": 30}),
            json!({"idle_seconds": "30"}),
            json!({"tools": {"a": {"input": "off"}, "b": null}}),
            json!({"tools": {"a": {"inputs": "off"}}}),
            json!({"tools": ["a"]}),
            json!({"typo": 1}),
            json!({"listen": "127.0.0.1:0"}),
            json!({"listen": "[::1]:7311"}),
            json!({"listen": "localhost:7311"}),
            json!({"listen": 7311}),
            json!({"upstreams": {"a": {"command": "x", "args": ["-p", 80], "env": {"A": "b"}, "folder": "/"}}}),
            json!({"upstreams": {"a": {"command": "x", "env": null}, "b": {"url": "http://h/mcp"}}}),
            json!({"upstreams": {"a": {"command": "x", "env": {"A": 1.5, "B": true, "C": {"env": "E"}, "D": {"file": "f"}}}}}),
            json!({"upstreams": {"a": {"command": "x", "env": {"A": ""}}}}),
            json!({"upstreams": {"a": {"command": "x", "env": {"A": null}}}}),
            json!({"upstreams": {"a": {"command": "x", "env": {"A": ["b"]}}}}),
            json!({"upstreams": {"a": {"command": "x", "env": {"A": {}}}}}),
            json!({"upstreams": {"a": {"command": "x", "env": {"A": {"env": "E", "file": "f"}}}}}),
            json!({"upstreams": {"a b": {"command": "x"}}}),
            json!({"upstreams": {"a": {"command": ""}}}),
            json!({"upstreams": {"a": {"command": "x", "url": "http://h"}}}),
            json!({"upstreams": {"a": {"command": "x", "headers": {}}}}),
            json!({"upstreams": {"a": {"url": "http://h", "args": []}}}),
            json!({"upstreams": {"a": {}}}),
            json!({"upstreams": {"a": {"command": "x", "colour": 1}}}),
            json!({"upstreams": {"a": {"url": "http://h", "headers": {"X": {"env": "E"}, "Y": {"file": "f"}}}}}),
            json!({"upstreams": {"a": {"url": "http://h", "headers": {"X": "secret"}}}}),
            json!({"upstreams": {"a": {"url": "http://h", "headers": {"X": {"env": "E", "file": "f"}}}}}),
            json!({"tokens": {"t": {"scopes": ["read", "decide"], "file": "f"}, "u": {"scopes": [], "env": "E"}}}),
            json!({"tokens": {"t": {"scopes": ["read"]}}}),
            json!({"tokens": {"t": {"file": "f"}}}),
            json!({"tokens": {"t": {"scopes": "read", "file": "f"}}}),
            json!({"tokens": {"t": {"scopes": [], "file": "f", "env": "E"}}}),
            json!({"tokens": {"t": {"scopes": [], "file": "f", "colour": 1}}}),
        ] {
            let fits = validator.is_valid(&json!({ "gateway": gateway }));
            assert_eq!(fits, is_quiet(&gateway), "{gateway}");
        }
    }

    #[test]
    fn lists_select_the_tools() {
        let (settings, _) =
            read(json!({"allow": ["read_*", "now"], "deny": ["read_secret"]})).unwrap();
        let allowed =
            ["read_file", "now", "read_secret", "write_file"].map(|tool| settings.allows(tool));
        assert_eq!(allowed, [true, true, false, false]);
        assert!(GatewaySettings::default().allows("anything"));
    }
}
