use std::thread;
use std::time::Duration;

use crate::scene::{Scene, acknowledged, append, judged, verified};

/// Returns the number of rounds in which writers are killed. `scripts/torture` sets 200.
pub(crate) fn rounds() -> u64 {
    std::env::var("ANSWERBACK_CRASH_ROUNDS").map_or(10, |rounds| rounds.parse().unwrap())
}

/// Kills the writer at a random moment, in many rounds on one store. Every acknowledged entry must
/// be in the log afterward with its acknowledged hash, and the log must continue.
#[test]
fn acknowledged_entries_survive_a_kill() {
    let scene = Scene::new();
    let (mut all, rounds) = (Vec::new(), rounds());
    for round in 1..=rounds {
        let mut child =
            scene.appender(1_000_000, [1, 16, 256][usize::try_from(round % 3).unwrap()]);
        let killer = child.id();
        // Vary the moment. The first rounds hit the opening of the store.
        let pause = Duration::from_millis(20 + (round * 7919 + 13) % 300);
        thread::sleep(pause);
        child.kill().unwrap();
        let heard = acknowledged(&mut child);
        child.wait().unwrap();
        let store = scene.open().unwrap_or_else(|error| panic!("round {round}, {killer}: {error}"));
        for (index, hash) in &heard {
            let kept = store.entry(*index).unwrap().map(|entry| entry.hash.to_string());
            assert_eq!(kept.as_ref(), Some(hash), "round {round}, entry {index}");
        }
        all.extend(heard);
        append(&store, 1);
        // Hash the whole log again only sometimes, because it grows with each round.
        if round.is_multiple_of(25) || round == rounds {
            let hashes = verified(&store);
            for (index, hash) in &all {
                let kept = hashes.get(usize::try_from(*index).unwrap());
                let kept = kept.map(ToString::to_string);
                assert_eq!(kept.as_ref(), Some(hash), "round {round}, entry {index}");
            }
        }
    }
    judged(&scene.path("store.db"));
    assert!(!all.is_empty(), "no round was long enough to acknowledge anything");
    println!("{rounds} rounds, {} acknowledged entries, all there", all.len());
}
