//! Tests servers whose program does not exist.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::gateway::{Gateway, Session};
use crate::wrap::{Desk, stub};

/// A missing command is reported at the start and does not affect the other servers.
#[test]
fn a_server_whose_program_is_missing_is_told_when_the_gateway_starts() {
    let desk = Desk::new();
    std::fs::write(desk.path("plain"), "not a program").unwrap();
    let config = format!(
        "gateway:\n  upstreams:\n    gone: {{command: no-such-program-here}}\n    plain: {{command: {}}}\n    stub: {{command: python3, args: [{}]}}\n",
        desk.path("plain").display(),
        stub().display()
    );
    let gateway = Gateway::start(&desk, &config, &["--no-record"]);
    // Monitoring sees the problem before any client connects, until the server can be started.
    let ready = || gateway.send("GET", "/readyz", &[("Authorization", "")], "");
    let seen = ready();
    let reason = seen.last()["parts"]["upstreams"]["reason"].as_str().unwrap();
    assert_eq!(seen.status, 503);
    assert!(reason.starts_with("gone, plain cannot be started"), "{reason}");
    let up = |name: &str| {
        gateway.figure(&format!("answerback_gateway_upstream_up{{upstream=\"{name}\"}}"))
    };
    assert_eq!((up("gone"), up("stub")), (Some(0.0), Some(1.0)));
    Session::begin(&gateway, "/mcp/stub").call("echo", json!({"text": "a"}));
    let runs = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(desk.path("plain"), runs).unwrap();
    let seen = ready();
    let reason = seen.last()["parts"]["upstreams"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("gone cannot be started"), "{reason}");
    let none = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(desk.path("plain"), none).unwrap();
    drop(gateway);
    let config = desk.config(&config);
    let mut command = desk.command();
    command.args(["serve", "--listen", "203.0.113.1:0", "--config", &config]);
    // The listening address is rejected after the configuration was read and its warnings were printed.
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    for server in ["gone", "plain"] {
        let warning = format!(
            "warning: the server {server} cannot be started: there is no executable program"
        );
        assert!(told.contains(&warning), "{told}");
    }
    assert!(!told.contains("the server stub"), "{told}");
}
