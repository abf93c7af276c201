"""Runs a Python agent for evaltrail, turn by turn: python -c WORKER MODULE:NAME or FILE.py:NAME.

The agent is a function, an object with `query`, or an agent of the OpenAI Agents SDK, pydantic-ai, LangChain, LangGraph or
CrewAI. Requests are lines of JSON on standard input; for each, lines of events of ADK and one result are written to what
was standard output at the start. What the agent prints goes to standard error.
"""
import asyncio
import importlib
import inspect
import json
import os
import sys
import traceback
from pathlib import Path

answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
requests = os.fdopen(os.dup(0), encoding="utf-8")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
target = sys.argv[1]
sys.argv = [target]
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
sessions = {}


def plain(value):
    """An object as JSON."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump else str(value)


def write(line):
    answers.write(json.dumps(line, default=plain, ensure_ascii=False) + "\n")
    answers.flush()


def load(target):
    place, _, name = target.rpartition(":")
    sys.path.insert(0, os.getcwd())
    if place.endswith(".py"):
        path = Path(place).resolve()
        if not path.is_file():
            raise Unusable(f"there is no file {path}")
        sys.path.insert(0, str(path.parent))
        place = path.stem
    try:
        module = importlib.import_module(place)
    except BaseException as error:
        traceback.print_exc()
        words = f"{place} cannot be imported by {sys.executable}: {type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError):
            words += "; evaltrail uses your virtual environment in the folder or above it in the repository, or the key `python` of the agent"
        raise Unusable(words)
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            names = [one for one in vars(module) if not one.startswith("_")]
            raise Unusable(f"{place} has no {name}; it has {', '.join(names[:20])}")
        found = getattr(found, part)
    if inspect.isclass(found):
        raise Unusable(f"{target} is a class: name an object of it, or a function")
    if not callable(found) and not any(hasattr(found, one) for one in ("query", "run", "kickoff", "invoke", "handoffs")):
        raise Unusable(f"{target} is neither a function nor an agent, but {type(found).__name__}")
    return found


class Unusable(Exception):
    """Why the agent cannot be used, in words for the user."""


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


def event(author, *parts, usage=None):
    out = {"author": author, "content": {"role": "model", "parts": list(parts)}}
    if usage:
        out["usage_metadata"] = usage
    return out


def call_part(name, args, id):
    args = parsed(args)
    args = args if isinstance(args, dict) else {} if args is None else {"tool_input": args}
    return {"function_call": {"name": name, "args": args, "id": id}}


def response_part(name, response, id):
    return {"function_response": {"name": name, "response": parsed(response), "id": id}}


def tokens(usage):
    counts = {"prompt_token_count": "input_tokens", "candidates_token_count": "output_tokens", "total_token_count": "total_tokens"}
    found = {ours: get(usage, theirs) for ours, theirs in counts.items()}
    return {key: count for key, count in found.items() if isinstance(count, (int, float))}


def text_of(content):
    if isinstance(content, list):
        return "".join(block if isinstance(block, str) else str(get(block, "text", "") or "") for block in content)
    return "" if content is None else str(content)


# What each library returns, as events and a result. A result with "known": false does not say which tools were called.


def of_agents_sdk(result):
    names = {}
    for item in result.new_items:
        raw, author = item.raw_item, item.agent.name
        if item.type in ("tool_call_item", "handoff_call_item"):
            names[get(raw, "call_id")] = get(raw, "name")
            write(event(author, call_part(get(raw, "name"), get(raw, "arguments") or "{}", get(raw, "call_id"))))
        elif item.type in ("tool_call_output_item", "handoff_output_item"):
            id = get(raw, "call_id")
            output = getattr(item, "output", None)
            write(event(author, response_part(names.get(id, ""), get(raw, "output") if output is None else output, id)))
    usage = tokens(result.context_wrapper.usage)
    write(event(result.last_agent.name, {"text": text_of(result.final_output)}, usage=usage))
    return {"response": None, "known": True}


def pydantic_messages(messages):
    for message in messages:
        parts = []
        for part in message.parts:
            kind = get(part, "part_kind")
            if kind == "tool-call":
                parts.append(call_part(part.tool_name, part.args, part.tool_call_id))
            elif kind in ("tool-return", "retry-prompt") and get(part, "tool_name"):
                parts.append(response_part(part.tool_name, plain(part.content) if not isinstance(part.content, (dict, list, str, int, float, bool, type(None))) else part.content, part.tool_call_id))
        if parts:
            usage = get(message, "usage")
            write(event("agent", *parts, usage=tokens(usage) if usage else None))


def pydantic_message(message):
    """A message of the history, without its calls."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

    text = message["content"]
    if message["role"] == "user":
        return ModelRequest(parts=[UserPromptPart(content=text)])
    return ModelResponse(parts=[TextPart(content=text)])


def of_pydantic(result):
    pydantic_messages(result.new_messages())
    return {"response": text_of(result.output), "known": True}


def role(message):
    return get(message, "role") or get(message, "type")


def of_messages(messages):
    """Messages of OpenAI or LangChain: those after the last one of the user."""
    names, said = {}, None
    for message in after_user(messages):
        author = get(message, "name") or "agent"
        if role(message) in ("assistant", "ai"):
            for call in get(message, "tool_calls") or []:
                function = get(call, "function")
                name = get(function, "name") if function else get(call, "name")
                args = get(function, "arguments") if function else get(call, "args")
                names[get(call, "id")] = name
                write(event(author, call_part(name, args, get(call, "id"))))
            said = text_of(get(message, "content")) or said
        elif role(message) == "tool":
            id = get(message, "tool_call_id")
            write(event("tools", response_part(names.get(id) or get(message, "name") or "", text_of(get(message, "content")), id)))
    return {"response": said or "", "known": True}


def of_steps(result):
    """The steps of LangChain's earlier agents: pairs of an action and what the tool responded."""
    calls = []
    for action, _ in result["intermediate_steps"]:
        action = get(action, "kwargs") or action
        calls.append({"tool_name": get(action, "tool"), "tool_input": get(action, "tool_input")})
    return {"response": text_of(result.get("output")), "predicted_trajectory": calls, "known": True}


def of_items(items):
    """The items of a generator: pieces of the response, events, or a result at the end."""
    pieces, last, known = [], None, False
    for item in items:
        if isinstance(item, str):
            pieces.append(item)
            write({**event("agent", {"text": item}), "partial": True})
        elif get(item, "author") is not None:
            known = True
            write(item if isinstance(item, dict) else item.model_dump(mode="json", exclude_none=True))
        else:
            last = item
    if last is not None:
        return of(last)
    return {"response": "".join(pieces) if pieces else None, "known": known}


def of(result):
    if inspect.isasyncgen(result):
        def items():
            while True:
                try:
                    yield loop.run_until_complete(result.__anext__())
                except StopAsyncIteration:
                    return
        return of_items(items())
    if inspect.isgenerator(result):
        return of_items(result)
    if hasattr(result, "new_items") and hasattr(result, "final_output"):
        return of_agents_sdk(result)
    if hasattr(result, "new_messages") and hasattr(result, "output"):
        return of_pydantic(result)
    if hasattr(result, "tasks_output") and hasattr(result, "raw"):
        return {"response": result.raw, "known": False}
    if isinstance(result, dict) and ("response" in result or "predicted_trajectory" in result):
        trajectory = parsed(result.get("predicted_trajectory"))
        response = result.get("response")
        return {**result, "response": None if response is None else text_of(response), "predicted_trajectory": trajectory, "known": isinstance(trajectory, list)}
    if isinstance(result, dict) and "intermediate_steps" in result:
        return of_steps(result)
    if isinstance(result, dict) and isinstance(result.get("messages"), list):
        return of_messages(result["messages"])
    if isinstance(result, list) and result and all(get(item, "author") is not None for item in result):
        return of_items(result)
    if isinstance(result, list):
        return of_messages(result)
    if isinstance(result, dict) and "output" in result:
        return {"response": text_of(result["output"]), "known": False}
    return {"response": text_of(result), "known": False}


# How each kind of agent is asked.


def is_of(agent, library):
    return any((base.__module__ or "").split(".")[0] == library for base in type(agent).__mro__)


def crew_calls(run):
    """Runs CrewAI and collects the calls, which it reports only as events."""
    from crewai.events import ToolUsageErrorEvent, ToolUsageFinishedEvent, ToolUsageStartedEvent, crewai_event_bus

    seen = []
    with crewai_event_bus.scoped_handlers():
        for kind in (ToolUsageStartedEvent, ToolUsageFinishedEvent, ToolUsageErrorEvent):
            crewai_event_bus.on(kind)(lambda source, event: seen.append(event))
        result = finish(run())
        getattr(crewai_event_bus, "flush", lambda: None)()
    if not seen and not hasattr(result, "tasks_output"):
        return of(result)
    for one in sorted(seen, key=lambda event: event.timestamp):
        author = one.agent_role or "agent"
        if isinstance(one, ToolUsageStartedEvent):
            write(event(author.strip(), call_part(one.tool_name, one.tool_args, None)))
        else:
            output = getattr(one, "output", None)
            failed = str(one.error) if hasattr(one, "error") else None
            write(event(author.strip(), response_part(one.tool_name, {"error": failed} if failed else output, None)))
    return {"response": of(result)["response"], "known": True}


async def of_graph(graph, given, history):
    """Runs a graph of LangGraph, and writes its messages as they come: those before a failure are not lost. The update of
    a graph repeats the messages of its subgraphs."""
    seen = history.setdefault("seen", set())
    said = list(given["messages"])
    response = None
    async for place, updates in graph.astream(given, stream_mode="updates", subgraphs=True):
        author = place[0].split(":")[0] if place else None
        for node, update in (updates or {}).items():
            for one in update if isinstance(update, (list, tuple)) else [update]:
                found = get(one, "messages", []) if one is not None else []
                for message in after_user(found if isinstance(found, list) else [found]):
                    id = get(message, "id")
                    if role(message) not in ("ai", "assistant", "tool") or (id and id in seen):
                        continue
                    seen.add(id)
                    said.append(message)
                    response = graph_message(message, get(message, "name") or author or node, author or node) or response
    history["items"] = said
    return {"response": response, "known": True}


def after_user(messages):
    users = [at for at, message in enumerate(messages) if role(message) in ("user", "human")]
    return messages[users[-1] + 1 if users else 0:]


def graph_message(message, author, place):
    """Writes the calls, or the result, in a message. Returns its text if it is the agent's."""
    if role(message) == "tool":
        write(event(place, response_part(get(message, "name") or "", text_of(get(message, "content")), get(message, "tool_call_id"))))
        return None
    for call in get(message, "tool_calls") or []:
        write(event(author, call_part(get(call, "name"), get(call, "args"), get(call, "id"))))
    return text_of(get(message, "content"))


def ask(agent, request):
    prompt, history = request["prompt"], sessions.setdefault(request["session_id"], {})
    if is_of(agent, "agents") and hasattr(agent, "handoffs"):
        from agents import Runner

        said = [*history.get("items", request["history"]), {"role": "user", "content": prompt}]
        result = finish(Runner.run(agent, said))
        history["items"] = result.to_input_list()
        return of(result)
    if is_of(agent, "pydantic_ai") and hasattr(agent, "run"):
        from pydantic_ai import capture_run_messages

        if "items" not in history:
            history["items"] = [pydantic_message(message) for message in request["history"] if message.get("content")]
        with capture_run_messages() as messages:
            try:
                result = finish(agent.run(prompt, message_history=history.get("items")))
            except Exception:
                pydantic_messages(messages)
                raise
        history["items"] = result.all_messages()
        return of(result)
    if hasattr(agent, "kickoff"):
        if request["history"] and request["turn"] > 1 and not history:
            raise RuntimeError("a single turn cannot be run: a crew has no way to receive the turns before it")
        history["turns"] = request["turn"]
        return crew_calls(lambda: agent.kickoff(inputs={"prompt": prompt, **request["state"]}))
    if is_of(agent, "langgraph") and hasattr(agent, "astream"):
        said = [*history.get("items", request["history"]), {"role": "user", "content": prompt}]
        return finish(of_graph(agent, {**request["state"], "messages": said}, history))
    if is_of(agent, "langchain_core") and hasattr(agent, "invoke"):
        said = [*history.get("items", request["history"]), {"role": "user", "content": prompt}]
        result = finish(agent.ainvoke({**request["state"], "messages": said}))
        history["items"] = get(result, "messages") or said
        return of(result)
    function = getattr(agent, "query", None) or agent
    if "crewai" in sys.modules and not hasattr(agent, "query"):
        return crew_calls(lambda: function(**arguments(function, request)))
    result = function(**arguments(function, request))
    return of(finish(result) if not inspect.isasyncgen(result) else result)


def arguments(function, request):
    """The values for the parameters of a function, by their names. A single parameter receives the prompt."""
    known = {
        "messages": [*request["history"], {"role": "user", "content": request["prompt"]}],
        "history": request["history"],
        "session_id": request["session_id"],
        "state": request["state"],
        "case": request["eval_id"],
        "turn": request["turn"],
    }
    wanted = [one for one in inspect.signature(function).parameters.values() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    found = {one.name: known[one.name] for one in wanted if one.name in known}
    others = [one.name for one in wanted if one.name not in known and one.default is one.empty]
    optional = [one.name for one in wanted if one.name not in known and one.default is not one.empty]
    if "messages" not in found and not others and optional:
        others = [name for name in optional if name in ("prompt", "input", "question", "query", "message", "text")][:1]
    if len(others) > 1:
        raise TypeError(f"the function needs {', '.join(others)}; evaltrail passes the prompt and {', '.join(known)}")
    return {**found, **{name: request["prompt"] for name in others}}


def main():
    try:
        agent = load(target)
    except Unusable as error:
        write({"error": str(error)})
        return
    if ADDRESS:
        if not ask_before_tools():
            write({"error": "the agent's module imports none of the libraries whose tools evaltrail can answer: LangChain, OpenAI Agents SDK, pydantic-ai, CrewAI"})
            return
        post("/hello", {})
    write({"ready": True})
    for line in requests:
        request = json.loads(line)
        if ADDRESS:
            ask_before_tools()
            current["session"] = request.get("session_id", "")
        if "end" in request:
            sessions.pop(request["end"], None)
            continue
        try:
            write(ask(agent, request))
        except Exception as error:
            traceback.print_exc()
            write({"error": f"{type(error).__name__}: {error}"})


main()
