//! Defines the rules for governed responses against manifest, lock and handoff, and their codes.

answerback_findings::rules! {
    AGENT_UNKNOWN = "GOV-101", Error,
        "agent.agent_id is in the manifest",
        "An agent that is not in the manifest cannot be verified.",
        "Do not use the response. If the agent is yours, take its identity from the lock.";
    AGENT_NOT_LOCKED = "GOV-102", Error,
        "The lock has the agent's prompt",
        "Without a locked hash the agent's prompt cannot be verified.",
        "Do not use the response. Write a new lock from the current manifest.";
    AUTHORITY_BROKEN = "GOV-103", Error,
        "Manifest and lock are valid and agree",
        "Against a broken manifest or lock nothing can be verified, so nothing is accepted.",
        "Run 'answerback lock verify' and fix its findings.";
    COMPOSITION_BROKEN = "GOV-104", Error,
        "The composition of an answering archetype is valid",
        "The composition determines the scope of an archetype; an invalid one has no scope.",
        "Fix the composition in the manifest.";
    TARGET_UNKNOWN = "GOV-105", Error,
        "Every agent that the response suggests is in the manifest",
        "Work must not be sent to an agent that cannot be verified.",
        "Write the canonical_id of an agent of the manifest.";
    SCOPE_CONTRADICTED = "GOV-106", Error,
        "A refusal as out of scope does not attest within_scope",
        "The two cannot both be true.",
        "Write within_scope: false, or give another reason.";
    BOUNDARIES_CONTRADICTED = "GOV-107", Error,
        "boundaries_respected is not attested if the handoff denies it",
        "A request beyond the boundaries cannot be completed within them.",
        "Refuse the request with BOUNDARY_VIOLATION, or ask for a new handoff.";
    REQUEST_ID_MISSING = "GOV-108", Error,
        "A response to a handoff has request_context.request_id",
        "It links the response to the request.",
        "Write the handoff's id.";
    REQUEST_ID_MISMATCH = "GOV-109", Error,
        "request_context.request_id is the handoff's id",
        "The response belongs to another request.",
        "Use the id of the handoff that made the request, or check the response with its own handoff.";
    REQUEST_TYPE_MISMATCH = "GOV-110", Error,
        "request_context.request_type is the type that the handoff asks for",
        "A decision is not an answer to a query.",
        "Write the handoff's context.request.type.";
    NOT_ADDRESSED = "GOV-111", Error,
        "The agent that answers is the handoff's target",
        "An agent answered a request that was sent to another agent.",
        "Let the target answer, or hand over to the agent that answers.";
    ANSWERED_BEFORE = "GOV-112", Warning,
        "A response is not older than its handoff",
        "One of the clocks is wrong, or the response was made for another request.",
        "Check the clocks of both agents.";
    HANDOFF_BROKEN = "GOV-113", Error,
        "The handoff that a response answers is valid",
        "An invalid handoff does not identify the request and its target.",
        "Check the handoff by itself and fix its findings.";
}
