//! The processes that a server is.

/// How a process group is ended.
#[derive(Clone, Copy)]
pub(super) enum EndSignal {
    Ask,
    Force,
}

/// A server's process with all that it started, as far as they did not leave it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct ProcessGroup(i32);

impl ProcessGroup {
    /// The group that a process leads.
    pub(super) fn led_by(process: u32) -> Option<Self> {
        // To the system the first process is everybody.
        i32::try_from(process).ok().filter(|process| *process > 1).map(Self)
    }

    /// The group that is written as this.
    pub(super) fn read(text: &str) -> Option<Self> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_number).and_then(Self::led_by)
    }

    /// Tells everybody in it to end, or ends them. It may be gone already.
    #[cfg(unix)]
    pub(super) fn end(self, end: EndSignal) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = match end {
            EndSignal::Ask => Signal::TERM,
            EndSignal::Force => Signal::KILL,
        };
        if let Some(leader) = Pid::from_raw(self.0) {
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Whether anybody is in it.
    #[cfg(unix)]
    pub(super) fn is_there(self) -> bool {
        use rustix::process::{Pid, test_kill_process_group};
        Pid::from_raw(self.0).is_some_and(|leader| test_kill_process_group(leader).is_ok())
    }

    #[cfg(not(unix))]
    pub(super) fn end(self, _: EndSignal) {}

    #[cfg(not(unix))]
    pub(super) fn is_there(self) -> bool {
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
