//! Cancellations, which name a request.

use serde_json::{Value, json};

use super::terms::notice;
use crate::wire::{Id, Message, splice};

/// The notification that a request is not wanted any more.
pub(super) fn cancelled(request: &Id) -> Message {
    let id: Value = serde_json::from_str(request.as_json()).unwrap_or_default();
    Message::notification(notice::CANCELLED, &json!({"requestId": id}))
}

/// The request that a cancellation names.
pub(super) fn named(notice: &Message) -> Option<Id> {
    splice::id_at(notice.text(), &["params", "requestId"])
}

/// A cancellation of this request by the name under which the other side knows it. It is untouched where that is the
/// same.
pub(super) fn renamed(notice: &Message, request: &Id, known: &Id) -> Message {
    if request == known {
        return notice.clone();
    }
    let text = splice::with(notice.text(), &["params", "requestId"], known.as_json());
    text.map_or_else(|_| cancelled(known), |text| notice.clone().with_text(text))
}
