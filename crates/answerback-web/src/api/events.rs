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

use super::problem::{invalid_parameter, store_problem};
use super::request::{non_empty, reserve_slot};
use super::response::ApiResult;
use crate::Console;
use crate::live::{Live, LivePosition};

/// The number of events per read.
const PAGE: usize = 64;
/// The interval of keep-alive comments, so that proxies do not close an idle connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The number of messages that may wait for a slow client.
const CHANNEL_CAPACITY: usize = 4;

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
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
) -> ApiResult {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    // A client that reconnects sends its position in the header. Its URL still has the first position.
    let after =
        header.filter(|text| !text.is_empty()).map(ToOwned::to_owned).or(non_empty(query.after));
    let after = after
        .map(|text| {
            text.parse::<u64>().map_err(|error| {
                invalid_parameter("Last-Event-ID", error, "Use the id of an event, or omit it")
            })
        })
        .transpose()?;
    let streams = non_empty(query.streams);
    let streams: Option<Vec<String>> =
        streams.map(|streams| streams.split(',').map(ToOwned::to_owned).collect());
    let slot = reserve_slot(&console.readers, &principal, "streams of events")?;
    let level = console.live.subscribe().await.map_err(|error| store_problem(&error))?;
    let (sender, body) = Channel::<Bytes>::new(CHANNEL_CAPACITY);
    let seen = *level.borrow();
    let follower = EventFollower {
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
    // The slot is reserved as long as the body exists.
    let body = body.map_frame(move |frame| {
        let _open = &slot;
        frame
    });
    let mut response: Response = Body::new(body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Sends events to one client.
struct EventFollower {
    live: Arc<Live>,
    run: String,
    level: watch::Receiver<LivePosition>,
    streams: Option<Vec<String>>,
    cursor: u64,
    sender: Sender<Bytes>,
}

impl EventFollower {
    /// Sends events until the client disconnects or the store cannot be read. The client then reconnects and continues.
    async fn run(mut self) {
        let mut sent = *self.level.borrow_and_update();
        let hello = json!({"server": self.run, "seq": sent.seq, "size": sent.size, "waiting": sent.waiting});
        if self.send(format!("retry: 1000\nevent: hello\ndata: {hello}\n\n")).await.is_none() {
            return;
        }
        while self.step(&mut sent).await.is_some() {}
    }

    async fn step(&mut self, sent: &mut LivePosition) -> Option<()> {
        let page = self.live.page(self.cursor, PAGE).await;
        let page =
            page.inspect_err(|error| tracing::warn!(%error, "events cannot be read")).ok()?;
        if let Some(gap) = page.gap {
            let data = json!({"from": gap.from, "to": gap.to});
            self.send(format!("id: {}\nevent: gap\ndata: {data}\n\n", gap.to)).await?;
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
        let has_more = page.after > self.cursor;
        self.cursor = self.cursor.max(page.after);
        let level = *self.level.borrow_and_update();
        if (level.size, level.waiting) != (sent.size, sent.waiting) {
            let data = json!({"size": level.size, "waiting": level.waiting});
            self.send(format!("event: ledger\ndata: {data}\n\n")).await?;
        }
        *sent = level;
        if has_more || level.seq > self.cursor {
            return Some(());
        }
        tokio::select! {
            changed = self.level.changed() => changed.ok(),
            () = tokio::time::sleep(KEEP_ALIVE) => self.send(": keep-alive\n\n".to_owned()).await,
        }
    }

    async fn send(&mut self, text: String) -> Option<()> {
        self.sender.send_data(Bytes::from(text)).await.ok()
    }
}
