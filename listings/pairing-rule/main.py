"""The pair, and the program that lacks half of it, from Python."""

# ANCHOR: program
import torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch

# Our stand-in for a GPU. Where there is one, leave this line out, and write `x.cuda()`, `torch.cuda.synchronize()` and
# `y.cpu()` for its `to_device(x)`, `synchronize()` and `to_host(y)`.
import stand_in as gpu

a = gpu.to_device(torch.arange(64.0).reshape(8, 8) / 8)
b = gpu.to_device(torch.arange(64.0).flip(0).reshape(8, 8) / 4)

paired = _load_for_executorch("paired.pte")
result = paired.forward([a, b], clone_outputs=False)[0]
gpu.synchronize()
first = ", ".join(f"{value:.3f}" for value in gpu.to_host(result)[0, :3].tolist())
print(f"result: [{first}] …")

# The skip without `alloc_graph_input=False`.
unpaired = _load_for_executorch("unpaired.pte")
try:
    unpaired.forward([a, b], clone_outputs=False)
except RuntimeError as error:
    print(error)
# ANCHOR_END: program
