use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use answerback::case::{Case, CaseKind, Decision, DecisionError, DecisionSubmission};
use answerback::finding::ValidationError;
use answerback::retry::{
    Context, HideSecrets, RetryEvent, RetryKey, RetryPolicy, RetryState, Sent, TrackedCall, step,
};
use answerback::{Digest, Severity, Timestamp, UuidV7};
use answerback_ledger::Draft;
use serde_json::json;

use super::Open;
use crate::{
    CaseFilter, CaseStatus, EventGap, NewCase, Settings, StoreError, StoredEvent, StreamFilter,
    case_reference, entry_reference,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_millis(seconds * 1000)
}

/// Sets the clock to a value that the test controls, in seconds.
fn by_hand(clock: &Arc<AtomicI64>) -> impl Fn(Settings) -> Settings {
    let clock = Arc::clone(clock);
    move |settings| {
        let clock = Arc::clone(&clock);
        settings.with_clock(move || clock.load(Ordering::Relaxed) * 1_000_000)
    }
}

/// Returns the retry state after one more failing call.
fn stepped(state: Option<RetryState>, now: Timestamp) -> RetryState {
    let arguments = json!({"path": 1});
    let findings = [ValidationError::new("VAL-002", Severity::Error)];
    let call = TrackedCall::new("read_file", "call-1", Sent::Value(&arguments), &findings, [7; 10]);
    let policy = RetryPolicy::default();
    step(state, RetryEvent::Call(call), &Context::new(&policy, &HideSecrets, now)).state.unwrap()
}

pub(super) fn attempts_compare_and_swap(open: Open<'_>) {
    let clock = Arc::new(AtomicI64::new(1000));
    let store = open("attempts", &by_hand(&clock)).unwrap();
    let key = RetryKey::of_conversation("thread", "read_file");
    assert_eq!(store.retry_state(&key).unwrap(), None);
    let swap = |expected: Option<u64>, state: Option<RetryState>| {
        let key = key.clone();
        let unit = move |transaction: &mut dyn crate::Transaction| {
            transaction.replace_retry_state(&key, expected, state.as_ref())
        };
        store.write(unit).unwrap().wait().unwrap().value
    };
    let first = stepped(None, at(1000));
    assert!(swap(None, Some(first.clone())));
    // Another writer has already stored a state.
    assert!(!swap(None, Some(first.clone())));
    let stored = store.retry_state(&key).unwrap().unwrap();
    assert_eq!(stored.state, first);
    let second = stepped(Some(first), at(1000));
    assert!(!swap(Some(stored.revision + 1), Some(second.clone())));
    assert!(swap(Some(stored.revision), Some(second.clone())));
    let again = store.retry_state(&key).unwrap().unwrap();
    assert!(again.state == second && again.revision > stored.revision);
    // An expired state is not returned, and does not block a new one.
    clock.store(1000 + 10 * 24 * 3600, Ordering::Relaxed);
    assert_eq!(store.retry_state(&key).unwrap(), None);
    assert!(swap(None, Some(stepped(None, at(1000 + 10 * 24 * 3600)))));
    let stored = store.retry_state(&key).unwrap().unwrap();
    assert!(swap(Some(stored.revision), None));
    assert_eq!(store.retry_state(&key).unwrap(), None);
}

/// Checks the sweep that the writer runs every minute. It removes expired states, then those that
/// expire soonest until the cap is met. The cap never removes a state that is blocked until a
/// person decides.
pub(super) fn attempts_are_swept(open: Open<'_>) {
    let store = open("swept", &by_hand(&Arc::new(AtomicI64::new(1000)))).unwrap();
    let key = |name: &str| RetryKey::of_conversation("thread", name);
    let put = |name: &str, state: RetryState| {
        let key = key(name);
        let unit = move |transaction: &mut dyn crate::Transaction| {
            transaction.replace_retry_state(&key, None, Some(&state))
        };
        assert!(store.write(unit).unwrap().wait().unwrap().value);
    };
    let blocked = |now| {
        let mut state = stepped(None, now);
        while !state.is_blocked() {
            state = stepped(Some(state), now);
        }
        state
    };
    // A state that was made later expires later.
    let names = ["first", "second", "third", "fourth"];
    for (name, seconds) in names.iter().zip(1000..) {
        put(name, stepped(None, at(seconds)));
    }
    put("blocked", blocked(at(999)));
    let left = || {
        let stored = |name: &&&str| store.retry_state(&key(name)).unwrap().is_some();
        names.iter().chain(&["blocked"]).filter(stored).copied().collect::<Vec<_>>()
    };
    let sweep = |now, most| {
        let mut engine = store.opener().writer().unwrap();
        crate::writer::sweep(engine.as_mut(), now, most).unwrap()
    };
    assert_eq!(sweep(at(1000), 5), 0);
    assert_eq!(left().len(), 5);
    assert_eq!(sweep(at(1000), 3), 2);
    assert_eq!(left(), ["third", "fourth", "blocked"]);
    // If blocked states alone exceed the cap, all others are removed and the blocked ones stay.
    assert_eq!(sweep(at(1000), 0), 2);
    assert_eq!(left(), ["blocked"]);
    let expires = store.retry_state(&key("blocked")).unwrap().unwrap().state.expires();
    assert_eq!(sweep(expires, 5), 1);
    assert_eq!(left(), [""; 0]);
}

pub(super) fn notes_expire(open: Open<'_>) {
    let clock = Arc::new(AtomicI64::new(1000));
    let store = open("notes", &by_hand(&clock)).unwrap();
    let part = store.part("document", *b"result").unwrap();
    let entry = store.append(Draft::request().with_part(part)).unwrap().wait().unwrap().value;
    let keep = |name: &'static str, text: &'static str, seconds, reference: Option<String>| {
        let unit = move |transaction: &mut dyn crate::Transaction| {
            transaction.store_note(name, text, at(seconds), reference.as_deref())?;
            transaction.note(name)
        };
        store.write(unit).unwrap().wait().unwrap().value
    };
    let reference = Some(entry_reference(entry.index));
    assert_eq!(store.note("a").unwrap(), None);
    assert_eq!(keep("a", "first", 2000, reference.clone()).as_deref(), Some("first"));
    // A note that replaces another one does not inherit its references.
    assert_eq!(keep("a", "second", 2000, None).as_deref(), Some("second"));
    keep("b", "result", 3000, reference);
    assert_eq!(store.note("b").unwrap().as_deref(), Some("result"));
    let document = answerback_ledger::LeafToken::new("document").unwrap();
    let basis = answerback_ledger::leaf::Basis::Request;
    store.erase(entry.index, document, basis).unwrap().wait().unwrap();
    assert_eq!(store.note("b").unwrap(), None);
    assert_eq!(store.note("a").unwrap().as_deref(), Some("second"));
    clock.store(2000, Ordering::Relaxed);
    assert_eq!(store.note("a").unwrap(), None);
    let mut engine = store.opener().writer().unwrap();
    assert_eq!(crate::writer::sweep(engine.as_mut(), at(2000), 5).unwrap(), 1);
}

pub(super) fn the_first_decision_wins(open: Open<'_>) {
    let clock = Arc::new(AtomicI64::new(1000));
    let store = open("cases", &by_hand(&clock)).unwrap();
    let case = |number: u8, kind| {
        let id = UuidV7::from_time(at(1000 + i64::from(number)), [number; 10]);
        Case::new(id, kind, Digest::of_bytes(b"shown"), at(2000))
    };
    let put = |case: Case| {
        let new = NewCase::new(case, *b"shown").with_private(*b"sealed");
        store.write(move |transaction| transaction.put_case(&new)).unwrap().wait().unwrap().value
    };
    let first = put(case(1, CaseKind::Escalation));
    put(case(2, CaseKind::Question));
    put(case(3, CaseKind::Escalation));
    assert_eq!(put(first.case.clone()), first);
    let decide = |submission: DecisionSubmission| {
        let id = first.case.id.clone();
        let unit = move |transaction: &mut dyn crate::Transaction| {
            transaction.decide_case(&id, &submission)
        };
        store.write(unit).unwrap().wait().map(|done| done.value)
    };
    let approve = DecisionSubmission::about(&first.case, Decision::Approve).with_by("one");
    let decided = decide(approve.clone()).unwrap();
    // The decision returns the private data once more.
    assert_eq!(decided.private.as_deref(), Some(b"sealed".as_slice()));
    let stored = store.case(&first.case.id).unwrap().unwrap();
    assert_eq!((stored.case.decision(), &stored.private), (Some(&Decision::Approve), &None));
    let id = stored.case.id.clone();
    let keep = |bytes: Option<&'static [u8]>| {
        let id = id.clone();
        let unit =
            move |transaction: &mut dyn crate::Transaction| transaction.store_private(&id, bytes);
        store.write(unit).unwrap().wait().unwrap();
        store.case(&stored.case.id).unwrap().unwrap().private
    };
    assert_eq!(keep(Some(b"answer")).as_deref(), Some(b"answer".as_slice()));
    assert_eq!(keep(None), None);
    assert_eq!(decide(approve).unwrap().case, decided.case);
    let late = decide(
        DecisionSubmission::about(&first.case, Decision::Reject { reason: None }).with_by("two"),
    );
    assert!(
        matches!(late, Err(StoreError::Decision(DecisionError::AlreadyDecided(_)))),
        "{late:?}"
    );
    let count = |filter: CaseFilter| store.cases(&filter, None, 9).unwrap().cases.len();
    let waiting = CaseFilter::default().with_status(CaseStatus::Waiting);
    assert_eq!((count(CaseFilter::default()), count(waiting.clone())), (3, 2));
    assert_eq!(count(waiting.clone().with_kind(CaseKind::Question)), 1);
    let page = store.cases(&CaseFilter::default(), None, 2).unwrap();
    let rest = store.cases(&CaseFilter::default(), page.next.as_ref(), 2).unwrap();
    assert_eq!((page.cases.len(), rest.cases.len(), rest.next), (2, 1, None));
    clock.store(2000, Ordering::Relaxed);
    assert_eq!(count(waiting), 0);
    assert_eq!(count(CaseFilter::default().with_status(CaseStatus::Expired)), 2);
    let missing = UuidV7::from_time(at(1), [9; 10]);
    let submission = DecisionSubmission::about(&first.case, Decision::Approve);
    let unknown = store
        .write(move |transaction| transaction.decide_case(&missing, &submission))
        .unwrap()
        .wait();
    assert!(matches!(unknown, Err(StoreError::Missing(_))));
}

/// Checks that erasing an entry also erases the content of cases that comes from it, and nothing
/// else.
pub(super) fn erasing_an_entry_erases_its_cases(open: Open<'_>) {
    let store = open("result", &|settings| settings).unwrap();
    let part = store.part("seen", *b"words").unwrap();
    let entry = |tool: &str| Draft::request().with_tool(tool).with_part(part.clone());
    let drafts = [entry("first"), entry("last"), entry("decision")];
    let result = store.write(move |transaction| {
        let mut indexes = Vec::new();
        for draft in &drafts {
            indexes.push(transaction.append(draft)?.index);
        }
        let references: Vec<String> = indexes.iter().map(|index| entry_reference(*index)).collect();
        let mut cases = Vec::new();
        for (number, decision) in [
            Decision::Respond { message: "the answer".into() },
            Decision::Defer { until: transaction.now().plus_days(2) },
        ]
        .into_iter()
        .enumerate()
        {
            let id = UuidV7::from_time(transaction.now(), [u8::try_from(number).unwrap(); 10]);
            let expires = transaction.now().plus_days(1);
            let case =
                Case::new(id.clone(), CaseKind::Escalation, Digest::of_bytes(b"shown"), expires);
            let new = NewCase::new(case.clone(), *b"shown").with_private(*b"sealed");
            let new = new.with_reference(&references[1]).with_source(&references[0]);
            transaction.put_case(&new)?;
            let submission = DecisionSubmission::about(&case, decision).with_by("somebody");
            transaction.decide_case(&id, &submission)?;
            transaction.add_words_source(&id, &references[2])?;
            transaction.append_event("notes", "note", Some(&case_reference(&id)), b"note")?;
            cases.push(id);
        }
        // A retry state without such a reference stays.
        let key = RetryKey::of_conversation("thread", "other");
        transaction.replace_retry_state(&key, None, Some(&stepped(None, transaction.now())))?;
        transaction.add_attempt_source(&key, &references[0])?;
        transaction
            .add_attempt_source(&RetryKey::of_conversation("thread", "none"), &references[0])?;
        Ok((indexes, cases, transaction.attempt_sources(&key)?))
    });
    let (indexes, cases, sources) = result.unwrap().wait().unwrap().value;
    assert_eq!(sources, [entry_reference(indexes[0])]);
    let erase = |index: u64| {
        let part = answerback_ledger::LeafToken::new("seen").unwrap();
        store.erase(index, part, answerback_ledger::leaf::Basis::Request).unwrap().wait().unwrap();
    };
    let notes = || -> Vec<bool> {
        let events = store.events(0, Some("notes"), 9).unwrap().events;
        events.iter().map(|event| event.body.is_some()).collect()
    };
    let case = |number: usize| store.case(&cases[number]).unwrap().unwrap();
    let said = |number: usize| serde_json::to_string(&case(number).case).unwrap();
    assert!(said(0).contains("the answer") && said(1).contains("somebody"));
    assert_eq!(notes(), [true, true]);
    // The person's words are erased. The shown content stays, and an open case can still be
    // decided.
    erase(indexes[2]);
    for number in [0, 1] {
        assert!(!said(number).contains("the answer") && !said(number).contains("somebody"));
        assert_eq!(case(number).content, b"shown");
    }
    assert_eq!(case(1).private.as_deref(), Some(b"sealed".as_slice()));
    assert_eq!((case(0).private, notes()), (None, vec![false, false]));
    let key = RetryKey::of_conversation("thread", "other");
    assert!(store.retry_state(&key).unwrap().is_some());
    // The shown content also comes from the first of several attempts.
    erase(indexes[0]);
    for number in [0, 1] {
        assert_eq!((case(number).content, case(number).private), (Vec::new(), None));
    }
    assert_eq!(store.retry_state(&key).unwrap(), None);
    let decided = case(0).case.decision().unwrap().clone();
    assert_eq!(decided, Decision::Respond { message: String::new() });
}

pub(super) fn events_count_without_holes(open: Open<'_>) {
    let store = open("events", &|settings| settings).unwrap();
    let publish = |stream: &'static str, body: String| {
        let unit = move |transaction: &mut dyn crate::Transaction| {
            transaction.append_event(stream, "row", None, body.as_bytes())
        };
        store.write(unit).unwrap()
    };
    let tickets: Vec<_> = (0..40)
        .map(|number| publish(if number % 4 == 0 { "one" } else { "two" }, number.to_string()))
        .collect();
    // A unit that fails does not leave a gap.
    let failing = store.write(|transaction| {
        transaction.append_event("one", "row", None, b"never")?;
        Err::<(), _>(StoreError::unit("no"))
    });
    assert!(failing.unwrap().wait().is_err());
    let mut numbers: Vec<u64> =
        tickets.into_iter().map(|ticket| ticket.wait().unwrap().value).collect();
    numbers.push(publish("one", "last".to_owned()).wait().unwrap().value);
    assert_eq!(numbers, (1..=41).collect::<Vec<u64>>());
    let page = store.events(0, Some("one"), 5).unwrap();
    assert_eq!((page.gap, page.events.len(), page.after), (None, 5, page.events[4].seq));
    let rest = store.events(page.after, Some("one"), 50).unwrap();
    assert_eq!((rest.events.len(), rest.after), (6, 41));
    let end = store
        .write(|transaction| transaction.end_stream("one", Some("who")))
        .unwrap()
        .wait()
        .unwrap()
        .value;
    let last = store.events(41, None, 9).unwrap().events.remove(0);
    assert_eq!((Some(last.seq), last.kind.as_str()), (end, StoredEvent::END));
    assert_eq!(last.body.unwrap().len(), 64);
    let again = store
        .write(|transaction| transaction.end_stream("one", Some("who")))
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(again.value, None);
    assert!(matches!(publish("one", String::new()).wait(), Err(StoreError::Unit(_))));
    let names = |streams: Vec<crate::StreamInfo>| -> Vec<(String, u64, bool)> {
        streams.into_iter().map(|stream| (stream.name, stream.events, stream.is_ended)).collect()
    };
    let listed = names(store.streams(StreamFilter::default(), 9).unwrap());
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert_eq!(names(store.streams(StreamFilter::default(), 1).unwrap()), listed[..1]);
    let hidden = &listed[0].0;
    assert_eq!(
        names(store.streams(StreamFilter::default().without(hidden), 9).unwrap()),
        listed[1..]
    );
    let newest = store.streams(StreamFilter::default(), 1).unwrap()[0].newest;
    let older = StreamFilter::default().before(Some(newest));
    assert_eq!(names(store.streams(older, 9).unwrap()), listed[1..]);
    assert_eq!(store.stream("one").unwrap().unwrap().events, 11);
    assert_eq!(store.stream("none").unwrap(), None);
    assert_eq!(store.stream_names("o", None, 9).unwrap(), ["one"]);
    assert_eq!(store.stream_names("", None, 9).unwrap(), ["two", "one"]);
    assert_eq!(store.stream_names("", Some("two"), 9).unwrap(), ["one"]);
    let newest = store.newest_events("one", 2).unwrap();
    let newest: Vec<_> =
        newest.iter().map(|event| (event.seq, event.reference.as_deref())).collect();
    assert_eq!(newest, [(42, Some("who")), (41, None)]);
    let within = store.write(|transaction| {
        transaction.append_event("two", "row", None, b"newer")?;
        let newest = transaction.newest_events("two", 2)?;
        Ok(newest.iter().map(|event| event.seq).collect::<Vec<_>>())
    });
    assert_eq!(within.unwrap().wait().unwrap().value, [43, 40]);
    // Pruning leaves our own streams alone, because their events are a record.
    publish("answerback/own", String::new()).wait().unwrap();
    publish("two", String::new()).wait().unwrap();
    assert_eq!(store.prune_events(20).unwrap().wait().unwrap().value, 19);
    assert_eq!(store.prune_events(20).unwrap().wait().unwrap().value, 0);
    let page = store.events(5, None, 3).unwrap();
    assert_eq!((page.gap, page.events[0].seq), (Some(EventGap { from: 6, to: 19 }), 20));
    assert_eq!(store.events(19, None, 3).unwrap().gap, None);
    assert_eq!(store.prune_events(45).unwrap().wait().unwrap().value, 24);
    let page = store.events(5, None, 3).unwrap();
    assert_eq!((page.gap, page.events[0].seq), (Some(EventGap { from: 6, to: 44 }), 45));
    assert_eq!(store.events(0, Some("answerback/own"), 3).unwrap().events[0].seq, 44);
    let gone = store.stream("one").unwrap().unwrap();
    assert_eq!((store.event_minimum().unwrap(), gone.newest, gone.events), (45, 0, 11));
    let late = publish("one", String::new()).wait();
    assert!(matches!(late, Err(StoreError::Unit(_))), "what ended stays so");
    // Events are not entries.
    assert_eq!(store.head().unwrap().size, 1);
}

pub(super) fn blobs_are_stored_by_digest(open: Open<'_>) {
    let store = open("blobs", &|settings| settings.with_largest_blob(1000)).unwrap();
    let put = |bytes: Vec<u8>| {
        store.write(move |transaction| transaction.put_blob(&bytes, None)).unwrap().wait()
    };
    let digest = put(vec![7; 1000]).unwrap().value;
    assert_eq!(digest, Digest::of_bytes(&[7; 1000]));
    assert_eq!(put(vec![7; 1000]).unwrap().value, digest);
    assert_eq!(store.blob(&digest).unwrap(), Some(vec![7; 1000]));
    assert_eq!(store.blob(&Digest::of_bytes(b"")).unwrap(), None);
    assert!(matches!(put(vec![7; 1001]), Err(StoreError::TooLarge { .. })));
}
