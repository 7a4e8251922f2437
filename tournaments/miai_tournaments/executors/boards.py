"""The boards of running games, for whoever watches: one small file for each referee.

A referee writes the position of the game that it plays to the run's log folder, twice a second at
most, and not before a game has lasted half a second: short games cost a look at the clock a move.
Watching changes nothing: what goes wrong while a board is written is noted in the file or ends the
writing for that game, never the game.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from miai.game import State
from miai.information import PlayerView
from miai.match import MoveHook
from miai.record import MoveRecord
from miai.render import renderer_for
from miai_tournaments.store.folder import LOGS

INTERVAL: Final = 0.5
"""Seconds between two boards of a game."""

_NAME: Final = ".board-"
_MOST_LINES = 30
_LONGEST_LINE = 120
_LARGEST = 16_384
_STALE_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A position of a running game.

    Attributes:
      game_id: of the game.
      players: names in seat order.
      ply: actions so far, chance included.
      lines: the true position as text.
    """

    game_id: str
    players: tuple[str, ...]
    ply: int
    lines: tuple[str, ...]


class BoardWriter:
    """Writes the boards of the games that one referee plays, one after the other.

    Attributes:
      path: the file; None for no writing.
    """

    def __init__(self, logs: Path | None) -> None:
        self.path = None if logs is None else logs / f"{_NAME}{os.getpid()}"
        self._written = False

    def begin(self, game_id: str, players: Sequence[str]) -> MoveHook | None:
        """Return what the referee is to call after each action; None where nothing is written."""
        path = self.path
        if path is None:
            return None
        due = time.monotonic() + INTERVAL
        broken = False

        def on_move(state: State, move: MoveRecord) -> None:
            nonlocal due, broken
            if broken or time.monotonic() < due:
                return
            board = Board(
                game_id=game_id, players=tuple(players), ply=move.ply + 1, lines=_lines(state)
            )
            broken = not _write(path, board)
            self._written = self._written or not broken
            due = time.monotonic() + INTERVAL

        return on_move

    def end(self) -> None:
        """Take the board of a finished game away."""
        if self.path is not None and self._written:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
            self._written = False


_NO_BOARD = (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError)


def read_boards(folder: Path) -> list[Board]:
    """Return the newest board of each game in a run's folder; files that are none are left out.

    Boards of referees that died on this machine are left out, too.
    """
    found: dict[str, tuple[float, Board]] = {}
    for path in sorted((folder / LOGS).glob(f"{_NAME}*[0-9]")):
        with contextlib.suppress(*_NO_BOARD):
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):  # a pipe would be read for ever
                continue
            if status.st_size <= _LARGEST and time.time() - status.st_mtime < _STALE_SECONDS:
                values = json.loads(path.read_text(encoding="utf-8"))
                if values["host"] == socket.gethostname() and not psutil.pid_exists(values["pid"]):
                    continue
                board = _board(values)
                kept = found.setdefault(board.game_id, (status.st_mtime, board))
                found[board.game_id] = max(kept, (status.st_mtime, board), key=lambda item: item[0])
    return [found[name][1] for name in sorted(found)]


def _board(values: Any) -> Board:
    return Board(
        game_id=str(values["game_id"]),
        players=tuple(str(name) for name in values["players"]),
        ply=int(values["ply"]),
        lines=tuple(str(line) for line in values["lines"]),
    )


def _lines(state: State) -> tuple[str, ...]:
    try:
        text = _text(state)
    except Exception as error:  # a picture that fails must not end the game
        text = f"no picture: {type(error).__name__}: {error}"
    return tuple(line[:_LONGEST_LINE] for line in text.split("\n")[:_MOST_LINES])


def _text(state: State) -> str:
    if state.game.info.perfect_information:
        return renderer_for(state.game).render(PlayerView.at(state, 0))
    return str(state)


def _write(path: Path, board: Board) -> bool:
    """Write a board; return whether that could be done."""
    values = {name: getattr(board, name) for name in Board.__slots__}
    values |= {"host": socket.gethostname(), "pid": os.getpid()}
    draft = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(values), encoding="utf-8")
        os.replace(draft, path)  # noqa: PTH105 - as short
    except OSError:  # a full disk, say, which the runner will tell of
        return False
    return True
