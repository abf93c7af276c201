

class ADK(Adapter):
    library, distribution = "ADK", "google-adk"
    runners = {}

    @classmethod
    def fits(cls, agent):
        defined = [base.__module__ or "" for base in type(agent).__mro__]
        return any(name.startswith("google.adk") for name in defined) and (hasattr(agent, "run_async") or hasattr(agent, "root_agent"))

    def __init__(self, agent, request):
        super().__init__(agent, request)
        self.runner = self.runner_of(agent)
        finish(self.open(request))

    @classmethod
    def runner_of(cls, agent):
        from google.adk.runners import InMemoryRunner

        if id(agent) not in cls.runners:
            # An agent has the attribute root_agent, too.
            is_app = not hasattr(agent, "run_async")
            # The agent is kept with its runner, so that no other object has its id.
            cls.runners[id(agent)] = (InMemoryRunner(app=agent) if is_app else InMemoryRunner(agent=agent, app_name="evaltrail"), agent)
        return cls.runners[id(agent)][0]

    async def open(self, request):
        from google.adk.events import Event
        from google.genai import types

        service, self.user = self.runner.session_service, request.get("user_id") or "user"
        session = await service.create_session(app_name=self.runner.app_name, user_id=self.user, state=request["state"], session_id=self.session_id)
        name = self.runner.agent.name
        for one in request["history"]:
            is_user = one["role"] == "user"
            content = types.Content(role="user" if is_user else "model", parts=[types.Part(text=one.get("content") or "")])
            await service.append_event(session, Event(author="user" if is_user else name, content=content))

    def ask(self, prompt, request):
        return finish(self.run(prompt, request.get("user_content")))

    async def run(self, prompt, content):
        from google.genai import types

        content = types.Content.model_validate(content) if content and content.get("parts") else types.Content(role="user", parts=[types.Part(text=prompt)])
        content.role, end = "user", {}
        async for one in self.runner.run_async(user_id=self.user, session_id=self.session_id, new_message=content):
            if one.author != "user":
                write(one.model_dump(mode="json", exclude_none=True))
                end = {"end": "long_running"} if one.long_running_tool_ids and one.is_final_response() else {}
        session = await self.runner.session_service.get_session(app_name=self.runner.app_name, user_id=self.user, session_id=self.session_id)
        return {"response": None, "known": True, "state": dict(session.state), **end}

    def end(self):
        finish(self.runner.session_service.delete_session(app_name=self.runner.app_name, user_id=self.user, session_id=self.session_id))
