"""One copy skipped, the other kept."""

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


# ANCHOR: device_to_host
def device_to_host() -> ExecutorchProgramManager:
    """Device in, host out; the runtime owns the output."""
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
    # ANCHOR_END: device_to_host
    # ANCHOR_END: program


# ANCHOR: host_to_device
def host_to_device() -> ExecutorchProgramManager:
    """Host in, device out; the runtime owns both."""
    return lower().to_executorch(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_d2h_for_method_outputs=True,
            ),
        )
    )
    # ANCHOR_END: host_to_device


programs = {
    "device_to_host": device_to_host,
    "host_to_device": host_to_device,
}

if __name__ == "__main__":
    for name, program in programs.items():
        write(name, program())
