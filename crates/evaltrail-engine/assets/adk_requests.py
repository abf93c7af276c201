"""Adds what an agent's model received, the system instruction and the tools, to the metadata of the agent's first event in each
invocation. ADK's own evaluation records the same.
"""
from google.adk.plugins.base_plugin import BasePlugin


def declaration(tool):
    """A tool of a request as ADK writes it into the prompts of judges."""
    dump = getattr(tool, "model_dump", None)
    return dump(mode="json", exclude_unset=True, exclude_defaults=True, exclude_none=True) if dump else str(tool)


class Plugin(BasePlugin):
    """A plugin of ADK that reports requests to models."""

    def __init__(self, name="evaltrail_requests"):
        super().__init__(name=name)
        self.requests = {}
        self.reported = set()

    async def before_model_callback(self, *, callback_context, llm_request):
        # The agent's own callbacks may still change the request.
        self.requests[callback_context.invocation_id, callback_context.agent_name] = llm_request

    async def after_model_callback(self, *, callback_context, llm_response):
        agent = callback_context.invocation_id, callback_context.agent_name
        request = self.requests.pop(agent, None) if not llm_response.partial else None
        if request is None or agent in self.reported:
            return
        self.reported.add(agent)
        config = request.config
        found = {
            "instructions": str(config.system_instruction or ""),
            "tools": [declaration(tool) for tool in config.tools or []],
        }
        llm_response.custom_metadata = {**(llm_response.custom_metadata or {}), "evaltrail_request": found}

    async def after_run_callback(self, *, invocation_context):
        id = invocation_context.invocation_id
        self.reported = {agent for agent in self.reported if agent[0] != id}
        self.requests = {agent: request for agent, request in self.requests.items() if agent[0] != id}
