"""Compilations of kernels: done beside each other, and announced to all processes of a user.

A process that compiles writes its progress to a file in the user's cache. Terminals and pages read
these files, since the process may be an agent's or another tournament's. Nothing depends on them.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from miai.files import user_cache, write_text

_SHARED: Final = "MIAI_COMPILING"
"""Variable of a process that compiles for another one, whose id it is."""
_ROUND: Final = 5  # seconds
_SAID_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.5
_PATIENCE: Final = 3.0
"""Seconds before anything is said: a command that is over by then waited for no compilation."""

LIVE_VIEWS: Final = set[int]()
"""The views of progress that are shown, by identity."""


@dataclass(frozen=True, slots=True)
class KernelGroup:
    """Kernels that are compiled together.

    Attributes:
      load: a function without arguments, ``module:name``, that loads or compiles them.
      kernels: how many there are.
      seconds: CPU seconds that they take on a core of 2024, about.
    """

    load: str
    kernels: int
    seconds: float


class Announcement:
    """What this process says about a group that it compiles, or will.

    Args:
      name: of the group, of the family and without slashes.
      remain: whether the end of the compilation leaves it for the process that waits for more.
    """

    def __init__(self, name: str, group: KernelGroup, *, remain: bool = False) -> None:
        self._path = _folder() / name
        self._group, self._done, self._began = group, 0, time.time()
        self._remain = remain or _SHARED in os.environ
        self._pid = os.environ.get(_SHARED) or os.getpid()
        self.say()

    def say(self) -> None:
        """Write how far it is."""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            group = self._group
            facts = (self._pid, self._done, group.kernels, group.seconds, self._began)
            write_text(self._path, " ".join(map(str, facts)), sync=False)

    def count(self) -> None:
        """Count one kernel as compiled."""
        self._done = min(self._done + 1, self._group.kernels)
        self.say()

    def end(self, *, remove: bool = False) -> None:
        """Say that all are compiled."""
        if self._remain and not remove:
            self._done = self._group.kernels
            self.say()
        else:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)


def compilation_text() -> str:
    """Return what is being compiled: ``compiling once, 4 of 11, about 20 s``; empty for nothing."""
    done = total = 0
    finished = expected = 0.0
    began = now = time.time()
    for line in _announcements():
        try:
            pid, count, kernels, seconds, since = map(float, line.split())
            os.kill(int(pid), 0)
        except (ValueError, OSError, OverflowError):
            continue  # half written, or of a process that died
        done, total = done + int(count), total + int(kernels)
        finished, expected = finished + seconds * count / max(1.0, kernels), expected + seconds
        began = min(began, since)
    if done >= total:
        return ""
    # The machine's own pace as soon as there is one: it may be slow, or busy.
    pace = finished / max(now - began, 0.1) if finished > 1 else float(min(2, os.cpu_count() or 1))
    left = max(_ROUND, _ROUND * round((expected - finished) / pace / _ROUND))
    return f"compiling once, {done} of {total}, about {left} s"


def _announcements() -> list[str]:
    try:
        return [path.read_text(errors="replace")[:200] for path in _folder().iterdir()]
    except OSError:
        return []


def _folder() -> Path:
    return user_cache() / "compiling"


@contextmanager
def say_compilations(say: Callable[[str], None], *, pause: float) -> Iterator[None]:
    """Call `say` with `compilation_text` while anything is compiled, once in `pause` s at most."""
    over = threading.Event()

    def watch() -> None:
        said = time.monotonic() - pause + _PATIENCE
        while not over.wait(_LOOK_SECONDS):
            if time.monotonic() - said >= pause and (text := compilation_text()):
                said = time.monotonic()
                say(text)

    thread = threading.Thread(target=watch, daemon=True, name="compilations")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=1)


def say_to(file: IO[str]) -> contextlib.AbstractContextManager[None]:
    """Print on a stream what is being compiled, a line every ten seconds."""

    def say(text: str) -> None:
        if not LIVE_VIEWS:  # which show it themselves
            with contextlib.suppress(OSError, ValueError):
                print(text, file=file, flush=True)

    return say_compilations(say, pause=_SAID_SECONDS)


def missing_of(groups: Iterable[str]) -> list[str]:
    """Return the groups, ``module of the family:group``, that nobody has compiled."""
    missing = []
    for name in dict.fromkeys(groups):
        family, group = _found(name)
        if not family.is_ready(group):
            missing.append(name)
    return missing


def _found(name: str) -> tuple[Any, str]:
    """Return the family of a group (`miai.kernels` imports this module), and its name."""
    module, _, group = name.partition(":")
    return importlib.import_module(module).FAMILY, group


def prepare(groups: Iterable[str], finished: Callable[[str, bool], None] | None = None) -> None:
    """Compile groups of kernels that nobody has compiled, beside each other on the processors.

    Each is compiled in a process of its own, so that this one stays free and small; the longest
    begin first. A group that fails is compiled again by the first call that needs it.

    Args:
      finished: called for each group that was missing, with whether it is compiled now.
    """
    from miai.process.processors import available_processors

    try:
        missing = missing_of(groups)
    except ImportError:  # no numba; the caller that needs kernels reports it
        return
    found = {name: _found(name) for name in missing}
    missing.sort(key=lambda name: -found[name][0].groups[found[name][1]].seconds)
    said = [family.announcement(group, remain=True) for family, group in found.values()]

    def compile_one(name: str) -> None:
        _compile_beside(name)
        if finished is not None:
            finished(name, not missing_of([name]))

    try:
        with ThreadPoolExecutor(max(1, available_processors())) as pool:
            list(pool.map(compile_one, missing))
    finally:
        for announcement in said:
            announcement.end(remove=True)


def load_group(name: str) -> None:
    """Load or compile a group of kernels in this process."""
    family, group = _found(name)
    module, _, function = family.groups[group].load.partition(":")
    getattr(importlib.import_module(module), function)()


def groups_of(module: str) -> list[str]:
    """Return the groups that the family of a module declares."""
    return [f"{module}:{name}" for name in importlib.import_module(module).FAMILY.groups]


def _compile_beside(name: str) -> None:
    """Let another process load a group, and wait for it."""
    from miai.process.child import Child

    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), _SHARED: str(os.getpid())}
    code = f"from miai.process.compilations import load_group; load_group({name!r})"
    try:
        child = Child([sys.executable, "-P", "-c", code], environment={**os.environ, **path})
    except OSError:
        return
    try:
        while not child.await_death(_SAID_SECONDS):
            pass
    finally:
        child.kill()


def families_of(package: str) -> Sequence[str]:
    """Return the modules of a package that declare kernels, such as ``miai_go.kernels``."""
    spec = importlib.util.find_spec(package)
    found = []
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for path in sorted(Path(folder).rglob("kernels/__init__.py")):
            parts = path.parent.relative_to(folder).parts
            module = ".".join((package, *parts))
            if hasattr(importlib.import_module(module), "FAMILY"):
                found.append(module)
    return found
