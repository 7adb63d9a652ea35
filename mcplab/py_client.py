"""The Python SDK's client, driven line by line (clients.py): a command per line in, an answer or an event per line out."""
import json
import os
import sys
import warnings

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

warnings.simplefilter("ignore")
SETTINGS = json.loads(sys.argv[1])
MODERN = SETTINGS["era"] == "modern"


def say(message):
    sys.stdout.write(json.dumps(message, ensure_ascii=True) + "\n")
    sys.stdout.flush()


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


class Driver:
    def __init__(self, tasks):
        self.tasks, self.answer, self.client = tasks, {"action": "cancel"}, None

    async def asked(self, _context, params):
        say({"event": "asked", "params": plain(params)})
        return types.ElicitResult(**self.answer)

    async def heard(self, message):
        if isinstance(message, types.ResourceUpdatedNotification):
            say({"event": "updated", "uri": str(message.params.uri)})
        elif isinstance(message, types.ResourceListChangedNotification):
            say({"event": "list_changed"})

    async def listen(self, uris, *, task_status=anyio.TASK_STATUS_IGNORED):
        async with self.client.listen(resources_list_changed=True, resource_subscriptions=uris) as subscription:
            task_status.started()
            async for _ in subscription:
                pass  # the message handler sees every event too

    async def do(self, op, given):
        client = self.client
        if op == "about":
            return {"version": client.protocol_version, "instructions": client.instructions}
        if op == "list":
            lists = {"tools": client.list_tools, "resources": client.list_resources, "prompts": client.list_prompts,
                     "resourceTemplates": client.list_resource_templates}
            items, cursor = [], None
            while True:
                page = plain(await lists[given["what"]](cursor=cursor, cache_mode="bypass"))
                items += page[given["what"]]
                cursor = page.get("nextCursor")
                if not cursor:
                    return items
        if op == "call":
            return plain(await client.call_tool(given["name"], given["arguments"]))
        if op == "read":
            return plain(await client.read_resource(given["uri"], cache_mode="bypass"))
        if op == "prompt":
            return plain(await client.get_prompt(given["name"], given["arguments"]))
        if op == "complete":
            kind = types.PromptReference if given["ref"]["type"] == "ref/prompt" else types.ResourceTemplateReference
            return plain(await client.complete(kind(**given["ref"]), given["argument"]))
        if op == "subscribe":
            if MODERN:
                await self.tasks.start(self.listen, given["uris"])
            else:
                for uri in given["uris"]:
                    await client.subscribe_resource(uri)
            return {}
        if op == "answer":
            self.answer = given["answer"]
            return {}
        raise ValueError(op)

    async def answered(self, line):
        command = json.loads(line)
        try:
            say({"n": command["n"], "result": await self.do(command["op"], command)})
        except MCPError as error:
            say({"n": command["n"], "error": {"code": error.error.code, "message": error.error.message}})
        except Exception as error:  # whatever the SDK makes of it is the finding
            say({"n": command["n"], "error": {"code": None, "message": "%s: %s" % (type(error).__name__, error)}})


async def main():
    async with anyio.create_task_group() as tasks:
        driver = Driver(tasks)
        if SETTINGS["transport"] == "stdio":
            command = SETTINGS["command"]
            target = stdio_client(StdioServerParameters(command=command[0], args=command[1:], cwd=SETTINGS["cwd"],
                                                        env=SETTINGS["env"]))
        else:
            http = httpx2.AsyncClient(headers={"Authorization": "Bearer %s" % SETTINGS["token"]}, timeout=60,
                                      trust_env=False)
            target = streamable_http_client(SETTINGS["url"], http_client=http)
        async with Client(target, mode="2026-07-28" if SETTINGS["era"] == "pinned" else "auto" if MODERN else "legacy",
                          message_handler=driver.heard, elicitation_callback=driver.asked if SETTINGS["asks"] else None,
                          client_info=types.Implementation(name="mcplab-python", version="1")) as client:
            driver.client = client
            say({"event": "connected"})
            lines = anyio.wrap_file(sys.stdin)
            async for line in lines:
                if line.strip() == "end":
                    break
                tasks.start_soon(driver.answered, line)
            tasks.cancel_scope.cancel()


try:
    anyio.run(main)
except BaseException as failure:  # the end of the connection is a finding too
    print("%r" % failure, file=sys.stderr)
    os._exit(1)
os._exit(0)
