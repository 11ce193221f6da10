"""A layer with weights, in two methods that share them."""

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
class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        with torch.no_grad():
            for number, weights in enumerate(self.parameters()):
                steps = torch.arange(weights.numel()) * (number + 3) % 7 - 3
                weights.copy_(steps.reshape(weights.shape) / 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


model = Layer().eval()
example_inputs = (torch.arange(64.0).reshape(8, 8) / 8,)
# ANCHOR_END: model


# ANCHOR: lower
def lower(*methods: str) -> EdgeProgramManager:
    """The same layer under each name; everything goes to the CUDA delegate."""
    names = {
        method: CudaBackend.generate_method_name_compile_spec(method)
        for method in methods
    }
    return to_edge_transform_and_lower(
        {method: torch.export.export(model, example_inputs) for method in methods},
        partitioner={method: [CudaPartitioner([names[method]])] for method in methods},
    )
    # ANCHOR_END: lower


# ANCHOR: write
def write(name: str, program: ExecutorchProgramManager) -> None:
    """`NAME.pte`, and the data file beside it where the model has weights."""
    with open(f"{name}.pte", "wb") as file:
        program.write_to_file(file)
    program.write_tensor_data_to_file(".")
    # ANCHOR_END: write


# ANCHOR: weights
def weights() -> ExecutorchProgramManager:
    """One method; device in, device out, in the runtime's buffer."""
    return lower("forward").to_executorch(settings())
    # ANCHOR_END: weights


# ANCHOR: shared_weights
def shared_weights() -> ExecutorchProgramManager:
    """Two methods with the same weights."""
    return lower("encode", "decode").to_executorch(settings())
    # ANCHOR_END: shared_weights


# ANCHOR: settings
def settings() -> ExecutorchBackendConfig:
    return ExecutorchBackendConfig(
        propagate_device_config=PropagateDeviceConfig(
            skip_h2d_for_method_inputs=True,
            skip_d2h_for_method_outputs=True,
        ),
        memory_planning_pass=MemoryPlanningPass(
            alloc_graph_input=False,
        ),
    )
    # ANCHOR_END: settings
    # ANCHOR_END: program


programs = {
    "weights": weights,
    "shared_weights": shared_weights,
}

if __name__ == "__main__":
    for name, program in programs.items():
        write(name, program())
