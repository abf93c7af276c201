

"""What every adapter provides. Each adapter is for the agents of one library; `ADAPTERS` is the table of all."""


class Unusable(Exception):
    """Why the agent cannot be used, in words for the user."""


def packages_of(item):
    """The packages that define the classes of an object."""
    return {(base.__module__ or "").split(".")[0] for base in type(item).__mro__}


def class_names(item):
    return {base.__name__ for base in type(item).__mro__}


class Adapter:
    """A conversation with an agent of a library."""

    # The library's name, and as it is installed; the packages that define its agents; the methods that an agent has.
    library, distribution, packages, methods = "", "", (), ()
    # Whether a conversation starts as if the agent had not been used before.
    starts_anew = True

    @classmethod
    def fits(cls, agent):
        return bool(packages_of(agent) & set(cls.packages)) and all(hasattr(agent, method) for method in cls.methods)

    @classmethod
    def why_unusable(cls, agent):
        """Why an agent that fits cannot be run; None if it can."""
        return None

    @classmethod
    def prepare(cls, agent):
        """Called once for an agent, before its first conversation."""

    @classmethod
    def reads(cls, result):
        """Whether a result that a function returned is one of the library."""
        return False

    @classmethod
    def read_error(cls, error):
        """Writes what the library's exception says about the run. Returns whether it says anything."""
        return False

    def __init__(self, agent, request):
        self.agent, self.session_id = agent, request["session_id"]

    def ask(self, prompt, request):
        """Runs a turn: writes its events, and returns the result. `request["history"]` has the turns before it."""
        raise NotImplementedError

    def end(self):
        """Ends the conversation."""


def decision(prompt):
    """The user's message as the answer to an agent that stopped for a decision: an object or a list if it is one as JSON."""
    value = parsed(prompt)
    return value if isinstance(value, (dict, list)) else prompt


def confirms(prompt):
    """Whether the user's message confirms what the agent asks for."""
    return prompt.strip().lower().rstrip(".!") in ("yes", "y", "ok", "confirm", "approve", "true")
