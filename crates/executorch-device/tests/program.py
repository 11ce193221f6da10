"""Exports the programs that the tests run, with the real exporter, into the folder named on the command line."""

import sys
from pathlib import Path

import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_pattern_op_partitions
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.propagate_device_config import PropagateDeviceConfig
from torch.fx.passes.operator_support import OperatorSupportBase


class TestDelegate(BackendDetails):
    """Adds its inputs up. The blob is the word "sum"; the named data "bias" is one float32, added as well."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        data = NamedDataStore()
        if any(spec.key == "bias" for spec in compile_specs):
            data.add_named_data("bias", torch.tensor([0.5]).numpy().tobytes(), external_tag="bias")
        return PreprocessResult(processed_bytes=b"sum", data_store_output=data.get_named_data_store_output())


class Adds(OperatorSupportBase):
    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node.target == exir_ops.edge.aten.add.Tensor


class AddPartitioner(Partitioner):
    def __init__(self, *specs):
        super().__init__()
        target = CompileSpec("target_device", b"cuda:0")
        self.delegation = DelegationSpec(TestDelegate.__name__, [target, *specs])

    def partition(self, exported_program):
        tags = {}
        for partition in generate_pattern_op_partitions(exported_program.graph_module, op_support=Adds()):
            for node in partition.nodes:
                node.meta["delegation_tag"] = f"tag{partition.id}"
                tags[f"tag{partition.id}"] = self.delegation
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)


class Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def program(function, inputs, h2d, d2h, alloc_input, alloc_output, partitioner=None, dynamic=None):
    """`function`: that of `forward`, or of each method by name. `h2d` and `d2h`: skip that copy; `alloc_*`: plan the
    graph's inputs (of all methods, or of those named), outputs."""
    functions = function if isinstance(function, dict) else {"forward": function}
    exported = {
        name: torch.export.export(Model(function), inputs, dynamic_shapes=dynamic, strict=True)
        for name, function in functions.items()
    }
    edge = to_edge_transform_and_lower(
        exported,
        partitioner=[partitioner] if partitioner else [],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    return edge.to_executorch(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_h2d_for_method_inputs=h2d, skip_d2h_for_method_outputs=d2h
            ),
            enable_non_cpu_memory_planning=True,
            memory_planning_pass={
                name: MemoryPlanningPass(
                    alloc_graph_input=alloc_input if isinstance(alloc_input, bool) else name in alloc_input,
                    alloc_graph_output=alloc_output,
                )
                for name in functions
            },
        )
    )


def bump(a):
    a.add_(1.0)
    return a * 2.0


def chain(a, b):
    return ((a * b + 1.0) * 3.0 + 2.0) * 0.5


a, b = torch.ones(8, 8), torch.ones(8, 8)
rows = torch.export.Dim("rows", min=2, max=16)
adds = AddPartitioner()
programs = {
    "unpaired": program(torch.add, (a, b), True, True, True, True, adds),
    "planned_output": program(torch.add, (a, b), True, True, False, True, adds),
    "caller_output": program(torch.add, (a, b), True, True, False, False, adds),
    "copies": program(torch.add, (a, b), False, False, True, True, adds),
    "unplanned_copies": program(torch.add, (a, b), False, False, False, True, adds),
    "dynamic": program(torch.add, (a, b), True, True, False, False, adds, (({0: rows}, {0: rows}),)),
    "with_data": program(torch.add, (a, b), True, True, False, True, AddPartitioner(CompileSpec("bias", b""))),
    "host": program(torch.mul, (a, b), False, False, False, False),
    "host_planned": program(torch.mul, (a, b), False, False, True, True),
    "chain": program(chain, (a, b), False, False, True, True),
    "three_methods": program(
        {"forward": chain, "product": torch.mul, "unplanned": torch.mul},
        (a, b),
        False,
        False,
        {"forward", "product"},
        True,
    ),
    "chain_unplanned": program(chain, (a, b), False, False, False, True),
    "passes_through": program(lambda a, b: (a * b, a), (a, b), False, False, False, True),
    "mutates": program(bump, (a,), False, False, False, True),
    "number": program(lambda a, n: a * n, (a, 3), False, False, False, True),
}
folder = Path(sys.argv[1])
for name, made in programs.items():
    (folder / f"{name}.pte").write_bytes(made.buffer)
    made.write_tensor_data_to_file(str(folder))
