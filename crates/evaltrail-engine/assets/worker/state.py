

"""Finds out whether an agent keeps state between conversations: attributes that have grown since it was made."""
import re

KEEPS = re.compile(r"(messages|history|histories|memory|memories|conversations?|transcript|chat_log|turns)$", re.IGNORECASE)


def sizes_in(item, path, depth=0):
    """The sizes of the attributes of an object that are named like memories, and of those attributes of theirs, by path."""
    if depth > 3 or isinstance(item, (str, bytes, int, float, bool, type(None))) or inspect.ismodule(item):
        return {}
    own = [] if inspect.isclass(item) else [vars(type(item)), getattr(item, "__dict__", {})]
    found = {}
    for name, value in [pair for one in own for pair in list(one.items())]:
        if not KEEPS.search(name) or inspect.isroutine(value) or isinstance(value, property):
            continue
        if isinstance(value, (list, dict, set, tuple)) or type(value).__name__ == "deque":
            found[f"{path}.{name}"] = len(value)
        else:
            found.update(sizes_in(value, f"{path}.{name}", depth + 1))
    return found


def names_in(code):
    """The names that a function uses, and those in it."""
    inner = [one for one in getattr(code, "co_consts", ()) if hasattr(one, "co_names")]
    return set(getattr(code, "co_names", ())).union(*(names_in(one) for one in inner))


def sizes_of(agent):
    """The sizes of what an agent, and the module of a function, may keep."""
    name = getattr(agent, "__name__", None) or type(agent).__name__
    found = sizes_in(agent, name)
    if inspect.ismethod(agent):
        found.update(sizes_in(agent.__self__, type(agent.__self__).__name__))
    function = inspect.unwrap(agent) if callable(agent) else agent
    used = names_in(getattr(function, "__code__", None))
    for name, value in list(getattr(function, "__globals__", {}).items()):
        if name not in used or name.isupper() or inspect.isclass(value) or inspect.isroutine(value):
            continue
        if isinstance(value, (list, dict, set)) and KEEPS.search(name):
            found[name] = len(value)
        elif not isinstance(value, (list, dict, set, tuple)):
            found.update(sizes_in(value, name))
    return found


def grown(before, now):
    """What has grown, by name."""
    return sorted(name for name, size in now.items() if size > before.get(name, 0))
