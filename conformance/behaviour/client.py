"""A minimal client that returns responses unchanged: JSON lines on pipes, or HTTP with JSON or event streams."""

import json
import subprocess
import time
import urllib.error
import urllib.request

# The longest wait for a program, in seconds.
TIMEOUT = 60


class Client:
    """A session of the protocol revision that every gateway supports."""

    REVISION = "2025-11-25"

    def __init__(self):
        self.next = 0

    def open(self):
        hello = {"protocolVersion": self.REVISION, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        self.ask("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, None)

    def ask(self, method, params):
        """Returns the response as text and as a value."""
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
            self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()


def end(processes):
    """Ends the programs that were started for a client, in reverse order."""
    for process in reversed(processes):
        process.terminate()
        try:
            process.wait(TIMEOUT)
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
                if time.monotonic() - begun > TIMEOUT or any(it.poll() is not None for it in processes):
                    raise RuntimeError(f"it did not become ready: {error}") from error
                time.sleep(0.1)

    def send(self, message, identity):
        request = urllib.request.Request(self.url, json.dumps(message).encode(), self.headers)
        try:
            response = urllib.request.urlopen(request, timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            # Some gateways send JSON-RPC errors with an HTTP error status.
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
    """Calls tools that are paths of an HTTP API, and returns their results in the form of MCP."""

    def __init__(self, url, *processes):
        self.url, self.processes = url, processes
        begun = time.monotonic()
        while self.send("openapi.json")[0] != 200:
            if time.monotonic() - begun > TIMEOUT or any(it.poll() is not None for it in processes):
                raise RuntimeError("it did not become ready")
            time.sleep(0.1)

    def send(self, path, body=None):
        request = urllib.request.Request(f"{self.url}/{path}", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (urllib.error.URLError, ConnectionError):
            return 0, ""

    def ask(self, method, params):
        """Returns the response as text and as the equivalent value in MCP. The code of an error is its HTTP status."""
        if method == "tools/list":
            text = self.send("openapi.json")[1]
            paths = json.loads(text)["paths"]
            return text, {"result": {"tools": [{"name": path.removeprefix("/")} for path in paths]}}
        status, text = self.send(params["name"], json.dumps(params["arguments"]).encode())
        if status != 200:
            return text, {"error": {"code": f"HTTP {status}", "message": text}}
        value = json.loads(text)
        block = value if isinstance(value, dict) else {}
        return text, {"result": {"content": [{**block, "type": "text", "text": value if isinstance(value, str) else text}]}}

    def close(self):
        end(self.processes)
