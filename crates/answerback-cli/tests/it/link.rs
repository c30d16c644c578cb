//! Tests `answerback link` from outside.

use std::fs;
use std::path::PathBuf;

use crate::gateway::Gateway;
use crate::person::link;
use crate::wrap::Desk;

#[test]
fn a_link_needs_a_server() {
    let desk = Desk::new();
    let output =
        desk.command().args(["link", "--store"]).arg(desk.path("none.db")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("no server is running") && told.contains("answerback serve"), "{told}");
}

/// After a crash any process may listen on the port, so the launcher's token is only sent to a server that locks its
/// address file.
#[test]
fn a_server_that_was_killed_is_not_asked_for_a_link() {
    let desk = Desk::new();
    let mut gateway = Gateway::start(&desk, "gateway: {}\n", &[]);
    assert!(link(&desk).starts_with("http://127.0.0.1:"));
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    let files =
        fs::read_dir(desk.path("state/answerback")).unwrap().map(|file| file.unwrap().path());
    let is_address = |path: &PathBuf| path.extension().is_some_and(|end| end == "address");
    let address = fs::read_to_string(files.into_iter().find(is_address).unwrap()).unwrap();
    let other = std::net::TcpListener::bind(&address).unwrap();
    other.set_nonblocking(true).unwrap();
    let store = desk.path("state/answerback/ledger.db");
    let output = desk.command().args(["link", "--store"]).arg(store).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("no server is running") && told.contains("has ended"), "{told}");
    assert!(other.accept().is_err(), "nobody was connected to");
}

/// With two servers of one store, the link belongs to a running one, however the other ended.
#[test]
fn a_server_that_ends_takes_no_other_servers_link_away() {
    let desk = Desk::new();
    let leads_to = |gateway: &Gateway| link(&desk).starts_with(&gateway.url("/#"));
    let first = Gateway::start(&desk, "gateway: {}\n", &[]);
    let second = Gateway::start(&desk, "gateway: {}\n", &[]);
    assert!(leads_to(&second));
    assert_eq!(second.stop().0, 0);
    assert!(leads_to(&first));
    let mut third = Gateway::start(&desk, "gateway: {}\n", &[]);
    third.child.kill().unwrap();
    third.child.wait().unwrap();
    assert!(leads_to(&first));
    let fourth = Gateway::start(&desk, "gateway: {}\n", &[]);
    assert_eq!(first.stop().0, 0);
    assert!(leads_to(&fourth));
}
