"""A server that checks nothing and sends unusual results: `stub.py NOTES` on standard input and output, or
`stub.py NOTES PORT` over HTTP, for gateways that start no programs.

It adds each call that reaches it to NOTES. Its responses are fixed texts, so that key order and the spelling of numbers
are known.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ORDER = (
    '{"type":"object","properties":{"id":{"type":"integer"},"size":{"enum":["small","large"]}},'
    '"required":["id","size"],"additionalProperties":false}'
)
ANY = '{"type":"object"}'
OUTPUT = '{"type":"object","properties":{"total":{"type":"number"}},"required":["total"]}'
TOOLS = (
    f'{{"name":"order","description":"Checks nothing.","inputSchema":{ORDER}}},'
    f'{{"name":"bad_output","description":"Breaks its word.","inputSchema":{ANY},"outputSchema":{OUTPUT}}},'
    f'{{"name":"no_output","description":"Forgets its word.","inputSchema":{ANY},"outputSchema":{OUTPUT}}},'
    f'{{"name":"rpc_error","description":"Fails.","inputSchema":{ANY}}},'
    f'{{"name":"extras","description":"Says more.","inputSchema":{ANY},"x-tool":"kept"}}'
)
RESULTS = {
    "order": '{"content":[{"type":"text","text":"ordered"}]}',
    "bad_output": '{"content":[{"type":"text","text":"{\\"total\\":\\"many\\"}"}],"structuredContent":{"total":"many"}}',
    "no_output": '{"content":[{"type":"text","text":"no total"}]}',
    "extras": (
        '{"x-result":"kept","content":[{"x-block":"kept","type":"text","text":"extras"}],'
        '"structuredContent":{"z":1,"a":12345678901234567890123},"_meta":{"example.org/mark":"kept"}}'
    ),
}
ERROR = '{"code":-32050,"message":"the crane is broken","data":{"crane":7,"until":"noon"}}'


def answer(message):
    """Returns the result or error member of the response."""
    method = message["method"]
    if method == "initialize":
        revision = json.dumps(message["params"]["protocolVersion"])
        server = '"serverInfo":{"name":"stub","version":"1.0.0"}'
        return f'"result":{{"protocolVersion":{revision},"capabilities":{{"tools":{{}}}},{server}}}'
    if method == "tools/list":
        return f'"result":{{"tools":[{TOOLS}]}}'
    if method == "ping":
        return '"result":{}'
    if method != "tools/call":
        return '"error":{"code":-32601,"message":"Method not found"}'
    name = message["params"]["name"]
    with open(sys.argv[1], "a") as notes:
        notes.write(name + "\n")
    if name == "rpc_error":
        return f'"error":{ERROR}'
    if name in RESULTS:
        return f'"result":{RESULTS[name]}'
    return f'"error":{{"code":-32602,"message":"Unknown tool: {name}"}}'


def respond(message):
    """Returns the response, or None if the message is not a request."""
    if "id" in message and "method" in message:
        return f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},{answer(message)}}}'
    return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        response = respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        body = (response or "").encode()
        self.send_response(200 if response else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if len(sys.argv) > 2:
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
for line in sys.stdin:
    response = respond(json.loads(line))
    if response:
        print(response, flush=True)
