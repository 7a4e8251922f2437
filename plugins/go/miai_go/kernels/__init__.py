"""Compiled kernels of Go: numba functions on fixed-dtype arrays, no Python objects.

`rules` holds the board's layout and moves, `playouts` the light playouts, `search` the Monte Carlo
tree search. The classes that own the arrays are in `miai_go.board`, `miai_go.playout` and
`miai_go.tree`.

Machine code is kept on disk between processes; see `cache`. What a compilation costs is mostly the
number of Python expressions in it, for each combination of argument types anew, little LLVM: so a
point is an `int64` wherever it is passed, and a part is called from many places rather than
written out.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numba.core.config

from miai_go.kernels.cache import find_cache

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_NUMBA_CONFIG: Any = numba.core.config  # its settings are made at run time

CACHE_FOLDER = find_cache(Path(__file__).parent, _NUMBA_CONFIG.CACHE_DIR)


@contextmanager
def _numba_cache(folder: Path) -> Iterator[None]:
    """Point numba's cache at `folder`; a function remembers the folder it was declared under."""
    before = _NUMBA_CONFIG.CACHE_DIR
    _NUMBA_CONFIG.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        _NUMBA_CONFIG.CACHE_DIR = before


def _compiled(function: Callable[_Parameters, _Result], **options: Any) -> Any:
    """Return numba's function; divisions follow numpy, so that loops can be vectorised."""
    return numba.njit(error_model="numpy", **options)(function)


def kernel(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Compile a function that Python calls, at its first call; keep the code on disk.

    The function releases the interpreter lock while it runs. Indices are not checked.
    """
    if CACHE_FOLDER is None:
        return cast(Callable[_Parameters, _Result], _compiled(function, nogil=True))
    with _numba_cache(CACHE_FOLDER):
        compiled = _compiled(function, nogil=True, cache=True)
    return cast(Callable[_Parameters, _Result], compiled)


# A part needs no entry from Python or C; leaving these out saves a quarter of the compilation.
_NO_ENTRY = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def part(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Declare a function that only kernels call; it is compiled into each of them."""
    return cast(Callable[_Parameters, _Result], _compiled(function, **_NO_ENTRY))


def spelt_out(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Declare a short part that stands for its lines wherever it is called; compiled with them."""
    return cast(Callable[_Parameters, _Result], _compiled(function, inline="always"))


def inlined(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Declare a part that the compiler must copy into every place that calls it."""
    return cast(Callable[_Parameters, _Result], _compiled(function, forceinline=True, **_NO_ENTRY))
