"""What eager PyTorch computed is recorded with its first element one too large."""

import torch
from guide_export import eager

_run = eager.run


def run(
    model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]
) -> dict[str, torch.Tensor]:
    tensors = _run(model, inputs)
    output = tensors["outputs.0"].clone()
    output.view(-1)[0] += 1
    return tensors | {"outputs.0": output}


eager.run = run
