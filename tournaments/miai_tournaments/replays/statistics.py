"""What agents said of their decisions, as far as a replay can show it.

Agents are free in what they say (`MoveRecord.statistics`); searches of the framework say ``value``,
``pv`` and ``top`` (see `miai.search.agent`). What is malformed is left out, and what is unknown is
shown as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from miai.errors import GameError
from miai.game import Json, State
from miai.record import MoveRecord
from miai.render import action_text

_KNOWN: Final = frozenset(("value", "pv", "top", "priors"))
_MOST_LISTED = 12
_MOST_PLIES = 20
_MOST_FIGURES = 24
_LONGEST = 200
_LARGEST = 1e100


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An action that was considered.

    Attributes:
      text: the action in the game's notation.
      visits: of it; None where only a prior was told.
      value: estimated utility for whoever decided; None where not told.
      prior: its probability before the search; None where not told.
    """

    text: str
    visits: float | None = None
    value: float | None = None
    prior: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What an agent said of one decision.

    Attributes:
      value: of the position, for whoever decided; None where not told.
      line: the principal variation in the game's notation; empty where not told.
      candidates: actions, the most considered first.
      figures: everything else, as name and text.
    """

    value: float | None
    line: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    figures: tuple[tuple[str, str], ...]


def said(move: MoveRecord, before: State) -> Said:
    """Return what the agent said of a move.

    Args:
      before: the state in which it was decided; not changed.
    """
    told = move.statistics
    return Said(
        value=_number(told.get("value")),
        line=_line(told.get("pv"), before),
        candidates=_candidates(told, before),
        figures=_figures(told),
    )


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # Nothing of a game is larger: an axis could not show it, and an integer may be no float at all.
    return float(value) if abs(value) <= _LARGEST else None


def _line(actions: Json, before: State) -> tuple[str, ...]:
    """Return a line in the game's notation; from where it cannot be followed, as numbers."""
    if not _is_list(actions):
        return ()
    state: State | None = before.clone()
    line = []
    for action in actions[:_MOST_PLIES]:
        if type(action) is not int:
            break
        line.append(str(action) if state is None else action_text(state, action))
        state = _after(state, action)
    return tuple(line)


def _after(state: State | None, action: int) -> State | None:
    """Return the state after an action of a line; None where it is not legal there."""
    try:
        if state is not None:
            state.apply_action(action)
    except GameError:
        return None
    return state


def _candidates(told: Mapping[str, Json], before: State) -> tuple[Candidate, ...]:
    priors = {row[0]: _number(row[1]) for row in _rows(told.get("priors"), 2)}
    rows = _rows(told.get("top"), 3)
    found = [
        Candidate(
            text=action_text(before, row[0]),
            visits=_number(row[1]),
            value=_number(row[2]),
            prior=priors.get(row[0]),
        )
        for row in rows
    ]
    if not rows:
        found = [Candidate(text=action_text(before, a), prior=p) for a, p in priors.items()]
    return tuple(found[:_MOST_LISTED])


def _rows(value: Json, width: int) -> list[list[Any]]:
    """Return lists of an action and numbers, as far as they are such."""
    if not _is_list(value):
        return []
    return [
        list(row)
        for row in value[:_MOST_LISTED]
        if _is_list(row) and len(row) >= width and type(row[0]) is int
    ]


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _figures(told: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    rest = [(key, value) for key, value in told.items() if key not in _KNOWN]
    return tuple((str(key), _shown(value)) for key, value in rest[:_MOST_FIGURES])


def _shown(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    told = value if isinstance(value, str) else json.dumps(value, default=str)
    return told if len(told) <= _LONGEST else told[: _LONGEST - 3] + "..."
