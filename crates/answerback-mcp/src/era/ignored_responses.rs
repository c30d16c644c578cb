use std::collections::VecDeque;

use crate::wire::Id;

/// The largest number of requests whose late responses are ignored.
const MAX_IGNORED: usize = 16;

/// Holds requests whose responses, if they still arrive, must be ignored.
#[derive(Debug, Default)]
pub(super) struct IgnoredResponses(VecDeque<Id>);

impl IgnoredResponses {
    /// Adds a request, if there is one. The oldest is removed when the list is full.
    pub(super) fn add(&mut self, id: Option<Id>) {
        self.0.extend(id);
        if self.0.len() > MAX_IGNORED {
            self.0.pop_front();
        }
    }

    /// Removes a request when its response arrives. Returns false if it is not in the list.
    pub(super) fn take(&mut self, id: &Id) -> bool {
        let place = self.0.iter().position(|ignored| ignored == id);
        place.and_then(|place| self.0.remove(place)).is_some()
    }
}
