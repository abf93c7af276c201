

class LlamaIndex(Adapter):
    library, distribution, packages, methods = "LlamaIndex", "llama-index-core", ("llama_index", "workflows"), ("run",)

    @classmethod
    def fits(cls, agent):
        return super().fits(agent) and "Workflow" in class_names(agent)

    @classmethod
    def why_unusable(cls, agent):
        if class_names(agent) & {"BaseWorkflowAgent", "AgentWorkflow"}:
            return None
        return ("a workflow of LlamaIndex has events of its own: wrap it in a function, "
                "async def run(prompt): return str(await workflow.run(...))")

    def __init__(self, agent, request):
        from llama_index.core.llms import ChatMessage
        from llama_index.core.memory import ChatMemoryBuffer
        from llama_index.core.workflow import Context

        super().__init__(agent, request)
        self.context = Context(agent)
        before = [ChatMessage(role=one["role"], content=one["content"]) for one in request["history"] if one.get("content")]
        self.memory = ChatMemoryBuffer.from_defaults(chat_history=before, token_limit=10**9)

    def ask(self, prompt, request):
        return finish(self.run(prompt))

    async def run(self, prompt):
        handler, said, reason = self.agent.run(user_msg=prompt, ctx=self.context, memory=self.memory), None, None
        async for one in handler.stream_events():
            # The last piece of a stream, which is the raw response, has no reason of its end.
            reason = self.reason_of(one) or reason
            said = self.take(one, said, reason)
        result = await handler
        final = self.text(result)
        return {"response": None if said == final else final, "known": True}

    @staticmethod
    def text(result):
        structured = get(result, "structured_response")
        return output_text(structured) if structured else content_text(get(get(result, "response"), "content"))

    @classmethod
    def reads(cls, result):
        return type(result).__name__ == "AgentOutput" and "llama_index" in packages_of(result)

    @classmethod
    def read(cls, result):
        for one in result.tool_calls:
            write(event(result.current_agent_name, call_part(one.tool_name, one.tool_kwargs, one.tool_id)))
            if hasattr(one, "tool_output"):
                cls.take(one, None)
        return {"response": cls.text(result), "known": True}

    @staticmethod
    def reason_of(one):
        choices = get(get(one, "raw") or {}, "choices") or []
        return get(choices[0], "finish_reason") if choices else None

    @staticmethod
    def take(one, said, reason=None):
        """Writes an event of a run. Returns the text of the last response."""
        kind, author = type(one).__name__, get(one, "current_agent_name")
        if kind == "AgentOutput":
            said = content_text(get(one.response, "content"))
            calls = [call_part(call.tool_name, call.tool_kwargs, call.tool_id) for call in one.tool_calls]
            parts = [*([{"text": said}] if said else []), *calls]
            usage = tokens(get(get(one, "raw") or {}, "usage"))
            if parts or usage:
                write(event(author, *parts, usage=usage, finish_reason=reason))
        elif kind == "ToolCallResult":
            output = one.tool_output
            text = content_text(output.content)
            write(event("agent", response_part(one.tool_name, {"error": text} if output.is_error else text, one.tool_id)))
        elif kind == "AgentStream" and one.delta:
            write({**event(author, {"text": one.delta}), "partial": True})
        return said
