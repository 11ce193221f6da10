"""Two methods, each with settings of its own."""

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
class Encode(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


class Decode(torch.nn.Module):
    def forward(self, state: torch.Tensor) -> torch.Tensor:
        return state * state


a = torch.arange(64.0).reshape(8, 8) / 8
b = torch.arange(64.0).flip(0).reshape(8, 8) / 4
model = {"encode": Encode().eval(), "decode": Decode().eval()}
example_inputs = {"encode": (a, b), "decode": (a,)}
# ANCHOR_END: model


# ANCHOR: lower
def lower() -> EdgeProgramManager:
    """Everything goes to the CUDA delegate, with a compile spec for each method."""
    methods = {
        method: torch.export.export(model[method], example_inputs[method])
        for method in model
    }
    name = CudaBackend.generate_method_name_compile_spec
    return to_edge_transform_and_lower(
        methods,
        partitioner={method: [CudaPartitioner([name(method)])] for method in methods},
    )
    # ANCHOR_END: lower


# ANCHOR: write
def write(name: str, program: ExecutorchProgramManager) -> None:
    """`NAME.pte`, and the data file beside it where the model has weights."""
    with open(f"{name}.pte", "wb") as file:
        program.write_to_file(file)
    program.write_tensor_data_to_file(".")
    # ANCHOR_END: write


# ANCHOR: per_method
def per_method() -> ExecutorchProgramManager:
    """`encode`: host in, device out. `decode`: device in, host out."""
    return lower().to_executorch(
        ExecutorchBackendConfig(
            propagate_device_config={
                "encode": PropagateDeviceConfig(skip_d2h_for_method_outputs=True),
                "decode": PropagateDeviceConfig(skip_h2d_for_method_inputs=True),
            },
            memory_planning_pass={
                "encode": MemoryPlanningPass(),
                "decode": MemoryPlanningPass(alloc_graph_input=False),
            },
        )
    )
    # ANCHOR_END: per_method
    # ANCHOR_END: program


# ANCHOR: misspelt
def misspelt() -> ExecutorchProgramManager:
    """The same with `decod`. Do not use: `decode` gets the defaults."""
    return lower().to_executorch(
        ExecutorchBackendConfig(
            propagate_device_config={
                "encode": PropagateDeviceConfig(skip_d2h_for_method_outputs=True),
                "decod": PropagateDeviceConfig(skip_h2d_for_method_inputs=True),
            },
            memory_planning_pass={
                "encode": MemoryPlanningPass(),
                "decod": MemoryPlanningPass(alloc_graph_input=False),
            },
        )
    )
    # ANCHOR_END: misspelt


# ANCHOR: inside
def inside() -> ExecutorchProgramManager:
    """A dict inside a flag. Do not use: it is `True` for every method."""
    skips = PropagateDeviceConfig(
        skip_h2d_for_method_inputs={"decode": False},
        skip_d2h_for_method_outputs={"decode": False},
    )
    return lower().to_executorch(
        ExecutorchBackendConfig(
            propagate_device_config=skips,
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),
        )
    )
    # ANCHOR_END: inside


# ANCHOR: outside
def outside() -> ExecutorchProgramManager:
    """Both skips for every method."""
    return lower().to_executorch(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_h2d_for_method_inputs=True,
                skip_d2h_for_method_outputs=True,
            ),
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),
        )
    )
    # ANCHOR_END: outside


programs = {
    "per_method": per_method,
    "misspelt": misspelt,
    "inside": inside,
    "outside": outside,
}

if __name__ == "__main__":
    for name, program in programs.items():
        write(name, program())
