# The program that is passed to Python: the first line of standard input is the worker as a JSON string, because a command
# line has a maximum length. The other lines are requests.
import json, os

requests = os.fdopen(os.dup(0), encoding="utf-8")
exec(compile(json.loads(requests.readline()), "evaltrail_worker.py", "exec"), globals())
