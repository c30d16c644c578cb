use answerback_ledger::{Hash, Id, Kind, Leaf, Part};

/// Which entries a list holds. Everything that is named must hold.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct Filter {
    pub(crate) agent: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) outcome: Option<String>,
    pub(crate) kind: Option<Kind>,
    pub(crate) since: Option<i64>,
    pub(crate) until: Option<i64>,
    pub(crate) request_id: Option<Id>,
    pub(crate) response_id: Option<Id>,
    pub(crate) text: Option<String>,
    pub(crate) newest_first: bool,
}

impl Filter {
    /// Entries of this agent.
    pub fn with_agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Entries about this tool.
    pub fn with_tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Entries with this outcome.
    pub fn with_outcome(mut self, outcome: impl Into<String>) -> Self {
        self.outcome = Some(outcome.into());
        self
    }

    /// Entries of this kind.
    pub const fn with_kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Entries from this time on, in microseconds since 1970.
    pub const fn since(mut self, micros: i64) -> Self {
        self.since = Some(micros);
        self
    }

    /// Entries before this time, in microseconds since 1970.
    pub const fn until(mut self, micros: i64) -> Self {
        self.until = Some(micros);
        self
    }

    /// The request with this id, and what answers it.
    pub const fn with_request_id(mut self, id: Id) -> Self {
        self.request_id = Some(id);
        self
    }

    /// The response with this id.
    pub const fn with_response_id(mut self, id: Id) -> Self {
        self.response_id = Some(id);
        self
    }

    /// The newest first, instead of the oldest.
    pub const fn newest_first(mut self) -> Self {
        self.newest_first = true;
        self
    }

    /// Entries whose parts hold all of these words. It needs the index for full text.
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }
}

impl Filter {
    /// Whether a leaf is as the filter says, text aside.
    pub(crate) fn admits(&self, leaf: &Leaf) -> bool {
        let text = |wanted: &Option<String>, name: &str| {
            wanted.as_deref().is_none_or(|wanted| leaf.text(name) == Some(wanted))
        };
        let id = |wanted: Option<Id>, name: &str| {
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

/// A part as it is kept. Its commitment is computed from the bytes, so it can be held against the leaf.
pub type KeptPart = Part;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Its index.
    pub index: u64,
    /// Its leaf.
    pub leaf: Leaf,
    /// The leaf's hash.
    pub hash: Hash,
    /// Its parts, as far as they were asked for and are still there.
    pub parts: Vec<KeptPart>,
}

/// A page of a list of entries.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EntryPage {
    /// The entries, in the order that was asked for, without their parts.
    pub entries: Vec<Entry>,
    /// Where the next page goes on, when there is one: also where this one has fewer entries than were asked for, because
    /// looking for more would have taken too long.
    pub next: Option<u64>,
}
