"""`alloc_graph_output=False` is ignored: every output is planned."""

from executorch.exir.passes.memory_planning_pass import MemoryPlanningPass

_init = MemoryPlanningPass.__init__


def init(self: MemoryPlanningPass, *args: object, **kwargs: object) -> None:
    _init(self, *args, **kwargs)
    self.alloc_graph_output = True


MemoryPlanningPass.__init__ = init
