"""``miai go selfplay``: games of any agents, many at once, as SGF and shards."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from miai_go.learning.agent_games import GamesPlan
    from miai_go.learning.selfplay import SelfPlayTally


_LINE_SECONDS: Final = 0.2
_QUIET_LINE_SECONDS: Final = 30.0
_MOST_WORKERS: Final = 1024


def add_commands(group: typer.Typer) -> None:
    """Add the command to a group."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    group.command("selfplay", context_settings=settings)(selfplay)


def selfplay(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", help="Folder of the games; continued if there.")],
    games: Annotated[
        int, typer.Option("--games", min=1, help="Games that the folder is to have.")
    ] = 100,
    size: Annotated[int, typer.Option("--size", help="Points on a side.")] = 9,
    komi: Annotated[float, typer.Option("--komi", help="Points that White receives.")] = 7.0,
    rules: Annotated[str, typer.Option("--rules", help="Preset of the rules.")] = "tromp-taylor",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Another parameter of the game; may be repeated."
        ),
    ] = None,
    workers: Annotated[
        str, typer.Option("--workers", help="Processes; auto: one for each processor.")
    ] = "auto",
    seed: Annotated[int, typer.Option("--seed", help="Of all games.")] = 0,
    opening_plies: Annotated[
        int, typer.Option("--opening-plies", min=0, help="Random moves that games begin with.")
    ] = 0,
    games_a_shard: Annotated[
        int, typer.Option("--games-a-shard", min=1, help="Size of a shard.")
    ] = 1000,
    sgf: Annotated[bool, typer.Option("--sgf/--no-sgf", help="Whether to write SGF.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play games between two agents, many at once, and keep them as SGF and shards.

    Players are named as in `miai play go`: `--black mcts --black.simulations 1000 --white policy`.
    The same command goes on where it was interrupted or killed. Without suicide, which games to
    learn from do not hold.
    """
    from miai.plain import parse_assignment
    from miai_go.errors import DataError

    given = {"board_size": size, "rules": rules, "komi": komi, "suicide": False}
    given |= dict(parse_assignment(text) for text in settings or [])
    known = [option for parameter in context.command.params for option in parameter.opts]
    plan, served = _plan(given, context.args, known, seed=seed, opening_plies=opening_plies)
    tally, rows = _sit(
        plan, out, games, _count(workers), size=games_a_shard, sgf=sgf, served=served
    )
    if as_json:
        print(json.dumps({**tally.as_dict(), "servers": rows}, indent=2))
    else:
        _print(tally, rows, out, games)
    if tally.lost:
        numbers = ", ".join(map(str, sorted(tally.lost)[:10]))
        raise DataError(
            f"{len(tally.lost)} games could not be played, among them {numbers}: see above, and "
            f"{out / 'logs'}"
        )


def _plan(
    game: dict[str, Any],
    words: Sequence[str],
    known: Sequence[str],
    *,
    seed: int,
    opening_plies: int,
) -> tuple[GamesPlan, bool]:
    """Return what decides the games, and whether a player asks the inference server.

    Raises:
      MiaiError: a parameter, an agent or an option is unknown or wrong.
    """
    from miai.cli.play import parse_players
    from miai.errors import ConfigError
    from miai.plugins.loader import registry
    from miai_go.learning.agent_games import GamesPlan, PlayerPlan, load_go

    served = False
    players = {}
    for player in parse_players(load_go(game), words, known=known):
        if player.agent == "human":
            raise ConfigError(
                f"--{player.player}: name an agent that plays by itself; miai list agents --game "
                "go shows them all"
            )
        component = registry().get("agent", player.agent, game="go")
        filled = component.fill(player.values, where=f"--{player.player}")
        served = served or getattr(filled, "server", False) is True
        players[player.player] = PlayerPlan(agent=player.agent, parameters=player.values)
    return GamesPlan(game=game, **players, seed=seed, opening_plies=opening_plies), served


def _sit(
    plan: GamesPlan,
    out: Path,
    games: int,
    workers: int,
    *,
    size: int,
    sgf: bool,
    served: bool,
) -> tuple[SelfPlayTally, list[dict[str, Any]]]:
    """Play; return what was done, and the figures of the inference server's networks.

    Raises:
      KeyboardInterrupt: it was to stop; what is finished is written.
      MiaiError: the players cannot be had, or the games not written.
    """
    from miai_go.learning.game_folder import GameFolder
    from miai_go.learning.selfplay import ServerWatch, Sitting, selfplay_pool

    watch = ServerWatch() if served else None
    rows: list[dict[str, Any]] = []
    board_size = plan.game["board_size"]
    with (
        _stop_signals() as stopped,
        GameFolder(out, plan, size=board_size, games_a_shard=size) as folder,
    ):
        line = _Progress(games, folder.have(games))
        if folder.torn:
            line.tell(f"{out}: a game that was being written when the last run ended is dropped")
        with selfplay_pool(plan, workers=workers, logs=out / "logs", sgf=sgf) as pool:
            sitting = Sitting(folder, pool, games=games, workers=workers, tell=line.tell)
            try:
                sitting.play(
                    stop=lambda: bool(stopped), progress=lambda: line.show(sitting.tally.games)
                )
                rows = watch.since() if watch is not None else []
            finally:
                line.end()
        have = folder.have(games)
    if stopped and have < games:
        raise KeyboardInterrupt(
            f"interrupted: {have} of {games} games are in {out}; the same command goes on"
        )
    return sitting.tally, rows


@contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """Note Ctrl-C and SIGTERM in a list instead of being interrupted in the middle of a file."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    wanted = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in wanted}
    for number in wanted:
        signal.signal(number, lambda number, _frame: noted.append(number))
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _count(workers: str) -> int:
    from miai.errors import ConfigError

    if workers == "auto":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if not workers.isdecimal() or not 1 <= int(workers) <= _MOST_WORKERS:
        raise ConfigError(f"--workers {workers}: give a number from 1 to {_MOST_WORKERS}, or auto")
    return int(workers)


def _print(tally: SelfPlayTally, rows: list[dict[str, Any]], out: Path, games: int) -> None:
    if not tally.games:
        print(f"{out}: has its {games} games; give more --games for more of them")
        return
    row = tally.as_dict()
    results = ", ".join(f"{name} {count}" for name, count in row["results"].items())
    print(
        f"{tally.games} games, {tally.moves} moves, {row['seconds']:.1f} s, "
        f"{row['games_per_hour']:.0f} games/h: {results}"
    )
    print(f"{tally.targets} moves have policy targets, which are visits of a tree search")
    if len(tally.names) < tally.games:
        print(
            f"only {len(tally.names)} of them differ; --opening-plies makes them differ more, "
            "as does a policy's temperature"
        )
    for served in rows:
        print(
            f"inference server: {Path(served['path']).name}: {served['positions']:.0f} positions, "
            f"mean batch {served['mean_batch']:.1f}, "
            f"queue wait {1000 * served['queue_wait']:.2f} ms"
        )
    print(f"written to {out}")


class _Progress:
    """How far it is: one line that changes in a terminal, else a line every half minute."""

    def __init__(self, games: int, there: int) -> None:
        self._games, self._there = games, there
        self._terminal = sys.stderr.isatty()
        self._every = _LINE_SECONDS if self._terminal else _QUIET_LINE_SECONDS
        self._began = self._shown = time.monotonic()

    def show(self, played: int) -> None:
        now = time.monotonic()
        if now - self._shown < self._every:
            return
        self._shown = now
        text = f"{self._there + played} of {self._games} games"
        if played:
            rate = played / (now - self._began)
            left = (self._games - self._there - played) / rate
            end = time.strftime("%H:%M", time.localtime(time.time() + left))
            text += f", {3600 * rate:.0f} games/h, expected end {end}, in {left / 60:.1f} min"
        if self._terminal:
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def tell(self, text: str) -> None:
        """Tell a thing of importance in a line of its own."""
        self.end()
        print(f"miai: {text}", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
