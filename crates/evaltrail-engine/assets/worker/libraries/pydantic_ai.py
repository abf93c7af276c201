

class PydanticAI(Adapter):
    library, distribution, packages, methods = "pydantic-ai", "pydantic-ai-slim", ("pydantic_ai",), ("run", "run_sync")

    @classmethod
    def why_unusable(cls, agent):
        needs = getattr(agent, "deps_type", None)
        given = getattr(agent, "_override_deps", None)
        if not inspect.isclass(needs) or needs in (type(None), object) or (given is not None and given.get(None)):
            return None
        return (f"the agent needs dependencies ({needs.__name__}): name a function that passes them, for example "
                f"def run(prompt, history): return agent.run(prompt, deps={needs.__name__}(...)), whose result evaltrail reads with its calls")

    def __init__(self, agent, request):
        super().__init__(agent, request)
        self.items = [self.message(one) for one in request["history"] if one.get("content")]

    def ask(self, prompt, request):
        with self.noting(len(self.items)):
            result = finish(self.agent.run(prompt, message_history=self.items))
        self.items = result.all_messages()
        return self.read(result)

    @classmethod
    @contextlib.contextmanager
    def noting(cls, before=0):
        """Writes what a run did before it failed, but for the messages of its history."""
        from pydantic_ai import capture_run_messages

        with capture_run_messages() as messages:
            try:
                yield
            except Exception:
                cls.write_messages(messages[before:])
                raise

    @classmethod
    def reads(cls, result):
        return hasattr(result, "new_messages") and hasattr(result, "output")

    @classmethod
    def read(cls, result):
        waiting = result.output if type(result.output).__name__ == "DeferredToolRequests" else None
        said = cls.write_messages(result.new_messages())
        final = output_text(result.output)
        response = final if waiting is not None or said != final else None
        return {"response": response, "known": True, **({"end": "interrupted"} if waiting is not None else {})}

    @staticmethod
    def message(message):
        """A message of the history, without its calls."""
        from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

        text = message["content"]
        if message["role"] == "user":
            return ModelRequest(parts=[UserPromptPart(content=text)])
        return ModelResponse(parts=[TextPart(content=text)])

    @classmethod
    def write_messages(cls, messages):
        """Writes the messages of a run. Returns the text of the last one."""
        said, outputs = None, set()
        for message in messages:
            parts = [part for one in message.parts for part in cls.parts(one, outputs)]
            texts = [part["text"] for part in parts if set(part) == {"text"}]
            said = "".join(texts) if texts else None
            usage = tokens(get(message, "usage"))
            if parts or usage:
                write(event("agent", *parts, usage=usage, finish_reason=get(message, "finish_reason")))
        return said

    @staticmethod
    def parts(part, outputs):
        """The parts of ADK for a part of a message. The calls by which a model gives a structured output are the response:
        `outputs` has their ids."""
        kind, name, id = str(get(part, "part_kind")), get(part, "tool_name"), get(part, "tool_call_id")
        if kind.endswith("tool-call"):
            if get(part, "tool_kind") == "output" or str(name).startswith("final_result"):
                outputs.add(id)
                return []
            return [call_part(name, part.args, id)]
        if kind.endswith("tool-return") or kind == "retry-prompt" and name:
            content = part.content if isinstance(part.content, (dict, list, str, int, float, bool, type(None))) else output_text(part.content)
            return [] if id in outputs and kind != "retry-prompt" else [response_part(name, content, id)]
        if kind in ("user-prompt", "system-prompt", "retry-prompt") or kind.startswith("instruction"):
            return []
        content = get(part, "content")
        if kind == "text":
            return [{"text": content}] if content else []
        if kind == "thinking":
            return [{"text": content, "thought": True}] if content else []
        return [{"text": shown(content if content is not None else part), "thought": kind not in ("file", "speech")}]
