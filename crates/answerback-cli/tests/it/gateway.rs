//! A running gateway, and clients of both protocol eras.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::wrap::Desk;

/// The time limit for every wait, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// The revision without sessions.
pub(crate) const MODERN: &str = "2026-07-28";

/// A running gateway.
pub(crate) struct Gateway {
    pub(crate) child: Child,
    pub(crate) said: Receiver<String>,
    pub(crate) endpoint: String,
    pub(crate) token: String,
}

impl Gateway {
    pub(crate) fn start(desk: &Desk, config: &str, options: &[&str]) -> Self {
        let mut command = desk.command();
        let config = desk.config(config);
        command.args(["serve", "--listen", "127.0.0.1:0", "--config", &config]).args(options);
        if !options.contains(&"--no-record") {
            // The other commands of this environment use this store.
            command.arg("--store").arg(desk.path("state/answerback/ledger.db"));
        }
        Self::run(command, desk)
    }

    pub(crate) fn run(mut command: Command, desk: &Desk) -> Self {
        let file = desk.path("token");
        command.arg("--token-file").arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let errors = child.stderr.take().unwrap();
        let (sender, said) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let deadline = Instant::now() + PATIENCE;
        let endpoint = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = said.recv_timeout(left).expect("a gateway that is ready");
            if let Some(endpoint) = line.strip_prefix("endpoint ") {
                break endpoint.to_owned();
            }
        };
        let token = std::fs::read_to_string(file).unwrap().trim().to_owned();
        Self { child, said, endpoint, token }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.endpoint.strip_suffix("/mcp").unwrap())
    }

    /// Sends a request as it is. Returns status, session and body.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request = ureq::http::Request::builder().method(method).uri(self.url(path));
        let has = |name: &str| headers.iter().any(|(header, _)| header.eq_ignore_ascii_case(name));
        let bearer = format!("Bearer {}", self.token);
        let usual = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        for (name, value) in usual.iter().filter(|(name, _)| !has(name)).chain(headers) {
            if !value.is_empty() {
                request = request.header(*name, *value);
            }
        }
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .allow_non_standard_methods(true)
            .build()
            .into();
        let mut answer = agent.run(request.body(body.to_owned()).unwrap()).unwrap();
        let session = answer.headers().get("mcp-session-id");
        let session = session.map(|name| name.to_str().unwrap().to_owned());
        let status = answer.status().as_u16();
        let is_stream = answer
            .headers()
            .get("content-type")
            .is_some_and(|kind| kind.to_str().unwrap().starts_with("text/event-stream"));
        let mut body = String::new();
        answer.body_mut().as_reader().read_to_string(&mut body).unwrap();
        let events = if is_stream {
            let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
            data.filter(|data| !data.is_empty()).map(json_of).collect()
        } else {
            body.is_empty().then(Vec::new).unwrap_or_else(|| vec![json_of(&body)])
        };
        Answer { status, session, is_stream, events }
    }

    /// Returns the metrics page.
    pub(crate) fn metrics(&self) -> String {
        let asked = ureq::get(self.url("/metrics"));
        let asked = asked.header("Authorization", format!("Bearer {}", self.token));
        asked.call().unwrap().body_mut().read_to_string().unwrap()
    }

    /// Returns the value of a series, if it exists.
    pub(crate) fn figure(&self, series: &str) -> Option<f64> {
        let page = self.metrics();
        let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.map(|number| number.parse().unwrap())
    }

    /// Waits until a series has such a value. Returns false on timeout.
    pub(crate) fn comes_to(&self, series: &str, is_so: impl Fn(f64) -> bool) -> bool {
        until(|| self.figure(series).is_some_and(&is_so))
    }

    pub(crate) fn stop(mut self) -> (i32, Vec<String>) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "a gateway that ends");
            std::thread::sleep(Duration::from_millis(20));
        };
        let said: Vec<String> = self.said.iter().collect();
        assert!(!said.iter().any(|line| line.contains("panicked")), "{said:?}");
        (status.code().unwrap_or(-1), said)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a condition holds. Returns false on timeout.
pub(crate) fn until(is_so: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

pub(crate) fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The response to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    session: Option<String>,
    pub(crate) is_stream: bool,
    pub(crate) events: Vec<Value>,
}

impl Answer {
    /// Returns the last message, which is the response.
    pub(crate) fn last(&self) -> &Value {
        self.events.last().unwrap_or(&Value::Null)
    }
}

/// A client of the revisions with sessions.
pub(crate) struct Session<'g> {
    gateway: &'g Gateway,
    path: &'static str,
    pub(crate) name: String,
    next: u64,
}

impl<'g> Session<'g> {
    pub(crate) fn begin(gateway: &'g Gateway, path: &'static str) -> Self {
        Self::begin_with(gateway, path, &json!({}))
    }

    /// Starts a client with these capabilities.
    pub(crate) fn begin_with(
        gateway: &'g Gateway,
        path: &'static str,
        capabilities: &Value,
    ) -> Self {
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "0"}});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
        let answer = gateway.send("POST", path, &[], &hello.to_string());
        assert_eq!(answer.status, 200, "{:?}", answer.events);
        assert!(answer.last()["result"]["serverInfo"].is_object(), "{:?}", answer.events);
        let session = Self { gateway, path, name: answer.session.unwrap(), next: 0 };
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(session.send("POST", initialized).status, 202);
        session
    }

    pub(crate) fn send(&self, method: &str, body: &str) -> Answer {
        self.gateway.send(method, self.path, &[("Mcp-Session-Id", &self.name)], body)
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        let answer = self.send("POST", &request.to_string());
        assert_eq!(answer.last()["id"], self.next, "{:?}", answer.events);
        answer.last().clone()
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a request on its own connection, which the server closes after the response. Dropping it disconnects the
    /// client.
    pub(crate) fn sent(&self, method: &str, body: &str) -> TcpStream {
        self.sent_to(self.path, method, body)
    }

    /// Sends the request to another path than that of the session.
    pub(crate) fn sent_to(&self, path: &str, method: &str, body: &str) -> TcpStream {
        let url = self.gateway.url("");
        let address = url.trim_start_matches("http://");
        let mut connection = TcpStream::connect(address).unwrap();
        let (token, name) = (&self.gateway.token, &self.name);
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Mcp-Session-Id: {name}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             Accept: application/json, text/event-stream\r\n\r\n{body}"
        );
        connection.write_all(request.as_bytes()).unwrap();
        connection
    }

    /// Sends a request with a streamed response, and returns its messages as they arrive.
    pub(crate) fn open(&self, request: &Value) -> Receiver<Value> {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().into();
        let post = agent.post(self.gateway.url(self.path));
        let post = post.header("Authorization", format!("Bearer {}", self.gateway.token));
        let post = post.header("Content-Type", "application/json");
        let post = post.header("Accept", "application/json, text/event-stream");
        let post = post.header("Mcp-Session-Id", &self.name);
        let answer = post.send(request.to_string()).unwrap();
        let (sender, said) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(answer.into_body().into_reader()).lines();
            for line in lines.map_while(Result::ok) {
                if let Some(message) = line.strip_prefix("data: ") {
                    let _ = sender.send(json_of(message));
                }
            }
        });
        said
    }
}

/// Sends a request of the stateless revision with additional headers.
pub(crate) fn stateless_with(
    gateway: &Gateway,
    path: &str,
    method: &str,
    mut params: Value,
    more: &[(&str, &str)],
) -> Answer {
    if params["_meta"].is_null() {
        params["_meta"] = json!({});
    }
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
    if params["_meta"]["io.modelcontextprotocol/clientCapabilities"].is_null() {
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let usual = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", method), ("Mcp-Name", &name)];
    let headers = [&usual, more].concat();
    gateway.send("POST", path, &headers, &request.to_string())
}

/// Sends a request of the stateless revision.
pub(crate) fn stateless(gateway: &Gateway, path: &str, method: &str, params: Value) -> Answer {
    stateless_with(gateway, path, method, params, &[])
}
