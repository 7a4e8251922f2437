"""What openings are called in a report: by their name, their moves, or where they start."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from miai.errors import MiaiError
from miai.game import Game
from miai.openings import Opening
from miai.render import action_text
from miai_tournaments.config.openings import told_lines
from miai_tournaments.config.settings import game_with_settings
from miai_tournaments.store.rows import GameRow, RunInfo

_MOST_PLIES = 40

_Key = tuple[tuple[int, ...], str]


class OpeningNames:
    """Names the openings of a run's games.

    Args:
      info: of the run, which knows the lines of a file and their names.
      game: for the notation of openings; numbers stand for actions without it.
    """

    def __init__(self, info: RunInfo | None, game: Game | None) -> None:
        self._game = game
        self._lines = {_key(line.actions, line.settings): line for line in _lines(info)}
        self._counts = Counter(line.name for line in self._lines.values())
        self._keys = {frozenset(line.settings) for line in self._lines.values()}
        self._texts: dict[_Key, str] = {}

    def name(self, row: GameRow) -> str:
        """Return what a game's opening is called; empty for none."""
        opening = self._opening(row)
        key = _key(opening.actions, opening.settings)
        if key not in self._texts:
            self._texts[key] = self._text(opening)
        return self._texts[key]

    def settings(self, row: GameRow) -> dict[str, Any]:
        """Return a game's settings without those of its opening."""
        own = self._opening(row).settings
        return {name: value for name, value in row.settings.items() if name not in own}

    def _opening(self, row: GameRow) -> Opening:
        for names in self._keys:
            settings = {name: row.settings[name] for name in names & row.settings.keys()}
            line = self._lines.get(_key(row.opening, settings))
            if line is not None:
                return line
        return Opening(row.opening)

    def _text(self, opening: Opening) -> str:
        start = json.dumps(dict(opening.settings), sort_keys=True) if opening.settings else ""
        game = self._game
        try:
            game = None if game is None else game_with_settings(game, opening.settings)
        except MiaiError:  # of another version of the game
            game = None
        text = " ".join(filter(None, (start, opening_text(opening.actions, game))))
        if not opening.name:
            return text
        return opening.name if self._counts[opening.name] == 1 else f"{opening.name}: {text}"


def opening_text(actions: Sequence[int], game: Game | None) -> str:
    """Return an opening in the game's notation, cut where it is long."""
    shown = actions[:_MOST_PLIES]
    told: list[str] = []
    state = None if game is None else game.new_initial_state()
    for action in shown:
        told.append(str(action) if state is None else action_text(state, action))
        try:
            if state is not None:
                state.apply_action(action)
        except ValueError:  # of another version of the game: what follows stays numbers
            state = None
    return " ".join(told) + (" ..." if len(actions) > len(shown) else "")


def _key(actions: Sequence[int], settings: Mapping[str, Any]) -> _Key:
    return tuple(actions), json.dumps(dict(settings), sort_keys=True)


def _lines(info: RunInfo | None) -> Sequence[Opening]:
    results: Any = None if info is None else info.resolved.get("results")
    told = results.get("openings") if isinstance(results, Mapping) else None
    return (told_lines(told) if isinstance(told, Mapping) else None) or ()
