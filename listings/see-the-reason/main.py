"""The text behind an error code, from Python."""

# ANCHOR: program
import contextlib
import io

from executorch.runtime import Runtime

program = Runtime.get().load_program("default.pte")
with contextlib.redirect_stderr(io.StringIO()) as log:
    try:
        program.load_method("forward")
    except RuntimeError as error:
        print("exception:", error)

# A line is the source file and line in brackets, then the text. The first is the cause.
print("reason:", log.getvalue().splitlines()[0].partition("] ")[2])
# ANCHOR_END: program
