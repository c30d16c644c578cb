"""Tests real clients and published servers with Answerback between them: list, call, fail, correct, escalate, resolve.

    run.py ANSWERBACK ROOM wrap|serve [--write]

ROOM is the folder in which scripts/fetch-conformance installed the clients and servers. Each step is a line of JSON. The
lines are compared with `expected/`, which has one file per server for all clients. Exits with 1 if a line differs.
`--write` writes the files again from the first client.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ours import Ours

HERE = Path(__file__).parent
# The longest time for a step, in seconds.
TIMEOUT = 60
# The largest number of wrong calls. A case must exist by then.
MAX_WRONG = 10


def servers(room, folder):
    """Returns the published servers, each with its command, a valid call and an invalid one."""
    packages = room / "node/node_modules/@modelcontextprotocol"
    entity = {"name": "harbour", "entityType": "place", "observations": ["has a crane"]}
    return {
        "everything": {
            "command": ["node", f"{packages}/server-everything/dist/index.js"],
            "tool": "get-sum",
            "right": {"a": 2, "b": 3},
            "wrong": {"a": "two"},
        },
        "filesystem": {
            "command": ["node", f"{packages}/server-filesystem/dist/index.js", str(folder)],
            "tool": "write_file",
            "right": {"path": f"{folder}/note.txt", "content": "crane"},
            "wrong": {"path": f"{folder}/note.txt", "contents": "crane"},
        },
        "memory": {
            "command": ["env", f"MEMORY_FILE_PATH={folder}/memory.jsonl", "node", f"{packages}/server-memory/dist/index.js"],
            "tool": "create_entities",
            "right": {"entities": [entity]},
            "wrong": {"entities": [{"name": "harbour", "entityType": "place"}]},
        },
    }


def clients(room):
    """Returns the SDKs of both eras in both languages. Node finds packages by the path of a program, so it is copied."""
    node = room / "node/clients"
    node.mkdir(exist_ok=True)
    for file in HERE.glob("*.mjs"):
        shutil.copy(file, node)
    return {
        "typescript-legacy": ["node", node / "client_legacy.mjs"],
        "typescript-modern": ["node", node / "client_modern.mjs"],
        "python-legacy": [room / "python-legacy/bin/python", HERE / "client_legacy.py"],
        "python-modern": [room / "python-modern/bin/python", HERE / "client_modern.py"],
    }


class Client:
    """A running client."""

    def __init__(self, command, target, log):
        self.log = log
        self.process = subprocess.Popen(
            [*map(str, command), json.dumps(target)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log.open("wb"), text=True,
        )  # fmt: skip

    def do(self, **step):
        self.process.stdin.write(json.dumps(step) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the client ended: {self.log.read_text()[-2000:]}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(TIMEOUT)


def visible_parts(answer, reached):
    """Returns the parts of a response that all clients must see, and the number of calls that reached the server."""
    if "error" in answer:
        return {"error": answer["error"], "reached": reached}
    meta = answer.get("_meta") or {}
    retry = meta.get("dev.answerback/retry") or {}
    envelope = meta.get("dev.answerback/envelope") or {}
    return {
        "isError": answer.get("isError", False),
        "text": [block.get("text") for block in answer["content"]],
        "structured": answer.get("structuredContent"),
        "retry": {key: retry[key] for key in ("attempt", "max", "retryable", "class", "code") if key in retry},
        "status": envelope.get("status"),
        "receipt": sorted(meta.get("dev.answerback/receipt") or {}),
        "reached": reached,
    }


def play(client, server, ours, notes):
    """Runs the steps, and yields each with its result."""

    def reached():
        return len(notes.read_text().splitlines()) if notes.exists() else 0

    def call(arguments):
        return visible_parts(client.do(do="call", name=server["tool"], arguments=arguments), reached())

    listed = client.do(do="list")
    yield "list", {"tools": sorted(tool["name"] for tool in listed["tools"])}
    yield "call", call(server["right"])
    yield "fail", call(server["wrong"])
    yield "correct", call(server["right"])
    yield from fail_until_stopped(call, server)
    yield "blocked", call(server["wrong"])
    cases = [json.loads(line) for line in ours.inbox("list", "--format", "json").splitlines()]
    yield "inbox", {"waiting": len(cases), "tool": [case["content"]["tool"] for case in cases]}
    decided = ours.decide("modify", cases[0]["case"]["id"], json.dumps(server["right"]))
    yield "resolve", {"said": decided}
    yield "call again", call(server["wrong"])
    yield "and again", call(server["right"])
    yield from fail_until_stopped(call, server)
    yield "valid while blocked", call(server["right"])
    yield "inbox", {"waiting": ours.inbox("list").strip()}


def fail_until_stopped(call, server):
    """Sends the wrong arguments until a case is opened for a person."""
    for _ in range(MAX_WRONG):
        answer = call(server["wrong"])
        yield "fail again", answer
        if answer["retry"].get("class") == "stop":
            break


def without_variable_parts(text, folder):
    """Replaces the parts of a line that differ between runs."""
    text = text.replace(str(folder), "FOLDER")
    # A printed command contains the path of the store or configuration, in a folder of this run.
    place = r" --(?:store|config) [^ )]*" + re.escape(folder.parent.name) + r"[^ )]*"
    text = re.sub(f"(?:{place})+", " --store STORE", text)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "ID", text)
    # With a console, the text also contains a link to it.
    text = re.sub(r"http://127\.0\.0\.1:\d+/inbox/ID, or ", "", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)", "TIME", text)


def lines(client_command, name, room, program, transport, scratch):
    """Runs one client with one server through the gateway, and yields the lines."""
    folder = scratch / "files"
    folder.mkdir(parents=True)
    server = servers(room, folder)[name]
    notes = scratch / "reached"
    command = [sys.executable, str(HERE / "tap.py"), str(notes), *server["command"]]
    ours = Ours(program, scratch / "ours")
    try:
        if transport == "wrap":
            target = ours.wrap(name, command)
        else:
            target = ours.serve({name: json.dumps({"command": command[0], "args": command[1:]})})
        client = Client(client_command, target, scratch / "client.log")
        try:
            for step, seen in play(client, server, ours, notes):
                yield without_variable_parts(json.dumps({"step": step, **seen}, ensure_ascii=False), folder)
        finally:
            client.close()
    finally:
        ours.close()


def main():
    program, room, transport = sys.argv[1], Path(sys.argv[2]).absolute(), sys.argv[3]
    writes = "--write" in sys.argv
    differences = 0
    for name in servers(room, room):
        file = HERE / "expected" / f"{name}.jsonl"
        for client, command in clients(room).items():
            with tempfile.TemporaryDirectory(dir=room) as scratch:
                try:
                    seen = list(lines(command, name, room, program, transport, Path(scratch)))
                except (RuntimeError, subprocess.SubprocessError, LookupError) as error:
                    seen = [f"failed: {error!r}"]
            if writes and client == "typescript-legacy":
                file.write_text("".join(line + "\n" for line in seen))
            expected = file.read_text().splitlines()
            wrong = [(a, b) for a, b in zip(expected, seen) if a != b]
            wrong += [(line, "nothing") for line in expected[len(seen):]]
            wrong += [("nothing", line) for line in seen[len(expected):]]
            print(f"{transport}: {client} with {name}: {len(seen)} steps, {len(wrong)} differ", flush=True)
            for a, b in wrong[:3]:
                print(f"  expected {a}\n  saw      {b}")
            differences += len(wrong)
    return 1 if differences else 0


sys.exit(main())
