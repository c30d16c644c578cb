#!/usr/bin/env python3
"""Counts the instructions of a call with callgrind. The result does not depend on the load of the machine.

  bench/gateway/instructions.py target/dist/bench-gateway target/dist/answerback [CALLS]

One client makes one call at a time over HTTP with results of 1 KB. The kernel's instructions are not counted. Valgrind
has no SHA instructions, so digests are computed in software: rows with the ledger show too many instructions.
"""
import http.client
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

# Disables all checks in the section `gateway:` of a configuration.
CHECKS_OFF = '  input: "off"\n  output: "off"\n  envelope: "off"\n'

ROWS = [
    ("bare relay", None, None),
    ("answerback serve, transparent", "gateway:\n" + CHECKS_OFF, ["--no-record"]),
    ("answerback serve, checking", "gateway:\n", ["--no-record"]),
    ("answerback serve, checking + ledger", "gateway:\n", []),
]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port):
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"no program listens on port {port}")


def initialize_request(name):
    """Returns the first request of a client of revision 2025-11-25."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
    return {"id": 0, "method": "initialize", "params": params}


class Session:
    """A session of a client of revision 2025-11-25."""

    def __init__(self, port, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if token:
            self.headers["Authorization"] = "Bearer " + token
        self.number = 0
        answer, _ = self.post(initialize_request("instructions"))
        if session := answer.getheader("mcp-session-id"):
            self.headers["Mcp-Session-Id"] = session
        self.post({"method": "notifications/initialized"})
        _, listed = self.post({"id": "tools", "method": "tools/list", "params": {}})
        self.tool = json.loads(listed)["result"]["tools"][0]["name"]

    def post(self, message):
        self.connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), self.headers)
        answer = self.connection.getresponse()
        return answer, answer.read()

    def call(self):
        self.number += 1
        arguments = {"text": f"call {self.number}", "size": 1000}
        message = {"id": self.number, "method": "tools/call", "params": {"name": self.tool, "arguments": arguments}}
        answer, body = self.post(message)
        if answer.status != 200 or json.loads(body)["result"].get("isError"):
            raise SystemExit(f"the call failed: {answer.status} {body[:300]}")


def count_instructions(command, port, token, calls, scratch):
    """Returns the instructions of a call. The first hundred calls are not counted."""
    profile = pathlib.Path(scratch, "profile")
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "--instr-atstart=no"]
    program = subprocess.Popen([*valgrind, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        session = Session(port, token() if token else None)
        for _ in range(100):
            session.call()
        control_callgrind(program, "-i", "on")
        for _ in range(calls):
            session.call()
        control_callgrind(program, "-i", "off")
        control_callgrind(program, "-d")
        dump = profile.with_name("profile.1").read_text()
    finally:
        program.terminate()
        program.wait(60)
    return int(re.search(r"^totals: (\d+)", dump, re.M).group(1)) // calls


def control_callgrind(program, *words):
    subprocess.run(["callgrind_control", *words, str(program.pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    bench, answerback, calls = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    stub_port = free_port()
    stub = subprocess.Popen([bench, "stub-http", str(stub_port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(stub_port)
        url = f"http://127.0.0.1:{stub_port}/mcp"
        print("| program | instructions a call |\n|---|---|")
        for name, config, options in ROWS:
            with tempfile.TemporaryDirectory() as scratch:
                port, token = free_port(), None
                if config is None:
                    command = [bench, "relay", str(port), url]
                else:
                    folder = pathlib.Path(scratch)
                    listen = f"  listen: 127.0.0.1:{port}\n  upstreams:\n    stub: {{url: {json.dumps(url)}}}\n"
                    (folder / "config.yml").write_text(config + listen)
                    record = options or ["--store", str(folder / "ledger.db"), "--anchor", str(folder / "anchor")]
                    command = [answerback, "serve", "--config", str(folder / "config.yml"), "--token-file", str(folder / "token"), *record]
                    token = lambda file=folder / "token": file.read_text().strip()
                print(f"| {name} | {count_instructions(command, port, token, calls, scratch):,} |", flush=True)
    finally:
        stub.terminate()
        stub.wait(60)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main()
