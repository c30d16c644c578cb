#!/usr/bin/env python3
"""Verifies an Answerback ledger without Answerback: levels 1 to 4 of docs/reference/ledger-format.md.

Usage: verify.py LEDGER.db|EXPORT.jsonl|TILES/ [--vkey KEY] [--checkpoint FILE]...
Exit:  0 all held, 11 to 14 the lowest level that failed, 2 it could not be judged.
Python 3.9 or newer and its standard library; nothing to install.
"""
import argparse, base64, datetime, hashlib, hmac, json, os, sqlite3, sys, uuid

# --- Ed25519 (RFC 8032), verification only: slow and plain -----------------------------------------------------
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiply(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point, scalar = add(point, point), scalar >> 1
    return total


def point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        raise ValueError("not a point")
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_1 % P
    if (x * x - square) % P or (x == 0 and sign):
        raise ValueError("not a point")
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def same(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def signed(public, message, signature):
    try:
        key, r, s = point(public), point(signature[:32]), int.from_bytes(signature[32:], "little")
    except ValueError:
        return False
    neutral = (0, 1, 1, 0)
    if len(signature) != 64 or s >= L or same(multiply(8, key), neutral) or same(multiply(8, r), neutral):
        return False
    digest = hashlib.sha512(signature[:32] + public + message).digest()
    h = int.from_bytes(digest, "little") % L
    return same(multiply(s, BASE), add(r, multiply(h, key)))


# --- signed notes and checkpoints --------------------------------------------------------------------------------
def decode(text):
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("not canonical base64")
    return data


def read_key(text):
    name, key_id, key = text.split("+", 2)
    data = decode(key)
    digest = hashlib.sha256(name.encode() + b"\n" + data).digest()[:4]
    if key_id != digest.hex() or len(data) != 33 or data[0] != 1:
        raise ValueError("not an Ed25519 verifier key")
    return name, digest, data[1:]


def number(text):
    if not text.isascii() or not text.isdigit() or text != str(int(text)):
        raise ValueError("not a decimal number")
    return int(text)


def read_note(note):
    text, border, lines = note.rpartition("\n\n")
    text += "\n"
    if not border or not lines.endswith("\n"):
        raise ValueError("not a signed note")
    origin, size, root, *rest = text.split("\n")
    if rest != [""]:
        raise ValueError("not the three lines of a checkpoint")
    signatures = []
    for line in lines[:-1].split("\n"):
        dash, name, data = line.split(" ")
        if dash != "\u2014":
            raise ValueError("not a signature line")
        signatures.append((name, decode(data)[:4], decode(data)[4:]))
    root = decode(root)
    if len(root) != 32:
        raise ValueError("not a root")
    return origin, number(size), root, text.encode(), signatures


def note_signed_by(note, key):
    name, key_id, public = read_key(key)
    found = [s for n, i, s in note[4] if n == name and i == key_id]
    return bool(found) and all(signed(public, note[3], s) for s in found)


# --- the tree -----------------------------------------------------------------------------------------------------
def node(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    def __init__(self, size=0, subtrees=()):
        self.size, self.subtrees = size, list(subtrees)  # roots of complete subtrees, largest first
        self.tiles = {}  # the hash above each full tile, by level and number

    def push(self, leaf_hash):
        size, height = self.size, 0
        while size & 1:
            leaf_hash, size, height = node(self.subtrees.pop(), leaf_hash), size >> 1, height + 1
            if height % 8 == 0:
                self.tiles[height // 8 - 1, size] = leaf_hash
        self.subtrees.append(leaf_hash)
        self.size += 1

    def root(self):
        if not self.subtrees:
            return hashlib.sha256(b"").digest()
        result = self.subtrees[-1]
        for left in reversed(self.subtrees[:-1]):
            result = node(left, result)
        return result


# --- where a log is read from ------------------------------------------------------------------------------------
def members(pairs):
    if len(pairs) != len(dict(pairs)):
        raise ValueError("a member comes twice")
    return dict(pairs)


def parse(text):
    return json.loads(text, object_pairs_hook=members)


class Export:
    """JSON lines: a first line, perhaps a range, entries, checkpoints."""

    needs_prune, head, signer, tiles = False, None, None, ()

    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8", newline="\n") as file:
            first = parse(file.readline())
            if first["answerback_ledger"] != 1:
                raise ValueError("unknown version of the format")
            self.origin, self.vkey = first["origin"], first["vkey"]
            self.start, self.size = number(first["from"]), number(first["size"])
            self.skip, subtrees = 1, []
            if self.start:
                subtrees = [decode(hash) for hash in parse(file.readline())["range"]["hashes"]]
                self.skip = 2
            self.tree = Tree(self.start, subtrees)
            self.notes = [parse(line)["checkpoint"] for line in file if line.startswith('{"checkpoint":')]

    def entries(self):
        with open(self.path, encoding="utf-8", newline="\n") as file:
            for place, line in enumerate(file):
                if place < self.skip or line.startswith('{"checkpoint":'):
                    continue
                entry = parse(line)
                parts = [(p["name"], decode(p["salt"]), decode(p["bytes"])) for p in entry.get("parts", [])]
                yield number(entry["index"]), decode(entry["leaf"]), parts, None


class Database:
    """The embedded store's file, in one read transaction."""

    needs_prune = True

    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
        self.db.execute("BEGIN")
        meta = dict(self.db.execute("SELECT key, value FROM meta"))
        if meta["format"] != "1":
            raise ValueError("unknown version of the format")
        self.origin, self.vkey, self.signer = meta["origin"], meta["vkey"], meta["signer"]
        columns = "size, minimum, note, root, frontier"
        self.size, self.start, newest, *self.head = self.db.execute(f"SELECT {columns} FROM head").fetchone()
        self.tiles = self.db.execute("SELECT level, n, root, data FROM tile")
        self.tree = Tree()
        tiles = "SELECT data FROM tile WHERE level = 0 AND n < ? ORDER BY n"
        for (tile,) in self.db.execute(tiles, ((self.start + 255) // 256,)):
            for at in range(0, len(tile), 32):
                if self.tree.size < self.start:
                    self.tree.push(tile[at : at + 32])
        self.notes = [note for (note,) in self.db.execute("SELECT note FROM checkpoint ORDER BY size")]
        if newest and newest not in self.notes[-1:]:
            self.notes.append(newest)

    def entries(self):
        parts = "SELECT name, salt, bytes FROM part WHERE id >= ? << 8 AND id < (? + 1) << 8"
        columns = "leaf_hash, ts, kind, agent, tool, outcome, request_id, response_id, reply_id"
        for index, leaf, *columns in self.db.execute(f"SELECT seq, leaf, {columns} FROM entry ORDER BY seq"):
            yield index, leaf, self.db.execute(parts, (index, index)).fetchall(), columns
        if self.db.execute("SELECT 1 FROM part WHERE id >> 8 NOT IN (SELECT seq FROM entry)").fetchone():
            yield None, None, None, None  # a part that belongs to no entry


class Tiles:
    """A C2SP tlog-tiles directory, with content and checkpoints beside it."""

    needs_prune, head, signer = True, None, None

    def __init__(self, path):
        self.path = path
        self.origin, self.size, *_ = read_note(self.file("checkpoint").decode())
        self.vkey = self.file("vkey").decode().strip()
        self.notes = [parse(line)["checkpoint"] for line in self.file("checkpoints.jsonl").splitlines()]
        if self.notes[-1:] != [self.file("checkpoint").decode()]:
            raise ValueError("checkpoint is not the last one of checkpoints.jsonl")
        self.start, self.tree = 0, Tree()
        while self.start < self.size and not os.path.exists(self.name("entries", self.start // 256, self.size)):
            tile = self.tile(0, self.start // 256, self.size)
            for at in range(0, len(tile), 32):
                self.tree.push(tile[at : at + 32])
            self.start += 256
        self.tiles, level, count = [], 0, self.size
        while count:
            for place in range((count + 255) // 256):
                tile = self.tile(level, place, count)
                above = Tree()
                for at in range(0, len(tile), 32):
                    above.push(tile[at : at + 32])
                self.tiles.append((level, place, above.root() if len(tile) == 8192 else None, tile))
            level, count = level + 1, count // 256

    def file(self, name):
        with open(os.path.join(self.path, name), "rb") as file:
            return file.read()

    def name(self, level, place, count):
        width, digits = min(256, count - 256 * place), [f"{place % 1000:03}"]
        while place >= 1000:
            place //= 1000
            digits.insert(0, f"x{place % 1000:03}")
        partial = "" if width == 256 else f".p/{width}"
        return os.path.join(self.path, "tile", str(level), *digits[:-1], digits[-1] + partial)

    def tile(self, level, place, count):
        tile = self.file(os.path.relpath(self.name(level, place, count), self.path))
        if level != "entries" and len(tile) != 32 * min(256, count - 256 * place):
            raise ValueError(f"tile {place} of level {level} has another length")
        return tile

    def entries(self):
        lines = [parse(line) for line in self.file("parts.jsonl").splitlines()]
        content = {number(line["index"]): line["parts"] for line in lines}
        for place in range(self.start // 256, (self.size + 255) // 256):
            bundle, at = self.tile("entries", place, self.size), 0
            for index in range(256 * place, min(256 * place + 256, self.size)):
                end = at + 2 + int.from_bytes(bundle[at : at + 2], "big")
                parts = content.pop(index, [])
                parts = [(p["name"], decode(p["salt"]), decode(p["bytes"])) for p in parts]
                yield index, bundle[at + 2 : end], parts, None
                at = end
            if at != len(bundle):
                raise ValueError(f"bundle {place} has another length")
        if content:
            yield None, None, None, None  # a part that belongs to no entry


def columns_of(leaf_hash, entry):
    """What the columns beside a leaf must be."""
    epoch = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    try:
        time = datetime.datetime.fromisoformat(entry["ts"].replace("Z", "+00:00"))
        ids = [entry.get(name) for name in ("request_id", "response_id", "reply_id")]
        ids = [name and uuid.UUID(name).bytes for name in ids]
    except (KeyError, ValueError, TypeError):
        return None
    texts = [entry.get(name) for name in ("kind", "agent_id", "tool", "outcome")]
    return [leaf_hash, (time - epoch) // datetime.timedelta(microseconds=1), *texts, *ids]


# --- the four levels ---------------------------------------------------------------------------------------------
def verify(log, vkey, given):
    failures = []
    fail = lambda level, what: failures.append((level, what))
    tree, keys, missing, below, broken = log.tree, [(log.start, log.vkey, True)], set(), 0, False
    wanted = [(read_note(note), label) for note, label in given]
    roots, sizes = {tree.size: tree.root()}, {note[1] for note, _ in wanted}
    notes = []
    for note in log.notes:
        try:
            notes.append(read_note(note))
            sizes.add(notes[-1][1])
        except ValueError as error:
            fail(1, f"stored checkpoint: {error}")
    for index, leaf, parts, columns in log.entries():
        if index is None:
            fail(3, "a part belongs to no entry")
            continue
        if index != tree.size and not broken:
            fail(2, f"entry {index} stands where {tree.size} should")
            broken = True
        leaf_hash = hashlib.sha256(b"\x00" + leaf).digest()
        tree.push(leaf_hash)
        if tree.size in sizes and not broken:
            roots[tree.size] = tree.root()
        try:
            entry = parse(leaf)
        except ValueError:
            continue  # its form is level 5's; the root says that it was altered
        if columns is not None and columns != columns_of(leaf_hash, entry):
            fail(2, f"entry {index}: a column is not what the leaf says")
        if entry.get("kind") == "config" and "vkey" in entry:
            if index == 0:
                keys = [(0, entry["vkey"], True)]
            elif entry.get("subject") == "key":
                keys.append((index, entry["vkey"], False))
        if entry.get("kind") == "erasure":
            missing.discard((int(entry["target_index"]), entry["target_part"]))
        if entry.get("kind") == "prune":
            below = max(below, int(entry["below"]))
        committed = {part["name"]: part for part in entry.get("parts", [])}
        missing |= {(index, name) for name in committed.keys() - {name for name, _, _ in parts}}
        if len(parts) != len({name for name, _, _ in parts} & committed.keys()):
            fail(3, f"entry {index}: a part is extra")
        for name, salt, content in parts:
            if name in committed:
                commit = hmac.new(salt, content, "sha256").hexdigest()
                if (commit, len(content), len(salt)) != (committed[name]["commit"], committed[name]["len"], 32):
                    fail(3, f"entry {index}: part {name} is not what the leaf commits to")
    for index, name in sorted(missing):
        if index >= below:
            fail(3, f"entry {index}: part {name} is missing")
    if log.needs_prune and log.start > below:
        fail(2, f"the entries below {log.start} are missing without a prune entry")

    origin = read_key(vkey)[0] if vkey else log.origin
    if log.origin != origin:
        fail(1, "the log's origin is not the key's name")
    if vkey and vkey not in [key for _, key, _ in keys]:
        fail(1, "the log is not signed by the trusted key")
    if log.start == 0 and keys[0][1] != log.vkey:
        fail(2, "the key that the source names is not that of the first entry")
    if not notes:
        fail(1, "there is no checkpoint")
    for place, (note, label) in enumerate([(note, None) for note in notes] + wanted):
        size, own = note[1], label is None
        needed = {[key for start, key, _ in keys if start < size or start == log.start][-1]}
        for at, (start, key, introduced) in enumerate(keys):
            if own and start < size and not introduced:
                needed |= {keys[at - 1][1], key}
                keys[at] = (start, key, True)
        name = label or f"stored checkpoint of size {size}"
        if note[0] != origin or not all(note_signed_by(note, key) for key in needed):
            if not (log.start and size <= log.start):  # signed by a key that was pruned
                fail(1, f"{name}: of another log, or not signed by the key in force")
        if size < log.start and size not in roots:
            continue  # older than an extract: not checkable
        if roots.get(size) != note[2]:
            fail(2 if place == len(notes) - 1 else 4, f"{name}: the tree has another root")
    if notes and notes[-1][1] != tree.size or log.size != tree.size:
        fail(2, "the size of the log is not that of its newest checkpoint or head")
    if log.head and log.head != [tree.root(), b"".join(tree.subtrees)]:
        fail(2, "head.root or head.frontier differs")
    if log.signer and log.signer != keys[-1][1]:
        fail(2, "meta.signer is not the key in force")
    for level, place, root, tile in log.tiles:
        above = Tree()
        for at in range(0, len(tile), 32):
            above.push(tile[at : at + 32])
        if root is None:  # the partial tile at the right edge of its level
            first = bin(tree.size >> 8 * (level + 1)).count("1")
            if above.subtrees != tree.subtrees[first : first + len(above.subtrees)]:
                fail(2, f"tile {place} of level {level} differs")
        elif len(tile) != 256 * 32 or above.root() != root or tree.tiles.pop((level, place), None) != root:
            fail(2, f"tile {place} of level {level} or the hash above it differs")
    if log.head and tree.tiles:
        fail(2, f"{len(tree.tiles)} tiles are missing")
    return failures


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("log")
    arguments.add_argument("--vkey")
    arguments.add_argument("--checkpoint", action="append", default=[])
    arguments = arguments.parse_args()
    try:
        source = Tiles
        if not os.path.isdir(arguments.log):
            with open(arguments.log, "rb") as file:
                source = Database if file.read(16) == b"SQLite format 3\0" else Export
        given = []
        for path in arguments.checkpoint:
            with open(path, encoding="utf-8", newline="\n") as file:
                text = file.read()
            if not text.startswith("{"):
                given.append((text, path))
                continue
            for line in text.split("\n"):  # an anchor: a checkpoint a line; what is not JSON was cut off by a crash
                try:
                    line = parse(line)
                except ValueError:
                    continue
                given.append((line["checkpoint"], path))
        log = source(arguments.log)
        failures = verify(log, arguments.vkey, given)
    except OSError as error:
        print(f"cannot be judged: {error.filename or arguments.log}: {error.strerror}", file=sys.stderr)
        return 2
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, sqlite3.Error) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else error
        print(f"cannot be judged: {arguments.log} is not a whole database, export or directory of tiles: {why}",
              file=sys.stderr)
        return 2
    for level, what in sorted(failures):
        print(f"level {level} fails: {what}")
    if not arguments.vkey:
        print("note: the key was taken from the log itself", file=sys.stderr)
    print(f"{log.origin}: {log.tree.size} entries, root {log.tree.root().hex()}")
    if not failures:
        print("levels 1 to 4 hold: signatures, root, content, consistency")
    return 10 + min(failures)[0] if failures else 0


if __name__ == "__main__":
    sys.exit(main())
