use std::future::poll_fn;
use std::sync::Arc;

use answerback_mcp::link::{Incoming, StreamState};
use answerback_mcp::wire::{Id, Message, Shape};
use tokio::time::Instant;

use super::stream_table::{SLOW_READER_GRACE, STORAGE_LIMIT};
use super::stream_usage::StreamUsage;
use super::{ResponseKind, ResponseStreams, StreamReader};

/// No call runs while the kind of response is awaited.
const NO_CALL: Option<std::future::Ready<()>> = None;

fn message(text: &str) -> Message {
    Message::read(text.to_owned()).unwrap()
}

fn request(id: u8, rest: &str) -> (Message, Id) {
    let text = format!(r#"{{"id":{id},"method":"tools/call","params":{{{rest}}}}}"#);
    let message = message(&text);
    let Shape::Request { id, .. } = message.shape().clone() else { panic!("{text}") };
    (message, id)
}

fn streams() -> Arc<ResponseStreams> {
    Arc::new(ResponseStreams::of_client("c".to_owned()))
}

fn opened(streams: &Arc<ResponseStreams>, id: u8) -> StreamReader {
    let (message, id) = request(id, "");
    streams.open(&message, &id).unwrap()
}

async fn send(streams: &ResponseStreams, text: &str) {
    streams.send(message(text).into()).await;
}

async fn send_about(streams: &ResponseStreams, text: &str, id: u8) {
    streams.send(Incoming::about(message(text), request(id, "").1)).await;
}

/// Returns the next event, or `None` if the stream ends.
async fn event(reader: &StreamReader) -> Option<String> {
    let bytes = poll_fn(|context| reader.poll_event(context)).await?;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

fn encoded(id: &str, text: &str) -> String {
    format!("id: {id}\nevent: message\ndata: {text}\n\n")
}

const LOG: &str = r#"{"method":"notifications/message"}"#;

#[tokio::test]
async fn each_message_reaches_its_stream() {
    let streams = streams();
    let (first, first_id) = request(1, r#""_meta":{"progressToken":"t"}"#);
    let one = streams.open(&first, &first_id).unwrap();
    let two = opened(&streams, 2);
    assert!(streams.open(&first, &first_id).is_none(), "an id is open once");
    let ask = r#"{"id":"s","method":"elicitation/create"}"#;
    let progress = r#"{"method":"notifications/progress","params":{"progressToken":"t"}}"#;
    send(&streams, progress).await;
    send(&streams, ask).await;
    send_about(&streams, LOG, 1).await;
    send(&streams, LOG).await;
    assert_eq!(one.message().await.unwrap().text(), progress);
    assert_eq!(one.message().await.unwrap().text(), LOG);
    assert_eq!(two.message().await.unwrap().text(), ask);
    assert_eq!(two.message().await.unwrap().text(), LOG);
    let own = streams.listen();
    send(&streams, LOG).await;
    assert_eq!(event(&own).await.unwrap(), encoded("c-0-1", LOG));
    let answer = r#"{"id":2,"result":{}}"#;
    send(&streams, answer).await;
    assert_eq!(two.message().await.unwrap().text(), answer);
    assert!(two.message().await.is_none(), "the answer is the end");
}

#[tokio::test]
async fn a_lone_response_is_a_single_message() {
    let streams = streams();
    let (first, second, third) = (opened(&streams, 1), opened(&streams, 2), opened(&streams, 3));
    send_about(&streams, LOG, 2).await;
    streams.apply_flow(&request(3, "").1, StreamState::Begun);
    for id in 1..=3 {
        send(&streams, &format!(r#"{{"id":{id},"result":{{}}}}"#)).await;
    }
    assert!(matches!(first.response_kind(NO_CALL).await, ResponseKind::Single(_)));
    assert!(matches!(second.response_kind(NO_CALL).await, ResponseKind::Stream));
    assert!(matches!(third.response_kind(NO_CALL).await, ResponseKind::Stream));
    drop(first);
    assert!(streams.resume("c-1-0").is_err(), "a single message cannot be resumed");
}

#[tokio::test]
async fn a_resuming_client_receives_the_rest_of_its_stream() {
    let streams = streams();
    let (one, two) = (opened(&streams, 1), opened(&streams, 2));
    assert_eq!(one.begin(true).unwrap(), "id: c-1-0\nretry: 1000\ndata: \n\n");
    two.begin(true);
    send_about(&streams, LOG, 1).await;
    assert_eq!(event(&one).await.unwrap(), encoded("c-1-1", LOG));
    drop(one);
    let (more, answer) = (r#"{"method":"m"}"#, r#"{"id":1,"result":{}}"#);
    send_about(&streams, more, 1).await;
    send_about(&streams, r#"{"method":"other"}"#, 2).await;
    let resumed = streams.resume("c-1-1").unwrap();
    assert_eq!(event(&resumed).await.unwrap(), encoded("c-1-2", more));
    drop(resumed);
    send(&streams, answer).await;
    assert!(streams.open(&request(1, "").0, &request(1, "").1).is_some(), "it was answered");
    // The stream is resumed from the beginning, from the middle, and after the last event.
    let events = [encoded("c-1-1", LOG), encoded("c-1-2", more), encoded("c-1-3", answer)];
    for last in 0..=3 {
        let resumed = streams.resume(&format!("c-1-{last}")).unwrap();
        for expected in &events[last..] {
            assert_eq!(event(&resumed).await.as_ref(), Some(expected), "after {last}");
        }
        assert_eq!(event(&resumed).await, None, "the answer is the end");
    }
}

#[tokio::test]
async fn unknown_event_ids_are_rejected() {
    let streams = streams();
    let reader = opened(&streams, 1);
    assert!(streams.resume("c-1-0").is_err(), "the stream has not begun");
    reader.begin(true);
    for id in ["", "nonsense", "d-1-0", "c-1-1", "c-2-0", "c-0-0", "c-01-0", "C-1-0"] {
        assert!(streams.resume(id).is_err(), "{id}");
    }
    assert!(streams.resume("c-1-0").is_ok());
}

#[tokio::test]
async fn a_later_reader_replaces_the_earlier_one() {
    let streams = streams();
    let first = opened(&streams, 1);
    first.begin(true);
    let second = streams.resume("c-1-0").unwrap();
    send_about(&streams, LOG, 1).await;
    assert_eq!(event(&first).await, None);
    // Dropping the first reader does not affect the second one.
    drop(first);
    assert_eq!(event(&second).await.unwrap(), encoded("c-1-1", LOG));
    send(&streams, r#"{"id":1,"result":{}}"#).await;
    assert!(event(&second).await.unwrap().contains("result"));
    let (one, two) = (streams.listen(), streams.listen());
    send(&streams, LOG).await;
    assert_eq!(event(&one).await, None);
    assert_eq!(event(&two).await.unwrap(), encoded("c-0-1", LOG));
}

#[tokio::test]
async fn unread_messages_are_limited_and_the_gap_is_reported() {
    let streams = streams();
    for number in 1..=STORAGE_LIMIT.events + 3 {
        send(&streams, &format!(r#"{{"method":"m{number}"}}"#)).await;
    }
    send(&streams, r#"{"id":9,"result":{}}"#).await;
    let own = streams.listen();
    assert_eq!(event(&own).await.unwrap(), "event: gap\ndata: {\"lost\":3}\n\n");
    assert_eq!(event(&own).await.unwrap(), encoded("c-0-4", r#"{"method":"m4"}"#));
    assert!(!streams.is_idle());
    drop(own);
    assert!(streams.is_idle());
    // A client that resumes after removed events is told about the gap.
    let resumed = streams.resume("c-0-1").unwrap();
    assert_eq!(event(&resumed).await.unwrap(), "event: gap\ndata: {\"lost\":2}\n\n");
    let within = streams.lock().usage;
    assert!(
        within.events <= STORAGE_LIMIT.events && within.bytes <= STORAGE_LIMIT.bytes,
        "{within:?}"
    );
}

#[tokio::test]
async fn a_response_that_is_too_large_is_reported_as_lost() {
    let streams = streams();
    let (one, two) = (opened(&streams, 1), opened(&streams, 2));
    one.begin(true);
    two.begin(true);
    drop(one);
    drop(two);
    let pad = "x".repeat(STORAGE_LIMIT.bytes);
    send(&streams, &format!(r#"{{"id":1,"result":{{"pad":"{pad}"}}}}"#)).await;
    send(&streams, r#"{"id":2,"result":{}}"#).await;
    assert_eq!(streams.lock().usage.events, 2);
    let resumed = streams.resume("c-1-0").unwrap();
    let lost = event(&resumed).await.unwrap();
    assert!(lost.starts_with("id: c-1-1\n") && lost.contains(r#""id":1,"error""#), "{lost}");
    assert_eq!(event(&resumed).await, None);
    let resumed = streams.resume("c-2-0").unwrap();
    assert_eq!(event(&resumed).await.unwrap(), encoded("c-2-1", r#"{"id":2,"result":{}}"#));
}

#[tokio::test]
async fn a_client_that_never_resumes_uses_little_memory() {
    let streams = streams();
    let text = format!(r#"{{"method":"m","params":"{}"}}"#, "x".repeat(64 << 10));
    for id in 0..=255 {
        let reader = opened(&streams, id);
        reader.begin(true);
        drop(reader);
        send_about(&streams, &text, id).await;
        send(&streams, &format!(r#"{{"id":{id},"result":{{}}}}"#)).await;
    }
    assert!(streams.is_idle(), "nothing is under way");
    let table = streams.lock();
    assert!(table.usage.events <= STORAGE_LIMIT.events && table.usage.bytes <= STORAGE_LIMIT.bytes);
    let sum: usize = table.streams.iter().map(|stream| stream.size().bytes).sum();
    assert_eq!(sum, table.usage.bytes, "the total is the sum of the streams");
    assert!(table.streams.len() <= STORAGE_LIMIT.events);
}

/// Returns the total amount of stored data, counted event by event.
fn usage(streams: &ResponseStreams) -> StreamUsage {
    let table = streams.lock();
    let mut sum = StreamUsage::default();
    for stream in &table.streams {
        sum += stream.size();
    }
    assert_eq!(sum, table.usage, "the total is the sum of the streams");
    sum
}

fn large(number: usize, bytes: usize) -> String {
    format!(r#"{{"method":"m{number}","params":"{}"}}"#, "x".repeat(bytes))
}

#[tokio::test(start_paused = true)]
async fn messages_for_a_stalled_reader_are_limited_and_the_gap_is_reported() {
    let streams = streams();
    let reader = opened(&streams, 1);
    reader.begin(true);
    for number in 1..=60 {
        send_about(&streams, &large(number, 1 << 20), 1).await;
        assert!(!usage(&streams).exceeds(STORAGE_LIMIT));
    }
    send(&streams, r#"{"id":1,"result":{}}"#).await;
    assert_eq!(event(&reader).await.unwrap(), "event: gap\ndata: {\"lost\":57}\n\n");
    for number in 58..=60 {
        let received = event(&reader).await.unwrap();
        assert!(received.contains(&format!(r#""m{number}""#)), "{number}");
    }
    assert!(event(&reader).await.unwrap().contains("result"), "an answer is not lost");
    assert_eq!(event(&reader).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_single_large_message_is_delivered() {
    let streams = streams();
    let (one, two) = (opened(&streams, 1), opened(&streams, 2));
    for reader in [&one, &two] {
        reader.begin(true);
    }
    for id in 1..=2 {
        send_about(&streams, &large(1, 2 * STORAGE_LIMIT.bytes), id).await;
    }
    for (reader, id) in [(&one, 1), (&two, 2)] {
        assert!(event(reader).await.unwrap().len() > STORAGE_LIMIT.bytes);
        send(&streams, &format!(r#"{{"id":{id},"result":{{}}}}"#)).await;
        assert!(event(reader).await.unwrap().contains("result"));
    }
    assert!(!usage(&streams).exceeds(STORAGE_LIMIT));
}

#[tokio::test(start_paused = true)]
async fn a_stalled_reader_delays_the_server_once() {
    let streams = streams();
    let (idle, busy) = (opened(&streams, 1), opened(&streams, 2));
    for reader in [&idle, &busy] {
        reader.begin(true);
    }
    let began = Instant::now();
    for number in 1..=2 * STORAGE_LIMIT.events {
        send_about(&streams, &large(number, 100), 1).await;
    }
    assert_eq!(began.elapsed(), SLOW_READER_GRACE, "not once more for each message");
    let sending = async {
        for number in 1..=4 * STORAGE_LIMIT.events {
            send_about(&streams, &large(number, 100), 2).await;
        }
    };
    let reading = async {
        for number in 1..=4 * STORAGE_LIMIT.events {
            // The reader waits until there is much to read.
            if number % (STORAGE_LIMIT.events / 2) == 1 {
                tokio::time::sleep(SLOW_READER_GRACE / 5).await;
            }
            let received = event(&busy).await.unwrap();
            assert!(received.contains(&format!(r#""m{number}""#)), "{number}: {received}");
        }
    };
    tokio::join!(sending, reading);
    assert!(event(&idle).await.unwrap().starts_with("event: gap\n"));
    assert!(!usage(&streams).exceeds(STORAGE_LIMIT));
}

#[tokio::test]
async fn a_paused_server_stream_pauses_ours_if_the_client_can_resume() {
    let streams = streams();
    // The server pauses before our stream begins, and after one message.
    let reader = opened(&streams, 1);
    send_about(&streams, LOG, 1).await;
    streams.apply_flow(&request(1, "").1, StreamState::Paused);
    assert!(matches!(reader.response_kind(NO_CALL).await, ResponseKind::Stream));
    reader.begin(true);
    assert_eq!(event(&reader).await.unwrap(), encoded("c-1-1", LOG));
    assert_eq!(event(&reader).await, None);
    drop(reader);
    let resumed = streams.resume("c-1-1").unwrap();
    send(&streams, r#"{"id":1,"result":{}}"#).await;
    assert!(event(&resumed).await.unwrap().contains("result"));
    // A client without an event id cannot resume.
    let reader = opened(&streams, 2);
    reader.begin(false);
    streams.apply_flow(&request(2, "").1, StreamState::Paused);
    send(&streams, r#"{"id":2,"result":{}}"#).await;
    assert!(event(&reader).await.unwrap().contains("result"));
}

#[tokio::test]
async fn a_response_is_awaited_by_readers_and_resumable_clients() {
    let streams = streams();
    let is_awaited = |id| streams.is_awaited(&request(id, "").1);
    let (single, unread, read, primed) =
        (opened(&streams, 1), opened(&streams, 2), opened(&streams, 3), opened(&streams, 4));
    for (reader, is_primed) in [(&unread, false), (&read, false), (&primed, true)] {
        reader.begin(is_primed);
    }
    send_about(&streams, LOG, 2).await;
    send_about(&streams, LOG, 3).await;
    assert!(event(&read).await.is_some());
    assert!((1..=4).all(is_awaited) && !is_awaited(5));
    drop((single, unread, read, primed));
    assert_eq!([1, 2, 3, 4].map(is_awaited), [false, false, true, true]);
    send(&streams, r#"{"id":3,"result":{}}"#).await;
    assert!(!is_awaited(3), "it was answered");
    // No stream can be resumed after the session ends, but a current reader still gets its response.
    let read = opened(&streams, 6);
    read.begin(true);
    streams.begin_end();
    assert_eq!([4, 6].map(is_awaited), [false, true]);
    drop(read);
    assert!(!is_awaited(6) && streams.lock().streams.is_empty());
    assert_eq!(streams.lock().usage.events, 0);
}

#[tokio::test]
async fn a_closed_stream_is_removed_and_an_answered_one_stays_readable() {
    let streams = streams();
    let (one, two) = (opened(&streams, 1), opened(&streams, 2));
    one.begin(true);
    assert!(streams.close(&request(1, "").1) && !streams.close(&request(1, "").1));
    assert_eq!(event(&one).await, None);
    assert!(streams.resume("c-1-0").is_err());
    send(&streams, r#"{"id":2,"result":{}}"#).await;
    streams.end();
    assert!(matches!(two.response_kind(NO_CALL).await, ResponseKind::Single(_)));
}

#[tokio::test(start_paused = true)]
async fn a_stalled_client_of_a_shared_connection_is_cut_off() {
    let streams = Arc::new(ResponseStreams::shared());
    let (request, id) = request(1, r#""_meta":{"progressToken":"t"}"#);
    let (idle, other) = (streams.open(&request, &id).unwrap(), opened(&streams, 2));
    let progress = |bytes| {
        let pad = "x".repeat(bytes);
        format!(
            r#"{{"method":"notifications/progress","params":{{"progressToken":"t","message":"{pad}"}}}}"#
        )
    };
    for _ in 1..=60 {
        send(&streams, &progress(1 << 20)).await;
        assert!(!usage(&streams).exceeds(STORAGE_LIMIT));
    }
    assert!(idle.message().await.is_none());
    // Messages about that request do not reach another client.
    send(&streams, &progress(1)).await;
    send_about(&streams, LOG, 1).await;
    let answer = r#"{"id":2,"result":{}}"#;
    send(&streams, answer).await;
    assert_eq!(other.message().await.unwrap().text(), answer);
}

#[tokio::test]
async fn clients_of_a_shared_connection_cannot_resume() {
    let streams = Arc::new(ResponseStreams::shared());
    let reader = opened(&streams, 1);
    assert!(reader.begin(true).is_none());
    drop(reader);
    assert!(streams.resume("-1-0").is_err());
    send(&streams, LOG).await;
    assert!(streams.lock().streams.is_empty());
}
