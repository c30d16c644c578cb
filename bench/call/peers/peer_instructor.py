"""instructor: its handler for tool calls parses the response, and the same handler writes the text of the next try."""

from importlib.metadata import version

from instructor import Mode
from instructor.utils.providers import Provider
from instructor.v2.core.registry import mode_registry
from openai.types.chat import ChatCompletion
from pydantic import ValidationError

from harness import Call, failing, run_calls
from models import model


def main() -> None:
    tools, calls = failing()
    handlers = mode_registry.get_handlers(Provider.OPENAI, Mode.TOOLS)
    responses = {call.id: completion(call) for call in calls}

    def answer_with(models: dict):
        def answer(call: Call) -> str | None:
            response = responses[call.id]
            try:
                handlers.response_parser(response=response, response_model=models[call.tool])
            except ValidationError as error:
                return handlers.reask_handler({"messages": []}, response, error)["messages"][-1]["content"]
            return None

        return answer

    lax = answer_with({name: model(name, schema, strict=False) for name, schema in tools.items()})
    strict = answer_with({name: model(name, schema, strict=True) for name, schema in tools.items()})
    passed_by_default = sum(lax(call) is None for call in calls)
    run_calls("instructor", version("instructor"), strict, passed_by_default=passed_by_default)


def completion(call: Call) -> ChatCompletion:
    """A provider's answer that holds this call."""
    function = {"name": call.tool, "arguments": call.text}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call.id, "type": "function", "function": function}],
    }
    return ChatCompletion.model_validate(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "none",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
        }
    )


if __name__ == "__main__":
    main()
