"""A client that reads nothing into what it gets: JSON lines on pipes, or HTTP with answers as JSON or events."""

import json
import subprocess
import time
import urllib.error
import urllib.request

# Nobody is waited for longer.
PATIENCE = 60


class Client:
    """A session of the revision that every gateway speaks."""

    REVISION = "2025-11-25"

    def __init__(self):
        self.next = 0

    def open(self):
        hello = {"protocolVersion": self.REVISION, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        self.ask("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, None)

    def ask(self, method, params):
        """The response, as text and as value."""
        self.next += 1
        text = self.send({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}, self.next)
        return text, json.loads(text)


class Pipes(Client):
    def __init__(self, command, environment=None):
        super().__init__()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
        )
        self.open()

    def send(self, message, identity):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        while identity is not None:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("it ended")
            if json.loads(line).get("id") == identity:
                return line
        return None

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()


def end(processes):
    """Ends programs that were started for a client, the last one first."""
    for process in reversed(processes):
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()


class Http(Client):
    def __init__(self, url, token=None, *processes):
        super().__init__()
        self.url, self.processes = url, processes
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": self.REVISION,
        }
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        begun = time.monotonic()
        while True:
            try:
                return self.open()
            except (urllib.error.URLError, ConnectionError) as error:
                if time.monotonic() - begun > PATIENCE or any(it.poll() is not None for it in processes):
                    raise RuntimeError(f"it did not become ready: {error}") from error
                time.sleep(0.1)

    def send(self, message, identity):
        request = urllib.request.Request(self.url, json.dumps(message).encode(), self.headers)
        try:
            response = urllib.request.urlopen(request, timeout=PATIENCE)
        except urllib.error.HTTPError as error:
            # Some answer JSON-RPC errors with a status of their own.
            text = error.read().decode()
            if identity is not None and text.startswith("{") and "jsonrpc" in text:
                return text
            raise
        with response:
            if session := response.headers.get("mcp-session-id"):
                self.headers["mcp-session-id"] = session
            if identity is None:
                return None
            for line in response:
                text = line.decode().removeprefix("data:").strip()
                if text.startswith("{") and json.loads(text).get("id") == identity:
                    return text
        raise RuntimeError("no response")

    def close(self):
        end(self.processes)


class OpenApi:
    """Tools as paths of an HTTP API, told as if they were those of MCP."""

    def __init__(self, url, *processes):
        self.url, self.processes = url, processes
        begun = time.monotonic()
        while self.send("openapi.json")[0] != 200:
            if time.monotonic() - begun > PATIENCE or any(it.poll() is not None for it in processes):
                raise RuntimeError("it did not become ready")
            time.sleep(0.1)

    def send(self, path, body=None):
        request = urllib.request.Request(f"{self.url}/{path}", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (urllib.error.URLError, ConnectionError):
            return 0, ""

    def ask(self, method, params):
        """The response, as text and as the value that it would be in MCP. An error's code is the status."""
        if method == "tools/list":
            text = self.send("openapi.json")[1]
            paths = json.loads(text)["paths"]
            return text, {"result": {"tools": [{"name": path.removeprefix("/")} for path in paths]}}
        status, text = self.send(params["name"], json.dumps(params["arguments"]).encode())
        if status != 200:
            return text, {"error": {"code": f"HTTP {status}", "message": text}}
        said = json.loads(text)
        block = said if isinstance(said, dict) else {}
        return text, {"result": {"content": [{**block, "type": "text", "text": said if isinstance(said, str) else text}]}}

    def close(self):
        end(self.processes)
