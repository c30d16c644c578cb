//! Tests the environment of servers: they see no variables with configured secrets, except their own.

use serde_json::{Value, json};

use crate::gateway::{Gateway, Session};
use crate::wrap::{Client, Desk, stub, text};

/// Variables with our secrets, by the configuration or by their names.
const SECRETS: [&str; 6] = [
    "DESK_TOKEN",
    "SEARCH_KEY",
    "WEATHER_KEY",
    "LEDGER_URL",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
];

fn config() -> String {
    let stub = stub();
    let stub = stub.display();
    format!(
        "\
gateway:
  upstreams:
    weather: {{command: python3, args: [{stub}], env: {{STUB_MORE: 1, API_KEY: {{env: WEATHER_KEY}}, FILED: {{file: filed.key}}, VERBOSE: true}}}}
    search: {{url: \"http://127.0.0.1:9/mcp\", headers: {{Authorization: {{env: SEARCH_KEY}}}}}}
  tokens:
    desk: {{scopes: [decide], env: DESK_TOKEN}}
store: {{url_env: LEDGER_URL}}
"
    )
}

/// Returns a token, which can serve as any of the secrets here.
fn token() -> String {
    format!("ab_{}A", "k".repeat(42))
}

/// Adds variables with secrets to the command.
fn with_secrets(mut command: std::process::Command) -> std::process::Command {
    command.env("ORDINARY", "as it is").env("STUB_MORE", "1");
    for name in SECRETS {
        command.env(name, token());
    }
    command
}

fn environment(answer: &Value) -> Value {
    serde_json::from_str(text(answer)).unwrap()
}

fn assert_kept_back(environment: &Value) {
    for name in SECRETS {
        assert!(environment.get(name).is_none(), "{name}: {environment}");
    }
    assert_eq!(environment["ORDINARY"], "as it is");
}

#[test]
fn a_served_program_gets_its_own_secrets_and_none_of_ours() {
    let desk = Desk::new();
    std::fs::write(desk.path("filed.key"), "from a file\n").unwrap();
    let mut command = with_secrets(desk.command());
    let config = desk.config(&config());
    command.args(["serve", "--listen", "127.0.0.1:0", "--no-record", "--config", &config]);
    let gateway = Gateway::run(command, &desk);
    let mut client = Session::begin(&gateway, "/mcp/weather");
    let environment = environment(&client.call("environment", json!({})));
    assert_kept_back(&environment);
    let own = ["API_KEY", "FILED", "STUB_MORE", "VERBOSE"].map(|name| environment[name].clone());
    assert_eq!(own, [token().as_str(), "from a file", "1", "true"]);
}

#[test]
fn a_wrapped_program_gets_no_secret_of_ours() {
    let desk = Desk::new();
    let mut command = with_secrets(desk.command());
    let config = desk.config(&config());
    command.args(["wrap", "--no-record", "--config", &config, "--", "python3"]).arg(stub());
    let mut client = Client::start(command);
    assert_kept_back(&environment(&client.call("environment", json!({}))));
    client.leave();
}

#[test]
fn a_server_whose_secret_is_not_there_is_told_by_its_place() {
    let desk = Desk::new();
    let config = desk.config(
        "gateway:\n  upstreams:\n    a: {command: python3, env: {API_KEY: {env: NOT_THERE}}}\n",
    );
    let mut command = desk.command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--no-record", "--config", &config]);
    let output = command.env_remove("NOT_THERE").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    let expected = "gateway.upstreams.a.env.API_KEY: the variable NOT_THERE is not set";
    assert!(errors.contains(expected), "{errors}");
}
