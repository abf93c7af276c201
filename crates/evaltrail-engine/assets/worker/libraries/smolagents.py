

class Smolagents(Adapter):
    library, distribution, packages, methods = "smolagents", "smolagents", ("smolagents",), ("run", "memory")

    def __init__(self, agent, request):
        from smolagents import ActionStep, TaskStep
        from smolagents.monitoring import Timing

        super().__init__(agent, request)
        agent.memory.reset()
        agent.state = {}
        if hasattr(agent, "create_python_executor"):
            agent.python_executor = agent.create_python_executor()
        for at, one in enumerate(request["history"]):
            if one["role"] == "user":
                agent.memory.steps.append(TaskStep(task=one["content"]))
            elif one.get("content"):
                agent.memory.steps.append(ActionStep(step_number=at, timing=Timing(start_time=0.0, end_time=0.0), model_output=one["content"]))
        self.team = list(self.members(agent))
        for member in self.team:
            member.step_callbacks.register(ActionStep, self.of_member)

    @classmethod
    def members(cls, agent):
        for member in getattr(agent, "managed_agents", {}).values():
            yield member
            yield from cls.members(member)

    def of_member(self, step, agent=None):
        self.write_step(step, getattr(agent, "name", None))

    def ask(self, prompt, request):
        agent = self.agent
        before = len(agent.memory.steps)
        agent.interrupt_switch = False
        try:
            result = agent.run(prompt, reset=False)
        finally:
            steps = agent.memory.steps[before:]
            known = [self.write_step(step, agent.name, step is steps[-1]) for step in steps]
        # The calls of members are written, but not where they belong between those of their manager.
        return {"response": output_text(result), "known": all(known) and not self.team}

    def end(self):
        for member in self.team:
            for registered in getattr(member.step_callbacks, "_callbacks", {}).values():
                registered[:] = [one for one in registered if getattr(one, "__self__", None) is not self]

    @classmethod
    def reads(cls, result):
        return type(result).__name__ == "RunResult" and "smolagents" in packages_of(result)

    @classmethod
    def read(cls, result):
        known = [cls.write_step(step, None, step is result.steps[-1]) for step in result.steps]
        return {"response": output_text(result.output), "known": all(known)}

    @staticmethod
    def write_step(step, author, is_last=False):
        """Writes a step. Returns whether its calls are known: code may call any tool. The error of a step that is not the
        last one is shown to the model, which tries again."""
        calls, said = [], get(step, "model_output_message") or {}
        # A step whose tool failed has its calls only in the message of the model.
        for one in get(step, "tool_calls") or get(said, "tool_calls") or []:
            function = get(one, "function") or one
            calls.append((get(function, "name"), get(function, "arguments"), get(one, "id")))
        failed, text = get(step, "error"), get(step, "model_output") or get(step, "plan")
        choices = get(get(said, "raw"), "choices") or []
        parts = [{"text": output_text(text), **({"thought": True} if get(step, "plan") else {})}] if text else []
        # The call of final_answer is the response.
        real = [call for call in calls if call[0] != "final_answer"]
        parts += [call_part(*call) for call in real]
        usage = tokens(get(step, "token_usage"))
        failure = get(failed, "message") or str(failed) if failed else None
        if failure and not real and not is_last:
            parts.append({"text": failure, "thought": True})
        if parts or usage:
            write(event(author, *parts, usage=usage, finish_reason=get(choices[0], "finish_reason") if choices else None,
                        error=("agent_error", failure) if failure and not real and is_last else None))
        if real:
            # The observations of all calls of a step are one text.
            name, _, id = real[-1]
            write(event(author, response_part(name, {"error": failure} if failure else get(step, "observations"), id)))
        return not any(name == "python_interpreter" for name, _, _ in calls)
