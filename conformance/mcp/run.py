"""Runs the official suite directly and through Answerback, and reports the checks that differ.

    run.py ANSWERBACK ROOM REVISION TRANSPORT...

ROOM is where scripts/fetch-conformance installed. A transport is `serve-http` or `serve-stdio` (`answerback serve` before the
reference server behind a URL or on pipes), `serve-merged` (before it and a second server, as one), or `wrap` (`answerback serve`
before `answerback wrap` before it). Without one only the direct result is printed. Ends with 1 where a check differs that is not in `known.txt`, or where the reference server fails one that counts.
"""

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "clients"))
from ours import Ours  # noqa: E402

# Over HTTP the reference server streams every response, and closes a stream that the client must resume. The gateway does
# the same. On pipes, and for merged servers, there is no stream to follow, so this setting selects the behavior.
POLLED = "  answers: poll\n"
# The longest time for a whole set, in seconds.
TIMEOUT = 300


def node(room):
    """Returns the path of Node 22, which the suite needs. An npm package contains it for common machines."""
    installed = sorted((room / "node/node_modules").glob("node-*/bin/node"))
    return str(installed[0]) if installed else "node"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Running:
    """A program that listens on a port. It ends with the `with` block."""

    def __init__(self, command, port, log):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError(f"{command} does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def suite(room, revision, url, token, scratch, log):
    """Returns the verdicts of each check by scenario and id, and true if the suite passed."""
    port = free_port()
    results = scratch / "results"
    with Running([node(room), HERE / "bearer.mjs", port, url, token], port, log):
        command = [
            node(room), room / "node/node_modules/@modelcontextprotocol/conformance/dist/index.js", "server",
            "--url", f"http://127.0.0.1:{port}/mcp", "--requirements", revision, "-o", results,
        ]  # fmt: skip
        done = subprocess.run(list(map(str, command)), stdout=log, stderr=log, timeout=TIMEOUT)
    checks = {}
    for file in sorted(results.glob("*/checks.json")):
        # server-NAME-2026-11-16T06-48-06-352Z
        scenario = file.parent.name.removeprefix("server-")[:-25]
        for check in json.loads(file.read_text()):
            verdict = (check["status"], check.get("errorMessage") or "")
            checks.setdefault((scenario, check["id"]), []).append(verdict)
    if not checks:
        raise RuntimeError(f"the suite printed nothing; see {log.name}")
    return checks, done.returncode == 0


def measure(program, room, revision, transport):
    """Runs the suite with one transport, and returns its verdicts."""
    with tempfile.TemporaryDirectory(dir=room) as folder, (room / f"{transport}-{revision}.log").open("w") as log:
        scratch = Path(folder)
        # Node finds packages by the path of a program.
        shutil.copytree(HERE, room / "node/server", dirs_exist_ok=True, ignore=lambda _, names: [
            name for name in names if not name.endswith(".mjs")
        ])  # fmt: skip
        server = [node(room), str(room / "node/server/server.mjs")]
        port = free_port()
        if transport in ("direct", "serve-http", "serve-merged"):
            with Running([*server, "http", port], port, log):
                url = f"http://127.0.0.1:{port}/mcp"
                if transport == "direct":
                    return suite(room, revision, url, "", scratch, log)
                upstreams = {"reference": {"url": url}}
                if transport == "serve-http":
                    return through(program, upstreams, "", room, revision, scratch, log)
                second = [room / "node/node_modules/@modelcontextprotocol/server-memory/dist/index.js"]
                upstreams["second"] = {"command": node(room), "args": list(map(str, second))}
                return through(program, upstreams, POLLED, room, revision, scratch, log)
        command = [*server, "stdio"]
        if transport == "wrap":
            inner = Ours(program, scratch / "inner").wrap("reference", command)
            command = [inner["command"], *inner["args"]]
        upstreams = {"reference": {"command": command[0], "args": command[1:]}}
        return through(program, upstreams, POLLED, room, revision, scratch, log)


def through(program, upstreams, config, room, revision, scratch, log):
    ours = Ours(program, scratch / "ours")
    try:
        target = ours.serve({name: json.dumps(how) for name, how in upstreams.items()}, config)
        return suite(room, revision, target["url"], target["token"], scratch, log)
    finally:
        ours.close()
        log.write((ours.room / "serve.log").read_text())


def count_statuses(checks):
    return Counter(status for verdicts in checks.values() for status, _ in verdicts)


def format_counts(count):
    return ", ".join(f"{count[status]} {status.lower()}" for status in sorted(count))


def differences(direct, ours):
    """Yields the checks with different verdicts: scenario and id, and a description."""
    for key in sorted(direct.keys() | ours.keys()):
        before, after = direct.get(key, []), ours.get(key, [])
        if [status for status, _ in before] != [status for status, _ in after]:
            messages = "; ".join(filter(None, (message for _, message in after)))[:400]
            verdicts = [",".join(status for status, _ in it) or "absent" for it in (before, after)]
            yield key, f"  {key[0]} {key[1]}: direct {verdicts[0]}, through us {verdicts[1]} {messages}"


def known(revision):
    """Returns the checks that may differ."""
    lines = (HERE / "known.txt").read_text().splitlines()
    listed = (line.split() for line in lines if line and not line.startswith("#"))
    return {(scenario, check) for of, scenario, check in listed if of == revision}


def main():
    program, room, revision, transports = sys.argv[1], Path(sys.argv[2]).absolute(), sys.argv[3], sys.argv[4:]
    direct, has_passed = measure(program, room, revision, "direct")
    print(f"{revision} direct: {format_counts(count_statuses(direct))}", flush=True)
    if not has_passed:
        print("  the reference server itself fails required checks")
    status = 0 if has_passed else 1
    for transport in transports:
        ours, _ = measure(program, room, revision, transport)
        found = dict(differences(direct, ours))
        allowed = known(revision)
        new, stale = found.keys() - allowed, allowed - found.keys()
        print(
            f"{revision} {transport}: {format_counts(count_statuses(ours))}; {len(new)} checks differ, and {len(found) - len(new)} that may",
            flush=True,
        )
        for key in sorted(new):
            print(found[key])
        for key in sorted(stale):
            print(f"  {key[0]} {key[1]}: does not differ any more; take it out of known.txt")
        status = 1 if new or stale else status
    return status


sys.exit(main())
