"""What an analysis command asks for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from miai.errors import InvalidActionError
from miai_go.coordinates import parse_vertex
from miai_go.gtp.server.free_state import FreeState
from miai_go.gtp.server.wire import GtpError

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


class Ticker:
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
