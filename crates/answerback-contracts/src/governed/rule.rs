//! Defines the rules of the governed response, each with its code.

answerback_findings::rules! {
    NOT_AN_OBJECT = "GOV-001", Error,
        "The response is a JSON object",
        "Identity, content and attestation are members of it.",
        "Put the answer into response.content.data and add the required members.";
    MEMBER_MISSING = "GOV-002", Error,
        "All required members are present",
        "A response without its agent, its request or its attestation cannot be governed.",
        "Add the member at the place that the finding names. The builder writes all of them.";
    FLAT = "GOV-003", Error,
        "The groups are nested: agent, response, request_context, governance, next_actions",
        "Readers look for a member within its group; at the top level it is not found.",
        "Move each member into the group that the finding names.";
    GROUP_WRONG = "GOV-004", Error,
        "agent, response, response.content, request_context and governance are objects",
        "Their members are looked up by name.",
        "Write an object with the members of that group.";
    RESPONSE_ID_WRONG = "GOV-005", Error,
        "response_id is a version 4 UUID",
        "It identifies the record of the response, so it must be unique.",
        "Make a random UUID for each response.";
    TIMESTAMP_WRONG = "GOV-006", Error,
        "timestamp is an ISO 8601 date and time",
        "Responses are sorted by it.",
        "Write it in UTC with Z, such as 2026-02-11T00:45:15Z.";
    TIMESTAMP_NAIVE = "GOV-007", Warning,
        "timestamp has a time zone",
        "Without an offset it is read as UTC, which may be wrong by hours.",
        "Add Z for UTC, or the offset.";
    PROTOCOL_VERSION_WRONG = "GOV-008", Error,
        "protocol_version is a semantic version",
        "It identifies the version of the contract that the response follows.",
        "Write 1.0.0.";
    PROTOCOL_MAJOR_UNKNOWN = "GOV-009", Error,
        "protocol_version has major version 1",
        "The same members may have another meaning in another major version.",
        "Write the response according to version 1.0.0, or read it with a program that knows its version.";
    PROTOCOL_NEWER = "GOV-010", Warning,
        "protocol_version is not newer than 1.0.0",
        "A later edition may have rules that are not checked here.",
        "Nothing, if you know that edition; otherwise write 1.0.0.";
    AGENT_TYPE_WRONG = "GOV-011", Error,
        "agent.agent_type is domain, archetype or orchestrator",
        "It determines the part of the manifest that describes the agent.",
        "Write the type that the lock has for this agent.";
    AGENT_ID_WRONG = "GOV-012", Error,
        "agent.agent_id is a canonical id",
        "It is compared with the manifest letter by letter, so it is visible ASCII without spaces.",
        "Write the canonical_id of the manifest, such as domain-02-analysis.";
    AGENT_VERSION_WRONG = "GOV-013", Error,
        "agent.agent_version is a semantic version",
        "It is compared with the lock.",
        "Write major.minor.patch, such as 1.0.0.";
    PROMPT_HASH_WRONG = "GOV-014", Error,
        "agent.prompt_hash is a SHA-256 in lower-case hexadecimal",
        "It is compared with the lock as text; another spelling of the same hash would not match.",
        "Write the 64 digits as the lock has them.";
    AGENT_MISMATCH = "GOV-015", Error,
        "agent is the agent that was observed",
        "A response under another identity is attributed to the wrong agent.",
        "Take the identity from the lock rather than writing it by hand.";
    PROMPT_HASH_MISMATCH = "GOV-016", Error,
        "agent.prompt_hash is the hash that was observed",
        "The agent ran with another prompt than it claims, so its attestation cannot be trusted.",
        "Do not use the response. Find out which prompt was in force.";
    STATUS_WRONG = "GOV-017", Error,
        "response.status is success, partial, error or refused",
        "Callers branch on it.",
        "Write one of the four words.";
    CONFIDENCE_WRONG = "GOV-018", Error,
        "response.confidence is high, medium, low or not_applicable",
        "Callers use it to decide if a person has to review the answer.",
        "Write one of the four words; not_applicable if a confidence makes no sense.";
    CONTENT_TYPE_WRONG = "GOV-019", Error,
        "response.content.type is text, structured or mixed",
        "It determines how the data is parsed.",
        "Write one of the three words.";
    DATA_MISMATCH = "GOV-020", Error,
        "response.content.data matches its type",
        "Text is a string; structured and mixed content are objects.",
        "Change the type, or write the data accordingly: an object as such, not as JSON text in a string.";
    FORMAT_WRONG = "GOV-021", Error,
        "response.content.format is markdown, json or plain",
        "It determines how the data is displayed.",
        "Write one of the three words.";
    FORMAT_MISMATCH = "GOV-022", Error,
        "response.content.format fits the type",
        "Text is markdown or plain; structured and mixed content are json.",
        "Change the format to one that the type allows.";
    DATA_EMPTY = "GOV-023", Error,
        "A success has content",
        "A success without content is useless to the caller.",
        "Say what was done, or use another status.";
    NARRATIVE_MISSING = "GOV-024", Warning,
        "Mixed content has a narrative",
        "Without one it is structured content.",
        "Add narrative, a text, or write the type structured.";
    ERROR_FORM_WRONG = "GOV-025", Error,
        "The data of an error is an object with error_code and error_message",
        "Callers use the code to decide if they try again, and people read the message.",
        "Write error_code, error_message, error_details and recovery_suggestion.";
    ERROR_FORM_THIN = "GOV-026", Warning,
        "An error has error_details and recovery_suggestion",
        "Without them the caller does not know what to do next.",
        "Describe the technical cause, and what to do about it.";
    REFUSAL_FORM_WRONG = "GOV-027", Error,
        "The data of a refusal is an object with refusal_reason and explanation",
        "The caller needs the reason, and an alternative.",
        "Write refusal_reason, explanation, suggested_agent (a canonical id) and governance_rule.";
    REFUSAL_FORM_THIN = "GOV-028", Warning,
        "A refusal has the governance_rule, and the suggested_agent if another agent could help",
        "A refusal without a rule cannot be reviewed; one without an agent is a dead end.",
        "Refer to the rule. If the request is for another domain, name the agent of that domain.";
    REFUSAL_REASON_UNKNOWN = "GOV-029", Error,
        "refusal_reason is one of the ten reasons",
        "The reason determines the severity of the refusal, and if work stops.",
        "Use the reason that fits best and put the rest into explanation.";
    REFUSAL_STATUS_MISMATCH = "GOV-030", Error,
        "response.status follows from refusal_reason",
        "AMBIGUOUS_REQUEST and MULTIPLE_VALID_APPROACHES are partial; every other reason is refused.",
        "Write the status that belongs to the reason.";
    SECURITY_FLAG_MISSING = "GOV-031", Warning,
        "A refusal for a security reason has security_flag",
        "A wrong hash, an invalid agent and a change to something immutable stop all work. Readers look for the flag.",
        "Write security_flag: true into the data.";
    SECURITY_FLAG_WRONG = "GOV-032", Error,
        "security_flag is a boolean, and true for a security reason",
        "A security refusal that denies it would be treated as an ordinary one.",
        "Write security_flag: true, or give another reason.";
    REQUEST_ID_WRONG = "GOV-033", Error,
        "request_context.request_id is a version 4 UUID",
        "It links the response to the handoff that asked.",
        "Write the handoff's id, or leave it out if there was none.";
    REQUEST_TYPE_WRONG = "GOV-034", Error,
        "request_context.request_type is query, task, analysis or decision",
        "It determines the kind of answer.",
        "Write one of the four words.";
    REQUEST_SUMMARY_WRONG = "GOV-035", Error,
        "request_context.request_summary is a text",
        "The record must contain the request.",
        "Summarize the request in a sentence.";
    FLAG_WRONG = "GOV-036", Error,
        "The four governance flags are booleans",
        "An attestation is either true or false.",
        "Write true or false.";
    EXPLANATION_MISSING = "GOV-037", Error,
        "A flag that is false is explained",
        "A reviewer needs the reason.",
        "Write governance.explanation, or explanation or error_message in the content's data.";
    EXPLANATION_WRONG = "GOV-038", Error,
        "governance.explanation is a text",
        "An empty explanation explains nothing.",
        "Say why a flag is false, or leave it out when all are true.";
    SUCCESS_WITHOUT_ATTESTATION = "GOV-039", Warning,
        "A success has all four flags true",
        "A success is within scope and meets the standards, which a false flag denies.",
        "Use the status partial, or check the flag.";
    AUDIT_TRAIL_MISSING = "GOV-040", Warning,
        "The audit trail is referenced",
        "Without a reference or a ledger entry the record of the response cannot be found.",
        "Write governance.audit_trail, or record the response in a ledger.";
    AUDIT_TRAIL_WRONG = "GOV-041", Error,
        "governance.audit_trail refers to something",
        "It identifies the record.",
        "Write a reference as a text, or several as an array or object.";
    NEXT_ACTIONS_WRONG = "GOV-042", Error,
        "next_actions is an object of arrays",
        "Each entry is a possible next step.",
        "Write arrays, [] when there is nothing, or leave the member out.";
    HANDOFF_WRONG = "GOV-043", Error,
        "A suggested handoff has target_agent, reason and required",
        "A caller needs the agent, the reason, and if the handoff is required.",
        "Write a canonical id, a text and a boolean.";
    QUESTION_WRONG = "GOV-044", Error,
        "followup_questions and additional_context_needed hold texts",
        "They are displayed unchanged.",
        "Write each as a text that is not blank.";
    PARTIAL_WITHOUT_HANDOFF = "GOV-045", Warning,
        "A partial response suggests a handoff",
        "Another agent should complete the rest, so the response should name it.",
        "Add next_actions.suggested_handoffs.";
    MEMBER_UNKNOWN = "GOV-046", Warning,
        "The response has no other members",
        "Readers ignore them. Conversions preserve them.",
        "Put the value into response.content.data, or into _meta if it is not part of the answer.";
    META_WRONG = "GOV-047", Error,
        "_meta is an object",
        "It is the slot for extensions, which are found by name.",
        "Give the extension a name, or leave _meta out.";
    TIMESTAMP_FUTURE = "GOV-048", Warning,
        "timestamp is not in the future",
        "A response is made before it is checked, so one of the two clocks is wrong or the time is invented.",
        "Check the clocks of the agent and of this machine.";
}
