"""A request, made to a program: from a listing's `export.py`, or from a model and a configuration."""

import copy
import functools
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from executorch.exir import EdgeProgramManager, ExecutorchProgramManager, to_edge_transform_and_lower

from guide_export import config, eager, models


class RecipeError(Exception):
    """An `export.py` without what the exporter asks of one."""


def export(request: dict[str, Any], folder: Path) -> None:
    """Exports one request into `folder`: `<stem>.pte`, its `.ptd` files, `<stem>.eager.safetensors`."""
    if "recipe" in request:
        stem = request["program"]
        program, called = from_recipe(Path(request["recipe"]), stem)
    else:
        stem = request["model"]
        program, called = from_config(stem, request["config"])
    with (folder / f"{stem}.pte").open("wb") as file:
        program.write_to_file(file)
    program.write_tensor_data_to_file(folder)
    tensors: dict[str, torch.Tensor] = {}
    for method, (model, inputs) in called.items():
        tensors |= {f"{method}.{name}": tensor for name, tensor in eager.run(model, inputs).items()}
    eager.save(tensors, folder / f"{stem}.eager.safetensors")


Called = dict[str, tuple[torch.nn.Module, tuple[torch.Tensor, ...]]]
"""By method: the model behind it and the inputs that it is exported with."""


def from_recipe(path: Path, name: str) -> tuple[ExecutorchProgramManager, Called]:
    """Runs the file afresh, so that no program sees what another one's export left behind."""
    recipe = runpy.run_path(str(path), run_name=path.parent.name)
    programs = _defined(recipe, "programs", path)
    if name not in programs:
        raise RecipeError(f"`programs` has no `{name}`: there are {', '.join(f'`{known}`' for known in programs)}")
    program = programs[name]()
    model = _by_method(_defined(recipe, "model", path), program)
    inputs = _by_method(_defined(recipe, "example_inputs", path), program)
    return program, {method: (model[method], inputs[method]) for method in sorted(program.methods)}


def from_config(name: str, given: dict[str, Any]) -> tuple[ExecutorchProgramManager, Called]:
    """The model `name` with the given `ExecutorchBackendConfig`."""
    program = copy.deepcopy(_lowered(name)).to_executorch(config.backend_config(given))
    # Built afresh: running a model may change it.
    return program, {method: (example.model, example.inputs) for method, example in models.build(name).items()}


@functools.cache
def _lowered(name: str) -> EdgeProgramManager:
    """What no configuration changes, and takes fourteen times as long as the rest. A copy of it gives the same bytes as
    lowering again, which a test shows."""
    examples = models.build(name)
    exported = {
        method: torch.export.export(example.model, example.inputs, dynamic_shapes=example.dynamic_shapes or None)
        for method, example in examples.items()
    }
    partitioners = {method: example.partitioners(method) for method, example in examples.items()}
    return to_edge_transform_and_lower(exported, partitioner=partitioners)


def _defined(recipe: dict[str, Any], name: str, path: Path) -> Any:
    if name not in recipe:
        raise RecipeError(f"{path.parent.name}/{path.name} defines no `{name}`")
    return recipe[name]


def _by_method(value: Any, program: ExecutorchProgramManager) -> Mapping[str, Any]:
    """One for the only method, or a dict by method."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(program.methods, value)
    missing = sorted(program.methods - value.keys())
    if missing:
        raise RecipeError(f"nothing given for the program's method `{missing[0]}`")
    return value
