//! Live streams: publishes, lists and reads them.

use std::sync::Arc;

use answerback::contract::atdf::ErrorBuilder;
use answerback_http::{Principal, Problem, ProblemKind, Routes, Scope};
use answerback_store::{OWN_STREAMS, Store, StoreError, StoredEvent, StreamFilter, StreamInfo};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde_json::{Value, json};

use super::problem::{invalid_parameter, not_found, store_problem};
use super::request::{page_size, parse_body, parse_document};
use super::response::{ApiResult, blocking, json_response, ok};
use crate::Console;
use crate::stream::{self, EventDocument, NewEvent, Publisher, StreamError, StreamReply, owner_of};

/// The largest number of streams on a page.
const MAX_STREAMS: usize = 200;
/// The number of events that are read at a time to build a stream's reply.
const PAGE: usize = 1000;
/// The largest number of events that a stream's reply is built from. Later events of a longer stream are ignored.
const MAX_EVENTS_PER_REPLY: usize = 100_000;
/// The largest batch of events, in bytes.
const MAX_BODY_BYTES: usize = 4 << 20;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let state = || Arc::clone(console);
    Routes::with_body_limit(MAX_BODY_BYTES)
        .route("/api/streams", Scope::Read, get(list).with_state(state()))
        .route("/api/streams/{id}", Scope::Read, get(show).with_state(state()))
        .route("/api/streams/{id}/events", Scope::Read, get(events).with_state(state()))
        .route("/api/streams/{id}/events", Scope::Ingest, post(publish).with_state(state()))
        .route("/api/streams/{id}/end", Scope::Ingest, post(end).with_state(state()))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StreamListQuery {
    before: Option<u64>,
    limit: Option<usize>,
}

async fn list(
    State(console): State<Arc<Console>>,
    Query(query): Query<StreamListQuery>,
) -> ApiResult {
    let (store, count) = (console.store.clone(), page_size(query.limit, MAX_STREAMS, MAX_STREAMS));
    let (streams, next) = blocking(move || {
        let filter = StreamFilter::default().without(OWN_STREAMS).before(query.before);
        let mut infos = store.streams(filter, count + 1)?;
        let has_more = infos.len() > count;
        infos.truncate(count);
        let next = infos.last().filter(|_| has_more).map(|info| info.newest);
        let streams = infos.iter().map(|info| stream_json(&store, info));
        Ok((streams.collect::<Result<Vec<Value>, StoreError>>()?, next))
    })
    .await?;
    ok(&json!({"streams": streams, "next": next}))
}

/// Describes a stream, with the times of its first and last events.
fn stream_json(store: &Store, info: &StreamInfo) -> Result<Value, StoreError> {
    let first = store.events(0, Some(&info.name), 1)?.events.pop();
    let last = store.events(info.newest.saturating_sub(1), Some(&info.name), 1)?.events.pop();
    let time =
        |event: &Option<StoredEvent>| event.as_ref().map(|event| event.time.to_offset_micros());
    let outcome = if info.is_ended { outcome(store, info)? } else { None };
    Ok(json!({
        "id": info.name,
        "owner": last.as_ref().and_then(owner_of),
        "events": info.events,
        "first": time(&first),
        "last": time(&last),
        "last_kind": last.as_ref().map(|event| event.kind.clone()),
        "ended": info.is_ended,
        "outcome": outcome,
        "digest": HEXLOWER.encode(&info.digest),
    }))
}

/// Returns the outcome of a stream, from the event right before the end.
fn outcome(store: &Store, info: &StreamInfo) -> Result<Option<Value>, StoreError> {
    let before = store.events(info.newest.saturating_sub(2), Some(&info.name), 2)?.events;
    let outcome = before.iter().map(EventDocument::from).find(|event| event.kind == "outcome");
    Ok(outcome.and_then(|event| event.body).map(|body| body["outcome"].clone()))
}

async fn show(State(console): State<Arc<Console>>, Path(id): Path<String>) -> ApiResult {
    let store = console.store.clone();
    let stream = blocking(move || {
        let found = store.stream(&id)?.filter(|info| !info.name.starts_with(OWN_STREAMS));
        let Some(info) = found else { return Ok(None) };
        let mut reply = StreamReply::default();
        let (mut after, mut seen) = (0, 0);
        loop {
            let page = store.events(after, Some(&info.name), PAGE)?;
            for event in &page.events {
                reply.push(&EventDocument::from(event));
            }
            // The end event is not part of the count.
            seen += page.events.iter().filter(|event| event.kind != StoredEvent::END).count();
            after = page.after;
            if page.events.len() < PAGE || seen >= MAX_EVENTS_PER_REPLY {
                break;
            }
        }
        let pruned = info.events.saturating_sub(seen as u64);
        if pruned > 0 && seen < MAX_EVENTS_PER_REPLY {
            let events = if pruned == 1 { "event is" } else { "events are" };
            reply.warnings.insert(0, format!("{pruned} earlier {events} no longer stored"));
        }
        let mut stream = stream_json(&store, &info)?;
        stream["envelope"] = reply.envelope.unwrap_or_default();
        stream["warnings"] = reply.warnings.into();
        stream["as_of_seq"] = after.into();
        Ok(Some(stream))
    });
    ok(&stream.await?.ok_or_else(|| not_found("stream"))?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EventPageQuery {
    after: Option<u64>,
    limit: Option<usize>,
}

async fn events(
    State(console): State<Arc<Console>>,
    Path(id): Path<String>,
    Query(query): Query<EventPageQuery>,
) -> ApiResult {
    let (store, count) = (console.store.clone(), page_size(query.limit, 500, 1000));
    let after = query.after.unwrap_or_default();
    let page = blocking(move || store.events(after, Some(&id), count)).await?;
    let events: Vec<EventDocument> = page.events.iter().map(EventDocument::from).collect();
    let gap = page.gap.map(|gap| json!({"from": gap.from, "to": gap.to}));
    ok(&json!({"events": events, "gap": gap, "after": page.after}))
}

/// The form of an event, for the error about an invalid one.
const EVENT: &str = r#"Send {"kind": "note", "body": {"text": "…"}}, or a list of such events"#;

/// Parses one event or a list of events.
fn events_of(body: &[u8]) -> Result<Vec<NewEvent>, Problem> {
    let read = parse_document(body, EVENT)?;
    let event = |place: String, value: Value| {
        if !value.is_object() {
            let what = format!("{place}: an event is an object with a kind and a body");
            return Err(invalid_parameter("body", what, EVENT));
        }
        serde_json::from_value(value)
            .map_err(|error| invalid_parameter("body", format!("{place}: {error}"), EVENT))
    };
    match read {
        Value::Array(list) => {
            let list = list.into_iter().enumerate();
            list.map(|(at, value)| event(format!("event {} of the list", at + 1), value)).collect()
        }
        one => Ok(vec![event("the event".to_owned(), one)?]),
    }
}

async fn publish(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<String>,
    body: Bytes,
) -> ApiResult {
    let events = events_of(&body)?;
    let by = Publisher::from(&principal);
    let published = stream::publish(&console.store, &by, &id, events).await;
    let (first, last) = published.map_err(|error| problem(&error))?;
    console.live.nudge();
    json_response(StatusCode::CREATED, &json!({"first": first, "last": last}))
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct EndStreamRequest {
    outcome: Option<String>,
}

async fn end(
    State(console): State<Arc<Console>>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<String>,
    body: Bytes,
) -> ApiResult {
    let EndStreamRequest { outcome } =
        if body.is_empty() { EndStreamRequest::default() } else { parse_body(&body, &[])? };
    let by = Publisher::from(&principal);
    let ended = stream::end(&console.store, &by, &id, outcome.as_deref()).await;
    let seq = ended.map_err(|error| problem(&error))?;
    console.live.nudge();
    let status = if seq.is_some() { StatusCode::CREATED } else { StatusCode::OK };
    json_response(status, &json!({ "seq": seq }))
}

fn problem(error: &StreamError) -> Problem {
    match error {
        StreamError::Store(error) => store_problem(error),
        StreamError::Ended => {
            let error = ErrorBuilder::new("STREAM_ENDED", error.to_string(), "stream")
                .condition("The stream has not ended")
                .solution("Publish to another stream");
            Problem::from_error(ProblemKind::Conflict, error)
        }
        StreamError::WrongOwner => {
            let error = ErrorBuilder::new(
                "STREAM_OF_ANOTHER",
                "This stream belongs to another principal",
                "stream",
            )
            .condition(
                "Only the principal that began a stream, or an admin, publishes to it and ends it",
            )
            .solution(
                "Publish to a stream with another name, or use the token that began this one",
            );
            Problem::from_error(ProblemKind::Forbidden, error)
        }
        StreamError::Name => {
            invalid_parameter("id", error, "Name the stream in the path: /api/streams/NAME/events")
        }
        StreamError::Kind => invalid_parameter(
            "kind",
            error,
            "Write a kind such as note, text, rows, signal, envelope or patch",
        ),
        StreamError::Count(_) => {
            invalid_parameter("body", error, "Send the events in several requests")
        }
        StreamError::TooLarge(_) => {
            invalid_parameter("body", error, "Submit the content with POST /api/replies")
        }
    }
}
