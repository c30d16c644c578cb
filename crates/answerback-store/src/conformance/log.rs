use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use answerback_ledger::leaf::Basis;
use answerback_ledger::tree::Frontier;
use answerback_ledger::{Checkpoint, Draft, Hash, LeafId, LeafKind, LeafToken};

use super::Open;
use crate::{EntryFilter, Store, StoreError, entry_reference};

fn id(number: u8) -> LeafId {
    LeafId::from([number; 16])
}

pub(super) fn filled(store: &Store, count: u64) {
    let tickets: Vec<_> = (0..count)
        .map(|number| {
            let part = store.part("seen", number.to_string().into_bytes()).unwrap();
            store.append(Draft::request().with_tool("fill").with_part(part)).unwrap()
        })
        .collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
}

pub(super) fn the_first_entry_is_the_start(open: Open<'_>) {
    let store = open("start", &|settings| settings.with_origin("example.org/start")).unwrap();
    let head = store.head().unwrap();
    assert_eq!((head.size, head.minimum), (1, 0));
    let first = store.entry(0).unwrap().unwrap();
    assert_eq!((first.leaf.kind(), first.leaf.text("subject")), (LeafKind::Config, Some("start")));
    assert_eq!(first.leaf.text("vkey"), Some(store.verifier_key().unwrap().to_string().as_str()));
    assert_eq!(store.origin().unwrap(), "example.org/start");
    assert_eq!(store.first_key().unwrap(), head.signer);
    drop(store);
    let other = open("start", &|settings| settings.with_origin("example.org/other"));
    assert!(matches!(other, Err(StoreError::Unfit(_))), "{other:?}");
}

pub(super) fn an_appended_entry_is_durable_and_has_a_proof(open: Open<'_>) {
    let store = open("durable", &|settings| settings).unwrap();
    filled(&store, 600);
    let head = store.head().unwrap();
    assert_eq!(head.size, 601);
    let key = store.verifier_key().unwrap();
    let mut frontier = Frontier::default();
    for index in 0..head.size {
        let entry = store.entry(index).unwrap().unwrap();
        frontier.append(entry.hash);
        for (part, said) in entry.parts.iter().zip(entry.leaf.commitments()) {
            assert_eq!(part.commitment().to_string(), said.commit);
        }
        if index % 37 == 0 || index > 590 {
            let receipt = store.receipt(index).unwrap();
            assert_eq!(receipt.verify(&key).unwrap().size(), head.size, "{index}");
        }
    }
    assert_eq!((frontier.root(), &frontier), (head.root, &head.frontier));
    let newest = Checkpoint::read(&store.checkpoint().unwrap()).unwrap();
    assert_eq!((newest.size(), newest.root()), (head.size, head.root));
    assert!(store.consistency(1, head.size).unwrap().len() > 1);
    assert!(store.consistency(1, head.size + 1).is_err());
    assert!(store.receipt(head.size).is_err());
    assert_eq!(store.hashes(0, 0, 256).unwrap().len(), 256);
    drop(store);
    let store = open("durable", &|settings| settings).unwrap();
    assert_eq!(store.head().unwrap(), head);
}

pub(super) fn time_only_rises(open: Open<'_>) {
    let clock = Arc::new(AtomicI64::new(1_000_000_000));
    let read = Arc::clone(&clock);
    let store = open("time", &move |settings| {
        let read = Arc::clone(&read);
        settings.with_clock(move || read.load(Ordering::Relaxed))
    })
    .unwrap();
    filled(&store, 3);
    clock.store(999_999_000, Ordering::Relaxed);
    filled(&store, 2);
    assert_eq!(store.stats().clock_steps, 0);
    clock.store(900_000_000, Ordering::Relaxed);
    filled(&store, 2);
    filled(&store, 2);
    assert_eq!(store.stats().clock_steps, 1);
    let page = store.entries(&EntryFilter::default(), None, 100).unwrap();
    let times: Vec<i64> = page.entries.iter().map(|entry| entry.leaf.micros()).collect();
    assert!(times.is_sorted_by(|one, next| one < next), "{times:?}");
    let steps: Vec<_> =
        page.entries.iter().filter(|entry| entry.leaf.text("subject") == Some("clock")).collect();
    assert_eq!(steps.len(), 1);
    assert_eq!(steps[0].leaf.text("claimed_ts"), Some("1970-01-01T00:15:00.000000Z"));
}

pub(super) fn a_response_finds_its_request(open: Open<'_>) {
    let store = open("linked", &|settings| settings).unwrap();
    let append = |draft: Draft| store.append(draft).unwrap().wait().map(|done| done.value);
    let request = append(Draft::request().with_request_id(id(1))).unwrap();
    let answer = Draft::response().with_request_id(id(1)).with_response_id(id(2));
    let first = append(answer.clone()).unwrap();
    assert_eq!(
        store.entry(first.index).unwrap().unwrap().leaf.index("request_index"),
        Some(request.index)
    );
    // Appending the same response again returns the existing entry.
    let again = append(answer).unwrap();
    assert!(again.is_repeated && !first.is_repeated);
    assert_eq!(
        (again.index, again.leaf_hash, again.micros),
        (first.index, first.leaf_hash, first.micros)
    );
    let second = append(Draft::response().with_request_id(id(1)).with_response_id(id(3)));
    assert!(matches!(second, Err(StoreError::AlreadyAnswered { .. })), "{second:?}");
    // A rejected response does not count as the answer to its request.
    append(Draft::request().with_request_id(id(4))).unwrap();
    append(Draft::rejected().with_request_id(id(4)).with_response_id(id(5))).unwrap();
    append(Draft::response().with_request_id(id(4)).with_response_id(id(6))).unwrap();
    // A reply without a response id is identified by its reply id.
    let reply = Draft::response().with_reply_id(id(7));
    let kept = append(reply.clone()).unwrap();
    assert_eq!(append(reply).unwrap().index, kept.index);
    // The same holds within one unit.
    let both = store
        .write(|transaction| {
            let request = transaction.append(&Draft::request().with_request_id(id(8)))?;
            let response = Draft::response().with_request_id(id(8)).with_response_id(id(9));
            let response = (transaction.append(&response)?, transaction.append(&response)?);
            Ok((request, response))
        })
        .unwrap()
        .wait()
        .unwrap();
    let (request, (response, repeated)) = both.value;
    assert_eq!((response.index, repeated.index), (request.index + 1, request.index + 1));
    assert!(both.size > response.index);
    let leaf = store.entry(response.index).unwrap().unwrap().leaf;
    assert_eq!(leaf.index("request_index"), Some(request.index));
}

pub(super) fn entries_are_found(open: Open<'_>) {
    let clock = Arc::new(AtomicI64::new(1_000_000));
    let read = Arc::clone(&clock);
    let store = open("found", &move |settings| {
        let read = Arc::clone(&read);
        settings.with_clock(move || read.fetch_add(1_000_000, Ordering::Relaxed))
    })
    .unwrap();
    let token = |text: &str| LeafToken::new(text).unwrap();
    for number in 0..20_u8 {
        let part = store.part("seen", format!("word{number} common").into_bytes()).unwrap();
        let tool = if number % 2 == 0 { "even" } else { "odd" };
        let outcome = token(if number < 10 { "ok" } else { "error" });
        let draft = Draft::request()
            .with_request_id(id(number + 1))
            .with_tool(tool)
            .with_outcome(&outcome)
            .with_agent(&token(&format!("agent-{}", number % 4)), &token("domain"), &token("1.0.0"))
            .with_part(part);
        store.append(draft).unwrap().wait().unwrap();
    }
    let count = |filter: EntryFilter| store.entries(&filter, None, 100).unwrap().entries.len();
    assert_eq!(count(EntryFilter::default()), 21);
    assert_eq!(count(EntryFilter::default().with_tool("even")), 10);
    assert_eq!(count(EntryFilter::default().with_tool("even").with_outcome("error")), 5);
    assert_eq!(count(EntryFilter::default().with_agent("agent-3")), 5);
    assert_eq!(count(EntryFilter::default().with_kind(LeafKind::Config)), 1);
    assert_eq!(count(EntryFilter::default().with_request_id(id(7))), 1);
    assert_eq!(count(EntryFilter::default().with_response_id(id(7))), 0);
    let times: Vec<i64> = store
        .entries(&EntryFilter::default(), None, 100)
        .unwrap()
        .entries
        .iter()
        .map(|entry| entry.leaf.micros())
        .collect();
    assert_eq!(count(EntryFilter::default().since(times[5]).until(times[9])), 4);
    // Pages work in both directions.
    for filter in [
        EntryFilter::default().with_tool("odd"),
        EntryFilter::default().with_tool("odd").newest_first(),
    ] {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = store.entries(&filter, cursor, 3).unwrap();
            seen.extend(page.entries.iter().map(|entry| entry.index));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), 10);
        assert!(seen.is_sorted() || seen.iter().rev().is_sorted());
    }
    // Full-text search works after the index was built.
    assert_eq!(store.rebuild_text().unwrap(), 21);
    assert_eq!(count(EntryFilter::default().with_text("word7")), 1);
    assert_eq!(count(EntryFilter::default().with_text("common").with_tool("even")), 10);
    assert_eq!(count(EntryFilter::default().with_text("common word7").newest_first()), 1);
    assert_eq!(count(EntryFilter::default().with_text("\" OR body:*")), 0);
}

pub(super) fn entries_are_found_across_tiles(open: Open<'_>) {
    let store = open("spread", &|settings| settings).unwrap();
    let token = |text: &str| LeafToken::new(text).unwrap();
    let rare = [5, 255, 256, 700, 701, 1023, 1100];
    let tickets: Vec<_> = (1..1200_u64)
        .map(|index| {
            let tool = if rare.contains(&index) { "rare" } else { "common" };
            let agent = if index < 600 { "early" } else { "late" };
            let draft = Draft::request().with_tool(tool);
            store.append(draft.with_agent(&token(agent), &token("domain"), &token("1"))).unwrap()
        })
        .collect();
    for (ticket, index) in tickets.into_iter().zip(1..) {
        assert_eq!(ticket.wait().unwrap().value.index, index);
    }
    let found = |filter: &EntryFilter, most| {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = store.entries(filter, cursor, most).unwrap();
            seen.extend(page.entries.iter().map(|entry| entry.index));
            cursor = page.next;
            if cursor.is_none() {
                return seen;
            }
        }
    };
    let tool = EntryFilter::default().with_tool("rare");
    let backwards: Vec<u64> = rare.iter().rev().copied().collect();
    for most in [1, 2, 7, 100] {
        assert_eq!(found(&tool, most), rare);
        assert_eq!(found(&tool.clone().newest_first(), most), backwards);
        assert_eq!(found(&tool.clone().with_agent("late"), most), rare[3..]);
        assert_eq!(found(&tool.clone().with_agent("nobody"), most), [0_u64; 0]);
    }
    assert_eq!(
        found(&EntryFilter::default().with_agent("late"), 77),
        (600..1200).collect::<Vec<_>>()
    );
    store.prune(300, &mut |_| ()).unwrap();
    assert_eq!(found(&tool, 3), rare[2..]);
}

pub(super) fn an_erased_part_is_removed(open: Open<'_>) {
    let store = open("erased", &|settings| settings).unwrap();
    let secret = b"a secret that must go".to_vec();
    let parts =
        (store.part("seen", secret.clone()).unwrap(), store.part("sent", *b"stays").unwrap());
    let draft = Draft::request().with_part(parts.0).with_part(parts.1);
    let done = store
        .write(move |transaction| {
            let index = transaction.append(&draft)?.index;
            let reference = entry_reference(index);
            transaction.append_event("s", "seen", Some(&reference), &secret)?;
            let blob = transaction.put_blob(&secret, Some(&reference))?;
            Ok((index, blob))
        })
        .unwrap()
        .wait()
        .unwrap();
    let (index, blob) = done.value;
    store.rebuild_text().unwrap();
    let text = EntryFilter::default().with_text("secret");
    assert_eq!(store.entries(&text, None, 9).unwrap().entries.len(), 1);
    let before = store.receipt(index).unwrap();
    let part = LeafToken::new("seen").unwrap();
    let erased = store.erase(index, part.clone(), Basis::Secret).unwrap().wait().unwrap().value;
    let entry = store.entry(index).unwrap().unwrap();
    let names: Vec<&str> = entry.parts.iter().map(|part| part.name().as_str()).collect();
    assert_eq!((names, entry.leaf.commitments().len()), (vec!["sent"], 2));
    assert_eq!(store.blob(&blob).unwrap(), None);
    assert_eq!(store.events(0, None, 9).unwrap().events[0].body, None);
    assert_eq!(store.entries(&text, None, 9).unwrap().entries.len(), 0);
    let says = store.entry(erased.entry.index).unwrap().unwrap().leaf;
    assert_eq!((says.kind(), says.index("target_index")), (LeafKind::Erasure, Some(index)));
    let key = store.verifier_key().unwrap();
    assert!(before.verify(&key).is_ok() && store.receipt(index).unwrap().verify(&key).is_ok());
    let again = store.erase(index, part, Basis::Secret).unwrap().wait();
    assert!(matches!(again, Err(StoreError::Missing(_))), "{again:?}");
}

pub(super) fn pruning_keeps_proofs(open: Open<'_>) {
    let store = open("pruned", &|settings| settings).unwrap();
    filled(&store, 1000);
    let size = store.head().unwrap().size;
    let pruned = store.prune(600, &mut |_| ()).unwrap();
    assert_eq!((pruned.below, pruned.removed), (512, 512));
    assert_eq!(store.head().unwrap().minimum, 512);
    assert!(store.entry(511).unwrap().is_none() && store.entry(512).unwrap().is_some());
    let says = store.entry(pruned.entry.index).unwrap().unwrap().leaf;
    assert_eq!((says.kind(), says.index("below")), (LeafKind::Prune, Some(512)));
    let key = store.verifier_key().unwrap();
    for index in [512, 767, 999, size] {
        assert!(store.receipt(index).unwrap().verify(&key).is_ok(), "{index}");
    }
    assert!(store.receipt(3).is_err());
    // The tiles contain the hashes of pruned entries.
    assert!(!store.consistency(300, size).unwrap().is_empty());
    assert!(matches!(store.prune(600, &mut |_| ()), Err(StoreError::Missing(_))));
    assert_eq!(store.entries(&EntryFilter::default(), None, 1).unwrap().entries[0].index, 512);
    drop(store);
    let store = open("pruned", &|settings| settings).unwrap();
    filled(&store, 30);
    let frontier = store.head().unwrap().frontier;
    assert_ne!(frontier.root(), Hash::of_nothing());
}
