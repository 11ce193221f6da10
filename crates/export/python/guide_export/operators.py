"""The one thing replaced in ExecuTorch: what `CudaBackend` compiles a partition to.

On a machine with a GPU, `CudaBackend.preprocess_multimethod` compiles each partition with AOTInductor. Here it writes
the partition as a list of operators, in JSON, for the delegate in `crates/device`, which defines the format. Everything
before and after is ExecuTorch's own: the partitioner, the compile specs, the device tags, the copies, the memory plan.

    {"version": 1, "method": "forward",
     "inputs": [{"name": "x", "dtype": "float32"}],
     "ops": [{"op": "linear", "in": ["x", "p_weight", "p_bias"], "out": "aten_linear_default"}],
     "outputs": ["aten_linear_default"],
     "weights": [{"name": "p_weight", "key": "<named data key>", "dtype": "float32", "sizes": [16, 8]}]}

Weights leave as named data with the external tag that the CUDA backend itself uses, and so land in
`aoti_cuda_blob.ptd`.
"""

import hashlib
import json
from typing import Any

import torch
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

VERSION = 1

EXTERNAL_TAG = f"aoti_{CudaBackend.get_device_name()}_blob"
"""The file, without `.ptd`, that the CUDA backend puts its weights in (`AotiBackend.preprocess`)."""

OPERATORS = {
    "aten.add.Tensor": "add",
    "aten.addmm.default": "addmm",
    "aten.clone.default": "clone",
    "aten.linear.default": "linear",
    "aten.matmul.default": "mm",
    "aten.mm.default": "mm",
    "aten.mul.Tensor": "mul",
    "aten.permute_copy.default": "permute",
    "aten.relu.default": "relu",
    "aten.t_copy.default": "transpose",
    "dim_order_ops._clone_dim_order.default": "clone",
}
"""Edge operators that the delegate runs, by their names in the graph, and what the list of operators calls them."""

NEUTRAL = {"alpha": 1, "beta": 1, "memory_format": None, "non_blocking": False}
"""Keyword arguments that may be given, with the one value that changes nothing."""


class StandInError(Exception):
    """A partition that CUDA would compile and our delegate cannot run: no fault of the model's."""


def install() -> None:
    """Replaces the compile step for this process, for every export that follows."""
    CudaBackend.preprocess_multimethod = classmethod(_preprocess_multimethod)


def _preprocess_multimethod(
    cls: type,
    edge_programs: dict[str, list[ExportedProgram]],
    compile_specs: dict[str, list[list[CompileSpec]]],
) -> dict[str, list[PreprocessResult]]:
    """Signature and result of `CudaBackend.preprocess_multimethod`."""
    return {
        method: [
            _preprocess(program, CudaBackend.method_name_from_compile_specs(specs))
            for program, specs in zip(programs, compile_specs[method], strict=True)
        ]
        for method, programs in edge_programs.items()
    }


def _preprocess(program: ExportedProgram, method: str) -> PreprocessResult:
    store = NamedDataStore()
    inputs: list[dict[str, Any]] = []
    weights: list[dict[str, Any]] = []
    ops: list[dict[str, Any]] = []
    outputs: list[str] = []
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    for spec in program.graph_signature.output_specs:
        if spec.kind is not OutputKind.USER_OUTPUT:
            # A buffer that the method writes to, such as a KV cache: the delegate keeps no state between calls.
            raise StandInError(f"method `{method}`: the stand-in for CUDA has no {spec.kind.name} (`{spec.target}`)")

    for node in program.graph.nodes:
        if node.op == "placeholder":
            spec = specs[node.name]
            _check_layout(method, node.name, node.meta.get("val"))
            if spec.kind is InputKind.USER_INPUT:
                inputs.append({"name": node.name, "dtype": "float32"})
            else:
                weights.append(_weight(store, node.name, spec.target, _constant(program, spec)))
        elif node.op == "call_function":
            ops.append(_operator(method, node))
        elif node.op == "output":
            outputs = [value.name for value in node.args[0]]
        else:
            raise StandInError(f"method `{method}`: graph node `{node.name}` is a `{node.op}`")

    listing = {
        "version": VERSION,
        "method": method,
        "inputs": inputs,
        "ops": ops,
        "outputs": outputs,
        "weights": weights,
    }
    return PreprocessResult(
        processed_bytes=json.dumps(listing, separators=(",", ":")).encode(),
        debug_handle_map={},
        data_store_output=store.get_named_data_store_output(),
    )


def _operator(method: str, node: torch.fx.Node) -> dict[str, Any]:
    # An edge operator prints as "<EdgeOpOverload: aten.add.Tensor>: schema = …"; its `_name` is "aten::add.Tensor".
    name = str(getattr(node.target, "_name", node.target)).replace("::", ".")
    name = name if name.count(".") == 2 else f"{name}.default"
    where = f"method `{method}`, operator `{name}` (`{node.name}`)"
    if name not in OPERATORS:
        known = ", ".join(sorted(OPERATORS))
        raise StandInError(f"{where}: the stand-in for CUDA does not run it, only {known}")
    op: dict[str, Any] = {"op": OPERATORS[name]}
    operands = [argument for argument in node.args if argument is not None]
    if op["op"] == "permute":
        dims = operands.pop()
        op["dims"] = [dim % len(dims) for dim in dims]
    for operand in operands:
        if not isinstance(operand, torch.fx.Node):
            raise StandInError(f"{where}: argument {operand!r} is no tensor")
    if op["op"] == "mm" and any(operand.meta["val"].dim() != 2 for operand in operands):
        raise StandInError(f"{where}: the stand-in for CUDA multiplies matrices of two dimensions")
    for key, value in node.kwargs.items():
        contiguous = key == "dim_order" and list(value or []) == sorted(value or [])
        if not contiguous and (key not in NEUTRAL or value != NEUTRAL[key]):
            raise StandInError(f"{where}: {key}={value!r}")
    _check_layout(method, node.name, node.meta.get("val"))
    return op | {"in": [operand.name for operand in operands], "out": node.name}


def _check_layout(method: str, name: str, value: object) -> None:
    if not isinstance(value, torch.Tensor):
        raise StandInError(f"method `{method}`: value `{name}` is no tensor")
    if value.dtype is not torch.float32 or not value.is_contiguous():
        raise StandInError(
            f"method `{method}`: value `{name}` is {value.dtype} with strides {tuple(value.stride())}; "
            "the stand-in for CUDA runs contiguous torch.float32"
        )


def _constant(program: ExportedProgram, spec: Any) -> torch.Tensor:
    """The tensor behind a lifted parameter, buffer or constant of `program`."""
    tensor = program.state_dict.get(spec.target)
    return program.constants[spec.target] if tensor is None else tensor


def _weight(store: NamedDataStore, name: str, target: str, tensor: torch.Tensor) -> dict[str, Any]:
    data = tensor.detach().contiguous().numpy().tobytes()
    # The content is part of the key: a second method or partition with the same weight shares it, one with another
    # weight of that name does not collide.
    key = f"{target}_{hashlib.sha256(data).hexdigest()}"
    store.add_named_data(key, data, alignment=tensor.element_size(), external_tag=EXTERNAL_TAG)
    return {"name": name, "key": key, "dtype": "float32", "sizes": list(tensor.shape)}
