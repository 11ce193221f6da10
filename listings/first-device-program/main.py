"""The tutorial's model, with its activations on the host and then on the device, from Python."""

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


x = (torch.arange(16) % 5 - 2).reshape(1, 16) / 8

# Step 3: host memory in and out.
on_host = _load_for_executorch("default.pte", "aoti_cuda_blob.ptd")
show("result on the host", on_host.forward([x])[0])

# Steps 5 and 6: the input is on the device, the result stays there.
on_device = _load_for_executorch("device.pte", "aoti_cuda_blob.ptd")
on_gpu = gpu.to_device(x)
first = on_device.forward([on_gpu], clone_outputs=False)[0]
gpu.synchronize()
show("result on the device", gpu.to_host(first))

# Step 7: once more.
second = on_device.forward([on_gpu], clone_outputs=False)[0]
gpu.synchronize()
print("same address:", first.data_ptr() == second.data_ptr())
# ANCHOR_END: program
