"""LangGraph: what ToolNode does with a call whose arguments do not fit.

Two rows. `langgraph` is validation and text alone: the three steps that `ToolNode` takes between the call and the
message. `langgraph ToolNode` is the node's own method for one call, with the callbacks and configuration that a tool
call passes through there; its users pay that.
"""

from importlib.metadata import version

from langchain_core.tools import StructuredTool
from langgraph.prebuilt.tool_node import ToolInvocationError, ToolNode, ToolRuntime, _filter_validation_errors
from pydantic import ValidationError

from harness import Call, failing, run_calls
from models import model


def main() -> None:
    tools, calls = failing()

    def tool(name: str, schema: dict, *, strict: bool) -> StructuredTool:
        return StructuredTool.from_function(
            func=lambda **_: "done", name=name, description=name, args_schema=model(name, schema, strict=strict)
        )

    strict = {name: tool(name, schema, strict=True) for name, schema in tools.items()}
    lax = {name: tool(name, schema, strict=False) for name, schema in tools.items()}

    def answer_with(tools: dict[str, StructuredTool]):
        def answer(call: Call) -> str | None:
            try:
                tools[call.tool]._parse_input(call.arguments, call.id)
            except ValidationError as error:
                errors = _filter_validation_errors(error, None)
                return ToolInvocationError(call.tool, error, call.arguments, errors).message
            return None

        return answer

    node = ToolNode(list(strict.values()))
    runtime = ToolRuntime(
        state={}, context=None, config={}, stream_writer=lambda _: None, tool_call_id="1", store=None
    )

    def answer_of_node(call: Call) -> str | None:
        request = {"name": call.tool, "args": call.arguments, "id": call.id, "type": "tool_call"}
        message = node._run_one(request, "tool_calls", runtime)
        return message.content if message.status == "error" else None

    release = version("langgraph-prebuilt")
    passed_by_default = sum(answer_with(lax)(call) is None for call in calls)
    run_calls("langgraph", release, answer_with(strict), passed_by_default=passed_by_default)
    run_calls("langgraph ToolNode", release, answer_of_node, passed_by_default=passed_by_default)


if __name__ == "__main__":
    main()
