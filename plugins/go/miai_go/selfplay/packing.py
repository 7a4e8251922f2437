"""Games as plain data, which goes between processes and into the journal."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from miai_go.data.columns import COLUMNS, columns_of
from miai_go.data.games import StoredGame
from miai_go.errors import DataError
from miai_go.selfplay.agent_games import PlayedGame

_ARRAYS: Final = ("moves", "stones", "policy", "weight", "root_value", "ownership")


def pack(played: PlayedGame) -> dict[str, Any]:
    """Return a game as plain data."""
    game = played.game
    arrays = {name: getattr(game, name) for name in _ARRAYS}
    return {
        "size": game.size,
        "half_komi": game.half_komi,
        "result": game.result,
        "margin": None if np.isnan(game.margin) else game.margin,
        "first": game.first,
        "sgf": played.sgf,
        "arrays": {
            name: base64.b64encode(np.ascontiguousarray(a, COLUMNS[name].dtype).tobytes()).decode()
            for name, a in arrays.items()
            if a is not None
        },
    }


def unpack(values: Mapping[str, Any]) -> PlayedGame:
    """Return the game that `pack` made plain.

    Raises:
      DataError: it is no such game.
    """
    try:
        size, arrays = int(values["size"]), dict(values["arrays"])
        moves = len(base64.b64decode(arrays["moves"], validate=True)) // 2
        found: dict[str, Any] = {}
        for name in _ARRAYS:
            if name in arrays:
                column = COLUMNS[name]
                shape = column.shape(size=size, games=1, moves=moves)
                data = base64.b64decode(arrays[name], validate=True)
                kept = shape if column.per == "move" else shape[1:]
                found[name] = np.frombuffer(data, column.dtype).reshape(kept)
        margin = values["margin"]
        game = StoredGame(
            size=size,
            half_komi=int(values["half_komi"]),
            result=int(values["result"]),
            margin=float("nan") if margin is None else float(margin),
            first=int(values["first"]),
            **found,
        )
        columns_of([game])  # looks at shapes and numbers
        return PlayedGame(game, str(values["sgf"]))
    except (KeyError, TypeError, ValueError, IndexError, binascii.Error) as error:
        raise DataError(f"a packed game is damaged: {type(error).__name__}: {error}") from error
