"""jsonschema (Python): every error with its own text, one a line.

It also writes what is wrong with each call to OUT/reference.ndjson: the places by which `table.py` tells whether a
message names every error. A missing member and an unexpected one stand at their own place.
"""

import json
from importlib.metadata import version

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from harness import OUT, Call, failing, run_calls


def main() -> None:
    tools, calls = failing()
    validators = {name: Draft202012Validator(schema) for name, schema in tools.items()}

    def answer(call: Call) -> str | None:
        lines = [f"{error.json_path}: {error.message}" for error in validators[call.tool].iter_errors(call.arguments)]
        return "\n".join(lines) or None

    with (OUT / "reference.ndjson").open("w", encoding="utf-8") as file:
        for call in calls:
            errors = validators[call.tool].iter_errors(call.arguments)
            places = [place for error in errors for place in places_of(error)]
            file.write(json.dumps({"id": call.id, "errors": places}) + "\n")
    run_calls("jsonschema (Python)", version("jsonschema"), answer)


def places_of(error: ValidationError) -> list[dict]:
    path = list(error.absolute_path)
    if error.validator == "required":
        # The library tells of one missing member an error, and names it in its text alone.
        missing = next(name for name in error.validator_value if error.message.startswith(repr(name)))
        return [{"path": [*path, missing], "is_name": True}]
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        return [{"path": [*path, name], "is_name": True} for name in error.instance if name not in known]
    return [{"path": path, "is_name": False}]


if __name__ == "__main__":
    main()
