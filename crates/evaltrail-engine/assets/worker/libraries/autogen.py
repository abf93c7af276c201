

class AutoGen(Adapter):
    library, distribution, packages, methods = "AutoGen", "autogen-agentchat", ("autogen_agentchat",), ("run_stream",)

    def __init__(self, agent, request):
        super().__init__(agent, request)
        self.history = request["history"]
        finish(self.reset())

    async def reset(self):
        from autogen_core import CancellationToken

        await (self.agent.reset() if hasattr(self.agent, "reset") else self.agent.on_reset(CancellationToken()))

    def ask(self, prompt, request):
        from autogen_agentchat.messages import TextMessage

        before = [TextMessage(content=one["content"], source="user" if one["role"] == "user" else getattr(self.agent, "name", "agent")) for one in self.history if one.get("content")]
        self.history = []
        return finish(self.run([*before, TextMessage(content=prompt, source="user")]))

    async def run(self, task):
        given, result = {message.id for message in task}, {"response": None, "known": True}
        async for message in self.agent.run_stream(task=task):
            if not self.reads(message) and get(message, "id") not in given:
                self.take(message, result)
        return result

    @classmethod
    def reads(cls, result):
        return type(result).__name__ == "TaskResult" and "autogen_agentchat" in packages_of(result)

    @classmethod
    def read(cls, result):
        read = {"response": None, "known": True}
        for message in result.messages[1:] if result.messages and result.messages[0].source == "user" else result.messages:
            cls.take(message, read)
        return read

    @staticmethod
    def take(message, result):
        kind, content, author = get(message, "type") or type(message).__name__, get(message, "content"), get(message, "source")
        usage = tokens(get(message, "models_usage"))
        if kind == "ToolCallRequestEvent":
            write(event(author, *[call_part(one.name, one.arguments, one.id) for one in content], usage=usage))
        elif kind == "ToolCallExecutionEvent":
            write(event(author, *[response_part(one.name, {"error": one.content} if one.is_error else one.content, one.call_id) for one in content]))
        elif kind == "ModelClientStreamingChunkEvent":
            write({**event(author, {"text": content}), "partial": True})
        elif kind == "ThoughtEvent":
            write(event(author, {"text": content, "thought": True}))
        elif kind == "UserInputRequestedEvent":
            result["end"] = "input_required"
        elif kind not in ("SelectSpeakerEvent", "SelectorEvent", "MemoryQueryEvent"):
            if isinstance(content, list):
                content = "".join(one if isinstance(one, str) else f"[{type(one).__name__}]" for one in content)
            if content is None:
                result["known"], content = False, message.to_text() if hasattr(message, "to_text") else shown(message)
            write(event(author, {"text": output_text(content)}, usage=usage))
