"""What a message to the model holds, measured on its text.

The reference is a list of all errors of a call with their places. An error counts as named when its place stands in
the message in one of the usual spellings, or, for a missing or unexpected member, when the member's name stands there
in quotes. Where a message repeats the arguments, the repetition is taken out first: a name in it names no error.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from harness import failing

SUGGESTION = re.compile(r"did you mean|proposed repair|you meant", re.IGNORECASE)


class Reference:
    """What is wrong with each call, and its arguments. Empty where the reference could not be written."""

    def __init__(self, path: Path):
        lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
        self.errors = {entry["id"]: entry["errors"] for entry in (json.loads(line) for line in lines if line)}
        self.arguments = {call.id: call.arguments for call in failing()[1]}


class Seen(NamedTuple):
    """What the messages of one program hold, as cells of a table."""

    all_named: str
    place: str
    suggests: str


def look_at(messages: dict[str, str], reference: Reference) -> Seen:
    forms: Counter[str] = Counter()
    several = complete = 0
    for id, message in messages.items():
        errors = reference.errors.get(id, [])
        text = without_echo(message, reference.arguments[id])
        found = [form_of(text, error) for error in errors]
        forms.update(form for form in found if form)
        if len(errors) > 1:
            several += 1
            complete += all(found)
    suggesting = sum(bool(SUGGESTION.search(message)) for message in messages.values())
    return Seen(
        all_named=f"{complete} of {several}" if several else "",
        place=forms.most_common(1)[0][0] if forms else "",
        suggests=f"{suggesting} of {len(messages)}",
    )


def without_echo(message: str, arguments: dict) -> str:
    for echo in (
        str(arguments),
        json.dumps(arguments, ensure_ascii=False),
        json.dumps(arguments, ensure_ascii=False, separators=(",", ":")),
    ):
        message = message.replace(echo, "")
    return message


def form_of(text: str, error: dict) -> str | None:
    """The spelling in which the message names this error's place."""
    path = error["path"]
    for form, pattern in spellings(path):
        if re.search(pattern, text):
            return form
    if error["is_name"] and re.search(rf"['\"`]{spelled(path[-1])}['\"`]", text):
        return "name"
    return None


def spelled(step: str | int) -> str:
    """A step of a place as a pattern: as it is, or as JSON writes it within quotes."""
    return rf"(?:{re.escape(str(step))}|{re.escape(json.dumps(str(step))[1:-1])})"


def spellings(path: list) -> list[tuple[str, str]]:
    """Each usual spelling of a place, as a pattern that does not match within a longer place."""
    steps = [spelled(step) for step in path]
    # One line for many items of a list names each of them.
    grouped = [rf"(?:\*|{step})" if isinstance(raw, int) else step for raw, step in zip(path, steps)]
    pointer = "".join(f"/{step}" for step in grouped)
    json_path = r"\$" + "".join(
        rf"\[{raw}\]" if isinstance(raw, int) else rf"\.{step}" for raw, step in zip(path, steps)
    )
    listed = r"\[\s*" + r"\s*,\s*".join(re.escape(json.dumps(step)) for step in path) + r"\s*\]"
    dotted = r"\.".join(steps)
    return [
        ("pointer", rf"(?<![\w/]){pointer}(?![\w/])"),
        ("JSON path", rf"{json_path}(?![\w.\[])"),
        ("list", rf'"(?:loc|path)":\s*{listed}'),
        ("dotted", rf"(?m)^\s*{dotted}(?![\w.])"),
    ]
