"""A program that plans device memory, for a runtime that has no device."""

# ANCHOR: program
import torch
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import ExecutorchProgramManager, to_edge_transform_and_lower


class Add(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


model = Add().eval()
example_inputs = (torch.ones(8, 8), torch.ones(8, 8))


def default() -> ExecutorchProgramManager:
    """Every setting at its default."""
    method_name = CudaBackend.generate_method_name_compile_spec("forward")
    return to_edge_transform_and_lower(
        torch.export.export(model, example_inputs),
        partitioner=[CudaPartitioner([method_name])],
    ).to_executorch()
    # ANCHOR_END: program


programs = {
    "default": default,
}

if __name__ == "__main__":
    for name, program in programs.items():
        with open(f"{name}.pte", "wb") as file:
            program().write_to_file(file)
