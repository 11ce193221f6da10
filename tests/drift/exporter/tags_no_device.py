"""The partitioner forgets to say which device its delegate runs on."""

from executorch.exir.passes import propagate_device_pass

propagate_device_pass._get_target_device_from_compile_specs = lambda *_: None
