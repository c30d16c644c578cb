//! Checks the tables in PostgreSQL with the verifier, which reads them itself.

use answerback_store::{MoveTarget, Store, migrate, postgres_place};
use answerback_verify::Postgres;

use crate::scene::{Scene, append};
use crate::server::Server;
use crate::verified::written;

/// The tables that the verifier reads.
const TABLES: [&str; 6] = ["meta", "head", "entry", "part", "tile", "checkpoint"];

/// Changes by an attacker with rights on the database but without the key, and the lowest level
/// that detects each.
const TAMPERINGS: &[(&str, u8)] = &[
    ("UPDATE checkpoint SET note = replace(note, E'\\n— ', E'\\n—  ')", 11),
    ("UPDATE head SET note = replace(note, E'\\n— ', E'\\n—  ')", 11),
    ("UPDATE meta SET value = value || 'x' WHERE key = 'origin'", 11),
    (
        "UPDATE meta SET value = (SELECT value FROM meta WHERE key = 'vkey') WHERE key = 'signer'",
        12,
    ),
    (
        "UPDATE entry SET leaf = convert_to(replace(convert_from(leaf, 'UTF8'), 'weather', 'Weather'), 'UTF8')",
        12,
    ),
    ("UPDATE entry SET reply_id = NULL", 12),
    ("UPDATE entry SET tool = 'other' WHERE seq = 300", 12),
    ("UPDATE entry SET leaf_hash = '' WHERE seq = 300", 12),
    ("DELETE FROM entry WHERE seq = 400", 12),
    ("DELETE FROM entry WHERE seq = (SELECT max(seq) FROM entry)", 12),
    ("UPDATE tile SET root = decode(repeat('00', 32), 'hex') WHERE level = 0 AND n = 1", 12),
    ("UPDATE tile SET data = decode(repeat('00', 8192), 'hex') WHERE level = 0 AND n = 0", 12),
    ("DELETE FROM tile WHERE n = 1", 12),
    ("UPDATE head SET root = decode(repeat('00', 32), 'hex')", 12),
    ("UPDATE head SET frontier = ''", 12),
    ("UPDATE head SET note = ''", 12),
    ("UPDATE part SET bytes = '' WHERE name = 'as_seen'", 13),
    ("UPDATE part SET salt = decode(repeat('00', 32), 'hex') WHERE name = 'as_seen'", 13),
    ("DELETE FROM part WHERE name = 'lock'", 13),
];

#[test]
fn the_verifier_finds_every_tampering_with_tables() {
    let Some(server) = Server::new() else { return };
    let scene = Scene::new();
    written(&scene);
    let place = server.url("tables");
    let target = MoveTarget::postgres(&place, scene.settings()).unwrap();
    let store = migrate(&scene.open().unwrap(), target, &mut |_| ()).unwrap();
    append(&store, 300);
    // Use a separate commit, so that only the head stores its checkpoint. Many entries at once
    // could end at a full tile.
    append(&store, 1);
    let head = store.head().unwrap();
    drop(store);
    let judged = || server.judged("tables");
    let report = judged();
    assert_eq!(report.exit_code(), 0, "{report}");
    assert_eq!((report.size, report.root.clone()), (head.size, head.root.to_string()));
    assert_eq!((report.from, report.erased_parts), (256, 1), "{report}");
    assert!(report.levels.iter().all(|level| level.checked > 0), "{report}");
    let mut behind = server.behind("tables");
    for table in TABLES {
        let keep = format!("CREATE TABLE kept_{table} AS TABLE {table}");
        behind.batch_execute(&format!("ALTER TABLE {table} DISABLE TRIGGER ALL; {keep}")).unwrap();
    }
    for (sql, expected) in TAMPERINGS {
        assert!(behind.execute(*sql, &[]).unwrap() > 0, "{sql}");
        let report = judged();
        assert_eq!(report.exit_code(), *expected, "{sql}\n{report}");
        for table in TABLES {
            let restore = format!("TRUNCATE {table}; INSERT INTO {table} TABLE kept_{table}");
            behind.batch_execute(&restore).unwrap();
        }
    }
    assert_eq!(judged().exit_code(), 0);
    drop(Store::open_postgres(&place, scene.settings()).unwrap());
}

#[test]
fn a_database_without_a_ledger_is_reported() {
    let Some(server) = Server::new() else { return };
    let (url, schema) = postgres_place(&server.url("nothing")).unwrap();
    let none = Postgres::open(&url, &schema).err().unwrap().to_string();
    assert!(none.contains("is not a ledger: format cannot be read in meta"), "{none}");
}
