"""SGF to and from an engine's table: ``loadsgf`` and ``printsgf``."""

from __future__ import annotations

from pathlib import Path

from miai.errors import MiaiError
from miai_go.gtp.rule_names import SETTLED
from miai_go.gtp.table import OF_POSITION, EngineTable
from miai_go.gtp.wire import GtpError
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import read_file
from miai_go.sgf.writing import game_file, set_move, set_text, sgf_text


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
    file = game_file(table.game)
    if result:
        set_text(file.get_root(), "RE", result)
    for player, action in table.moves:
        set_move(file.extend_main_sequence(), player, action)
    return sgf_text(file)
