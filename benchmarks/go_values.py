"""How well searches tell who wins: errors of their values on recorded games, by ply.

Positions of a split, one in `--every`, are searched as `miai go data annotate` searches them.
`error` is the mean square error of the values, `sharpened` the same after their log odds are
multiplied by `factor`, which fits best.

    python benchmarks/go_values.py data/go9 --simulations 48 200 --mix 0 0.2 0.4
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.conditions import conditions
from miai.errors import MiaiError
from miai_go.learning.data.annotating import AnnotationPlan, search_positions
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.stored_games import UNKNOWN
from miai_go.learning.training.supervised import best_sharpness, sharpened
from miai_go.nets.inference import load_oracle
from miai_go.search.forest import NetworkValuer
from miai_go.shipped import find_weights

PLIES = 15
"""Plies in a row of the table."""


def chosen(data: GoDataset, every: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return game and ply of one position in `every`, int64 (n, 2), and results for the mover."""
    rows, results = [], []
    for number in range(len(data)):
        game = data.game(number)
        if game.result == UNKNOWN:
            continue
        sides = game.sides()
        for ply in range((number * 3) % every, len(sides), every):
            rows.append((number, ply))
            results.append(float(game.result * sides[ply]))
    return np.array(rows, np.int64), np.array(results)


def errors(values: NDArray[np.float64], results: NDArray[np.float64]) -> dict[str, float]:
    """Return the errors of some values."""
    factor = best_sharpness(values, results)
    return {
        "positions": len(values),
        "error": round(float(((values - results) ** 2).mean()), 4),
        "sharpened": round(float(((sharpened(values, factor) - results) ** 2).mean()), 4),
        "factor": round(factor, 2),
    }


def measured(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the errors of the network and of each search, of all positions and by ply."""
    path = find_weights(arguments.weights)
    oracle = load_oracle(path, size=9, precision=arguments.precision)
    valuer = NetworkValuer(oracle, oracle)
    data = GoDataset(arguments.games, split=arguments.split, encoder=oracle.encoder)
    positions, results = chosen(data, arguments.every)
    pairs = [(int(game), int(ply)) for game, ply in positions]
    for simulations in arguments.simulations:
        for mix in arguments.mix:
            plan = AnnotationPlan(
                games=data.digest(),
                weights=oracle.header.sha256,
                simulations=simulations,
                mix=mix,
                seed=arguments.seed,
            )
            began = time.process_time()
            parts = search_positions(data, plan, pairs, valuer, seed=arguments.seed)
            values = np.concatenate([values for _begin, values in parts])
            spent = time.process_time() - began
            what = {"simulations": simulations, "mix": mix}
            speed = {"per_second": round(len(values) / spent, 1)}
            yield {**what, "from_ply": "all", **errors(values, results), **speed}
            for first in range(0, int(positions[:, 1].max()) + 1, PLIES):
                here = positions[:, 1] // PLIES == first // PLIES
                if here.any():
                    yield {**what, "from_ply": first, **errors(values[here], results[here])}


def main() -> None:
    """Search and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("games", help="Shard set of recorded games")
    parser.add_argument("--weights", default="policy-7-13", help="Weights file or shipped name")
    parser.add_argument("--simulations", type=int, nargs="+", default=[48])
    parser.add_argument("--mix", type=float, nargs="+", default=[0.2], help="Share of rollouts")
    parser.add_argument("--every", type=int, default=10, help="Interval of positions")
    parser.add_argument("--split", default="test", choices=("train", "validation", "test"))
    parser.add_argument("--precision", default="auto", choices=("auto", "fp32", "bf16", "int8"))
    parser.add_argument("--seed", type=int, default=0, help="Seed of the rollouts")
    parser.add_argument("--json", action="store_true", help="Print JSON")
    arguments = parser.parse_args()
    rows = []
    try:
        for row in measured(arguments):
            rows.append(row)
            if not arguments.json:
                print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    except MiaiError as error:
        parser.exit(1, f"{error}\n")
    if arguments.json:
        print(json.dumps({"rows": rows, **conditions()}, indent=2))


if __name__ == "__main__":
    main()
