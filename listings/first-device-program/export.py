"""A small MLP, with its activations on the host and on the device."""

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
class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(16, 32)
        self.down = torch.nn.Linear(32, 8)
        with torch.no_grad():
            for number, weights in enumerate(self.parameters()):
                steps = torch.arange(weights.numel()) * (number + 3) % 7 - 3
                weights.copy_(steps.reshape(weights.shape) / 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.relu(self.up(x)))


model = Mlp().eval()
example_inputs = ((torch.arange(16) % 5 - 2).reshape(1, 16) / 8,)
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
    """Host in, host out."""
    return lower().to_executorch(ExecutorchBackendConfig())
    # ANCHOR_END: default
    # ANCHOR_END: program


# ANCHOR: device
def device() -> ExecutorchProgramManager:
    """Device in, device out, in the runtime's buffer."""
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
    # ANCHOR_END: device


# ANCHOR: programs
programs = {
    "default": default,
    "device": device,
}

if __name__ == "__main__":
    for name, program in programs.items():
        write(name, program())
# ANCHOR_END: programs
