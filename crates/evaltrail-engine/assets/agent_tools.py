

import asyncio
import contextvars
import functools
import sys

# The session of the current turn: a worker runs one conversation at a time.
current = {"session": ""}
# The tool that runs: the same call may pass another layer of its library, which is not asked about again.
running = contextvars.ContextVar("running", default=None)


def is_asked(name):
    """Whether evaltrail is asked about a tool. Handing over to another agent has no effect elsewhere."""
    return running.get() != name and not name.startswith("transfer_to_")


def as_text(response):
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def asked(name_of, args_of, shaped):
    """A decorator for a method that runs a tool: asks first, and runs the tool only if it may."""

    def decorate(method):
        def shape(response, self, given, named):
            return shaped(response, self, *given, **named)

        if asyncio.iscoroutinefunction(method):
            @functools.wraps(method)
            async def run(self, *given, **named):
                name = name_of(self, *given)
                if is_asked(name):
                    args = args_of(self, *given, **named)
                    response = await asyncio.to_thread(answer_of, name, args, current["session"])
                    if response is not LIVE:
                        return shape(response, self, given, named)
                token = running.set(name)
                try:
                    return await method(self, *given, **named)
                finally:
                    running.reset(token)
        else:
            @functools.wraps(method)
            def run(self, *given, **named):
                name = name_of(self, *given)
                if is_asked(name):
                    response = answer_of(name, args_of(self, *given, **named), current["session"])
                    if response is not LIVE:
                        return shape(response, self, given, named)
                token = running.set(name)
                try:
                    return method(self, *given, **named)
                finally:
                    running.reset(token)
        run.asks_evaltrail = True
        return run

    return decorate


def subclasses(base):
    """A class and all that derive from it."""
    return [base, *(one for derived in base.__subclasses__() for one in subclasses(derived))]


def ask_before(base, names, decorate, but_not=()):
    """Decorates the methods of these names, wherever a class below `base` defines them."""
    for one in set(subclasses(base)):
        for name in names:
            method = one.__dict__.get(name)
            if callable(method) and not hasattr(method, "asks_evaltrail") and not issubclass(one, tuple(but_not)):
                setattr(one, name, decorate(method))


def ask_before_langchain():
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import BaseTool

    def args_of(tool, tool_input, *given, **named):
        if not isinstance(tool_input, dict):
            return {"tool_input": tool_input}
        # What the framework injects is not an argument of the model.
        return {name: value for name, value in tool_input.items() if name in tool.args}

    def shaped(response, tool, *given, tool_call_id=None, **named):
        return ToolMessage(as_text(response), name=tool.name, tool_call_id=tool_call_id) if tool_call_id else response

    ask_before(BaseTool, ("run", "arun"), asked(lambda tool, *given: tool.name, args_of, shaped))


def ask_before_agents_sdk():
    from agents import FunctionTool

    if isinstance(FunctionTool.__dict__.get("on_invoke_tool"), property):
        return

    class Asking:
        """Stands for the function of a tool."""

        def __init__(self, tool, function):
            self.tool, self.function = tool, function

        async def __call__(self, context, arguments):
            response = await asyncio.to_thread(answer_of, self.tool.name, parsed(arguments or "{}"), current["session"])
            return await self.function(context, arguments) if response is LIVE else as_text(response)

        def __getattr__(self, name):
            if name in ("tool", "function") or name.startswith("__"):
                raise AttributeError(name)
            return getattr(self.function, name)

    def function_of(tool):
        function = tool.__dict__["on_invoke_tool"]
        if not isinstance(function, Asking) or function.tool is not tool:
            function = Asking(tool, getattr(function, "function", function) if isinstance(function, Asking) else function)
            tool.__dict__["on_invoke_tool"] = function
        return function

    FunctionTool.on_invoke_tool = property(function_of, lambda tool, function: tool.__dict__.update(on_invoke_tool=function))


def ask_before_pydantic():
    from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, WrapperToolset

    def args_of(toolset, name, tool_args, *given, **named):
        return tool_args

    decorate = asked(lambda toolset, name, *given: name, args_of, lambda response, *given, **named: response)
    ask_before(AbstractToolset, ("call_tool",), decorate, but_not=(CombinedToolset, WrapperToolset))


def ask_before_crewai():
    from crewai.tools import BaseTool
    from crewai.tools.structured_tool import CrewStructuredTool

    def text(response, *given, **named):
        return as_text(response)

    def input_of(tool, input, *given, **named):
        return parsed(input) if isinstance(parsed(input), dict) else {"tool_input": input}

    def args_of(tool, *given, **named):
        return named or {"tool_input": list(given)}

    ask_before(CrewStructuredTool, ("invoke", "ainvoke"), asked(lambda tool, *given: tool.name, input_of, text))
    ask_before(BaseTool, ("run", "arun"), asked(lambda tool, *given: tool.name, args_of, text))


LIBRARIES = {
    ("langchain_core.tools", "BaseTool"): ask_before_langchain,
    ("agents", "FunctionTool"): ask_before_agents_sdk,
    ("pydantic_ai.toolsets", "AbstractToolset"): ask_before_pydantic,
    ("crewai.tools", "BaseTool"): ask_before_crewai,
}


def ask_before_tools():
    """Makes the tools of the libraries that are imported ask first. Returns whether there is one."""
    found = [ask for (module, name), ask in LIBRARIES.items() if hasattr(sys.modules.get(module), name)]
    for ask in found:
        ask()
    return bool(found)


