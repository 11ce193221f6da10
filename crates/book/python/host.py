"""Runs the listings in Python, each in a process forked from this one: importing ExecuTorch takes seconds.

Reads programs, several a line, runs as many at once as there are processors, and answers how each ended, a line each as
it comes: all JSON, see `../src/python.rs`. They come from standard input, or, if it is given the path of a socket, from
whoever connects there, one after the other, until standard input ends, since then the process that wanted it is gone.
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
import time
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


def start(request: dict[str, Any], running: dict[int, tuple[int, int, float]]) -> int:
    """The process of a program."""
    child = os.fork()
    if child == 0:
        # The others are not its own to end.
        running.clear()
        become(request)
        runpy.run_path(request["program"], run_name="__main__")
        # Ends as Python ends a program.
        sys.exit()
    return child


def end(child: int) -> int:
    """The exit code, or minus the signal. Whatever it started ends with it."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        # It ended before it had a group.
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def answer(requests: Iterable[str], answers: TextIO) -> None:
    """Runs the programs of one line after those of the other."""
    # By what shows that it ended: the number, the process, and when it must have.
    running: dict[int, tuple[int, int, float]] = {}
    try:
        for line in requests:
            waiting = list(enumerate(json.loads(line)))[::-1]
            while waiting or running:
                while waiting and len(running) < (os.cpu_count() or 1):
                    number, request = waiting.pop()
                    child = start(request, running)
                    deadline = time.monotonic() + request["seconds"]
                    running[os.pidfd_open(child)] = (number, child, deadline)
                first = min(deadline for _, _, deadline in running.values())
                done, _, _ = select.select(running, [], [], max(0, first - time.monotonic()))
                for waiter, (number, child, deadline) in list(running.items()):
                    if waiter in done or time.monotonic() >= deadline:
                        del running[waiter]
                        os.close(waiter)
                        code = end(child)
                        ended = code if waiter in done else None
                        print(json.dumps({"number": number, "ended": ended}), file=answers, flush=True)
    finally:
        # Who asked is gone, and nobody else would end them.
        for _, child, _ in running.values():
            end(child)


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
