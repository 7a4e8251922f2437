"""Where compiled kernels are kept on disk, and that one process at a time fills that place.

Numba checks only the file of the function it loads, not the files of the functions that one calls,
so the folder's name holds a digest of every kernel source: any edit starts an empty folder, and
stale code cannot run. Folders of other digests are removed once nobody has used them for 30 days.
"""

import contextlib
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numba

if sys.platform != "win32":  # there, processes that start at once compile side by side
    import fcntl

_KEPT_SECONDS: Final = 30 * 24 * 3600.0
_PATIENCE_SECONDS: Final = 30.0
"""How long to wait for another process's compilation; one that hangs must not stop the others."""
_LOOK_SECONDS: Final = 0.05


def find_cache(name: str, sources: Path, configured: str) -> Path | None:
    """Return the cache folder of the sources in a folder, or None where nothing can be written.

    Its own name begins with `name`, the distribution's: ``miai-go``.

    The first usable one of: the folder `configured` for numba, where it is not empty;
    `__pycache__` beside the sources; the user's cache folder (for installations that only an
    administrator may write).
    """
    own = f"{name}-{_source_digest(sources)}"
    if configured:
        candidates = [Path(configured)]
    else:
        candidates = [sources / "__pycache__", _user_cache() / "miai"]
    return next((c / own for c in candidates if _usable(c / own, name)), None)


@contextmanager
def compiling(folder: Path | None, what: str) -> Iterator[None]:
    """Let one process at a time load and compile the kernels called `what`, a file's name.

    Of processes that start at once with an empty cache the first compiles, the others wait for it
    and load. A file `what`.ready in the folder says that it has been done, and nobody waits any
    more. A death releases the lock; where there can be no lock, or after 30 s, it goes on without.
    """
    if folder is None or (folder / f"{what}.ready").exists():
        yield
        return
    with _lock(folder / f"{what}.lock"):
        yield
    with contextlib.suppress(OSError):
        (folder / f"{what}.ready").touch()


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file, if that can be had."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            file = held.enter_context(path.open("a"))
            if sys.platform != "win32":
                _wait_for(file.fileno())
        yield


def _wait_for(descriptor: int) -> None:
    """Return when the lock is ours or has been waited for long enough.

    Raises:
      OSError: there is no lock to be had, as on some network file systems.
    """
    patient_until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < patient_until:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOOK_SECONDS)
        else:
            return


def _source_digest(sources: Path) -> str:
    """Return 16 hexadecimal digits that change with a kernel, this package or numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in (*sorted(Path(__file__).parent.glob("*.py")), *sorted(sources.glob("*.py"))):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def _user_cache() -> Path:
    """Return the folder where the platform wants a user's caches."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _usable(folder: Path, name: str) -> bool:
    """Create `folder` or note that it is in use, and say whether a file can be written there."""
    try:
        new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
    except OSError:
        return False
    if new:
        _prune(folder, name)
    return True


def _prune(folder: Path, name: str) -> None:
    """Remove the folders of the name's other digests that were not used for long."""
    long_ago = time.time() - _KEPT_SECONDS
    pattern = re.compile(re.escape(name) + "-[0-9a-f]{16}")
    with contextlib.suppress(OSError):
        for other in folder.parent.iterdir():
            ours = pattern.fullmatch(other.name) and not other.is_symlink()
            if ours and other.stat().st_mtime < long_ago:
                shutil.rmtree(other, ignore_errors=True)
