

"""Runs a Python agent for evaltrail, turn by turn: imports MODULE:NAME or FILE.py:NAME, and writes for each request its
events and one result. NAME() is called for each session and makes the agent. What the agent prints goes to standard error."""
import importlib.metadata
import traceback
from pathlib import Path

target = sys.argv[1]
sys.argv = [target]
sessions = {}


def load(target):
    """The object that is named, and whether it is called for each session."""
    place, _, name = target.rpartition(":")
    is_factory = name.endswith("()")
    name = name.removesuffix("()")
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
    if is_factory and not callable(found):
        raise Unusable(f"{name} cannot be called: it is {described(found)}; name it without parentheses")
    if inspect.isclass(found) and not is_factory:
        raise Unusable(f"{target} is a class: name an object of it, a function, or {target}() for an object of its own in each session")
    return found, is_factory


class Agents:
    """The agent of each session: the object that is named, or one that the function that is named makes."""

    def __init__(self, target):
        found, self.is_factory = load(target)
        # ADK's convention: a coroutine that returns the agent, and what to close at the end.
        self.stack = None
        if not self.is_factory and getattr(found, "__name__", "") == "get_agent_async":
            found, self.stack = unpacked(finish(found()))
        self.found = found if self.is_factory else unpacked(finish(found) if inspect.iscoroutine(found) else found)[0]
        self.first = self.made() if self.is_factory else None
        agent = self.first[0] if self.is_factory else self.found
        self.adapter = find_adapter(agent)
        if self.adapter is None:
            raise Unusable(f"{target} is {described(agent)}, which evaltrail does not know how to run. Wrap it in a function: "
                           f"def run(prompt): return ..., and name {target.rpartition(':')[0]}:run")
        why = self.adapter.why_unusable(agent)
        if why:
            raise Unusable(f"{target}: {why}")
        if not self.is_factory:
            self.adapter.prepare(agent)
        self.agent, self.sizes = agent, sizes_of(self.found)

    def made(self):
        """A new agent, and what to close after its session."""
        try:
            return unpacked(finish(self.found()))
        except Exception as error:
            traceback.print_exc()
            raise Unusable(f"{target} failed: {type(error).__name__}: {error}")

    def open(self, request):
        """Starts a conversation. Notes what the agent has kept from those before it."""
        agent, stack = self.found, None
        if self.is_factory:
            (agent, stack), self.first = self.first or self.made(), None
            self.adapter.prepare(agent)
        conversation = self.adapter(agent, request)
        conversation.stack = stack
        conversation.kept_state = ", ".join(grown(self.sizes, sizes_of(self.found)))
        return conversation

    def about(self):
        """What the agent is, in words, and what it may keep between sessions."""
        about = {"library": self.adapter.library}
        try:
            about["library"] += f" {importlib.metadata.version(self.adapter.distribution)}"
        except (ValueError, importlib.metadata.PackageNotFoundError):
            pass
        if self.is_factory:
            about["sessions"] = f"each has an agent of its own, made by {target.rpartition(':')[2]}"
        elif not self.adapter.starts_anew and self.sizes:
            about["state"] = (f"{', '.join(sorted(self.sizes))} may keep the turns of a case for the next one; "
                              "if so, let a function make the agent, and name it with parentheses: MODULE:NAME()")
        return about


def unpacked(made):
    """An agent, and what to close after it: ADK's functions return both."""
    if isinstance(made, tuple) and made and find_adapter(made[0]) is not None:
        return made[0], next((one for one in made[1:] if hasattr(one, "aclose") or hasattr(one, "close")), None)
    return made, None


def close(stack):
    try:
        if stack is not None:
            finish(stack.aclose() if hasattr(stack, "aclose") else stack.close())
    except Exception:
        traceback.print_exc()


def answer(agents, request):
    id = request["session_id"]
    if id not in sessions:
        sessions[id] = agents.open(request)
    conversation = sessions[id]
    result = conversation.ask(request["prompt"], request)
    return {**result, "kept_state": conversation.kept_state} if conversation.kept_state else result


def end(conversation):
    if conversation is not None:
        try:
            conversation.end()
        except Exception:
            traceback.print_exc()
        close(conversation.stack)


def in_words(error):
    """An exception in words, with those of the exceptions of a group."""
    inner = getattr(error, "exceptions", None)
    # Some exceptions have their cause as a second argument, and some a traceback in their text.
    text = str(error.args[0]) if len(error.args) > 1 and str(error) == str(error.args) else str(error)
    text = re.split(r"\nTraceback\b", text)[0]
    words = text if isinstance(error, (TurnError, Unusable)) else f"{type(error).__name__}: {text}"
    return words if not inner else f"{words}: {'; '.join(in_words(one) for one in inner)}"


def main():
    try:
        agents = Agents(target)
    except Unusable as error:
        write({"error": str(error)})
        return
    except Exception as error:
        traceback.print_exc()
        write({"error": f"{target} cannot be used: {in_words(error)}"})
        return
    if ADDRESS:
        if not ask_before_tools():
            write({"error": "the agent's module imports none of the libraries whose tools evaltrail can answer: LangChain, OpenAI Agents SDK, pydantic-ai, CrewAI"})
            return
        post("/hello", {})
    write({"ready": True, "about": agents.about()})
    for line in requests:
        request = json.loads(line)
        if ADDRESS:
            ask_before_tools()
            current["session"] = request.get("session_id", "")
        if "end" in request:
            end(sessions.pop(request["end"], None))
            continue
        try:
            write(answer(agents, request))
        except Exception as error:
            traceback.print_exc()
            write({"error": in_words(error)})
    for conversation in sessions.values():
        end(conversation)
    close(agents.stack)


main()
