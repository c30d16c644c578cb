//! All live events as server-sent events, from any position on.
//!
//! Each connection pulls: it reads the events after its cursor, sends them, and waits. A slow client slows only itself.
//! If it misses events, it receives a gap event.

use std::sync::Arc;
use std::time::Duration;

use answerback_http::{AuthorizationWatch, Principal, Routes, Scope, ShutdownSignal};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::channel::{Channel, Sender};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;

use crate::Console;
use crate::ask::{Answer, bad, held, some, store_problem};
use crate::live::{Live, LivePosition};

/// The number of events per read.
const PAGE: usize = 64;
/// The interval of keep-alive comments, so that proxies do not close an idle connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The number of messages that may wait for a slow client.
const WAITING: usize = 4;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let follow = get(follow).with_state(Arc::clone(console));
    Routes::new().route("/api/events", Scope::Read, follow)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EventQuery {
    streams: Option<String>,
    after: Option<String>,
}

async fn follow(
    State(console): State<Arc<Console>>,
    Extension(closing): Extension<ShutdownSignal>,
    Extension(standing): Extension<AuthorizationWatch>,
    Extension(principal): Extension<Principal>,
    Query(asked): Query<EventQuery>,
    headers: HeaderMap,
) -> Answer {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    // A client that reconnects sends its position in the header. Its URL still has the first position.
    let after = header.filter(|text| !text.is_empty()).map(ToOwned::to_owned).or(some(asked.after));
    let after = after
        .map(|text| {
            text.parse::<u64>().map_err(|error| {
                bad("Last-Event-ID", error, "Use the id of an event, or leave it away")
            })
        })
        .transpose()?;
    let streams = some(asked.streams);
    let streams: Option<Vec<String>> =
        streams.map(|streams| streams.split(',').map(ToOwned::to_owned).collect());
    let held = held(&console.readers, &principal, "streams of events")?;
    let level = console.live.subscribe().await.map_err(|error| store_problem(&error))?;
    let (sender, body) = Channel::<Bytes>::new(WAITING);
    let seen = *level.borrow();
    let follower = Follower {
        live: Arc::clone(&console.live),
        run: console.run.clone(),
        level,
        streams,
        // A position beyond the newest event belongs to another store.
        cursor: after.unwrap_or(seen.seq).min(seen.seq),
        sender,
    };
    tokio::spawn(async move {
        tokio::select! {
            () = follower.run() => {}
            () = closing.received() => {}
            () = standing.revoked() => {}
        }
    });
    // The place is held as long as the body exists.
    let body = body.map_frame(move |frame| {
        let _open = &held;
        frame
    });
    let mut response: Response = Body::new(body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

struct Follower {
    live: Arc<Live>,
    run: String,
    level: watch::Receiver<LivePosition>,
    streams: Option<Vec<String>>,
    cursor: u64,
    sender: Sender<Bytes>,
}

impl Follower {
    /// Sends events until the client disconnects or the store cannot be read. The client then reconnects and continues.
    async fn run(mut self) {
        let mut told = *self.level.borrow_and_update();
        let hello = json!({"server": self.run, "seq": told.seq, "size": told.size, "waiting": told.waiting});
        if self.say(format!("retry: 1000\nevent: hello\ndata: {hello}\n\n")).await.is_none() {
            return;
        }
        while self.step(&mut told).await.is_some() {}
    }

    async fn step(&mut self, told: &mut LivePosition) -> Option<()> {
        let page = self.live.page(self.cursor, PAGE).await;
        let page =
            page.inspect_err(|error| tracing::warn!(%error, "events cannot be read")).ok()?;
        if let Some(gap) = page.gap {
            let data = json!({"from": gap.from, "to": gap.to});
            self.say(format!("id: {}\nevent: gap\ndata: {data}\n\n", gap.to)).await?;
        }
        let is_wanted =
            |stream: &String| self.streams.as_ref().is_none_or(|streams| streams.contains(stream));
        let wanted: Vec<Bytes> = page
            .frames
            .iter()
            .filter(|frame| !frame.bytes.is_empty() && is_wanted(&frame.stream))
            .map(|frame| frame.bytes.clone())
            .collect();
        for bytes in wanted {
            self.sender.send_data(bytes).await.ok()?;
        }
        let is_behind = page.after > self.cursor;
        self.cursor = self.cursor.max(page.after);
        let level = *self.level.borrow_and_update();
        if (level.size, level.waiting) != (told.size, told.waiting) {
            let data = json!({"size": level.size, "waiting": level.waiting});
            self.say(format!("event: ledger\ndata: {data}\n\n")).await?;
        }
        *told = level;
        if is_behind || level.seq > self.cursor {
            return Some(());
        }
        tokio::select! {
            changed = self.level.changed() => changed.ok(),
            () = tokio::time::sleep(KEEP_ALIVE) => self.say(": still here\n\n".to_owned()).await,
        }
    }

    async fn say(&mut self, text: String) -> Option<()> {
        self.sender.send_data(Bytes::from(text)).await.ok()
    }
}
