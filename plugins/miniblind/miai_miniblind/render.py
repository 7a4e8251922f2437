"""How the games are shown to a player: from what it was told, and from nothing else."""

from __future__ import annotations

from miai import EnumeratedBelief, Game, Parameters, PlayerView
from miai_miniblind.blind import BlindState
from miai_miniblind.squares import board_text

COLUMNS = {"mini_rbc": "size", "phantom_lines": "columns", "sub_hunt": "size"}
"""The parameter that says how wide a game's board is."""


class BlindRenderer:
    """Shows what is certain, and ``?`` where the player's worlds differ."""

    def __init__(self, game: Game, parameters: Parameters) -> None:
        self._columns: int = getattr(game.parameters, COLUMNS[game.info.name])

    def render(self, view: PlayerView) -> str:
        """Return the board, the top row first, and the number of worlds."""
        belief = EnumeratedBelief(view.game, view.player)
        for observation in view.observations:
            belief.observe(observation)
        boards = [world.letters() for world in belief if isinstance(world, BlindState)]
        if not boards:
            return "nothing was told yet"
        letters = (stack[0] if len(set(stack)) == 1 else "?" for stack in zip(*boards, strict=True))
        worlds = "1 world" if len(boards) == 1 else f"{len(boards)} worlds"
        return f"{board_text(''.join(letters), self._columns)}\n{worlds}"
