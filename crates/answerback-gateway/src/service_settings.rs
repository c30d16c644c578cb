use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::{Map, Value};

use crate::settings_reader::{SettingsError, SettingsReader};

/// The listener, servers and tokens: the rest of the key `gateway` of the configuration.
///
/// ```
/// use answerback_gateway::{ServiceSettings, TransportSettings};
/// use serde_json::json;
///
/// let gateway = json!({"upstreams": {"files": {"command": "my-server", "args": ["--flag"]}}});
/// let (settings, _) = ServiceSettings::from_value("config.yml", &json!({ "gateway": gateway }))?;
/// let transport = &settings.servers[0].transport;
/// assert!(matches!(transport, TransportSettings::Command { command, .. } if command == "my-server"));
/// # Ok::<(), answerback_gateway::SettingsError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ServiceSettings {
    /// The address on which the gateway listens for clients.
    pub listen: Option<SocketAddr>,
    /// The servers, in the order of the file.
    pub servers: Vec<ServerSettings>,
    /// The tokens and their scopes.
    pub tokens: Vec<TokenSettings>,
}

/// A server behind the gateway, as the configuration describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerSettings {
    /// The server's name.
    pub name: String,
    /// The way in which the server is reached.
    pub transport: TransportSettings,
}

/// The way in which a server is reached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TransportSettings {
    /// A program that communicates on standard input and output.
    Command {
        /// The program.
        command: String,
        /// The program's arguments.
        args: Vec<String>,
        /// The environment variables that are set in addition to the inherited ones.
        env: BTreeMap<String, EnvironmentValue>,
        /// The folder in which the program runs.
        folder: Option<String>,
    },
    /// A server that is reached over HTTP.
    Url {
        /// The server's URL.
        url: String,
        /// The headers of every request. Their values are secrets.
        headers: BTreeMap<String, SecretSource>,
    },
}

/// The value of an environment variable for a server.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EnvironmentValue {
    /// A text in the configuration.
    Text(String),
    /// A secret outside of the configuration.
    Secret(SecretSource),
}

/// The place of a secret, which is never in the configuration itself.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SecretSource {
    /// The name of an environment variable.
    Variable(String),
    /// The path of a file.
    File(String),
}

/// A token and the rights of its bearer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenSettings {
    /// The name of the principal.
    pub name: String,
    /// The scopes of the token.
    pub scopes: Vec<String>,
    /// The place of the token.
    pub secret: SecretSource,
}

impl ServiceSettings {
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
        if let Some(value) = gateway.get("listen") {
            settings.listen = value.as_str().and_then(|text| text.parse().ok());
            if settings.listen.is_none() {
                let expected = "an address with a port, such as 127.0.0.1:7311";
                reader.problem("gateway.listen", value, expected);
            }
        }
        let upstreams = reader.object("gateway.upstreams", gateway.get("upstreams"));
        for (name, value) in upstreams.unwrap_or(&empty) {
            if let Some(server) = server(&mut reader, file, name, value) {
                settings.servers.push(server);
            }
        }
        let tokens = reader.object("gateway.tokens", gateway.get("tokens"));
        for (name, value) in tokens.unwrap_or(&empty) {
            if let Some(token) = token(&mut reader, name, value) {
                settings.tokens.push(token);
            }
        }
        reader.finish(file, settings)
    }

    /// The environment variables that hold the configuration's secrets, both our own and those for a
    /// single server. Servers do not inherit them.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        let of_servers = self.servers.iter().flat_map(|server| server.transport.secrets());
        let of_tokens = self.tokens.iter().map(|token| &token.secret);
        of_servers.chain(of_tokens).filter_map(|secret| match secret {
            SecretSource::Variable(name) => Some(name.as_str()),
            SecretSource::File(_) => None,
        })
    }
}

impl TransportSettings {
    fn secrets(&self) -> Vec<&SecretSource> {
        match self {
            Self::Url { headers, .. } => headers.values().collect(),
            Self::Command { env, .. } => {
                let secrets = env.values().filter_map(|variable| match variable {
                    EnvironmentValue::Secret(secret) => Some(secret),
                    EnvironmentValue::Text(_) => None,
                });
                secrets.collect()
            }
        }
    }
}

/// True if a name can be used in a URL and as a prefix of a tool's name.
fn is_name(name: &str) -> bool {
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
    (1..=64).contains(&name.len()) && name.chars().all(is_allowed)
}

fn server(
    reader: &mut SettingsReader,
    file: &str,
    name: &str,
    value: &Value,
) -> Option<ServerSettings> {
    let path = format!("gateway.upstreams.{name}");
    if !is_name(name) {
        let expected = "a name of up to 64 letters, digits, - and _";
        reader.problem("a name below gateway.upstreams", &name.into(), expected);
    }
    let members = reader.object(&path, Some(value))?;
    let (mut command, mut url, mut folder) = (None, None, None);
    let (mut args, mut env, mut headers) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for (key, value) in members {
        let path = format!("{path}.{key}");
        match key.as_str() {
            "command" => command = reader.text(&path, value, "the name of a program"),
            "url" => url = reader.text(&path, value, "an http or https URL"),
            "folder" => folder = reader.text(&path, value, "the path of a folder"),
            "args" => args = texts(reader, &path, value),
            "env" => {
                for (name, value) in reader.object(&path, Some(value)).unwrap_or(&Map::new()) {
                    if let Some(value) = variable(reader, &format!("{path}.{name}"), value) {
                        env.insert(name.clone(), value);
                    }
                }
            }
            "headers" => {
                for (name, value) in reader.object(&path, Some(value)).unwrap_or(&Map::new()) {
                    let path = format!("{path}.{name}");
                    if let Some(secret) = secret(reader, &path, value) {
                        headers.insert(name.clone(), secret);
                    }
                }
            }
            _ => reader.unknown(&path),
        }
    }
    let (others, reason): (&[&str], &str) = match (&command, &url) {
        (Some(_), None) => (&["headers"], "headers are only for a server with a url"),
        (None, Some(_)) => {
            (&["args", "env", "folder"], "the gateway does not start a server with a url")
        }
        _ => (&[], ""),
    };
    for key in others.iter().filter(|key| members.contains_key(**key)) {
        reader.without_effect(file, &format!("{path}.{key}"), reason);
    }
    let transport = match (command, url) {
        (Some(command), None) => TransportSettings::Command { command, args, env, folder },
        (None, Some(url)) => TransportSettings::Url { url, headers },
        _ => {
            reader.problem(&path, value, "either a command or a url");
            return None;
        }
    };
    Some(ServerSettings { name: name.to_owned(), transport })
}

fn token(reader: &mut SettingsReader, name: &str, value: &Value) -> Option<TokenSettings> {
    let path = format!("gateway.tokens.{name}");
    let members = reader.object(&path, Some(value))?;
    let mut scopes = Vec::new();
    if !members.contains_key("scopes") {
        reader.problem(&format!("{path}.scopes"), &Value::Null, "a list of scopes");
    }
    let mut place = Map::new();
    for (key, value) in members {
        match key.as_str() {
            "scopes" => scopes = texts(reader, &format!("{path}.scopes"), value),
            "env" | "file" => {
                place.insert(key.clone(), value.clone());
            }
            _ => reader.unknown(&format!("{path}.{key}")),
        }
    }
    let secret = secret(reader, &path, &place.into())?;
    Some(TokenSettings { name: name.to_owned(), scopes, secret })
}

/// Reads the place of a secret: `{env: VARIABLE}` or `{file: PATH}`.
fn secret(reader: &mut SettingsReader, path: &str, value: &Value) -> Option<SecretSource> {
    let place = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    match (place("env"), place("file")) {
        (Some(variable), None) => Some(SecretSource::Variable(variable)),
        (None, Some(path)) => Some(SecretSource::File(path)),
        _ => {
            // The value may be the secret itself, so it is not printed.
            let shown = Value::from("(not shown)");
            reader.problem(path, &shown, "env: VARIABLE or file: PATH, where the secret is");
            None
        }
    }
}

/// Reads the value of a variable: a text, or the place of a secret.
fn variable(reader: &mut SettingsReader, path: &str, value: &Value) -> Option<EnvironmentValue> {
    let text = match value {
        Value::Object(_) => return secret(reader, path, value).map(EnvironmentValue::Secret),
        // YAML parses a switch as a boolean.
        Value::Bool(it) => Some(it.to_string()),
        _ => text(value).filter(|text| !text.is_empty()),
    };
    if text.is_none() {
        // The value may be the secret itself, so it is not printed.
        let shown = Value::from("(not shown)");
        reader.problem(path, &shown, "text, or env: VARIABLE or file: PATH, where a secret is");
    }
    text.map(EnvironmentValue::Text)
}

fn text(item: &Value) -> Option<String> {
    match item {
        Value::String(text) => Some(text.clone()),
        // YAML parses a port as a number.
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn texts(reader: &mut SettingsReader, path: &str, value: &Value) -> Vec<String> {
    let texts = value.as_array().and_then(|items| items.iter().map(text).collect());
    texts.unwrap_or_else(|| {
        reader.problem(path, value, "a list of texts");
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(gateway: Value) -> Result<(ServiceSettings, Vec<String>), SettingsError> {
        ServiceSettings::from_value("f", &json!({ "gateway": gateway }))
    }

    #[test]
    fn servers_keep_their_order() {
        let (settings, warnings) = read(json!({
            "listen": "127.0.0.1:0",
            "upstreams": {
                "web": {"url": "https://example.org/mcp", "headers": {"Authorization": {"env": "TOKEN"}}},
                "files": {"command": "server", "args": ["--port", 80], "env": {"A": "b", "N": 1.5, "B": true, "KEY": {"env": "API_KEY"}}},
            },
            "tokens": {"desk": {"scopes": ["call"], "file": "desk.token"}},
        }))
        .unwrap();
        let names: Vec<_> = settings.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["web", "files"]);
        assert!(warnings.is_empty());
        let TransportSettings::Command { args, env, .. } = &settings.servers[1].transport else {
            panic!()
        };
        assert_eq!(args, &["--port", "80"]);
        let variables: Vec<_> = env.values().cloned().collect();
        let text = |text: &str| EnvironmentValue::Text(text.to_owned());
        let key = EnvironmentValue::Secret(SecretSource::Variable("API_KEY".into()));
        assert_eq!(variables, [text("b"), text("true"), key, text("1.5")]);
        assert_eq!(settings.secret_variables().collect::<Vec<_>>(), ["TOKEN", "API_KEY"]);
        assert_eq!(settings.tokens[0].secret, SecretSource::File("desk.token".into()));
    }

    /// Keys that apply only to the other kind of server cause a warning.
    #[test]
    fn keys_of_the_other_kind_have_no_effect() {
        let (_, warnings) = read(json!({"upstreams": {
            "a": {"command": "x", "headers": {"X": {"env": "E"}}},
            "b": {"url": "http://h/mcp", "folder": "/", "args": []},
        }}))
        .unwrap();
        let named = ["a.headers", "b.args", "b.folder"];
        for (warning, key) in warnings.iter().zip(named) {
            let begins = format!("f: gateway.upstreams.{key} has no effect: ");
            assert!(warning.starts_with(&begins), "{warning}");
        }
        assert_eq!(warnings.len(), named.len());
        let error = read(json!({"upstreams": {"a": {"command": "x", "colour": 1}}})).unwrap_err();
        assert_eq!(error.to_string(), "f: gateway.upstreams.a.colour is not a known key");
        let error = read(json!({"tokens": {"t": {"file": "t"}}})).unwrap_err().to_string();
        assert!(error.contains("gateway.tokens.t.scopes is null; expected a list"), "{error}");
    }

    #[test]
    fn every_problem_is_reported_and_no_secret_is_shown() {
        let error = read(json!({
            "listen": "here",
            "upstreams": {"a b": {"command": "x"}, "c": {"command": "x", "url": "y"}, "d": {"url": "u", "headers": {"X": "s3cret"}}, "e": {"command": "x", "env": {"A": ["s3cret"]}}},
            "tokens": {"t": {"scopes": "call", "env": 1}},
        }))
        .unwrap_err();
        insta::assert_snapshot!(error, @r#"f: gateway.listen is "here"; expected an address with a port, such as 127.0.0.1:7311; a name below gateway.upstreams is "a b"; expected a name of up to 64 letters, digits, - and _; gateway.upstreams.c is {"command":"x","url":"y"}; expected either a command or a url; gateway.upstreams.d.headers.X is "(not shown)"; expected env: VARIABLE or file: PATH, where the secret is; gateway.upstreams.e.env.A is "(not shown)"; expected text, or env: VARIABLE or file: PATH, where a secret is; gateway.tokens.t.scopes is "call"; expected a list of texts; gateway.tokens.t is "(not shown)"; expected env: VARIABLE or file: PATH, where the secret is"#);
    }
}
