"""``--set path=value``: changes to a config before it is checked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from miai.cli.values import parse_assignment
from miai.errors import ConfigError, near_matches
from miai_tournaments.config.schema import RunSection, TournamentConfig, TournamentSection

_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\[\]]+)\]")


def apply_overrides(raw: dict[str, Any], assignments: Iterable[str]) -> list[str]:
    """Set what ``path=value`` says in the parsed config; return the paths, spelt out.

    ``rounds=20`` means ``tournament.rounds``, and ``workers=1`` means ``run.workers``. Players
    are found by number or by name: ``players[0].simulations``, ``players[mcts-100].simulations``.

    Raises:
      ConfigError: no assignment, or a path that leads nowhere.
    """
    changed = []
    for assignment in assignments:
        path, value = parse_assignment(assignment)
        where = f"--set {path}"
        *steps, last = _steps(path, where)
        if steps and steps[0] not in TournamentConfig.model_fields:
            known = near_matches(steps[0], TournamentConfig.model_fields)
            raise ConfigError(f"{where}: there is no table '{steps[0]}'. {known}")
        target: Any = raw
        full = ""
        for step in steps:
            below = _descend(target, step, where)
            if isinstance(target, list):
                full += f"[{next(n for n, item in enumerate(target) if item is below)}]"
            else:
                full += f".{step}" if full else step
            target = below
        if isinstance(target, list):
            raise ConfigError(f"{where}: a list has no key '{last}'; write players[0].{last}")
        if not isinstance(target, dict):
            raise ConfigError(f"{where}: '{last}' is below a value, which has no keys")
        target[last] = value
        changed.append(f"{full}.{last}" if full else last)
    return changed


def _steps(path: str, where: str) -> list[str]:
    steps = [name or index for name, index in _STEP.findall(path)]
    if not steps or not _STEP.sub("", path) == "":
        raise ConfigError(f"{where}: no path; write table.key or players[0].key")
    if len(steps) > 1:
        return steps
    for section, model in (("tournament", TournamentSection), ("run", RunSection)):
        if path in model.model_fields:
            return [section, path]
    if path in TournamentConfig.model_fields:
        raise ConfigError(f"{where}: is a table; name one of its keys: {path}.key=value")
    known = (*TournamentSection.model_fields, *RunSection.model_fields)
    raise ConfigError(
        f"{where}: unknown key. {near_matches(path, known)} Keys of other tables are written "
        "table.key, those of players players[0].key."
    )


def _descend(target: Any, step: str, where: str) -> Any:
    if isinstance(target, dict):
        return target.setdefault(step, {})
    if isinstance(target, list):
        if step.isdecimal() and int(step) < len(target):
            return target[int(step)]
        for item in target:
            if isinstance(item, dict) and item.get("name") == step:
                return item
        names = [str(item.get("name")) for item in target if isinstance(item, dict)]
        raise ConfigError(
            f"{where}: no entry '{step}' among {len(target)}. {near_matches(step, names)}".rstrip()
        )
    raise ConfigError(f"{where}: '{step}' is below a value, which has no keys")
