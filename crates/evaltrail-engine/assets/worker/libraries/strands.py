

class Strands(Adapter):
    library, distribution, packages, methods = "Strands Agents", "strands-agents", ("strands",), ("invoke_async",)
    # What an agent was constructed with, by its id.
    made_with = {}
    conversation = None

    @staticmethod
    def agents_of(agent):
        """The agents of a graph or a swarm, or the agent itself."""
        nodes = getattr(agent, "nodes", None)
        if not isinstance(nodes, dict):
            return [agent]
        return [one for node in nodes.values() for one in Strands.agents_of(node.executor)]

    @classmethod
    def prepare(cls, agent):
        import copy

        from strands.hooks import MessageAddedEvent

        for one in cls.agents_of(agent):
            cls.made_with[id(one)] = (copy.deepcopy(one.messages), copy.deepcopy(one.state.get()))
            one.hooks.add_callback(MessageAddedEvent, cls.added)

    @classmethod
    def added(cls, added):
        if cls.conversation is not None:
            cls.conversation.take(added.agent, added.message)

    def __init__(self, agent, request):
        import copy

        super().__init__(agent, request)
        for one in self.agents_of(agent):
            messages, state = copy.deepcopy(self.made_with[id(one)])
            one.messages[:] = messages
            one.state = type(one.state)({**state, **request["state"]})
            if getattr(one, "_interrupt_state", None) is not None:
                one._interrupt_state.deactivate()
            one.conversation_manager.removed_message_count = 0
        if hasattr(agent, "messages"):
            agent.messages.extend({"role": one["role"], "content": [{"text": one["content"]}]} for one in request["history"] if one.get("content"))
        elif request["history"]:
            raise TurnError("a single turn cannot be run: several agents together have no place for the turns before it")
        self.waiting, self.last, self.reader = [], None, MessageReader()

    def take(self, agent, message):
        """Writes a message when it is added, but for the last one, whose reason of ending is not known yet."""
        self.flush(None)
        if not is_of_user(message):
            self.last = (message, agent.name)

    def flush(self, reason):
        if self.last:
            message, author = self.last
            self.reader.read({**message, "response_metadata": {"finish_reason": reason}}, author)
            self.last = None

    def ask(self, prompt, request):
        given = prompt
        if self.waiting:
            given = [{"interruptResponse": {"interruptId": one.id, "response": decision(prompt)}} for one in self.waiting]
        self.reader, self.last, Strands.conversation = MessageReader(), None, self
        try:
            result = finish(self.agent.invoke_async(given))
        except Exception:
            self.flush(None)
            raise
        finally:
            Strands.conversation = None
        self.flush(get(result, "stop_reason"))
        self.waiting = list(get(result, "interrupts") or [])
        structured = get(result, "structured_output")
        if self.waiting:
            texts = [f"{one.name}: {output_text(one.reason)}" if one.reason is not None else one.name for one in self.waiting]
            return {"response": "\n".join(texts), "known": self.reader.known, "end": "interrupted"}
        return {"response": output_text(structured) if structured is not None else None, "known": self.reader.known}

    @classmethod
    def reads(cls, result):
        return "strands" in packages_of(result) and (hasattr(result, "stop_reason") or type(result).__name__ in ("MultiAgentResult", "GraphResult", "SwarmResult"))

    @classmethod
    def read(cls, result):
        structured = get(result, "structured_output")
        text = output_text(structured) if structured is not None else str(result).removesuffix("\n")
        write(event("agent", {"text": text}, finish_reason=get(result, "stop_reason")))
        return {"response": None, "known": False}
