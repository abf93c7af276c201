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
            names = [case["eval_id"] for case in eval_set["eval_cases"]]
            for name in dict.fromkeys(names):
                yield EvalCase.from_parent(self, name=name)

    def report(self):
        """The report of the selected cases. All of them are run at the first call, and only once if that fails."""
        if self._report is None:
            try:
                self._report = self._run()
            except EvalFailed as error:
                self._report = error
        if isinstance(self._report, EvalFailed):
            raise self._report
        return self._report

    def _run(self):
        selected = [item.name for item in self.session.items if item.parent is self]
        settings = self.config.getini("evaltrail_args")
        arguments = [*settings, *shlex.split(self.config.getoption("--evaltrail-args"))]
        # A comma separates ids, so a case whose id has one is not selected by its id.
        is_clear = not any("," in name for name in selected)
        target = f"{self.path}:{','.join(selected)}" if is_clear else str(self.path)
        return _evaltrail(self, ["run", target, "--json", *arguments])


class EvalCase(pytest.Item):
    """One case. It passes if all its attempts pass."""

    def runtest(self):
        report = self.parent.report()
        attempts = [attempt for attempt in report["cases"] if attempt["eval_id"] == self.name]
        worst = min(attempts, key=lambda attempt: STATUSES.index(attempt["status"]), default=None)
        if worst is None or worst["status"] == "passed":
            if worst is None or any(case["eval_id"] == self.name for case in report["not_run"]):
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
    score = "not evaluated" if score is None else f"{score:.2f}"
    needed = "" if threshold is None else f" (needs {threshold:g})"
    return f"{metric['metric']} {score}{needed}"


def _program():
    """The program of this installation, or else the first one in the search path."""
    name = "evaltrail.exe" if os.name == "nt" else "evaltrail"
    beside = os.path.join(sysconfig.get_path("scripts"), name)
    return beside if os.path.exists(beside) else shutil.which("evaltrail") or name


def _evaltrail(node, arguments):
    """Runs evaltrail, and returns the JSON that it prints."""
    command = [_program(), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", stdin=subprocess.DEVNULL)
    except OSError as error:
        raise pytest.UsageError(f"cannot start evaltrail: {error}") from error
    try:
        return json.loads(done.stdout)
    except ValueError:
        words = done.stderr.strip() or f"evaltrail ended with {done.returncode}"
        raise EvalFailed("errored", f"{words}\n$ {shlex.join(command)}") from None
