"""Openings from EPD and FEN files: the opening readers ``epd`` and ``fen``.

An opening is a game of its own that starts from a position: its parameter `fen`. Both players know
it, as they know the usual start.
"""

from __future__ import annotations

from pathlib import Path

from miai.errors import ConfigError, InvalidStateError
from miai.openings import Opening, read_text
from miai_rbc.game import RbcGame
from miai_rbc.parameters import RbcParameters
from miai_rbc.rows import board_of_fen

MAX_NAME = 80
"""Most characters of an opening's name."""

_MAX_LINES = 100_000
_MAX_LINE = 4096  # characters
_FIELDS = 4  # of a FEN without its clocks


class EpdOpenings:
    """Reads openings from EPD, or from FEN with both clocks: a line each.

    Of the operations ``id`` names the opening, ``hmvc`` and ``fmvn`` are its clocks, by default 0
    and 1; all others are checked and mean nothing here. ``#`` begins a line of comment. The
    position is to be one of Reconnaissance Blind Chess: one king a side, which may stand in check.
    """

    def __init__(self, game: RbcGame, parameters: object = None) -> None:
        self.game = game

    def read(self, path: Path) -> list[Opening]:
        """Return the openings of a file, each position once, in the file's order.

        Raises:
          ConfigError: the file cannot be read, or a line is no position; file and line are named.
        """
        openings: dict[str, Opening] = {}
        for number, line in enumerate(read_text(path).removeprefix("\ufeff").splitlines(), 1):
            where = f"{path}:{number}"
            if number > _MAX_LINES or len(line) > _MAX_LINE:
                most = f"{_MAX_LINES} lines of {_MAX_LINE} characters"
                raise ConfigError(f"{where}: is too long; at most {most} are read, split the file")
            if line.strip() and not line.lstrip().startswith("#"):
                try:
                    opening = self._opening(line.strip())
                except (InvalidStateError, ValueError) as error:
                    raise ConfigError(f"{where}: {error}") from None
                openings.setdefault(str(opening.settings["fen"]), opening)
        if not openings:
            raise ConfigError(f"{path}: holds no position; write one line of EPD or FEN for each")
        return list(openings.values())

    def _opening(self, line: str) -> Opening:
        fields = line.split(None, _FIELDS)
        if len(fields) < _FIELDS:
            raise InvalidStateError(
                f"{line[:60]!r} is no position: pieces, side to move, castling and en passant are "
                "expected"
            )
        board = board_of_fen(" ".join(fields[:_FIELDS]) + " 0 1")
        clocks = fields[_FIELDS].split() if len(fields) > _FIELDS else []
        if len(clocks) == 2 and all(clock.isascii() and clock.isdigit() for clock in clocks):
            return position_opening(self.game, line, name="")
        operations = board.set_epd(line)  # moves in it are read on a board with both kings
        name = operations.get("id")
        name = "".join(c for c in name if c.isprintable()) if isinstance(name, str) else ""
        return position_opening(self.game, board.fen(en_passant="fen"), name=name[:MAX_NAME])


def position_opening(game: RbcGame, fen: str, *, name: str) -> Opening:
    """Return the opening that is a position; its FEN is written in full.

    Raises:
      InvalidStateError: it is no position of the game, or the game would be over.
    """
    full = board_of_fen(fen).fen(en_passant="fen")
    given = game.parameters.model_dump()
    state = RbcGame(RbcParameters(**{**given, "fen": full})).new_initial_state()
    if state.is_terminal():
        raise InvalidStateError(f"{full!r}: the game is over: {state.result_to_string()}")
    return Opening(settings={"fen": full}, name=name)
