"""Reads programs with ExecuTorch's own reader and prints how long the last of PASSES over them took, in seconds.

python deserialize.py PASSES FILE...
"""

import sys
import time
from pathlib import Path

from executorch.exir._serialize._program import deserialize_pte_binary


def main(passes: int, files: list[str]) -> None:
    took = 0.0
    for _ in range(passes):
        start = time.perf_counter()
        for file in files:
            deserialize_pte_binary(Path(file).read_bytes())
        took = time.perf_counter() - start
    print(took)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
