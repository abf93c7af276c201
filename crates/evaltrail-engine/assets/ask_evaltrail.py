"""Asks evaltrail how a call of a tool is answered.

EVALTRAIL_TOOLS is the address to ask. The answer {"response": ...} stands for the tool's, {"live": true} lets the tool run,
and {"error": "..."} ends the turn: nothing answers the call. The id of the session names the attempt.
"""
import dataclasses
import enum
import json
import os
import urllib.request

ADDRESS = os.environ.get("EVALTRAIL_TOOLS")
LIVE = object()
# The machine itself is asked, whatever proxy is configured.
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def as_json(value):
    """An object in an argument, as its library writes it into a call."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def post(path, body):
    request = urllib.request.Request(ADDRESS + path, json.dumps(body, default=as_json).encode(), {"Content-Type": "application/json"})
    with opener.open(request) as answer:
        return json.loads(answer.read())


def answer_of(tool, args, session):
    """What answers a call in place of the tool, or LIVE."""
    told = post("/call", {"tool": tool, "args": args, "session": session})
    if "error" in told:
        raise RuntimeError(told["error"])
    return LIVE if told.get("live") else told["response"]
