"""The exporting process: requests in on standard input, one answer line out for each as it is done.

The first line of standard input is `{"plant": path or null, "requests": [{"folder": …, …}, …]}`. Standard output has
only answers: `{"ready": {}}` once everything is imported, then in the requests' order `{"exported": {}}` or
`{"failed": {"kind": …, "message": …, "traceback": …}}`. Whatever a recipe or ExecuTorch prints goes to standard error.
Standard input then stays open: its end means that the asking process is gone, and this one goes with it.
"""

import json
import os
import runpy
import signal
import sys
import threading
import traceback
from pathlib import Path


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)

    def answer(**what: object) -> None:
        answers.write(json.dumps(what) + "\n")

    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=_leave_with_parent, daemon=True).start()

    failure: BaseException | None = None
    try:
        if asked["plant"] is not None:
            runpy.run_path(asked["plant"], run_name="guide_export_plant")
        # Takes seconds. A broken or a patched installation may fail here: then so does every request.
        from guide_export import operators, recipes

        operators.install()
    except BaseException as error:
        failure = error

    answer(ready={})
    for request in asked["requests"]:
        try:
            if failure is not None:
                raise failure
            recipes.export(request, Path(request["folder"]))
            answer(exported={})
        except BaseException as error:
            trace = "".join(traceback.format_exception(error))
            answer(failed={"kind": type(error).__name__, "message": str(error), "traceback": trace})


def _leave_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)
