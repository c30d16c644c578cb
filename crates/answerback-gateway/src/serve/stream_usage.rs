use std::ops::{AddAssign, SubAssign};

/// A number of events, and how many bytes they have.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct StreamUsage {
    pub(super) events: usize,
    pub(super) bytes: usize,
}

impl StreamUsage {
    /// One event of so many bytes.
    pub(super) const fn one(bytes: usize) -> Self {
        Self { events: 1, bytes }
    }

    /// Whether it is more than this, one way or the other.
    pub(super) const fn is_beyond(self, bound: Self) -> bool {
        self.events > bound.events || self.bytes > bound.bytes
    }
}

impl AddAssign for StreamUsage {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.bytes += other.bytes;
    }
}

impl SubAssign for StreamUsage {
    fn sub_assign(&mut self, other: Self) {
        self.events -= other.events;
        self.bytes -= other.bytes;
    }
}
