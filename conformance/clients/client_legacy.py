"""Drives a server with the Python SDK before version 2. It reads steps as JSON lines and prints one line for each."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.exceptions import McpError


@asynccontextmanager
async def streams(target):
    if "url" in target:
        headers = {"Authorization": f"Bearer {target['token']}"}
        async with streamablehttp_client(target["url"], headers=headers) as (read, write, _):
            yield read, write
    else:
        parameters = StdioServerParameters(command=target["command"], args=target["args"], env=target["env"])
        async with stdio_client(parameters) as (read, write):
            yield read, write


async def do(session, step):
    try:
        if step["do"] == "list":
            result = await session.list_tools()
        else:
            result = await session.call_tool(step["name"], step["arguments"])
    except McpError as error:
        return {"error": error.error.model_dump(mode="json", exclude_none=True)}
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main():
    async with streams(json.loads(sys.argv[1])) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await do(session, json.loads(line))), flush=True)


asyncio.run(main())
