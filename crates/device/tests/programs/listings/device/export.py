"""Programs for the device's own tests: what the models of `crates/export` do not have."""

from unittest import mock

import torch
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import (
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge_transform_and_lower,
)
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.propagate_device_config import PropagateDeviceConfig
from executorch.exir.passes.propagate_device_pass import TARGET_DEVICE_COMPILE_SPEC_KEY
from guide_export import operators


def eighths(*sizes: int) -> torch.Tensor:
    """Multiples of 1/8, so that every float32 sum is exact."""
    numel = torch.Size(sizes).numel()
    return ((torch.arange(numel) * 5 + 3) % 17 - 8).to(torch.float32).reshape(sizes) / 8


class Add(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


class Double(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


class Square(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x


class EveryOperator(torch.nn.Module):
    """Each operator that the exporter can write, on a batch of rows; three results."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = torch.nn.Parameter(eighths(4, 8))
        self.bias = torch.nn.Parameter(eighths(4))
        self.scale = torch.nn.Parameter(eighths(1))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        linear = torch.nn.functional.linear(x, self.matrix, self.bias)
        product = torch.mm(x, self.matrix.t())
        sum_ = torch.addmm(self.bias, x, self.matrix.permute(1, 0))
        return torch.relu(linear) * self.scale, product.clone(), sum_ + product


class Layers(torch.nn.Module):
    """Two layers; `last` alone differs between two programs of this class."""

    def __init__(self, last: float) -> None:
        super().__init__()
        self.first = torch.nn.Parameter(eighths(8, 8))
        self.second = torch.nn.Parameter(eighths(8, 8) + last)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(torch.nn.functional.linear(x, self.first), self.second)


def paired(
    models: dict[str, torch.nn.Module],
    inputs: tuple[torch.Tensor, ...],
    rows: tuple[int, int] | None = None,
    alloc_graph_output: bool = True,
    target_device: str = "cuda:0",
) -> ExecutorchProgramManager:
    """Both copies skipped, inputs unplanned; with `rows`, the first size of every input is dynamic between the two."""
    target = CompileSpec(TARGET_DEVICE_COMPILE_SPEC_KEY, target_device.encode())
    batch = torch.export.Dim("rows", min=rows[0], max=rows[1]) if rows else None
    shapes = tuple({0: batch} for _ in inputs) if batch else None
    return to_edge_transform_and_lower(
        {name: torch.export.export(model, inputs, dynamic_shapes=shapes) for name, model in models.items()},
        partitioner={
            name: [CudaPartitioner([CudaBackend.generate_method_name_compile_spec(name), target])] for name in models
        },
    ).to_executorch(
        ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_h2d_for_method_inputs=True,
                skip_d2h_for_method_outputs=True,
            ),
            memory_planning_pass=MemoryPlanningPass(
                alloc_graph_input=False,
                alloc_graph_output=alloc_graph_output,
            ),
        )
    )


ONE = (eighths(8, 8),)
TWO = (eighths(8, 8), eighths(8, 8) + 1)

# By method: what eager PyTorch is asked to compute as well.
model = {
    "forward": EveryOperator(),
    "add": Add(),
    "double": Double(),
    "square": Square(),
    "layers": Layers(0.0),
}
example_inputs = {
    "forward": ONE,
    "add": TWO,
    "double": ONE,
    "square": ONE,
    "layers": ONE,
}


def dynamic() -> ExecutorchProgramManager:
    """`a + b` of 1 to 8 rows, the output planned."""
    return paired({"add": model["add"]}, TWO, rows=(1, 8))


def dynamic_caller() -> ExecutorchProgramManager:
    """`a + b` of 1 to 8 rows, the output the caller's."""
    return paired({"add": model["add"]}, TWO, rows=(1, 8), alloc_graph_output=False)


def methods() -> ExecutorchProgramManager:
    """`double` and `square`, to feed one with the other's output."""
    return paired({"double": model["double"], "square": model["square"]}, ONE)


def every_operator() -> ExecutorchProgramManager:
    """One call of each operator."""
    return paired({"forward": model["forward"]}, ONE)


def untagged() -> ExecutorchProgramManager:
    """`a + b` whose tensors are not tagged as the device's."""
    return paired({"add": model["add"]}, TWO, target_device="cpu")


def unchecked(inputs: tuple[torch.Tensor, ...]) -> ExecutorchProgramManager:
    """`a + b` of tensors that the exporting side would refuse, without its check."""
    with mock.patch.object(operators, "_check_layout", lambda *_: None):
        return paired({"add": model["add"]}, inputs)


def integers() -> ExecutorchProgramManager:
    """`a + b` of int32."""
    return unchecked(tuple(x.to(torch.int32) for x in TWO))


def channels_last() -> ExecutorchProgramManager:
    """`a + b` whose innermost dimension is not the last one."""
    x = eighths(1, 4, 4, 4).to(memory_format=torch.channels_last)
    return unchecked((x, x.clone()))


def layers() -> ExecutorchProgramManager:
    """Two layers."""
    return paired({"layers": model["layers"]}, ONE)


def other_layers() -> ExecutorchProgramManager:
    """Two layers, the first one as in `layers`."""
    return paired({"layers": Layers(1.0)}, ONE)


programs = {
    "dynamic": dynamic,
    "dynamic_caller": dynamic_caller,
    "methods": methods,
    "every_operator": every_operator,
    "untagged": untagged,
    "integers": integers,
    "channels_last": channels_last,
    "layers": layers,
    "other_layers": other_layers,
}
