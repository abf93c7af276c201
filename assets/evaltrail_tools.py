"""A plugin of ADK that asks evaltrail before each call of a tool.

EVALTRAIL_TOOLS is the address to ask. The answer {"response": ...} stands for the tool, {"error": "..."} is raised as the
tool's error, and {"live": true} lets the tool run. The id of the session names the attempt.
"""
import asyncio
import contextvars
import json
import os
import urllib.request

from google.adk.plugins.base_plugin import BasePlugin

ADDRESS = os.environ["EVALTRAIL_TOOLS"]
# ADK's own tools, which steer the conversation and have no effect elsewhere.
OWN = {"transfer_to_agent", "exit_loop", "adk_request_credential", "adk_request_confirmation", "adk_request_input"}
# An agent that is called as a tool has a session of its own; its calls belong to the outer session.
outer_session = contextvars.ContextVar("outer_session", default=None)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def post(path, body):
    request = urllib.request.Request(ADDRESS + path, json.dumps(body, default=str).encode(), {"Content-Type": "application/json"})
    with opener.open(request) as answer:
        return json.loads(answer.read())


class Plugin(BasePlugin):
    def __init__(self, name="evaltrail_tools"):
        super().__init__(name=name)
        post("/hello", {"from": "adk"})

    async def before_tool_callback(self, *, tool, tool_args, tool_context):
        if tool.name in OWN:
            return None
        session = outer_session.get() or tool_context.session.id
        outer_session.set(session)
        call = {"tool": tool.name, "args": tool_args, "session": session}
        answer = await asyncio.to_thread(post, "/call", call)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        if answer.get("live"):
            return None
        response = answer["response"]
        return response if isinstance(response, dict) else {"result": response}
