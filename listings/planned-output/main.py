"""The output in the runtime's own device buffer, from Python."""

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

module = _load_for_executorch("planned_output.pte")
first = module.forward([a, b], clone_outputs=False)[0]
gpu.synchronize()
show("first result", gpu.to_host(first))

# The second execution, b + b.
second = module.forward([b, b], clone_outputs=False)[0]
gpu.synchronize()
print("second result at the same address:", first.data_ptr() == second.data_ptr())
show("through the first pointer", gpu.to_host(first))

# With the default, `clone_outputs=True`, each result is a copy of its own: PyTorch's copy, which needs a driver.
try:
    module.forward([a, b])
except RuntimeError:
    print("cloned: PyTorch found no driver")
# ANCHOR_END: program
