"""What it costs to be watched: many readers of server-sent events, one publisher.

Usage: python3 bench/console/fanout.py target/dist/answerback [READERS [EVENTS_PER_SECOND [SECONDS]]]
Prints what was delivered, how late, and what the server used of processor and memory. Loopback only; it ends by itself.
"""
import asyncio, json, os, pathlib, resource, select, socket, subprocess, sys, tempfile, threading, time

PROGRAM = sys.argv[1]
READERS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
RATE = int(sys.argv[3]) if len(sys.argv) > 3 else 100
SECONDS = int(sys.argv[4]) if len(sys.argv) > 4 else 20
TICKS = os.sysconf("SC_CLK_TCK")


def used(pid):
    """Processor seconds and resident bytes of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return (int(fields[11]) + int(fields[12])) / TICKS, pages * resource.getpagesize()


class Readers(threading.Thread):
    """All readers on one thread that only counts: a reader that parsed every event would be what is measured."""

    def __init__(self, port, token):
        super().__init__(daemon=True)
        self.ready = self.seen = self.ended = 0
        self.late, self.events = [], select.epoll()
        self.sockets, self.rest, self.order = {}, {}, []
        request = f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        for _ in range(READERS):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(request)
            connection.setblocking(False)
            self.events.register(connection.fileno(), select.EPOLLIN)
            self.sockets[connection.fileno()] = connection
            self.rest[connection.fileno()] = b""
        self.watched = next(iter(self.sockets))

    def run(self):
        while self.ended < READERS:
            for number, _ in self.events.poll(1):
                data = self.sockets[number].recv(1 << 20)
                whole = self.rest[number] + data
                cut = whole.rfind(b"\n\n")
                if cut < 0 and data:
                    self.rest[number] = whole
                    continue
                self.rest[number], whole = whole[cut:], whole[:cut + 1]
                self.ready += whole.count(b"event: hello\n")
                self.seen += whole.count(b"event: live\n")
                if number == self.watched:
                    self.watch(whole)
                if not data or b'"last":true' in whole:
                    self.ended += 1
                    self.events.unregister(number)

    def watch(self, whole):
        """One reader looks at what it gets: how late it is, and that nothing is missing or comes twice."""
        for line in whole.split(b"\n"):
            if line.startswith(b"data: {\"seq\":") and b'"kind"' in line:
                event = json.loads(line[6:])
                self.order.append(event["seq"])
                self.late.append(time.time() - event["body"]["at"])


async def publish(port, token, count):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    start = time.monotonic()
    for number in range(count):
        body = json.dumps({"kind": "note", "body": {"at": time.time(), "last": number == count - 1, "text": "x" * 100}})
        writer.write((f"POST /api/streams/fan/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
                      f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 201 " in head, head
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r")[0])
        await reader.readexactly(length)
        await asyncio.sleep(max(0, start + (number + 1) / RATE - time.monotonic()))
    writer.close()


async def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(f"{folder}/config.yml").write_text(f"console: {{events: {{readers: {READERS}}}}}\n")
        server = subprocess.Popen(
            [PROGRAM, "serve", "--config", f"{folder}/config.yml", "--store", f"{folder}/ledger.db", "--listen", "127.0.0.1:0", "--anchor", f"{folder}/anchor"],
            stderr=subprocess.PIPE, text=True, env={**os.environ, "ANSWERBACK_LOG": "error"})
        try:
            port = int(server.stderr.readline().split(":")[2].split("/")[0])
            token = pathlib.Path(f"{folder}/serve.token").read_text().strip()
            idle = used(server.pid)
            readers = Readers(port, token)
            readers.start()
            while readers.ready < READERS:
                await asyncio.sleep(0.05)
            before, start = used(server.pid), time.monotonic()
            await publish(port, token, RATE * SECONDS)
            readers.join(60)
            took, after = time.monotonic() - start, used(server.pid)
            late, order = sorted(readers.late), readers.order
            assert order == list(range(order[0], order[0] + RATE * SECONDS)), "a hole or a repetition"
            wanted = READERS * RATE * SECONDS
            print(f"{READERS} readers, {RATE} events/s for {SECONDS} s: {readers.seen} of {wanted} delivered in {took:.1f} s")
            print(f"late p50 {late[len(late) // 2] * 1000:.1f} ms, p99 {late[len(late) * 99 // 100] * 1000:.1f} ms "
                  "(the readers share the machine with the server)")
            cpu = after[0] - before[0]
            print(f"server: {cpu / took * 100:.0f} % of one core, {cpu / wanted * 1e6:.2f} µs a delivery; "
                  f"{idle[1] / 2**20:.1f} MiB idle, {before[1] / 2**20:.1f} with readers, {after[1] / 2**20:.1f} at the end")
        finally:
            server.terminate()
            server.wait(10)


asyncio.run(main())
