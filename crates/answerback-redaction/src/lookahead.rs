//! Looks ahead in a text without searching the same bytes again and again.

/// The budget of steps for a search. It grows with the text, so the cost of any text is linear in its length.
pub(super) struct StepBudget {
    used: usize,
    limit: usize,
}

/// The number of steps for each byte of a text. Ordinary texts take fewer than four.
const FOR_EACH_BYTE: usize = 256;
/// The number of additional steps for every text.
const FOR_EACH_TEXT: usize = 1 << 14;

impl StepBudget {
    pub(super) fn for_text(bytes: usize) -> Self {
        let limit = bytes.saturating_mul(FOR_EACH_BYTE).saturating_add(FOR_EACH_TEXT);
        Self { used: 0, limit }
    }

    pub(super) fn take(&mut self, steps: usize) {
        self.used = self.used.saturating_add(steps);
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    pub(super) fn are_used_up(&self) -> bool {
        self.used > self.limit
    }
}

/// Caches the position of the next byte of a class. A question about any earlier place in the cached range needs no
/// search.
#[derive(Clone, Copy, Default)]
pub(super) struct NextByte {
    /// The start of the range up to `at` that has no byte of the class.
    from: usize,
    at: usize,
    is_known: bool,
}

impl NextByte {
    /// Returns the first place at or after `from` with a byte of the class, or the end of the text.
    pub(super) fn after(
        &mut self,
        bytes: &[u8],
        from: usize,
        steps: &mut StepBudget,
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
