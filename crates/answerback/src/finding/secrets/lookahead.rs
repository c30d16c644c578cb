//! Looking ahead in a text without looking at the same bytes again and again.

/// The steps that a search may take: a budget that grows with the text, so that no text costs more than its length allows.
pub(super) struct Steps {
    taken: usize,
    limit: usize,
}

/// The budget for each byte of a text. Ordinary texts take less than four.
const FOR_EACH_BYTE: usize = 256;
/// The budget that every text has on top.
const FOR_EACH_TEXT: usize = 1 << 14;

impl Steps {
    pub(super) fn for_text(bytes: usize) -> Self {
        let limit = bytes.saturating_mul(FOR_EACH_BYTE).saturating_add(FOR_EACH_TEXT);
        Self { taken: 0, limit }
    }

    pub(super) fn take(&mut self, steps: usize) {
        self.taken = self.taken.saturating_add(steps);
    }

    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    pub(super) fn are_used_up(&self) -> bool {
        self.taken > self.limit
    }
}

/// The next byte of a class in a text, remembered: every question about a place before it is answered without a look.
#[derive(Clone, Copy, Default)]
pub(super) struct Next {
    /// From here to `at` there is none. An empty range says nothing.
    from: usize,
    at: usize,
    is_known: bool,
}

impl Next {
    /// The first place at or after `from` where the class begins, or the end of the text.
    pub(super) fn after(
        &mut self,
        bytes: &[u8],
        from: usize,
        steps: &mut Steps,
        is: impl Fn(u8) -> bool,
    ) -> usize {
        if self.is_known && self.from <= from && from <= self.at {
            return self.at;
        }
        let known =
            self.is_known.then_some((self.from, self.at)).filter(|(start, _)| from < *start);
        let stop = known.map_or(bytes.len(), |(start, _)| start);
        let found = bytes[from.min(stop)..stop].iter().position(|byte| is(*byte));
        let at = match (found, known) {
            (Some(skipped), _) => from + skipped,
            (None, Some((_, at))) => at,
            (None, None) => bytes.len(),
        };
        steps.take(at.min(stop).saturating_sub(from) + 1);
        *self = Self { from, at, is_known: true };
        at
    }
}
