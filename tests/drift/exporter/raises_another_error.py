"""The exporter refuses a skip without device planning with another type of error."""

from executorch.exir.passes.propagate_device_pass import PropagateDevicePass

_init = PropagateDevicePass.__init__


def init(self: PropagateDevicePass, *args: object, **kwargs: object) -> None:
    try:
        _init(self, *args, **kwargs)
    except ValueError as error:
        raise RuntimeError(str(error)) from error


PropagateDevicePass.__init__ = init
