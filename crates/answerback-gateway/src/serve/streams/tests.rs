use super::*;

fn message(text: &str) -> Message {
    Message::read(text.to_owned()).unwrap()
}

fn request(id: u8, rest: &str) -> (Message, Id) {
    let text = format!(r#"{{"id":{id},"method":"tools/call","params":{{{rest}}}}}"#);
    let message = message(&text);
    let Shape::Request { id, .. } = message.shape().clone() else { panic!("{text}") };
    (message, id)
}

fn streams() -> Arc<Streams> {
    Arc::new(Streams::of_client("c".to_owned()))
}

fn opened(streams: &Arc<Streams>, id: u8) -> Told {
    let (message, id) = request(id, "");
    streams.open(&message, &id).unwrap()
}

async fn say(streams: &Streams, text: &str) {
    streams.send(message(text).into()).await;
}

async fn say_about(streams: &Streams, text: &str, id: u8) {
    streams.send(Incoming::about(message(text), request(id, "").1)).await;
}

/// Returns the next event, or `None` if the stream ends.
async fn event(told: &Told) -> Option<String> {
    let bytes = poll_fn(|context| told.poll_event(context)).await?;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

fn written(id: &str, text: &str) -> String {
    format!("id: {id}\nevent: message\ndata: {text}\n\n")
}

const LOG: &str = r#"{"method":"notifications/message"}"#;

#[tokio::test]
async fn each_message_goes_where_it_belongs() {
    let streams = streams();
    let (first, first_id) = request(1, r#""_meta":{"progressToken":"t"}"#);
    let one = streams.open(&first, &first_id).unwrap();
    let two = opened(&streams, 2);
    assert!(streams.open(&first, &first_id).is_none(), "an id is open once");
    let ask = r#"{"id":"s","method":"elicitation/create"}"#;
    let progress = r#"{"method":"notifications/progress","params":{"progressToken":"t"}}"#;
    say(&streams, progress).await;
    say(&streams, ask).await;
    say_about(&streams, LOG, 1).await;
    say(&streams, LOG).await;
    assert_eq!(one.message().await.unwrap().text(), progress);
    assert_eq!(one.message().await.unwrap().text(), LOG);
    assert_eq!(two.message().await.unwrap().text(), ask);
    assert_eq!(two.message().await.unwrap().text(), LOG);
    let own = streams.listen();
    say(&streams, LOG).await;
    assert_eq!(event(&own).await.unwrap(), written("c-0-1", LOG));
    let answer = r#"{"id":2,"result":{}}"#;
    say(&streams, answer).await;
    assert_eq!(two.message().await.unwrap().text(), answer);
    assert!(two.message().await.is_none(), "the answer is the end");
}

#[tokio::test]
async fn an_answer_is_whole_unless_there_is_more_to_say_or_the_server_streams() {
    let streams = streams();
    let (first, second, third) = (opened(&streams, 1), opened(&streams, 2), opened(&streams, 3));
    say_about(&streams, LOG, 2).await;
    streams.flows(&request(3, "").1, StreamState::Begun);
    for id in 1..=3 {
        say(&streams, &format!(r#"{{"id":{id},"result":{{}}}}"#)).await;
    }
    assert!(matches!(first.due_of(None).await, Due::Whole(_)));
    assert!(matches!(second.due_of(None).await, Due::Stream));
    assert!(matches!(third.due_of(None).await, Due::Stream));
    drop(first);
    assert!(streams.resume("c-1-0").is_err(), "nobody comes back to what was whole");
}

#[tokio::test]
async fn whoever_comes_back_hears_the_rest_of_that_stream_and_nothing_else() {
    let streams = streams();
    let (one, two) = (opened(&streams, 1), opened(&streams, 2));
    assert_eq!(one.begin(true).unwrap(), "id: c-1-0\nretry: 1000\ndata: \n\n");
    two.begin(true);
    say_about(&streams, LOG, 1).await;
    assert_eq!(event(&one).await.unwrap(), written("c-1-1", LOG));
    drop(one);
    let (more, answer) = (r#"{"method":"m"}"#, r#"{"id":1,"result":{}}"#);
    say_about(&streams, more, 1).await;
    say_about(&streams, r#"{"method":"other"}"#, 2).await;
    let back = streams.resume("c-1-1").unwrap();
    assert_eq!(event(&back).await.unwrap(), written("c-1-2", more));
    drop(back);
    say(&streams, answer).await;
    assert!(streams.open(&request(1, "").0, &request(1, "").1).is_some(), "it was answered");
    // The stream is resumed from the beginning, from the middle, and after the last event.
    let told = [written("c-1-1", LOG), written("c-1-2", more), written("c-1-3", answer)];
    for last in 0..=3 {
        let back = streams.resume(&format!("c-1-{last}")).unwrap();
        for expected in &told[last..] {
            assert_eq!(event(&back).await.as_ref(), Some(expected), "after {last}");
        }
        assert_eq!(event(&back).await, None, "the answer is the end");
    }
}

#[tokio::test]
async fn ids_that_this_client_never_had_lead_nowhere() {
    let streams = streams();
    let told = opened(&streams, 1);
    assert!(streams.resume("c-1-0").is_err(), "it is no stream yet");
    told.begin(true);
    for id in ["", "nonsense", "d-1-0", "c-1-1", "c-2-0", "c-0-0", "c-01-0", "C-1-0"] {
        assert!(streams.resume(id).is_err(), "{id}");
    }
    assert!(streams.resume("c-1-0").is_ok());
}

#[tokio::test]
async fn of_two_readers_the_later_one_hears() {
    let streams = streams();
    let first = opened(&streams, 1);
    first.begin(true);
    let second = streams.resume("c-1-0").unwrap();
    say_about(&streams, LOG, 1).await;
    assert_eq!(event(&first).await, None);
    // Dropping the first reader does not affect the second one.
    drop(first);
    assert_eq!(event(&second).await.unwrap(), written("c-1-1", LOG));
    say(&streams, r#"{"id":1,"result":{}}"#).await;
    assert!(event(&second).await.unwrap().contains("result"));
    let (one, two) = (streams.listen(), streams.listen());
    say(&streams, LOG).await;
    assert_eq!(event(&one).await, None);
    assert_eq!(event(&two).await.unwrap(), written("c-0-1", LOG));
}

#[tokio::test]
async fn what_nobody_hears_is_kept_up_to_a_bound_and_the_gap_is_told() {
    let streams = streams();
    for number in 1..=KEPT.events + 3 {
        say(&streams, &format!(r#"{{"method":"m{number}"}}"#)).await;
    }
    say(&streams, r#"{"id":9,"result":{}}"#).await;
    let own = streams.listen();
    assert_eq!(event(&own).await.unwrap(), "event: gap\ndata: {\"lost\":3}\n\n");
    assert_eq!(event(&own).await.unwrap(), written("c-0-4", r#"{"method":"m4"}"#));
    assert!(!streams.is_idle());
    drop(own);
    assert!(streams.is_idle());
    // A client that resumes after removed events is told about the gap.
    let back = streams.resume("c-0-1").unwrap();
    assert_eq!(event(&back).await.unwrap(), "event: gap\ndata: {\"lost\":2}\n\n");
    let within = streams.lock().held;
    assert!(within.events <= KEPT.events && within.bytes <= KEPT.bytes, "{within:?}");
}

#[tokio::test]
async fn an_answer_too_large_to_be_kept_is_told_as_lost() {
    let streams = streams();
    let (one, two) = (opened(&streams, 1), opened(&streams, 2));
    one.begin(true);
    two.begin(true);
    drop(one);
    drop(two);
    let pad = "x".repeat(KEPT.bytes);
    say(&streams, &format!(r#"{{"id":1,"result":{{"pad":"{pad}"}}}}"#)).await;
    say(&streams, r#"{"id":2,"result":{}}"#).await;
    assert_eq!(streams.lock().held.events, 2);
    let back = streams.resume("c-1-0").unwrap();
    let lost = event(&back).await.unwrap();
    assert!(lost.starts_with("id: c-1-1\n") && lost.contains(r#""id":1,"error""#), "{lost}");
    assert_eq!(event(&back).await, None);
    let back = streams.resume("c-2-0").unwrap();
    assert_eq!(event(&back).await.unwrap(), written("c-2-1", r#"{"id":2,"result":{}}"#));
}

#[tokio::test]
async fn a_client_that_never_comes_back_leaves_little_behind() {
    let streams = streams();
    let text = format!(r#"{{"method":"m","params":"{}"}}"#, "x".repeat(64 << 10));
    for id in 0..=255 {
        let told = opened(&streams, id);
        told.begin(true);
        drop(told);
        say_about(&streams, &text, id).await;
        say(&streams, &format!(r#"{{"id":{id},"result":{{}}}}"#)).await;
    }
    assert!(streams.is_idle(), "nothing is under way");
    let open = streams.lock();
    assert!(open.held.events <= KEPT.events && open.held.bytes <= KEPT.bytes);
    let counted: usize = open.streams.iter().map(|stream| stream.size().bytes).sum();
    assert_eq!(counted, open.held.bytes, "what is counted is what there is");
    assert!(open.streams.len() <= KEPT.events);
}

/// Returns the total amount of stored data, counted event by event.
fn held(streams: &Streams) -> StreamUsage {
    let open = streams.lock();
    let mut held = StreamUsage::default();
    for stream in &open.streams {
        held += stream.size();
    }
    assert_eq!(held, open.held, "what is counted is what there is");
    held
}

fn large(number: usize, bytes: usize) -> String {
    format!(r#"{{"method":"m{number}","params":"{}"}}"#, "x".repeat(bytes))
}

#[tokio::test(start_paused = true)]
async fn what_a_reader_does_not_read_is_within_the_bound_and_the_gap_is_told() {
    let streams = streams();
    let told = opened(&streams, 1);
    told.begin(true);
    for number in 1..=60 {
        say_about(&streams, &large(number, 1 << 20), 1).await;
        assert!(!held(&streams).is_beyond(KEPT));
    }
    say(&streams, r#"{"id":1,"result":{}}"#).await;
    assert_eq!(event(&told).await.unwrap(), "event: gap\ndata: {\"lost\":57}\n\n");
    for number in 58..=60 {
        let heard = event(&told).await.unwrap();
        assert!(heard.contains(&format!(r#""m{number}""#)), "{number}");
    }
    assert!(event(&told).await.unwrap().contains("result"), "an answer is not lost");
    assert_eq!(event(&told).await, None);
}

#[tokio::test(start_paused = true)]
async fn one_message_is_read_however_large_it_is() {
    let streams = streams();
    let (one, two) = (opened(&streams, 1), opened(&streams, 2));
    for told in [&one, &two] {
        told.begin(true);
    }
    for id in 1..=2 {
        say_about(&streams, &large(1, 2 * KEPT.bytes), id).await;
    }
    for (told, id) in [(&one, 1), (&two, 2)] {
        assert!(event(told).await.unwrap().len() > KEPT.bytes);
        say(&streams, &format!(r#"{{"id":{id},"result":{{}}}}"#)).await;
        assert!(event(told).await.unwrap().contains("result"));
    }
    assert!(!held(&streams).is_beyond(KEPT));
}

#[tokio::test(start_paused = true)]
async fn who_reads_misses_nothing_and_who_does_not_is_waited_for_once() {
    let streams = streams();
    let (idle, busy) = (opened(&streams, 1), opened(&streams, 2));
    for told in [&idle, &busy] {
        told.begin(true);
    }
    let began = Instant::now();
    for number in 1..=2 * KEPT.events {
        say_about(&streams, &large(number, 100), 1).await;
    }
    assert_eq!(began.elapsed(), PATIENCE, "not once more for each message");
    let said = async {
        for number in 1..=4 * KEPT.events {
            say_about(&streams, &large(number, 100), 2).await;
        }
    };
    let heard = async {
        for number in 1..=4 * KEPT.events {
            // The reader waits until there is much to read.
            if number % (KEPT.events / 2) == 1 {
                tokio::time::sleep(PATIENCE / 5).await;
            }
            let heard = event(&busy).await.unwrap();
            assert!(heard.contains(&format!(r#""m{number}""#)), "{number}: {heard}");
        }
    };
    tokio::join!(said, heard);
    assert!(event(&idle).await.unwrap().starts_with("event: gap\n"));
    assert!(!held(&streams).is_beyond(KEPT));
}

#[tokio::test]
async fn a_server_that_closes_its_stream_has_ours_closed_where_its_client_can_come_back() {
    let streams = streams();
    // The server pauses before our stream begins, and after one message.
    let told = opened(&streams, 1);
    say_about(&streams, LOG, 1).await;
    streams.flows(&request(1, "").1, StreamState::Paused);
    assert!(matches!(told.due_of(None).await, Due::Stream));
    told.begin(true);
    assert_eq!(event(&told).await.unwrap(), written("c-1-1", LOG));
    assert_eq!(event(&told).await, None);
    drop(told);
    let back = streams.resume("c-1-1").unwrap();
    say(&streams, r#"{"id":1,"result":{}}"#).await;
    assert!(event(&back).await.unwrap().contains("result"));
    // A client without an event id cannot resume.
    let told = opened(&streams, 2);
    told.begin(false);
    streams.flows(&request(2, "").1, StreamState::Paused);
    say(&streams, r#"{"id":2,"result":{}}"#).await;
    assert!(event(&told).await.unwrap().contains("result"));
}

#[tokio::test]
async fn an_answer_is_waited_for_by_whoever_reads_or_can_come_back() {
    let streams = streams();
    let is_waited_for = |id| streams.is_waited_for(&request(id, "").1);
    let (whole, unheard, heard, primed) =
        (opened(&streams, 1), opened(&streams, 2), opened(&streams, 3), opened(&streams, 4));
    for (told, is_primed) in [(&unheard, false), (&heard, false), (&primed, true)] {
        told.begin(is_primed);
    }
    say_about(&streams, LOG, 2).await;
    say_about(&streams, LOG, 3).await;
    assert!(event(&heard).await.is_some());
    assert!((1..=4).all(is_waited_for) && !is_waited_for(5));
    drop((whole, unheard, heard, primed));
    assert_eq!([1, 2, 3, 4].map(is_waited_for), [false, false, true, true]);
    say(&streams, r#"{"id":3,"result":{}}"#).await;
    assert!(!is_waited_for(3), "it was answered");
    // No stream can be resumed after the session ends, but a current reader still gets its response.
    let read = opened(&streams, 6);
    read.begin(true);
    streams.begin_end();
    assert_eq!([4, 6].map(is_waited_for), [false, true]);
    drop(read);
    assert!(!is_waited_for(6) && streams.lock().streams.is_empty());
    assert_eq!(streams.lock().held.events, 0);
}

#[tokio::test]
async fn what_is_given_up_is_forgotten_and_what_was_answered_is_read_to_its_end() {
    let streams = streams();
    let (one, two) = (opened(&streams, 1), opened(&streams, 2));
    one.begin(true);
    assert!(streams.close(&request(1, "").1) && !streams.close(&request(1, "").1));
    assert_eq!(event(&one).await, None);
    assert!(streams.resume("c-1-0").is_err());
    say(&streams, r#"{"id":2,"result":{}}"#).await;
    streams.end();
    assert!(matches!(two.due_of(None).await, Due::Whole(_)));
}

#[tokio::test(start_paused = true)]
async fn of_clients_that_share_what_comes_one_that_does_not_read_is_cut_off() {
    let streams = Arc::new(Streams::shared());
    let (request, id) = request(1, r#""_meta":{"progressToken":"t"}"#);
    let (idle, other) = (streams.open(&request, &id).unwrap(), opened(&streams, 2));
    let progress = |bytes| {
        let pad = "x".repeat(bytes);
        format!(
            r#"{{"method":"notifications/progress","params":{{"progressToken":"t","message":"{pad}"}}}}"#
        )
    };
    for _ in 1..=60 {
        say(&streams, &progress(1 << 20)).await;
        assert!(!held(&streams).is_beyond(KEPT));
    }
    assert!(idle.message().await.is_none());
    // Messages about that request do not reach another client.
    say(&streams, &progress(1)).await;
    say_about(&streams, LOG, 1).await;
    let answer = r#"{"id":2,"result":{}}"#;
    say(&streams, answer).await;
    assert_eq!(other.message().await.unwrap().text(), answer);
}

#[tokio::test]
async fn clients_that_share_what_comes_have_nothing_to_come_back_to() {
    let streams = Arc::new(Streams::shared());
    let told = opened(&streams, 1);
    assert!(told.begin(true).is_none());
    drop(told);
    assert!(streams.resume("-1-0").is_err());
    say(&streams, LOG).await;
    assert!(streams.lock().streams.is_empty());
}
