"""Programs that bring the stand-in to each of its own answers."""

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
from executorch.exir.backend.compile_spec_schema import CompileSpec
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
def lower(*specs: CompileSpec) -> EdgeProgramManager:
    """Everything goes to the CUDA delegate."""
    method_name = CudaBackend.generate_method_name_compile_spec("forward")
    return to_edge_transform_and_lower(
        torch.export.export(model, example_inputs),
        partitioner=[CudaPartitioner([method_name, *specs])],
    )
    # ANCHOR_END: lower


# ANCHOR: write
def write(name: str, program: ExecutorchProgramManager) -> None:
    """`NAME.pte`, and the data file beside it where the model has weights."""
    with open(f"{name}.pte", "wb") as file:
        program.write_to_file(file)
    program.write_tensor_data_to_file(".")
    # ANCHOR_END: write


# ANCHOR: planned_output
def planned_output() -> ExecutorchProgramManager:
    """Device in, device out; the runtime owns the output."""
    return lower().to_executorch(skipping(alloc_graph_output=True))
    # ANCHOR_END: planned_output


# ANCHOR: caller_output
def caller_output() -> ExecutorchProgramManager:
    """Device in, device out; the caller owns the output."""
    return lower().to_executorch(skipping(alloc_graph_output=False))
    # ANCHOR_END: caller_output


# ANCHOR: second_device
def second_device() -> ExecutorchProgramManager:
    """As `planned_output`, for the second GPU."""
    second = CompileSpec("target_device", b"cuda:1")
    return lower(second).to_executorch(skipping(alloc_graph_output=True))
    # ANCHOR_END: second_device


# ANCHOR: copied_inputs
def copied_inputs() -> ExecutorchProgramManager:
    """Both copies kept, inputs unplanned: the copy is handed the caller's own pointer."""
    return lower().to_executorch(
        ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False)
        )
    )
    # ANCHOR_END: copied_inputs
    # ANCHOR_END: program


def skipping(alloc_graph_output: bool) -> ExecutorchBackendConfig:
    """Both copies skipped, inputs unplanned."""
    return ExecutorchBackendConfig(
        propagate_device_config=PropagateDeviceConfig(
            skip_h2d_for_method_inputs=True,
            skip_d2h_for_method_outputs=True,
        ),
        memory_planning_pass=MemoryPlanningPass(
            alloc_graph_input=False,
            alloc_graph_output=alloc_graph_output,
        ),
    )


programs = {
    "planned_output": planned_output,
    "caller_output": caller_output,
    "second_device": second_device,
    "copied_inputs": copied_inputs,
}

if __name__ == "__main__":
    for name, program in programs.items():
        write(name, program())
