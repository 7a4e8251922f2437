"""Matches of an agent of Reconnaissance Blind Chess against others, with figures of its beliefs.

Every pair of games has both colours. The match is a tournament with a folder of its own: the same
command resumes an interrupted match and prints the figures of a finished one. `truth_held` is the
share of the agent's decisions at which its belief held the true board: each game is replayed with
the belief that the agent had.

    python benchmarks/rbc_matches.py FOLDER --agent rbc-strong --against trout --games 100
    python benchmarks/rbc_matches.py FOLDER --agent rbc-seed --against attacker-bot random --json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common.conditions import conditions
from common.evidence import record
from miai.errors import MiaiError
from miai.game import Observation
from miai.record import GameRecord, MoveRecord
from miai.record_reader import read_record
from miai_rbc.belief.belief import make_belief
from miai_rbc.rbc_parameters import BeliefParameters, RbcParameters
from miai_rbc.rules.game import RbcGame
from miai_tournaments.config.load import check_tournament
from miai_tournaments.report.live import Reporter
from miai_tournaments.running.tournament_run import RunOptions, play_tournament
from miai_tournaments.store.store import Store

OPPONENTS: dict[str, dict[str, Any]] = {
    "trout": {"agent": "reconchess", "bot": "reconchess.bots.trout_bot"},
    "attacker-bot": {"agent": "reconchess", "bot": "reconchess.bots.attacker_bot"},
    "random": {"agent": "rbc-random"},
    "attacker": {"agent": "attacker"},
    "rbc-seed": {"agent": "rbc-seed"},
}


def play(folder: Path, arguments: argparse.Namespace, opponent: str) -> None:
    """Play the remaining games of a match."""
    raw = {
        "tournament": {
            "name": f"{arguments.agent}-{opponent}",
            "seed": 1,
            "rounds": arguments.games // 2,
        },
        "game": {"name": "rbc"},
        "time": {"kind": "fischer", "seconds": arguments.seconds, "increment": arguments.increment},
        "run": {"workers": arguments.workers},
        "players": [
            {"name": "we", "agent": arguments.agent},
            {"name": "they", **OPPONENTS[opponent]},
        ],
    }
    text = json.dumps(raw)
    tournament = check_tournament(raw, source="rbc_matches.py", folder=Path(), text=text)
    with contextlib.redirect_stdout(sys.stderr):
        ending = play_tournament(tournament, folder, RunOptions(make_reporter=lambda _: Reporter()))
    if ending.kind != "complete":
        sys.exit(f"{folder}: {ending.kind}; the same command goes on")


def figures_of(folder: Path) -> dict[str, Any]:
    """Return the figures of a finished match."""
    with Store.read(folder) as store:
        rows = store.results()
        records = [read_record(store.record(row.game_id)) for row in rows]
    ours = [[player.name for player in record.players].index("we") for record in records]
    scores = [record.returns[us] for record, us in zip(records, ours, strict=True)]
    wins, losses = sum(s > 0 for s in scores), sum(s < 0 for s in scores)
    late = [r.loser == us for r, us in zip(records, ours, strict=True) if r.termination == "time"]
    turns = [turn for record, us in zip(records, ours, strict=True) for turn in beliefs(record, us)]
    seconds = [record.players[us].seconds for record, us in zip(records, ours, strict=True)]
    low, high = wilson(wins, len(scores))
    return {
        "games": len(scores),
        "wins": wins,
        "draws": len(scores) - wins - losses,
        "losses": losses,
        "wins_on_time": late.count(False),
        "losses_on_time": late.count(True),
        "won": round(wins / len(scores), 3),
        "won_95": [round(low, 3), round(high, 3)],
        "plies": round(float(np.mean([len(record.moves) / 2 for record in records])), 1),
        "boards_before_sense": spread([size for senses, size, _ in turns if senses]),
        "boards_after_sense": spread([size for senses, size, _ in turns if not senses]),
        "truth_held": round(float(np.mean([held for _, _, held in turns])), 4),
        "seconds_a_game": spread(seconds),
        "seconds_a_turn": round(2 * sum(seconds) / len(turns), 3),
    }


def beliefs(record: GameRecord, us: int) -> Iterator[tuple[bool, int, bool]]:
    """Yield for each decision: is it a sense, size of the belief, does it hold the truth."""
    game = RbcGame(RbcParameters(**record.game_parameters))
    player = record.players[us]
    arguments = BeliefParameters(
        **{k: v for k, v in player.parameters.items() if k in BeliefParameters.model_fields}
    )
    belief = make_belief(game, us, arguments, seed=player.seed)
    state, observations = game.new_initial_state(), []
    if (first := state.observation(us)) is not None:
        observations.append(first)
    for move in record.moves:
        if move.actor == us:
            belief.limit = _limit(move, arguments)
            while observations:
                belief.observe(observations.pop(0))
            if len(belief) != move.statistics.get("boards", len(belief)):
                sys.exit("the belief that is made again is not the one that was recorded")
            yield state.senses, len(belief), state in belief
        state.apply_action(move.action)
        if (observation := state.observation(us)) is not None:
            observations.append(
                Observation(us, observation.actor, observation.action, observation.data)
            )


def _limit(move: MoveRecord, arguments: BeliefParameters) -> int:
    limit = move.statistics.get("limit", arguments.limit)
    return limit if isinstance(limit, int) else arguments.limit


def wilson(wins: int, games: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    z = 1.959964
    share, width = wins / games, z * z / games
    middle = share + width / 2
    reach = z * math.sqrt(share * (1 - share) / games + width / games / 4)
    return (middle - reach) / (1 + width), (middle + reach) / (1 + width)


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median, 90th percentile and maximum."""
    parts = {"median": np.median(values), "p90": np.percentile(values, 90), "most": max(values)}
    return {key: round(float(value), 1) for key, value in parts.items()}


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="Folder for the matches, one subfolder each")
    parser.add_argument("--agent", default="rbc-strong", choices=("rbc-strong", "rbc-seed"))
    parser.add_argument("--against", nargs="+", default=["trout"], choices=OPPONENTS)
    parser.add_argument("--games", type=int, default=100, help="Games per match, an even number")
    parser.add_argument("--seconds", type=float, default=60.0, help="Seconds on each clock")
    parser.add_argument(
        "--increment", type=float, default=1.0, help="Increment in seconds per turn"
    )
    parser.add_argument("--workers", type=int, default=2, help="Worker processes")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    arguments = parser.parse_args()
    matches = {}
    for opponent in arguments.against:
        folder = arguments.folder / f"{arguments.agent}-{opponent}"
        try:
            play(folder, arguments, opponent)
        except MiaiError as error:
            sys.exit(f"rbc_matches.py: {error}")
        matches[opponent] = figures_of(folder)
    if arguments.record:
        wins, games, draws = (
            sum(row[key] for row in matches.values()) for key in ("wins", "games", "draws")
        )
        each = (
            f"{opponent} {row['wins']} of {row['games']} "
            f"({100 * row['won_95'][0]:.1f} to {100 * row['won_95'][1]:.1f} %)"
            for opponent, row in matches.items()
        )
        won = f"{wins} of {games} games won, {draws} drawn"
        record(arguments.agent, won, peer=", ".join(each))
    figures = {
        "agent": arguments.agent,
        "clock": f"{arguments.seconds:g} s + {arguments.increment:g} s",
        "matches": matches,
        "load_after": round(os.getloadavg()[0], 2),
        **conditions(),
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    for opponent, row in matches.items():
        print(f"{arguments.agent} against {opponent}:")
        for key, value in row.items():
            print(f"  {key:<20} {value}")


if __name__ == "__main__":
    main()
