"""Lays out what every program is measured on: prepare.py TARGET CASES [WORKLOADS]

TARGET/bfcl-failing has the calls that name a known tool and give it an object: what every program can judge.
TARGET/malformed has texts that are not JSON. Both come from WORKLOADS where it is there, else from CASES, and are
laid out as bench-call reads them.
"""

import gzip
import json
import shutil
import sys
from pathlib import Path


def main() -> None:
    target, cases = Path(sys.argv[1]), Path(sys.argv[2])
    workloads = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    shutil.rmtree(target, ignore_errors=True)
    source = workloads or cases
    copied(source / ("bfcl-failing" if workloads else "failing"), target / "bfcl-failing", keep=is_judged)
    for part in sorted(path.parent for path in (source / "malformed").glob("*/tools.json")):
        copied(part, target / "malformed" / part.name)
    if workloads and (workloads / "score").is_file():
        # The workloads say themselves what a right repair is.
        (target / "score.py").write_text((workloads / "score").read_text(encoding="utf-8"), encoding="utf-8")


def copied(source: Path, target: Path, keep=lambda call, tools: True) -> None:
    target.mkdir(parents=True)
    for name in ("tools.json", "truth.ndjson"):
        if (source / name).exists() or (source / f"{name}.gz").exists():
            (target / name).write_text(text_of(source / name), encoding="utf-8")
    tools = {tool["name"] for tool in json.loads(text_of(source / "tools.json"))}
    lines = [line for line in text_of(source / "calls.ndjson").split("\n") if line]
    kept = [line for line in lines if keep(json.loads(line), tools)]
    (target / "calls.ndjson").write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")


def is_judged(call: dict, tools: set[str]) -> bool:
    return call["tool"] in tools and isinstance(call["arguments"], dict)


def text_of(path: Path) -> str:
    packed = path.with_name(f"{path.name}.gz")
    if packed.is_file():
        return gzip.decompress(packed.read_bytes()).decode()
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    main()
