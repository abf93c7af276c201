

"""The lines that the worker writes: events of ADK as JSON, and their parts."""
import asyncio
import contextlib
import dataclasses
import enum
import inspect
import json
import os
import sys

answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
# The longest content that is not text and is shown as text, in characters.
LONGEST_SHOWN = 2000


class Event(dict):
    """An event of a library other than ADK."""


def write(line):
    """Writes a line. The thoughts in an event of another library are an event of their own: in ADK's events they are a part
    of the response."""
    parts = line["content"]["parts"] if isinstance(line, Event) else []
    thoughts = [part for part in parts if part.get("thought")]
    if thoughts and len(thoughts) < len(parts):
        write(event(line["author"], *thoughts))
        line["content"]["parts"] = [part for part in parts if not part.get("thought")]
    answers.write(json.dumps(line, default=as_json, ensure_ascii=False) + "\n")
    answers.flush()


def finish(value):
    """The value of a coroutine."""
    return loop.run_until_complete(value) if inspect.isawaitable(value) else value


def get(item, key, default=None):
    return item.get(key, default) if isinstance(item, dict) else getattr(item, key, default)


def parsed(text):
    """JSON in a text, if it is some."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def event(author, *parts, usage=None, finish_reason=None, error=None):
    """An event of ADK. `error` is a code and a message."""
    out = Event(author=author or "agent", content={"role": "model", "parts": list(parts)})
    if usage:
        out["usage_metadata"] = usage
    if finish_reason:
        out["finish_reason"] = str(getattr(finish_reason, "value", finish_reason))
    if error:
        out["error_code"], out["error_message"] = error
    return out


def call_part(name, args, id):
    args = parsed(args)
    args = args if isinstance(args, dict) else {} if args is None or args == "" else {"tool_input": args}
    return {"function_call": {"name": name or "", "args": args, "id": id}}


def response_part(name, response, id):
    return {"function_response": {"name": name or "", "response": parsed(response), "id": id}}


TOKENS = {
    "prompt_token_count": ("input_tokens", "prompt_tokens", "inputTokens", "input_token_count"),
    "candidates_token_count": ("output_tokens", "completion_tokens", "outputTokens", "output_token_count"),
    "total_token_count": ("total_tokens", "totalTokens", "total_token_count"),
}


def tokens(usage):
    """Token counts as ADK names them; empty if none is known."""
    found = {}
    for ours, names in TOKENS.items():
        counts = [get(usage, name) for name in names] if usage else []
        counts = [count for count in counts if isinstance(count, (int, float)) and not isinstance(count, bool)]
        if counts:
            found[ours] = counts[0]
    return found if any(found.values()) else {}


class TurnError(Exception):
    """Why a turn has no result, in words for the user."""


def output_text(value):
    """A response as text: structured values are JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if hasattr(value, "model_dump_json") and not inspect.isclass(value):
        return value.model_dump_json()
    if isinstance(value, (dict, list, tuple, bool, int, float, enum.Enum)) or dataclasses.is_dataclass(value):
        # As pydantic and servers write it.
        return json.dumps(value, default=as_json, ensure_ascii=False, separators=(",", ":"))
    kind = type(value)
    if inspect.isclass(value) or (kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__):
        raise TurnError(f"the agent returned an object of the class {kind.__module__}.{kind.__qualname__}, which is neither a text nor a result that evaltrail knows")
    return str(value)


def shown(value):
    """Something that is not understood, as text."""
    text = value if isinstance(value, str) else json.dumps(value, default=as_json, ensure_ascii=False)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}… ({len(text)} characters)"
