"""Inputs on the device and the result on the host, from Python."""

# ANCHOR: program
import torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch

# Our stand-in for a GPU. Where there is one, leave this line out, and write `x.cuda()` for its `to_device(x)`.
import stand_in as gpu

a = gpu.to_device(torch.arange(64.0).reshape(8, 8) / 8)
b = gpu.to_device(torch.arange(64.0).flip(0).reshape(8, 8) / 4)

module = _load_for_executorch("device_to_host.pte")
total = module.forward([a, b])[0]
first = ", ".join(f"{value:.3f}" for value in total.flatten()[:3].tolist())
print(f"result: [{first}] …")
# ANCHOR_END: program
