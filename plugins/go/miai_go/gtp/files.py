"""SGF to and from an engine's table: ``loadsgf`` and ``printsgf``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from sgfmill import sgf

from miai import __version__
from miai.errors import MiaiError
from miai_go.gtp.rule_names import SETTLED
from miai_go.gtp.table import OF_POSITION, EngineTable
from miai_go.gtp.wire import GtpError
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import read_file

_COLORS: Final = "bw"
_RULES: Final = {
    "tromp-taylor": "Tromp-Taylor",
    "chinese": "Chinese",
    "japanese": "Japanese",
    "aga": "AGA",
}


def load_sgf(table: EngineTable, path: Path, *, before: int | None = None) -> None:
    """Put the main line of a file's first game on the table, with its size, komi and rules.

    Args:
      before: the number of the first move that is left out; None for none.

    Raises:
      GtpError: the file cannot be read or played; the table is as it was.
    """
    try:
        game = read_file(path)[0]
        line = game.main_line()
        found = game.parameters(line)
        replaced = (*OF_POSITION, *(SETTLED if "rules" in found else ()))
        kept = {name: v for name, v in table.values.items() if name not in replaced}
        values = {**kept, **found}
        actions = line.actions if before is None else line.actions[: max(before - 1, 0)]
        table.replace(values, actions)
    except SgfError as error:
        raise GtpError(f"cannot load file: {error}") from error
    except MiaiError as error:
        raise GtpError(f"cannot load file: {path}: {error}") from error


def table_as_sgf(table: EngineTable, *, result: str = "") -> str:
    """Return the game on the table as SGF."""
    game = table.game
    file = sgf.Sgf_game(size=game.size, encoding="UTF-8")
    root = file.get_root()
    root.set("AP", ("miai", __version__))
    root.set("KM", game.rules.komi)
    root.set("RU", _RULES[game.parameters.rules])
    if result:
        root.set("RE", result)
    start = game.start
    points = [[divmod(p, game.size) for p in side] for side in (start.black, start.white)]
    root.set_setup_stones(*points)
    if game.parameters.handicap_stones > 1:
        root.set("HA", game.parameters.handicap_stones)
    elif start.black or start.white:
        root.set("PL", _COLORS[start.to_move])
    for player, action in table.moves:
        placed = action < game.pass_action
        move: Any = divmod(action, game.size) if placed else None
        file.extend_main_sequence().set_move(_COLORS[player], move)
    text: str = file.serialise().decode("utf-8")
    return text
