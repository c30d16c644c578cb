//! Builds and reads `notifications/cancelled`.

use serde_json::{Value, json};

use super::terms::notice;
use crate::wire::{Id, Message, splice};

/// Returns the notification that cancels this request.
pub(super) fn cancel(request: &Id) -> Message {
    let id: Value = serde_json::from_str(request.as_json()).unwrap_or_default();
    Message::notification(notice::CANCELLED, &json!({"requestId": id}))
}

/// Returns the id of the request that a notification cancels.
pub(super) fn cancelled_request(notice: &Message) -> Option<Id> {
    splice::id_at(notice.text(), &["params", "requestId"])
}

/// Returns a cancellation with the id that the other side uses for this request. If both sides use the same id,
/// the notification stays unchanged.
pub(super) fn with_request(notice: &Message, request: &Id, known: &Id) -> Message {
    if request == known {
        return notice.clone();
    }
    let text = splice::with(notice.text(), &["params", "requestId"], known.as_json());
    text.map_or_else(|_| cancel(known), |text| notice.clone().with_text(text))
}
