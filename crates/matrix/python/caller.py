"""The callers in Python: `executorch.runtime.Runtime`, and `_load_for_executorch`.

Reads a case a line from standard input and forks for each, so that a case may end its process and PyTorch is imported
once; says what it saw as lines of JSON, after each call. See `../src/observe.rs`.

Argument: the path of libguide_device.so, the device that stands in for a GPU.
"""

import ctypes
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

# ExecuTorch imports it where it is installed, and it asks for a driver: a process forked after that cannot, and says so
# instead of what a caller's own process says.
sys.modules["torchao"] = None  # type: ignore[assignment]

import torch  # noqa: E402
from executorch.extension.pybindings.portable_lib import ExecuTorchMethod, ExecuTorchModule, _load_for_executorch  # noqa: E402
from executorch.runtime import Method, Runtime  # noqa: E402

COLUMNS = 8
SECONDS = 60
"""More than any case takes."""


def load_device(path: str) -> ctypes.CDLL:
    """Allocator and delegate. The bindings above have loaded `libexecutorch.so`, which both then share, and taken over
    its log, which this takes from them.
    """
    library = ctypes.CDLL(path)
    library.guide_device_install.restype = ctypes.c_char_p
    library.guide_device_accept.argtypes = [ctypes.c_bool]
    library.guide_device_accept.restype = None
    library.guide_device_allocate.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.guide_device_allocate.restype = ctypes.c_void_p
    library.guide_device_synchronize.restype = None
    library.guide_device_read.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    library.guide_device_read.restype = ctypes.c_bool
    library.guide_device_report.restype = ctypes.c_char_p
    return library


device = load_device(sys.argv[1])

answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
os.dup2(2, 1)  # whatever a library prints


@dataclass(frozen=True)
class Case:
    """A case, as the sweep asks for it."""

    pte: str
    method: str
    inputs: str
    output: str
    policy: str
    caller: str
    first_rows: str
    second_rows: str
    values: str
    maker: str


def say(
    call: str, failure: Exception | None, given: Sequence[torch.Tensor] = (), result: torch.Tensor | None = None
) -> None:
    """One observation."""
    exception = failure and f"{type(failure).__name__}: {failure}"
    observation = {
        "call": call,
        "failure": exception and {"exception": exception},
        "given": [tensor.data_ptr() for tensor in given],
        "report": json.loads(device.guide_device_report()),
        "result": None if result is None else describe(result),
    }
    answers.write(json.dumps(observation) + "\n")


def describe(tensor: torch.Tensor) -> dict[str, Any]:
    """A result, read where it is; no `bits` where the host cannot read it."""
    numel = tensor.numel()
    bits = (ctypes.c_uint32 * numel)()
    device.guide_device_synchronize()
    on_device = device.guide_device_read(tensor.data_ptr(), numel, bits)
    readable = on_device or tensor.device.type == "cpu"
    if readable and not on_device:
        ctypes.memmove(bits, tensor.contiguous().data_ptr(), 4 * numel)
    return {
        "data": tensor.data_ptr(),
        "sizes": list(tensor.shape),
        "on_device": on_device,
        "bits": list(bits) if readable else None,
    }


def tensors(case: Case, keep: list[object]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The inputs of both executions. `keep` holds what they point to."""
    floats = memoryview(Path(case.values).read_bytes()).cast("f")
    made = []
    for rows in (int(case.first_rows), int(case.second_rows)):
        size = rows * COLUMNS
        pair = []
        for _ in range(2):
            values, floats = floats[:size], floats[size:]
            pair.append(place(torch.tensor(values.tolist()).reshape(rows, COLUMNS), case, keep))
        made.append((pair[0], pair[1]))
    return made


def place(host: torch.Tensor, case: Case, keep: list[object]) -> torch.Tensor:
    """The values of `host`, where the case wants them."""
    match case.inputs:
        case "host-tensor":
            return host
        case "device-tensor":
            # Without a driver PyTorch makes no device tensor. ExecuTorch does: a result that stays on the device.
            maker = _load_for_executorch(case.maker)
            keep.append(maker)
            return maker.forward([host, torch.zeros_like(host)], clone_outputs=False)[0]
        case "device-as-cpu":
            address = device.guide_device_allocate(host.data_ptr(), host.numel())
            memory = (ctypes.c_float * host.numel()).from_address(address)
            return torch.frombuffer(memory, dtype=torch.float32).reshape(host.shape)
        case "host-as-cuda":
            return tagged_cuda(host, keep)
        case other:
            sys.exit(f"no such inputs: {other}")


class DLTensor(ctypes.Structure):
    """`DLManagedTensor` of DLPack: how PyTorch takes another's word for where memory is."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


def tagged_cuda(host: torch.Tensor, keep: list[object]) -> torch.Tensor:
    """The memory of `host`, said to be the GPU's."""
    cuda, floating = 2, 2
    shape = (ctypes.c_int64 * host.dim())(*host.shape)
    tensor = DLTensor(
        data=host.data_ptr(),
        device_type=cuda,
        ndim=host.dim(),
        code=floating,
        bits=32,
        lanes=1,
        shape=ctypes.addressof(shape),
    )
    keep += [host, shape, tensor]
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return torch.from_dlpack(capsule(ctypes.addressof(tensor), b"dltensor", None))


def load(case: Case) -> Callable[[Sequence[torch.Tensor]], Sequence[Any]]:
    """The method, as its caller calls it."""
    if case.caller == "python-runtime":
        method = Runtime.get().load_program(case.pte).load_method(case.method)
        assert method is not None
        return method.execute
    module = _load_for_executorch(case.pte)
    clone = case.output != "clone-outputs-false"
    return lambda inputs: module.run_method(case.method, inputs, clone_outputs=clone)


def run(case: Case) -> None:
    """Both executions."""
    if why := device.guide_device_install():
        raise RuntimeError(why.decode())
    keep: list[object] = []
    try:
        inputs = tensors(case, keep)
    except Exception as error:
        return say("inputs", error)
    # Nothing orders the work that made the inputs before the work that will read them.
    device.guide_device_synchronize()
    device.guide_device_accept(case.policy == "accept")
    device.guide_device_report()
    try:
        method = load(case)
    except Exception as error:
        return say("load", error)
    say("load", None)
    for given in inputs:
        try:
            outputs = method(given)
        except Exception as error:
            say("execute", error, given)
        else:
            keep.append(outputs)
            say("execute", None, given, outputs[0])
    return None


def check_what_there_is() -> None:
    """What the sweep takes for impossible in Python must be."""
    for owner, name, has in (
        ("ExecuTorchModule", "set_output", hasattr(ExecuTorchModule, "set_output")),
        ("ExecuTorchMethod", "set_output", hasattr(ExecuTorchMethod, "set_output")),
        ("Method", "set_output", hasattr(Method, "set_output")),
        ("Method.execute", "clone_outputs", "clone_outputs" in inspect.signature(Method.execute).parameters),
    ):
        if has:
            sys.exit(f"ExecuTorch's {owner} has `{name}` now: measure it (crates/matrix/src/axes.rs, `not_applicable`)")


def main() -> None:
    check_what_there_is()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS)
            try:
                run(Case(*line.rstrip("\n").split("\t")))
            except BaseException as error:
                print(f"caller in Python: {error!r}", file=sys.stderr, flush=True)
                os._exit(2)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        answers.write(json.dumps({"ended": os.waitstatus_to_exitcode(status)}) + "\n")


main()
