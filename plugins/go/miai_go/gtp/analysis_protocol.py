"""Analysis: requests, ``info`` lines in the formats of Leela Zero and KataGo, raw networks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miai.search.protocol import SearchResult
from miai.values import Evaluation
from miai_go.gtp.session_table import FreeState
from miai_go.gtp.wire import COLORS, GtpError, number, point, whole
from miai_go.nets.encoder import positions_of
from miai_go.nets.inference import turned_answers
from miai_go.nets.oracle import Answers, Oracle, shown_positions
from miai_go.rules.board import BLACK
from miai_go.rules.coordinates import SYMMETRIES, vertex
from miai_go.rules.game import GoState
from miai_go.rules.playouts import Playouts

AnalysisDialect: TypeAlias = Literal["lz", "kata"]

_INTERVAL: Final = 0.5  # seconds, by default
_MIN_INTERVAL: Final = 0.01
_MAX_MOVES: Final = 626
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
class AnalysisRequest:
    """The arguments of an analysis command.

    Attributes:
      player: whose moves; None for the player to move.
      interval: seconds from line to line.
      allowed: the only moves to search; None for all.
      avoided: moves not to search.
    """

    player: int | None = None
    interval: float = _INTERVAL
    min_moves: int = 0
    max_moves: int = _MAX_MOVES
    ownership: bool = False
    root_info: bool = False
    allowed: set[int] | None = None
    avoided: set[int] = field(default_factory=set)

    def choices(self, state: FreeState) -> list[int]:
        """Return the legal moves to search. Raises `GtpError` if there are none."""
        legal = [action for action in state.legal_actions() if action not in self.avoided]
        if self.allowed is not None:
            legal = [action for action in legal if action in self.allowed]
        if not legal:
            raise GtpError("there is no legal move to analyse")
        return legal


def parse_request(words: Sequence[str], size: int, *, to_move: int) -> AnalysisRequest:
    """Return the request of an analysis command's arguments. Raises `GtpError`."""
    rest = list(words)
    request = AnalysisRequest()
    if rest and rest[0].lower() in COLORS:
        request.player = COLORS[rest.pop(0).lower()]
    if rest and rest[0].replace(".", "", 1).isdecimal():
        request.interval = _centiseconds(rest.pop(0))
    while rest:
        key = rest.pop(0).lower()
        if key in ("avoid", "allow"):
            mover = to_move if request.player is None else request.player
            _restrict(request, key, rest[:3], size, mover)
            del rest[:3]
            continue
        if key not in _NUMBERS and key not in _FLAGS:
            raise GtpError(f"unknown option '{key[:40]}'")
        if not rest:
            raise GtpError(f"'{key}' needs a value")
        _set_option(request, key, rest.pop(0))
    return request


def _set_option(request: AnalysisRequest, key: str, value: str) -> None:
    if key == "interval":
        request.interval = _centiseconds(value)
    elif key == "minmoves":
        request.min_moves = whole(value, key)
    elif key == "maxmoves":
        request.max_moves = max(1, whole(value, key))
    else:
        if value.lower() not in ("true", "false"):
            raise GtpError(f"{key} must be true or false")
        request.ownership |= key == "ownership" and value.lower() == "true"
        request.root_info |= key == "rootinfo" and value.lower() == "true"


def _restrict(request: AnalysisRequest, key: str, words: list[str], size: int, mover: int) -> None:
    """Apply ``avoid PLAYER VERTICES DEPTH``; only the first move of `mover` is restricted."""
    if len(words) < 3 or words[0].lower() not in COLORS or whole(words[2], "depth") < 1:
        raise GtpError(f"{key} takes a player, vertices with commas and a depth")
    points = {point(name, size) for name in words[1].split(",")}
    if COLORS[words[0].lower()] != mover:
        return
    if key == "avoid":
        request.avoided |= points
    else:
        request.allowed = points | (request.allowed or set())


def _centiseconds(word: str) -> float:
    """Return an interval in seconds. Raises `GtpError`."""
    return max(number(word, "interval", low=0) / 100, _MIN_INTERVAL)


_PV_LENGTH: Final = 20
_PLAYOUTS: Final = 400  # for ownership, if the search reports none
_SURE: Final = 1.96  # standard deviations of the lower confidence bound


def info_line(
    result: SearchResult, state: FreeState, request: AnalysisRequest, dialect: AnalysisDialect
) -> str:
    """Return a search result as one line, best move first; values are for the player to move."""
    extras = _Extras(result.statistics)
    moves = _ranked(result, request, request.choices(state), extras.priors)
    size = state.game.size
    other_prior = _prior_of_others(extras.priors, state)
    parts = []
    for order, action in enumerate(moves):
        visits = result.visits.get(action, 0)
        value = _utility(result.values.get(action, result.value), result, state)
        rate, prior = _winrate(value), extras.priors.get(action, other_prior)
        bound = _lower_bound(rate, visits)
        if dialect == "lz":
            rates = [round(10_000 * number) for number in (rate, prior, bound)]
            text = "winrate {} prior {} lcb {}".format(*rates)
        else:
            lead = extras.scores.get(action)
            text = f"utility {value:.6f} winrate {rate:.6f}"
            if lead is not None:
                text += f" scoreMean {lead:.4f} scoreLead {lead:.4f}"
            text += f" prior {prior:.6f} lcb {bound:.6f}"
        pv = result.pv[:_PV_LENGTH] if result.pv[:1] == (action,) else (action,)
        line = " ".join(vertex(a, size) for a in pv if a <= size * size)
        name = vertex(action, size)
        parts.append(f"info move {name} visits {visits} {text} order {order} pv {line}")
    if dialect == "kata" and request.root_info:
        visits, value = sum(result.visits.values()), _utility(result.value, result, state)
        score = "" if extras.score is None else f" scoreLead {extras.score:.4f}"
        values = f"utility {value:.6f} winrate {_winrate(value):.6f}{score}"
        parts.append(f"rootInfo visits {visits} {values}")
    if dialect == "kata" and request.ownership:
        parts.append(f"ownership {_ownership(extras, state)}")
    return " ".join(parts)


def _lower_bound(rate: float, visits: int) -> float:
    """Return the lower confidence bound of a winning rate, if games are won or lost."""
    if visits == 0:
        return 0.0
    return max(0.0, rate - _SURE * math.sqrt(rate * (1 - rate) / visits))


class _Extras:
    """The optional statistics of a search; see `Analyser.analyse`."""

    def __init__(self, statistics: Mapping[str, Any]) -> None:
        self.priors = _by_action(statistics.get("priors"))
        self.scores = _by_action(statistics.get("scores"))
        score, owners = statistics.get("score"), statistics.get("ownership")
        self.score = float(score) if isinstance(score, int | float) else None
        self.ownership = [float(x) for x in owners] if isinstance(owners, Sequence) else None


def _by_action(values: Any) -> dict[int, float]:
    """Return numbers by action from a mapping or from pairs."""
    if isinstance(values, Sequence) and not isinstance(values, str):
        values = dict(values)
    if not isinstance(values, Mapping):
        return {}
    return {int(action): float(value) for action, value in values.items()}


def _prior_of_others(priors: Mapping[int, float], state: FreeState) -> float:
    """Return the prior of a move without one: an equal share of the remaining probability."""
    others = [action for action in state.legal_actions() if action not in priors]
    return max(1 - sum(priors.values()), 0.0) / max(len(others), 1)


def _ranked(
    result: SearchResult, request: AnalysisRequest, choices: list[int], priors: Mapping[int, float]
) -> list[int]:
    """Return the moves to report: the best first, then by visits, then by priors.

    These are the visited moves or, if there are none, those with priors.
    """
    moves = [action for action in choices if result.visits.get(action, 0) > 0]
    if not moves:
        moves = [action for action in choices if action in priors or action == result.action]

    def rank(action: int) -> tuple[bool, int, float, float, int]:
        visits, value = result.visits.get(action, 0), result.values.get(action, -1.0)
        return action != result.action, -visits, -value, -priors.get(action, 0.0), action

    moves.sort(key=rank)
    others = [action for action in choices if action not in moves]
    moves += others[: max(request.min_moves - len(moves), 0)]
    return moves[: request.max_moves]


def _ownership(extras: _Extras, state: FreeState) -> str:
    """Return the owner of each point, the highest row first; 1 is the player to move."""
    size = state.game.size
    if extras.ownership is not None and len(extras.ownership) == size * size:
        owners = extras.ownership
    else:
        # Seeded by the position, so that the same analysis prints the same line.
        playouts = Playouts(size, state.board.hash)
        result = playouts.run(state.board, state.to_move, _PLAYOUTS, komi=state.game.white_bonus)
        black = result.ownership.ravel()
        owners = (black if state.to_move == BLACK else -black).tolist()
    rows = [owners[row * size : (row + 1) * size] for row in reversed(range(size))]
    return " ".join(f"{value:.3f}" for row in rows for value in row)


def _utility(value: float, result: SearchResult, state: FreeState) -> float:
    """Return a value as a utility, which the protocol demands; 0 if it is not one."""
    return Evaluation(value, result.unit).utility(state.game.info) or 0.0


def _winrate(value: float) -> float:
    """Return a utility as the winning rate that the protocol demands."""
    return min(max((value + 1) / 2, 0.0), 1.0)


def parse_symmetries(words: tuple[str, ...]) -> list[int]:
    """Return the symmetries that ``kata-raw-nn`` names. Raises `GtpError`."""
    word = words[0].lower() if words else "0"
    if word == "all":
        return list(range(SYMMETRIES))
    if len(words) > 1 or word not in map(str, range(SYMMETRIES)):
        raise GtpError(f"kata-raw-nn takes a symmetry, 0 to {SYMMETRIES - 1}, or all")
    return [int(word)]


def raw_answers(oracle: Oracle, state: GoState, symmetry: int) -> str:
    """Return a network's outputs for a state, evaluated under a symmetry, in KataGo's format.

    Raises `GtpError` if the network is for boards of another size.
    """
    size = state.game.size
    if oracle.encoder.size != size:
        raise GtpError(f"the network is for boards of size {oracle.encoder.size}")
    planes = oracle.encoder.encode(shown_positions(oracle, positions_of([state])))
    answers = turned_answers(oracle, planes, np.array([symmetry], np.uint8))
    return "\n".join([f"symmetry {symmetry}", *_lines(answers, state)])


def _lines(answers: Answers, state: GoState) -> list[str]:
    """Return KataGo's keys with their values, from White's point of view."""
    white = -1.0 if state.to_move == BLACK else 1.0
    lines = []
    if answers.value is not None:
        win = (1 + white * float(answers.value[0])) / 2
        lines += [f"whiteWin {win:.6f}", f"whiteLoss {1 - win:.6f}", "noResult 0.000000"]
    if answers.score is not None:
        lines.append(f"whiteLead {white * float(answers.score[0]):.3f}")
    if answers.policy is not None:
        chances = _chances(answers.policy[0], state)
        lines += ["policy", *_grid(chances[:-1], state.game.size)]
        lines.append(f"policyPass {chances[-1]:.6f}")
    if answers.ownership is not None:
        owners = white * answers.ownership[0].ravel()
        lines += ["whiteOwnership", *_grid(owners, state.game.size)]
    return lines


def _chances(logits: NDArray[np.float32], state: GoState) -> NDArray[np.float64]:
    """Return probabilities of the legal moves, NaN for the others, of shape (actions,)."""
    legal = np.zeros(len(logits), np.bool_)
    legal[state.legal_actions()] = True
    weights = np.where(legal, logits, np.float32(-np.inf)).astype(np.float64)
    weights = np.exp(weights - weights.max())
    return np.where(legal, weights / weights.sum(), np.nan)


def _grid(values: NDArray[np.floating], size: int) -> list[str]:
    """Return a number for each point, the highest row first."""
    rows = values.reshape(size, size)[::-1]
    return [" ".join("NAN" if np.isnan(v) else f"{v:.6f}" for v in row) for row in rows]
