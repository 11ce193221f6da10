"""`alloc_graph_input=False` is ignored: every input is planned."""

from executorch.exir.passes.memory_planning_pass import MemoryPlanningPass

_init = MemoryPlanningPass.__init__


def init(self: MemoryPlanningPass, *args: object, **kwargs: object) -> None:
    _init(self, *args, **kwargs)
    self.alloc_graph_input = True


MemoryPlanningPass.__init__ = init
