"""A program for 2 to 8 rows, from Python."""

# ANCHOR: program
import torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch

# Our stand-in for a GPU. Where there is one, leave this line out, and write `x.cuda()`, `torch.cuda.synchronize()` and
# `y.cpu()` for its `to_device(x)`, `synchronize()` and `to_host(y)`.
import stand_in as gpu

module = _load_for_executorch("planned_output.pte")
for rows in (8, 2, 5, 9):
    values = torch.arange(rows * 8.0).reshape(rows, 8)
    a, b = gpu.to_device(values), gpu.to_device(values * 2)
    try:
        result = module.forward([a, b], clone_outputs=False)[0]
    except RuntimeError as error:
        print(f"more than the bound: {error}")
        continue
    gpu.synchronize()
    last = gpu.to_host(result)[-1, -1].item()
    print(f"{rows} rows: a result of {list(result.shape)}, its last value {last:.0f}")
# ANCHOR_END: program
