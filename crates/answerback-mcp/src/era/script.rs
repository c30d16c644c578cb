//! Plays conversations between a client and a server in tests.

use std::fmt::Write;
use std::time::Duration;

use tokio::time::Instant;

use super::EraCache;
use super::bridge::Bridge;
use super::outbox::Outbox;
use crate::link::Incoming;
use crate::wire::{Id, Message};

/// The placeholder for the last `requestState` that the bridge issued.
const STATE: &str = "STATE";

/// Connects a scripted client and server with a bridge.
pub(super) struct Script {
    bridge: Bridge,
    now: Instant,
    state: String,
}

impl Script {
    pub(super) fn new(cache: &EraCache) -> Self {
        Self { bridge: Bridge::new(cache.clone()), now: Instant::now(), state: String::new() }
    }

    /// Creates a script whose bridge keeps a legacy server's era if possible.
    pub(super) fn keeping_era(cache: &EraCache) -> Self {
        let bridge = Bridge::new(cache.clone()).keeping_era();
        Self { bridge, ..Self::new(cache) }
    }

    /// Plays lines: `C message` from the client, `S message` or `S@id message` from the server, and `T seconds`
    /// of waiting. Returns the messages that each side receives, in the same format.
    pub(super) fn play(&mut self, lines: &[&str]) -> String {
        let mut output = String::new();
        for line in lines {
            let (sender, content) = line.split_once(' ').unwrap();
            let content = content.replace(STATE, &self.state);
            let message = || Message::read(content.clone()).unwrap();
            let mut out = Outbox::default();
            match sender.split_once('@') {
                None if sender == "C" => {
                    self.bridge.handle_client_message(message(), self.now, &mut out);
                }
                None if sender == "S" => {
                    self.bridge.handle_server_message(message().into(), self.now, &mut out);
                }
                Some((_, id)) => {
                    let id = Id::read(id).unwrap();
                    let incoming = Incoming::about(message(), id);
                    self.bridge.handle_server_message(incoming, self.now, &mut out);
                }
                None => {
                    self.now += Duration::from_secs_f64(content.parse().unwrap());
                    if self.bridge.deadline().is_some_and(|deadline| deadline <= self.now) {
                        self.bridge.wake(self.now, &mut out);
                    }
                }
            }
            for message in out.to_server {
                writeln!(output, "S {}", message.text()).unwrap();
            }
            for Incoming { message, about, .. } in out.to_client {
                let about = about.map(|id| format!("@{}", id.as_json())).unwrap_or_default();
                writeln!(output, "C{about} {}", self.without_state(message.text())).unwrap();
            }
        }
        output
    }

    /// Replaces a random `requestState` in a text with the placeholder, and stores the state.
    fn without_state(&mut self, text: &str) -> String {
        let mark = r#""requestState":""#;
        let Some((before, rest)) = text.split_once(mark) else { return text.to_owned() };
        let Some((state, after)) = rest.split_once('"') else { return text.to_owned() };
        state.clone_into(&mut self.state);
        format!("{before}{mark}{STATE}\"{after}")
    }
}
