#!/usr/bin/env python3
"""Writes the order in which the program's functions are linked: what a server runs before its first call, then what calls run.

  cargo rustc --release --locked -p answerback-cli --bin answerback -- -C strip=none
  bench/gateway/order.py target/release/bench-gateway target/release/answerback > crates/answerback-cli/order.ld

Runs `serve` and `wrap` under callgrind, notes which functions ran, and prints a linker script that puts them side by side. Names are
written without the compiler's hashes, so that the order outlives a release of the compiler and a change of the code around them.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from instructions import Session, free_port, steer, wait_for

# What the compiler adds to names of either kind to tell one instance, or one build of a crate, from another.
HASH = re.compile(r"(?<=17h)[0-9a-f]{16}E.*|(?<=Cs)[0-9A-Za-z]+(?=_)|(?<=\.llvm\.)\d+")
# Calls of each kind: what one does the first time is not what it does the tenth.
CALLS = 10

HEAD = """\
/* Written by bench/gateway/order.py, which says how. What a server runs before its first call stands first, then what calls run: the
   system brings a program into memory by 64 KB, and these functions would otherwise be scattered over all of it. What is listed and
   does not exist any more does no harm; what is missing costs memory, never correctness. */
"""


def main():
    bench, answerback = (str(pathlib.Path(it).resolve()) for it in sys.argv[1:3])
    known = functions(answerback)
    if not known:
        raise SystemExit(f"{answerback} has no names in it: build it with -C strip=none")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        at_rest, calling = serve(bench, answerback, scratch)
        on_pipes = wrap(bench, answerback, scratch)
    groups = [
        ("Before the first call of a server.", at_rest),
        ("What calls run.", calling),
        ("Only on pipes.", on_pipes),
    ]
    print(HEAD + "SECTIONS\n{\n  .text.first :\n  {")
    seen = set()
    for about, names in groups:
        patterns = {HASH.sub("*", name) for name in names & known} - seen
        seen |= patterns
        lines = "".join(f"\n      .text.{pattern.replace('$', '?')}" for pattern in sorted(patterns))
        print(f"    /* {about} */\n    *({lines}\n    )")
    # Half a mebibyte in small pieces, with the growth of every list among them.
    print("    /* What the compiler takes to be rare. */\n    *(.text.unlikely.*)")
    print("  }\n}\nINSERT BEFORE .text;")


def functions(program):
    """The names that the program has, as the linker knows them."""
    listed = subprocess.run(["nm", "--defined-only", program], check=True, capture_output=True, text=True).stdout
    return {words[2] for words in map(str.split, listed.splitlines()) if len(words) == 3 and words[1] in "tTwW"}


def serve(bench, answerback, scratch):
    """What ran before the first call of a client, and what ran from then on."""
    behind, port = free_port(), free_port()
    config, token = scratch / "serve.yml", scratch / "token"
    url, program = json.dumps(f"http://127.0.0.1:{behind}/mcp"), json.dumps(bench)
    upstreams = f"    remote: {{url: {url}}}\n    child: {{command: {program}, args: [stub-stdio]}}\n"
    config.write_text(f"gateway:\n  listen: 127.0.0.1:{port}\n  upstreams:\n{upstreams}")
    record = ["--store", scratch / "serve.db", "--anchor", scratch / "serve.anchor"]
    command = [answerback, "serve", "--config", config, "--token-file", token, *record]
    stub = subprocess.Popen([bench, "stub-http", str(behind)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server, profiles = None, scratch / "serve"
    try:
        wait_for(behind)
        server = traced(command, profiles, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for(port)
        session = Session(port, token.read_text().strip())
        # Work that nobody waits for ends, too.
        time.sleep(5)
        steer(server, "-d")
        for _ in range(CALLS):
            session.call()
            call = {"name": session.tool, "arguments": {"text": ["a text is expected"]}}
            session.post({"id": "wrong", "method": "tools/call", "params": call})
    finally:
        for process in filter(None, (server, stub)):
            process.terminate()
            process.wait(60)
    own = str(server.pid)
    # The other processes are wardens, which are at rest all their lives.
    before = [file for file in profiles.iterdir() if file.name == f"{own}.1" or file.name.split(".")[0] != own]
    return ran(before), ran([profiles / own])


def wrap(bench, answerback, scratch):
    """All that ran for a client on pipes."""
    record = ["--store", scratch / "wrap.db", "--anchor", scratch / "wrap.anchor"]
    command = [answerback, "wrap", *record, "--", bench, "stub-stdio"]
    profiles = scratch / "wrap"
    process = traced(command, profiles, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    who = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "order", "version": "1"}}
    messages = [{"id": 0, "method": "initialize", "params": who}, {"method": "notifications/initialized"}]
    messages.append({"id": 1, "method": "tools/list", "params": {}})
    tool = None
    for message in messages:
        tool = answered(process, message) or tool
    for number in range(2, 2 + CALLS):
        arguments = {"text": f"call {number}", "size": 1000}
        answered(process, {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
    process.stdin.close()
    process.wait(60)
    return ran(profiles.iterdir())


def answered(process, message):
    """Says a message and waits for its answer, where it has one; the name of the first tool, where that tells it."""
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()
    while "id" in message:
        line = process.stdout.readline()
        if not line:
            raise SystemExit("wrap ended before it answered")
        answer = json.loads(line)
        if answer.get("id") == message["id"] and "method" not in answer:
            tools = answer["result"].get("tools")
            return tools[0]["name"] if tools else None
    return None


def traced(command, profiles, **pipes):
    """Runs a command under callgrind, which leaves a profile for each process."""
    profiles.mkdir()
    valgrind = ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={profiles}/%p"]
    children = ["--trace-children=yes", "--trace-children-skip=*/bench-gateway"]
    return subprocess.Popen([*valgrind, *children, *command], stderr=subprocess.DEVNULL, **pipes)


def ran(profiles):
    """The functions that profiles speak of."""
    texts = (file.read_text() for file in profiles)
    return {name.split("'")[0] for text in texts for name in re.findall(r"^c?fn=\(\d+\) (\S+)", text, re.M)}


if __name__ == "__main__":
    main()
