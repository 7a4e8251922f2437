"""May a config continue a comparison begun with another? Only with more arms, cells and roots."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import miai
from miai.errors import ConfigError, StoreError
from miai.plugins.loader import registry
from miai_tournaments.comparing.load import Comparison
from miai_tournaments.store.comparisons import ComparisonStore

_ABSENT = "(absent)"
_LONGEST = 60


def resolve(comparison: Comparison) -> dict[str, Any]:
    """Return all of a config that its results depend on, as plain data; defaults filled in.

    What arms are compared with is no part of it: another baseline reads the same results.
    """
    section = comparison.config.comparison
    return {
        "comparison": {
            "name": section.name,
            "truth": section.judge,
            "repeats": section.repeats,
            "deepening": section.deepening,
        },
        "arms": {
            arm.name: {"search": arm.search, "parameters": dict(arm.parameters)}
            for arm in comparison.arms.values()
        },
        "cells": {
            block.title: {
                "problem": block.problem,
                "parameters": dict(block.parameters),
                "max_nodes": block.max_nodes,
                "roots": block.roots,
                "seeds": list(block.seeds),
                "arms": sorted(block.arms),
            }
            for block in comparison.blocks
        },
    }


def versions() -> dict[str, str]:
    """Return the versions of what measures: results of others do not belong in one table."""
    found = {"miai": miai.__version__, "python": platform.python_version()}
    for name in ("numpy", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # numba is an extra
    return found


def refuse_other(store: ComparisonStore, comparison: Comparison) -> None:
    """Check that the config continues the comparison in the store, by the same miai.

    Raises:
      ConfigError: it does more than add; the differences are told by path.
      StoreError: another miai measured what is there.
    """
    info = store.info()
    began, now = info.versions.get("miai"), versions()["miai"]
    if began != now:
        raise StoreError(
            f"{store.folder}: was measured by miai {began}, installed is {now}: their searches do "
            "not belong in one table; begin a new comparison with --out"
        )
    old, new = info.resolved, resolve(comparison)
    lines = [
        f"  {'.'.join(path)}: {_change(before, after)}"
        for path, before, after in _differences(old, new)
        if not _allowed(path, before, after) and not _is_new_default(path, before, after, new)
    ]
    if lines:
        raise ConfigError(
            f"{comparison.source}: differs from the config that {store.folder} was begun with; a "
            "comparison can gain arms, cells, roots and seeds, nothing else may change:\n"
            + "\n".join(lines)
            + "\nRestore the config, or begin a new comparison with --out."
        )


Path = tuple[str, ...]


def _differences(old: Any, new: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield (path, old value, new value) of everything that differs between two plain values."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differences(old.get(key, _ABSENT), new.get(key, _ABSENT), (*path, key))
    elif (list(old) if isinstance(old, tuple) else old) != new:
        yield path, old, new


def _allowed(path: Path, before: Any, after: Any) -> bool:
    if len(path) == 2 and path[0] in ("arms", "cells"):
        return bool(before == _ABSENT)
    if path[0] == "cells" and path[2] == "roots":
        return isinstance(before, int) and isinstance(after, int) and after > before
    if path[0] == "cells" and path[2] in ("seeds", "arms"):
        lists = isinstance(before, (list, tuple)) and isinstance(after, list)
        return lists and set(before) < set(after)
    return False


def _is_new_default(path: Path, before: Any, after: Any, new: Mapping[str, Any]) -> bool:
    """Return whether a parameter is one that a newer plugin has added, at its default."""
    if before != _ABSENT or len(path) != 4 or path[2] != "parameters":
        return False
    entry = new[path[0]][path[1]]
    kind, name = ("belief-search", "search") if path[0] == "arms" else ("belief-problem", "problem")
    fields = registry().get(kind, entry[name]).load_parameters().model_fields
    return path[3] in fields and bool(fields[path[3]].get_default() == after)


def _change(before: Any, after: Any) -> str:
    """Return what became of a value."""
    if after == _ABSENT:
        return "was removed"
    if before == _ABSENT:
        return f"was added: {_show(after)}"
    return f"{_show(before)} -> {_show(after)}"


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
