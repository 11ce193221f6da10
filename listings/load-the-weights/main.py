"""A program and its data file, from Python."""

# ANCHOR: program
import torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch
from executorch.runtime import Runtime

# Our stand-in for a GPU. Where there is one, leave this line out, and write `x.cuda()`, `torch.cuda.synchronize()` and
# `y.cpu()` for its `to_device(x)`, `synchronize()` and `to_host(y)`.
import stand_in as gpu

x = gpu.to_device(torch.arange(64.0).reshape(8, 8) / 8)

module = _load_for_executorch("weights.pte", "aoti_cuda_blob.ptd")
y = module.forward([x], clone_outputs=False)[0]
gpu.synchronize()
first = ", ".join(f"{value:.3f}" for value in gpu.to_host(y).flatten()[:3].tolist())
print(f"result: [{first}] …")

# The same with `Runtime`, for programs whose result is on the host.
program = Runtime.get().load_program("weights.pte", data_path="aoti_cuda_blob.ptd")
print("methods:", program.method_names)

# A path at which there is nothing is an error at once.
try:
    _load_for_executorch("weights.pte", "none.ptd")
except RuntimeError as error:
    print(error)
# ANCHOR_END: program
