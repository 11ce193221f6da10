"""`ExecutorchBackendConfig` from JSON: the same names on both sides, so that there is nothing to translate."""

from collections.abc import Callable
from typing import Any

from executorch.exir import ExecutorchBackendConfig
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.propagate_device_config import PropagateDeviceConfig


def backend_config(given: dict[str, Any]) -> ExecutorchBackendConfig:
    """What `export::config::ExecutorchBackendConfig` serializes to. A field that is not given keeps its default."""
    fields = dict(given)
    for name, build in (
        ("memory_planning_pass", MemoryPlanningPass),
        ("propagate_device_config", PropagateDeviceConfig),
    ):
        if name in fields:
            fields[name] = _one_or_by_method(fields[name], build)
    return ExecutorchBackendConfig(**fields)


def _one_or_by_method(given: dict[str, Any], build: Callable[..., Any]) -> Any:
    """`{"all": {…}}` is one for all methods, `{"by_method": {"forward": {…}}}` a dict of them."""
    if "by_method" in given:
        return {method: build(**fields) for method, fields in given["by_method"].items()}
    return build(**given["all"])
