use answerback_ledger::Draft;

use std::ops::Range;

use super::entries::search_entries;
use crate::{EntryFilter, Settings, Store};

/// Checks that a search with a small limit still finds every entry exactly once over several
/// pages.
#[test]
fn a_search_that_stops_early_returns_a_cursor() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new(folder.path().join("key"));
    let store = Store::open_sqlite(folder.path().join("store.db"), settings).unwrap();
    let tickets: Vec<_> = (1..1200_u64)
        .map(|index| {
            let tool = if index % 400 == 0 { "rare" } else { "common" };
            store.append(Draft::request().with_tool(tool)).unwrap()
        })
        .collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    let rare = EntryFilter::default().with_tool("rare");
    for (filter, wanted) in [(rare.clone(), [400, 800]), (rare.newest_first(), [800, 400])] {
        let (mut found, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let find = |within: Range<u64>, most: usize| {
                let all: Vec<u64> = if filter.newest_first {
                    within.rev().take(most).collect()
                } else {
                    within.take(most).collect()
                };
                Ok(all)
            };
            let page =
                store.read(|read| search_entries(read, &filter, cursor, 9, 300, find)).unwrap();
            found.extend(page.entries.iter().map(|entry| entry.index));
            pages += 1;
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((found, pages), (wanted.to_vec(), 3));
    }
}
