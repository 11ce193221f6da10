"""Runs the listings in Python, each in a process forked from this one: importing ExecuTorch takes seconds.

Reads a program a line and answers how it ended, a line each: both JSON, see `../src/python.rs`. They come from standard
input, or, if it is given the path of a socket, from whoever connects there, one after the other, until standard input
ends, since then the process that wanted it is gone.
"""

import contextlib
import gc
import importlib
import json
import os
import resource
import runpy
import select
import signal
import socket
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import executorch


def import_runtime() -> None:
    """What every listing imports, without the exporter: the runtime's bindings want one decorator of it, and its
    package takes three seconds. A listing that wants more of it gets the whole.
    """
    # It asks for a driver when it is imported: a process forked after that cannot, and says so.
    sys.modules["torchao"] = None  # type: ignore[assignment]
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


def answer(requests: Iterable[str], answers: TextIO) -> None:
    """Runs one program after the other."""
    for line in requests:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            become(request)
            runpy.run_path(request["program"], run_name="__main__")
            # Ends as Python ends a program.
            sys.exit()
        print(json.dumps({"ended": ended(child, request["seconds"])}), file=answers, flush=True)


def listen(path: str) -> None:
    """Answers whoever connects to the socket `path`. It is there before the import: who comes early waits for that."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print(flush=True)
        import_runtime()
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            # Someone who is gone wants no answer.
            with contextlib.suppress(OSError), listener.accept()[0] as client, client.makefile("rw") as lines:
                answer(lines, lines)


if len(sys.argv) > 1:
    listen(sys.argv[1])
else:
    import_runtime()
    answer(sys.stdin, sys.stdout)
