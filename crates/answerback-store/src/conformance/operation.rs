use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use answerback_ledger::anchor::AnchorError;
use answerback_ledger::{Anchor, Checkpoint, Draft, Hash, LeafId, LeafKind, Note, VerifierKey};

use super::Open;
use super::log::filled;
use crate::{EntryFilter, OnFailure, StoreError, StoreHealth, Ticket};

pub(super) fn a_failing_unit_is_rolled_back_alone(open: Open<'_>) {
    let store = open("failing", &|settings| settings).unwrap();
    // Block the writer, so that all units go into one batch.
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let hold = store.write(move |_| {
        let _ = released.lock().unwrap().recv();
        Ok(())
    });
    let units: Vec<_> = (0..6_u8)
        .map(|number| {
            store
                .write(move |transaction| {
                    let part = LeafId::from([number; 16]);
                    let appended = transaction.append(&Draft::request().with_request_id(part))?;
                    transaction.put_blob(&[number], None)?;
                    match number {
                        2 => Err(StoreError::unit("not this one")),
                        4 => panic!("a unit may even panic"),
                        _ => Ok(appended.index),
                    }
                })
                .unwrap()
        })
        .collect();
    release.send(()).unwrap();
    hold.unwrap().wait().unwrap();
    let results: Vec<_> = units.into_iter().map(Ticket::wait).collect();
    let indexes: Vec<Option<u64>> =
        results.iter().map(|result| result.as_ref().ok().map(|done| done.value)).collect();
    assert_eq!(indexes, [Some(1), Some(2), None, Some(3), None, Some(4)]);
    let blob = |number: u8| store.blob(&answerback::Digest::of_bytes(&[number])).unwrap().is_some();
    assert_eq!((0..6).map(blob).collect::<Vec<_>>(), [true, true, false, true, false, true]);
    assert_eq!(store.head().unwrap().size, 5);
    assert_eq!((store.stats().health, store.stats().units_failed), (StoreHealth::Good, 2));
}

pub(super) fn two_handles_share_one_chain(open: Open<'_>) {
    const EACH: u64 = 150;
    let stores = [(); 3].map(|()| open("shared", &|settings| settings).unwrap());
    thread::scope(|scope| {
        for store in &stores {
            scope.spawn(move || (0..EACH).for_each(|_| filled(store, 1)));
        }
    });
    let head = stores[0].head().unwrap();
    assert_eq!(head.size, 3 * EACH + 1);
    let key = stores[1].verifier_key().unwrap();
    for index in (0..head.size).step_by(61) {
        assert!(stores[2].receipt(index).unwrap().verify(&key).is_ok());
    }
    drop(stores);
    assert_eq!(open("shared", &|settings| settings).unwrap().head().unwrap(), head);
}

pub(super) fn a_full_queue_is_an_error(open: Open<'_>) {
    let small = |settings: crate::Settings| settings.with_queue(2, 1 << 20);
    let store = open("full", &|settings| small(settings).with_on_failure(OnFailure::Open)).unwrap();
    let (release, released) = mpsc::channel::<()>();
    let (entered, running) = mpsc::channel::<()>();
    let channels = Mutex::new((released, entered));
    let hold = store.write(move |_| {
        let channels = channels.lock().unwrap();
        let _ = channels.1.send(());
        let _ = channels.0.recv();
        Ok(())
    });
    running.recv().unwrap();
    let waiting =
        [store.append(Draft::request()).unwrap(), store.append(Draft::request()).unwrap()];
    let full = store.append(Draft::request()).unwrap_err();
    assert!(matches!(full, StoreError::Busy) && full.is_temporary());
    // With `on_failure` set to open, the reply is sent and the failure is counted. A unit's own
    // error is not excused.
    assert!(store.apply_failure_policy(full).is_ok());
    assert!(store.apply_failure_policy(StoreError::unit("no")).is_err());
    release.send(()).unwrap();
    hold.unwrap().wait().unwrap();
    for ticket in waiting {
        ticket.wait().unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.queue_full, stats.unrecorded, stats.withheld), (1, 1, 1));
    drop(store);
    let store = open("full", &small).unwrap();
    assert!(matches!(store.apply_failure_policy(StoreError::Busy), Err(StoreError::Busy)));
}

pub(super) fn a_key_is_changed_by_an_entry(open: Open<'_>) {
    let store = open("rotated", &|settings| settings).unwrap();
    filled(&store, 2);
    let old = store.verifier_key().unwrap();
    let other = open("rotated", &|settings| settings).unwrap();
    let rotated = store.rotate_key().unwrap().wait().unwrap();
    let new = store.verifier_key().unwrap();
    assert_ne!(old, new);
    assert_eq!(store.first_key().unwrap(), old);
    let leaf = store.entry(rotated.value.index).unwrap().unwrap().leaf;
    assert_eq!(leaf.text("vkey"), Some(new.to_string().as_str()));
    let first = store.checkpoints(rotated.value.index, 1).unwrap().remove(0);
    assert_eq!((first.is_signed_by(&old), first.is_signed_by(&new)), (Ok(true), Ok(true)));
    // Another handle that still has the old key switches to the new one.
    filled(&other, 1);
    let newest = store.checkpoint().unwrap();
    assert_eq!((newest.is_signed_by(&old), newest.is_signed_by(&new)), (Ok(false), Ok(true)));
    drop((store, other));
    let store = open("rotated", &|settings| settings).unwrap();
    filled(&store, 1);
    assert_eq!(store.entries(&EntryFilter::default(), None, 9).unwrap().entries.len(), 6);
}

/// Checks that concurrent rotations run one after the other, and that the file always contains the
/// key in force.
pub(super) fn keys_are_changed_one_after_the_other(open: Open<'_>) {
    const EACH: usize = 6;
    let store = open("rotating", &|settings| settings).unwrap();
    // Block the writer, so that both rotations are in one batch.
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let hold = store.write(move |_| {
        let _ = released.lock().unwrap().recv();
        Ok(())
    });
    let changes = [store.rotate_key().unwrap(), store.rotate_key().unwrap()];
    release.send(()).unwrap();
    hold.unwrap().wait().unwrap();
    let [first, second] = changes.map(Ticket::wait);
    first.unwrap();
    if let Err(refused) = second {
        assert!(matches!(refused, StoreError::Unit(_)), "{refused}");
    }
    let others = [(); 3].map(|()| open("rotating", &|settings| settings).unwrap());
    thread::scope(|scope| {
        for store in &others {
            scope.spawn(move || {
                for _ in 0..EACH {
                    store.rotate_key().unwrap().wait().unwrap();
                    filled(store, 1);
                }
            });
        }
    });
    // Each key signs the checkpoint that names the next one.
    let changes =
        store.entries(&EntryFilter::default().with_kind(LeafKind::Config), None, 99).unwrap();
    let mut key = store.first_key().unwrap();
    for entry in changes.entries.iter().filter(|entry| entry.leaf.text("subject") == Some("key")) {
        let next = VerifierKey::parse(entry.leaf.text("vkey").unwrap()).unwrap();
        let note = store.checkpoints(entry.index, 1).unwrap().remove(0);
        assert_eq!((note.is_signed_by(&key), note.is_signed_by(&next)), (Ok(true), Ok(true)));
        key = next;
    }
    assert_eq!(store.verifier_key().unwrap(), key);
    drop((store, others));
    filled(&open("rotating", &|settings| settings).unwrap(), 1);
}

/// An anchor that always returns the same checkpoint.
struct Remembers(Checkpoint);

impl Anchor for Remembers {
    fn newest(&self) -> Result<Option<Checkpoint>, AnchorError> {
        Ok(Some(self.0.clone()))
    }

    fn record(&mut self, _: &Note, _: i64) -> Result<(), AnchorError> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), AnchorError> {
        Ok(())
    }
}

pub(super) fn a_store_behind_its_anchor_does_not_sign(open: Open<'_>) {
    let store = open("anchored", &|settings| settings.with_origin("example.org/anchored")).unwrap();
    filled(&store, 5);
    let head = store.head().unwrap();
    drop(store);
    let open_with = |size: u64, root: Hash| {
        open("anchored", &|settings| {
            let checkpoint = Checkpoint::new("example.org/anchored", size, root).unwrap();
            settings.with_anchor(move || Box::new(Remembers(checkpoint.clone())))
        })
    };
    drop(open_with(head.size, head.root).unwrap());
    let behind = open_with(head.size + 1, head.root).unwrap_err();
    assert!(behind.to_string().contains("restored from an older copy"), "{behind}");
    let forked = open_with(head.size, Hash::of_nothing()).unwrap_err();
    assert!(forked.to_string().contains("history was rewritten"), "{forked}");
}

/// An anchor that fails while a flag is set.
struct Failing(Arc<AtomicBool>);

impl Anchor for Failing {
    fn newest(&self) -> Result<Option<Checkpoint>, AnchorError> {
        Ok(None)
    }

    fn record(&mut self, _: &Note, _: i64) -> Result<(), AnchorError> {
        self.close()
    }

    fn close(&mut self) -> Result<(), AnchorError> {
        if self.0.load(Ordering::Relaxed) {
            let source = std::io::Error::other("no room");
            return Err(AnchorError::File { path: "second/anchor".into(), source });
        }
        Ok(())
    }
}

/// Checks that the log continues without its anchor, and that a warning is reported until the
/// anchor is written again.
pub(super) fn a_failing_anchor_is_reported(open: Open<'_>) {
    let fails = Arc::new(AtomicBool::new(false));
    let store = open("unanchored", &|settings| {
        let fails = Arc::clone(&fails);
        settings.with_anchor(move || Box::new(Failing(Arc::clone(&fails))))
    })
    .unwrap();
    filled(&store, 1);
    let quiet = store.stats();
    assert_eq!(quiet.anchor_failures, 0);
    fails.store(true, Ordering::Relaxed);
    filled(&store, 1);
    filled(&store, 1);
    let stats = store.stats();
    // The anchor may have been tried once more in the meantime.
    assert!(stats.anchor_failures >= 2 && stats.health == StoreHealth::Good);
    let said = [
        quiet.warnings.clone(),
        vec!["the anchor second/anchor cannot be used: no room".to_owned()],
    ];
    assert_eq!(stats.warnings, said.concat());
    fails.store(false, Ordering::Relaxed);
    filled(&store, 1);
    assert_eq!(store.stats().warnings, quiet.warnings);
}
