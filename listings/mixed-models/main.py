"""An addition on the device beside a multiplication on the CPU, from Python."""

# ANCHOR: program
import torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch

# Our stand-in for a GPU. Where there is one, leave this line out, and write `x.cuda()`, `torch.cuda.synchronize()` and
# `y.cpu()` for its `to_device(x)`, `synchronize()` and `to_host(y)`.
import stand_in as gpu


def show(what: str, values: torch.Tensor) -> None:
    """The first three values."""
    first = ", ".join(f"{value:.3f}" for value in values.flatten()[:3].tolist())
    print(f"{what}: [{first}] …")


a = gpu.to_device(torch.arange(64.0).reshape(8, 8) / 8)
b = gpu.to_device(torch.arange(64.0).flip(0).reshape(8, 8) / 4)
c = torch.arange(64.0).reshape(8, 8) / 2

module = _load_for_executorch("mixed.pte")
total, square = module.forward([a, b, c], clone_outputs=False)
show("square on the host", square)
gpu.synchronize()
show("sum on the device", gpu.to_host(total))
# ANCHOR_END: program
