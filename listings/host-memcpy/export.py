"""Every setting at its default: host inputs, planned. And both skips with planned inputs."""

import torch
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.propagate_device_config import PropagateDeviceConfig


class Add(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


model = Add().eval()
example_inputs = (
    torch.arange(64, dtype=torch.float32).reshape(8, 8) / 8,
    torch.arange(64, dtype=torch.float32).flip(0).reshape(8, 8) / 4,
)


def lower(config: ExecutorchBackendConfig) -> ExecutorchProgramManager:
    program = torch.export.export(model, example_inputs)
    return to_edge_transform_and_lower(program, partitioner=[CudaPartitioner([])]).to_executorch(config)


# ANCHOR: default
def default() -> ExecutorchProgramManager:
    """Host in, host out; the runtime copies each input into its host arena."""
    return lower(ExecutorchBackendConfig())


# ANCHOR_END: default


# ANCHOR: unpaired
def unpaired() -> ExecutorchProgramManager:
    """Both copies skipped, inputs planned: the program that used to crash."""
    return lower(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_h2d_for_method_inputs=True, skip_d2h_for_method_outputs=True
            ),
        )
    )


# ANCHOR_END: unpaired


programs = {
    "default": default,
    "unpaired": unpaired,
}

if __name__ == "__main__":
    for name, program in programs.items():
        manager = program()
        manager.save(f"{name}.pte")
        manager.write_tensor_data_to_file(".")
