
# The usual keys of the text of an interrupt's question, as in `crates/evaltrail-engine/src/agents/langgraph/interrupt.rs`.
QUESTIONS = ("question", "message", "prompt", "text", "description")


def question_in(value):
    """The text of a question that is an object with one of these keys, one with the action requests of LangChain's middleware, or a
    list of such objects, all of which have a text; None for other values."""
    if isinstance(value, dict):
        texts = [value[key] for key in QUESTIONS if isinstance(value.get(key), str) and value[key].strip()]
        return texts[0] if texts else question_in(value.get("action_requests"))
    texts = [question_in(one) for one in value] if isinstance(value, list) else []
    return "\n".join(texts) if texts and None not in texts else None


def question_part(value):
    """The text of an interrupt's question and what else is in the value, or the value as text. The value is also the part's
    metadata."""
    text, whole = question_in(value), output_text(value)
    if text is None:
        return {"text": whole}
    is_all = isinstance(value, dict) and len(value) == 1 and "action_requests" not in value
    return {"text": text if is_all else f"{text}\n{whole}", "part_metadata": {"interrupt": json.loads(whole)}}


class LangGraph(Adapter):
    library, distribution, packages, methods = "LangGraph", "langgraph", ("langgraph",), ()

    @classmethod
    def fits(cls, agent):
        return super().fits(agent) and (hasattr(agent, "astream") or hasattr(agent, "compile"))

    @classmethod
    def why_unusable(cls, agent):
        if not hasattr(agent, "astream"):
            return "the graph is not compiled: name the object that its method compile() returns"
        if cls.input_key(agent) is None:
            keys = ", ".join(cls.input_keys(agent))
            return f"the graph's input has no messages but {keys}: wrap it in a function, def run(prompt): return graph.invoke({{...}})"
        return None

    @staticmethod
    def input_keys(graph):
        schema = getattr(getattr(graph, "builder", None), "input_schema", None)
        fields = getattr(schema, "model_fields", None) or getattr(schema, "__annotations__", None) or {}
        return list(fields) or [key for key in getattr(graph, "channels", {}) if not key.startswith(("__", "branch:"))]

    @classmethod
    def input_key(cls, graph):
        """The key of the input that receives the conversation or the prompt; None if there are several without a usual name."""
        keys = cls.input_keys(graph)
        if "messages" in getattr(graph, "channels", {}) or not hasattr(graph, "builder"):
            return "messages"
        usual = [key for key in keys if key in PROMPTS]
        return keys[0] if len(keys) == 1 else usual[0] if usual else None

    def __init__(self, agent, request):
        super().__init__(agent, request)
        self.key = self.input_key(agent)
        self.has_memory = getattr(agent, "checkpointer", None) not in (None, False)
        self.items = list(request["history"])
        self.is_new, self.waiting = True, []
        if self.key != "messages" and self.items:
            raise TurnError(f"a single turn cannot be run: the graph's input {self.key} has no place for the turns before it")

    def ask(self, prompt, request):
        if self.waiting and not self.has_memory:
            raise TurnError("the graph stopped for a decision and cannot continue: compile it with a checkpointer, for example InMemorySaver()")
        return finish(self.run(self.given(prompt, request)))

    def given(self, prompt, request):
        """The input: the new message, with those before it if the graph does not remember them; or the decision."""
        if self.waiting:
            from langgraph.types import Command

            answers = {one.id: self.answer(one.value, prompt) for one in self.waiting}
            return Command(resume=answers if len(answers) > 1 else next(iter(answers.values())))
        state = request["state"] if self.is_new or not self.has_memory else {}
        if self.key != "messages":
            return {**state, self.key: prompt}
        before = self.items if self.is_new or not self.has_memory else []
        return {**state, "messages": [*before, {"role": "user", "content": prompt}]}

    @staticmethod
    def answer(asked, prompt):
        """The decision for an interrupt. LangChain's middleware needs one for each action."""
        actions = get(asked, "action_requests") if isinstance(asked, dict) else None
        if actions is None or isinstance(decision(prompt), (dict, list)):
            return decision(prompt)
        one = {"type": "approve"} if confirms(prompt) else {"type": "reject", "message": prompt}
        return {"decisions": [one for _ in actions]}

    async def run(self, given):
        turn = GraphTurn()
        config = {"configurable": {"thread_id": self.session_id}}
        self.is_new, self.waiting = False, []
        async for place, mode, update in self.agent.astream(given, config, stream_mode=["updates", "values"], subgraphs=True):
            if mode == "values":
                turn.take_values(place, update)
                continue
            for node, one in (update or {}).items():
                if node == "__interrupt__":
                    self.waiting += [stop for stop in one if stop.id not in [known.id for known in self.waiting]]
                else:
                    turn.take_update(place, node, one)
        if self.waiting:
            for stop in self.waiting:
                write(event(turn.author, question_part(stop.value)))
            return {"response": None, "known": turn.reader.known, "end": "interrupted"}
        state = turn.values.get((), {})
        self.items = list(get(state, "messages", None) or self.items)
        structured = get(state, "structured_response")
        response = output_text(structured) if structured is not None else None if turn.has_spoken else self.output(state, turn)
        return {"response": response, "known": turn.reader.known}

    def output(self, state, turn):
        """The response of a graph without messages: what it added to its input."""
        if not isinstance(state, dict):
            return output_text(state or turn.last_update)
        before = turn.inputs.get((), {})
        added = {key: value for key, value in state.items() if key not in (self.key, "messages") and (key not in before or before[key] != value)}
        usual = [key for key in added if key in ("answer", "output", "response", "result")]
        one = next(iter(added)) if len(added) == 1 else usual[0] if usual else None
        return output_text(added[one]) if one else output_text(added) if added else None


class GraphTurn:
    """Reads the updates of a graph's nodes as they come: those before a failure are not lost. The update of a graph repeats
    the messages of its subgraphs, and may repeat those of the whole thread: each message is read once."""

    def __init__(self):
        self.reader, self.author, self.has_spoken, self.last_update = MessageReader(), "agent", False, None
        # The ids of the messages that are read or were in the input.
        self.seen = set()
        # What was read without an id since the last state.
        self.unnamed = []
        # The input and the latest state, by the place of the graph.
        self.inputs, self.values = {}, {}

    @staticmethod
    def key(message):
        return json.dumps([content_text(get(message, "content")), [[get(call, "name"), get(call, "id")] for call in get(message, "tool_calls") or []]], default=as_json)

    @staticmethod
    def messages_in(update):
        found = get(update, "messages") if not isinstance(update, (str, tuple)) else None
        if found is None:
            return []
        return [as_message(one) for one in (found if isinstance(found, list) and not (len(found) == 2 and isinstance(found[0], str) and found[0] in ("ai", "assistant")) else [found])]

    def take_update(self, place, node, update):
        name = place[0].split(":")[0] if place else node
        for one in update if isinstance(update, list) else [update]:
            self.last_update = one if one is not None else self.last_update
            messages = self.messages_in(one)
            known = [self.key(message) for message in self.messages_in(self.values.get(place, {}))]
            # Without ids, a node that returns the whole conversation is known by its beginning.
            if known and len(messages) > len(known) and [self.key(message) for message in messages[:len(known)]] == known:
                messages = messages[len(known):]
            for message in messages:
                id = get(message, "id")
                if id and id in self.seen:
                    continue
                self.seen.add(id)
                if not id:
                    self.unnamed.append(self.key(message))
                self.read(message, name)

    def take_values(self, place, state):
        """Takes a state. Its messages have ids, also those that a node returned without one."""
        is_input = place not in self.inputs
        if is_input:
            self.inputs[place] = state
        before = len(self.messages_in(self.values.get(place, {})))
        self.values[place] = state
        for at, message in enumerate(self.messages_in(state)):
            id, key = get(message, "id"), self.key(message)
            if id in self.seen or (not id and at < before):
                continue
            if id:
                self.seen.add(id)
            if key in self.unnamed:
                self.unnamed.remove(key)
            elif not is_input:
                self.read(message, self.author)
        self.unnamed = []

    def read(self, message, place):
        author = get(message, "name") if role(message) != "tool" else None
        self.author = author or place
        if self.reader.read(message, place) and role(message) == "assistant":
            self.has_spoken = True
