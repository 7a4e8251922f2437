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
      ConfigError: some are no assignments, or their paths lead nowhere; all of those are told.
    """
    changed, problems = [], []
    for assignment in assignments:
        try:
            changed.append(_apply(raw, assignment))
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return changed


def _apply(raw: dict[str, Any], assignment: str) -> str:
    """Set what one assignment says; return its path, spelt out."""
    try:
        path, value = parse_assignment(assignment)
    except ConfigError as error:
        raise ConfigError(f"--set {assignment}: {error}") from None
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
    return full + _assign(target, last, value, full, where)


def _assign(target: Any, last: str, value: Any, full: str, where: str) -> str:
    """Set an entry of a table or list; return the end of its path."""
    if isinstance(target, list):
        if not last.isdecimal() or int(last) >= len(target):
            raise ConfigError(
                f"{where}: a list of {len(target)} has no key '{last}'; write {full}[0].{last}"
            )
        target[int(last)] = value
        return f"[{int(last)}]"
    if not isinstance(target, dict):
        raise ConfigError(f"{where}: '{last}' is below a value, which has no keys")
    _refuse_number(target, last, where)
    target[last] = value
    return f".{last}" if full else last


def _refuse_number(table: dict[str, Any], step: str, where: str) -> None:
    """Refuse the number of an entry where the config has no list."""
    if step.isdecimal() and step not in table:
        raise ConfigError(
            f"{where}: the config has no list here to take [{step}] of; write the list into the "
            "file, or set the whole of it"
        )


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
        _refuse_number(target, step, where)
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
