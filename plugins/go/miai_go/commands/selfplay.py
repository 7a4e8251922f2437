"""``miai go selfplay``: games between any two agents, in many processes, as SGF and shards."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from miai_go.learning.agent_games import GamesPlan
    from miai_go.learning.selfplay import SelfPlayTally


_LINE_SECONDS: Final = 30.0
_MAX_WORKERS: Final = 1024


def add_commands(group: typer.Typer) -> None:
    """Add the command to a group."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    group.command("selfplay", context_settings=settings)(selfplay)


def selfplay(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the games; an existing run is continued.")
    ],
    games: Annotated[
        int, typer.Option("--games", min=1, help="Number of games, those of earlier runs included.")
    ] = 100,
    size: Annotated[int, typer.Option("--size", help="Points on a side.")] = 9,
    komi: Annotated[float, typer.Option("--komi", help="Komi in points.")] = 7.0,
    rules: Annotated[str, typer.Option("--rules", help="Preset of the rules.")] = "tromp-taylor",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Other parameter of the game; repeatable."
        ),
    ] = None,
    workers: Annotated[
        str, typer.Option("--workers", help="Worker processes; auto: one for each processor.")
    ] = "auto",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the run.")] = 0,
    opening_plies: Annotated[
        int, typer.Option("--opening-plies", min=0, help="Random moves at the start of each game.")
    ] = 0,
    games_a_shard: Annotated[
        int, typer.Option("--games-a-shard", min=1, help="Games in a shard.")
    ] = 1000,
    sgf: Annotated[
        bool, typer.Option("--sgf/--no-sgf", help="Write an SGF file for each game.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play games between two agents and store them as SGF and shards.

    Players are named as in `miai play go`: `--black mcts --black.simulations 1000 --white policy`.
    The same command continues an interrupted or killed run. Suicide is illegal, because shards
    cannot store it.
    """
    from miai.plain import parse_assignment
    from miai_go.errors import DataError

    game = {"board_size": size, "rules": rules, "komi": komi, "suicide": False}
    game |= dict(parse_assignment(text) for text in settings or [])
    options = [option for parameter in context.command.params for option in parameter.opts]
    plan, served = _plan(game, context.args, options, seed=seed, opening_plies=opening_plies)
    tally, rows = _play(
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
    options: Sequence[str],
    *,
    seed: int,
    opening_plies: int,
) -> tuple[GamesPlan, bool]:
    """Return the plan, and whether a player uses the inference server.

    Raises:
      MiaiError: a parameter, an agent or an option is unknown or wrong.
    """
    from miai.cli.play import parse_players
    from miai.errors import ConfigError
    from miai.plugins.loader import registry
    from miai_go.learning.agent_games import GamesPlan, PlayerPlan, load_go

    served = False
    players = {}
    for player in parse_players(load_go(game), words, known=options):
        if player.agent == "human":
            raise ConfigError(
                f"--{player.player}: name an agent that plays by itself; miai list agents --game "
                "go lists them"
            )
        component = registry().get("agent", player.agent, game="go")
        filled = component.fill(player.values, where=f"--{player.player}")
        served = served or getattr(filled, "server", False) is True
        players[player.player] = PlayerPlan(agent=player.agent, parameters=player.values)
    return GamesPlan(game=game, **players, seed=seed, opening_plies=opening_plies), served


def _play(
    plan: GamesPlan,
    out: Path,
    games: int,
    workers: int,
    *,
    size: int,
    sgf: bool,
    served: bool,
) -> tuple[SelfPlayTally, list[dict[str, Any]]]:
    """Play; return counts of the games, and figures of the inference server's networks.

    Raises:
      KeyboardInterrupt: a signal stopped the run; finished games are written.
      MiaiError: a player is unavailable, or the games cannot be written.
    """
    from miai.progress import progress_beside
    from miai_go.learning.game_folder import GameFolder
    from miai_go.learning.selfplay import ServerWatch, Sitting, selfplay_pool

    watch = ServerWatch() if served else None
    rows: list[dict[str, Any]] = []
    board_size = plan.game["board_size"]
    with (
        _stop_signals() as stopped,
        GameFolder(out, plan, size=board_size, games_a_shard=size) as folder,
    ):
        if folder.torn:
            _warn(f"{out}: a game that was being written when the last run ended is dropped")
        have = folder.have(games)
        with (
            progress_beside("Self-play", unit="games", done=have, total=games) as progress,
            selfplay_pool(plan, workers=workers, logs=out / "logs", sgf=sgf) as pool,
        ):
            sitting = Sitting(folder, pool, games=games, workers=workers, tell=_warn)

            def show() -> None:
                progress.reach(have + sitting.tally.games, "games", every=_LINE_SECONDS)

            sitting.play(stop=lambda: bool(stopped), progress=show)
            rows = watch.since() if watch is not None else []
        have = folder.have(games)
    if stopped and have < games:
        raise KeyboardInterrupt(
            f"interrupted: {have} of {games} games are in {out}; the same command continues"
        )
    return sitting.tally, rows


@contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """Collect Ctrl-C and SIGTERM in a list, so that they do not interrupt the writing of a file."""
    signals: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, lambda number, _frame: signals.append(number))
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _warn(text: str) -> None:
    print(f"miai: {text}", file=sys.stderr, flush=True)


def _count(workers: str) -> int:
    from miai.errors import ConfigError

    if workers == "auto":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if not workers.isdecimal() or not 1 <= int(workers) <= _MAX_WORKERS:
        raise ConfigError(f"--workers {workers}: give a number from 1 to {_MAX_WORKERS}, or auto")
    return int(workers)


def _print(tally: SelfPlayTally, rows: list[dict[str, Any]], out: Path, games: int) -> None:
    if not tally.games:
        print(f"{out}: has its {games} games; raise --games to play more")
        return
    row = tally.as_dict()
    results = ", ".join(f"{name} {count}" for name, count in row["results"].items())
    print(
        f"{tally.games} games, {tally.moves} moves, {row['seconds']:.1f} s, "
        f"{row['games_per_hour']:.0f} games/h: {results}"
    )
    print(f"{tally.targets} moves have policy targets, from the visits of a tree search")
    if len(tally.names) < tally.games:
        print(
            f"only {len(tally.names)} of them are different; --opening-plies or a policy's "
            "temperature increases their number"
        )
    for served in rows:
        print(
            f"inference server: {Path(served['path']).name}: {served['positions']:.0f} positions, "
            f"mean batch {served['mean_batch']:.1f}, "
            f"queue wait {1000 * served['queue_wait']:.2f} ms"
        )
    print(f"written to {out}")
