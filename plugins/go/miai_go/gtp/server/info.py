"""Lines of ``info`` of an analysis, in Leela Zero's way and in KataGo's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from miai.search.protocol import SearchResult
from miai_go.coordinates import vertex
from miai_go.gtp.server.analysis import Request
from miai_go.gtp.server.free_state import FreeState
from miai_go.playout import Playouts

Dialect: TypeAlias = Literal["lz", "kata"]

_PV_LENGTH: Final = 20
_PLAYOUTS: Final = 400  # for who owns what, where the search does not say
_SURE: Final = 1.96  # standard deviations of the lower confidence bound


def info_line(result: SearchResult, state: FreeState, request: Request, dialect: Dialect) -> str:
    """Return what a search knows as one line, best move first; all for the player to move."""
    extras = _Extras(result.statistics)
    moves = _ranked(result, request, request.choices(state), extras.priors)
    size = state.game.size
    untold = _prior_of_others(extras.priors, state)
    parts = []
    for order, action in enumerate(moves):
        visits = result.visits.get(action, 0)
        value = result.values.get(action, result.value)  # untried, nothing else is known of it
        prior = extras.priors.get(action, untold)
        score = extras.scores.get(action)
        pv = result.pv[:_PV_LENGTH] if result.pv[:1] == (action,) else (action,)
        told = _Told(vertex(action, size), visits, value, prior, score, order)
        line = told.in_lz() if dialect == "lz" else told.in_kata()
        parts.append(f"{line} pv {' '.join(vertex(a, size) for a in pv if a <= size * size)}")
    if dialect == "kata" and request.root_info:
        parts.append(_root_info(result, extras))
    if dialect == "kata" and request.ownership:
        parts.append(f"ownership {_ownership(extras, state)}")
    return " ".join(parts)


@dataclass(frozen=True, slots=True)
class _Told:
    """What is told of a move; `value` from -1 to 1, `score` in points where known."""

    name: str
    visits: int
    value: float
    prior: float
    score: float | None
    order: int

    def in_lz(self) -> str:
        numbers = (_winrate(self.value), self.prior, self._bound())
        winrate, prior, bound = (round(10_000 * number) for number in numbers)
        return (
            f"info move {self.name} visits {self.visits} winrate {winrate} prior {prior} "
            f"lcb {bound} order {self.order}"
        )

    def in_kata(self) -> str:
        score = ""
        if self.score is not None:
            score = f" scoreMean {self.score:.4f} scoreLead {self.score:.4f}"
        return (
            f"info move {self.name} visits {self.visits} utility {self.value:.6f} "
            f"winrate {_winrate(self.value):.6f}{score} prior {self.prior:.6f} "
            f"lcb {self._bound():.6f} order {self.order}"
        )

    def _bound(self) -> float:
        """Return the lower confidence bound of the winning rate, results being won or lost."""
        if self.visits == 0:
            return 0.0
        rate = _winrate(self.value)
        return max(0.0, rate - _SURE * math.sqrt(rate * (1 - rate) / self.visits))


class _Extras:
    """What the statistics of a network's search hold beside; see `Analyser.analyse`."""

    def __init__(self, statistics: Mapping[str, Any]) -> None:
        self.priors = _by_action(statistics.get("priors"))
        self.scores = _by_action(statistics.get("scores"))
        score, owners = statistics.get("score"), statistics.get("ownership")
        self.score = float(score) if isinstance(score, int | float) else None
        self.ownership = [float(x) for x in owners] if isinstance(owners, Sequence) else None


def _by_action(values: Any) -> dict[int, float]:
    """Return numbers by action, given as a mapping or as pairs."""
    if isinstance(values, Sequence) and not isinstance(values, str):
        values = dict(values)
    if not isinstance(values, Mapping):
        return {}
    return {int(action): float(value) for action, value in values.items()}


def _prior_of_others(priors: Mapping[int, float], state: FreeState) -> float:
    """Return the prior of a move that the search tells none of: what is left, in equal shares.

    A search without priors has uniform ones.
    """
    others = [action for action in state.legal_actions() if action not in priors]
    return max(1 - sum(priors.values()), 0.0) / max(len(others), 1)


def _ranked(
    result: SearchResult, request: Request, choices: list[int], priors: Mapping[int, float]
) -> list[int]:
    """Return the moves to tell of: what would be played first, then by visits, then by priors.

    Those that were visited; without any, those whose priors are known.
    """
    tried = [action for action in choices if result.visits.get(action, 0) > 0]
    if not tried:
        tried = [action for action in choices if action in priors or action == result.action]

    def rank(action: int) -> tuple[bool, int, float, float, int]:
        visits, value = result.visits.get(action, 0), result.values.get(action, -1.0)
        return action != result.action, -visits, -value, -priors.get(action, 0.0), action

    tried.sort(key=rank)
    others = [action for action in choices if action not in tried]
    tried += others[: max(request.least - len(tried), 0)]
    return tried[: request.most]


def _root_info(result: SearchResult, extras: _Extras) -> str:
    visits = sum(result.visits.values())
    score = "" if extras.score is None else f" scoreLead {extras.score:.4f}"
    return (
        f"rootInfo visits {visits} utility {result.value:.6f} "
        f"winrate {_winrate(result.value):.6f}{score}"
    )


def _ownership(extras: _Extras, state: FreeState) -> str:
    """Return who owns each point, the highest row first, 1 for the player to move."""
    size = state.game.size
    if extras.ownership is not None and len(extras.ownership) == size * size:
        owned = extras.ownership
    else:
        owned = _by_playouts(state)
    rows = [owned[row * size : (row + 1) * size] for row in reversed(range(size))]
    return " ".join(f"{value:.3f}" for row in rows for value in row)


def _by_playouts(state: FreeState) -> list[float]:
    playouts = Playouts(state.game.size, state.board.hash)
    result = playouts.run(state.board, state.to_move, _PLAYOUTS, komi=state.game.white_bonus)
    black: list[float] = result.ownership.reshape(-1).tolist()
    return black if state.to_move == 0 else [-value for value in black]


def _winrate(value: float) -> float:
    return min(max((value + 1) / 2, 0.0), 1.0)
