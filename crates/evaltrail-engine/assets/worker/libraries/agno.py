

class Agno(Adapter):
    library, distribution, packages, methods = "Agno", "agno", ("agno",), ("arun",)

    def __init__(self, agent, request):
        super().__init__(agent, request)
        self.items, self.state, self.waiting = list(request["history"]), request["state"], None
        # The ids of the messages that are read: a run that continues repeats those before its pause.
        self.is_team, self.seen = hasattr(agent, "members"), set()

    def ask(self, prompt, request):
        if self.waiting is not None:
            result = finish(self.resume(prompt))
        else:
            # With a database, the agent finds the turns before by the session.
            before = [] if getattr(self.agent, "db", None) is not None and request["turn"] > 1 else self.items
            result = finish(self.run(before, prompt))
        read = self.read(result, self.seen)
        said = [one for one in get(result, "messages") or [] if role(one) != "system"] if not self.is_team else []
        self.items = said or [*self.items, {"role": "user", "content": prompt}, {"role": "assistant", "content": output_text(get(result, "content"))}]
        self.waiting = result if read.get("end") else None
        state = get(result, "session_state")
        if isinstance(state, dict):
            self.state = {key: value for key, value in state.items() if key not in ("current_session_id", "current_run_id", "current_user_id")}
            read["state"] = self.state
        return read

    async def run(self, before, prompt):
        """A turn, with the messages before it. A team takes no list of messages as its input."""
        state = {"session_state": dict(self.state)} if self.state else {}
        if not (before and self.is_team):
            given = [*before, {"role": "user", "content": prompt}] if before else prompt
            return await self.agent.arun(given, session_id=self.session_id, **state)
        own = self.agent.additional_input
        self.agent.additional_input = [*(own or []), *before]
        try:
            return await self.agent.arun(prompt, session_id=self.session_id, **state)
        finally:
            self.agent.additional_input = own

    def resume(self, prompt):
        """Continues a run that waits for the confirmation of calls: `yes` confirms them, other words refuse them."""
        confirmed = confirms(prompt)
        for tool in self.waiting.tools or []:
            if tool.requires_confirmation:
                tool.confirmed = confirmed
                tool.confirmation_note = None if confirmed else prompt
        return self.agent.acontinue_run(run_response=self.waiting, session_id=self.session_id)

    @classmethod
    def reads(cls, result):
        return "agno" in packages_of(result) and hasattr(result, "content") and hasattr(result, "status")

    @classmethod
    def read(cls, result, seen=None):
        status = str(getattr(result.status, "value", result.status) or "").lower()
        is_workflow = get(result, "step_results") is not None and get(result, "messages") is None
        reader = MessageReader()
        said = cls.write_run(reader, result, set() if seen is None else seen)
        content = output_text(get(result, "content"))
        if status == "error":
            raise TurnError(content or "the run of the agent failed")
        if status == "cancelled":
            raise TurnError(f"the run of the agent was cancelled: {content}")
        # A content that is text is all texts of the run together; the last one is the response.
        response = None if said and isinstance(get(result, "content"), str) else content or None
        end = {"end": "interrupted"} if status == "paused" else {}
        return {"response": response, "known": reader.known and not is_workflow, **end}

    @classmethod
    def write_run(cls, reader, result, seen):
        """Writes what an agent or a team did after the user's last message: the runs of the members are before the results
        of the calls that delegate to them. Returns the last text."""
        author = get(result, "agent_name") or get(result, "team_name") or "agent"
        members, said = list(get(result, "member_responses") or []), None
        messages = [one for one in get(result, "messages") or [] if not get(one, "from_history")]
        if not messages:
            for tool in get(result, "tools") or []:
                write(event(author, reader.named_call(tool.tool_name, tool.tool_args, tool.tool_call_id)))
                write(event(author, response_part(tool.tool_name, tool.result, tool.tool_call_id)))
        for message in after_user(messages):
            if role(message) == "tool" and members and str(get(message, "tool_name") or reader.names.get(get(message, "tool_call_id"))).startswith(("delegate_", "transfer_", "forward_")):
                cls.write_run(reader, members.pop(0), seen)
            calls = get(message, "tool_calls") or []
            if get(message, "id") in seen:
                reader.names.update({get(call, "id"): get(get(call, "function"), "name") for call in calls})
                continue
            seen.add(get(message, "id") or id(message))
            reader.read(message, author)
            said = content_text(get(message, "content")) if role(message) == "assistant" and not calls else None
        for member in members:
            cls.write_run(reader, member, seen)
            said = None
        return said
