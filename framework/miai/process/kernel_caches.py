"""Filling the caches of compiled kernels before an agent is confined.

A confined agent reads the caches that all processes of the user share, but cannot write to them:
what it wrote, others would run. An agent that runs the same distribution's code as the referee, or
the framework's, therefore has its kernels compiled first, once after each change of one: those that
its component declares, or else those that it calls in a few moves that it plays unconfined. It can
run no other program then.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from miai.errors import PluginError
from miai.files import user_cache
from miai.plugins.loader import plugin_host
from miai.process.compilations import prepare

BUILT_IN = "miai"
"""Name of the framework's own plugin."""


@contextmanager
def unfilled(game: str, agent: str, parameters: Mapping[str, Any]) -> Iterator[bool]:
    """Give whether an agent should fill the caches of its kernels; it counts as done afterwards.

    False for code that the referee does not run anyway. Of several processes one is given True, and
    the others wait until it is done.

    Args:
      parameters: of the agent; those that are numbers are taken not to choose a kernel.
    """
    mark = _mark(game, agent, parameters)
    if mark is None or mark.exists():
        yield False
        return
    with contextlib.ExitStack() as stack:
        try:
            mark.parent.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(mark.with_suffix(".lock").open("a"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:  # no cache can be written, or not be locked
            yield False
            return
        # Looked at again: another process may have filled them while this one waited for the lock.
        due = not mark.exists()
        yield due
        if due:
            with contextlib.suppress(OSError):
                mark.touch()


def prepare_kernels(game: str, agent: str, parameters: Mapping[str, Any]) -> bool:
    """Compile the kernels that an agent's component declares, if it runs trusted code.

    Returns whether it declares any, so that nothing else has to fill the caches.
    """
    if trusted_code(game, agent) is None:
        return False
    groups = plugin_host().registry.get("agent", agent, game=game).kernels
    if groups and is_unfilled(game, agent, parameters):
        with unfilled(game, agent, parameters) as due:
            if due:
                prepare(groups)
    return bool(groups)


def is_unfilled(game: str, agent: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether `unfilled` would give True, if no other process fills the caches."""
    mark = _mark(game, agent, parameters)
    return mark is not None and not mark.exists()


def choices(value: Any) -> Any:
    """Return plain data without its numbers."""
    if isinstance(value, Mapping):
        return {str(key): choices(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [choices(item) for item in value]
    return value if isinstance(value, (str, bool)) else None


def _mark(game: str, agent: str, parameters: Mapping[str, Any]) -> Path | None:
    """Return the file that says that the caches are filled; None for untrusted code."""
    targets = trusted_code(game, agent)
    if targets is None:
        return None
    chosen = json.dumps(choices(parameters), sort_keys=True)
    digest = hashlib.sha256(f"{sys.implementation.cache_tag} {game} {agent} {chosen}".encode())
    for target in sorted(targets):
        digest.update(_digest(target.partition(".")[0]))
    own = Path(__file__).parents[1]  # beside the framework's caches, so that both are removed
    beside = own / "__pycache__" if os.access(own, os.W_OK) else user_cache()
    return Path(os.environ.get("NUMBA_CACHE_DIR") or beside) / "miai-filled" / digest.hexdigest()


def trusted_code(game: str, agent: str) -> set[str] | None:
    """Return the modules of an agent that is the framework's or of the game's distribution.

    None for all others, and for agents that run a file or a program that their parameters name:
    code that the referee does not run anyway.
    """
    registry = plugin_host().registry
    try:
        component = registry.get("agent", agent, game=game)
        names = (registry.get("game", game).plugin, component.plugin)
    except PluginError:
        return None
    if component.foreign:
        return None
    statuses = {status.name: status for status in plugin_host().plugins}
    of_game, of_agent = map(statuses.get, names)
    if of_agent is None or (of_agent.name != BUILT_IN and of_agent != of_game):
        return None
    return {"miai.plugin", of_agent.target, *([of_game.target] if of_game else ())}


@cache
def _digest(package: str) -> bytes:
    """Return a digest of a package's kernels, of where they are, and of numba's version."""
    releases = [each.version for each in importlib.metadata.distributions(name="numba")]
    digest = hashlib.sha256(f"{package} {releases}".encode())
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for path in sorted(Path(folder).rglob("kernels/*.py")):
            digest.update(os.fsencode(path) + path.read_bytes())
    return digest.digest()
