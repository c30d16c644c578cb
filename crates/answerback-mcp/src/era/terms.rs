//! Names the parts of the protocol that differ between the eras.

pub(super) use crate::wire::{LEGACY_REVISIONS as LEGACY, MODERN_REVISION as MODERN, meta};

/// The newest revision that has `initialize`.
pub(super) const NEWEST_LEGACY: &str = LEGACY[LEGACY.len() - 1];

/// Names methods of requests.
pub(super) mod method {
    pub(in super::super) const INITIALIZE: &str = "initialize";
    pub(in super::super) const DISCOVER: &str = "server/discover";
    pub(in super::super) const LISTEN: &str = "subscriptions/listen";
    pub(in super::super) const PING: &str = "ping";
    pub(in super::super) const SET_LEVEL: &str = "logging/setLevel";
    pub(in super::super) const SUBSCRIBE: &str = "resources/subscribe";
    pub(in super::super) const UNSUBSCRIBE: &str = "resources/unsubscribe";
    pub(in super::super) const CALL: &str = "tools/call";
    pub(in super::super) const ELICIT: &str = "elicitation/create";
    pub(in super::super) const SAMPLE: &str = "sampling/createMessage";
    pub(in super::super) const ROOTS: &str = "roots/list";

    /// Returns true if the response may ask for input first. The protocol allows that only for these three
    /// methods.
    pub(in super::super) fn may_need_input(method: &str) -> bool {
        matches!(method, CALL | "prompts/get" | "resources/read")
    }

    /// Returns true if the response states how long it may be cached.
    pub(in super::super) fn is_cacheable(method: &str) -> bool {
        matches!(method, "resources/read" | "resources/templates/list")
            || matches!(method, "tools/list" | "prompts/list" | "resources/list")
    }
}

/// Names methods of notifications.
pub(super) mod notice {
    pub(in super::super) const INITIALIZED: &str = "notifications/initialized";
    pub(in super::super) const CANCELLED: &str = "notifications/cancelled";
    pub(in super::super) const PROGRESS: &str = "notifications/progress";
    pub(in super::super) const LOG: &str = "notifications/message";
    pub(in super::super) const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
    pub(in super::super) const ELICITED: &str = "notifications/elicitation/complete";
    pub(in super::super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    pub(in super::super) const UPDATED: &str = "notifications/resources/updated";

    /// Lists the notifications of changed lists: the method, the capability that contains `listChanged`, and the
    /// member of a subscription filter.
    pub(in super::super) const LISTS: [(&str, &str, &str); 3] = [
        ("notifications/tools/list_changed", "tools", "toolsListChanged"),
        ("notifications/prompts/list_changed", "prompts", "promptsListChanged"),
        ("notifications/resources/list_changed", "resources", "resourcesListChanged"),
    ];
}

/// Names error codes that only one era uses, or that the bridge returns.
pub(super) mod code {
    pub(in super::super) use crate::wire::code::METHOD_NOT_FOUND;
    /// The resource does not exist, in the legacy era.
    pub(in super::super) const RESOURCE_NOT_FOUND: &str = "-32002";
    /// Codes that only modern servers use: mismatched headers and a missing capability.
    pub(in super::super) const MODERN: [i64; 2] = [-32020, -32021];
    /// The server does not support the request's revision, and lists those that it supports.
    pub(in super::super) const UNSUPPORTED_VERSION: i64 = -32022;
}
