"""The models that a program can be asked for by name and configuration.

Weights and inputs are small multiples of 1/8, so that every float32 sum is exact and a result equals eager PyTorch's
bit for bit, in whatever order it was summed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_pattern_op_partitions
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import Partitioner, PartitionResult
from executorch.exir.dialects._ops import ops
from torch.export import ExportedProgram
from torch.fx.passes.operator_support import OperatorSupportBase


def whole(method: str) -> list[Partitioner]:
    """Every operator goes to the CUDA backend."""
    return [cuda(method)]


@dataclass(frozen=True)
class Example:
    """A method: its model, the inputs that it is exported with, which of their sizes may differ in a run, and what goes
    where, by the method's name."""

    model: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]
    dynamic_shapes: dict[str, Any] = field(default_factory=dict)
    partitioners: Callable[[str], list[Partitioner]] = whole


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


class Twice(torch.nn.Module):
    """`a + a`."""

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return a + a


class Apart(torch.nn.Module):
    """`a + b` and `c * c`: no value in common."""

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return a + b, c * c


class Relu(torch.nn.Module):
    """`a + b`, and `c` without what is below 0: no value in common."""

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return a + b, torch.relu(c)


class ReluFirst(torch.nn.Module):
    """`a + b` without what is below 0, `+ c`."""

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return torch.relu(a + b) + c


class InputUsedTwice(torch.nn.Module):
    """`a + b` and `a * a`."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return a + b, a * a


class OutputUsedTwice(torch.nn.Module):
    """`a + b`, and the square of that."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        total = a + b
        return total, total * total


class Chain(torch.nn.Module):
    """`(a + b) * c`."""

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return (a + b) * c


class Between(torch.nn.Module):
    """`(a + b) * (a + b) + c`."""

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        total = a + b
        return total * total + c


class ReturnsInput(torch.nn.Module):
    """`a + b`, and `a` itself."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return a + b, a


class ReturnsTwice(torch.nn.Module):
    """`a + b`, and the same value again."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        total = a + b
        return total, total


class Weight(torch.nn.Module):
    """`a + weight`."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(eighths(8, 8, step=7), requires_grad=False)

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return a + self.weight


class State(torch.nn.Module):
    """Adds `a` to a buffer, which starts as zeros, and returns the sum `+ a`."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(8, 8))

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        self.total.add_(a)
        return self.total + a


class Additions(Partitioner, OperatorSupportBase):
    """Only additions go to the CUDA backend: what a partitioner of one's own may do, and what is left of a graph of
    which the backend does not run every operator."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.delegation_spec = cuda(method).delegation_spec

    def is_node_supported(self, submodules: Any, node: torch.fx.Node) -> bool:
        return node.target is ops.edge.aten.add.Tensor

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags = {}
        for partition in generate_pattern_op_partitions(exported_program.graph_module, op_support=self):
            tag = f"additions_{partition.id}"
            tags[tag] = self.delegation_spec
            for node in partition.nodes:
                node.meta["delegation_tag"] = tag
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)


def cuda(method: str, device: str = "cuda:0") -> CudaPartitioner:
    """ExecuTorch's partitioner, for one device."""
    name = CudaBackend.generate_method_name_compile_spec(method)
    return CudaPartitioner([name, CompileSpec("target_device", device.encode())])


def additions(method: str) -> list[Partitioner]:
    """Additions go to the CUDA backend; other operators stay on the CPU."""
    return [Additions(method)]


def additions_apart(method: str) -> list[Partitioner]:
    """All of it goes to the CUDA backend, additions in a partition of their own."""
    return [Additions(method), cuda(method)]


def xnnpack_first(method: str) -> list[Partitioner]:
    """What XNNPACK's own partitioner takes of these models goes to its delegate, which runs on the CPU; the rest to the
    CUDA backend."""
    # Imported for those who ask: it takes a second.
    from executorch.backends.xnnpack.partition.config.generic_node_configs import ReLUConfig
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return [XnnpackPartitioner(configs=[ReLUConfig]), cuda(method)]


def two_devices(method: str) -> list[Partitioner]:
    """Additions go to the first GPU, what is left to the second."""
    return [Additions(method), cuda(method, "cuda:1")]


def second_device(method: str) -> list[Partitioner]:
    """All of it goes to the second GPU."""
    return [cuda(method, "cuda:1")]


def eighths(*sizes: int, step: int) -> torch.Tensor:
    """Multiples of 1/8 in -1…1, no two rows alike: `step` picks which."""
    numel = torch.Size(sizes).numel()
    return ((torch.arange(numel) * step + step) % 17 - 8).to(torch.float32).reshape(sizes) / 8


def build(name: str) -> dict[str, Example]:
    """The methods of the model `name`, fresh: an export may change what it is given."""
    inputs = (eighths(8, 8, step=3), eighths(8, 8, step=5))
    three = (*inputs, eighths(8, 8, step=7))
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
    bites: dict[str, tuple[torch.nn.Module, tuple[torch.Tensor, ...], Callable[[str], list[Partitioner]]]] = {
        "add_itself": (Twice(), inputs[:1], whole),
        "add_empty": (Add(), tuple(tensor[:0] for tensor in inputs), whole),
        "add_second_device": (Add(), inputs, second_device),
        "apart": (Apart(), three, additions),
        "xnnpack_apart": (Relu(), three, xnnpack_first),
        "xnnpack_between": (ReluFirst(), three, xnnpack_first),
        "input_used_twice": (InputUsedTwice(), inputs, additions),
        "output_used_twice": (OutputUsedTwice(), inputs, additions),
        "in_a_row": (Chain(), three, additions_apart),
        "two_devices": (Chain(), three, two_devices),
        "cpu_between": (Between(), three, additions),
        "returns_input": (ReturnsInput(), inputs, whole),
        "returns_twice": (ReturnsTwice(), inputs, whole),
        "weight": (Weight(), inputs[:1], whole),
        "weight_not_owned": (Weight(), inputs[:1], additions),
        "state": (State(), inputs[:1], whole),
        "state_not_owned": (State(), inputs[:1], additions),
    }
    if name not in bites:
        raise ValueError(f"no model `{name}`: `export::Model` has them all")
    model, given, partitioners = bites[name]
    return {"forward": Example(model, given, partitioners=partitioners)}
