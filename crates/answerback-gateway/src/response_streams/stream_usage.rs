use std::ops::{AddAssign, SubAssign};

/// A number of events and their bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct StreamUsage {
    pub(super) events: usize,
    pub(super) bytes: usize,
}

impl StreamUsage {
    /// The usage of one event of this size.
    pub(super) const fn of_event(bytes: usize) -> Self {
        Self { events: 1, bytes }
    }

    /// True if either value exceeds its limit.
    pub(super) const fn exceeds(self, limit: Self) -> bool {
        self.events > limit.events || self.bytes > limit.bytes
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
