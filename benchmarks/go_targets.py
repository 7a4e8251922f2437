"""Quality of self-play targets: policies of short searches compared with a long search.

    python benchmarks/go_targets.py --weights policy-7-13 --simulations 32 64 --c-scales 1 0.3

On positions of games that the network draws from its own priors, Gumbel searches of few simulations
give the improved policy that AlphaGo Zero's loop learns; PUCT with many simulations tells what is
right. For the priors and for each search: the cross-entropy of the long search's visits under the
policy, the share of positions in which its likeliest move is the long search's, and what that move
gives away, in utility, by the long search's values, in those positions in which it tried the move
often enough (`judged`); a move that it hardly looked at is left out, though it may be the worst. A
search teaches something where it is better than the priors.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.conditions import conditions
from miai.errors import MiaiError
from miai_go.learning.selfplay.tree_games import empty_root
from miai_go.nets.inference import load_oracle
from miai_go.rules.board import KoRule
from miai_go.search.forest import Forest, NetworkValuer, TreeSettings
from miai_go.shipped import find_weights

Policies = NDArray[np.float64]
_TRIED = 10
"""Minimum visits for the reference value of a move to count."""


class Positions:
    """Positions reached by the first moves of games, and searches of them in step."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        path = find_weights(arguments.weights)
        oracle = load_oracle(path, size=9, precision=arguments.precision, threads=1)
        self.valuer = NetworkValuer(oracle, oracle)
        self.size, self.count = oracle.encoder.size, arguments.positions
        self.half_komi = round(2 * arguments.komi)
        self.all = np.arange(self.count, dtype=np.int32)
        self.games: list[list[int]] = [[] for _ in self.all]
        rng = np.random.default_rng(arguments.seed)
        lengths = rng.integers(2, arguments.most_moves + 1, self.count)
        forest = self.forest(TreeSettings(), 1)
        for ply in range(arguments.most_moves):
            forest.value_roots(self.all, self.valuer)
            for game in np.flatnonzero(lengths > ply).tolist():
                if forest.tree(game).passes < 2:
                    priors = forest.tree(game).priors()
                    action = int(rng.choice(len(priors), p=priors / priors.sum()))
                    if action < self.size**2:
                        forest.play(game, action, keep=False)
                        self.games[game].append(action)

    def forest(self, settings: TreeSettings, budget: int) -> Forest:
        """Return trees at the positions."""
        forest = Forest(
            self.size,
            self.count,
            max_nodes=(self.size**2 + 1) * (budget + 2),
            max_budget=budget,
            seed=1,
        )
        for game, moves in enumerate(self.games):
            forest.configure(game, settings)
            forest.set_root(game, empty_root(self.size, self.half_komi, KoRule.SIMPLE))
            for action in moves:
                forest.play(game, action, keep=False)
        return forest

    def priors(self) -> Policies:
        """Return the priors of the network."""
        forest = self.forest(TreeSettings(), 1)
        forest.value_roots(self.all, self.valuer)
        return np.array([forest.tree(game).priors() for game in self.all])

    def taught(self, simulations: int, c_scale: float, seed: int) -> Policies:
        """Return the improved policies of Gumbel searches."""
        forest = self.forest(TreeSettings(gumbel=16, c_scale=c_scale), simulations)
        rng = np.random.default_rng(seed)
        for game in self.all:
            forest.add_gumbel(game, rng.gumbel(size=self.size**2 + 1))
        forest.search(self.all, np.full(self.count, simulations), self.valuer)
        return np.array([forest.tree(game).improved_policy() for game in self.all])


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the measurements of each policy."""
    positions = Positions(arguments)
    forest = positions.forest(TreeSettings(), arguments.reference)
    forest.search(
        positions.all, np.full(arguments.positions, arguments.reference), positions.valuer
    )
    visits = np.array([forest.tree(game).visits() for game in positions.all])
    values = np.array([forest.tree(game).values() for game in positions.all])
    rows = [{"policy": "priors"} | _worth(positions.priors(), visits, values)]
    for simulations in arguments.simulations:
        for c_scale in arguments.c_scales:
            policies = positions.taught(simulations, c_scale, arguments.seed)
            row = {"policy": f"{simulations} simulations, c_scale {c_scale:g}"}
            rows.append(row | _worth(policies, visits, values))
            print(rows[-1], file=sys.stderr)
    return {"rows": rows}


def _worth(policies: Policies, visits: NDArray[np.int32], values: Policies) -> dict[str, Any]:
    shares = visits / visits.sum(1, keepdims=True)
    entropy = -(shares * np.log(np.clip(policies, 1e-6, 1))).sum(1)
    chosen, best = policies.argmax(1), visits.argmax(1)
    rows = np.arange(len(policies))
    lost = (values[rows, best] - values[rows, chosen])[visits[rows, chosen] >= _TRIED]
    return {
        "cross_entropy": round(float(entropy.mean()), 3),
        "same_move": round(float(np.mean(chosen == best)), 3),
        "given_away": round(float(lost.mean()), 4) if len(lost) else None,
        "judged": len(lost),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--weights", default="policy-7-13", help="Weights file or name of shipped weights"
    )
    parser.add_argument("--precision", default="auto", choices=("auto", "fp32", "bf16", "int8"))
    parser.add_argument("--positions", type=int, default=200, help="Number of positions")
    parser.add_argument(
        "--most-moves", type=int, default=60, help="Maximum moves before a position"
    )
    parser.add_argument("--komi", type=float, default=7.0, help="Komi")
    parser.add_argument("--simulations", nargs="+", type=int, default=[16, 32, 64])
    parser.add_argument("--c-scales", nargs="+", type=float, default=[1.0, 0.3, 0.15])
    parser.add_argument(
        "--reference", type=int, default=800, help="Simulations of the reference search"
    )
    parser.add_argument("--seed", type=int, default=1, help="Seed of the positions")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    arguments = parser.parse_args()
    if arguments.positions < 1 or arguments.most_moves < 2:
        parser.error("give at least one position, and two moves before it at most")
    try:
        figures = measure(arguments)
    except MiaiError as error:
        sys.exit(f"go_targets.py: {error}")
    figures |= {
        "load_after": round(os.getloadavg()[0], 2),
        **conditions(),
    }
    print(json.dumps(figures) if arguments.json else json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
