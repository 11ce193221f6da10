"""Exports the programs that the tests of `pte` read, with ExecuTorch's own exporter and no GPU.

    python programs.py FOLDER

writes, for each program, `NAME.pte`, its data files under `NAME/`, and `NAME.plan.json`: the program as the exporter
itself holds it before it is written. The tests hold what they read from the first against the last.
"""

import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import executorch
import torch
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import (
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge_transform_and_lower,
)
from executorch.exir._serialize._dataclass import _DataclassEncoder
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.test.device_util import DeviceAwarePartitioner
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.exir.passes.propagate_device_config import PropagateDeviceConfig
from executorch.exir.schema import Program
from torch.export import Dim, export

PACKAGE = Path(executorch.__path__[0])
ROOT = Path(__file__).resolve().parents[3]
FLOATS = (torch.ones(8, 8), torch.ones(8, 8))


def preprocess_without_gpu(edge_programs, compile_specs):
    """Stands in for the AOTInductor compile, which needs a GPU. Everything but the compiled library and the weights'
    own layout is as `AotiBackend.preprocess` leaves it: the two keys, and which of them goes to the data file."""

    def one(program) -> PreprocessResult:
        library = b"compiled library of " + program.graph_module.code.encode()
        weights = b"".join(bytes(t.detach().numpy()) for t in program.state_dict.values())
        library_key = hashlib.sha256(library).hexdigest() + "_so_blob"
        weights_key = hashlib.sha256(weights).hexdigest() + "_weights_blob"
        store = NamedDataStore()
        store.add_named_data(library_key, library, 1, None)
        if weights:
            store.add_named_data(weights_key, weights, 1, "aoti_cuda_blob")
        return PreprocessResult(
            processed_bytes=f"{library_key}\n{weights_key}".encode() if weights else library_key.encode(),
            debug_handle_map={},
            data_store_output=store.get_named_data_store_output(),
        )

    return {method: [one(p) for p in programs] for method, programs in edge_programs.items()}


CudaBackend.preprocess_multimethod = preprocess_without_gpu


def cuda(method: str = "forward", device: str | None = None) -> CudaPartitioner:
    specs = [CudaBackend.generate_method_name_compile_spec(method)]
    if device:
        specs.append(CompileSpec("target_device", device.encode()))
    return CudaPartitioner(specs)


def config(h=False, d=False, i=True, o=True, n=True, **rest) -> ExecutorchBackendConfig:
    return ExecutorchBackendConfig(
        propagate_device_config=PropagateDeviceConfig(skip_h2d_for_method_inputs=h, skip_d2h_for_method_outputs=d),
        memory_planning_pass=MemoryPlanningPass(alloc_graph_input=i, alloc_graph_output=o),
        enable_non_cpu_memory_planning=n,
        **rest,
    )


class Add(torch.nn.Module):
    def forward(self, a, b):
        return a + b


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Sandwich(torch.nn.Module):
    """Two sums for the delegate with an operator for the host between them."""

    def forward(self, a, b):
        return torch.sin(a + b) + b


class HostFirst(torch.nn.Module):
    """An operator for the host on one input, then a sum for the delegate with the other."""

    def forward(self, a, b):
        return torch.sin(a) + b


class Named(torch.nn.Module):
    def forward(self, x, *, scale, extras):
        return {"scaled": x * scale, "rest": [extras["left"], x + extras["right"]]}


class Scalars(torch.nn.Module):
    def forward(self, x, repeat: int, factor: float, flip: bool, nothing=None):
        return (-x if flip else x) * factor * repeat, repeat


class Branch(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))


class State(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.full((4,), 2.0))

    def forward(self, x):
        self.total.add_(x)
        return self.total + 0


class Layout(torch.nn.Module):
    def forward(self, x):
        return (
            torch.relu(x),
            x.to(torch.float64),
            x > 0,
            x.to(torch.float16),
            x.to(torch.bfloat16),
            x.to(torch.int64),
            x.to(torch.uint8),
        )


class Split(torch.nn.Module):
    def forward(self, x):
        first, second = torch.split(x, 4)
        return torch.cat([second, first])


def lower(model, args, *partitioners, kwargs=None, dynamic=None, **settings) -> ExecutorchProgramManager:
    exported = export(model, args, kwargs, dynamic_shapes=dynamic, strict=False)
    return to_edge_transform_and_lower(exported, partitioner=list(partitioners)).to_executorch(config(**settings))


def two_methods(models: dict, paired: str) -> ExecutorchProgramManager:
    """Two methods, one of them with its inputs and outputs on the device."""
    edge = to_edge_transform_and_lower(
        {name: export(model, args) for name, (model, args) in models.items()},
        partitioner={name: [cuda(name)] for name in models},
    )
    skip = PropagateDeviceConfig(skip_h2d_for_method_inputs=True, skip_d2h_for_method_outputs=True)
    planning = {name: MemoryPlanningPass(alloc_graph_input=name != paired) for name in models}
    return edge.to_executorch(
        ExecutorchBackendConfig(propagate_device_config={paired: skip}, memory_planning_pass=planning)
    )


def xnnpack() -> ExecutorchProgramManager:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackPartitioner,
    )

    return lower(Mlp(), (torch.ones(2, 8),), XnnpackPartitioner())


def example(model: str, module: str = "toy_model") -> Callable[[], ExecutorchProgramManager]:
    def make():
        from executorch.examples.models.model_factory import EagerModelFactory

        eager, args, kwargs, _ = EagerModelFactory.create_model(module, model)
        return lower(eager.eval(), args, kwargs=kwargs)

    return make


batch = {"a": {0: Dim("batch", max=16)}, "b": {0: Dim("batch", max=16)}}
programs: dict[str, Callable[[], ExecutorchProgramManager]] = {
    f"h{h}d{d}_i{i}o{o}_n{n}": lambda h=h, d=d, i=i, o=o, n=n: lower(
        Add(), FLOATS, cuda(), h=bool(h), d=bool(d), i=bool(i), o=bool(o), n=bool(n)
    )
    for h in (0, 1)
    for d in (0, 1)
    for i in (0, 1)
    for o in (0, 1)
    for n in (0, 1)
    if n or not (h or d)
}
programs |= {
    "mlp": lambda: lower(Mlp(), (torch.ones(2, 8),), cuda()),
    "mlp_paired": lambda: lower(Mlp(), (torch.ones(2, 8),), cuda(), h=True, d=True, i=False),
    "dynamic": lambda: lower(Add(), FLOATS, cuda(), dynamic=batch),
    "dynamic_paired": lambda: lower(Add(), FLOATS, cuda(), dynamic=batch, h=True, d=True, i=False),
    "dynamic_unplanned": lambda: lower(Add(), FLOATS, cuda(), dynamic=batch, h=True, d=True, i=False, o=False),
    "two_methods": lambda: two_methods(
        {"forward": (Add(), FLOATS), "encode": (Mlp(), (torch.ones(2, 8),))}, paired="forward"
    ),
    "prefill_decode": lambda: two_methods({"prefill": (Add(), FLOATS), "decode": (Add(), FLOATS)}, paired="prefill"),
    "host_first": lambda: lower(HostFirst(), FLOATS, DeviceAwarePartitioner(), i=False),
    "mixed": lambda: lower(HostFirst(), FLOATS, DeviceAwarePartitioner(), h=True, d=True, i=False),
    "sandwich": lambda: lower(Sandwich(), FLOATS, DeviceAwarePartitioner()),
    "sandwich_second_device": lambda: lower(Sandwich(), FLOATS, DeviceAwarePartitioner("cuda:1")),
    "second_device": lambda: lower(Add(), FLOATS, cuda(device="cuda:1"), h=True, d=True, i=False),
    "portable": lambda: lower(Add(), FLOATS),
    "portable_unplanned": lambda: lower(Add(), FLOATS, i=False, o=False),
    "named": lambda: lower(
        Named(),
        (torch.ones(2),),
        kwargs={"scale": torch.ones(2), "extras": {"left": torch.ones(2), "right": torch.ones(2)}},
    ),
    "scalars": lambda: lower(Scalars(), (torch.ones(2), 3, 0.5, True, None)),
    "branch": lambda: lower(Branch(), (torch.ones(3),)),
    "state": lambda: lower(State(), (torch.ones(4),)),
    "state_named": lambda: lower(State(), (torch.ones(4),), emit_mutable_buffer_names=True),
    "state_initialised": lambda: lower(State(), (torch.ones(4),), passes=[InitializedMutableBufferPass(["total"])]),
    "state_on_device": lambda: lower(State(), (torch.ones(4),), cuda()),
    "external_constants": lambda: lower(Mlp(), (torch.ones(2, 8),), external_constants=True),
    "inline_delegate": lambda: lower(Add(), FLOATS, cuda(), extract_delegate_segments=False),
    "layout": lambda: lower(Layout(), (torch.ones(1, 3, 4, 4).to(memory_format=torch.channels_last),)),
    "split": lambda: lower(Split(), (torch.ones(8),)),
    "stack_traces": lambda: lower(Mlp(), (torch.ones(2, 8),), emit_stacktrace=True),
    "xnnpack": xnnpack,
    "example_add": example("AddModule"),
    "example_add_mul": example("AddMulModule"),
    "example_linear": example("LinearModule"),
    "example_softmax": example("SoftmaxModule"),
    "example_conv1d": example("Conv1dModule"),
    "example_sdpa": example("SdpaModule"),
    "example_lstm": example("LSTMModel", "lstm"),
}


def of_the_guide() -> dict[str, Callable[[], ExecutorchProgramManager]]:
    """What the guide's listings export, and each of its models in every configuration."""
    sys.path.insert(0, os.fspath(ROOT / "crates/export/python"))
    from guide_export import recipes

    request = (ROOT / "crates/export/src/request.rs").read_text()
    models = re.findall(r'Self::\w+ => "(\w+)",', request)
    assert len(models) > 15, "`export::Model` names its models otherwise"
    found = {}
    for recipe in sorted(ROOT.glob("listings/*/export.py")):
        for name, make in runpy.run_path(os.fspath(recipe))["programs"].items():
            found[f"{recipe.parent.name}_{name}"] = make
    for name in list(programs):
        if settings := re.fullmatch("h([01])d([01])_i([01])o([01])_n([01])", name):
            h, d, i, o, n = (setting == "1" for setting in settings.groups())
            config = {
                "propagate_device_config": {"all": {"skip_h2d_for_method_inputs": h, "skip_d2h_for_method_outputs": d}},
                "memory_planning_pass": {"all": {"alloc_graph_input": i, "alloc_graph_output": o}},
                "enable_non_cpu_memory_planning": n,
            }
            for model in models:
                found[f"{model}_{name}"] = lambda model=model, config=config: recipes.from_config(model, config)[0]
    return found


OWN = frozenset(programs)
programs |= of_the_guide()

# What program.fbs has gained since constants moved out of the program: without these it is an early ExecuTorch 0.x's.
NEWER_TABLES = ("ExtraTensorInfo", "NonConstBufferDevice", "SubsegmentOffsets", "NamedData")
NEWER_FIELDS = (
    "extra_tensor_info",
    "non_const_buffer_device",
    "constant_segment",
    "mutable_data_segments",
    "named_data",
)


def write_old(manager: ExecutorchProgramManager, name: str, folder: Path) -> None:
    """The same program as an exporter of before those fields wrote it: constants and delegates inline, no header."""
    schema = (PACKAGE / "schema" / "program.fbs").read_text()
    for table in NEWER_TABLES:
        schema, count = re.subn(rf"table {table} \{{.*?\n\}}", "", schema, flags=re.DOTALL)
        assert count == 1, table
    for field in NEWER_FIELDS:
        schema, count = re.subn(rf"\n  {field}:[^;]*;", "", schema)
        assert count == 1, field

    def strip(node):
        if isinstance(node, dict):
            return {key: strip(value) for key, value in node.items() if key not in NEWER_FIELDS and value is not None}
        return [strip(item) for item in node] if isinstance(node, list) else node

    work = folder / f"{name}.work"
    work.mkdir()
    (work / "program.fbs").write_text(schema)
    (work / "scalar_type.fbs").write_bytes((PACKAGE / "schema" / "scalar_type.fbs").read_bytes())
    (work / f"{name}.json").write_text(
        json.dumps(strip(json.loads(json.dumps(manager.executorch_program, cls=_DataclassEncoder))))
    )
    flatc = PACKAGE / "data" / "bin" / "flatc"
    subprocess.run([flatc, "--binary", "-o", folder, work / "program.fbs", work / f"{name}.json"], check=True)
    write_plan(manager.executorch_program, name, folder)


def write_plan(program: Program, name: str, folder: Path) -> None:
    (folder / f"{name}.plan.json").write_text(json.dumps(program, cls=_DataclassEncoder))


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in programs.items():
        torch.manual_seed(0)
        try:
            manager = make()
        except Exception as error:
            # The exporter refuses some models of the guide in some configurations; a program of ours must export.
            if name in OWN:
                raise
            print(f"{name}: {type(error).__name__}", flush=True)
            continue
        (folder / f"{name}.pte").write_bytes(manager.buffer)
        write_plan(manager.executorch_program, name, folder)
        (folder / name).mkdir()
        manager.write_tensor_data_to_file(os.fspath(folder / name))
        print(name, len(manager.buffer), flush=True)
    for name in ("example_linear", "portable_unplanned", "branch", "scalars", "xnnpack"):
        torch.manual_seed(0)
        write_old(programs[name](), f"old_{name}", folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
