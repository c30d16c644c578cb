/// The options of an export: its range, and whether it includes OpenTelemetry attributes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct Export {
    pub(super) from: Option<u64>,
    pub(super) size: Option<u64>,
    pub(super) otel: bool,
}

impl Export {
    /// Creates options to export all stored entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves out the entries below this index. The export includes their subtree hashes, so that
    /// the root can be computed.
    pub const fn with_from(mut self, index: u64) -> Self {
        self.from = Some(index);
        self
    }

    /// Ends the export with the first checkpoint over at least this many entries.
    pub const fn with_size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    /// Adds the OpenTelemetry attributes of each entry. Verifiers ignore them.
    pub const fn with_otel(mut self, otel: bool) -> Self {
        self.otel = otel;
        self
    }
}

/// The range that was exported.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ExportSummary {
    /// The index of the first exported entry.
    pub from: u64,
    /// The size of the tree.
    pub size: u64,
}

/// The progress of an export.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ExportProgress {
    /// The number of entries written so far.
    pub done: u64,
    /// The total number of entries to write.
    pub total: u64,
}
