"""The Python side of the crate `export`: runs ExecuTorch's own exporter, once for any number of programs.

`worker` is the process and its protocol, `recipes` finds the programs that a listing's `export.py` defines, `models`
and `config` make the programs that are asked for by value, `operators` stands in for the one step that needs a GPU,
`eager` records what eager PyTorch computes; `installed` is for a reader's own pytest.
"""
