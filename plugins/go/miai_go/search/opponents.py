"""Opponents for people, weakest first, and who judges their games."""

from __future__ import annotations

from contextlib import suppress

from miai.errors import WeightsError
from miai.game import Game
from miai.parameters import Parameters
from miai.playing.opponents import Analyst, Opponent, Opponents
from miai_go.nets.inference import can_run
from miai_go.rules.game import GoGame
from miai_go.shipped import find_weights


def opponents(game: Game, parameters: Parameters) -> Opponents:
    """Return the opponents, whom benchmarks/opponents.py compares on 9x9, and the analyst.

    Those with networks play where one for the board's size is shipped and can be run here.
    """
    assert isinstance(game, GoGame)
    networks = False
    with suppress(WeightsError):
        networks = can_run(find_weights("", size=game.size))
    return Opponents(
        (
            Opponent(name="random", agent="fast-random", summary="random moves"),
            *(
                Opponent(
                    name=f"mcts-{count}",
                    agent="mcts",
                    parameters={"simulations": count},
                    summary=f"tree search, {count:,} playouts per move",
                )
                for count in (20, 200, 2_000, 20_000)
            ),
            *(
                Opponent(
                    name=f"alphago-{count}",
                    agent="alphago",
                    parameters={"simulations": count},
                    summary=f"tree search with networks, {count:,} simulations per move",
                )
                for count in ((50, 400) if networks else ())
            ),
        ),
        Analyst(
            agent="alphago" if networks else "mcts",
            parameters={"simulations": 200 if networks else 2_000},
        ),
    )
