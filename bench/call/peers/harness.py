"""What the Python peers share: the failing calls, and how a call's CPU time is taken.

A peer program hands `run_calls` a function from a call to the text its model would be told (None: the peer lets the
call pass). It writes every text to OUT/NAME.messages.ndjson, for `table.py` to look at, and prints one row
{"name","version","calls","p50_us","p99_us","mean_us",...} to standard output.
"""

import gc
import gzip
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any, Callable, NamedTuple

# As in bench-call: the best round of each call counts, and a batch of it runs between two looks at the clock.
ROUNDS = 30
BATCH = 8

OUT = Path(os.environ.get("BENCH_CALL_OUT", "target/bench-call/out"))
DATA = Path(os.environ.get("BENCH_CALL_DATA", "target/bench-call/data"))


class Call(NamedTuple):
    """One call of a model: `text` is what it wrote, `arguments` the same as a value."""

    id: str
    tool: str
    arguments: dict
    text: str


class Part:
    """A folder of tools and calls, as the workloads lay them out."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.tools = {tool["name"]: tool["inputSchema"] for tool in json.loads(_text(folder / "tools.json"))}
        self.lines = [json.loads(line) for line in _text(folder / "calls.ndjson").split("\n") if line]

    def truths(self) -> list[dict]:
        return [json.loads(line) for line in _text(self.folder / "truth.ndjson").split("\n") if line]


def _text(path: Path) -> str:
    packed = path.with_name(path.name + ".gz")
    if packed.is_file():
        return gzip.decompress(packed.read_bytes()).decode()
    return path.read_text(encoding="utf-8")


def failing() -> tuple[dict[str, dict], list[Call]]:
    """The schemas by tool name, and the failing calls."""
    part = Part(DATA / "bfcl-failing")
    calls = [
        Call(line["id"], line["tool"], line["arguments"], json.dumps(line["arguments"], ensure_ascii=False))
        for line in part.lines
    ]
    return part.tools, calls


def malformed_parts() -> list[Part]:
    return [Part(path.parent) for path in sorted((DATA / "malformed").glob("*/tools.json"))]


def run_calls(name: str, version: str, answer: Callable[[Call], str | None], **more: Any) -> None:
    """Times `answer` on every failing call that the peer does not let pass, and prints the row."""
    _, calls = failing()
    messages = [(call, answer(call)) for call in calls]
    refused = [call for call, message in messages if message is not None]
    with (OUT / f"{name}.messages.ndjson").open("w", encoding="utf-8") as file:
        for call, message in messages:
            file.write(json.dumps({"id": call.id, "message": message}) + "\n")
    print_row(name, version, measure(answer, refused), passed=len(calls) - len(refused), **more)


def measure(work: Callable[[Any], Any], inputs: list) -> list[float]:
    """Microseconds of CPU time for each input: the best round, warm."""
    for item in inputs:
        work(item)
    # What importing a framework leaves on the heap is not the call's to collect.
    gc.collect()
    gc.freeze()
    best = [math.inf] * len(inputs)
    # Round by round, so that a disturbance hits one round of many calls and not all rounds of one.
    for _ in range(ROUNDS):
        for place, item in enumerate(inputs):
            before = time.thread_time_ns()
            for _ in range(BATCH):
                work(item)
            best[place] = min(best[place], (time.thread_time_ns() - before) / BATCH / 1000)
    gc.unfreeze()
    return best


def print_row(name: str, version: str, microseconds: list[float], **more: Any) -> None:
    if not microseconds:
        sys.exit(f"{name}: nothing was refused, so there is nothing to measure")
    ordered = sorted(microseconds)
    row = {
        "name": name,
        "version": version,
        "calls": len(ordered),
        "p50_us": round(quantile(ordered, 0.50), 2),
        "p99_us": round(quantile(ordered, 0.99), 2),
        "mean_us": round(sum(ordered) / len(ordered), 2),
    }
    print(json.dumps(row | more))


def quantile(ordered: list[float], share: float) -> float:
    """The nearest rank: the smallest value that at least this share of the values does not exceed."""
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def run_texts(name: str, version: str, repair: Callable[[str], Any]) -> None:
    """Times `repair` on every malformed text, a row a part, and keeps what it made of each for `table.py` to judge."""
    for part in malformed_parts():
        texts = [line["arguments"] for line in part.lines]
        with (OUT / f"{name}.{part.folder.name}.values.ndjson").open("w", encoding="utf-8") as file:
            for line in part.lines:
                file.write(json.dumps({"id": line["id"], "value": repair(line["arguments"])}) + "\n")
        print_row(name, version, measure(repair, texts), part=part.folder.name)
