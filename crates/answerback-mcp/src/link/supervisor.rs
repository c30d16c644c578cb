//! Keeps a link open when its server ends, and restarts the server.

use std::collections::HashMap;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::direct::{Answering, Ask, Changing, Watch};
use super::{Child, Direct, FarEnd, Incoming, Link, broken, broken_because, unsent, wants_again};
use crate::wire::{Id, Message, Shape, splice};

/// The delay before the first restart. It doubles with each further restart.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest delay before a restart.
const LAST_WAIT: Duration = Duration::from_secs(30);
/// A server that ran this long resets the restart delay.
const PROVEN: Duration = Duration::from_mins(1);
/// The time that a restarted server has to answer the repeated `initialize`.
const GREETING: Duration = Duration::from_secs(30);
/// The interval at which a blocked send to a server checks if the client has left.
const READING: Duration = Duration::from_secs(2);
/// The time to read the remaining output of a server that ended. Processes that it started may hold the output
/// open for much longer.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Holds a server that was started or reached.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "callers create it with all fields")]
pub struct Opened {
    /// The connection to the server.
    pub link: Link,
    /// The child process, if we started one.
    pub child: Option<Child>,
}

/// Selects when a server that ended is restarted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "there are exactly these two policies")]
pub enum Restart {
    /// Restarts the server whenever it ends or fails to start.
    Always,
    /// Restarts the server only after it has answered a request. A server that ends before that also ends the
    /// link.
    OnceItAnswered,
}

/// Reports the health of a server over all links to it, for operators.
#[derive(Debug, Default)]
pub struct Health {
    /// Counts the links that wait for the server to come back.
    waiting: AtomicU32,
    /// True if the last response was an error of the link instead of a response of the server.
    is_unreachable: AtomicBool,
    has_answered: AtomicBool,
    starts: AtomicU32,
    restarts: AtomicU32,
    ended: Mutex<Option<ExitStatus>>,
    hurry: watch::Sender<bool>,
}

impl Health {
    /// Makes the server end at once, because our own process is about to end. The server has very little time to
    /// exit by itself.
    pub fn hurry(&self) {
        self.hurry.send_replace(true);
    }

    /// Waits until [`hurry`](Self::hurry) was called.
    async fn hurried(&self) {
        // `self` owns the sender, so it cannot be dropped while we wait.
        let _ = self.hurry.subscribe().wait_for(|is_hurried| *is_hurried).await;
    }

    /// Returns true unless a link waits for the server or the last response was an error of the link. A server
    /// that was never used counts as up.
    pub fn is_up(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0 && !self.is_unreachable.load(Ordering::Acquire)
    }

    /// Updates the health from a response.
    fn heard(&self, answer: &Message) {
        let is_broken = broken_because(answer).is_some();
        self.is_unreachable.store(is_broken, Ordering::Release);
        self.has_answered.fetch_or(!is_broken, Ordering::AcqRel);
    }

    /// Returns true if the server has ever answered a request.
    pub fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Acquire)
    }

    /// Counts how often the server was started or reached.
    pub fn starts(&self) -> u32 {
        self.starts.load(Ordering::Acquire)
    }

    /// Counts the starts that were not the first of their link.
    pub fn restarts(&self) -> u32 {
        self.restarts.load(Ordering::Acquire)
    }

    /// Returns the last exit status, if the server is a child process that ended.
    pub fn ended(&self) -> Option<ExitStatus> {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a link to a server that is restarted when it ends: at once at first, then after increasing delays.
///
/// Requests that are pending when the server ends, or arrive while it is down, are answered as [`broken`]. There
/// is one exception: a server may end on a request of the wrong protocol era. That request is sent to the
/// restarted server in the other era. A restarted server receives the same `initialize` again, and the client is
/// notified that the tools may have changed.
pub fn steady(
    name: &str,
    open: impl FnMut() -> std::io::Result<Opened> + Send + 'static,
    health: Arc<Health>,
    restart: Restart,
) -> Link {
    let (mut link, far) = Link::pair();
    let name = name.to_owned();
    let direct = Arc::new(Changing::default());
    link.direct = Direct::through(DirectWay { server: direct.clone(), health: health.clone() });
    tokio::spawn(async move {
        let FarEnd { told, say } = far;
        let keeper = Keeper {
            name,
            say,
            health,
            direct,
            restart,
            under_way: Mutex::default(),
            greeting: Mutex::default(),
        };
        keeper.keep(open, told).await;
    });
    link
}

/// Forwards direct requests to the current server.
struct DirectWay {
    server: Arc<Changing>,
    health: Arc<Health>,
}

impl Ask for DirectWay {
    fn ask(&self, request: Message, watch: Option<Watch>) -> Result<Answering, Message> {
        let answering = self.server.now().ask(request, watch)?;
        let health = self.health.clone();
        Ok(Box::pin(async move {
            let answer = answering.await;
            if let Some(answer) = &answer {
                health.heard(answer);
            }
            answer
        }))
    }
}

/// Stores the messages with which a client begins its session.
#[derive(Debug, Default)]
struct InitialMessages {
    initialize: Option<Message>,
    initialized: Option<Message>,
}

struct Keeper {
    name: String,
    say: mpsc::Sender<Incoming>,
    health: Arc<Health>,
    /// The direct path to the current server.
    direct: Arc<Changing>,
    restart: Restart,
    under_way: Mutex<ServerRequests>,
    greeting: Mutex<InitialMessages>,
}

/// Tracks the requests that the server has received.
#[derive(Debug, Default)]
struct ServerRequests {
    /// The pending requests. A copy is stored until the server answers for the first time, because the server may
    /// end on any of them.
    requests: HashMap<Id, Option<Message>>,
    /// The requests to send to the restarted server.
    again: Vec<Message>,
    /// True if the server has answered a request since its start.
    has_answered: bool,
    /// True if the server has answered a request since any start.
    is_proven: bool,
}

impl ServerRequests {
    fn add(&mut self, id: &Id, request: &Message) {
        let kept = (!self.has_answered).then(|| request.clone());
        self.requests.insert(id.clone(), kept);
    }

    /// Records a response. Returns false if the client must not receive it, because the request is sent again.
    fn answer(&mut self, id: &Id, answer: &Message) -> bool {
        let request = self.requests.remove(id);
        match broken_because(answer) {
            None if !self.has_answered => {
                (self.has_answered, self.is_proven) = (true, true);
                for request in self.requests.values_mut() {
                    *request = None;
                }
            }
            Some(_) if wants_again(answer) => {
                if let Some(Some(request)) = request {
                    self.again.push(request);
                    return false;
                }
            }
            _ => {}
        }
        true
    }

    /// Removes a cancelled request, which needs no response.
    fn forget(&mut self, id: &Id) {
        let is_it = |request: &Message| matches!(request.shape(), Shape::Request { id: own, .. } if own == id);
        self.requests.remove(id);
        self.again.retain(|request| !is_it(request));
    }

    /// Returns the requests to send to the restarted server. They are stored without a copy, so they are not sent
    /// a third time.
    fn take_again(&mut self) -> Vec<Message> {
        self.has_answered = false;
        let again = std::mem::take(&mut self.again);
        for request in &again {
            if let Shape::Request { id, .. } = request.shape() {
                self.requests.insert(id.clone(), None);
            }
        }
        again
    }
}

/// Counts a link as waiting for its server while it exists.
struct Absence<'a>(&'a Health);

impl<'a> Absence<'a> {
    fn of(health: &'a Health) -> Self {
        health.waiting.fetch_add(1, Ordering::AcqRel);
        Self(health)
    }
}

impl Drop for Absence<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Tells which side ended the connection.
enum ServerExit {
    Client,
    Server,
}

impl Keeper {
    async fn keep(
        self,
        mut open: impl FnMut() -> std::io::Result<Opened>,
        mut told: mpsc::Receiver<Message>,
    ) {
        let mut wait = FIRST_WAIT;
        let mut is_first = true;
        // The guard counts this link as waiting until the server is back or the client leaves.
        let mut absence: Option<Absence<'_>> = None;
        loop {
            let reason = match open() {
                Ok(opened) => {
                    let started = Instant::now();
                    self.health.starts.fetch_add(1, Ordering::AcqRel);
                    self.health.restarts.fetch_add(u32::from(!is_first), Ordering::AcqRel);
                    let left = self.carry(opened, &mut told, is_first, &mut absence).await;
                    if matches!(left, ServerExit::Client) {
                        return;
                    }
                    if started.elapsed() >= PROVEN {
                        wait = FIRST_WAIT;
                    }
                    "the server ended".to_owned()
                }
                Err(error) => format!("the server cannot be started: {error}"),
            };
            is_first = false;
            self.break_all(&reason).await;
            let (is_asked_again, is_proven) = {
                let under_way = self.under_way();
                (!under_way.again.is_empty(), under_way.is_proven)
            };
            if is_asked_again {
                tracing::info!(upstream = %self.name, "a server ended over the era of its client, and is started for the other");
                continue;
            }
            if self.restart == Restart::OnceItAnswered && !is_proven {
                return;
            }
            absence.get_or_insert_with(|| Absence::of(&self.health));
            tracing::warn!(upstream = %self.name, reason, again_in_ms = wait.as_millis(), "a server is gone");
            if matches!(self.refuse_for(wait, &reason, &mut told).await, ServerExit::Client) {
                return;
            }
            wait = (wait * 2).min(LAST_WAIT);
        }
    }

    /// Forwards messages in both directions until one side leaves.
    async fn carry<'a>(
        &'a self,
        opened: Opened,
        told: &mut mpsc::Receiver<Message>,
        is_first: bool,
        absence: &mut Option<Absence<'a>>,
    ) -> ServerExit {
        let Opened { link: Link { to, mut from, direct }, mut child } = opened;
        let again = self.under_way().take_again();
        if !is_first && !self.greet(&to, &mut from).await {
            drop(to);
            self.end(child.as_mut()).await;
            return ServerExit::Server;
        }
        *absence = None;
        self.direct.set(direct);
        // Each direction has its own loop. A server may stop reading until its output is read, so writing must
        // not block reading.
        let outward = async {
            for message in again {
                if to.send(message).await.is_err() {
                    return ServerExit::Server;
                }
            }
            while let Some(message) = told.recv().await {
                self.remember(&message);
                let Some(permit) = room(&to, told).await else { return ServerExit::Client };
                match permit {
                    Ok(permit) => permit.send(message),
                    Err(_) => return ServerExit::Server,
                }
            }
            ServerExit::Client
        };
        let left = {
            let inward = self.inward(&mut from);
            tokio::pin!(inward);
            tokio::select! {
                left = &mut inward => left,
                left = outward => left,
                left = gone(child.as_mut()) => left,
                () = self.health.hurried() => ServerExit::Client,
            }
        };
        self.direct.set(Direct::default());
        drop(to);
        // The server's remaining output is still read. Another process may hold that output open, so the wait is
        // limited.
        let mut last_words = pin!(self.inward(&mut from));
        let mut ending = pin!(self.end(child.as_mut()));
        let is_heard = tokio::select! {
            _ = &mut last_words => true,
            () = &mut ending => false,
        };
        if is_heard {
            ending.await;
        } else {
            let _ = tokio::time::timeout(LAST_WORDS, last_words).await;
        }
        left
    }

    async fn inward(&self, from: &mut mpsc::Receiver<Incoming>) -> ServerExit {
        while let Some(incoming) = from.recv().await {
            if let Shape::Response { id } = incoming.message.shape() {
                if !self.under_way().answer(id, &incoming.message) {
                    continue;
                }
                self.health.heard(&incoming.message);
            }
            if self.say.send(incoming).await.is_err() {
                return ServerExit::Client;
            }
        }
        ServerExit::Server
    }

    fn under_way(&self) -> std::sync::MutexGuard<'_, ServerRequests> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, message: &Message) {
        let greeting = || self.greeting.lock().unwrap_or_else(PoisonError::into_inner);
        match message.shape() {
            Shape::Request { id, method } => {
                if method == "initialize" {
                    greeting().initialize = Some(message.clone());
                }
                self.under_way().add(id, message);
            }
            Shape::Notification { method } if method == "notifications/initialized" => {
                greeting().initialized = Some(message.clone());
            }
            Shape::Notification { method } if method == "notifications/cancelled" => {
                if let Some(id) = splice::id_at(message.text(), &["params", "requestId"]) {
                    self.under_way().forget(&id);
                }
            }
            _ => {}
        }
    }

    /// Repeats the `initialize` exchange with a restarted server. Returns true if the server can be used.
    async fn greet(&self, to: &mpsc::Sender<Message>, from: &mut mpsc::Receiver<Incoming>) -> bool {
        let (initialize, initialized) = {
            let greeting = self.greeting.lock().unwrap_or_else(PoisonError::into_inner);
            (greeting.initialize.clone(), greeting.initialized.clone())
        };
        // A client that did not complete `initialize` continues with it itself.
        let (Some(initialize), Some(initialized)) = (initialize, initialized) else { return true };
        let Shape::Request { id, .. } = initialize.shape().clone() else { return true };
        if to.send(initialize).await.is_err() {
            return false;
        }
        let answered = tokio::time::timeout(GREETING, async {
            while let Some(incoming) = from.recv().await {
                if matches!(incoming.message.shape(), Shape::Response { id: answered } if *answered == id)
                {
                    return true;
                }
                let _ = self.say.send(incoming).await;
            }
            false
        });
        if !matches!(answered.await, Ok(true)) || to.send(initialized).await.is_err() {
            return false;
        }
        let changed = Message::notification("notifications/tools/list_changed", &json!({}));
        self.say.send(changed.into()).await.is_ok()
    }

    /// Answers all pending requests with an error, because the server has ended.
    async fn break_all(&self, reason: &str) {
        let requests = std::mem::take(&mut self.under_way().requests);
        for id in requests.into_keys() {
            let _ = self.say.send(Incoming::from(broken(&id, reason, None))).await;
        }
    }

    /// Rejects requests while the server is down.
    async fn refuse_for(
        &self,
        wait: Duration,
        reason: &str,
        told: &mut mpsc::Receiver<Message>,
    ) -> ServerExit {
        let until = Instant::now() + wait;
        loop {
            match tokio::time::timeout_at(until, told.recv()).await {
                Err(_) => return ServerExit::Server,
                Ok(None) => return ServerExit::Client,
                Ok(Some(message)) => {
                    if let Shape::Request { id, .. } = message.shape() {
                        let reason = format!("{reason}; it is started again");
                        let _ = self.say.send(unsent(id, &reason).into()).await;
                    }
                }
            }
        }
    }

    async fn end(&self, child: Option<&mut Child>) {
        let Some(child) = child else { return };
        match child.end(self.health.hurried()).await {
            Ok(status) => {
                *self.health.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
            }
            Err(error) => {
                tracing::warn!(upstream = %self.name, %error, "a server cannot be waited for");
            }
        }
    }
}

/// Waits until a process has ended and there was time to read its output. Another process may still hold the
/// output open.
async fn gone(child: Option<&mut Child>) -> ServerExit {
    let has_ended = match child {
        Some(child) => child.wait().await.is_ok(),
        None => false,
    };
    if !has_ended {
        // Without a process to wait for, the server ends when its output does.
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(LAST_WORDS).await;
    ServerExit::Server
}

/// Reserves space for a message to a server. Returns `None` if the server does not read and the client has left.
async fn room<'a>(
    to: &'a mpsc::Sender<Message>,
    told: &mpsc::Receiver<Message>,
) -> Option<Result<mpsc::Permit<'a, Message>, mpsc::error::SendError<()>>> {
    let mut room = std::pin::pin!(to.reserve());
    loop {
        if let Ok(room) = tokio::time::timeout(READING, room.as_mut()).await {
            return Some(room);
        }
        if told.is_closed() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::era::{Era, EraCache, bridged};

    /// Starts a server that answers every request with its number of starts, and ends on the method `end`.
    fn server(starts: &Arc<AtomicUsize>) -> std::io::Result<Opened> {
        let start = starts.fetch_add(1, Ordering::SeqCst);
        // The second start fails.
        if start == 1 {
            return Err(std::io::Error::other("no such program"));
        }
        let (link, FarEnd { mut told, say }) = Link::pair();
        tokio::spawn(async move {
            while let Some(message) = told.recv().await {
                match message.shape() {
                    Shape::Request { method, .. } if method == "end" => return,
                    Shape::Request { id, .. } => {
                        let answer = Message::result(id, &format!("{{\"start\":{start}}}"));
                        let _ = say.send(answer.into()).await;
                    }
                    _ => {}
                }
            }
        });
        Ok(Opened { link, child: None })
    }

    async fn ask(link: &mut Link, text: &str) -> String {
        link.to.send(Message::read(text.to_owned()).unwrap()).await.unwrap();
        link.from.recv().await.unwrap().message.into_text()
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_ends_is_started_again_and_greeted() {
        let starts = Arc::new(AtomicUsize::new(0));
        let health = Arc::new(Health::default());
        let mut link = steady(
            "up",
            {
                let starts = Arc::clone(&starts);
                move || server(&starts)
            },
            Arc::clone(&health),
            Restart::Always,
        );
        let greeted = ask(&mut link, r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#).await;
        assert_eq!(greeted, r#"{"jsonrpc":"2.0","id":0,"result":{"start":0}}"#);
        let initialized = Message::notification("notifications/initialized", &json!({}));
        link.to.send(initialized).await.unwrap();
        let broken = ask(&mut link, r#"{"jsonrpc":"2.0","id":1,"method":"end"}"#).await;
        let broken = Message::read(broken).unwrap();
        assert_eq!(broken_because(&broken).as_deref(), Some("the server ended"));
        // A request is answered at once while the server is down.
        let refused = ask(&mut link, r#"{"jsonrpc":"2.0","id":2,"method":"x"}"#).await;
        assert!(refused.contains("started again"), "{refused}");
        assert!(!health.is_up());
        // The client is notified of the restart and can continue.
        let changed = link.from.recv().await.unwrap().message.into_text();
        assert!(changed.contains("list_changed"), "{changed}");
        let answer = ask(&mut link, r#"{"jsonrpc":"2.0","id":3,"method":"x"}"#).await;
        assert_eq!(answer, r#"{"jsonrpc":"2.0","id":3,"result":{"start":2}}"#);
        assert!(health.is_up());
        assert_eq!(health.starts(), 2);
    }

    #[tokio::test]
    async fn leaving_ends_the_server_and_the_link() {
        let starts = Arc::new(AtomicUsize::new(0));
        let health = Arc::new(Health::default());
        let link =
            steady("up", move || server(&starts), Arc::clone(&health), Restart::OnceItAnswered);
        let Link { to, mut from, .. } = link;
        drop(to);
        assert!(from.recv().await.is_none());
        assert!(health.is_up(), "a server that was left is not missed");
    }

    /// Starts a server that speaks one era and ends on the first message of the other.
    fn picky(era: Era) -> Link {
        let (link, FarEnd { mut told, say }) = Link::pair();
        tokio::spawn(async move {
            while let Some(message) = told.recv().await {
                let Shape::Request { id, method } = message.shape() else { continue };
                let is_legacy = era == Era::Legacy;
                let result = match method.as_str() {
                    "initialize" if is_legacy => r#"{"protocolVersion":"2025-06-18"}"#,
                    "server/discover" if !is_legacy => r#"{"supportedVersions":["2026-07-28"]}"#,
                    "initialize" => {
                        let data = json!({"supported": ["2026-07-28"]});
                        let refusal = Message::error(Some(id), -32022, "no", Some(&data));
                        let _ = say.send(refusal.into()).await;
                        return;
                    }
                    "server/discover" => return,
                    _ => r#"{"is":"answered"}"#,
                };
                let _ = say.send(Message::result(id, result).into()).await;
            }
        });
        link
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_ends_over_an_era_is_started_for_the_other() {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
        let call = r#"{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        for (era, first, expected) in [
            (Era::Modern, hello, r#""protocolVersion":"2025-06-18""#),
            (Era::Legacy, call, r#""is":"answered""#),
        ] {
            let (health, cache) = (Arc::new(Health::default()), EraCache::default());
            let open = move || Ok(Opened { link: bridged(picky(era), cache.clone()), child: None });
            let mut link = steady("up", open, Arc::clone(&health), Restart::OnceItAnswered);
            let answer = ask(&mut link, first).await;
            assert!(answer.contains(expected), "{era:?}: {answer}");
            assert_eq!(health.starts(), 2, "{era:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_never_answered_ends_the_link() {
        let open = || {
            let (link, FarEnd { mut told, say }) = Link::pair();
            tokio::spawn(async move {
                told.recv().await;
                drop(say);
            });
            Ok(Opened { link, child: None })
        };
        let health = Arc::new(Health::default());
        let mut link = steady("up", open, Arc::clone(&health), Restart::OnceItAnswered);
        let answer = ask(&mut link, r#"{"id":0,"method":"initialize"}"#).await;
        assert!(answer.contains("the server ended"), "{answer}");
        assert!(link.from.recv().await.is_none());
        assert_eq!(health.starts(), 1);
    }

    #[test]
    fn what_was_given_up_is_forgotten() {
        let mut under_way = ServerRequests::default();
        let request = Message::read(r#"{"id":1,"method":"m"}"#.to_owned()).unwrap();
        let Shape::Request { id, .. } = request.shape().clone() else { panic!("a request") };
        under_way.add(&id, &request);
        under_way.forget(&id);
        assert!(under_way.requests.is_empty());
        under_way.add(&id, &request);
        assert!(!under_way.answer(&id, &crate::link::again(&id, "why")));
        under_way.forget(&id);
        assert!(under_way.take_again().is_empty());
    }
}
