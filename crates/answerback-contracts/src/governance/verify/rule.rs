//! Defines the rules for governed responses against manifest, lock and handoff, and their codes.

answerback_findings::rules! {
    AGENT_UNKNOWN = "GOV-101", Error,
        "agent.agent_id is in the manifest",
        "Nobody vouches for an agent that the manifest does not list.",
        "Do not use the response. If the agent is yours, take its identity from the lock.";
    AGENT_NOT_LOCKED = "GOV-102", Error,
        "The lock has the agent's prompt",
        "Without a locked hash it cannot be told under which prompt the agent spoke.",
        "Do not use the response. Write the lock anew from the manifest in force.";
    AUTHORITY_BROKEN = "GOV-103", Error,
        "Manifest and lock are valid and agree",
        "Against a broken manifest or lock nothing can be verified, so nothing is accepted.",
        "Run 'answerback lock verify' and mend what it names.";
    COMPOSITION_BROKEN = "GOV-104", Error,
        "The composition of an answering archetype is valid",
        "What an archetype covers follows from its composition; a broken one covers nothing.",
        "Mend the composition in the manifest.";
    TARGET_UNKNOWN = "GOV-105", Error,
        "Every agent that the response suggests is in the manifest",
        "Work must not be sent to somebody nobody vouches for.",
        "Write the canonical_id of an agent of the manifest.";
    SCOPE_CONTRADICTED = "GOV-106", Error,
        "A refusal as out of scope does not attest within_scope",
        "The two cannot both be true.",
        "Write within_scope: false, or give another reason.";
    BOUNDARIES_CONTRADICTED = "GOV-107", Error,
        "boundaries_respected is not attested where the handoff says otherwise",
        "A request that crosses boundaries cannot be carried out within them.",
        "Refuse the request with BOUNDARY_VIOLATION, or have the handoff made anew.";
    REQUEST_ID_MISSING = "GOV-108", Error,
        "A response to a handoff has request_context.request_id",
        "It links the response to what was asked.",
        "Write the handoff's id.";
    REQUEST_ID_MISMATCH = "GOV-109", Error,
        "request_context.request_id is the handoff's id",
        "The response answers something else.",
        "Answer under the id of the handoff that asked, or check it together with its own handoff.";
    REQUEST_TYPE_MISMATCH = "GOV-110", Error,
        "request_context.request_type is the type that the handoff asks for",
        "A decision is not an answer to a query.",
        "Write the handoff's context.request.type.";
    NOT_ADDRESSED = "GOV-111", Error,
        "The agent that answers is the handoff's target",
        "Another agent did work that was handed to somebody else.",
        "Let the target answer, or hand over to the agent that answers.";
    ANSWERED_BEFORE = "GOV-112", Warning,
        "A response is not older than its handoff",
        "Somebody's clock is wrong, or the response was made for something else.",
        "Check the clocks of both agents.";
    HANDOFF_BROKEN = "GOV-113", Error,
        "The handoff that a response answers is valid",
        "What was asked, of whom, cannot be told from a broken handoff.",
        "Check the handoff by itself and mend what is named.";
}
