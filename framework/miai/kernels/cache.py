"""The cache of compiled kernels on disk, which one process at a time fills.

Numba checks only the file of the function that it loads, not the files of the functions called by
it. So each file of kernels has a folder whose name contains a digest of that file and of all kernel
files that it imports: an edit starts empty folders for what depends on it, and stale code cannot
run. Folders of other digests are removed after 30 days without use.
"""

import atexit
import contextlib
import fcntl
import gc
import hashlib
import importlib.util
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import numba
from numba.core.caching import FunctionCache
from numba.core.event import Event, Listener, install_listener

from miai.files import user_cache
from miai.process.compilations import Announcement

_RETENTION_SECONDS: Final = 30 * 24 * 3600.0
_PATIENCE_SECONDS: Final = 120.0
"""Maximum time to wait for another process's compilation, which may hang."""
_POLL_SECONDS: Final = 0.05


def find_cache(name: str, sources: Path, configured: str) -> Path | None:
    """Return the cache folder of the kernels in `sources`; None if no folder is writable.

    It is called `name`, as the distribution, such as ``miai-go``, and lies in `configured`, numba's
    own setting, if that is not empty; else in `__pycache__` beside the sources or, where only an
    administrator may write there, in the user's cache folder. Where it exists but cannot be written
    to, as by an agent, a temporary folder takes what is added to its contents.
    """
    candidates = [Path(configured)] if configured else [sources / "__pycache__", user_cache()]
    folders = [candidate / name for candidate in candidates]
    writable = next((folder for folder in folders if _usable(folder)), None)
    readable = next((folder for folder in folders if folder.is_dir()), None)
    if writable is not None or readable is None:
        return writable
    try:
        return _extension(readable)
    except OSError:
        return None


def folder_of(cache: Path, source: Path) -> Path:
    """Return the folder in a cache for the kernels of one file; it is made or marked as used."""
    folder = cache / f"{source.stem}-{digest_of([source])}"
    new = not folder.exists()
    if _usable(folder) and new:  # once for each edit is often enough
        _prune(folder)
    return folder


def digest_of(sources: Iterable[Path]) -> str:
    """Return 16 hexadecimal digits that depend on files, the kernels they import and numba."""
    digest = hashlib.sha256(numba.__version__.encode())
    # In the order of their contents: where the files lie does not matter.
    for content in sorted(_read(path, _changed(path))[0] for path in needed_by(sources)):
        digest.update(content)
    return digest.hexdigest()[:16]


def needed_by(sources: Iterable[Path]) -> set[Path]:
    """Return files and the files of kernels that they import, directly or not."""
    found: set[Path] = set()
    waiting = list(sources)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting.extend(_read(path, _changed(path))[1])
    return found


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns


# An import of kernels, with what follows: names in a line or in parentheses.
_IMPORT: Final = re.compile(
    r"^\s*(?:from|import) +([\w.]*\bkernels\b[\w.]*)(.*?(?:$|\([^)]*\)))", re.MULTILINE
)


@cache
def _read(path: Path, changed: int) -> tuple[bytes, tuple[Path, ...]]:
    """Return the digest of a file last changed then, and the files of kernels that it imports."""
    content = path.read_bytes()
    imported = []
    for module, names in _IMPORT.findall(content.decode("utf-8", "replace")):
        file = _file_of(module)
        if file is None:
            continue
        imported.append(file)
        if file.name == "__init__.py":  # the names may be modules of the package
            inner = (file.parent / f"{name}.py" for name in re.findall(r"\w+", names))
            imported += [each for each in inner if each.is_file()]
    return hashlib.sha256(path.name.encode() + b"\0" + content).digest(), tuple(imported)


def _file_of(module: str) -> Path | None:
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin and Path(spec.origin).is_file():
            return Path(spec.origin)
    return None


@contextmanager
def compiling(
    folder: Path | None, what: str, announce: Callable[[], Announcement] | None = None
) -> Iterator[None]:
    """Let one process at a time compile the kernels called `what`, which names files.

    If several processes start with an empty cache, the first compiles, and the others wait and load
    the result. The file `what`.ready marks that it is complete, and says how many kernels were
    compiled in how many CPU seconds. The end of a process releases its lock; without a lock, or
    after two minutes, the block runs anyway.

    Args:
      announce: called before the compilation, to tell other processes.
    """
    if folder is None or (folder / f"{what}.ready").exists():
        yield
        return
    began = time.process_time()
    with _lock(folder / f"{what}.lock"), _uncollected(), _counting(announce) as counter:
        yield
    facts = f"{counter.kernels} {time.process_time() - began:.2f}\n"
    with contextlib.suppress(OSError):
        (folder / f"{what}.ready").write_text(facts)


class _Counter(Listener):
    """Counts the kernels that are compiled; parts are compiled into them."""

    def __init__(self, announcement: Announcement | None) -> None:
        self.kernels, self._announcement = 0, announcement

    def on_start(self, event: Event) -> None:
        """Do nothing."""

    def on_end(self, event: Event) -> None:
        """Count a kernel."""
        if isinstance(event.data["dispatcher"]._cache, FunctionCache):
            self.kernels += 1
            if self._announcement is not None:
                self._announcement.count()


@contextmanager
def _counting(announce: Callable[[], Announcement] | None) -> Iterator[_Counter]:
    announcement = None if announce is None else announce()
    counter = _Counter(announcement)
    try:
        with install_listener("numba:compile", counter):
            yield counter
    finally:
        if announcement is not None:
            announcement.end()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage: the compiler makes so many objects that the search takes a tenth."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file, if it is available."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            file = stack.enter_context(path.open("a"))
            _wait_for(file.fileno())
        yield


def _wait_for(descriptor: int) -> None:
    """Wait for a lock, but not longer than `_PATIENCE_SECONDS`.

    Raises:
      OSError: the file system has no locks, as some network file systems.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_POLL_SECONDS)
        else:
            return


def _usable(folder: Path) -> bool:
    """Create `folder` or mark it as used; return whether a file can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
    except OSError:
        return False
    return True


def _extension(folder: Path) -> Path:
    """Return a temporary folder with links to the files of a folder. Raises `OSError`."""
    # Locks are left out: a link to one would need the right to write there.
    own = Path(tempfile.mkdtemp(prefix="miai-kernels-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    for file in folder.rglob("*"):
        link = own / file.relative_to(folder)
        if file.is_dir():
            link.mkdir(exist_ok=True)
        elif file.suffix != ".lock":
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)
    return own


def _prune(used: Path) -> None:
    """Remove what lies unused beside a folder: folders and marks of other digests."""
    oldest = time.time() - _RETENTION_SECONDS
    pattern = re.compile(r".+-[0-9a-f]{16}(\.ready|\.lock)?")
    with contextlib.suppress(OSError):
        for other in used.parent.iterdir():
            ours = pattern.fullmatch(other.name) and not other.is_symlink()
            if not ours or other.stat().st_mtime >= oldest:
                continue
            if other.is_dir():
                shutil.rmtree(other, ignore_errors=True)
            else:
                other.unlink()
