"""Collects the cases of ADK's eval sets as test items: `pytest --evaltrail`.

Each `*.evalset.json` and `*.test.json` below the arguments becomes a file of items, one for each case. The selected
cases of a file are run by one `evaltrail run FILE --json`, when the first of them starts. Further options of
`evaltrail run` are given with `--evaltrail-args="--agent shop --trust"`, or with `evaltrail_args` in pytest's settings.
"""

import json
import os
import shlex
import shutil
import subprocess
import sysconfig

import pytest

ENDINGS = (".evalset.json", ".test.json")
# The worst first.
STATUSES = ("errored", "failed", "not_evaluated", "passed")


def pytest_addoption(parser):
    group = parser.getgroup("evaltrail", "cases of eval sets (evaltrail)")
    group.addoption(
        "--evaltrail",
        action="store_true",
        help="collect the cases of *.evalset.json and *.test.json as tests",
    )
    group.addoption(
        "--evaltrail-args",
        default="",
        metavar="ARGS",
        help="further options of `evaltrail run`, e.g. '--agent shop --trust'",
    )
    parser.addini("evaltrail_args", "further options of `evaltrail run`", type="args", default=[])


def pytest_collect_file(parent, file_path):
    if parent.config.getoption("--evaltrail") and file_path.name.endswith(ENDINGS):
        # Not below the package of its folder: that would import the agent, which evaltrail starts itself.
        return EvalSet.from_parent(parent.session, path=file_path)
    return None


class EvalSet(pytest.File):
    """The cases of one file."""

    def collect(self):
        self._report = None
        listed = _evaltrail(self, ["list", str(self.path), "--cases", "--json"])
        for eval_set in listed["sets"]:
            if eval_set["error"]:
                raise self.CollectError(f"{eval_set['file']}: {eval_set['error']}")
            ids = [case["eval_id"] for case in eval_set["eval_cases"]]
            for eval_id in dict.fromkeys(ids):
                # The names of tests become values of environment variables, which cannot contain NUL.
                yield EvalCase.from_parent(self, name=eval_id.replace("\0", "\\0"), eval_id=eval_id)

    def result(self, eval_id):
        """The attempts of a case, whether it was not run to its end, and whether it passes the gate of the run."""
        attempts, not_run, stopped = self.report()
        return attempts.get(eval_id, []), eval_id in not_run, eval_id not in stopped

    def report(self):
        """The attempts by case, and the ids of the cases that were not run to their end, and of those that do not pass the
        gate. All selected cases are run at the first call, and only once if that fails."""
        if self._report is None:
            try:
                self._report = self._run()
            except EvalFailed as error:
                self._report = error
        if isinstance(self._report, EvalFailed):
            raise self._report
        return self._report

    def _run(self):
        selected = [item.eval_id for item in self.session.items if item.parent is self]
        settings = self.config.getini("evaltrail_args")
        arguments = [*settings, *shlex.split(self.config.getoption("--evaltrail-args"))]
        # The length of a command line is limited.
        report = _evaltrail(self, ["run", str(self.path), "--ids", "-", "--json", *arguments], json.dumps(selected))
        attempts = {}
        for attempt in report["cases"]:
            attempts.setdefault(attempt["eval_id"], []).append(attempt)
        repeats = report["summary"].get("repeats") or []
        stopped = {case["eval_id"] for case in repeats if not case["passes_gate"]}
        if not repeats:
            stopped = {case["eval_id"] for case in report["cases"] if case["status"] != "passed"}
        return attempts, {case["eval_id"] for case in report["not_run"]}, stopped


class EvalCase(pytest.Item):
    """One case. It passes if all its attempts pass, or as `--gate` says."""

    def __init__(self, *, eval_id, **others):
        super().__init__(**others)
        self.eval_id = eval_id

    def runtest(self):
        attempts, is_incomplete, passes_gate = self.parent.result(self.eval_id)
        worst = min(attempts, key=lambda attempt: STATUSES.index(attempt["status"]), default=None)
        if worst is None or (worst["status"] == "passed" or passes_gate):
            if worst is None or is_incomplete:
                raise EvalFailed("errored", f"not run to its end: {len(attempts)} attempts ended")
            return
        quarantine = worst.get("quarantine")
        if quarantine:
            pytest.skip(f"quarantined to {quarantine['until']}: {quarantine.get('why', '')}".rstrip(": "))
        passed = sum(attempt["status"] == "passed" for attempt in attempts)
        counts = f" ({passed} of {len(attempts)} attempts passed)" if len(attempts) > 1 else ""
        raise EvalFailed(worst["status"], _reasons(worst) + counts)

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, EvalFailed):
            return f"{excinfo.value.status}: {excinfo.value.reasons}"
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, None, f"{self.path.name}::{self.name}"


class EvalFailed(Exception):
    """A case that did not pass."""

    def __init__(self, status, reasons):
        super().__init__(f"{status}: {reasons}")
        self.status = status.replace("_", " ")
        self.reasons = reasons


def _reasons(attempt):
    """Why an attempt did not pass: its error, or the metrics that did not pass."""
    if attempt["error"]:
        return attempt["error"]
    metrics = [metric for metric in attempt["metrics"] if metric["status"] in ("failed", "not_evaluated")]
    return "\n".join(f"{_scored(metric)}: {metric['explanation']}" for metric in metrics)


def _scored(metric):
    score, threshold = metric["score"], metric["threshold"]
    if threshold is None or score is None:
        needed = "" if threshold is None else f" (needs {threshold:g})"
        return f"{metric['metric']} {'not evaluated' if score is None else f'{score:.2f}'}{needed}"
    # With as many digits as their comparison needs.
    shown = ((f"{score:.{digits}f}", f"{threshold:.{max(digits, 2)}f}") for digits in range(2, 16))
    order = (score > threshold) - (score < threshold)
    exact = (repr(score), repr(threshold))
    texts = next(((a, b) for a, b in shown if (float(a) > float(b)) - (float(a) < float(b)) == order), exact)
    return f"{metric['metric']} {texts[0]} (needs {float(texts[1]):g})"


def _program():
    """The program of this installation, or else the first one in the search path."""
    name = "evaltrail.exe" if os.name == "nt" else "evaltrail"
    beside = os.path.join(sysconfig.get_path("scripts"), name)
    return beside if os.path.exists(beside) else shutil.which("evaltrail") or name


def _evaltrail(node, arguments, typed=""):
    """Runs evaltrail with a text as its standard input, and returns the JSON that it prints."""
    command = [_program(), *arguments]
    # pytest's variable with the name of the test: the length of variables is limited, that of ids is not.
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", input=typed, env=environment
        )
    except OSError as error:
        raise pytest.UsageError(f"cannot start evaltrail: {error}") from error
    try:
        return json.loads(done.stdout)
    except ValueError:
        words = done.stderr.strip() or f"evaltrail ended with {done.returncode}"
        raise EvalFailed("errored", f"{words}\n$ {shlex.join(command)}") from None
