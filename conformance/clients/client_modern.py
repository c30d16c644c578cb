"""Drives a server with the Python SDK from version 2 on, which negotiates the newest revision of the server.

It reads steps as JSON lines and prints one line for each.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError


def transport(target):
    if "url" in target:
        client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {target['token']}"})
        return streamable_http_client(target["url"], http_client=client)
    return stdio_client(StdioServerParameters(command=target["command"], args=target["args"], env=target["env"]))


async def do(client, step):
    try:
        if step["do"] == "list":
            result = await client.list_tools()
        else:
            result = await client.call_tool(step["name"], step["arguments"])
    except MCPError as error:
        return {"error": error.error.model_dump(mode="json", exclude_none=True)}
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main():
    async with Client(transport(json.loads(sys.argv[1])), mode="auto") as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await do(client, json.loads(line))), flush=True)


asyncio.run(main())
