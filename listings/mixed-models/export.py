"""An addition on the device beside a multiplication on the CPU."""

# ANCHOR: program
# ANCHOR: imports
from typing import Any

import torch
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import (
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge_transform_and_lower,
)
from executorch.exir.backend.canonical_partitioners.pattern_op_partitioner import (
    generate_pattern_op_partitions,
)
from executorch.exir.backend.partitioner import Partitioner, PartitionResult
from executorch.exir.dialects._ops import ops
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.propagate_device_config import PropagateDeviceConfig
from torch.export import ExportedProgram
from torch.fx.passes.operator_support import OperatorSupportBase

# ANCHOR_END: imports


# ANCHOR: model
class SumAndSquare(torch.nn.Module):
    def forward(
        self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return a + b, c * c


model = SumAndSquare().eval()
example_inputs = (
    torch.arange(64.0).reshape(8, 8) / 8,
    torch.arange(64.0).flip(0).reshape(8, 8) / 4,
    torch.arange(64.0).reshape(8, 8) / 2,
)
# ANCHOR_END: model


# ANCHOR: partitioner
class Additions(Partitioner, OperatorSupportBase):
    """Additions go to the CUDA delegate; every other operator stays on the CPU."""

    def __init__(self) -> None:
        super().__init__()
        name = CudaBackend.generate_method_name_compile_spec("forward")
        self.delegation_spec = CudaPartitioner([name]).delegation_spec

    def is_node_supported(self, submodules: Any, node: torch.fx.Node) -> bool:
        return node.target is ops.edge.aten.add.Tensor

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags = {}
        for partition in generate_pattern_op_partitions(
            exported_program.graph_module, op_support=self
        ):
            tag = f"additions_{partition.id}"
            tags[tag] = self.delegation_spec
            for node in partition.nodes:
                node.meta["delegation_tag"] = tag
        return PartitionResult(exported_program, tags)
        # ANCHOR_END: partitioner


# ANCHOR: lower
def lower() -> EdgeProgramManager:
    """The additions go to the CUDA delegate."""
    return to_edge_transform_and_lower(
        torch.export.export(model, example_inputs),
        partitioner=[Additions()],
    )
    # ANCHOR_END: lower


# ANCHOR: write
def write(name: str, program: ExecutorchProgramManager) -> None:
    """`NAME.pte`, and the data file beside it where the model has weights."""
    with open(f"{name}.pte", "wb") as file:
        program.write_to_file(file)
    program.write_tensor_data_to_file(".")
    # ANCHOR_END: write


# ANCHOR: mixed
def mixed() -> ExecutorchProgramManager:
    """The delegate's inputs and output on the device, the CPU operator's on the host."""
    return lower().to_executorch(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_h2d_for_method_inputs=True,
                skip_d2h_for_method_outputs=True,
            ),
            memory_planning_pass=MemoryPlanningPass(
                alloc_graph_input=False,
            ),
        )
    )
    # ANCHOR_END: mixed
    # ANCHOR_END: program


# ANCHOR: host_inputs
def host_inputs() -> ExecutorchProgramManager:
    """All inputs on the host and planned; the delegate's output stays on the device."""
    return lower().to_executorch(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_d2h_for_method_outputs=True,
            ),
        )
    )
    # ANCHOR_END: host_inputs


programs = {
    "mixed": mixed,
    "host_inputs": host_inputs,
}

if __name__ == "__main__":
    for name, program in programs.items():
        write(name, program())
