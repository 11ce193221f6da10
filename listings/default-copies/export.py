"""Every setting at its default, and inputs left to the caller."""

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


# ANCHOR: default
def default() -> ExecutorchProgramManager:
    """Host in, host out; the runtime copies each input into its host arena."""
    return lower().to_executorch(ExecutorchBackendConfig())
    # ANCHOR_END: default
    # ANCHOR_END: program


# ANCHOR: default_unplanned_inputs
def default_unplanned_inputs() -> ExecutorchProgramManager:
    """Host in, host out; the runtime reads each input where the caller has it."""
    return lower().to_executorch(
        ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(
                alloc_graph_input=False,
            ),
        )
    )
    # ANCHOR_END: default_unplanned_inputs


programs = {
    "default": default,
    "default_unplanned_inputs": default_unplanned_inputs,
}

if __name__ == "__main__":
    for name, program in programs.items():
        write(name, program())
