"""What an analysis command asks for.

Lines of ``info`` of an analysis, in Leela Zero's way and in KataGo's.

What a network makes of a position: ``kata-raw-nn``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miai.errors import InvalidActionError
from miai.search.protocol import SearchResult
from miai_go.gtp.table import FreeState
from miai_go.gtp.wire import GtpError
from miai_go.nets.encoder import positions_of
from miai_go.nets.oracle import Answers, Oracle
from miai_go.rules.board import BLACK
from miai_go.rules.coordinates import parse_vertex, vertex
from miai_go.rules.playouts import Playouts
from miai_go.rules.state import GoState
from miai_go.rules.symmetry import INVERSES, SYMMETRIES, turned_planes, turned_policy

COLORS: Final = {"b": 0, "black": 0, "w": 1, "white": 1}

_INTERVAL: Final = 0.5  # seconds, where nothing is said
_LEAST_INTERVAL: Final = 0.01
_MOST_MOVES: Final = 626
_NUMBERS: Final = ("interval", "minmoves", "maxmoves")
_FLAGS: Final = (
    "ownership",
    "rootinfo",
    "movesownership",
    "ownershipstdev",
    "pvvisits",
    "pvedgevisits",
    "noresultvalue",
)


@dataclass(slots=True)
class Request:
    """What an analysis is asked for.

    Attributes:
      player: whose moves; None for whose turn it is.
      interval: seconds from line to line.
      least, most: moves to tell of.
      ownership, root_info: whether these are told, in KataGo's way.
      allowed: the only moves to look at; None for all.
      avoided: moves not to look at.
    """

    player: int | None = None
    interval: float = _INTERVAL
    least: int = 0
    most: int = _MOST_MOVES
    ownership: bool = False
    root_info: bool = False
    allowed: set[int] | None = None
    avoided: set[int] = field(default_factory=set)

    def restricts(self) -> bool:
        """Return whether some moves are not to be looked at."""
        return self.allowed is not None or bool(self.avoided)

    def choices(self, state: FreeState) -> list[int]:
        """Return the legal moves to look at. Raises `GtpError` where none is left."""
        legal = [action for action in state.legal_actions() if action not in self.avoided]
        if self.allowed is not None:
            legal = [action for action in legal if action in self.allowed]
        if not legal:
            raise GtpError("no legal move is left to analyse")
        return legal


def parse_request(words: Sequence[str], size: int, *, to_move: int) -> Request:
    """Return what the words of an analysis command ask for.

    Args:
      to_move: whose restrictions count where no player is named.

    Raises:
      GtpError: they are no such words.
    """
    left = list(words)
    request = Request()
    if left and left[0].lower() in COLORS:
        request.player = COLORS[left.pop(0).lower()]
    if left and _is_number(left[0]):
        request.interval = _centiseconds(left.pop(0))
    while left:
        key = left.pop(0).lower()
        if key in ("avoid", "allow"):
            mover = to_move if request.player is None else request.player
            _restrict(request, key, [left.pop(0) for _ in range(min(3, len(left)))], size, mover)
            continue
        if key not in _NUMBERS and key not in _FLAGS:
            raise GtpError(f"no option '{key[:40]}'")
        if not left:
            raise GtpError(f"'{key}' needs a value")
        _take(request, key, left.pop(0))
    return request


def _take(request: Request, key: str, value: str) -> None:
    if key == "interval":
        request.interval = _centiseconds(value)
    elif key == "minmoves":
        request.least = _count(value)
    elif key == "maxmoves":
        request.most = max(1, _count(value))
    else:
        if value.lower() not in ("true", "false"):
            raise GtpError(f"{key} is true or false")
        request.ownership |= key == "ownership" and value.lower() == "true"
        request.root_info |= key == "rootinfo" and value.lower() == "true"


def _restrict(request: Request, key: str, words: list[str], size: int, mover: int) -> None:
    """Take in ``avoid PLAYER VERTICES DEPTH``; only the first move of `mover` is restricted."""
    if len(words) < 3 or words[0].lower() not in COLORS or _count(words[2]) < 1:
        raise GtpError(f"{key} takes a player, vertices with commas and a depth")
    try:
        points = {parse_vertex(name, size) for name in words[1].split(",")}
    except InvalidActionError as error:
        raise GtpError(str(error)) from error
    if COLORS[words[0].lower()] != mover:
        return
    if key == "avoid":
        request.avoided |= points
    else:
        request.allowed = points | (request.allowed or set())


def _is_number(word: str) -> bool:
    return word.replace(".", "", 1).isascii() and word.replace(".", "", 1).isdigit()


def _centiseconds(word: str) -> float:
    """Return an interval in seconds. Raises `GtpError`."""
    if not _is_number(word) or len(word) > 12:
        raise GtpError(f"'{word[:40]}' is no interval in centiseconds")
    return max(float(word) / 100, _LEAST_INTERVAL)


def _count(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) <= 6):
        raise GtpError(f"'{word[:40]}' is no number of moves")
    return int(word)


class AnalysisTicker:
    """Says when the next line is due."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._due = time.monotonic() + interval

    def left(self) -> float:
        """Return the seconds until the next line is due; 0 when it is."""
        return max(self._due - time.monotonic(), 0.0)

    def restart(self) -> None:
        """Count from now on again."""
        self._due = time.monotonic() + self._interval


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


def parse_symmetries(words: tuple[str, ...]) -> list[int]:
    """Return the symmetries that are asked for. Raises `GtpError`."""
    word = words[0].lower() if words else "0"
    if word == "all":
        return list(range(SYMMETRIES))
    if len(words) > 1 or word not in map(str, range(SYMMETRIES)):
        raise GtpError(f"kata-raw-nn takes a symmetry, 0 to {SYMMETRIES - 1}, or all")
    return [int(word)]


def raw_answers(oracle: Oracle, state: GoState, symmetry: int) -> str:
    """Return what a network answers of a state turned by a symmetry, turned back, as KataGo does.

    Raises:
      GtpError: the network is for boards of another size.
      InferenceError: it cannot answer.
    """
    size = state.game.size
    if oracle.encoder.size != size:
        raise GtpError(f"the network is for boards of size {oracle.encoder.size}")
    planes = oracle.encoder.encode(positions_of([state]))
    answers = oracle.infer(turned_planes(planes, np.array([symmetry], np.uint8)))
    return "\n".join([f"symmetry {symmetry}", *_lines(answers, state, INVERSES[symmetry])])


def _lines(answers: Answers, state: GoState, back: int) -> list[str]:
    """Return KataGo's keys with their values, White's point of view."""
    white = -1.0 if state.to_move == BLACK else 1.0
    lines = []
    if answers.value is not None:
        win = (1 + white * float(answers.value[0])) / 2
        lines += [f"whiteWin {win:.6f}", f"whiteLoss {1 - win:.6f}", "noResult 0.000000"]
    if answers.score is not None:
        lines.append(f"whiteLead {white * float(answers.score[0]):.3f}")
    turn = np.array([back], np.uint8)
    if answers.policy is not None:
        chances = _chances(turned_policy(answers.policy, turn)[0], state)
        lines += ["policy", *_grid(chances[:-1], state.game.size)]
        lines.append(f"policyPass {chances[-1]:.6f}")
    if answers.ownership is not None:
        owned = white * turned_planes(answers.ownership[:, None], turn)[0, 0]
        lines += ["whiteOwnership", *_grid(owned.reshape(-1), state.game.size)]
    return lines


_ILLEGAL: Final = np.float32(-np.inf)


def _chances(logits: NDArray[np.float32], state: GoState) -> NDArray[np.float64]:
    """Return probabilities of the legal moves, NaN for the others, of shape (actions,)."""
    legal = np.zeros(len(logits), np.bool_)
    legal[state.legal_actions()] = True
    weights = np.where(legal, logits, _ILLEGAL).astype(np.float64)
    weights = np.exp(weights - weights.max())
    return np.where(legal, weights / weights.sum(), np.nan)


def _grid(values: NDArray[np.floating], size: int) -> list[str]:
    """Return a number for each point, the highest row first."""
    rows = values.reshape(size, size)[::-1]
    return [" ".join("NAN" if np.isnan(v) else f"{v:.6f}" for v in row) for row in rows]
