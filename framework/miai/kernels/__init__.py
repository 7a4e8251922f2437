"""Compiled kernels: numba functions on arrays. Needs numba.

A plugin declares the kernels of a folder as one family:

>>> from pathlib import Path
>>> from miai.kernels import KernelFamily
>>> kernel = KernelFamily("miai-nim", Path("miai_nim/kernels")).kernel

The cost of a compilation grows with the number of Python expressions, and is paid for each
combination of argument types.
"""

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numba.core.config

from miai.kernels.cache import compiling, digest_of, find_cache, folder_of
from miai.kernels.parts import PART
from miai.process.compilations import Announcement, KernelGroup

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Tuple = TypeVar("_Tuple", bound=tuple[Any, ...])

_NUMBA_CONFIG: Any = numba.core.config  # its attributes are created at run time

# Without numba's runtime a kernel cannot create arrays, and needs no reference counts.
_UNCOUNTED = {"_nrt": False}

_DECLARING = threading.RLock()


class KernelFamily:
    """The kernels of one plugin, with their machine code cached on disk.

    Args:
      name: name of the distribution in lower case: ``miai-go``.
      sources: the folder with all of its kernels; editing a file in it recompiles the kernels of
        that file and of those that import it.
      groups: the kernels that are compiled together, by name, for `compiling` and `miai warm`.

    Attributes:
      folder: the cache folder; None if no folder is writable.
      groups: as declared.
    """

    def __init__(
        self, name: str, sources: Path, groups: Mapping[str, KernelGroup] | None = None
    ) -> None:
        self._name, self.groups = name, dict(groups or {})
        self.folder = find_cache(name, sources, _NUMBA_CONFIG.CACHE_DIR)
        self._sources = sources

    def kernel(self, function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        """Compile a function for calls from Python, at its first call; cache the code on disk.

        The function releases the interpreter lock. Indices are not checked. It may not create
        arrays, and returns only arrays that it received. Then it needs no reference counts, which
        otherwise change at every row and can take most of the time. Numba refuses violations,
        except for arrays in a returned tuple, which crash.
        """
        return self._cached(function, **_UNCOUNTED)

    def allocating(
        self, function: Callable[_Parameters, _Result]
    ) -> Callable[_Parameters, _Result]:
        """Compile like `kernel` a function that creates or returns arrays.

        Its parts need no reference counts, as they only read and write the arrays they receive.
        """
        return self._cached(function)

    def _cached(
        self, function: Callable[_Parameters, _Result], **options: Any
    ) -> Callable[_Parameters, _Result]:
        if self.folder is None:
            compiled = _compiled(function, nogil=True, **options)
        else:
            with _numba_cache(folder_of(self.folder, Path(inspect.getfile(function)))):
                compiled = _compiled(function, nogil=True, cache=True, **options)
        return cast(Callable[_Parameters, _Result], compiled)

    def compiling(self, what: str) -> AbstractContextManager[None]:
        """Let one process at a time compile, and say so; see `cache.compiling`."""
        announce = partial(self.announcement, what) if what in self.groups else None
        return compiling(self.folder, self._marked(what), announce)

    def announcement(self, what: str, *, remain: bool = False) -> Announcement:
        """Say to all processes of the user that a group is about to be compiled."""
        return Announcement(f"{self._name} {what}", self.groups[what], remain=remain)

    def is_ready(self, what: str) -> bool:
        """Return whether a group is compiled, or no cache could keep it."""
        return self.folder is None or (self.folder / f"{self._marked(what)}.ready").exists()

    def _marked(self, what: str) -> str:
        """Return the name of a mark, which holds until a file of the family is edited."""
        return f"{what}-{digest_of(sorted(self._sources.glob('*.py')))}"


def part(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Declare a function that only kernels call, and that is compiled into each of them.

    Like a `kernel` it may not create arrays, and it returns none.
    """
    return cast(Callable[_Parameters, _Result], _compiled(function, **PART))


def spelt_out(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Declare a short part whose lines replace its calls before compilation."""
    return cast(Callable[_Parameters, _Result], _compiled(function, inline="always"))


def inlined(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Declare a `part` that the compiler must inline at every call."""
    return cast(Callable[_Parameters, _Result], _compiled(function, forceinline=True, **PART))


def packed(arrays: _Tuple) -> _Tuple:
    """Return a named tuple of arrays as a plain one, for kernels that are called often.

    The kernel gives the names back: ``tree = Tree(*tree)``. Numba knows the type of a plain tuple
    from a fingerprint of it; a named one costs it a quarter of a microsecond per array.
    """
    return cast(_Tuple, tuple(arrays))


def _compiled(function: Callable[_Parameters, _Result], **options: Any) -> Any:
    """Return numba's function. Divisions follow numpy, so that loops can be vectorised."""
    return numba.njit(error_model="numpy", **options)(function)


@contextmanager
def _numba_cache(folder: Path) -> Iterator[None]:
    """Point numba's cache at `folder` while functions are declared, which keep this folder.

    The setting is the process's, so one thread at a time changes it; two that import kernels at
    once would leave machine code in the working folder.
    """
    # numba reads the setting when a function is declared, and offers no argument for it.
    with _DECLARING:
        before = _NUMBA_CONFIG.CACHE_DIR
        _NUMBA_CONFIG.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            _NUMBA_CONFIG.CACHE_DIR = before
