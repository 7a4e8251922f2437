"""Versions of the software that played a game, for its record."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, requires, version

from miai.errors import PluginError
from miai.plugins.loader import PluginStatus, plugin_host


def component_version(kind: str, name: str, *, game: str | None) -> str:
    """Return the version of a component's distribution; empty if unknown."""
    status = _plugin_of(kind, name, game)
    if status is None:
        return ""
    return status.version or (version("miai") if status.name == "miai" else "")


def versions_of(game: str, agents: Iterable[str]) -> dict[str, str]:
    """Return the versions of python, miai, numpy and the distributions of game and agents.

    The requirements of these distributions are included: a compiled search depends on the version
    of numba as much as on its own. Unregistered agents are ignored.
    """
    versions = dict(_base_versions())
    components = [("game", game), *(("agent", agent) for agent in sorted(agents))]
    for kind, name in components:
        status = _plugin_of(kind, name, game)
        if status is not None and status.distribution:
            versions |= {status.distribution: status.version, **_required(status.distribution)}
    return versions


@lru_cache(maxsize=1)
def _base_versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "miai": version("miai")}
    try:
        versions["numpy"] = version("numpy")
    except PackageNotFoundError:  # some embedders ship numpy without metadata
        versions["numpy"] = ""
    return versions


@lru_cache(maxsize=1024)
def _required(distribution: str) -> Mapping[str, str]:
    """Return the versions of a distribution's requirements, without extras and missing ones."""
    versions = {}
    for requirement in requires(distribution) or ():
        name = re.match(r"[\w.-]+", requirement)
        # Extras are not needed to play; what a game needs decides what it plays.
        if name is not None and "extra ==" not in requirement:
            with suppress(PackageNotFoundError):  # required on other systems only
                versions[name[0]] = version(name[0])
    return versions


@lru_cache(maxsize=1024)
def _plugin_of(kind: str, name: str, game: str | None) -> PluginStatus | None:
    host = plugin_host()
    try:
        component = host.registry.get(kind, name, game=game if kind == "agent" else None)
    except PluginError:  # a game or agent that is not registered
        return None
    return next((p for p in host.plugins if p.name == component.plugin), None)
