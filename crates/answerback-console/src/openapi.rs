//! The description of the API. One line an operation; a test asks the server for each of them.

use answerback_http::Scope;
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::artifact::ArtifactDocument;
use crate::behind::AgentsView;
use crate::case::{CaseDocument, Proposal, Question};
use crate::reply::Row;
use crate::stream::{EventDocument, NewEvent};
use crate::{Commands, ServerView, ToolView};

/// What an operation takes or gives.
#[derive(Clone, Copy)]
enum Form {
    /// Nothing.
    None,
    /// JSON of a schema that has a name.
    Named(&'static str),
    /// JSON objects with these members, in words.
    Members(&'static str),
    /// Another kind of content.
    Other(&'static str),
}

struct Operation {
    method: &'static str,
    path: &'static str,
    /// Nothing where everybody may.
    scope: Option<Scope>,
    about: &'static str,
    /// Name and meaning of what stands in the address behind the question mark.
    query: &'static [(&'static str, &'static str)],
    takes: Form,
    gives: Form,
    /// What it may answer beside success and the problems that every route has.
    problems: &'static [(&'static str, &'static str)],
}

const fn get(path: &'static str, about: &'static str, gives: Form) -> Operation {
    let (query, problems): (&[_], &[_]) = (&[], &[]);
    let scope = Some(Scope::Read);
    Operation { method: "get", path, scope, about, query, takes: Form::None, gives, problems }
}

const fn post(
    path: &'static str,
    scope: Scope,
    about: &'static str,
    takes: Form,
    gives: Form,
) -> Operation {
    let (query, problems): (&[_], &[_]) = (&[], &[]);
    Operation { method: "post", path, scope: Some(scope), about, query, takes, gives, problems }
}

impl Operation {
    const fn query(mut self, query: &'static [(&'static str, &'static str)]) -> Self {
        self.query = query;
        self
    }

    const fn problems(mut self, problems: &'static [(&'static str, &'static str)]) -> Self {
        self.problems = problems;
        self
    }

    const fn by(mut self, method: &'static str, scope: Option<Scope>) -> Self {
        self.method = method;
        self.scope = scope;
        self
    }
}

const FILTERS: &[(&str, &str)] = &[
    ("kind", "A kind of entry, such as response, rejected or validation"),
    ("outcome", "What became of it, such as ok or tool_error"),
    ("tool", "A tool's name"),
    ("agent", "An agent's canonical id"),
    ("text", "Words that the content has"),
    ("since", "A time in ISO 8601; from then on"),
    ("until", "A time in ISO 8601; before then"),
    ("before", "An index; the page goes on below it"),
    ("limit", "How many, at most 200"),
];

const OPERATIONS: &[Operation] = &[
    post("/api/session", Scope::Read, "Opens a session with the token of a launch link; the answer sets a cookie", Form::Members("token"), Form::Named("Session"))
        .by("post", None)
        .problems(&[("401", "LAUNCH_TOKEN_USED, LAUNCH_TOKEN_LATE or UNAUTHENTICATED")]),
    get("/api/session", "Who asks, and what is served here", Form::Named("Session")),
    get("/api/session", "Ends the session that asks, and its streams", Form::None).by("delete", Some(Scope::Read)),
    get("/api/sessions", "All sessions of people at a browser", Form::Members("sessions")),
    get("/api/sessions/{id}", "Ends a session, and its streams", Form::None).by("delete", Some(Scope::Decide)),
    post("/api/launch", Scope::Admin, "A link that opens one session; for the launcher's token alone", Form::None, Form::Members("fragment")),
    get("/api/overview", "How much there is, and how much waits", Form::Members("waiting, size, seq, streams, streams_open")),
    get("/api/replies", "Replies, newest first", Form::Members("replies, next, size, indexed")).query(FILTERS),
    post("/api/replies", Scope::Ingest, "Judges a reply in any of the four contracts, records it, and answers with its receipt. One that breaks its contract is recorded as rejected; proposals and questions open cases", Form::Other("application/json"), Form::Members("id, index, kind, contract, valid, findings, cases, artifacts, receipt, converted"))
        .query(&[("as", "The contract, instead of recognising it"), ("profile", "strict or lenient"), ("to", "Another contract to answer in")])
        .problems(&[("409", "ALREADY_ANSWERED: the request has a response; RESPONSE_ID_TAKEN: another one has its id, and that it came is recorded as rejected"), ("422", "NOT_CONVERTIBLE: the other contract needs more")]),
    get("/api/replies/{id}", "One reply, by its id or its index; with ?as= in another contract", Form::Members("reply, contract, document, ui, losses, findings, request, parts, leaf, cases, artifacts, presentation"))
        .query(&[("as", "The contract to give it in: atdf, governed, ui or tool")]),
    get("/api/replies/{id}/findings", "What its contract says of a reply", Form::Members("findings")),
    get("/api/replies/{id}/proof", "Checks a reply now: its content against its commitments, its place in the signed log", Form::Named("Proof")),
    get("/api/replies/{id}/artifacts/{position}/file", "The file that an artifact refers to, to be saved", Form::Other("application/octet-stream"))
        .problems(&[("409", "FILE_CHANGED: it is another than when the reply came in")]),
    get("/api/replies/{id}/artifacts/{position}/file/state", "Whether the file is there, and the one that was recorded", Form::Members("state, solution, size, sha256, media_type, preview")),
    get("/api/artifacts", "Artifacts of replies that were handed in, the newest first, each in its latest version; with a reply those that it brought", Form::Members("artifacts, next"))
        .query(&[("kind", "An artifact type, such as table"), ("status", "draft, final, deprecated or superseded"), ("reply", "A reply's id or index; there are no pages then"), ("before", "An artifact's id; the page goes on with older ones"), ("limit", "How many, at most 200")]),
    get("/api/artifacts/{id}", "An artifact in its latest version, or another; document is what its reply has", Form::Members("artifact, document, latest"))
        .query(&[("version", "Which version, counted from 1")]),
    get("/api/artifacts/{id}/versions", "All versions of an artifact, oldest first", Form::Members("versions")),
    post("/api/artifacts/{id}/status", Scope::Decide, "Makes the version that the person saw final or deprecated; it is recorded as a decision", Form::Members("status, version"), Form::Members("artifact"))
        .problems(&[("409", "ARTIFACT_CHANGED: there is another version by now; ARTIFACT_CLOSED: it is deprecated"), ("410", "ARTIFACT_ERASED")]),
    get("/api/artifacts/{id}/file", "The file that the latest version refers to, to be saved", Form::Other("application/octet-stream"))
        .problems(&[("409", "FILE_CHANGED: it is another than when the reply came in")]),
    get("/api/artifacts/{id}/file/state", "Whether the file is there, and the one that was recorded", Form::Members("state, solution, size, sha256, media_type, preview")),
    get("/api/cases", "What waits for a person, oldest first", Form::Members("cases, next"))
        .query(&[("status", "waiting, decided, lapsed or all"), ("kind", "proposal, question or escalation"), ("after", "A case's id; the page goes on behind it"), ("limit", "How many, at most 500")]),
    post("/api/cases", Scope::Ingest, "Lays a proposal or a question before a person", Form::Named("NewCase"), Form::Named("CaseDocument")),
    get("/api/cases/{id}", "One case", Form::Named("CaseDocument")),
    post("/api/cases/{id}/decision", Scope::Decide, "Decides a case, about exactly what the person saw. The first decision wins; the same one again is answered alike", Form::Named("Submission"), Form::Named("CaseDocument"))
        .problems(&[("409", "ALREADY_DECIDED with the decision that holds, or CASE_CHANGED"), ("410", "CASE_EXPIRED"), ("422", "DECISION_UNUSABLE")]),
    get("/api/cases/{id}/decision", "The case as soon as it is decided, or as it is when the time is over", Form::Named("CaseDocument"))
        .by("get", Some(Scope::Ingest))
        .query(&[("wait", "How many seconds to wait, at most 60")])
        .problems(&[("429", "TOO_MANY_OPEN: 64 requests of this token wait already")]),
    post("/api/cases/{id}/acknowledgement", Scope::Ingest, "Says that the agent has seen the decision, and what came of it", Form::Members("outcome, note"), Form::Named("CaseDocument"))
        .problems(&[("409", "NOT_DECIDED")]),
    get("/api/streams", "Live streams, the one with the newest event first", Form::Members("streams, next"))
        .query(&[("before", "A sequence number, such as next of the page before; the page goes on with streams whose newest event is older"), ("limit", "How many, at most 200")]),
    get("/api/streams/{id}", "A stream with the reply that its events make", Form::Members("id, owner, events, first, last, ended, outcome, digest, envelope, warnings, as_of_seq")),
    get("/api/streams/{id}/events", "The events of a stream", Form::Members("events, gap, after"))
        .query(&[("after", "A sequence number; the page goes on behind it"), ("limit", "How many, at most 1000")]),
    post("/api/streams/{id}/events", Scope::Ingest, "Publishes one event or a list of them, all or none", Form::Named("NewEvents"), Form::Members("first, last"))
        .problems(&[("403", "STREAM_OF_ANOTHER: the token that began a stream publishes to it"), ("409", "STREAM_ENDED")]),
    post("/api/streams/{id}/end", Scope::Ingest, "Ends a stream", Form::Members("outcome"), Form::Members("seq"))
        .problems(&[("403", "STREAM_OF_ANOTHER")]),
    get("/api/events", "Everything that happens, as server-sent events: hello, live (of a stream), decision (that a case was decided, put off or acknowledged), artifact (that one was handed in or settled), gap, ledger", Form::Other("text/event-stream"))
        .query(&[("streams", "Only these streams, between commas"), ("after", "A sequence number to go on behind; the header Last-Event-ID counts before it")])
        .problems(&[("429", "TOO_MANY_OPEN: this token has as many streams as it may (console.events.readers, 64)")]),
    get("/api/tools", "The servers behind the gateway, their tools, and how calls of them went", Form::Members("tools, servers, since_index")),
    post("/api/calls/check", Scope::Read, "Judges one call of a tool as the gateway would. With a conversation, which needs the scope call, attempts are counted, a person is asked after the last one, and the next check has what they decided", Form::Members("id, tool, arguments, conversation, turn, schema"), Form::Members("tool_call_id, tool, valid, attempt, max_attempts, status, errors, repair, result, escalation, waived, arguments, guidance")),
    get("/api/agents", "Manifest and lock, and how the prompts stand to them", Form::Named("AgentsView")),
    get("/api/ledger", "The head of the log", Form::Members("origin, size, minimum, root, checkpoint, key, witnessed, entries_by_kind")),
    get("/api/ledger/entries", "Entries of every kind, newest first", Form::Members("entries, next, size, indexed")).query(FILTERS),
    get("/api/ledger/entries/{index}", "One entry with its parts", Form::Members("index, time, kind, hash, leaf, parts")),
    get("/api/ledger/entries/{index}/proof", "Checks an entry now", Form::Named("Proof")),
    get("/api/ledger/consistency", "That a log of one size is the beginning of a larger one", Form::Members("from, to, hashes"))
        .query(&[("from", "The smaller size"), ("to", "The larger size")]),
    post("/api/ledger/verify", Scope::Read, "Verifies the whole log, level by level", Form::None, Form::Members("ok, levels, size, root, erased_parts, took_ms, warnings"))
        .problems(&[("422", "NOT_VERIFIABLE: the log cannot be read")]),
    post("/api/playground", Scope::Read, "Judges, shows and converts a document; nothing is recorded", Form::Other("application/json"), Form::Members("contract, valid, findings, ui, losses, terminal, conversions"))
        .query(&[("as", "The contract, instead of recognising it"), ("profile", "strict or lenient")]),
    get("/api/examples", "Small documents to begin with", Form::Members("examples")),
    get("/api/openapi.json", "This description", Form::Other("application/json")),
];

/// The description of the API, `OpenAPI` 3.1.
pub fn document() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = operation.told();
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Answerback",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
            "description": "Replies of agents and their tools: handed in, listed, proven, watched live, and decided about. Every request needs a bearer token, or the cookie of a session; every problem is an ATDF enriched error.",
        },
        "servers": [{"url": "http://127.0.0.1:7311"}],
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "A token with the scope that the operation names as x-scope"},
                "session": {"type": "apiKey", "in": "cookie", "name": "answerback_7311", "description": "Set by POST /api/session; the number is the port"},
            },
            "schemas": schemas(),
        },
    })
}

impl Operation {
    fn told(&self) -> Value {
        let places =
            self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let mut parameters: Vec<Value> = places
            .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
            .collect();
        parameters.extend(self.query.iter().map(|(name, about)| {
            json!({"name": name, "in": "query", "description": about, "schema": {"type": "string"}})
        }));
        let success = match (self.method, self.gives) {
            (_, Form::None) => ("204", json!({"description": "Done"})),
            ("post", form) => ("2XX", json!({"description": "Done", "content": content(form)})),
            (_, form) => {
                ("200", json!({"description": "What was asked for", "content": content(form)}))
            }
        };
        let mut responses = Map::from_iter([(success.0.to_owned(), success.1)]);
        let problem = |about: &str| json!({"description": about, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}});
        for (status, about) in self.problems {
            responses.insert((*status).to_owned(), problem(about));
        }
        responses.insert("default".to_owned(), problem("A problem, as an ATDF enriched error"));
        let mut told =
            json!({"summary": self.about, "parameters": parameters, "responses": responses});
        if !matches!(self.takes, Form::None) {
            told["requestBody"] = json!({"required": true, "content": content(self.takes)});
        }
        match self.scope {
            Some(scope) => told["x-scope"] = scope.as_str().into(),
            None => told["security"] = json!([]),
        }
        told
    }
}

fn content(form: Form) -> Value {
    match form {
        Form::None => json!({}),
        Form::Other(kind) => json!({ kind: {"schema": {}} }),
        Form::Named(name) => {
            json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{name}")}}})
        }
        Form::Members(names) => {
            let members: Map<String, Value> =
                names.split(", ").map(|name| (name.to_owned(), member(name))).collect();
            json!({"application/json": {"schema": {"type": "object", "properties": members}}})
        }
    }
}

/// What a member is, where its name alone says it.
fn member(name: &str) -> Value {
    let list = |of: &str| json!({"type": "array", "items": {"$ref": format!("#/components/schemas/{of}")}});
    match name {
        "replies" => list("Row"),
        "reply" => json!({"$ref": "#/components/schemas/Row"}),
        "events" => list("EventDocument"),
        "artifacts" | "versions" => list("ArtifactDocument"),
        "artifact" => json!({"$ref": "#/components/schemas/ArtifactDocument"}),
        "servers" => list("ServerView"),
        "findings" => list("ValidationError"),
        _ => json!({}),
    }
}

fn schemas() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
    });
    let mut generator = settings.into_generator();
    add::<Row>(&mut generator);
    add::<CaseDocument>(&mut generator);
    add::<EventDocument>(&mut generator);
    add::<ArtifactDocument>(&mut generator);
    add::<NewEvent>(&mut generator);
    add::<Proposal>(&mut generator);
    add::<Question>(&mut generator);
    add::<AgentsView>(&mut generator);
    add::<ServerView>(&mut generator);
    add::<ToolView>(&mut generator);
    add::<Commands>(&mut generator);
    add::<answerback::ValidationError>(&mut generator);
    let mut schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    let of_kind = |kind: &str, name: &str| {
        json!({"allOf": [
            {"type": "object", "required": ["kind"], "properties": {"kind": {"const": kind}}},
            {"$ref": format!("#/components/schemas/{name}")},
        ]})
    };
    let own = json!({
        "NewCase": {"oneOf": [of_kind("proposal", "Proposal"), of_kind("question", "Question")]},
        "NewEvents": {"oneOf": [{"$ref": "#/components/schemas/NewEvent"}, {"type": "array", "items": {"$ref": "#/components/schemas/NewEvent"}}]},
        "Submission": {
            "type": "object",
            "required": ["decision", "digest", "revision"],
            "properties": {
                "decision": {"enum": ["approve", "modify", "reject", "respond", "defer"]},
                "digest": {"type": "string", "description": "The digest of the case as the person saw it"},
                "revision": {"type": "integer", "description": "The revision of the case as the person saw it"},
                "arguments": {"description": "With modify: the arguments instead"},
                "reason": {"type": "string", "description": "With reject: why"},
                "message": {"type": "string", "description": "With respond: the answer"},
                "until": {"type": "string", "format": "date-time", "description": "With defer: when the case asks again"},
            },
        },
        "Session": {
            "type": "object",
            "properties": {
                "principal": {"type": "string"}, "scopes": {"type": "array", "items": {"type": "string"}},
                "server": {"type": "string", "description": "Names this run of the server"},
                "version": {"type": "string"}, "log": {"type": ["string", "null"]}, "demo": {"type": "boolean"},
                "commands": {"$ref": "#/components/schemas/Commands"},
            },
        },
        "Proof": {
            "type": "object",
            "properties": {
                "state": {"enum": ["verified", "recorded", "mismatch"]},
                "checked_by": {"const": "server"},
                "checks": {"type": "array", "items": {"type": "object", "properties": {
                    "name": {"type": "string"}, "ok": {"type": "boolean"}, "detail": {"type": "string"}}}},
                "index": {"type": "integer"}, "leaf_hash": {"type": "string"}, "leaf": {"type": "object"},
                "size": {"type": "integer"}, "root": {"type": "string"}, "checkpoint": {"type": "string"},
                "receipt": {"type": "string", "description": "A C2SP tlog-proof"}, "key": {"type": "string"},
                "command": {"type": "string"},
            },
        },
        "Problem": {
            "type": "object",
            "required": ["status", "data", "meta"],
            "properties": {
                "status": {"const": "error"},
                "data": {"type": "object", "properties": {
                    "code": {"type": "string"}, "message": {"type": "string"},
                    "details": {"type": "object", "properties": {
                        "field": {"type": "string"}, "received": {}, "expected": {}, "solution": {"type": "string"}}}}},
                "meta": {"type": "object"},
            },
        },
    });
    if let Value::Object(own) = own {
        schemas.extend(own);
    }
    schemas.into()
}

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        assert!(document["paths"].as_object().unwrap().len() > 25);
    }
}
