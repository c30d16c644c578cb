//! Detects groups that are missing because their members are at the top level of the response.

use std::fmt::Write;

use serde_json::{Map, Value};

/// A group of the response, with the names of its members.
pub(super) struct MemberGroup {
    pub(super) name: &'static str,
    pub(super) members: &'static [&'static str],
}

pub(super) const GROUPS: [MemberGroup; 5] = [
    MemberGroup {
        name: "agent",
        members: &["agent_type", "agent_id", "agent_version", "prompt_hash"],
    },
    MemberGroup { name: "response", members: &["status", "content", "confidence"] },
    MemberGroup {
        name: "request_context",
        members: &["request_id", "request_type", "request_summary"],
    },
    MemberGroup {
        name: "governance",
        members: &[
            "within_scope",
            "boundaries_respected",
            "quality_standards_met",
            "constraints_followed",
            "explanation",
            "audit_trail",
        ],
    },
    MemberGroup {
        name: "next_actions",
        members: &["suggested_handoffs", "followup_questions", "additional_context_needed"],
    },
];

/// Returns the groups that are absent although some of their members are at the top level.
pub(super) fn flat_groups(members: &Map<String, Value>) -> Vec<&'static MemberGroup> {
    GROUPS
        .iter()
        .filter(|group| {
            !members.contains_key(group.name)
                && group.members.iter().any(|name| members.contains_key(*name))
        })
        .collect()
}

/// Describes where the members belong: `agent_type, agent_id into agent; status into response`.
pub(super) fn moves(groups: &[&MemberGroup], members: &Map<String, Value>) -> String {
    let mut text = String::new();
    for group in groups {
        let strays = group.members.iter().filter(|name| members.contains_key(**name));
        for (index, name) in strays.enumerate() {
            let separator = match (index, text.is_empty()) {
                (0, true) => "",
                (0, false) => "; ",
                _ => ", ",
            };
            // Writing to a String cannot fail.
            let _ = write!(text, "{separator}{name}");
        }
        let _ = write!(text, " into {}", group.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn says_where_members_belong() {
        let document = json!({"status": "success", "agent_id": "a", "agent_type": "domain", "governance": {}, "within_scope": true});
        let members = document.as_object().unwrap();
        let groups = flat_groups(members);
        assert_eq!(
            moves(&groups, members),
            "agent_type, agent_id into agent; status into response"
        );
    }
}
