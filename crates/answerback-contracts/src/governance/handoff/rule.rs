//! Defines the rules of handoffs and their codes: for a handoff by itself, and against manifest and lock.

answerback_findings::rules! {
    NOT_AN_OBJECT = "HAND-001", Error,
        "The handoff is a JSON object",
        "Who hands over, to whom and what are members of it.",
        "Write an object with the required members. The builder writes all of them.";
    MEMBER_MISSING = "HAND-002", Error,
        "All required members are present",
        "The agent that takes over knows only what stands here.",
        "Add the member at the place that the finding names; [] or {} where there is nothing to say.";
    HANDOFF_ID_WRONG = "HAND-003", Error,
        "handoff_id is a version 4 UUID",
        "The response refers to it, and it must not collide with another.",
        "Make a random UUID for each handoff.";
    TIMESTAMP_WRONG = "HAND-004", Error,
        "timestamp is an ISO 8601 date and time",
        "Handoffs and responses are put in order by it.",
        "Write it in UTC with Z, such as 2026-02-11T00:45:02Z.";
    TIMESTAMP_NAIVE = "HAND-005", Warning,
        "timestamp says which time zone it means",
        "Without an offset it is taken as UTC, which may be hours off.",
        "Add Z for UTC, or the offset.";
    PROTOCOL_VERSION_WRONG = "HAND-006", Error,
        "protocol_version is a semantic version",
        "It says by which edition of the contract the handoff is to be read.",
        "Write 1.0.0.";
    PROTOCOL_MAJOR_UNKNOWN = "HAND-007", Error,
        "protocol_version has major version 1",
        "Another major version may mean something else by the same members.",
        "Write the handoff by version 1.0.0.";
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
        "It decides which part of the manifest vouches for the agent.",
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
        "It says what kind of answer is due, and the response repeats it.",
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
        "What was said and decided is passed on in order; what is known is looked up by name.",
        "Write [] or {} where there is nothing.";
    FLAG_WRONG = "HAND-018", Error,
        "The four governance flags are booleans",
        "A thing was verified or it was not.",
        "Write true or false.";
    FLAG_FALSE = "HAND-019", Warning,
        "The four governance flags are true",
        "A handoff that says of itself that it was not verified should not be followed.",
        "Verify both agents and the boundaries before handing over.";
    AUDIT_TRAIL_WRONG = "HAND-020", Error,
        "governance.audit_trail refers to something",
        "It is how the record of the handoff is found.",
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
        "A handoff cannot have been made after it is checked: one of the two clocks is wrong, or the time is invented.",
        "Check the clock of the agent, and the one of this machine.";
    AGENT_UNKNOWN = "HAND-101", Error,
        "Both agents are in the manifest",
        "Nobody vouches for an agent that the manifest does not list.",
        "Write the canonical_id of the manifest.";
    AGENT_NOT_LOCKED = "HAND-102", Error,
        "Both agents are in the lock",
        "Without a locked hash it cannot be told under which prompt an agent speaks.",
        "Write the lock anew from the manifest in force.";
    AGENT_MISMATCH = "HAND-103", Error,
        "Type and version of both agents are the locked ones",
        "A handoff to or from another version reaches another agent.",
        "Take both identities from the lock.";
    PROMPT_HASH_MISMATCH = "HAND-104", Error,
        "prompt_hash of both agents is the locked one",
        "The agent runs under another prompt than was reviewed.",
        "Do not follow the handoff. Find out which prompt is in force.";
    COMPOSITION_BROKEN = "HAND-105", Error,
        "The composition of an archetype that hands over or takes over is valid",
        "What an archetype covers follows from its composition.",
        "Mend the composition in the manifest.";
    AUTHORITY_BROKEN = "HAND-106", Error,
        "Manifest and lock are valid and agree",
        "Against a broken manifest or lock nothing can be verified, so nothing is accepted.",
        "Run 'answerback lock verify' and mend what it names.";
}
