"""Calls a Python metric for evaltrail: a JSON request a line in, a JSON answer a line out."""
import asyncio
import importlib
import inspect
import json
import os
import sys
import traceback

# What the metric prints must not be taken for an answer.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
sys.path.insert(0, os.getcwd())


def load(dotted):
    if dotted.endswith(".py") and os.path.isfile(dotted):
        with open(dotted, encoding="utf-8") as file:
            return evaluate_of(file.read(), dotted)
    if "\n" in dotted or "(" in dotted:
        return evaluate_of(dotted, "<custom_function>")
    module, _, name = dotted.rpartition(".")
    if not module:
        raise ValueError(f"{dotted!r} is no dotted name like package.module.function")
    function = getattr(importlib.import_module(module), name)
    if not callable(function):
        raise TypeError(f"{dotted} cannot be called")
    return function


def evaluate_of(source, name):
    """The function `evaluate` that a source defines, as agents-cli calls it."""
    names = {}
    exec(compile(source, name, "exec"), names)
    if not callable(names.get("evaluate")):
        raise ValueError(f"{name} defines no function evaluate(instance)")
    return names["evaluate"]


def vertex(function, request):
    """f(instance) -> {name: score}, a number, or {"score": …, "explanation": …}."""
    found = function(request["instance"])
    if inspect.isawaitable(found):
        found = asyncio.run(_await(found))
    if isinstance(found, dict):
        name = request["metric"].split(":")[0]
        key = next((key for key in (name, function.__name__, "score") if key in found), None)
        if key is None:
            raise KeyError(f"the function returned {sorted(found)}, and none of them is {name!r} or 'score'")
        return {"score": number(found[key]), "explanation": found.get("explanation")}
    return {"score": number(found)}


def adk(function, request):
    """f(eval_metric, actual, expected, scenario) -> EvaluationResult, as ADK's custom metrics have it."""
    from google.adk.evaluation.eval_case import Invocation
    from google.adk.evaluation.eval_metrics import EvalMetric

    metric = EvalMetric(metric_name=request["metric"], criterion=request.get("criterion"))
    actual = [Invocation.model_validate(one) for one in request["actual"]]
    expected = request.get("expected")
    expected = None if expected is None else [Invocation.model_validate(one) for one in expected]
    arguments = (metric, actual, expected, request.get("scenario"))
    if is_of_turn(function):
        return of_turns(function, actual, expected, request.get("criterion"))
    try:
        inspect.signature(function).bind(*arguments)
    except ValueError:  # functions in C have no signature
        pass
    except TypeError as error:
        raise TypeError(
            f"{function.__name__}: {error}; ADK calls a custom metric with eval_metric, actual_invocations, "
            "expected_invocations and conversation_scenario"
        ) from None
    found = function(*arguments)
    if inspect.isawaitable(found):
        found = asyncio.run(_await(found))
    turns = [{"score": one.score, "status": int(one.eval_status.value)} for one in found.per_invocation_results]
    return {"score": found.overall_score, "status": int(found.overall_eval_status.value), "per_invocation": turns}


def is_of_turn(function):
    """Whether a function scores one turn, as in ADK's guide: f(actual_invocation, expected_invocation, criterion) -> float."""
    try:
        return list(inspect.signature(function).parameters)[:2] == ["actual_invocation", "expected_invocation"]
    except (TypeError, ValueError):
        return False


def of_turns(function, actual, expected, criterion):
    """The mean of the scores of the turns. ADK 2.13 itself cannot call such a function."""
    threshold = (criterion or {}).get("threshold")
    count = len(inspect.signature(function).parameters)
    turns = []
    for at, invocation in enumerate(actual):
        wanted = expected[at] if expected is not None and at < len(expected) else None
        found = function(*(invocation, wanted, criterion)[:count])
        if inspect.isawaitable(found):
            found = asyncio.run(_await(found))
        score = number(found)
        turns.append({"score": score, "status": status_of(score, threshold)})
    scores = [turn["score"] for turn in turns if turn["score"] is not None]
    score = sum(scores) / len(scores) if scores else None
    return {"score": score, "status": status_of(score, threshold), "per_invocation": turns}


def status_of(score, threshold):
    """ADK's numbers: passed, failed, not evaluated."""
    if score is None:
        return 3
    return 1 if threshold is None or score >= threshold else 2


async def _await(found):
    return await found


def number(value):
    if value is None:
        return None
    if isinstance(value, bool):
        return float(value)
    return float(value)


def main():
    functions = {}
    for line in sys.stdin:
        try:
            request = json.loads(line)
            name = request["function"]
            if name not in functions:
                functions[name] = load(name)
            convention = adk if request["convention"] == "adk" else vertex
            answer = convention(functions[name], request)
        except BaseException as error:  # a metric may raise anything, and even leave
            answer = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
