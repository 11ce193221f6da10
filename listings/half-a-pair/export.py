"""The input copy skipped, the output copy kept: what `alloc_graph_output` does to it."""

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


# ANCHOR: half
def half() -> ExecutorchProgramManager:
    """Everything unplanned. Do not use: no caller can run it."""
    return lower(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(skip_h2d_for_method_inputs=True),
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False),
        )
    )


# ANCHOR_END: half


# ANCHOR: whole
def whole() -> ExecutorchProgramManager:
    """The output planned, as a kept copy needs."""
    return lower(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(skip_h2d_for_method_inputs=True),
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),
        )
    )


# ANCHOR_END: whole


# ANCHOR: both_kept
def both_kept() -> ExecutorchProgramManager:
    """Both copies kept, the output unplanned. Do not use either."""
    return lower(
        ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(alloc_graph_output=False),
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
        manager = program()
        manager.save(f"{name}.pte")
        manager.write_tensor_data_to_file(".")
