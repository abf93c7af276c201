

class AgentFramework(Adapter):
    library, distribution, packages, methods = "Microsoft Agent Framework", "agent-framework-core", ("agent_framework",), ("run",)

    @classmethod
    def why_unusable(cls, agent):
        if hasattr(agent, "create_session") or hasattr(agent, "get_new_thread"):
            return None
        return "a workflow of Microsoft Agent Framework is run as an agent: name the object that workflow.as_agent() returns"

    def __init__(self, agent, request):
        super().__init__(agent, request)
        self.history = request["history"]
        if hasattr(agent, "create_session"):
            self.session = {"session": agent.create_session(session_id=self.session_id)}
        else:
            self.session = {"thread": agent.get_new_thread()}

    def ask(self, prompt, request):
        from agent_framework import Message

        before = [Message(one["role"], [one["content"]]) for one in self.history if one.get("content")]
        self.history = []
        said = [*before, Message("user", [prompt])] if before else prompt
        calls = []
        try:
            return self.read(finish(self.agent.run(said, **self.session, **self.noting(calls))))
        except Exception:
            for parts in calls:
                write(event(getattr(self.agent, "name", None), *parts))
            raise

    def noting(self, calls):
        """A setting of a run that notes its calls, for an error: the messages of a run that fails are lost."""
        try:
            from agent_framework import function_middleware
        except ImportError:
            return {}

        @function_middleware
        async def note(context, call_next):
            name, args = context.function.name, context.arguments
            args = args if isinstance(args, dict) else parsed(output_text(args))
            calls.append([call_part(name, args, None)])
            await call_next()
            result = context.result
            text = "".join(one.text or "" for one in result if hasattr(one, "text")) if isinstance(result, list) else output_text(result)
            calls.append([response_part(name, text, None)])

        return {"middleware": [note]}

    @classmethod
    def reads(cls, result):
        return "agent_framework" in packages_of(result) and hasattr(result, "messages") and hasattr(result, "text")

    @classmethod
    def read(cls, result):
        known, waits, names = True, False, {}
        messages = list(result.messages)
        for at, message in enumerate(messages):
            parts = []
            for content in message.contents:
                kind, id = get(content, "type"), get(content, "call_id")
                if kind in ("text", "text_reasoning"):
                    if content.text:
                        parts.append({"text": content.text, **({"thought": True} if kind != "text" else {})})
                elif kind in ("function_call", "mcp_server_tool_call"):
                    names[id] = get(content, "name") or get(content, "tool_name")
                    parts.append(call_part(names[id], get(content, "arguments"), id))
                elif kind in ("function_result", "mcp_server_tool_result"):
                    failed = get(content, "exception")
                    output = next((value for value in (get(content, "result"), get(content, "output")) if value is not None), None)
                    output = output if isinstance(output, (str, dict)) else output_text(output)
                    parts.append(response_part(names.get(id), {"error": output or str(failed)} if failed else output, id))
                elif kind in ("function_approval_request", "user_input_request"):
                    waits = True
                    call = get(content, "function_call")
                    parts.append({"text": f"waits for approval of {get(call, 'name')} {get(call, 'arguments')}"})
                elif kind == "error":
                    write(event(message.author_name, error=(str(get(content, "error_code") or "error"), str(get(content, "message") or ""))))
                elif kind != "usage":
                    known = known and kind in ("data", "uri", "hosted_file")
                    parts.append({"text": shown(content.to_dict())})
            is_last = at + 1 == len(messages)
            usage = tokens(result.usage_details) if is_last else None
            if parts or usage:
                write(event(message.author_name, *parts, usage=usage, finish_reason=get(result, "finish_reason") if is_last else None))
        return {"response": None, "known": known, **({"end": "interrupted"} if waits else {})}
