/// The kind of an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum EntryKind {
    Config,
    Request,
    Response,
    Rejected,
    Validation,
    Escalation,
    Decision,
    Erasure,
    Prune,
}

impl EntryKind {
    pub(super) const ALL: [(&'static str, Self); 9] = [
        ("config", Self::Config),
        ("request", Self::Request),
        ("response", Self::Response),
        ("rejected", Self::Rejected),
        ("validation", Self::Validation),
        ("escalation", Self::Escalation),
        ("decision", Self::Decision),
        ("erasure", Self::Erasure),
        ("prune", Self::Prune),
    ];

    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| name.as_bytes() == text).map(|(_, kind)| *kind)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}
