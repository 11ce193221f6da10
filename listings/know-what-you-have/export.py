"""A program for the host alone: no delegate, no device."""

import torch
from executorch.exir import ExecutorchProgramManager, to_edge_transform_and_lower


class Add(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


model = Add().eval()
example_inputs = (torch.arange(64.0).reshape(8, 8) / 8, torch.ones(8, 8))


# ANCHOR: host_program
def host_program() -> ExecutorchProgramManager:
    exported = torch.export.export(model, example_inputs)
    return to_edge_transform_and_lower(exported).to_executorch()
    # ANCHOR_END: host_program


programs = {
    "host_program": host_program,
}

if __name__ == "__main__":
    for name, program in programs.items():
        with open(f"{name}.pte", "wb") as file:
            program().write_to_file(file)
