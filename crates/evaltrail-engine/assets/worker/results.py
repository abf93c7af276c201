

"""Reads what functions return."""


def read_steps(result):
    """The steps of LangChain's earlier agents: pairs of an action and what the tool responded."""
    calls = []
    for action, _ in result["intermediate_steps"]:
        action = get(action, "kwargs") or action
        calls.append({"tool_name": get(action, "tool"), "tool_input": get(action, "tool_input")})
    return {"response": output_text(result.get("output")), "predicted_trajectory": calls, "known": True}


def is_event(item):
    return get(item, "author") is not None and (get(item, "content") is not None or get(item, "actions") is not None)


def read_items(items):
    """The items of a generator: pieces of the response, events, or a result at the end."""
    pieces, last, known = [], None, False
    for item in items:
        if last is not None:
            raise TurnError(f"the generator yielded {type(last).__name__} before its end; it yields texts, events of ADK, and one result at the end")
        if isinstance(item, str):
            pieces.append(item)
            write({**event("agent", {"text": item}), "partial": True})
        elif is_event(item):
            known = True
            write(item if isinstance(item, dict) else item.model_dump(mode="json", exclude_none=True))
        else:
            last = item
    if last is not None:
        return read_result(last)
    return {"response": "".join(pieces) if pieces else None, "known": known}


def items_of(generator):
    """The items of an asynchronous generator."""
    while True:
        try:
            yield loop.run_until_complete(generator.__anext__())
        except StopAsyncIteration:
            return


def is_conversation(result):
    return bool(result) and all(isinstance(one, (dict,)) or not isinstance(one, (str, int, float, list, tuple)) for one in result) and all(
        role(one) in ("assistant", "user", "tool", "system", "message", *CALLS, *RESULTS, *THOUGHTS) for one in result)


def read_result(result):
    """Writes the events of what a function returned, and returns the rest as the result of the turn. A result with
    "known": false does not say which tools were called."""
    if inspect.isasyncgen(result):
        return read_items(items_of(result))
    if inspect.isgenerator(result):
        return read_items(result)
    adapter = next((adapter for adapter in ADAPTERS if adapter.reads(result)), None)
    if adapter:
        return adapter.read(result)
    if result is None:
        raise TurnError("the function returned None; it should return the response")
    if isinstance(result, tuple) and result and find_adapter(result[0]) not in (None, Function):
        result = result[0]
    made = find_adapter(result)
    if made is not None and not isinstance(result, (str, dict, list)):
        raise TurnError(f"the function returned {described(result)}; to have it make an agent for each session, name it with parentheses: python:{target}()")
    if isinstance(result, list):
        if result and all(is_event(item) for item in result):
            return read_items(result)
        if is_conversation(result):
            return read_messages(result)
    if isinstance(result, dict):
        if "response" in result or "predicted_trajectory" in result:
            trajectory = parsed(result.get("predicted_trajectory"))
            response = result.get("response")
            return {**result, "response": None if response is None else output_text(response), "predicted_trajectory": trajectory, "known": isinstance(trajectory, list)}
        if "intermediate_steps" in result:
            return read_steps(result)
        if isinstance(result.get("messages"), list):
            read = read_messages(result["messages"])
            structured = result.get("structured_response")
            return read if structured is None else {**read, "response": output_text(structured)}
        if is_conversation([result]):
            return read_messages([result])
        if "output" in result:
            return {"response": output_text(result["output"]), "known": False}
    return {"response": output_text(result), "known": False}
