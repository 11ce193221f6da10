"""Two methods of one program, from Python."""

# ANCHOR: program
import torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch

# Our stand-in for a GPU. Where there is one, leave this line out, and write `torch.cuda.synchronize()` for its
# `synchronize()`.
import stand_in as gpu

a = torch.arange(64.0).reshape(8, 8) / 8
b = torch.arange(64.0).flip(0).reshape(8, 8) / 4

module = _load_for_executorch("per_method.pte")
state = module.run_method("encode", [a, b], clone_outputs=False)
gpu.synchronize()
result = module.run_method("decode", state)[0]
first = ", ".join(f"{value:.3f}" for value in result[0, :3].tolist())
print(f"result: [{first}] …")
# ANCHOR_END: program
