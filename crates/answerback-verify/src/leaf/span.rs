use crate::json::CanonicalReader;

/// The position of a value in its leaf. A leaf is shorter than 2^16 bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct LeafSpan {
    start: u16,
    end: u16,
}

impl LeafSpan {
    /// Returns the position of the string that the parser has just read.
    pub(super) fn before_reader(reader: &CanonicalReader<'_>, text: &[u8]) -> Self {
        // The length of a leaf is checked against `LONGEST` before any span is created.
        let place = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        let end = reader.at().saturating_sub(1);
        Self { start: place(end.saturating_sub(text.len())), end: place(end) }
    }

    pub(crate) fn text(self, leaf: &[u8]) -> &[u8] {
        leaf.get(usize::from(self.start)..usize::from(self.end)).unwrap_or_default()
    }
}
