"""In place of a GPU, for the listings in Python: device memory, copies to and from it, and waiting.

PyTorch has none of these without a driver. Importing this gives ExecuTorch the device; import ExecuTorch before it, since
the two share one runtime.
"""

import ctypes
import os

import torch

_device = ctypes.CDLL(os.environ["GUIDE_DEVICE"])
_device.guide_device_install.restype = ctypes.c_char_p
_device.guide_device_allocate.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_device.guide_device_allocate.restype = ctypes.c_void_p
_device.guide_device_read.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
_device.guide_device_read.restype = ctypes.c_bool

if _why := _device.guide_device_install():
    raise RuntimeError(_why.decode())


def to_device(host: torch.Tensor) -> torch.Tensor:
    """A copy of a contiguous float32 tensor on the device: `host.cuda()`. Its memory lives as long as the process."""
    # `torch.from_blob` of C++: PyTorch wants a driver for every public way to say that memory is a GPU's.
    device = torch.device("cuda", 0)
    address = _device.guide_device_allocate(host.data_ptr(), host.numel())
    storage = torch._C._construct_storage_from_data_pointer(
        address, device, host.nbytes
    )
    metadata = {
        "size": host.shape,
        "stride": host.stride(),
        "dtype": host.dtype,
        "device": device,
        "storage_offset": 0,
    }
    made: torch.Tensor = torch._C._construct_CUDA_Tensor_From_Storage_And_Metadata(
        metadata, storage
    )
    return made


def synchronize() -> None:
    """Waits for all queued work: `torch.cuda.synchronize()`."""
    _device.guide_device_synchronize()


def to_host(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of a contiguous tensor on the host, of the memory as it is now: `tensor.cpu()`, which waits first."""
    host = torch.empty(tensor.shape)
    if not _device.guide_device_read(
        tensor.data_ptr(), tensor.numel(), host.data_ptr()
    ):
        raise RuntimeError("the tensor is not on the device")
    return host
