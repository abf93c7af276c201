

class OpenAIAgents(Adapter):
    library, distribution, packages, methods = "OpenAI Agents SDK", "openai-agents", ("agents",), ("handoffs",)

    def __init__(self, agent, request):
        super().__init__(agent, request)
        self.items = list(request["history"])

    def ask(self, prompt, request):
        from agents import Runner

        said = [*self.items, {"role": "user", "content": prompt}]
        seen = self.hooks()
        try:
            result = finish(Runner.run(self.agent, said, hooks=seen))
        except Exception as error:
            if not self.read_error(error):
                seen.write()
            raise
        self.items = result.to_input_list()
        return self.read(result)

    @classmethod
    def read_error(cls, error):
        """Writes what a run did before it failed. Returns whether the exception says so."""
        items = get(get(error, "run_data"), "new_items") or []
        for one in cls.events_of(items)[0]:
            write(one)
        return bool(items)

    @classmethod
    def reads(cls, result):
        return hasattr(result, "new_items") and hasattr(result, "final_output")

    @classmethod
    def read(cls, result):
        events, said = cls.events_of(result.new_items)
        waiting, final = getattr(result, "interruptions", None), result.final_output
        if waiting:
            final = "waits for approval of " + ", ".join(str(get(one.raw_item, "name")) for one in waiting)
        final = output_text(final)
        if said != final:
            events.append(event(result.last_agent.name, {"text": final}))
        usage = tokens(result.context_wrapper.usage)
        if events and usage:
            events[-1]["usage_metadata"] = usage
        for one in events:
            write(one)
        return {"response": None, "known": True, **({"end": "interrupted"} if waiting else {})}

    @classmethod
    def events_of(cls, items):
        """The events of a run, and the text of the last one, if it is a message."""
        reader, events, said = MessageReader(), [], None
        for item in items:
            raw, author, said = item.raw_item, item.agent.name, None
            if item.type in ("tool_call_output_item", "handoff_output_item"):
                id, output = get(raw, "call_id"), getattr(item, "output", None)
                output = get(raw, "output") if output is None else output
                output = output if isinstance(output, (str, dict, list)) else output_text(output)
                events.append(event(author, response_part(reader.names.get(id), output, id)))
            elif item.type in ("tool_call_item", "handoff_call_item"):
                events.append(event(author, cls.call(reader, raw)))
            elif item.type == "message_output_item":
                refusals = [get(block, "refusal") for block in get(raw, "content") or [] if get(block, "refusal")]
                parts = reader.parts(blocks_of(get(raw, "content")))
                said = "".join(part.get("text", "") for part in parts)
                if parts:
                    events.append(event(author, *parts, error=("refusal", refusals[0]) if refusals else None))
            elif item.type == "reasoning_item":
                text = content_text(get(raw, "summary")) or content_text(get(raw, "content"))
                if text:
                    events.append(event(author, {"text": text, "thought": True}))
            elif item.type != "tool_approval_item":
                events.append(event(author, {"text": shown(raw), "thought": True}))
        return events, said

    @classmethod
    def call(cls, reader, raw):
        """A call of a tool. Tools that the model's provider runs have no name and no arguments of their own."""
        name, args, id = get(raw, "name"), get(raw, "arguments"), get(raw, "call_id") or get(raw, "id")
        if name is None:
            fields = raw if isinstance(raw, dict) else raw.model_dump(mode="json", exclude_none=True)
            name, args = get(raw, "type"), {key: value for key, value in fields.items() if key not in ("id", "type", "status", "call_id")}
        return reader.named_call(name, args, id)

    def hooks(self):
        """Notes what the run did, for an error that does not report it."""
        from agents import RunHooks

        class Seen(RunHooks):
            def __init__(self):
                self.items = []

            async def on_llm_end(self, context, agent, response):
                self.items.append((agent.name, response.output))

            async def on_tool_end(self, context, agent, tool, result):
                id = getattr(context, "tool_call_id", None)
                self.items.append((agent.name, response_part(tool.name, result if isinstance(result, str) else output_text(result), id)))

            def write(self):
                reader = MessageReader()
                for author, item in self.items:
                    if isinstance(item, dict):
                        write(event(author, item))
                    else:
                        for one in item:
                            reader.read(one, author)

        return Seen()
