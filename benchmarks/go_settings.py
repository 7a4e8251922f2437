"""Settings of the search with networks against each other, whatever else the machine does.

All games are played in step in one process, so that their leaves share the network's batches, with
a fixed number of simulations a move: other work on the machine costs time, but no strength. Pairs
of games have the same random opening and both colours. A sequential test of 0 against 40 Elo
decides; simulations per second of processor time say what a setting costs.

    python benchmarks/go_settings.py c_puct=0.7
    python benchmarks/go_settings.py leaves=16 --theirs leaves=8 --simulations 200 --json
    python benchmarks/go_settings.py score_weight=0.1 --play-out
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

import miai
from common.conditions import conditions
from miai_go.nets.encoder import trail_of
from miai_go.nets.inference import load_oracle
from miai_go.rules.game import GoGame, GoState
from miai_go.search.ending import choose, root_mask, settled
from miai_go.search.forest import (
    Forest,
    ForestRoot,
    LeafValuer,
    NetworkValuer,
    RememberingValuer,
    TreeSettings,
)
from miai_go.search.player_parameters import AlphaGoParameters
from miai_go.shipped import find_weights
from miai_tournaments.ratings.sprt import Sprt

OWN = ("leaves", "remembered", "simulations")
TREE = sorted(
    {field.name for field in fields(TreeSettings)} & {"mix", *AlphaGoParameters.model_fields}
)
HOPELESS = -0.9
"""A value below which a player resigns at its second move in a row."""
LONGEST = 300
"""Moves after which a game is counted as it lies."""


class Side:
    """One search in all games.

    Attributes:
      seconds: processor time so far.
      done: simulations so far.
    """

    def __init__(
        self, given: dict[str, float], weights: str, arguments: argparse.Namespace, games: int
    ) -> None:
        defaults = AlphaGoParameters()
        values: dict[str, Any] = {name: getattr(defaults, name, 0.0) for name in (*TREE, *OWN)}
        values |= {"simulations": arguments.simulations, **given}
        values |= {"root_fpu": values["fpu"], "rollouts": int(values["mix"] > 0)}
        self.budget = int(values["simulations"])
        oracle = load_oracle(find_weights(weights), size=arguments.size)
        self.size = oracle.encoder.size
        self.valuer: LeafValuer = NetworkValuer(oracle, oracle, score_weight=values["score_weight"])
        if positions := games * int(values["remembered"]):
            self.valuer = RememberingValuer(
                self.valuer, size=self.size, positions=min(positions, 1 << 19)
            )
        self.forest = Forest(
            self.size,
            games,
            max_nodes=3 * (self.size**2 + 1) * (self.budget + 2),
            leaves=int(values["leaves"]),
            max_moves=LONGEST + 10,
            seed=arguments.seed,
        )
        own = {
            field.name: values[field.name] for field in fields(TreeSettings) if field.name in values
        }
        for game in range(games):
            self.forest.configure(game, TreeSettings(**own))
        self.seconds, self.done = 0.0, 0

    def think(self, games: NDArray[np.int32], states: list[GoState]) -> None:
        """Search the games in which this side is to move."""
        began = time.process_time()
        self.forest.value_roots(games, self.valuer)
        for game in games.tolist():
            tree = self.forest.tree(game)
            tree.restrict(root_mask(states[game], tree.allowed()))
        self.done += int(self.forest.search(games, self.budget, self.valuer).sum())
        self.seconds += time.process_time() - began

    def move(self, game: int, state: GoState) -> tuple[int, float]:
        """Return the move after `think`, and its value."""
        tree = self.forest.tree(game)
        action = choose(state, tree)
        return action, float(np.nan_to_num(tree.values())[action])


def play_pairs(
    game: GoGame,
    sides: tuple[Side, Side],
    pairs: int,
    rng: np.random.Generator,
    *,
    resigning: bool,
) -> tuple[list[float], list[float]]:
    """Play pairs of games, in which the first side is Black first.

    Returns:
      The points of the first side in each pair, and its lead in each game that was played to its
      end, in points of the board.
    """
    states = [state for _ in range(pairs) for state in _opening(game, rng)]
    for side in sides:
        for number, state in enumerate(states):
            side.forest.set_root(number, _root(state))
    points = [-1.0] * len(states)  # of the first side, once a game is over
    hopeless, leads = [0] * len(states), []
    while open_games := [number for number, score in enumerate(points) if score < 0]:
        for own, side in enumerate(sides):
            mine = [n for n in open_games if points[n] < 0 and (states[n].to_move + n) % 2 == own]
            if not mine:
                continue
            side.think(np.array(mine, np.int32), states)
            for number in mine:
                action, value = side.move(number, states[number])
                hopeless[number] = hopeless[number] + 1 if value < HOPELESS else 0
                if resigning and hopeless[number] > 1:
                    points[number] = float(own)  # the other side has won
                    continue
                margin = _play(states[number], action, sides, number)
                if margin is not None:
                    leads.append(margin if number % 2 == 0 else -margin)
                    points[number] = (1 + float(np.sign(leads[-1]))) / 2
    return [points[2 * pair] + points[2 * pair + 1] for pair in range(pairs)], leads


def _opening(game: GoGame, rng: np.random.Generator) -> tuple[GoState, GoState]:
    """Return a state after four random moves, twice."""
    state = game.new_initial_state()
    for _ in range(4):
        moves = [action for action in state.legal_actions() if action != game.pass_action]
        state.apply_action(int(rng.choice(moves)))
    return state, state.clone()


def _play(state: GoState, action: int, sides: tuple[Side, Side], number: int) -> float | None:
    """Play a move, and the pass that answers it if that wins; return Black's lead at the end."""
    answers = [action]
    while answers:
        state.apply_action(answers[-1])
        for side in sides:
            side.forest.play(number, answers[-1])
        if state.is_terminal() or state.move_number() >= LONGEST:
            return state.score_by_area().margin
        answer = settled(state, pass_when_winning=True)
        answers = [answer.action] if answer is not None else []
    return None


def _root(state: GoState) -> ForestRoot:
    return ForestRoot(
        board=state.board,
        trail=trail_of(state),
        komi=state.game.white_bonus,
        passes=state.passes,
        history=state.positions()[:-1],
        ko_rule=state.game.ko_rule,
        suicide=state.game.rules.suicide,
    )


def _mean_leads(leads: NDArray[np.float64]) -> dict[str, float]:
    """Return the mean lead of each side in the games that it won, and that of the first in all."""
    parts = {
        "lead": leads,
        "lead_when_winning": leads[leads > 0],
        "their_lead_when_winning": -leads[leads < 0],
    }
    return {name: round(float(part.mean()), 2) for name, part in parts.items() if len(part)}


def setting(text: str) -> tuple[str, float]:
    """Return a setting of the command line."""
    name, _, value = text.partition("=")
    if name not in (*TREE, *OWN):
        raise argparse.ArgumentTypeError(f"{name}: there are {', '.join((*TREE, *OWN))}")
    return name, float(value)


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "ours", nargs="*", type=setting, metavar="NAME=VALUE", help="Settings to test"
    )
    parser.add_argument(
        "--theirs",
        nargs="*",
        type=setting,
        default=[],
        metavar="NAME=VALUE",
        help="Settings of the opponent; those not named are the defaults of alphago",
    )
    parser.add_argument("--weights", default="policy-7-13", help="Weights file or a shipped name")
    parser.add_argument("--their-weights", help="Those of the opponent (default: the same)")
    parser.add_argument("--size", type=int, default=9, help="Size of board (default: 9)")
    parser.add_argument("--komi", type=float, default=7.0, help="Komi (default: 7)")
    parser.add_argument("--simulations", type=int, default=100, help="Simulations per move")
    parser.add_argument("--at-once", type=int, default=32, help="Pairs of games played in step")
    parser.add_argument("--rounds", type=int, default=10, help="Maximum number of such batches")
    parser.add_argument("--seed", type=int, default=1, help="Seed of openings and rollouts")
    parser.add_argument("--play-out", action="store_true", help="Never resign; report mean leads")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    arguments = parser.parse_args()
    test, rng = Sprt(0, 40, model="logistic"), np.random.default_rng(arguments.seed)
    theirs = arguments.weights if arguments.their_weights is None else arguments.their_weights
    sides = tuple(
        Side(dict(given), weights, arguments, 2 * arguments.at_once)
        for given, weights in ((arguments.ours, arguments.weights), (arguments.theirs, theirs))
    )
    game = miai.load_game("go", board_size=sides[0].size, komi=arguments.komi)
    assert isinstance(game, GoGame)
    pairs: list[float] = []
    leads: list[float] = []
    for _ in range(arguments.rounds):
        batch = play_pairs(
            game, (sides[0], sides[1]), arguments.at_once, rng, resigning=not arguments.play_out
        )
        pairs, leads = pairs + batch[0], leads + batch[1]
        state = test.decide(pairs)
        print(f"{len(pairs)} pairs, LLR {state.llr:.2f}", file=sys.stderr)
        if state.verdict is not None:
            break
    shares = np.array(pairs) / 2
    margin = 1.96 * shares.std() / len(shares) ** 0.5
    figures = {
        "ours": dict(arguments.ours),
        "theirs": dict(arguments.theirs),
        "weights": [arguments.weights, theirs],
        "board": f"{game.size}x{game.size}, komi {arguments.komi:g}",
        "simulations": arguments.simulations,
        "pairs": len(pairs),
        "points": round(float(shares.mean()), 4),
        "points_95": [round(float(shares.mean() + sign * margin), 4) for sign in (-1, 1)],
        "verdict": {"H0": "0 Elo", "H1": "40 Elo", None: "undecided"}[state.verdict],
        **(_mean_leads(np.array(leads)) if arguments.play_out else {}),
        "simulations_per_second": [round(side.done / max(side.seconds, 1e-9)) for side in sides],
        **conditions(),
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:<24} {value}")


if __name__ == "__main__":
    main()
