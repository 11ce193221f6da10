"""The exporter words its refusal of a skip without device planning otherwise."""

from executorch.exir.passes.propagate_device_pass import PropagateDevicePass

_init = PropagateDevicePass.__init__


def init(self: PropagateDevicePass, *args: object, **kwargs: object) -> None:
    try:
        _init(self, *args, **kwargs)
    except ValueError as error:
        raise ValueError(
            str(error).replace("only meaningful", "of use only")
        ) from error


PropagateDevicePass.__init__ = init
