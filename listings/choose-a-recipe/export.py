"""The five recipes: where the inputs are, where the result goes."""

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


# ANCHOR: host_to_host
def host_to_host() -> ExecutorchProgramManager:
    """Host in, host out."""
    return lower(ExecutorchBackendConfig())


# ANCHOR_END: host_to_host


# ANCHOR: device_to_host
def device_to_host() -> ExecutorchProgramManager:
    """Device in, host out."""
    return lower(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(skip_h2d_for_method_inputs=True),
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),
        )
    )


# ANCHOR_END: device_to_host


# ANCHOR: host_to_device
def host_to_device() -> ExecutorchProgramManager:
    """Host in, device out."""
    return lower(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(skip_d2h_for_method_outputs=True),
        )
    )


# ANCHOR_END: host_to_device


# ANCHOR: device_to_runtime_buffer
def device_to_runtime_buffer() -> ExecutorchProgramManager:
    """Device in, device out, in the runtime's buffer."""
    return lower(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_h2d_for_method_inputs=True, skip_d2h_for_method_outputs=True
            ),
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),
        )
    )


# ANCHOR_END: device_to_runtime_buffer


# ANCHOR: device_to_caller_buffer
def device_to_caller_buffer() -> ExecutorchProgramManager:
    """Device in, device out, in the caller's buffer."""
    return lower(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_h2d_for_method_inputs=True, skip_d2h_for_method_outputs=True
            ),
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False),
        )
    )


# ANCHOR_END: device_to_caller_buffer


programs = {
    "host_to_host": host_to_host,
    "device_to_host": device_to_host,
    "host_to_device": host_to_device,
    "device_to_runtime_buffer": device_to_runtime_buffer,
    "device_to_caller_buffer": device_to_caller_buffer,
}

if __name__ == "__main__":
    for name, program in programs.items():
        manager = program()
        manager.save(f"{name}.pte")
        manager.write_tensor_data_to_file(".")
