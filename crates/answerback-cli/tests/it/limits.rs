//! Tests the limits for the clients of a gateway, and the responses beyond them.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::json;

use crate::gateway::{Gateway, Session};
use crate::serve::one_stub;
use crate::wrap::{Desk, text};

fn limited(desk: &Desk, limits: &str) -> Gateway {
    Gateway::start(desk, &format!("{}{limits}", one_stub()), &["--no-record"])
}

/// Returns the response to the start of one more session.
fn refused(gateway: &Gateway, token: &str) -> (u16, String) {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    let answer = gateway.send("POST", "/mcp", &headers, &hello.to_string());
    let text = answer.last()["error"]["message"].as_str().unwrap_or_default().to_owned();
    (answer.status, text)
}

#[test]
fn a_token_has_so_many_sessions_and_all_together_so_many() {
    let desk = Desk::new();
    let limits = "  most_sessions: 3\n  most_sessions_per_token: 2\n  tokens:\n    other: {scopes: [call], file: other.token}\n    third: {scopes: [call], file: third.token}\n";
    let gateway = limited(&desk, limits);
    let token = |name: &str| {
        let text = std::fs::read_to_string(desk.path(&format!("{name}.token"))).unwrap();
        text.trim().to_owned()
    };
    let (first, mut second) = (Session::begin(&gateway, "/mcp"), Session::begin(&gateway, "/mcp"));
    let (status, text_of_refusal) = refused(&gateway, &gateway.token);
    assert_eq!(status, 429);
    assert!(text_of_refusal.contains("gateway.most_sessions_per_token"), "{text_of_refusal}");
    // Another token is not affected as long as there is room.
    assert_eq!(refused(&gateway, &token("other")).0, 200);
    let (status, text_of_refusal) = refused(&gateway, &token("third"));
    assert_eq!(status, 503);
    assert!(text_of_refusal.contains("gateway.most_sessions"), "{text_of_refusal}");
    // Open sessions continue, and ending one frees its place.
    assert_eq!(text(&second.call("echo", json!({"text": "a"}))), "a");
    assert!(first.send("DELETE", "").status < 300);
    assert_eq!(refused(&gateway, &gateway.token).0, 200);
}

/// Idle connections do not lock out a client.
#[test]
fn half_open_connections_keep_nobody_out() {
    let desk = Desk::new();
    let gateway = limited(&desk, "  most_half_open: 8\n  most_connections: 32\n");
    let address = gateway.url("").strip_prefix("http://").unwrap().to_owned();
    let half_open: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            // The connection may have been closed already.
            let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nHost:");
            stream
        })
        .collect();
    let mut client = Session::begin(&gateway, "/mcp");
    assert_eq!(text(&client.call("echo", json!({"text": "a"}))), "a");
    assert_eq!(gateway.send("GET", "/healthz", &[], "").status, 200);
    drop(half_open);
}
