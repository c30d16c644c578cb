"""pydantic-ai: its tool manager validates the call, and the part it answers with is written as the model sees it."""

import asyncio
from importlib.metadata import version

from pydantic_ai import RunContext, Tool
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage

from harness import Call, failing, run_calls
from models import model

# The retry budget is not what is measured: it must not run out.
RETRIES = 1_000_000_000


def main() -> None:
    tools, calls = failing()
    parts = {call.id: ToolCallPart(tool_name=call.tool, args=call.text, tool_call_id=call.id) for call in calls}

    def answer_with(manager: ToolManager):
        def answer(call: Call) -> str | None:
            validated = finished(manager.validate_tool_call(parts[call.id]))
            if validated.validation_error is None:
                return None
            return validated.validation_error.tool_retry.model_response_str()

        return answer

    strict = answer_with(manager_of(tools, strict=True))
    lax = answer_with(manager_of(tools, strict=False))
    passed_by_default = sum(lax(call) is None for call in calls)
    run_calls("pydantic-ai", version("pydantic-ai-slim"), strict, passed_by_default=passed_by_default)


def manager_of(tools: dict[str, dict], *, strict: bool) -> ToolManager:
    toolset = FunctionToolset(
        [tool_of(name, schema, strict=strict) for name, schema in tools.items()], max_retries=RETRIES
    )
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    return asyncio.run(ToolManager(toolset).for_run_step(context))


def tool_of(name: str, schema: dict, *, strict: bool) -> Tool:
    def run(arguments) -> str:
        return "done"

    # A function of one model takes the model's fields as its arguments.
    run.__annotations__["arguments"] = model(name, schema, strict=strict)
    return Tool(run, name=name, description=name, max_retries=RETRIES, takes_ctx=False)


def finished(coroutine):
    """The result of a coroutine that waits for nothing, without the cost of an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("validation waits for something")


if __name__ == "__main__":
    main()
