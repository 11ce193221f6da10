"""Memory planning aligns every tensor to 1024 bytes."""

from executorch.exir.passes.memory_planning_pass import MemoryPlanningPass

_init = MemoryPlanningPass.__init__


def init(self: MemoryPlanningPass, *args: object, **kwargs: object) -> None:
    _init(self, *args, **kwargs)
    self.alignment = 1024


MemoryPlanningPass.__init__ = init
