//! `answerback link` from outside.

use std::fs;

use crate::console::link;
use crate::gateway::Gateway;
use crate::wrap::Desk;

#[test]
fn a_link_needs_a_server() {
    let desk = Desk::new();
    let output =
        desk.command().args(["link", "--store"]).arg(desk.path("none.db")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("no server runs here") && told.contains("answerback serve"), "{told}");
}

/// After a crash its port may be anybody's: the launcher's token is for the server that holds the file, and nobody else.
#[test]
fn a_server_that_was_killed_is_not_asked_for_a_link() {
    let desk = Desk::new();
    let mut gateway = Gateway::start(&desk, "gateway: {}\n", &[]);
    assert!(link(&desk).starts_with("http://127.0.0.1:"));
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    let address = fs::read_to_string(desk.path("state/answerback/serve.address")).unwrap();
    let other = std::net::TcpListener::bind(&address).unwrap();
    other.set_nonblocking(true).unwrap();
    let store = desk.path("state/answerback/ledger.db");
    let output = desk.command().args(["link", "--store"]).arg(store).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("no server runs here") && told.contains("has ended"), "{told}");
    assert!(other.accept().is_err(), "nobody was connected to");
}
