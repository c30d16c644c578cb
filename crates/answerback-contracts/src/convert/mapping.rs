use crate::Contract;

/// The places at which each contract shows one member of the [`super::Reply`]. A member without a place is
/// stored in the extension slot.
#[derive(Debug)]
#[non_exhaustive]
pub struct Mapping {
    /// The member of the reply.
    pub member: &'static str,
    /// Its places in an ATDF enriched response.
    pub atdf: &'static [&'static str],
    /// Its places in a governed response.
    pub governed: &'static [&'static str],
    /// Its places in a UI envelope.
    pub ui: &'static [&'static str],
    /// Its places in a tool envelope.
    pub tool: &'static [&'static str],
}

impl Mapping {
    /// Returns the places in one contract.
    pub fn places(&self, contract: Contract) -> &'static [&'static str] {
        match contract {
            Contract::Atdf => self.atdf,
            Contract::Governed => self.governed,
            Contract::Ui => self.ui,
            Contract::Tool => self.tool,
            _ => &[],
        }
    }
}

/// The table of `docs/reference/conversions.md`. Each place is a JSON Pointer, and a test compares it with the written
/// documents.
pub static MAPPING: &[Mapping] = &[
    Mapping {
        member: "outcome",
        atdf: &["/status"],
        governed: &["/response/status"],
        ui: &["/metadata/error"],
        tool: &["/status"],
    },
    Mapping {
        member: "summary",
        atdf: &["/data/message"],
        governed: &["/response/content/data/summary"],
        ui: &["/summary"],
        tool: &["/summary"],
    },
    Mapping {
        member: "body",
        atdf: &["/data"],
        governed: &["/response/content/data"],
        ui: &["/artifacts/1/content"],
        tool: &["/data"],
    },
    Mapping {
        member: "findings",
        atdf: &["/data/code", "/data/details"],
        governed: &["/response/content/data/error_code", "/response/content/data/error_message"],
        ui: &["/metadata/findings"],
        tool: &["/errors", "/warnings"],
    },
    Mapping {
        member: "artifacts",
        atdf: &["/data/artifacts"],
        governed: &["/response/content/data/artifacts"],
        ui: &["/artifacts"],
        tool: &["/data/artifacts"],
    },
    Mapping {
        member: "missions",
        atdf: &["/data/missions"],
        governed: &["/response/content/data/missions"],
        ui: &["/missions_spawned"],
        tool: &["/data/missions"],
    },
    Mapping {
        member: "signals",
        atdf: &["/data/signals"],
        governed: &["/response/content/data/signals"],
        ui: &["/signals_emitted"],
        tool: &["/data/signals"],
    },
    Mapping {
        member: "next",
        atdf: &[],
        governed: &["/next_actions"],
        ui: &["/ui_hints/suggested_actions"],
        tool: &["/intent", "/actions"],
    },
    Mapping {
        member: "identity",
        atdf: &[],
        governed: &["/response_id", "/protocol_version", "/agent"],
        ui: &[],
        tool: &[],
    },
    Mapping {
        member: "attestation",
        atdf: &[],
        governed: &["/governance", "/response/confidence"],
        ui: &[],
        tool: &[],
    },
    Mapping { member: "request", atdf: &[], governed: &["/request_context"], ui: &[], tool: &[] },
    Mapping {
        member: "tool",
        atdf: &[],
        governed: &[],
        ui: &[],
        tool: &["/tool", "/version", "/audit"],
    },
    Mapping {
        member: "time",
        atdf: &["/meta/timestamp"],
        governed: &["/timestamp"],
        ui: &["/timestamp"],
        tool: &["/audit/timestamp"],
    },
];

#[cfg(test)]
mod tests {
    use answerback_findings::Severity;
    use answerback_json::time::Timestamp;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::convert::between::{members_to_store, write};
    use crate::convert::{
        Inputs, NextStep, NextStepKind, Reply, ReplyOutcome, ReplyProblem, ToolFacts,
    };

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    /// Returns a reply with a value in every member.
    fn full(outcome: ReplyOutcome) -> Reply {
        let mut reply =
            Reply::new(outcome, "A summary", Timestamp::from_unix_millis(1_767_362_220_000));
        reply.body = object(&json!({"marker": "body"}));
        reply.findings = vec![ReplyProblem::new(Severity::Warning, "ALIAS_CONFLICT", "A warning")];
        if outcome.is_failure() {
            reply.findings.insert(0, ReplyProblem::new(Severity::Error, "IO_ERROR", "An error"));
        }
        reply.artifacts = vec![
            json!({"artifact_type": "json_data", "title": "A", "content": {"a": 1}, "metadata": {}}),
        ];
        reply.missions =
            vec![json!({"mission_id": "m", "status": "proposed", "objective_type": "extract",
            "objective_description": "d"})];
        reply.signals =
            vec![json!({"signal_type": "s", "signal_layer": "mission", "signal_source": "x",
            "timestamp": "2026-01-02T13:57:00Z", "summary": null})];
        let mut intent = NextStep::new(NextStepKind::Intent, "next.tool");
        intent.target = Some("next.tool".to_owned());
        let mut action = NextStep::new(NextStepKind::Action, "Look");
        action.target = Some("look.tool".to_owned());
        reply.next = vec![intent, action, NextStep::new(NextStepKind::Question, "Which?")];
        reply.identity = Some(object(
            &json!({"response_id": "r", "protocol_version": "1.0.0", "agent": {"a": 1}}),
        ));
        reply.attestation = Some(object(&json!({"governance": {"g": true}, "confidence": "high"})));
        reply.request = Some(object(&json!({"request_type": "task"})));
        reply.tool = Some(ToolFacts::new("a.tool", "1.0.0"));
        reply
    }

    #[test]
    fn the_table_says_what_is_written() {
        for contract in [Contract::Atdf, Contract::Governed, Contract::Ui, Contract::Tool] {
            let written: Vec<_> = [ReplyOutcome::Ok, ReplyOutcome::Error]
                .into_iter()
                .map(|outcome| {
                    let reply = full(outcome);
                    let plain = write(&reply, contract, &Inputs::default()).unwrap();
                    let hidden = members_to_store(&reply, &plain.document, contract, &plain.lifted);
                    (plain.document, hidden)
                })
                .collect();
            for mapping in MAPPING {
                for place in mapping.places(contract) {
                    let shown = written.iter().any(|(document, _)| {
                        document.pointer(place).is_some_and(|value| !value.is_null())
                    });
                    assert!(shown, "{contract}: {} is not at {place}", mapping.member);
                }
                if mapping.places(contract).is_empty() {
                    let carried =
                        written.iter().all(|(_, hidden)| hidden.contains_key(mapping.member));
                    assert!(carried, "{contract}: {} is neither shown nor carried", mapping.member);
                }
            }
        }
    }

    #[test]
    fn the_table_has_every_member() {
        let reply = serde_json::to_value(full(ReplyOutcome::Ok)).unwrap();
        let members: Vec<&str> = reply.as_object().unwrap().keys().map(String::as_str).collect();
        let listed: Vec<&str> = MAPPING.iter().map(|mapping| mapping.member).collect();
        assert_eq!(listed, members);
    }
}
