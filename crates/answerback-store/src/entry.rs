use answerback_ledger::{Hash, Leaf, LeafId, LeafKind, Part};

/// Selects the entries of a list. An entry must match all given criteria.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct EntryFilter {
    pub(crate) agent: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) outcome: Option<String>,
    pub(crate) kind: Option<LeafKind>,
    pub(crate) since: Option<i64>,
    pub(crate) until: Option<i64>,
    pub(crate) request_id: Option<LeafId>,
    pub(crate) response_id: Option<LeafId>,
    pub(crate) text: Option<String>,
    pub(crate) newest_first: bool,
}

impl EntryFilter {
    /// Selects entries of this agent.
    pub fn with_agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Selects entries about this tool.
    pub fn with_tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Selects entries with this outcome.
    pub fn with_outcome(mut self, outcome: impl Into<String>) -> Self {
        self.outcome = Some(outcome.into());
        self
    }

    /// Selects entries of this kind.
    pub const fn with_kind(mut self, kind: LeafKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Selects entries at or after this time, in microseconds since 1970.
    pub const fn since(mut self, micros: i64) -> Self {
        self.since = Some(micros);
        self
    }

    /// Selects entries before this time, in microseconds since 1970.
    pub const fn until(mut self, micros: i64) -> Self {
        self.until = Some(micros);
        self
    }

    /// Selects the request with this id and the entries that answer it.
    pub const fn with_request_id(mut self, id: LeafId) -> Self {
        self.request_id = Some(id);
        self
    }

    /// Selects the response with this id.
    pub const fn with_response_id(mut self, id: LeafId) -> Self {
        self.response_id = Some(id);
        self
    }

    /// Sorts the newest entry first instead of the oldest.
    pub const fn newest_first(mut self) -> Self {
        self.newest_first = true;
        self
    }

    /// Selects entries whose parts contain all of these words. It requires the full-text index.
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }
}

impl EntryFilter {
    /// True if a leaf matches all criteria except the text.
    pub(crate) fn admits(&self, leaf: &Leaf) -> bool {
        let text = |wanted: &Option<String>, name: &str| {
            wanted.as_deref().is_none_or(|wanted| leaf.text(name) == Some(wanted))
        };
        let id = |wanted: Option<LeafId>, name: &str| {
            wanted.is_none_or(|wanted| leaf.id(name) == Some(wanted))
        };
        text(&self.agent, "agent_id")
            && text(&self.tool, "tool")
            && text(&self.outcome, "outcome")
            && self.kind.is_none_or(|kind| leaf.kind() == kind)
            && id(self.request_id, "request_id")
            && id(self.response_id, "response_id")
            && self.since.is_none_or(|since| leaf.micros() >= since)
            && self.until.is_none_or(|until| leaf.micros() < until)
    }
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LedgerEntry {
    /// The index of the entry.
    pub index: u64,
    /// The leaf of the entry.
    pub leaf: Leaf,
    /// The leaf's hash.
    pub hash: Hash,
    /// The parts that were requested and are still stored. The commitment of each part is computed
    /// from its bytes and can be compared with the leaf.
    pub parts: Vec<Part>,
}

/// A page of a list of entries.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EntryPage {
    /// The entries in the requested order, without their parts.
    pub entries: Vec<LedgerEntry>,
    /// The cursor of the next page, or `None` at the end of the list. A page may have fewer entries
    /// than requested and still have a cursor, because a search stops after a time limit.
    pub next: Option<u64>,
}
