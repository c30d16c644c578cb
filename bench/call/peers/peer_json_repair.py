"""json_repair: what it reads out of a text that is not JSON."""

from importlib.metadata import version

from json_repair import repair_json

from harness import run_texts

if __name__ == "__main__":
    # The texts are known not to be JSON, and the strict parser is spared, as a caller who has just seen it fail does.
    run_texts(
        "json_repair",
        version("json-repair"),
        lambda text: repair_json(text, return_objects=True, skip_json_loads=True),
    )
