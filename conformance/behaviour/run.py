"""Compares how gateways change calls and responses: the same server, the same calls, and one column per gateway.

    run.py ANSWERBACK [PEERS [OUTPUT]]

PEERS is the folder in which scripts/fetch-conformance installed the other gateways. A gateway that is missing or does
not start has no column. Without PEERS, only Answerback is tested. Prints the table, or writes it to OUTPUT. Exits with
1 if a result of Answerback is not the required one.
"""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "clients"))
from client import Http, OpenApi, Pipes, end  # noqa: E402
from ours import Ours  # noqa: E402

ERROR = {"code": -32050, "message": "the crane is broken", "data": {"crane": 7, "until": "noon"}}
# The required results of Answerback, for wrap and serve.
REJECTED = "not forwarded, `isError` names the fields"
REQUIRED = {
    "missing required": REJECTED,
    "wrong type": REJECTED,
    "bad enum + extra key": REJECTED,
    "output violates outputSchema": "relayed, warning in `_meta`",
    "declared outputSchema, none returned": "relayed, warning in `_meta`",
    "upstream JSON-RPC error with `data`": "relayed intact",
    "unknown fields in tool, result, content, `_meta`": "kept",
    "key order and a number of 23 digits": "kept",
    "unknown tool": "-32602, not forwarded",
    "tool names": "same",
}


class Gateway:
    """A gateway in front of the stub, with an open session."""

    def __init__(self, client, notes):
        self.client, self.notes = client, notes
        self.listed = client.ask("tools/list", {})[1]["result"]["tools"]

    def name(self, tool):
        """Returns the gateway's name for a tool of the stub. Some gateways add a prefix or change the spelling."""
        names = [it["name"] for it in self.listed]
        for candidate in names:
            if candidate.replace("-", "_").endswith(tool):
                return candidate
        return tool

    def call(self, tool, arguments):
        """Returns the response as text and value, and true if the call reached the stub."""
        before = len(self.notes.read_text())
        text, value = self.client.ask("tools/call", {"name": self.name(tool), "arguments": arguments})
        return text, value, len(self.notes.read_text()) > before


def rejection(gateway, arguments, fields):
    _, value, forwarded = gateway.call("order", arguments)
    where = "forwarded" if forwarded else "not forwarded"
    if "error" in value:
        return f"{where}, {value['error']['code']}"
    if not value["result"].get("isError"):
        return f"{where}, success"
    content = json.dumps(value["result"]["content"])
    return f"{where}, `isError`" + (" names the fields" if all(field in content for field in fields) else "")


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
    code = value["error"]["code"] if "error" in value else None
    kind = "`isError`" if code is None else code if isinstance(code, str) else f"JSON-RPC {code}"
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
    expected = ["order", "bad_output", "no_output", "rpc_error", "extras"]
    if sorted(found) == sorted(expected):
        return "same"
    other = [it for it in found if not any(it.replace("-", "_").endswith(name) for name in expected)]
    return f"`{gateway.name('bad_output')}`" + (f" and {len(other)} of its own" if other else "")


CASES = {
    "missing required": lambda it: rejection(it, {"id": 1}, ["size"]),
    "wrong type": lambda it: rejection(it, {"id": "one", "size": "small"}, ["id"]),
    "bad enum + extra key": lambda it: rejection(it, {"id": 1, "size": "huge", "colour": "red"}, ["size", "colour"]),
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


def start_quietly(command, folder, environment=None):
    """Starts a program without input and output."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    variables = {**os.environ, "HOME": str(folder), **(environment or {})}
    return subprocess.Popen(list(map(str, command)), cwd=folder, env=variables, **quiet)


def start_peer(command, port, folder, path="mcp"):
    """Starts a gateway that listens on a port."""
    return Http(f"http://127.0.0.1:{port}/{path}", None, start_quietly(command, folder))


class ContextForge:
    """ContextForge with an administrator, set up with its own commands and API."""

    # The longest wait for this gateway, which is slow to start, in seconds.
    TIMEOUT = 120

    def __init__(self, place, folder):
        self.place, self.folder, self.port = place, folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.administrator = "admin@example.com"
        self.environment = {
            "DATABASE_URL": f"sqlite:///{folder}/contextforge.db",
            "JWT_SECRET_KEY": secrets.token_hex(32),
            "AUTH_ENCRYPTION_SECRET": secrets.token_hex(32),
            "PLATFORM_ADMIN_EMAIL": self.administrator,
            "PLATFORM_ADMIN_PASSWORD": f"Aa1!{secrets.token_hex(12)}",
            "RATE_LIMITING_ENABLED": "false",
            "SSRF_ALLOW_LOCALHOST": "true",
        }
        arguments = ["mcpgateway.main:app", "--host", "127.0.0.1", "--port", self.port]
        self.process = start_quietly([place / "bin/mcpgateway", *arguments], folder, self.environment)

    def token(self):
        """Creates a token of the administrator."""
        command = [self.place / "bin/python", "-m", "mcpgateway.utils.create_jwt_token", "--username", self.administrator]
        variables = {**os.environ, "HOME": str(self.folder), **self.environment}
        command += ["--exp", "60", "--secret", self.environment["JWT_SECRET_KEY"], "--admin"]
        done = subprocess.run(list(map(str, command)), cwd=self.folder, env=variables, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-300:])
        return done.stdout.split()[-1]

    def ask(self, method, path, token, body=None):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        text = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, text, headers, method=method)
        with urllib.request.urlopen(request, timeout=self.TIMEOUT) as response:
            return json.loads(response.read())

    def ready(self):
        until = time.monotonic() + self.TIMEOUT
        while True:
            try:
                return urllib.request.urlopen(self.url + "/health", timeout=5).close()
            except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise RuntimeError(f"it did not become ready: {error}") from error
                time.sleep(0.2)


def columns(program, peers):
    """The gateways that are there: a name, and how a client comes to it."""

    def supergateway(stub, folder):
        port = free_port()
        place = peers / "node/node_modules/.bin/supergateway"
        options = ["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none"]
        return start_peer([place, "--stdio", " ".join(stub), "--port", port, *options], port, folder)

    def python_proxy(stub, folder):
        port = free_port()
        return start_peer([peers / "mcp-proxy/bin/mcp-proxy", "--port", port, "--", *stub], port, folder)

    def fastmcp(stub, folder):
        port = free_port()
        file = folder / "mcp.json"
        file.write_text(json.dumps({"mcpServers": {"stub": {"command": stub[0], "args": stub[1:]}}}))
        options = ["--transport", "http", "--port", port, "--no-banner", "--log-level", "ERROR"]
        return start_peer([peers / "fastmcp/bin/fastmcp", "run", file, *options], port, folder)

    def rust_proxy(stub, folder):
        port = free_port()
        file = folder / "proxy.toml"
        listen = f'[proxy]\nname = "probe"\n[proxy.listen]\nhost = "127.0.0.1"\nport = {port}\n'
        backend = f'[[backends]]\nname = "stub"\ntransport = "stdio"\ncommand = {json.dumps(stub[0])}\n'
        file.write_text(f"{listen}{backend}args = {json.dumps(stub[1:])}\n")
        return start_peer([peers / "rust/bin/mcp-proxy", "--config", file], port, folder, path="")

    def contextforge(stub, folder):
        port = free_port()
        behind = start_quietly([*stub, port], folder)
        gateway = ContextForge(peers / "contextforge", folder)
        try:
            gateway.ready()
            token = gateway.token()
            server = {"name": "stub", "url": f"http://127.0.0.1:{port}/mcp", "transport": "STREAMABLEHTTP"}
            gateway.ask("POST", "/gateways", token, server)
            tools = [it["id"] for it in gateway.ask("GET", "/tools", token)]
            made = gateway.ask("POST", "/servers", token, {"server": {"name": "probe", "associated_tools": tools}})
            return Http(f"{gateway.url}/servers/{made['id']}/mcp", token, behind, gateway.process)
        except BaseException:
            end([behind, gateway.process])
            raise

    def mcpo(stub, folder):
        port = free_port()
        command = [peers / "mcpo/bin/mcpo", "--host", "127.0.0.1", "--port", port, "--", *stub]
        return OpenApi(f"http://127.0.0.1:{port}", start_quietly(command, folder))

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
    if peers is None:
        return
    for name, place, how in [
        ("supergateway 4.0.0", "node/node_modules/.bin/supergateway", supergateway),
        ("mcp-proxy (Python) 0.13.0", "mcp-proxy/bin/mcp-proxy", python_proxy),
        ("FastMCP 4.1.0", "fastmcp/bin/fastmcp", fastmcp),
        ("ContextForge 1.0.7", "contextforge/bin/mcpgateway", contextforge),
        ("mcp-proxy (Rust) 0.6.0", "rust/bin/mcp-proxy", rust_proxy),
        ("mcpo 0.0.20 (OpenAPI)", "mcpo/bin/mcpo", mcpo),
    ]:
        if (peers / place).exists():
            yield name, how
        else:
            print(f"{name}: skipped, not installed", file=sys.stderr)


def column(how):
    """Returns the result of one gateway in each case."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        client = how([sys.executable, str(HERE / "stub.py"), str(notes)], Path(folder))
        try:
            gateway = Gateway(client, notes)
            return {case: run_case(play, gateway) for case, play in CASES.items()}
        finally:
            client.close()


def run_case(play, gateway):
    try:
        return play(gateway)
    except (RuntimeError, OSError, LookupError) as error:
        return f"failed: {error!r}"


def main():
    program = str(Path(sys.argv[1]).absolute())
    peers = Path(sys.argv[2]).absolute() if len(sys.argv) > 2 else None
    table = {}
    for name, how in columns(program, peers):
        try:
            table[name] = column(how)
        except (RuntimeError, OSError, LookupError) as error:
            # A failure of Answerback or of the stub itself ends the test.
            if name.startswith(("direct", "answerback")):
                raise
            print(f"{name}: skipped, {error!r}", file=sys.stderr)
    lines = ["| case | " + " | ".join(table) + " |", "|---" * (len(table) + 1) + "|"]
    lines += [f"| {case} | " + " | ".join(it[case] for it in table.values()) + " |" for case in CASES]
    text = "\n".join(lines) + "\n"
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text((HERE / "preface.md").read_text() + text)
    else:
        print(text, end="")
    status = 0
    for name in table:
        for case, must in REQUIRED.items():
            if name.startswith("answerback") and table[name][case] != must:
                print(f"{name}: {case}: must be {must!r}, is {table[name][case]!r}", file=sys.stderr)
                status = 1
    return status


sys.exit(main())
