

import asyncio
import contextvars

from google.adk.plugins.base_plugin import BasePlugin

# ADK's own tools, which steer the conversation and have no effect elsewhere.
OWN = {"transfer_to_agent", "exit_loop", "adk_request_credential", "adk_request_confirmation", "adk_request_input", "set_model_response"}
# An agent that is called as a tool has a session of its own; its calls belong to the outer session.
outer_session = contextvars.ContextVar("outer_session", default=None)


class Plugin(BasePlugin):
    """A plugin of ADK that asks before each call of a tool."""

    def __init__(self, name="evaltrail_tools"):
        super().__init__(name=name)
        post("/hello", {})

    async def before_tool_callback(self, *, tool, tool_args, tool_context):
        if tool.name in OWN:
            return None
        session = outer_session.get() or tool_context.session.id
        outer_session.set(session)
        response = await asyncio.to_thread(answer_of, tool.name, tool_args, session)
        if response is LIVE:
            return None
        return response if isinstance(response, dict) else {"result": response}
