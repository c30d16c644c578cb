//! Defines the rules of handoffs and their codes: for a handoff by itself, and against manifest and lock.

answerback_findings::rules! {
    NOT_AN_OBJECT = "HAND-001", Error,
        "The handoff is a JSON object",
        "The two agents and the request are members of it.",
        "Write an object with the required members. The builder writes all of them.";
    MEMBER_MISSING = "HAND-002", Error,
        "All required members are present",
        "The agent that takes over knows only the content of the handoff.",
        "Add the member at the place that the finding names. Write [] or {} if it has no content.";
    HANDOFF_ID_WRONG = "HAND-003", Error,
        "handoff_id is a version 4 UUID",
        "The response refers to it, so it must be unique.",
        "Make a random UUID for each handoff.";
    TIMESTAMP_WRONG = "HAND-004", Error,
        "timestamp is an ISO 8601 date and time",
        "Handoffs and responses are sorted by it.",
        "Write it in UTC with Z, such as 2026-02-11T00:45:02Z.";
    TIMESTAMP_NAIVE = "HAND-005", Warning,
        "timestamp has a time zone",
        "Without an offset it is read as UTC, which may be wrong by hours.",
        "Add Z for UTC, or the offset.";
    PROTOCOL_VERSION_WRONG = "HAND-006", Error,
        "protocol_version is a semantic version",
        "It identifies the version of the contract that the handoff follows.",
        "Write 1.0.0.";
    PROTOCOL_MAJOR_UNKNOWN = "HAND-007", Error,
        "protocol_version has major version 1",
        "The same members may have another meaning in another major version.",
        "Write the handoff according to version 1.0.0.";
    PROTOCOL_NEWER = "HAND-008", Warning,
        "protocol_version is not newer than 1.0.0",
        "A later edition may have rules that are not checked here.",
        "Nothing, if you know that edition; otherwise write 1.0.0.";
    GROUP_WRONG = "HAND-009", Error,
        "source_agent, target_agent, context, request, state and governance are objects",
        "Their members are looked up by name.",
        "Write an object with the members of that group.";
    AGENT_TYPE_WRONG = "HAND-010", Error,
        "agent_type is domain, archetype or orchestrator",
        "It determines the part of the manifest that describes the agent.",
        "Write the type that the lock has for this agent.";
    AGENT_ID_WRONG = "HAND-011", Error,
        "agent_id is a canonical id",
        "It is compared with the manifest letter by letter.",
        "Write the canonical_id of the manifest, such as domain-02-analysis.";
    AGENT_VERSION_WRONG = "HAND-012", Error,
        "agent_version is a semantic version",
        "It is compared with the lock.",
        "Write major.minor.patch, such as 1.0.0.";
    PROMPT_HASH_WRONG = "HAND-013", Error,
        "prompt_hash is a SHA-256 in lower-case hexadecimal",
        "It is compared with the lock as text.",
        "Write the 64 digits as the lock has them.";
    REQUEST_TYPE_WRONG = "HAND-014", Error,
        "context.request.type is query, task, analysis or decision",
        "It determines the kind of answer, and the response repeats it.",
        "Write one of the four words.";
    TEXT_BLANK = "HAND-015", Error,
        "description, expected_output and each constraint are texts",
        "The agent that takes over acts on them.",
        "Say it in a sentence.";
    INPUT_WRONG = "HAND-016", Error,
        "context.request.input_data is an object or a text",
        "The agent that takes over works on it.",
        "Give the data names, or write it as a text.";
    STATE_WRONG = "HAND-017", Error,
        "constraints, conversation_history and decisions_made are arrays, accumulated_context is an object",
        "Messages and decisions are passed on in order; facts are looked up by name.",
        "Write [] or {} if there is no content.";
    FLAG_WRONG = "HAND-018", Error,
        "The four governance flags are booleans",
        "Each check was either made or not.",
        "Write true or false.";
    FLAG_FALSE = "HAND-019", Warning,
        "The four governance flags are true",
        "A handoff that was not verified should not be followed.",
        "Verify both agents and the boundaries before handing over.";
    AUDIT_TRAIL_WRONG = "HAND-020", Error,
        "governance.audit_trail refers to something",
        "It identifies the record of the handoff.",
        "Write a reference as a text.";
    MEMBER_UNKNOWN = "HAND-021", Warning,
        "The handoff has no other members",
        "Readers ignore them.",
        "Put the value into context.state.accumulated_context, or into _meta if it is not for the agent.";
    META_WRONG = "HAND-022", Error,
        "_meta is an object",
        "It is the slot for extensions, which are found by name.",
        "Give the extension a name, or leave _meta out.";
    TIMESTAMP_FUTURE = "HAND-023", Warning,
        "timestamp is not in the future",
        "A handoff is made before it is checked, so one of the two clocks is wrong or the time is invented.",
        "Check the clocks of the agent and of this machine.";
    AGENT_UNKNOWN = "HAND-101", Error,
        "Both agents are in the manifest",
        "An agent that is not in the manifest cannot be verified.",
        "Write the canonical_id of the manifest.";
    AGENT_NOT_LOCKED = "HAND-102", Error,
        "Both agents are in the lock",
        "Without a locked hash an agent's prompt cannot be verified.",
        "Write a new lock from the current manifest.";
    AGENT_MISMATCH = "HAND-103", Error,
        "Type and version of both agents match the lock",
        "A handoff to or from another version reaches another agent.",
        "Take both identities from the lock.";
    PROMPT_HASH_MISMATCH = "HAND-104", Error,
        "prompt_hash of both agents matches the lock",
        "The agent runs with a prompt that was not reviewed.",
        "Do not follow the handoff. Find out which prompt is in force.";
    COMPOSITION_BROKEN = "HAND-105", Error,
        "The composition of an archetype that hands over or takes over is valid",
        "The composition determines the scope of an archetype.",
        "Fix the composition in the manifest.";
    AUTHORITY_BROKEN = "HAND-106", Error,
        "Manifest and lock are valid and agree",
        "Against a broken manifest or lock nothing can be verified, so nothing is accepted.",
        "Run 'answerback lock verify' and fix its findings.";
}
