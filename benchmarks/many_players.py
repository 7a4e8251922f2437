"""How soon a tournament of many players begins: fifty within 10 s, a thousand within 30 s.

`seconds`: wall time from reading a config of so many `random` players of tic-tac-toe, isolated as
by default, with two workers, to the first result in the store. Then the run is stopped.

    python benchmarks/many_players.py [--json] [--players N ...] [--repeats N]
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from common.conditions import conditions
from common.evidence import record
from miai_tournaments.config.load import check_tournament
from miai_tournaments.running.tournament_run import RunOptions, play_tournament
from miai_tournaments.store.folder import STOP, ask
from miai_tournaments.store.rows import GameResult, ScheduledGame
from tournament_overhead import Stopwatch


class FirstGame(Stopwatch):
    """Stops the run of a folder after its first game."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.first = folder, 0.0

    def finished(self, game: ScheduledGame, result: GameResult) -> None:
        """Note when the first game ended."""
        if not self.first:
            self.first = time.perf_counter()
            ask(self.folder, STOP)


def seconds_to_first_game(players: int) -> float:
    """Return the wall time to the first finished game of a round-robin."""
    entries = [{"name": f"p{n}", "agent": "random"} for n in range(players)]
    raw = {
        "tournament": {"name": "many", "rounds": 1},
        "game": {"name": "tic_tac_toe"},
        "players": entries,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        watch, began = FirstGame(folder), time.perf_counter()
        tournament = check_tournament(raw, source="benchmark", folder=Path(name), text="")
        play_tournament(tournament, folder, RunOptions(make_reporter=lambda _: watch, workers=2))
    return watch.first - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--players", type=int, nargs="+", default=[50, 1000])
    parser.add_argument("--repeats", type=int, default=3, help="Repetitions; the median counts")
    parser.add_argument("--record", action="store_true", help="Write the row of the page")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    arguments = parser.parse_args()
    numbers, repeats = arguments.players, range(arguments.repeats)
    times = {n: [round(seconds_to_first_game(n), 2) for _ in repeats] for n in numbers}
    if arguments.record:
        said = [f"{n} players: {statistics.median(times[n]):.1f} s" for n in numbers]
        record("many-players", ", ".join(said))
    print(json.dumps({"benchmark": "many_players", "seconds": times, **conditions()}))


if __name__ == "__main__":
    main()
