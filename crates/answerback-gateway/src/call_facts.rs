//! Holds the facts that every ledger entry about one call contains.

use answerback::UuidV4;
use answerback_ledger::{Draft, LeafId, LeafToken};
use serde_json::json;

/// Holds the ids, the caller, the upstream and the tool of one call.
#[derive(Clone, Debug)]
pub(crate) struct CallFacts {
    /// The id of the request, which links request and response.
    pub(crate) id: LeafId,
    /// The id of the call. It differs from `id` only if the result is requested later.
    pub(crate) correlation: LeafId,
    pub(crate) upstream: String,
    pub(crate) principal: String,
    /// The tool's name. Secrets in the name of an unknown tool are redacted.
    pub(crate) tool: String,
    /// True if the catalog has the tool.
    pub(crate) is_known_tool: bool,
}

impl CallFacts {
    pub(crate) fn id_of(correlation: &UuidV4) -> LeafId {
        // Every UUID of the library is a valid id of the ledger.
        LeafId::try_from(correlation).unwrap_or_else(|_| LeafId::from([0; 16]))
    }

    /// Returns the id of the request for the result of a task. Repeated requests have the same id. Different
    /// results of one task have different positions, and so different ids.
    pub(crate) fn task_result_id(call: &UuidV4, position: u32) -> LeafId {
        let digest = answerback::Digest::of(&json!(["result", call.as_str(), position]));
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest.as_bytes()[..16]);
        Self::id_of(&UuidV4::from_random(bytes))
    }

    /// Adds the facts about the call to an entry.
    pub(crate) fn add_to(&self, draft: Draft) -> Draft {
        let mut draft = draft.with_request_id(self.id).with_correlation_id(self.correlation);
        if let Ok(upstream) = LeafToken::new(&self.upstream) {
            draft = draft.with_upstream(&upstream);
        }
        if let Ok(principal) = LeafToken::new(&self.principal) {
            draft = draft.with_principal(&principal);
        }
        if self.is_known_tool {
            draft.with_tool(&self.tool)
        } else {
            draft.with_unknown_tool(&self.tool)
        }
    }
}

/// Sets the outcome of an entry. Every word that the gateway uses is a valid token.
pub(crate) fn with_outcome(draft: Draft, word: &str) -> Draft {
    match LeafToken::new(word) {
        Ok(word) => draft.with_outcome(&word),
        Err(_) => draft,
    }
}
