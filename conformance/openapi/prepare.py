"""Adds data to a new server for the requests of schemathesis, and prints the ids as shell assignments.

Usage: prepare.py ADDRESS TOKEN
The folder `files` in the working directory is the one that the server serves files from.
"""

import json
import pathlib
import sys
import urllib.request

address, token = sys.argv[1:3]


def ask(method, path, body=None, headers=None):
    """Sends a request, and returns the headers and the document of the answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, method=method)
    request.add_header("Authorization", f"Bearer {token}")
    if data is not None:
        request.add_header("Content-Type", "application/json")
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read().decode()
        return answer.headers, json.loads(text) if text.startswith(("{", "[")) else None


def envelope(kind, summary, artifact):
    """Returns a UI envelope with one artifact."""
    return {
        "response_type": kind, "summary": summary, "artifacts": [artifact], "missions_spawned": [],
        "signals_emitted": [], "live_stream_id": None, "ui_hints": None,
        "timestamp": "2026-03-12T10:02:11.000000+00:00", "metadata": {},
    }


# The tools are known once a client has asked for them.
accept = {"Accept": "application/json, text/event-stream"}
headers, _ = ask("POST", "/mcp", {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "openapi", "version": "1"}},
}, accept)
session = {"Mcp-Session-Id": headers["Mcp-Session-Id"]}
ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, accept | session)

# One entry of each kind: replies in every contract, a case, a stream, an escalation.
for example in ask("GET", "/api/examples")[1]["examples"]:
    if example["name"] not in ("descriptor", "handoff", "manifest", "lock"):
        ask("POST", "/api/replies", example["document"])
pathlib.Path("files/report.txt").write_text("All berths are free.\n")
content = {"file_path": "report.txt", "file_type": "text", "size_bytes": 21}
artifact = {"artifact_type": "file_reference", "title": "Report", "content": content, "metadata": {}}
reply = ask("POST", "/api/replies", envelope("artifact_bundle", "A report.", artifact))[1]
case = ask("POST", "/api/cases", {"kind": "question", "question": "Ship the release?", "options": ["Yes", "No"]})[1]
ask("POST", "/api/streams/build/events", [{"kind": "note", "body": {"text": "Started"}}])
for turn in range(4):
    schema = {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}}
    call = {"id": f"c{turn}", "tool": "send", "arguments": {"to": turn}, "schema": schema, "conversation": "one"}
    ask("POST", "/api/calls/check", call)

print(f"REPLY={reply['id']}\nARTIFACT={reply['artifacts'][0]['id']}\nCASE={case['case']['id']}")
