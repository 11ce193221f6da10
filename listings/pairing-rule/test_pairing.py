"""The pairing rule, pinned for a reader's own suite: it looks at the exported program and needs no runtime."""

# ANCHOR: test
from executorch.exir import ExecutorchProgramManager
from executorch.exir.schema import Tensor
from export import paired, unpaired


def inputs_planned(program: ExecutorchProgramManager) -> list[bool]:
    plan = program.executorch_program.execution_plan[0]
    inputs = [plan.values[index].val for index in plan.inputs]
    return [i.allocation_info is not None for i in inputs if isinstance(i, Tensor)]


def test_the_pair_leaves_inputs_to_the_caller() -> None:
    assert inputs_planned(paired()) == [False, False]


def test_default_planning_makes_a_second_home_for_them() -> None:
    assert inputs_planned(unpaired()) == [True, True]
    # ANCHOR_END: test
