"""Runs the listings in Python, each in a process forked from this one: importing ExecuTorch takes seconds.

Reads a program a line from standard input and answers how it ended, a line each: both JSON, see `../src/python.rs`.
"""

import gc
import importlib
import json
import os
import resource
import runpy
import select
import signal
import sys
import types
from pathlib import Path
from typing import Any

import executorch


def import_runtime() -> None:
    """What every listing imports, without the exporter: the runtime's bindings want one decorator of it, and its
    package takes three seconds. A listing that wants more of it gets the whole.
    """
    exporter = types.ModuleType("executorch.exir")
    exporter.__path__ = [str(Path(*executorch.__path__) / "exir")]
    sys.modules[exporter.__name__] = exporter
    # What is made here stays: nobody looks for garbage in it.
    gc.disable()
    importlib.import_module("executorch.runtime")
    gc.freeze()
    gc.enable()
    del sys.modules[exporter.__name__]


def become(request: dict[str, Any]) -> None:
    """The process of one program: its folder, its streams, its limit of output."""
    os.setpgid(0, 0)
    os.chdir(request["folder"])
    os.environ["GUIDE_DEVICE"] = request["device"]
    resource.setrlimit(resource.RLIMIT_FSIZE, (request["bytes"], request["bytes"]))
    for stream, path in ((0, os.devnull), (1, request["stdout"]), (2, request["stderr"])):
        opened = os.open(path, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, stream)
        os.close(opened)
    sys.argv = [request["program"]]


def ended(child: int, seconds: float) -> int | None:
    """The exit code, or minus the signal; none if it was still running. Whatever it started ends with it."""
    waiter = os.pidfd_open(child)
    in_time, _, _ = select.select([waiter], [], [], seconds)
    os.close(waiter)
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        # It ended before it had a group.
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if in_time else None


import_runtime()
for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if child == 0:
        become(request)
        runpy.run_path(request["program"], run_name="__main__")
        # Ends as Python ends a program.
        sys.exit()
    print(json.dumps({"ended": ended(child, request["seconds"])}), flush=True)
