#!/usr/bin/env python3
"""Writes the order in which the program's functions are linked: those that a call runs side by side, then those that a start runs.

  cargo rustc --release --locked -p answerback-cli --bin answerback -- -C strip=none
  bench/gateway/order.py target/release/bench-gateway target/release/answerback > crates/answerback-cli/order.ld

Runs `serve` and `wrap` under callgrind, notes which functions ran when, and prints a linker script. Names are written without the
compiler's hashes, so that the order outlives a release of the compiler and changes of other code.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from instructions import CHECKS_OFF, Session, free_port, opening, steer, wait_for

# What the compiler adds to names of either kind to tell one instance, or one build of a crate, from another.
HASH = re.compile(r"(?<=17h)[0-9a-f]{16}E.*|(?<=Cs)[0-9A-Za-z]+(?=_)|(?<=\.llvm\.)\d+")
# Calls of each kind: what one does the first time is not what it does the tenth.
CALLS = 10
# A name may stand for this many times as much code as ran: without hashes all instances of a generic function have one.
BROAD = 2

HEAD = """\
/* Written by bench/gateway/order.py, which says how. What calls run stands first, then what a server runs before its first call: the
   system brings a program into memory by 64 KB, and these functions would otherwise be scattered over all of it. What is listed and
   does not exist any more does no harm; what is missing costs memory, never correctness. */
"""


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    bench, answerback = (str(pathlib.Path(it).resolve()) for it in sys.argv[1:3])
    sizes = functions(answerback)
    if not sizes:
        raise SystemExit(f"{answerback} has no names in it: build it with -C strip=none")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        _, passing = serve(bench, answerback, scratch / "passing", CHECKS_OFF, ["--no-record"])
        at_rest, working = serve(bench, answerback, scratch / "working", "", None)
        on_pipes = wrap(bench, answerback, scratch / "pipes")
    of_all = sizes_by_pattern(sizes, sizes.keys())
    stages = [sizes_by_pattern(sizes, names) for names in (passing, working, at_rest, on_pipes)]
    broad = [{it for it, size in of_these.items() if of_all[it] > BROAD * size} for of_these in stages]
    passing, working, at_rest, on_pipes = (of_these.keys() - set().union(*broad) for of_these in stages)
    # So that what passes, what works and what rests each lie in one piece, though most of a piece is another's, too.
    groups = [
        ("Calls that are checked and recorded.", working - passing - at_rest),
        ("Calls, also those that only pass.", passing - at_rest),
        ("Calls that only pass, and before the first call of a server.", passing & at_rest),
        ("Calls that are checked and recorded, and before the first call of a server.", (working & at_rest) - passing),
        ("Before the first call of a server.", at_rest - working - passing),
        ("On pipes.", on_pipes - at_rest - working - passing),
        ("Before the first call of a server; of these names, much that does not run, too.", broad[2]),
        ("The same, but for calls and on pipes.", set().union(*broad) - broad[2]),
    ]
    print(HEAD + "SECTIONS\n{\n  .text.first :\n  {")
    for about, patterns in groups:
        lines = "".join(f"\n      .text.{pattern.replace('$', '?')}" for pattern in sorted(patterns))
        print(f"    /* {about} */\n    *({lines}\n    )")
    # Half a mebibyte in small pieces, with the growth of every list among them.
    print("    /* What the compiler takes to be rare. */\n    *(.text.unlikely.*)")
    print("  }\n}\nINSERT BEFORE .text;")


def sizes_by_pattern(sizes, names):
    """How much code there is of each name without its hash."""
    counted = collections.Counter()
    for name in names & sizes.keys():
        counted[HASH.sub("*", name)] += sizes[name]
    return counted


def functions(program):
    """The names that the program has, as the linker knows them, with their sizes."""
    listed = subprocess.run(["nm", "-S", "--defined-only", program], check=True, capture_output=True, text=True).stdout
    lines = (line.split() for line in listed.splitlines())
    return {words[3]: int(words[1], 16) for words in lines if len(words) == 4 and words[2] in "tTwW"}


def serve(bench, answerback, scratch, config, record):
    """What ran before the first call of a client, and what its calls ran."""
    scratch.mkdir()
    behind, port = free_port(), free_port()
    url, program = json.dumps(f"http://127.0.0.1:{behind}/mcp"), json.dumps(bench)
    upstreams = f"    remote: {{url: {url}}}\n    child: {{command: {program}, args: [stub-stdio]}}\n"
    (scratch / "config.yml").write_text(f"gateway:\n{config}  listen: 127.0.0.1:{port}\n  upstreams:\n{upstreams}")
    record = record or ["--store", scratch / "ledger.db", "--anchor", scratch / "anchor"]
    token = scratch / "token"
    command = [answerback, "serve", "--config", scratch / "config.yml", "--token-file", token, *record]
    stub = subprocess.Popen([bench, "stub-http", str(behind)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server, profiles = None, scratch / "profiles"
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
            if not config:
                call = {"name": session.tool, "arguments": {"text": ["a text is expected"]}}
                session.post({"id": "wrong", "method": "tools/call", "params": call})
        time.sleep(2)
        steer(server, "-d")
    finally:
        for process in filter(None, (server, stub)):
            process.terminate()
            process.wait(60)
    own = str(server.pid)
    # The other processes are wardens, which are at rest all their lives.
    before = [file for file in profiles.iterdir() if file.name == f"{own}.1" or file.name.split(".")[0] != own]
    return ran(before), ran([profiles / f"{own}.2"])


def wrap(bench, answerback, scratch):
    """All that ran for a client on pipes."""
    scratch.mkdir()
    record = ["--store", scratch / "ledger.db", "--anchor", scratch / "anchor"]
    profiles = scratch / "profiles"
    command = [answerback, "wrap", *record, "--", bench, "stub-stdio"]
    process = traced(command, profiles, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    answered(process, opening("order"))
    answered(process, {"method": "notifications/initialized"})
    tool = answered(process, {"id": 1, "method": "tools/list", "params": {}})["tools"][0]["name"]
    for number in range(2, 2 + CALLS):
        arguments = {"text": f"call {number}", "size": 1000}
        answered(process, {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
    process.stdin.close()
    process.wait(60)
    return ran(profiles.iterdir())


def answered(process, message):
    """Says a message, and waits for its result where it has one."""
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()
    while "id" in message:
        line = process.stdout.readline()
        if not line:
            raise SystemExit("wrap ended before it answered")
        answer = json.loads(line)
        if answer.get("id") == message["id"] and "method" not in answer:
            return answer["result"]
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
