//! The operations of the API, one line each. A test requests each of them from the server.

use answerback_http::Scope;

use super::parameters::{ParameterType, QueryParameter, query};

/// The content of a request or response.
#[derive(Clone, Copy)]
pub(super) enum BodySchema {
    /// No body.
    None,
    /// JSON with a schema of the components.
    Json(&'static str),
    /// JSON with a schema of the components, or no body.
    OptionalJson(&'static str),
    /// Another media type.
    Other(&'static str),
}

/// One method of one path.
pub(super) struct ApiOperation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// The scope that the caller's token needs. `None` if the operation needs no token.
    pub(super) scope: Option<Scope>,
    pub(super) about: &'static str,
    pub(super) query: &'static [QueryParameter],
    pub(super) body: BodySchema,
    pub(super) answer: BodySchema,
    /// The success statuses.
    pub(super) statuses: &'static [u16],
    /// The problem statuses that only this operation has, with their codes.
    pub(super) problems: &'static [(&'static str, &'static str)],
}

const fn get(path: &'static str, about: &'static str, answer: BodySchema) -> ApiOperation {
    ApiOperation {
        method: "get",
        path,
        scope: Some(Scope::Read),
        about,
        query: &[],
        body: BodySchema::None,
        answer,
        statuses: &[200],
        problems: &[],
    }
}

const fn post(
    path: &'static str,
    scope: Scope,
    about: &'static str,
    body: BodySchema,
    answer: BodySchema,
) -> ApiOperation {
    ApiOperation { method: "post", scope: Some(scope), body, ..get(path, about, answer) }
}

const fn delete(path: &'static str, scope: Scope, about: &'static str) -> ApiOperation {
    let operation = get(path, about, BodySchema::None);
    ApiOperation { method: "delete", scope: Some(scope), statuses: &[204], ..operation }
}

impl ApiOperation {
    const fn query(mut self, query: &'static [QueryParameter]) -> Self {
        self.query = query;
        self
    }

    const fn problems(mut self, problems: &'static [(&'static str, &'static str)]) -> Self {
        self.problems = problems;
        self
    }

    const fn statuses(mut self, statuses: &'static [u16]) -> Self {
        self.statuses = statuses;
        self
    }

    const fn with_scope(mut self, scope: Option<Scope>) -> Self {
        self.scope = scope;
        self
    }
}

const CONTRACT: ParameterType = ParameterType::Words(&[
    "atdf",
    "governed",
    "ui",
    "tool",
    "descriptor",
    "handoff",
    "manifest",
    "lock",
]);
/// The contracts of replies.
const REPLY_CONTRACTS: ParameterType = ParameterType::Words(&["atdf", "governed", "ui", "tool"]);
const PROFILE: QueryParameter = query(
    "profile",
    ParameterType::Words(&["strict", "lenient"]),
    "How strictly the contract is applied; strict if absent",
);
const AS: QueryParameter =
    query("as", CONTRACT, "The contract to check against, instead of recognizing it");

const FILTERS: &[QueryParameter] = &[
    query(
        "kind",
        ParameterType::Words(&[
            "config",
            "request",
            "response",
            "rejected",
            "validation",
            "escalation",
            "decision",
            "erasure",
            "prune",
        ]),
        "A kind of entry",
    ),
    query(
        "outcome",
        ParameterType::Text,
        "The outcome that an entry records, such as ok or tool_error",
    ),
    query("tool", ParameterType::Text, "A tool's name"),
    query("agent", ParameterType::Text, "An agent's canonical id"),
    query("text", ParameterType::TextWithoutNul, "Words in the content"),
    query("since", ParameterType::Time, "Only entries recorded at this time or later"),
    query("until", ParameterType::Time, "Only entries recorded before this time"),
    query(
        "before",
        ParameterType::Number,
        "Only entries below this index; the `next` of a page is the `before` of the one after it",
    ),
    query(
        "limit",
        ParameterType::Number,
        "The number of entries, from 1 to 200; a larger number counts as 200",
    ),
];

const LIMIT_200: QueryParameter = query(
    "limit",
    ParameterType::Number,
    "The page size, from 1 to 200; a larger number counts as 200",
);
pub(super) const OPERATIONS: &[ApiOperation] = &[
    post("/api/session", Scope::Read, "Opens a session with the token of a launch link; the answer sets a cookie", BodySchema::Json("Unlock"), BodySchema::Json("Session"))
        .with_scope(None)
        .statuses(&[201])
        .problems(&[("401", "LAUNCH_TOKEN_USED, LAUNCH_TOKEN_LATE or UNAUTHENTICATED")]),
    get("/api/session", "The caller, and what this server offers", BodySchema::Json("Session")),
    delete("/api/session", Scope::Read, "Ends the caller's session, and its streams"),
    get("/api/sessions", "All sessions of people at a browser", BodySchema::Json("SessionList")),
    delete("/api/sessions/{id}", Scope::Decide, "Ends a session, and its streams"),
    post("/api/launch", Scope::Admin, "Creates a link that opens one session; requires the launcher's token", BodySchema::None, BodySchema::Json("LaunchLink")).statuses(&[201]),
    get("/api/overview", "The numbers of entries, streams and waiting cases", BodySchema::Json("Overview")),
    get("/api/replies", "Replies, newest first", BodySchema::Json("ReplyPage")).query(FILTERS),
    post("/api/replies", Scope::Ingest, "Checks a reply in any of the four contracts, records it, and returns its receipt. A reply that breaks its contract is recorded as rejected; proposals and questions open cases", BodySchema::Json("Document"), BodySchema::Json("RecordedReply"))
        .query(&[query("as", REPLY_CONTRACTS, "The contract to check against, instead of recognizing it"), PROFILE, query("to", REPLY_CONTRACTS, "Another contract to convert the reply to")])
        .statuses(&[200, 201])
        .problems(&[("409", "ALREADY_ANSWERED: the request has a response; RESPONSE_ID_TAKEN: another response has its id, and the attempt is recorded as rejected"), ("422", "NOT_CONVERTIBLE: the other contract needs more")]),
    get("/api/replies/{id}", "One reply, by its id or its index; with ?as= only its document, in another contract", BodySchema::Json("ReplyOrDocument"))
        .query(&[query("as", REPLY_CONTRACTS, "The contract to convert the reply to")])
        .problems(&[("422", "NOT_CONVERTIBLE: the other contract needs more")]),
    get("/api/replies/{id}/findings", "The findings of a reply under its contract", BodySchema::Json("FindingList")),
    get("/api/replies/{id}/proof", "Checks a reply now: its content against its commitments, and its place in the signed log", BodySchema::Json("Proof")),
    get("/api/replies/{id}/artifacts/{position}/file", "Downloads the file that an artifact refers to", BodySchema::Other("application/octet-stream"))
        .problems(&[("409", "FILE_CHANGED: the file differs from the one that was recorded with the reply"), ("403", "FILE_NOT_SERVED: the file has more than one name (a hard link), or is too large")]),
    get("/api/replies/{id}/artifacts/{position}/file/state", "The state of the file: whether it exists and is unchanged since it was recorded", BodySchema::Json("FileState")),
    get("/api/artifacts", "Artifacts of recorded replies, the newest first, each in its latest version; with `reply` only those of that reply", BodySchema::Json("ArtifactPage"))
        .query(&[
            query("kind", ParameterType::Text, "An artifact type, such as table"),
            query("status", ParameterType::Words(&["draft", "final", "deprecated", "superseded"]), "The status of the latest version"),
            query("reply", ParameterType::Text, "A reply's id or index; the answer then has no further pages"),
            query("before", ParameterType::Text, "An artifact's id; the page continues with older ones"),
            LIMIT_200,
        ])
        .problems(&[("404", "NOT_FOUND: there is no such reply, or no such artifact to continue after")]),
    get("/api/artifacts/{id}", "An artifact in its latest version, or in another one", BodySchema::Json("ArtifactView"))
        .query(&[query("version", ParameterType::Number, "The version's number, starting at 1")]),
    get("/api/artifacts/{id}/versions", "All versions of an artifact, oldest first", BodySchema::Json("ArtifactVersions")),
    post("/api/artifacts/{id}/status", Scope::Decide, "Makes the version that the person saw final or deprecated; this is recorded as a decision", BodySchema::Json("ArtifactStatusChange"), BodySchema::Json("ArtifactStatusChanged"))
        .statuses(&[200, 201])
        .problems(&[("409", "ARTIFACT_CHANGED: there is a later version; ARTIFACT_CLOSED: it is deprecated"), ("410", "ARTIFACT_ERASED")]),
    get("/api/artifacts/{id}/file", "Downloads the file that the latest version refers to", BodySchema::Other("application/octet-stream"))
        .problems(&[("409", "FILE_CHANGED: the file differs from the one that was recorded with the reply"), ("403", "FILE_NOT_SERVED: the file has more than one name (a hard link), or is too large")]),
    get("/api/artifacts/{id}/file/state", "The state of the file: whether it exists and is unchanged since it was recorded", BodySchema::Json("FileState")),
    get("/api/cases", "Cases that wait for a person, oldest first", BodySchema::Json("CasePage"))
        .query(&[
            query("status", ParameterType::Words(&["waiting", "decided", "lapsed", "all"]), "The status of cases; waiting if absent"),
            query("kind", ParameterType::Words(&["proposal", "question", "escalation"]), "Only cases of this kind"),
            query("after", ParameterType::Text, "A case's id; the page continues after it"),
            query("limit", ParameterType::Number, "The page size, from 1 to 500; a larger number counts as 500"),
        ]),
    post("/api/cases", Scope::Ingest, "Submits a proposal or a question to a person", BodySchema::Json("NewCase"), BodySchema::Json("CaseDocument")).statuses(&[201]),
    get("/api/cases/{id}", "One case", BodySchema::Json("CaseDocument")),
    post("/api/cases/{id}/decision", Scope::Decide, "Decides a case, about exactly what the person saw. The first decision wins; repeating the same one returns the same response", BodySchema::Json("DecisionSubmission"), BodySchema::Json("CaseDocument"))
        .statuses(&[200, 201])
        .problems(&[("409", "ALREADY_DECIDED with the recorded decision, or CASE_CHANGED"), ("410", "CASE_EXPIRED"), ("422", "DECISION_UNUSABLE")]),
    get("/api/cases/{id}/decision", "The case as soon as it is decided, or as it is when the waiting time ends", BodySchema::Json("CaseDocument"))
        .with_scope(Some(Scope::Ingest))
        .query(&[query("wait", ParameterType::Number, "The seconds to wait; a number over 60 counts as 60")])
        .problems(&[("429", "TOO_MANY_OPEN: 64 requests of this token are waiting already")]),
    post("/api/cases/{id}/acknowledgement", Scope::Ingest, "Records that the agent has seen the decision, and the outcome", BodySchema::Json("Acknowledgement"), BodySchema::Json("CaseDocument"))
        .statuses(&[200, 201])
        .problems(&[("409", "NOT_DECIDED")]),
    get("/api/streams", "Live streams, the one with the newest event first", BodySchema::Json("StreamPage"))
        .query(&[query("before", ParameterType::Number, "A sequence number, such as `next` of the page before; the page continues with streams whose newest event is older"), LIMIT_200]),
    get("/api/streams/{id}", "A stream with the reply that its events build", BodySchema::Json("StreamView")),
    get("/api/streams/{id}/events", "The events of a stream", BodySchema::Json("EventPage"))
        .query(&[query("after", ParameterType::Number, "A sequence number; the page continues after it"), query("limit", ParameterType::Number, "The page size, from 1 to 1000; a larger number counts as 1000")]),
    post("/api/streams/{id}/events", Scope::Ingest, "Publishes one event or a list of them, all or none", BodySchema::Json("NewEvents"), BodySchema::Json("PublishedEvents"))
        .statuses(&[201])
        .problems(&[("403", "STREAM_OF_ANOTHER: the stream belongs to another principal"), ("409", "STREAM_ENDED")]),
    post("/api/streams/{id}/end", Scope::Ingest, "Ends a stream", BodySchema::OptionalJson("StreamEnd"), BodySchema::Json("StreamEnded"))
        .statuses(&[200, 201])
        .problems(&[("403", "STREAM_OF_ANOTHER: the stream belongs to another principal")]),
    get("/api/events", "Live events, as server-sent events: hello, live (an event of a stream), decision (a case was decided, deferred or acknowledged), artifact (one was recorded or its status changed), gap, ledger", BodySchema::Other("text/event-stream"))
        .query(&[query("streams", ParameterType::Text, "Only these streams, separated by commas"), query("after", ParameterType::Number, "A sequence number to continue after; the header Last-Event-ID has precedence")])
        .problems(&[("429", "TOO_MANY_OPEN: this token has reached its limit of open streams (console.events.readers, 64)")]),
    get("/api/tools", "The servers of the gateway, their tools, and the outcomes of their calls", BodySchema::Json("ToolList")),
    post("/api/calls/check", Scope::Read, "Checks one call of a tool as the gateway would. With a conversation, which needs the scope call, attempts are counted, a person is asked after the last one, and the next check returns the decision", BodySchema::Json("CallToCheck"), BodySchema::Json("CheckedCall"))
        .problems(&[("503", "TOOLS_UNKNOWN: the tool's server has not listed its tools yet")]),
    get("/api/agents", "Manifest and lock, and the state of each prompt", BodySchema::Json("AgentsView")),
    get("/api/ledger", "The head of the log", BodySchema::Json("LedgerHead")),
    get("/api/ledger/entries", "Entries of every kind, newest first", BodySchema::Json("EntryPage")).query(FILTERS),
    get("/api/ledger/entries/{index}", "One entry with its parts", BodySchema::Json("EntryView")),
    get("/api/ledger/entries/{index}/proof", "Checks an entry now", BodySchema::Json("Proof")),
    get("/api/ledger/consistency", "Proves that the log of one size is the beginning of the log of a larger size", BodySchema::Json("ConsistencyProof"))
        .query(&[query("from", ParameterType::Positive, "The smaller size, from 1").required(), query("to", ParameterType::Positive, "The larger size, at most that of the log").required()]),
    post("/api/ledger/verify", Scope::Read, "Verifies the whole log, level by level", BodySchema::None, BodySchema::Json("LedgerReport"))
        .problems(&[("422", "NOT_VERIFIABLE: the log cannot be read")]),
    post("/api/playground", Scope::Read, "Checks, shows and converts a document; nothing is recorded", BodySchema::Json("Document"), BodySchema::Json("PlaygroundResult"))
        .query(&[AS, PROFILE]),
    get("/api/examples", "Small example documents", BodySchema::Json("ExampleList")),
    get("/api/openapi.json", "This description", BodySchema::Json("Document")),
];
