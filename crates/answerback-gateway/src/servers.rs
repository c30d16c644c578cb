use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::{Map, Value};

use crate::settings::{SettingsError, SettingsReader};

/// Who is served and what lies behind: the rest of the key `gateway` of the configuration.
///
/// ```
/// use answerback_gateway::{Listed, ServiceSettings};
/// use serde_json::json;
///
/// let gateway = json!({"upstreams": {"files": {"command": "my-server", "args": ["--flag"]}}});
/// let (settings, _) = ServiceSettings::from_value("config.yml", &json!({ "gateway": gateway }))?;
/// assert!(matches!(&settings.servers[0].listed, Listed::Command { command, .. } if command == "my-server"));
/// # Ok::<(), answerback_gateway::SettingsError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ServiceSettings {
    /// Where clients are listened for.
    pub listen: Option<SocketAddr>,
    /// The servers, in the order of the file.
    pub servers: Vec<ServerSettings>,
    /// Who may do what.
    pub tokens: Vec<TokenSettings>,
}

/// A server behind the gateway.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerSettings {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub listed: Listed,
}

/// What a server is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Listed {
    /// A program that speaks on standard input and output.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that it gets beside those that it inherits.
        env: BTreeMap<String, Variable>,
        /// The folder that it runs in.
        folder: Option<String>,
    },
    /// A server that is reached over HTTP.
    Url {
        /// Where it is.
        url: String,
        /// Headers that it gets with every request; their values are secrets.
        headers: BTreeMap<String, Secret>,
    },
}

/// What a variable that a server gets is set to.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Variable {
    /// What stands in the configuration.
    Text(String),
    /// What stands elsewhere.
    Secret(Secret),
}

/// Where a secret is; it never stands in the configuration itself.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Secret {
    /// In a variable.
    Variable(String),
    /// In a file.
    File(String),
}

/// Who may do what.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenSettings {
    /// On whose behalf its bearer acts.
    pub name: String,
    /// What its bearer may do.
    pub scopes: Vec<String>,
    /// Where the token is.
    pub secret: Secret,
}

impl ServiceSettings {
    /// Reads the key `gateway` of a configuration, with warnings about keys that have no effect.
    ///
    /// # Errors
    ///
    /// When a key is not known, or a value is not one that its key can have: all of them are named.
    pub fn from_value(file: &str, parsed: &Value) -> Result<(Self, Vec<String>), SettingsError> {
        let mut reading = SettingsReader::default();
        let mut settings = Self::default();
        let empty = Map::new();
        let gateway = reading.object("gateway", parsed.get("gateway")).unwrap_or(&empty);
        if let Some(value) = gateway.get("listen") {
            settings.listen = value.as_str().and_then(|text| text.parse().ok());
            if settings.listen.is_none() {
                let expected = "an address with a port, such as 127.0.0.1:7311";
                reading.problem("gateway.listen", value, expected);
            }
        }
        let upstreams = reading.object("gateway.upstreams", gateway.get("upstreams"));
        for (name, value) in upstreams.unwrap_or(&empty) {
            if let Some(server) = server(&mut reading, file, name, value) {
                settings.servers.push(server);
            }
        }
        let tokens = reading.object("gateway.tokens", gateway.get("tokens"));
        for (name, value) in tokens.unwrap_or(&empty) {
            if let Some(token) = token(&mut reading, name, value) {
                settings.tokens.push(token);
            }
        }
        reading.finish(file, settings)
    }

    /// The variables in which the configuration has secrets: of our own, and those that are for one server alone. No
    /// server inherits them.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        let of_servers = self.servers.iter().flat_map(|server| server.listed.secrets());
        let of_tokens = self.tokens.iter().map(|token| &token.secret);
        of_servers.chain(of_tokens).filter_map(|secret| match secret {
            Secret::Variable(name) => Some(name.as_str()),
            Secret::File(_) => None,
        })
    }
}

impl Listed {
    fn secrets(&self) -> Vec<&Secret> {
        match self {
            Self::Url { headers, .. } => headers.values().collect(),
            Self::Command { env, .. } => {
                let secrets = env.values().filter_map(|variable| match variable {
                    Variable::Secret(secret) => Some(secret),
                    Variable::Text(_) => None,
                });
                secrets.collect()
            }
        }
    }
}

/// Whether a name can stand in a URL and before a tool's name.
fn is_name(name: &str) -> bool {
    let is_fit = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
    (1..=64).contains(&name.len()) && name.chars().all(is_fit)
}

fn server(
    reading: &mut SettingsReader,
    file: &str,
    name: &str,
    value: &Value,
) -> Option<ServerSettings> {
    let path = format!("gateway.upstreams.{name}");
    if !is_name(name) {
        let expected = "a name of up to 64 letters, digits, - and _";
        reading.problem("a name below gateway.upstreams", &name.into(), expected);
    }
    let members = reading.object(&path, Some(value))?;
    let (mut command, mut url, mut folder) = (None, None, None);
    let (mut args, mut env, mut headers) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for (key, value) in members {
        let path = format!("{path}.{key}");
        match key.as_str() {
            "command" => command = reading.text(&path, value, "the name of a program"),
            "url" => url = reading.text(&path, value, "an http or https URL"),
            "folder" => folder = reading.text(&path, value, "the path of a folder"),
            "args" => args = texts(reading, &path, value),
            "env" => {
                for (name, value) in reading.object(&path, Some(value)).unwrap_or(&Map::new()) {
                    if let Some(value) = variable(reading, &format!("{path}.{name}"), value) {
                        env.insert(name.clone(), value);
                    }
                }
            }
            "headers" => {
                for (name, value) in reading.object(&path, Some(value)).unwrap_or(&Map::new()) {
                    let path = format!("{path}.{name}");
                    if let Some(secret) = secret(reading, &path, value) {
                        headers.insert(name.clone(), secret);
                    }
                }
            }
            _ => reading.unknown(&path),
        }
    }
    let (others, reason): (&[&str], &str) = match (&command, &url) {
        (Some(_), None) => (&["headers"], "only a server with a url gets headers"),
        (None, Some(_)) => (&["args", "env", "folder"], "a server with a url is not started by us"),
        _ => (&[], ""),
    };
    for key in others.iter().filter(|key| members.contains_key(**key)) {
        reading.without_effect(file, &format!("{path}.{key}"), reason);
    }
    let listed = match (command, url) {
        (Some(command), None) => Listed::Command { command, args, env, folder },
        (None, Some(url)) => Listed::Url { url, headers },
        _ => {
            reading.problem(&path, value, "either a command or a url");
            return None;
        }
    };
    Some(ServerSettings { name: name.to_owned(), listed })
}

fn token(reading: &mut SettingsReader, name: &str, value: &Value) -> Option<TokenSettings> {
    let path = format!("gateway.tokens.{name}");
    let members = reading.object(&path, Some(value))?;
    let mut scopes = Vec::new();
    if !members.contains_key("scopes") {
        reading.problem(
            &format!("{path}.scopes"),
            &Value::Null,
            "a list of what its bearer may do",
        );
    }
    let mut place = Map::new();
    for (key, value) in members {
        match key.as_str() {
            "scopes" => scopes = texts(reading, &format!("{path}.scopes"), value),
            "env" | "file" => {
                place.insert(key.clone(), value.clone());
            }
            _ => reading.unknown(&format!("{path}.{key}")),
        }
    }
    let secret = secret(reading, &path, &place.into())?;
    Some(TokenSettings { name: name.to_owned(), scopes, secret })
}

/// Where a secret is: `{env: VARIABLE}` or `{file: PATH}`.
fn secret(reading: &mut SettingsReader, path: &str, value: &Value) -> Option<Secret> {
    let place = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    match (place("env"), place("file")) {
        (Some(variable), None) => Some(Secret::Variable(variable)),
        (None, Some(path)) => Some(Secret::File(path)),
        _ => {
            // What stands there may be the secret itself.
            let shown = Value::from("(not shown)");
            reading.problem(path, &shown, "env: VARIABLE or file: PATH, where the secret is");
            None
        }
    }
}

/// What a variable is set to: text, or a secret that stands elsewhere.
fn variable(reading: &mut SettingsReader, path: &str, value: &Value) -> Option<Variable> {
    let text = match value {
        Value::Object(_) => return secret(reading, path, value).map(Variable::Secret),
        // YAML reads a switch as a truth value.
        Value::Bool(it) => Some(it.to_string()),
        _ => text(value).filter(|text| !text.is_empty()),
    };
    if text.is_none() {
        // What stands there may be the secret itself.
        let shown = Value::from("(not shown)");
        reading.problem(path, &shown, "text, or env: VARIABLE or file: PATH, where a secret is");
    }
    text.map(Variable::Text)
}

fn text(item: &Value) -> Option<String> {
    match item {
        Value::String(text) => Some(text.clone()),
        // YAML reads a port as a number.
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn texts(reading: &mut SettingsReader, path: &str, value: &Value) -> Vec<String> {
    let texts = value.as_array().and_then(|items| items.iter().map(text).collect());
    texts.unwrap_or_else(|| {
        reading.problem(path, value, "a list of texts");
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
        let Listed::Command { args, env, .. } = &settings.servers[1].listed else { panic!() };
        assert_eq!(args, &["--port", "80"]);
        let variables: Vec<_> = env.values().cloned().collect();
        let text = |text: &str| Variable::Text(text.to_owned());
        let key = Variable::Secret(Secret::Variable("API_KEY".into()));
        assert_eq!(variables, [text("b"), text("true"), key, text("1.5")]);
        assert_eq!(settings.secret_variables().collect::<Vec<_>>(), ["TOKEN", "API_KEY"]);
        assert_eq!(settings.tokens[0].secret, Secret::File("desk.token".into()));
    }

    /// What is said of the other kind of server is not passed over in silence.
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
    fn every_problem_is_named_and_no_secret_is_shown() {
        let error = read(json!({
            "listen": "here",
            "upstreams": {"a b": {"command": "x"}, "c": {"command": "x", "url": "y"}, "d": {"url": "u", "headers": {"X": "s3cret"}}, "e": {"command": "x", "env": {"A": ["s3cret"]}}},
            "tokens": {"t": {"scopes": "call", "env": 1}},
        }))
        .unwrap_err();
        insta::assert_snapshot!(error, @r#"f: gateway.listen is "here"; expected an address with a port, such as 127.0.0.1:7311; a name below gateway.upstreams is "a b"; expected a name of up to 64 letters, digits, - and _; gateway.upstreams.c is {"command":"x","url":"y"}; expected either a command or a url; gateway.upstreams.d.headers.X is "(not shown)"; expected env: VARIABLE or file: PATH, where the secret is; gateway.upstreams.e.env.A is "(not shown)"; expected text, or env: VARIABLE or file: PATH, where a secret is; gateway.tokens.t.scopes is "call"; expected a list of texts; gateway.tokens.t is "(not shown)"; expected env: VARIABLE or file: PATH, where the secret is"#);
    }
}
