use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::EraCache;
use super::bridge::Bridge;
use super::generated_ids::GeneratedIds;
use super::outbox::Outbox;
use crate::link::direct_path::{DirectResponse, DirectSender, StreamWatcher};
use crate::link::{DirectPath, Link, ServerEnd, WAITING};
use crate::wire::Message;

/// Returns a link on which the client may speak either era, no matter which one the server speaks. It needs a
/// tokio runtime.
///
/// The function returns at once. The first message that shows the client's era decides how the server is probed.
/// The result is stored in the cache, so the next link to the same server needs no probe.
pub fn bridge_link(server: Link, cache: EraCache) -> Link {
    connect_bridge(server, Bridge::new(cache))
}

/// Returns a link for a client that may speak both eras. If a legacy server is asked for its era, the client
/// receives the server's error. It can then continue in the legacy era without translation. A client that
/// continues in the modern era uses the bridge.
pub fn bridge_link_on_demand(server: Link, cache: EraCache) -> Link {
    connect_bridge(server, Bridge::new(cache).keeping_era())
}

fn connect_bridge(server: Link, bridge: Bridge) -> Link {
    let (mut link, client) = Link::pair();
    let bridge = bridge.with_ids(GeneratedIds::random());
    let is_pass_through = Arc::new(AtomicBool::new(false));
    link.direct = server
        .direct
        .clone()
        .wrapped(|server| PassThroughPath { server, is_pass_through: is_pass_through.clone() });
    tokio::spawn(run_bridge(client, server, bridge, is_pass_through));
    link
}

/// Sends direct requests while client and server speak the same era.
struct PassThroughPath {
    server: DirectPath,
    is_pass_through: Arc<AtomicBool>,
}

impl DirectSender for PassThroughPath {
    fn send(
        &self,
        request: Message,
        watch: Option<StreamWatcher>,
    ) -> Result<DirectResponse, Message> {
        if self.is_pass_through.load(Ordering::Acquire) {
            self.server.send(request, watch)
        } else {
            Err(request)
        }
    }
}

/// Forwards messages until the server has sent its last one. A side that does not read blocks only its own
/// direction.
async fn run_bridge(
    client: ServerEnd,
    server: Link,
    mut bridge: Bridge,
    is_pass_through: Arc<AtomicBool>,
) {
    let ServerEnd { mut from_client, to_client } = client;
    let Link { to, mut from, .. } = server;
    let mut to = Some(to);
    let mut out = Outbox::default();
    let mut is_open = true;
    loop {
        if !is_open && out.to_server.is_empty() {
            // The client is gone and all its messages were sent, so the server's input is closed.
            to = None;
        }
        // A message may cause a reply to its sender, so that queue is limited as well, at twice the size.
        let can_read_client = out.to_server.len() < WAITING && out.to_client.len() < 2 * WAITING;
        let can_read_server = out.to_client.len() < WAITING && out.to_server.len() < 2 * WAITING;
        let deadline = bridge.deadline().filter(|_| is_open);
        tokio::select! {
            message = from_client.recv(), if is_open && can_read_client => match message {
                Some(message) => bridge.handle_client_message(message, Instant::now(), &mut out),
                None => is_open = false,
            },
            incoming = from.recv(), if can_read_server => match incoming {
                Some(incoming) => bridge.handle_server_message(incoming, Instant::now(), &mut out),
                None => break bridge.handle_server_exit(&mut out),
            },
            permit = to_client.reserve(), if !out.to_client.is_empty() => match permit {
                Ok(permit) => {
                    if let Some(message) = out.to_client.pop_front() {
                        permit.send(message);
                    }
                }
                Err(_) => {
                    out.to_client.clear();
                    is_open = false;
                }
            },
            permit = async { match &to {
                Some(to) => to.reserve().await.ok(),
                None => None,
            } }, if !out.to_server.is_empty() => match permit {
                Some(permit) => {
                    if let Some(message) = out.to_server.pop_front() {
                        permit.send(message);
                    }
                }
                // The server no longer reads, but may still send messages.
                None => out.to_server.clear(),
            },
            () = sleep_until(deadline), if deadline.is_some() => bridge.wake(Instant::now(), &mut out),
        }
        // Messages that fit are sent now instead of in another iteration. A closed channel is detected above.
        send_queued(&mut out.to_client, &to_client);
        if let Some(to) = &to {
            send_queued(&mut out.to_server, to);
        }
        // A direct request must not overtake a queued message.
        is_pass_through
            .store(bridge.is_pass_through() && out.to_server.is_empty(), Ordering::Release);
    }
    is_pass_through.store(false, Ordering::Release);
    for message in out.to_client {
        if to_client.send(message).await.is_err() {
            return;
        }
    }
}

/// Sends queued messages while the channel has capacity.
fn send_queued<T>(queue: &mut VecDeque<T>, to: &mpsc::Sender<T>) {
    while !queue.is_empty() {
        let Ok(permit) = to.try_reserve() else { return };
        if let Some(message) = queue.pop_front() {
            permit.send(message);
        }
    }
}

/// Waits until this time, or forever without one.
async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Era;
    use super::*;
    use crate::link::Incoming;

    const INITIALIZE: &str = r#"{"id":1,"method":"initialize"}"#;
    const CALL: &str = r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;

    fn message(text: &str) -> Message {
        Message::read(text.to_owned()).unwrap()
    }

    #[tokio::test]
    async fn a_closed_link_closes_the_server_and_hears_its_last_words() {
        let (server, mut far) = Link::pair();
        let Link { to, mut from, .. } = bridge_link(server, EraCache::default());
        to.send(message(INITIALIZE)).await.unwrap();
        drop(to);
        assert_eq!(far.from_client.recv().await.unwrap().text(), INITIALIZE);
        assert!(far.from_client.recv().await.is_none());
        far.to_client.send(message(r#"{"id":1,"result":{}}"#).into()).await.unwrap();
        assert!(from.recv().await.is_some());
        drop(far.to_client);
        assert!(from.recv().await.is_none());
    }

    #[tokio::test]
    async fn a_server_that_leaves_ends_the_link() {
        let (server, mut far) = Link::pair();
        let mut link = bridge_link(server, EraCache::default());
        link.to.send(message(CALL)).await.unwrap();
        assert!(far.from_client.recv().await.unwrap().text().contains("server/discover"));
        far.to_client.send(message(r#"{"id":"p","method":"ping"}"#).into()).await.unwrap();
        assert!(far.from_client.recv().await.unwrap().text().contains(r#""id":"p""#));
        drop(far);
        let last = link.from.recv().await.unwrap().message;
        assert!(crate::link::is_restart_error(&last), "{}", last.text());
        assert!(link.from.recv().await.is_none());
        link.to.closed().await;
    }

    #[tokio::test]
    async fn a_client_that_vanishes_closes_the_server() {
        let (server, mut far) = Link::pair();
        drop(bridge_link(server, EraCache::default()));
        assert!(far.from_client.recv().await.is_none());
        drop(far.to_client);
    }

    #[tokio::test]
    async fn a_server_may_end_over_what_it_refuses() {
        let refusal = r#"{"id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}"#;
        for (first, answer, era) in
            [(INITIALIZE, Some(refusal), Era::Legacy), (CALL, None, Era::Modern)]
        {
            let cache = EraCache::default();
            let (server, mut far) = Link::pair();
            let mut link = bridge_link(server, cache.clone());
            link.to.send(message(first)).await.unwrap();
            far.from_client.recv().await.unwrap();
            if let Some(answer) = answer {
                far.to_client.send(message(answer).into()).await.unwrap();
            }
            drop(far);
            let output = link.from.recv().await.unwrap().message;
            assert!(crate::link::is_restart_error(&output), "{}", output.text());
            // The next link begins differently.
            assert_eq!(cache.speaks(era), Some(false));
        }
    }

    /// Both sides send many messages before they read any. Waiting for one side must not block the other
    /// direction.
    #[tokio::test]
    async fn one_direction_does_not_stop_the_other() {
        let (server, mut far) = Link::pair();
        let mut link = bridge_link(server, EraCache::default());
        // Fills all queues towards the client.
        let sending = tokio::spawn(async move {
            for number in 0..4 * WAITING {
                let text = format!(r#"{{"method":"n{number}"}}"#);
                far.to_client.send(Incoming::from(message(&text))).await.unwrap();
            }
            far
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!sending.is_finished());
        for number in 0..2 * WAITING {
            link.to.send(message(&format!(r#"{{"method":"c{number}"}}"#))).await.unwrap();
        }
        for number in 0..4 * WAITING {
            let text = format!(r#"{{"method":"n{number}"}}"#);
            assert_eq!(link.from.recv().await.unwrap().message.text(), text);
        }
        far = sending.await.unwrap();
        for number in 0..2 * WAITING {
            let text = format!(r#"{{"method":"c{number}"}}"#);
            assert_eq!(far.from_client.recv().await.unwrap().text(), text);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_silent_is_asked_again_and_given_up() {
        let (server, mut far) = Link::pair();
        let mut link = bridge_link(server, EraCache::default());
        let begun = Instant::now();
        link.to.send(message(CALL)).await.unwrap();
        let mut asked = Vec::new();
        for method in ["server/discover", "initialize"] {
            assert!(far.from_client.recv().await.unwrap().text().contains(method));
            asked.push(begun.elapsed().as_secs());
        }
        let answer = link.from.recv().await.unwrap().message;
        assert!(answer.text().contains("neither era"), "{}", answer.text());
        asked.push(begun.elapsed().as_secs());
        assert_eq!(asked, [0, 10, 70]);
    }
}
