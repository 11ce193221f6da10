"""The input copy skipped, the output copy kept: what `alloc_graph_output` does to it."""

# ANCHOR: program
# ANCHOR: imports
import torch
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import (
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge_transform_and_lower,
)
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.propagate_device_config import PropagateDeviceConfig

# ANCHOR_END: imports


# ANCHOR: model
class Add(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


model = Add().eval()
example_inputs = (
    torch.arange(64.0).reshape(8, 8) / 8,
    torch.arange(64.0).flip(0).reshape(8, 8) / 4,
)
# ANCHOR_END: model


# ANCHOR: lower
def lower() -> EdgeProgramManager:
    """Everything goes to the CUDA delegate."""
    method_name = CudaBackend.generate_method_name_compile_spec("forward")
    return to_edge_transform_and_lower(
        torch.export.export(model, example_inputs),
        partitioner=[CudaPartitioner([method_name])],
    )
    # ANCHOR_END: lower


# ANCHOR: write
def write(name: str, program: ExecutorchProgramManager) -> None:
    """`NAME.pte`, and the data file beside it where the model has weights."""
    with open(f"{name}.pte", "wb") as file:
        program.write_to_file(file)
    program.write_tensor_data_to_file(".")
    # ANCHOR_END: write


# ANCHOR: half
def half() -> ExecutorchProgramManager:
    """Everything unplanned. Do not use: no caller can run it."""
    return lower().to_executorch(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_h2d_for_method_inputs=True,
            ),
            memory_planning_pass=MemoryPlanningPass(
                alloc_graph_input=False,
                alloc_graph_output=False,
            ),
        )
    )
    # ANCHOR_END: half
    # ANCHOR_END: program


# ANCHOR: whole
def whole() -> ExecutorchProgramManager:
    """The output planned, as a kept copy needs."""
    return lower().to_executorch(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_h2d_for_method_inputs=True,
            ),
            memory_planning_pass=MemoryPlanningPass(
                alloc_graph_input=False,
            ),
        )
    )
    # ANCHOR_END: whole


# ANCHOR: both_kept
def both_kept() -> ExecutorchProgramManager:
    """Both copies kept, the output unplanned. Do not use either."""
    return lower().to_executorch(
        ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(
                alloc_graph_output=False,
            ),
        )
    )
    # ANCHOR_END: both_kept


programs = {
    "half": half,
    "whole": whole,
    "both_kept": both_kept,
}

if __name__ == "__main__":
    for name, program in programs.items():
        write(name, program())
