

"""Functions, and objects with `query`: the values that they receive."""

# Usual names of the parameter or key that receives the prompt.
PROMPTS = ("prompt", "input", "question", "query", "message", "text", "user_input", "user_message", "task")


def arguments(function, request):
    """The positional and the named values for the parameters of a function, by their names. A single other parameter
    receives the prompt; `**` receives all."""
    known = {
        "messages": [*request["history"], {"role": "user", "content": request["prompt"]}],
        "history": request["history"],
        "session_id": request["session_id"],
        "state": request["state"],
        "case": request["eval_id"],
        "turn": request["turn"],
        "user_content": request.get("user_content"),
    }
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return [request["prompt"]], {}
    positional = [one.name for one in parameters if one.kind == one.POSITIONAL_ONLY]
    named = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    kinds = {one.kind for one in parameters}
    found = {one.name: known[one.name] for one in named if one.name in known}
    others = [one.name for one in named if one.name not in known and one.default is one.empty]
    optional = [one.name for one in named if one.name not in known and one.default is not one.empty]
    if "messages" not in found and not others and not positional:
        others = [name for name in optional if name in PROMPTS][:1]
    if len(others) + len(positional) > 1:
        raise TypeError(f"the function needs {', '.join([*positional, *others])}; evaltrail passes the prompt and {', '.join(known)}")
    found = {**found, **{name: request["prompt"] for name in others}}
    if not named and not positional and {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds:
        # Such as a function that a decorator returns.
        return [request["prompt"]], {}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        # All values that are not passed by position.
        found = {**known, **({} if positional or others else {"prompt": request["prompt"]}), **found}
        return [request["prompt"]] if positional else [], found
    if positional or (inspect.Parameter.VAR_POSITIONAL in kinds and not others and not found):
        return [request["prompt"]], found
    if not others and not {"messages", "user_content"} & set(found):
        raise TypeError("the function has no parameter for the prompt; if it makes an agent, name it with parentheses: MODULE:NAME()")
    return [], found


class Function(Adapter):
    """A function, a callable object, or an object with `query`."""

    library, starts_anew = "function", False
    dummy = {"history": [], "prompt": "", "session_id": "", "state": {}, "eval_id": "", "turn": 1}

    @classmethod
    def fits(cls, agent):
        return callable(getattr(agent, "query", None)) or callable(agent)

    @staticmethod
    def function_of(agent):
        query = getattr(agent, "query", None)
        return query if callable(query) else agent

    @classmethod
    def why_unusable(cls, agent):
        if "dspy" in packages_of(agent):
            return "a module of DSPy has inputs with names of its own: wrap it in a function, def run(prompt): return module(question=prompt).answer"
        try:
            arguments(cls.function_of(agent), cls.dummy)
        except TypeError as error:
            return str(error)
        return None

    def ask(self, prompt, request):
        function = self.function_of(self.agent)
        given, named = arguments(function, request)
        if "crewai" in sys.modules and function is self.agent:
            return CrewAI.with_calls(lambda: function(*given, **named))
        noting = PydanticAI.noting() if "pydantic_ai" in sys.modules else contextlib.nullcontext()
        try:
            with noting:
                result = function(*given, **named)
                return read_result(result if inspect.isasyncgen(result) else finish(result))
        except Exception as error:
            any(adapter.read_error(error) for adapter in ADAPTERS)
            raise


ADAPTERS = [OpenAIAgents, PydanticAI, LangGraph, LangChain, CrewAI, Agno, AgentFramework, AutoGen, LlamaIndex, Smolagents, Strands, ADK, Function]


def find_adapter(item):
    """The adapter for an object; None if none fits."""
    return next((adapter for adapter in ADAPTERS if adapter.fits(item)), None)


def described(item):
    kind = type(item)
    return f"an object of the class {kind.__module__}.{kind.__qualname__}"
