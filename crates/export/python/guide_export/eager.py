"""What eager PyTorch computes, in a safetensors file: exact, and readable without PyTorch.

`<method>.inputs.<n>` and `<method>.outputs.<n>`, tensors in the method's order.
"""

import copy
import json
import struct
from pathlib import Path

import torch

DTYPES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.int32: "I32",
    torch.int64: "I64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
}


def run(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> dict[str, torch.Tensor]:
    """Runs `model` on `inputs`, both copied: a model may write to its buffers and to its inputs."""
    with torch.no_grad():
        result = copy.deepcopy(model)(*copy.deepcopy(inputs))
    outputs = torch.utils._pytree.tree_leaves(result)
    tensors = {f"inputs.{n}": tensor for n, tensor in enumerate(inputs)}
    return tensors | {f"outputs.{n}": tensor for n, tensor in enumerate(outputs)}


def save(tensors: dict[str, torch.Tensor], path: Path) -> None:
    """Writes the safetensors format: header length (u64, little endian), header (JSON), the tensors' bytes."""
    header: dict[str, object] = {}
    blobs: list[bytes] = []
    offset = 0
    for name, tensor in tensors.items():
        flat = tensor.detach().contiguous().reshape(-1)
        blob = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        header[name] = {
            "dtype": DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(blob)],
        }
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
