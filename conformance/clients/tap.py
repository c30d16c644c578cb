"""Forwards input to a server on pipes, and records each tool call that reaches it: `tap.py NOTES COMMAND...`."""

import json
import subprocess
import sys

notes, *command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.PIPE)
with open(notes, "ab", buffering=0) as file:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "tools/call":
            file.write(json.dumps(message["params"]["arguments"]).encode() + b"\n")
        server.stdin.write(line)
        server.stdin.flush()
server.stdin.close()
sys.exit(server.wait())
