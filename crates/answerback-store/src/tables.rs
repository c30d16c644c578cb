//! Defines the tables that all engines share, for moving a store row by row.

/// The type of a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SqlColumn {
    Int,
    Bool,
    Text,
    Bytes,
}

/// A value in a row.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "a log is only moved from SQLite"))]
pub(crate) enum SqlCell {
    Null,
    Int(i64),
    Bool(bool),
    Text(String),
    Bytes(Vec<u8>),
}

/// A table with its columns in order.
#[derive(Debug)]
pub(crate) struct SqlTable {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, SqlColumn)],
}

impl SqlTable {
    /// Returns the column names as an SQL list.
    pub(crate) fn list(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

use SqlColumn::{Bool, Bytes, Int, Text};

/// Lists all tables except those that can be rebuilt. Each table comes after the tables that it
/// references.
pub(crate) const TABLES: &[SqlTable] = &[
    SqlTable { name: "meta", columns: &[("key", Text), ("value", Text)] },
    SqlTable {
        name: "head",
        columns: &[
            ("id", Int),
            ("size", Int),
            ("frontier", Bytes),
            ("root", Bytes),
            ("last_ts", Int),
            ("minimum", Int),
            ("event_seq", Int),
            ("note", Text),
        ],
    },
    SqlTable {
        name: "entry",
        columns: &[
            ("seq", Int),
            ("ts", Int),
            ("kind", Text),
            ("agent", Text),
            ("tool", Text),
            ("outcome", Text),
            ("request_id", Bytes),
            ("response_id", Bytes),
            ("reply_id", Bytes),
            ("leaf_hash", Bytes),
            ("leaf", Bytes),
        ],
    },
    SqlTable {
        name: "part",
        columns: &[("seq", Int), ("name", Text), ("salt", Bytes), ("bytes", Bytes)],
    },
    SqlTable {
        name: "tile",
        columns: &[("level", Int), ("n", Int), ("root", Bytes), ("data", Bytes)],
    },
    SqlTable { name: "checkpoint", columns: &[("size", Int), ("note", Text)] },
    SqlTable { name: "cosignature", columns: &[("size", Int), ("signer", Text), ("line", Text)] },
    SqlTable {
        name: "attempt",
        columns: &[
            ("key", Text),
            ("revision", Int),
            ("expires", Int),
            ("blocked", Bool),
            ("state", Text),
        ],
    },
    SqlTable { name: "attempt_source", columns: &[("ref", Text), ("key", Text)] },
    SqlTable {
        name: "case_record",
        columns: &[
            ("id", Text),
            ("kind", Text),
            ("decided", Bool),
            ("expires", Int),
            ("revision", Int),
            ("created", Int),
            ("body", Text),
            ("content", Bytes),
            ("private", Bytes),
            ("ref", Text),
        ],
    },
    SqlTable { name: "case_source", columns: &[("ref", Text), ("id", Text), ("said", Bool)] },
    SqlTable {
        name: "event",
        columns: &[
            ("seq", Int),
            ("ts", Int),
            ("stream", Text),
            ("kind", Text),
            ("ref", Text),
            ("body", Bytes),
        ],
    },
    SqlTable {
        name: "stream",
        columns: &[("name", Text), ("count", Int), ("digest", Bytes), ("ended", Bool)],
    },
    SqlTable { name: "blob", columns: &[("sha256", Bytes), ("ts", Int), ("bytes", Bytes)] },
    SqlTable { name: "blob_ref", columns: &[("ref", Text), ("sha256", Bytes)] },
];
