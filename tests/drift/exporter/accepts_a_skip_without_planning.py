"""The exporter no longer refuses a skip without device planning."""

from executorch.exir.passes.propagate_device_pass import PropagateDevicePass

_init = PropagateDevicePass.__init__


def init(
    self: PropagateDevicePass,
    skip_h2d_for_method_inputs: bool = False,
    skip_d2h_for_method_outputs: bool = False,
    enable_non_cpu_memory_planning: bool = False,
) -> None:
    _init(self, skip_h2d_for_method_inputs, skip_d2h_for_method_outputs, True)
    self.enable_non_cpu_memory_planning = enable_non_cpu_memory_planning


PropagateDevicePass.__init__ = init
