"""Compiled kernels: numba functions on arrays, as plugins declare them. Needs numba.

A plugin has one family, its folder of kernels:

>>> from pathlib import Path
>>> from miai.kernels import KernelFamily
>>> kernel = KernelFamily("miai-nim", Path("miai_nim/kernels")).kernel

What a compilation costs is mostly the number of Python expressions in it, for each combination of
argument types anew, and little of it is LLVM.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numba.core.config

from miai.kernels.cache import compiling, find_cache

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_NUMBA_CONFIG: Any = numba.core.config  # its settings are made at run time

# Numba's name for making no arrays, so that nobody counts who holds them; `allocating` does.
_UNCOUNTED = {"_nrt": False}
# A part needs no entry from Python or C; leaving these out saves a quarter of the compilation.
_PART = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_UNCOUNTED}


class KernelFamily:
    """The kernels of one plugin, whose machine code is kept on disk between processes.

    Args:
      name: of the distribution, lower case: ``miai-go``.
      sources: the folder that holds all of its kernels: an edit of any file in it makes the
        machine code anew.

    Attributes:
      folder: where the machine code is kept; None where nothing can be written.
    """

    def __init__(self, name: str, sources: Path) -> None:
        self.folder = find_cache(name, sources, _NUMBA_CONFIG.CACHE_DIR)

    def kernel(self, function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        """Compile a function that Python calls, at its first call; keep the code on disk.

        The function releases the interpreter lock while it runs. Indices are not checked. It makes
        no array and returns none but one that it was given: then who holds the arrays need not be
        counted, at every row that is looked at, which can be most of its time. Numba refuses
        what breaks this, except for arrays within a tuple that is returned: those crash.
        """
        return self._kept(function, **_UNCOUNTED)

    def allocating(
        self, function: Callable[_Parameters, _Result]
    ) -> Callable[_Parameters, _Result]:
        """As `kernel`, of a function that makes arrays or returns some.

        What it calls need not count: a part reads and writes the arrays that it is given.
        """
        return self._kept(function)

    def _kept(
        self, function: Callable[_Parameters, _Result], **options: Any
    ) -> Callable[_Parameters, _Result]:
        """Compile a function that Python calls, and keep the code on disk where that can be."""
        if self.folder is None:
            compiled = _compiled(function, nogil=True, **options)
        else:
            with _numba_cache(self.folder):
                compiled = _compiled(function, nogil=True, cache=True, **options)
        return cast(Callable[_Parameters, _Result], compiled)

    def compiling(self, what: str) -> AbstractContextManager[None]:
        """Let one process at a time load and compile; see `cache.compiling`."""
        return compiling(self.folder, what)


def part(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Declare a function that only kernels call; it is compiled into each of them.

    As a `kernel` it makes no array and returns none.
    """
    return cast(Callable[_Parameters, _Result], _compiled(function, **_PART))


def spelt_out(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Declare a short part that stands for its lines wherever it is called; compiled with them."""
    return cast(Callable[_Parameters, _Result], _compiled(function, inline="always"))


def inlined(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Declare a `part` that the compiler must copy into every place that calls it."""
    return cast(Callable[_Parameters, _Result], _compiled(function, forceinline=True, **_PART))


def _compiled(function: Callable[_Parameters, _Result], **options: Any) -> Any:
    """Return numba's function; divisions follow numpy, so that loops can be vectorised."""
    return numba.njit(error_model="numpy", **options)(function)


@contextmanager
def _numba_cache(folder: Path) -> Iterator[None]:
    """Point numba's cache at `folder`; a function remembers the folder it was declared under."""
    before = _NUMBA_CONFIG.CACHE_DIR
    _NUMBA_CONFIG.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        _NUMBA_CONFIG.CACHE_DIR = before
