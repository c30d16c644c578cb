use std::ops::{AddAssign, SubAssign};

/// Counts events and their bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct StreamUsage {
    pub(super) events: usize,
    pub(super) bytes: usize,
}

impl StreamUsage {
    /// Returns the usage of one event of this size.
    pub(super) const fn one(bytes: usize) -> Self {
        Self { events: 1, bytes }
    }

    /// Returns true if either value exceeds its limit.
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
