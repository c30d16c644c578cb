//! Ends the process group of a server.

/// Selects the signal that ends a process group.
#[derive(Clone, Copy)]
pub(super) enum EndSignal {
    Terminate,
    Kill,
}

/// Identifies the process group of a server: its process and the processes that it started, unless they left the
/// group.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct ProcessGroup(i32);

impl ProcessGroup {
    /// Returns the group that this process leads.
    pub(super) fn led_by(process: u32) -> Option<Self> {
        // Ids up to 1 are rejected: `kill(-1)` signals every process of the system.
        i32::try_from(process).ok().filter(|process| *process > 1).map(Self)
    }

    /// Parses the id of a group.
    pub(super) fn read(text: &str) -> Option<Self> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_number).and_then(Self::led_by)
    }

    /// Sends the signal to every process of the group. The group may be gone already.
    #[cfg(unix)]
    pub(super) fn end(self, end: EndSignal) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = match end {
            EndSignal::Terminate => Signal::TERM,
            EndSignal::Kill => Signal::KILL,
        };
        if let Some(leader) = Pid::from_raw(self.0) {
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Returns true if the group still has processes.
    #[cfg(unix)]
    pub(super) fn is_running(self) -> bool {
        use rustix::process::{Pid, test_kill_process_group};
        Pid::from_raw(self.0).is_some_and(|leader| test_kill_process_group(leader).is_ok())
    }

    #[cfg(not(unix))]
    pub(super) fn end(self, _: EndSignal) {}

    #[cfg(not(unix))]
    pub(super) fn is_running(self) -> bool {
        false
    }
}

impl std::fmt::Display for ProcessGroup {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_means_everybody() {
        for text in ["", "0", "1", "-1", "+2", "2 ", "4294967295", "x"] {
            assert_eq!(ProcessGroup::read(text), None, "{text}");
        }
        assert_eq!(ProcessGroup::read("4711").unwrap().to_string(), "4711");
    }
}
