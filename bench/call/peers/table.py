"""Prints the tables: table.py ROWS ANSWERBACK

ROWS has a line for each row that a program printed, over all rounds, and a line {"name","missing"} for each program
that could not run. Of a row's rounds the quietest counts, the one with the smallest mean. ANSWERBACK is the program
whose messages and repairs are looked at beside the peers'.
"""

import json
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from statistics import median_low
from typing import Any

from harness import DATA, OUT, Part, malformed_parts
from messages import Reference, look_at

OURS = "answerback"
# The rows of bench-call that stand beside the peers; its others are steps of ours.
FROM_BENCH_CALL = {
    "answer": (OURS, "answerback"),
    "answer_counted": ("answerback, attempts counted", "answerback"),
    "validator": ("jsonschema (Rust), its own text", "jsonschema"),
}


def main() -> None:
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    program = sys.argv[2]
    missing = [row for row in rows if "missing" in row]
    measured = quietest([named for row in rows if (named := named_row(row))])
    calls = [row for row in measured if row.get("part") is None]
    if calls:
        print(f"Failing calls: {len(Part(DATA / 'bfcl-failing').lines)}. CPU time a call, µs.\n")
        print_calls(calls, program)
    for part in malformed_parts():
        texts = [row for row in measured if row.get("part") == part.folder.name]
        if texts:
            print(f"\nMalformed texts, {part.folder.name}: {len(part.lines)}. CPU time a text, µs.\n")
            print_texts(part, texts)
    for row in missing:
        print(f"\nmissing: {row['name']}: {row['missing']}")


def named_row(row: dict) -> dict | None:
    """The row under its name in the table, with its version; nothing where it has no place there."""
    if "missing" in row:
        return None
    if "version" in row:
        # What is ours has the version of the workspace.
        return row | {"version": row["version"] or version_of("answerback")}
    if row["name"] not in FROM_BENCH_CALL:
        return None
    name, package = FROM_BENCH_CALL[row["name"]]
    return row | {"name": name, "version": version_of(package)}


def version_of(package: str) -> str:
    lock = Path("Cargo.lock").read_text(encoding="utf-8")
    found = re.search(rf'name = "{package}"\nversion = "([^"]+)"', lock)
    return found[1] if found else ""


def quietest(rows: list[dict]) -> list[dict]:
    """A row for each name and part, in the order of their first round."""
    best: dict[tuple, dict] = {}
    for row in rows:
        key = (row["name"], row.get("part"))
        if key not in best or row["mean_us"] < best[key]["mean_us"]:
            best[key] = row
    return list(best.values())


def print_calls(rows: list[dict], program: str) -> None:
    reference = Reference(OUT / "reference.ndjson")
    ours = p50_of_ours(rows)
    table = []
    for row in rows:
        texts = messages_of(row["name"], program)
        seen = look_at(texts, reference) if texts else None
        lengths = sorted(len(text) for text in texts.values())
        table.append(
            [
                row["name"],
                row.get("version", ""),
                str(row["calls"]),
                f"{row['p50_us']:.1f}",
                f"{row['p99_us']:.1f}",
                times(row["p50_us"], ours),
                seen.all_named if seen else "",
                seen.place if seen else "",
                f"{median_low(lengths)} / {lengths[-1]}" if lengths else "",
                seen.suggests if seen else "",
                str(row["passed_by_default"]) if "passed_by_default" in row else "",
            ]
        )
    head = ["program", "version", "calls", "p50", "p99", "p50 / ours", "every error named", "place",
            "characters p50 / max", "suggests", "passed by default"]
    print_table(head, table)


def print_texts(part: Part, rows: list[dict]) -> None:
    ours = p50_of_ours(rows)
    table = []
    for row in rows:
        verdicts = verdicts_of(part, values_of(row["name"], part))
        table.append(
            [
                row["name"],
                row.get("version", ""),
                str(row["calls"]),
                f"{row['p50_us']:.1f}",
                f"{row['p99_us']:.1f}",
                times(row["p50_us"], ours),
                *(str(verdicts.count(verdict)) for verdict in ("right", "wrong", "none")),
            ]
        )
    print_table(["program", "version", "texts", "p50", "p99", "p50 / ours", "right", "wrong", "none"], table)


def p50_of_ours(rows: list[dict]) -> float | None:
    return next((row["p50_us"] for row in rows if row["name"] == OURS), None)


def times(time: float, ours: float | None) -> str:
    return f"{time / ours:.2f}" if ours else ""


def messages_of(name: str, program: str) -> dict[str, str]:
    """The messages of the calls that were refused, by call; nothing where the row has none."""
    if name == OURS:
        answers = replay(program, Part(DATA / "bfcl-failing"))
        return {id: answer["result"]["content"] for id, answer in answers.items() if answer["result"]}
    path = OUT / f"{name}.messages.ndjson"
    if not path.is_file():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    return {line["id"]: line["message"] for line in lines if line["message"] is not None}


def values_of(name: str, part: Part) -> dict[str, Any]:
    """What was read out of each text, by call; nothing where a program gave up."""
    path = OUT / f"{name}.{part.folder.name}.values.ndjson"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    # An empty text is how a program without another word for it says that there was nothing.
    return {line["id"]: line["value"] for line in lines if line.get("value", "") != ""}


def replay(program: str, part: Part) -> dict[str, dict]:
    command = [program, "replay", "--tools", part.folder / "tools.json", part.folder / "calls.ndjson"]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    # 1 means that calls were judged and some are not good, which is so.
    if run.returncode not in (0, 1):
        sys.exit(f"{program} ended with {run.returncode}: {run.stderr[-500:]}")
    answers = [json.loads(line) for line in run.stdout.split("\n") if line]
    return {answer["tool_call_id"]: answer for answer in answers}


def verdicts_of(part: Part, values: dict[str, Any]) -> list[str]:
    scorer = scorer_of_workloads()
    verdicts = []
    for call, truth in zip(part.lines, part.truths(), strict=True):
        if call["id"] not in values:
            verdicts.append("right" if truth.get("expected") == "" else "none")
            continue
        value = values[call["id"]]
        if scorer is None:
            good = json.dumps(value, sort_keys=True) == json.dumps(truth["expected"], sort_keys=True)
        elif "expected" in truth:
            good = scorer._same(value, truth["expected"])
        else:
            good = scorer._right_call(value, call, truth)
        verdicts.append("right" if good else "wrong")
    return verdicts


def scorer_of_workloads():
    path = DATA / "score.py"
    if not path.is_file():
        return None
    loader = SourceFileLoader("score", str(path))
    module = module_from_spec(spec_from_loader("score", loader))
    loader.exec_module(module)
    return module


def print_table(head: list[str], rows: list[list[str]]) -> None:
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for place, row in enumerate([head, *rows]):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
        if place == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


if __name__ == "__main__":
    main()
