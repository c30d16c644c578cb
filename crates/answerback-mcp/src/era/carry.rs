use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::EraCache;
use super::bridge::Bridge;
use super::generated_ids::GeneratedIds;
use super::outbox::Outbox;
use crate::link::direct::{Answering, Ask, Watch};
use crate::link::{Direct, FarEnd, Link, WAITING};
use crate::wire::Message;

/// Returns a link on which the client may speak either era, no matter which one the server speaks. It needs a
/// tokio runtime.
///
/// The function returns at once. The first message that shows the client's era decides how the server is probed.
/// The result is stored in the cache, so the next link to the same server needs no probe.
pub fn bridged(server: Link, cache: EraCache) -> Link {
    put_before(server, Bridge::new(cache))
}

/// Returns a link for a client that may speak both eras. If a legacy server is asked for its era, the client
/// receives the server's error. It can then continue in the legacy era without translation. A client that
/// continues in the modern era uses the bridge.
pub fn bridged_on_demand(server: Link, cache: EraCache) -> Link {
    put_before(server, Bridge::new(cache).keeping_era())
}

fn put_before(server: Link, bridge: Bridge) -> Link {
    let (mut link, client) = Link::pair();
    let bridge = bridge.with_ids(GeneratedIds::unguessable());
    let is_same = Arc::new(AtomicBool::new(false));
    link.direct = server.direct.clone().wrapped(|server| Same { server, is_same: is_same.clone() });
    tokio::spawn(carry(client, server, bridge, is_same));
    link
}

/// Sends direct requests while client and server speak the same era.
struct Same {
    server: Direct,
    is_same: Arc<AtomicBool>,
}

impl Ask for Same {
    fn ask(&self, request: Message, watch: Option<Watch>) -> Result<Answering, Message> {
        if self.is_same.load(Ordering::Acquire) {
            self.server.ask(request, watch)
        } else {
            Err(request)
        }
    }
}

/// Forwards messages until the server has sent its last one. A side that does not read blocks only its own
/// direction.
async fn carry(client: FarEnd, server: Link, mut bridge: Bridge, is_same: Arc<AtomicBool>) {
    let FarEnd { mut told, say } = client;
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
        let has_client_room = out.to_server.len() < WAITING && out.to_client.len() < 2 * WAITING;
        let has_server_room = out.to_client.len() < WAITING && out.to_server.len() < 2 * WAITING;
        let deadline = bridge.deadline().filter(|_| is_open);
        tokio::select! {
            message = told.recv(), if is_open && has_client_room => match message {
                Some(message) => bridge.hear_client(message, Instant::now(), &mut out),
                None => is_open = false,
            },
            incoming = from.recv(), if has_server_room => match incoming {
                Some(incoming) => bridge.hear_server(incoming, Instant::now(), &mut out),
                None => break bridge.server_left(&mut out),
            },
            permit = say.reserve(), if !out.to_client.is_empty() => match permit {
                Ok(permit) => {
                    if let Some(said) = out.to_client.pop_front() {
                        permit.send(said);
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
                    if let Some(said) = out.to_server.pop_front() {
                        permit.send(said);
                    }
                }
                // The server no longer reads, but may still send messages.
                None => out.to_server.clear(),
            },
            () = until(deadline), if deadline.is_some() => bridge.wake(Instant::now(), &mut out),
        }
        // Messages that fit are sent now instead of in another iteration. A closed channel is detected above.
        pass(&mut out.to_client, &say);
        if let Some(to) = &to {
            pass(&mut out.to_server, to);
        }
        // A direct request must not overtake a queued message.
        is_same.store(bridge.is_same() && out.to_server.is_empty(), Ordering::Release);
    }
    is_same.store(false, Ordering::Release);
    for said in out.to_client {
        if say.send(said).await.is_err() {
            return;
        }
    }
}

/// Sends queued messages while the channel has capacity.
fn pass<T>(waiting: &mut VecDeque<T>, to: &mpsc::Sender<T>) {
    while !waiting.is_empty() {
        let Ok(permit) = to.try_reserve() else { return };
        if let Some(said) = waiting.pop_front() {
            permit.send(said);
        }
    }
}

/// Waits until this time, or forever without one.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
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
        let Link { to, mut from, .. } = bridged(server, EraCache::default());
        to.send(message(INITIALIZE)).await.unwrap();
        drop(to);
        assert_eq!(far.told.recv().await.unwrap().text(), INITIALIZE);
        assert!(far.told.recv().await.is_none());
        far.say.send(message(r#"{"id":1,"result":{}}"#).into()).await.unwrap();
        assert!(from.recv().await.is_some());
        drop(far.say);
        assert!(from.recv().await.is_none());
    }

    #[tokio::test]
    async fn a_server_that_leaves_ends_the_link() {
        let (server, mut far) = Link::pair();
        let mut link = bridged(server, EraCache::default());
        link.to.send(message(CALL)).await.unwrap();
        assert!(far.told.recv().await.unwrap().text().contains("server/discover"));
        far.say.send(message(r#"{"id":"p","method":"ping"}"#).into()).await.unwrap();
        assert!(far.told.recv().await.unwrap().text().contains(r#""id":"p""#));
        drop(far);
        let last = link.from.recv().await.unwrap().message;
        assert!(crate::link::wants_again(&last), "{}", last.text());
        assert!(link.from.recv().await.is_none());
        link.to.closed().await;
    }

    #[tokio::test]
    async fn a_client_that_vanishes_closes_the_server() {
        let (server, mut far) = Link::pair();
        drop(bridged(server, EraCache::default()));
        assert!(far.told.recv().await.is_none());
        drop(far.say);
    }

    #[tokio::test]
    async fn a_server_may_end_over_what_it_refuses() {
        let refusal = r#"{"id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}"#;
        for (first, answer, era) in
            [(INITIALIZE, Some(refusal), Era::Legacy), (CALL, None, Era::Modern)]
        {
            let cache = EraCache::default();
            let (server, mut far) = Link::pair();
            let mut link = bridged(server, cache.clone());
            link.to.send(message(first)).await.unwrap();
            far.told.recv().await.unwrap();
            if let Some(answer) = answer {
                far.say.send(message(answer).into()).await.unwrap();
            }
            drop(far);
            let heard = link.from.recv().await.unwrap().message;
            assert!(crate::link::wants_again(&heard), "{}", heard.text());
            // The next link begins differently.
            assert_eq!(cache.speaks(era), Some(false));
        }
    }

    /// Both sides send many messages before they read any. Waiting for one side must not block the other
    /// direction.
    #[tokio::test]
    async fn one_direction_does_not_stop_the_other() {
        let (server, mut far) = Link::pair();
        let mut link = bridged(server, EraCache::default());
        // Fills all queues towards the client.
        let said = tokio::spawn(async move {
            for number in 0..4 * WAITING {
                let text = format!(r#"{{"method":"n{number}"}}"#);
                far.say.send(Incoming::from(message(&text))).await.unwrap();
            }
            far
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!said.is_finished());
        for number in 0..2 * WAITING {
            link.to.send(message(&format!(r#"{{"method":"c{number}"}}"#))).await.unwrap();
        }
        for number in 0..4 * WAITING {
            let text = format!(r#"{{"method":"n{number}"}}"#);
            assert_eq!(link.from.recv().await.unwrap().message.text(), text);
        }
        far = said.await.unwrap();
        for number in 0..2 * WAITING {
            let text = format!(r#"{{"method":"c{number}"}}"#);
            assert_eq!(far.told.recv().await.unwrap().text(), text);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_silent_is_asked_again_and_given_up() {
        let (server, mut far) = Link::pair();
        let mut link = bridged(server, EraCache::default());
        let begun = Instant::now();
        link.to.send(message(CALL)).await.unwrap();
        let mut asked = Vec::new();
        for method in ["server/discover", "initialize"] {
            assert!(far.told.recv().await.unwrap().text().contains(method));
            asked.push(begun.elapsed().as_secs());
        }
        let answer = link.from.recv().await.unwrap().message;
        assert!(answer.text().contains("neither era"), "{}", answer.text());
        asked.push(begun.elapsed().as_secs());
        assert_eq!(asked, [0, 10, 70]);
    }
}
