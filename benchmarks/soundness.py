"""NashConv of the searches for hidden games, by milliseconds a decision, on one core.

Every information set of a game is asked for its policy with one think each, and the policies are
measured exactly. `ismcts` and `pimc` depend on a seed: theirs is the mean over some seeds, which
biases it upwards. `equilibrium` does not, where a game fits into its tree; the time to unroll the
game is beside the budget. With `--nodes` no game needs to fit.

    python benchmarks/soundness.py [--json] [--record] [--games kuhn_poker ...] [--seeds N]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from typing import Any

from common.conditions import conditions
from common.evidence import record
from miai import make_agent
from miai.equilibria import Tree, exploitability, extract
from miai.equilibria.tree import InformationSet
from miai_openspiel.games import OpenSpielGame

GAMES = {
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "liars_dice_3": "liars_dice(numdice=1,dice_sides=3)",
    "dark_hex_2": "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
}
PEER_SECONDS = 0.1
"""Seconds a decision of the searches that `equilibrium` is compared with."""
SECONDS = (0.01, 0.1, 1.0)

Row = dict[str, Any]


def measure(
    tree: Tree, agent: str, seconds: float | None, seeds: int, nodes: int | None = None
) -> Row:
    """Return the NashConv of an agent in a game, and what it took."""
    budget: Row = {}
    if seconds is not None:
        name = "iterations" if agent == "equilibrium" else "simulations"
        budget = {name: 0, "seconds": seconds}
    if nodes is not None:
        budget["nodes"] = nodes
    player = make_agent(agent, tree.game, **budget)
    asked = 1 if player.policy_is_fixed else seeds
    began = time.monotonic()

    def stated(at: InformationSet) -> dict[int, float]:
        mean: Counter[int] = Counter()
        state, seen = tree.game.new_initial_state(), []
        for action in (None, *at.history):
            if action is not None:
                state.apply_unchecked(action)
            if (observation := state.observation(at.player)) is not None:
                seen.append(observation)
        for seed in range(asked):
            player.new_game(seed, player=at.player)
            for observation in seen:
                player.observe(observation)
            for action, probability in (player.policy() or {}).items():
                mean[action] += probability / asked  # type: ignore[assignment]  # a float
        return dict(mean)

    result = exploitability(tree, tree.policy_from(stated))
    return {
        "agent": agent if nodes is None else f"{agent}, {nodes} nodes",
        "milliseconds": None if seconds is None else round(1000 * seconds),
        "nash_conv": float(f"{result.nash_conv:.3g}"),
        "seeds": asked,
        "minutes": round((time.monotonic() - began) / 60, 1),
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    parser.add_argument("--games", nargs="+", choices=GAMES, default=[*GAMES], help="Games")
    parser.add_argument("--agents", nargs="+", default=["random", "ismcts", "pimc", "equilibrium"])
    parser.add_argument("--seconds", nargs="+", type=float, default=SECONDS, help="A decision")
    parser.add_argument("--seeds", type=int, default=10, help="Seeds of ismcts and pimc (10)")
    parser.add_argument("--nodes", type=int, help="Limit of the trees of `equilibrium`")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for game in arguments.games:
        tree = extract(OpenSpielGame(GAMES[game]))
        for agent in arguments.agents:
            ours = agent == "equilibrium"
            times = arguments.seconds if ours else [None if agent == "random" else PEER_SECONDS]
            for seconds in times:
                limit = arguments.nodes if ours else None
                row = measure(tree, agent, seconds, arguments.seeds, limit)
                rows.append({"game": game, **row})
                if not arguments.json:
                    print(
                        ", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True
                    )
        if arguments.record:
            cells = [row for row in rows if row["game"] == game]
            figures = ", ".join(
                f"{row['nash_conv']:g} ({row['agent']}, {row['milliseconds']} ms)" for row in cells
            )
            table = [{key: str(value) for key, value in row.items()} for row in cells]
            record(f"soundness-{game}", figures, table=table)
    if arguments.json:
        print(json.dumps({"benchmark": "soundness", **conditions(), "rows": rows}))


if __name__ == "__main__":
    main()
