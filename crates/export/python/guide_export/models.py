"""The models that a program can be asked for by name and configuration.

Weights and inputs are small multiples of 1/8, so that every float32 sum is exact and a result equals eager PyTorch's
bit for bit, in whatever order it was summed.
"""

from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class Example:
    """A method: its model, the inputs that it is exported with, and which of their sizes may differ in a run."""

    model: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]
    dynamic_shapes: dict[str, Any] = field(default_factory=dict)


class Add(torch.nn.Module):
    """`a + b`."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


class Add3(torch.nn.Module):
    """`a + b + b`."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b + b


class Mlp(torch.nn.Module):
    """Linear 8 → 16, ReLU, linear 16 → 4, with weights in -1…1."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = torch.nn.Linear(8, 16)
        self.output = torch.nn.Linear(16, 4)
        with torch.no_grad():
            for step, parameter in enumerate(self.parameters(), start=3):
                parameter.copy_(eighths(*parameter.shape, step=step))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.output(torch.relu(self.hidden(x)))


def eighths(*sizes: int, step: int) -> torch.Tensor:
    """Multiples of 1/8 in -1…1, no two rows alike: `step` picks which."""
    numel = torch.Size(sizes).numel()
    return ((torch.arange(numel) * step + step) % 17 - 8).to(torch.float32).reshape(sizes) / 8


def build(name: str) -> dict[str, Example]:
    """The methods of the model `name`, fresh: an export may change what it is given."""
    inputs = (eighths(8, 8, step=3), eighths(8, 8, step=5))
    match name:
        case "add":
            return {"forward": Example(Add(), inputs)}
        case "add_dynamic":
            rows = torch.export.Dim("rows", min=2, max=8)
            return {"forward": Example(Add(), inputs, {"a": {0: rows}, "b": {0: rows}})}
        case "two_methods":
            return {"encode": Example(Add(), inputs), "decode": Example(Add3(), inputs)}
        case "mlp":
            return {"forward": Example(Mlp(), inputs[:1])}
        case _:
            raise ValueError(f"no model `{name}`: there are `add`, `add_dynamic`, `two_methods` and `mlp`")
