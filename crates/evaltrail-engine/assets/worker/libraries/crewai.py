

class CrewAI(Adapter):
    library, distribution, methods = "CrewAI", "crewai", ("kickoff",)
    starts_anew = False

    @classmethod
    def fits(cls, agent):
        return hasattr(agent, "kickoff")

    def __init__(self, agent, request):
        super().__init__(agent, request)
        self.items = list(request["history"])
        self.takes_messages = "messages" in inspect.signature(agent.kickoff).parameters
        if self.items and not self.takes_messages:
            raise TurnError("a single turn cannot be run: a crew has no way to receive the turns before it")

    def ask(self, prompt, request):
        if not self.takes_messages:
            return self.with_calls(lambda: self.agent.kickoff(inputs={"prompt": prompt, **request["state"]}))
        self.items.append({"role": "user", "content": prompt})
        result = self.with_calls(lambda: self.agent.kickoff(list(self.items)))
        self.items.append({"role": "assistant", "content": result["response"] or ""})
        return result

    @classmethod
    def reads(cls, result):
        return hasattr(result, "raw") and (hasattr(result, "tasks_output") or hasattr(result, "agent_role"))

    @classmethod
    def read(cls, result):
        return {"response": result.raw, "known": False}

    @classmethod
    def with_calls(cls, run):
        """Runs CrewAI and collects the calls, which it reports only as events."""
        from crewai.events import ToolUsageErrorEvent, ToolUsageFinishedEvent, ToolUsageStartedEvent, crewai_event_bus

        seen = []
        with crewai_event_bus.scoped_handlers():
            for kind in (ToolUsageStartedEvent, ToolUsageFinishedEvent, ToolUsageErrorEvent):
                crewai_event_bus.on(kind)(lambda source, event: seen.append(event))
            try:
                result = finish(run())
            except Exception:
                getattr(crewai_event_bus, "flush", lambda: None)()
                cls.write_calls(seen)
                raise
            getattr(crewai_event_bus, "flush", lambda: None)()
        if not seen and not cls.reads(result):
            return read_result(result)
        cls.write_calls(seen)
        return {"response": read_result(result)["response"], "known": True}

    @staticmethod
    def write_calls(seen):
        for one in sorted(seen, key=lambda event: event.timestamp):
            author = (one.agent_role or "agent").strip()
            if type(one).__name__ == "ToolUsageStartedEvent":
                write(event(author, call_part(one.tool_name, one.tool_args, None)))
            else:
                failed = str(one.error) if hasattr(one, "error") else None
                write(event(author, response_part(one.tool_name, {"error": failed} if failed else getattr(one, "output", None), None)))
