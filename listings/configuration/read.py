"""What the installed ExecuTorch says about its settings, as JSON.

Read from its sources, since importing it takes seconds.
"""

import ast
import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(sysconfig.get_path("purelib")) / "executorch"


def tree(path: str) -> ast.Module:
    return ast.parse((PACKAGE / path).read_text(encoding="utf-8"))


def of_class(path: str, name: str) -> ast.ClassDef:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    raise SystemExit(f"{path}: no class {name}")


def default(value: ast.expr) -> str:
    """The value as one writes it; of `field(default_factory=F)`, `F()`."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        for keyword in value.keywords:
            if keyword.arg == "default_factory":
                return f"{ast.unparse(keyword.value)}()"
    return ast.unparse(value)


def fields(path: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Name, type and default of a data class's fields."""
    for node in of_class(path, name).body:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            annotation = ast.unparse(node.annotation)
            yield ast.unparse(node.target), annotation, default(node.value)


def parameters(path: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Name, type and default of the parameters of a class's `__init__`."""
    for node in of_class(path, name).body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            arguments = node.args.args[-len(node.args.defaults) :]
            for argument, value in zip(arguments, node.args.defaults, strict=True):
                annotation = (
                    ast.unparse(argument.annotation) if argument.annotation else ""
                )
                yield argument.arg, annotation, default(value)


def compile_specs(path: str) -> Iterator[tuple[str, str]]:
    """The keys that a file's functions look for, each with the value that its variable has without one."""
    for function in ast.walk(tree(path)):
        if not isinstance(function, ast.FunctionDef):
            continue
        first: dict[str, str] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                first.setdefault(ast.unparse(node.targets[0]), ast.unparse(node.value))
        for node in ast.walk(function):
            match node:
                case ast.Compare(
                    left=ast.Attribute(attr="key"),
                    comparators=[ast.Constant(value=str(key))],
                ):
                    yield key, first.get(key, "")


def target_device() -> tuple[str, str]:
    """The key that names the device, and the value that the partitioner adds without one."""
    passes = tree("exir/passes/propagate_device_pass.py")
    name = "TARGET_DEVICE_COMPILE_SPEC_KEY"
    keys = [
        ast.literal_eval(node.value)
        for node in passes.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    added = [
        ast.unparse(node.args[1])
        for node in ast.walk(tree("backends/cuda/cuda_partitioner.py"))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "CompileSpec"
    ]
    return keys[0], added[0]


config = "exir/passes/propagate_device_config.py"
specs = dict([target_device()])
for key, value in compile_specs("backends/cuda/cuda_backend.py"):
    # Of functions that look for the same key, the one that has a value for it.
    specs[key] = specs.get(key) or value

print(
    json.dumps(
        {
            "settings": {
                f"{owner}.{name}": [annotation, value]
                for owner, found in {
                    "PropagateDeviceConfig": fields(config, "PropagateDeviceConfig"),
                    "MemoryPlanningPass": parameters(
                        "exir/passes/memory_planning_pass.py", "MemoryPlanningPass"
                    ),
                    "ExecutorchBackendConfig": fields(
                        "exir/capture/_config.py", "ExecutorchBackendConfig"
                    ),
                }.items()
                for name, annotation, value in found
            },
            "compile_specs": specs,
            "docstring": ast.get_docstring(of_class(config, "PropagateDeviceConfig")),
        }
    )
)
