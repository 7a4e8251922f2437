"""The kernel of the compiled search as plain Python, which spares 20 s of compilation.

Its searches here are so small that their proofs take longer. Slow tests run the machine code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Final

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from miai.beliefs import compiled_search
from miai.beliefs.kernels.window_search import search

BITS: Final[dict[str, Callable[[Any], np.int64]]] = {
    "lowest": lambda word: np.int64(int(word & (~word + np.uint64(1))).bit_length() - 1),
    "popcount": lambda word: np.int64(int(word).bit_count()),
}
"""What is one instruction of the processor."""


def interpreted(kernel: Any, modules: dict[str, dict[str, Any]]) -> Any:
    """Return a kernel that calls no compiled function; `modules` has the names that each sees."""
    function = kernel.py_func
    if function.__module__ not in modules:
        names = modules[function.__module__] = dict(vars(sys.modules[function.__module__]))
        parts = [name for name, part in names.items() if isinstance(part, Dispatcher)]
        names |= {name: interpreted(names[name], modules) for name in parts}
        names |= {name: BITS[name] for name in names.keys() & BITS.keys()}
    return FunctionType(function.__code__, modules[function.__module__])


@pytest.fixture(autouse=True)
def _interpreted_kernel(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    if not any(map(request.node.get_closest_marker, ("slow", "soak"))):
        monkeypatch.setattr(compiled_search, "run_kernel", interpreted(search, {}))
    with np.errstate(over="ignore"):  # hashes wrap around
        yield
