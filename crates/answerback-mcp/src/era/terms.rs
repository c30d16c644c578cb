//! The names of the protocol that differ between the eras.

pub(super) use crate::wire::{LEGACY_REVISIONS as LEGACY, MODERN_REVISION as MODERN, meta};

/// The last revision with `initialize`.
pub(super) const NEWEST_LEGACY: &str = LEGACY[LEGACY.len() - 1];

/// What is asked.
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

    /// Whether the answer may be that something is needed first. It may for these three and no others.
    pub(in super::super) fn may_need_input(method: &str) -> bool {
        matches!(method, CALL | "prompts/get" | "resources/read")
    }

    /// Whether the answer says how long it may be kept.
    pub(in super::super) fn is_cacheable(method: &str) -> bool {
        matches!(method, "resources/read" | "resources/templates/list")
            || matches!(method, "tools/list" | "prompts/list" | "resources/list")
    }
}

/// What is told.
pub(super) mod notice {
    pub(in super::super) const INITIALIZED: &str = "notifications/initialized";
    pub(in super::super) const CANCELLED: &str = "notifications/cancelled";
    pub(in super::super) const PROGRESS: &str = "notifications/progress";
    pub(in super::super) const LOG: &str = "notifications/message";
    pub(in super::super) const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
    pub(in super::super) const ELICITED: &str = "notifications/elicitation/complete";
    pub(in super::super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    pub(in super::super) const UPDATED: &str = "notifications/resources/updated";

    /// Notices of a changed list: what they are called, the capability that has `listChanged`, the member of a filter.
    pub(in super::super) const LISTS: [(&str, &str, &str); 3] = [
        ("notifications/tools/list_changed", "tools", "toolsListChanged"),
        ("notifications/prompts/list_changed", "prompts", "promptsListChanged"),
        ("notifications/resources/list_changed", "resources", "resourcesListChanged"),
    ];
}

/// Errors that only one era has, or that we answer with here.
pub(super) mod code {
    pub(in super::super) use crate::wire::code::METHOD_NOT_FOUND;
    /// A resource is not there, as the legacy era says it.
    pub(in super::super) const RESOURCE_NOT_FOUND: &str = "-32002";
    /// Only a modern server says these: headers differ, a capability is missing.
    pub(in super::super) const MODERN: [i64; 2] = [-32020, -32021];
    /// The server does not speak the revision of a request, and says which it does.
    pub(in super::super) const UNSUPPORTED_VERSION: i64 = -32022;
}
