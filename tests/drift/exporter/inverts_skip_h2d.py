"""`skip_h2d_for_method_inputs` means its opposite, wherever device memory is planned."""

from executorch.exir.passes.propagate_device_pass import PropagateDevicePass

_init = PropagateDevicePass.__init__


def init(self: PropagateDevicePass, *args: object, **kwargs: object) -> None:
    _init(self, *args, **kwargs)
    if self.enable_non_cpu_memory_planning:
        self.skip_h2d_for_method_inputs = not self.skip_h2d_for_method_inputs


PropagateDevicePass.__init__ = init
