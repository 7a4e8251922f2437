"""Compiled kernels of Go: numba functions on fixed-dtype arrays, no Python objects.

`rules` holds the board's layout and moves, `playouts` the light playouts, `search` the Monte Carlo
tree search. The classes that own the arrays are in `miai_go.board`, `miai_go.playout` and
`miai_go.tree`.

Machine code is kept on disk between processes. Numba checks only the file of the function it
loads, not the files of the functions that one calls, so the cache folder's name holds a digest of
every kernel source: any edit starts an empty folder, and stale code cannot run.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numba.core.config

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_FOLDER = Path(__file__).parent
_NUMBA_CONFIG: Any = numba.core.config  # its settings are made at run time


def _source_digest() -> str:
    """Return 16 hexadecimal digits that change with any kernel source or numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(_FOLDER.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def _user_cache() -> Path:
    """Return the folder where the platform wants a user's caches."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _usable(folder: Path) -> bool:
    """Create `folder` and say whether a file can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _find_cache() -> Path | None:
    """Return the cache folder of these sources, or None where nothing can be written.

    The first usable one of: `NUMBA_CACHE_DIR` where it is set, `__pycache__` beside the sources,
    the user's cache folder (for installations that only an administrator may write).
    """
    name = f"miai-go-{_source_digest()}"
    if _NUMBA_CONFIG.CACHE_DIR:
        candidates = [Path(_NUMBA_CONFIG.CACHE_DIR)]
    else:
        candidates = [_FOLDER / "__pycache__", _user_cache() / "miai"]
    return next((c / name for c in candidates if _usable(c / name)), None)


CACHE_FOLDER = _find_cache()


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


def inlined(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Declare a part that the compiler must copy into every place that calls it."""
    return cast(Callable[_Parameters, _Result], _compiled(function, forceinline=True, **_NO_ENTRY))
