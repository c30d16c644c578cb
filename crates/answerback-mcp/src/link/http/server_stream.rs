//! Reads the messages that a legacy server sends by itself.

use http::StatusCode;
use http_body_util::BodyExt;

use super::connection_pool::PooledBody;
use super::event_reader::EventReader;
use super::exchange::{is_stream, read_event, split_batch};
use super::fault::Fault;
use super::http_upstream::HttpUpstream;
use crate::link::Incoming;

/// Reads the server's stream until the server offers none or the link is closed. A stream that breaks is resumed
/// after its last event.
pub(super) async fn listen(server: &HttpUpstream) {
    let mut events = EventReader::new(server.max_message_bytes);
    let mut attempt = 0;
    loop {
        match server.get(events.last_id()).await {
            Ok(response) if is_stream(&response) => {
                events.resume();
                if !forward(server, response.into_body(), &mut events).await {
                    return;
                }
            }
            Ok(response) if may_change(response.status()) => {}
            Ok(response) => {
                let status = response.status();
                tracing::debug!(upstream = %server.name, %status, "the server says nothing by itself");
                return;
            }
            Err(Fault::SessionGone) => return server.session_gone.notify_one(),
            Err(fault @ Fault::Failed { .. }) => {
                tracing::debug!(upstream = %server.name, fault = fault.reason(), "the server cannot be listened to");
            }
        }
        attempt = if events.has_progressed() { 1 } else { attempt + 1 };
        tokio::time::sleep(events.pause(attempt)).await;
    }
}

/// Forwards messages until the stream ends or breaks. Returns false if the link is closed.
async fn forward(server: &HttpUpstream, mut body: PooledBody, events: &mut EventReader) -> bool {
    // There is no timeout: a server may be silent for long, and TCP keepalive detects a dead peer.
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(bytes) = frame.into_data() else { continue };
        let mut bytes = &bytes[..];
        while let Some(event) = events.next(&mut bytes) {
            match read_event(&server.name, event, server.max_message_bytes) {
                Ok(message) => {
                    for message in split_batch(&server.name, message) {
                        if server.to_client.send(Incoming::from(message)).await.is_err() {
                            return false;
                        }
                    }
                }
                Err(fault) => {
                    tracing::warn!(upstream = %server.name, fault, "the server sent an event that is no message");
                }
            }
        }
    }
    true
}

/// Returns true if a later attempt may succeed after this status.
fn may_change(status: StatusCode) -> bool {
    let passing =
        [StatusCode::REQUEST_TIMEOUT, StatusCode::CONFLICT, StatusCode::TOO_MANY_REQUESTS];
    status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED || passing.contains(&status)
}
