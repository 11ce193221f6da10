"""What the exporters in an installed ExecuTorch hand to `to_executorch`: one JSON line for each call that makes a
configuration, or asks for the default one.

    python choices.py FOLDER

reads every Python file below FOLDER that names the CUDA delegate, tests aside, and runs none of it.
"""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

SETTINGS = (
    "memory_planning_pass",
    "propagate_device_config",
    "enable_non_cpu_memory_planning",
    "share_mutable_buffers",
)
FLAGS = (
    "skip_h2d_for_method_inputs",
    "skip_d2h_for_method_outputs",
    "alloc_graph_input",
    "alloc_graph_output",
)


def called(node: ast.Call) -> str:
    """The name behind the last dot of what a call calls."""
    function = node.func
    return (
        function.id
        if isinstance(function, ast.Name)
        else function.attr
        if isinstance(function, ast.Attribute)
        else ""
    )


def flags(setting: ast.AST) -> Iterator[tuple[str, str]]:
    """Every flag anywhere in a setting, whether it is for all methods or for some."""
    for call in ast.walk(setting):
        if isinstance(call, ast.Call):
            for keyword in call.keywords:
                if keyword.arg in FLAGS:
                    yield keyword.arg, ast.unparse(keyword.value)


# ANCHOR: choices
def choices(path: Path) -> Iterator[dict[str, object]]:
    text = path.read_text(encoding="utf-8")
    if "CudaPartitioner" not in text and "CudaBackend" not in text:
        return
    for call in ast.walk(ast.parse(text)):
        if not isinstance(call, ast.Call):
            continue
        by_default = (
            called(call) == "to_executorch" and not call.args and not call.keywords
        )
        if by_default or called(call) == "ExecutorchBackendConfig":
            chosen = {
                keyword.arg: keyword.value
                for keyword in call.keywords
                if keyword.arg in SETTINGS
            }
            yield {
                "line": call.lineno,
                "settings": {
                    name: ast.unparse(value) for name, value in sorted(chosen.items())
                },
                "flags": sorted(
                    {flag for value in chosen.values() for flag in flags(value)}
                ),
            }


# ANCHOR_END: choices


def main(folder: Path) -> None:
    seen: set[str] = set()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "tests" in path.parts or text in seen:
            continue
        seen.add(text)
        for choice in choices(path):
            print(json.dumps({"file": path.relative_to(folder).as_posix(), **choice}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
