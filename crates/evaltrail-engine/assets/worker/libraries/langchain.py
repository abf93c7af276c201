

class LangChain(Adapter):
    library, distribution, packages, methods = "LangChain", "langchain-core", ("langchain_core",), ("ainvoke",)

    def __init__(self, agent, request):
        super().__init__(agent, request)
        self.items = list(request["history"])

    def ask(self, prompt, request):
        said = [*self.items, {"role": "user", "content": prompt}]
        is_model = "BaseLanguageModel" in class_names(self.agent)
        result = finish(self.agent.ainvoke(said if is_model else {**request["state"], "messages": said}))
        self.items = (get(result, "messages") if isinstance(result, dict) else None) or [*said, *([result] if hasattr(result, "tool_calls") else [])]
        return read_result(result)

    @classmethod
    def reads(cls, result):
        return "BaseMessage" in class_names(result) and "langchain_core" in packages_of(result)

    @classmethod
    def read(cls, result):
        return read_messages([result])
