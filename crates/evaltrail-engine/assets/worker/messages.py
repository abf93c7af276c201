

"""Reads messages of OpenAI, Anthropic, Bedrock and LangChain, as objects, dicts, pairs or texts, and writes them as events."""

TEXTS = ("text", "output_text", "input_text", "plaintext")
THOUGHTS = ("thinking", "reasoning", "reasoning_content", "reasoningContent", "redacted_thinking", "summary_text")
CALLS = ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "server_tool_call", "function_call")
RESULTS = ("tool_result", "function_call_output", "server_tool_result", "mcp_tool_result")
MEDIA = ("image", "image_url", "input_image", "audio", "input_audio", "video", "file", "document", "media")


def role(message):
    """`assistant`, `user`, `tool`, `system`, or another word."""
    found = get(message, "role") or get(message, "type") or ""
    found = str(getattr(found, "value", found)).removesuffix("MessageChunk").removesuffix("Message").lower()
    names = {"ai": "assistant", "model": "assistant", "human": "user", "function": "tool", "developer": "system"}
    return names.get(found, found)


def as_message(message):
    """A message in one of the short forms of LangGraph: a text, or a pair of a role and a content."""
    if isinstance(message, str):
        return {"role": "assistant", "content": message}
    if isinstance(message, (tuple, list)) and len(message) == 2 and isinstance(message[0], str):
        return {"role": message[0], "content": message[1]}
    return message


def blocks_of(content):
    """The pieces of a content, each as a dict or an object with `type`."""
    if content is None:
        return []
    found = []
    for block in content if isinstance(content, (list, tuple)) else [content]:
        if isinstance(block, str):
            block = {"type": "text", "text": block}
        elif isinstance(block, dict) and "type" not in block and len(block) == 1:
            # Bedrock names the kind by the only key.
            (kind, value), = block.items()
            kinds = {"toolUse": "tool_use", "toolResult": "tool_result", "reasoningContent": "reasoning"}
            block = {"type": kinds.get(kind, kind), **(value if isinstance(value, dict) else {"text": value})}
        found.append(block)
    return found


def first_of(item, *keys):
    """The first value that is not None."""
    return next((value for value in (get(item, key) for key in keys) if value is not None), None)


def kind_of(block):
    return str(get(block, "type") or "")


def content_text(content):
    """The texts of a content, joined. Other pieces are shown as text."""
    texts = [get(block, "text") if kind_of(block) in TEXTS else shown(block) for block in blocks_of(content)]
    return "".join(str(text or "") for text in texts)


def is_of_user(message):
    """Whether the user wrote a message. Results of tools are messages of the user for some models."""
    blocks = blocks_of(get(message, "content"))
    return role(message) == "user" and not (blocks and all(kind_of(block) in RESULTS for block in blocks))


def after_user(messages):
    """The messages after the last one of the user."""
    users = [at for at, message in enumerate(messages) if is_of_user(message)]
    return messages[users[-1] + 1 if users else 0:]


class MessageReader:
    """Writes the messages of one turn as events."""

    def __init__(self):
        self.names = {}
        # Whether everything was understood. If not, the calls of the turn are not known.
        self.known = True

    def read(self, message, author="agent", finish_reason=None):
        """Writes the events of a message of the agent or of a tool. Returns whether there was one."""
        kind, named = role(message), get(message, "author_name") or get(message, "name")
        if kind == "tool":
            return self.read_tool(message, author)
        if kind in ("system", "remove"):
            return False
        call = get(message, "function_call")
        asked = [*(get(message, "tool_calls") or []), *(get(message, "invalid_tool_calls") or []), *([call] if call else [])]
        if kind in CALLS + RESULTS + THOUGHTS:
            parts, named = self.parts([message]), None
        else:
            parts = self.parts(blocks_of(get(message, "content")), {get(one, "id") for one in asked})
        parts += [self.call(one) for one in asked]
        thought, refusal = get(message, "reasoning_content"), get(message, "refusal")
        if isinstance(thought, str) and thought:
            parts.insert(0, {"text": thought, "thought": True})
        if isinstance(refusal, str) and refusal:
            parts.append({"text": refusal})
        metadata = get(message, "response_metadata") or {}
        reason = finish_reason or get(metadata, "finish_reason") or get(metadata, "stop_reason") or get(metadata, "done_reason")
        error = ("refusal", refusal) if isinstance(refusal, str) and refusal else None
        usage = tokens(get(message, "usage_metadata") or get(get(message, "metadata") or {}, "usage") or get(message, "metrics"))
        if parts or usage or error:
            write(event(named or author, *parts, usage=usage, finish_reason=reason, error=error))
        return bool(parts)

    def read_tool(self, message, author):
        id = get(message, "tool_call_id") or get(message, "call_id") or get(message, "id")
        name = self.names.get(id) or get(message, "name") or get(message, "tool_name")
        text = content_text(get(message, "content"))
        write(event(author, response_part(name, {"error": text} if get(message, "tool_call_error") else text, id)))
        return True

    def call(self, call):
        function = get(call, "function")
        name = get(function, "name") if function else get(call, "name")
        args = get(function, "arguments") if function else first_of(call, "args", "arguments", "input")
        return self.named_call(name, args, get(call, "id") or get(call, "call_id"))

    def named_call(self, name, args, id):
        self.names[id] = name
        return call_part(name, args, id)

    def parts(self, blocks, listed=()):
        """The parts of ADK for the blocks of a message. `listed`: the ids of the calls that the message lists beside them."""
        parts = []
        for block in blocks:
            kind = kind_of(block)
            id = get(block, "toolUseId") or get(block, "tool_use_id") or get(block, "call_id") or get(block, "id")
            if kind in TEXTS:
                text = get(block, "text") or ""
                if parts and set(parts[-1]) == {"text"}:
                    parts[-1] = {"text": parts[-1]["text"] + text}
                elif text:
                    parts.append({"text": text})
            elif kind in THOUGHTS:
                text = next(filter(None, (get(block, key) for key in ("thinking", "reasoning", "text", "content", "summary", "reasoningText"))), "")
                parts.append({"text": text if isinstance(text, str) else content_text(text), "thought": True})
            elif kind == "refusal":
                parts.append({"text": get(block, "refusal") or get(block, "text") or ""})
            elif kind in CALLS:
                if id not in listed:
                    parts.append(self.named_call(get(block, "name"), first_of(block, "input", "args", "arguments"), id))
            elif kind in RESULTS or kind.endswith("_tool_result"):
                value = first_of(block, "content", "output", "result")
                value = content_text(value) if isinstance(value, (str, list)) else value
                failed = get(block, "is_error") or get(block, "status") == "error"
                parts.append(response_part(self.names.get(id) or get(block, "name"), {"error": value} if failed else value, id))
            elif kind in MEDIA:
                parts.append({"text": f"[{shown(block)}]"})
            else:
                self.known = False
                parts.append({"text": shown(block)})
        return parts


def read_messages(messages):
    """Writes the messages after the last one of the user, as the result of a turn."""
    reader = MessageReader()
    for message in after_user([as_message(message) for message in messages]):
        reader.read(message)
    return {"response": None, "known": reader.known}
