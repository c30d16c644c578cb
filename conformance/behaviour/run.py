"""What gateways do to calls and answers: the same server, the same calls, a column a gateway.

    run.py ANSWERBACK PEERS [OUTPUT]

PEERS is where scripts/fetch-conformance put the other gateways; one that is not there has no column. Prints the table,
or writes it to OUTPUT. Ends with 1 where ours is not what it must be.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "clients"))
from client import Http, Pipes  # noqa: E402
from ours import Ours  # noqa: E402

ERROR = {"code": -32050, "message": "the crane is broken", "data": {"crane": 7, "until": "noon"}}
# What ours must be, in wrap and in serve.
REFUSED = "not forwarded, `isError` names the fields"
MUST = {
    "missing required": REFUSED,
    "wrong type": REFUSED,
    "bad enum + extra key": REFUSED,
    "output violates outputSchema": "relayed, warning in `_meta`",
    "declared outputSchema, none returned": "relayed, warning in `_meta`",
    "upstream JSON-RPC error with `data`": "relayed intact",
    "unknown fields in tool, result, content, `_meta`": "kept",
    "key order and a number of 23 digits": "kept",
    "unknown tool": "-32602, not forwarded",
    "tool names": "same",
}


class Gateway:
    """A gateway before the stub, with a session open."""

    def __init__(self, client, notes):
        self.client, self.notes = client, notes
        self.listed = client.ask("tools/list", {})[1]["result"]["tools"]

    def name(self, tool):
        """What the gateway calls a tool of the stub; some put words before it or spell it anew."""
        spelt = [it["name"] for it in self.listed]
        for candidate in spelt:
            if candidate.replace("-", "_").endswith(tool):
                return candidate
        return tool

    def call(self, tool, arguments):
        """The response as text and value, and whether the stub saw the call."""
        before = len(self.notes.read_text())
        text, value = self.client.ask("tools/call", {"name": self.name(tool), "arguments": arguments})
        return text, value, len(self.notes.read_text()) > before


def refused(gateway, arguments, fields):
    _, value, forwarded = gateway.call("order", arguments)
    where = "forwarded" if forwarded else "not forwarded"
    if "error" in value:
        return f"{where}, {value['error']['code']}"
    if not value["result"].get("isError"):
        return f"{where}, success"
    said = json.dumps(value["result"]["content"])
    return f"{where}, `isError`" + (" names the fields" if all(field in said for field in fields) else "")


def output(gateway, tool, kept):
    _, value, _ = gateway.call(tool, {})
    if "error" in value:
        return f"{value['error']['code']}, payload lost"
    result = value["result"]
    payload = "" if any(block.get("text") == kept for block in result["content"]) else ", payload lost"
    if result.get("isError"):
        return f"`isError`{payload}"
    warned = "OUTPUT_MISMATCH" in json.dumps(result.get("_meta", {}))
    return "relayed" + payload + (", warning in `_meta`" if warned else "")


def failure(gateway):
    _, value, _ = gateway.call("rpc_error", {})
    if value.get("error") == ERROR:
        return "relayed intact"
    whole = json.dumps(value)
    data = "data kept" if '"crane": 7' in whole else "data in the text" if "noon" in whole else "data lost"
    words = "" if ERROR["message"] in whole else ", words lost"
    kind = f"JSON-RPC {value['error']['code']}" if "error" in value else "`isError`"
    return f"{kind}, {data}{words}"


def unknown_fields(gateway):
    _, value, _ = gateway.call("extras", {})
    result = value["result"]
    tool = next(it for it in gateway.listed if it["name"] == gateway.name("extras"))
    places = {
        "tool": tool.get("x-tool"),
        "result": result.get("x-result"),
        "content": result["content"][0].get("x-block"),
        "`_meta`": result.get("_meta", {}).get("example.org/mark"),
    }
    lost = [place for place, found in places.items() if found != "kept"]
    return f"dropped in {', '.join(lost)}" if lost else "kept"


def spelling(gateway):
    text, _, _ = gateway.call("extras", {})
    packed = text.replace(" ", "")
    if '"structuredContent":{"z":1,"a":12345678901234567890123}' in packed:
        return "kept"
    if "12345678901234567890123" in packed:
        return "reordered"
    return "number changed" if "structuredContent" in packed else "dropped"


def unknown_tool(gateway):
    before = len(gateway.notes.read_text())
    _, value = gateway.client.ask("tools/call", {"name": "odrer", "arguments": {}})
    where = "forwarded" if len(gateway.notes.read_text()) > before else "not forwarded"
    return f"{value['error']['code'] if 'error' in value else '`isError`'}, {where}"


def names(gateway):
    found = [it["name"] for it in gateway.listed]
    mine = ["order", "bad_output", "no_output", "rpc_error", "extras"]
    if sorted(found) == sorted(mine):
        return "same"
    other = [it for it in found if not any(it.replace("-", "_").endswith(name) for name in mine)]
    return f"`{gateway.name('bad_output')}`" + (f" and {len(other)} of its own" if other else "")


CASES = {
    "missing required": lambda it: refused(it, {"id": 1}, ["size"]),
    "wrong type": lambda it: refused(it, {"id": "one", "size": "small"}, ["id"]),
    "bad enum + extra key": lambda it: refused(it, {"id": 1, "size": "huge", "colour": "red"}, ["size", "colour"]),
    "output violates outputSchema": lambda it: output(it, "bad_output", '{"total":"many"}'),
    "declared outputSchema, none returned": lambda it: output(it, "no_output", "no total"),
    "upstream JSON-RPC error with `data`": failure,
    "unknown fields in tool, result, content, `_meta`": unknown_fields,
    "key order and a number of 23 digits": spelling,
    "unknown tool": unknown_tool,
    "tool names": names,
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def started(command, port, folder, path="mcp"):
    """A peer that listens."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(list(map(str, command)), cwd=folder, env={**os.environ, "HOME": str(folder)}, **quiet)
    return Http(f"http://127.0.0.1:{port}/{path}", process=process)


def columns(program, peers):
    """The gateways that are there: a name, and how a client comes to it."""

    def supergateway(stub, folder):
        port = free_port()
        place = peers / "node/node_modules/.bin/supergateway"
        options = ["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none"]
        return started([place, "--stdio", " ".join(stub), "--port", port, *options], port, folder)

    def python_proxy(stub, folder):
        port = free_port()
        return started([peers / "mcp-proxy/bin/mcp-proxy", "--port", port, "--", *stub], port, folder)

    def fastmcp(stub, folder):
        port = free_port()
        file = folder / "mcp.json"
        file.write_text(json.dumps({"mcpServers": {"stub": {"command": stub[0], "args": stub[1:]}}}))
        options = ["--transport", "http", "--port", port, "--no-banner", "--log-level", "ERROR"]
        return started([peers / "fastmcp/bin/fastmcp", "run", file, *options], port, folder)

    def rust_proxy(stub, folder):
        port = free_port()
        file = folder / "proxy.toml"
        listen = f'[proxy]\nname = "probe"\n[proxy.listen]\nhost = "127.0.0.1"\nport = {port}\n'
        backend = f'[[backends]]\nname = "stub"\ntransport = "stdio"\ncommand = {json.dumps(stub[0])}\n'
        file.write_text(f"{listen}{backend}args = {json.dumps(stub[1:])}\n")
        return started([peers / "rust/bin/mcp-proxy", "--config", file], port, folder, path="")

    def wrap(stub, folder):
        how = Ours(program, folder / "ours").wrap("stub", stub)
        return Pipes([how["command"], *how["args"]], how["env"])

    def serve(stub, folder):
        ours = Ours(program, folder / "ours")
        target = ours.serve({"stub": json.dumps({"command": stub[0], "args": stub[1:]})})
        return Http(target["url"], target["token"], ours.serving)

    yield "direct", lambda stub, _: Pipes(stub)
    yield "answerback wrap", wrap
    yield "answerback serve", serve
    for name, place, how in [
        ("supergateway 4.0.0", "node/node_modules/.bin/supergateway", supergateway),
        ("mcp-proxy (Python) 0.13.0", "mcp-proxy/bin/mcp-proxy", python_proxy),
        ("FastMCP 4.1.0", "fastmcp/bin/fastmcp", fastmcp),
        ("mcp-proxy (Rust) 0.6.0", "rust/bin/mcp-proxy", rust_proxy),
    ]:
        if (peers / place).exists():
            yield name, how
        else:
            print(f"{name}: skipped, not installed", file=sys.stderr)


def column(how):
    """What one gateway does in each case."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        client = how([sys.executable, str(HERE / "stub.py"), str(notes)], Path(folder))
        try:
            gateway = Gateway(client, notes)
            return {case: tried(play, gateway) for case, play in CASES.items()}
        finally:
            client.close()


def tried(play, gateway):
    try:
        return play(gateway)
    except (RuntimeError, OSError, LookupError) as error:
        return f"failed: {error!r}"


def main():
    program, peers = str(Path(sys.argv[1]).absolute()), Path(sys.argv[2]).absolute()
    table = {name: column(how) for name, how in columns(program, peers)}
    lines = ["| case | " + " | ".join(table) + " |", "|---" * (len(table) + 1) + "|"]
    lines += [f"| {case} | " + " | ".join(it[case] for it in table.values()) + " |" for case in CASES]
    text = "\n".join(lines) + "\n"
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text((HERE / "preface.md").read_text() + text)
    else:
        print(text, end="")
    status = 0
    for name in table:
        for case, must in MUST.items():
            if name.startswith("answerback") and table[name][case] != must:
                print(f"{name}: {case}: must be {must!r}, is {table[name][case]!r}", file=sys.stderr)
                status = 1
    return status


sys.exit(main())
