"""Runs a gateway under constant load for a long time, to check that memory and descriptors do not grow.

The gateway has one server and records all calls. The client calls at a constant rate. One call in twenty is wrong. A
session has 500 calls, so that sessions begin and end during the test. Two lines per minute show the state of the gateway.
Linux only.

Usage: python3 bench/gateway/soak.py PROGRAM [SECONDS [CALLS A SECOND]]
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

STUB = Path(__file__).resolve().parents[2] / "crates/answerback-cli/tests/fixtures/stub_server.py"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "soak", "version": "0"}}


class Client:
    def __init__(self, port, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def send(self, method, body=None):
        self.connection.request(method, "/mcp", json.dumps(body) if body else None, self.headers)
        answer = self.connection.getresponse()
        return answer, answer.read()

    def begin(self):
        self.headers.pop("Mcp-Session-Id", None)
        answer, _ = self.send("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
        self.headers["Mcp-Session-Id"] = answer.getheader("Mcp-Session-Id")
        self.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, number):
        name, arguments = "echo", {"text": "y" * 1000}
        if number % 10 == 0:
            name, arguments = "count", {"n": number if number % 20 == 0 else "many"}
        return self.send("POST", {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})


def state(process):
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines() if ":" in line)
    times = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    # Any thread may have started a child.
    children = [child for thread in Path(f"/proc/{process}/task").iterdir() for child in (thread / "children").read_text().split()]
    return {
        "mib": round(int(status["VmRSS"].split()[0]) / 1024, 1),
        "descriptors": len(os.listdir(f"/proc/{process}/fd")),
        "children": len(children),
        "cpu_seconds": (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK"),
    }


def main(program, seconds=1800, rate=25):
    seconds, rate = int(seconds), float(rate)
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.yml")
        config.write_text(f"gateway:\n  upstreams:\n    stub: {{command: python3, args: [{json.dumps(str(STUB))}]}}\n")
        options = ["--listen", "127.0.0.1:0", "--config", str(config), "--store", f"{folder}/ledger.db", "--token-file", f"{folder}/token"]
        environment = dict(os.environ, HOME=folder)
        gateway = subprocess.Popen([program, "serve", *options], stderr=subprocess.PIPE, text=True, env=environment)
        endpoint = next(line for line in gateway.stderr if line.startswith("endpoint "))
        # The log is read and discarded.
        threading.Thread(target=lambda: [None for _ in gateway.stderr], daemon=True).start()
        client = Client(int(endpoint.rsplit(":", 1)[1].split("/")[0]), Path(folder, "token").read_text().strip())
        start, look, calls, wrong, failed, sessions = time.time(), 0, 0, 0, 0, 0
        while time.time() - start < seconds:
            if calls % 500 == 0:
                if sessions:
                    client.send("DELETE")
                client.begin()
                sessions += 1
            calls += 1
            answer, body = client.call(calls)
            if answer.status != 200:
                failed += 1
            elif json.loads(body).get("result", {}).get("isError"):
                wrong += 1
            if time.time() - start >= look:
                seen = {"seconds": round(time.time() - start), "calls": calls, "wrong": wrong, "failed": failed, "sessions": sessions}
                print(json.dumps(seen | state(gateway.pid)), flush=True)
                look += 30
            time.sleep(max(0, start + calls / rate - time.time()))
        print(json.dumps({"calls": calls, "wrong": wrong, "failed": failed, "sessions": sessions} | state(gateway.pid)))
        gateway.terminate()
        return failed or gateway.wait()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(1 if main(*sys.argv[1:]) else 0)
