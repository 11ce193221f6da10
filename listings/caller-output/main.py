"""The output unplanned: what Python makes of it."""

# ANCHOR: program
import sys

import torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch

# Our stand-in for a GPU. Where there is one, leave this line out, and write `x.cuda()`, `torch.cuda.synchronize()` and
# `y.cpu()` for its `to_device(x)`, `synchronize()` and `to_host(y)`.
import stand_in as gpu

a = gpu.to_device(torch.arange(64.0).reshape(8, 8) / 8)
b = gpu.to_device(torch.arange(64.0).flip(0).reshape(8, 8) / 4)

# There is no `set_output` here: Python's own buffer for the output is host memory.
module = _load_for_executorch("caller_output.pte")
try:
    module.forward([a, b], clone_outputs=False)
except RuntimeError as error:
    print(error)
    sys.exit(1)
# ANCHOR_END: program
