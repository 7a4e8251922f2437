"""``miai go selfplay``: many games between any agents, saved as SGF and shards."""

from __future__ import annotations

import json
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
_MOST_WORKERS: Final = 1024


def add_commands(group: typer.Typer) -> None:
    """Add the command to a group."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    group.command("selfplay", context_settings=settings)(selfplay)


def selfplay(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the games; an existing one is extended.")
    ],
    games: Annotated[
        int, typer.Option("--games", min=1, help="Total number of games in the folder.")
    ] = 100,
    size: Annotated[int, typer.Option("--size", help="Board size.")] = 9,
    komi: Annotated[float, typer.Option("--komi", help="Komi.")] = 7.0,
    rules: Annotated[str, typer.Option("--rules", help="Rule set.")] = "tromp-taylor",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Set another parameter of the game (repeatable)."
        ),
    ] = None,
    workers: Annotated[
        str, typer.Option("--workers", help="Worker processes; auto for one per processor.")
    ] = "auto",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the games.")] = 0,
    opening_plies: Annotated[
        int, typer.Option("--opening-plies", min=0, help="Number of random opening moves.")
    ] = 0,
    games_a_shard: Annotated[
        int, typer.Option("--games-a-shard", min=1, help="Games per shard.")
    ] = 1000,
    sgf: Annotated[bool, typer.Option("--sgf/--no-sgf", help="Also write SGF.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play many games between two agents; save them as SGF and shards.

    Name the players as in `miai play go`: `--black mcts --black.simulations 1000 --white policy`.
    Repeat an interrupted command to resume it. Suicide is not allowed, because training data has
    none.
    """
    from miai.plain import parse_assignment
    from miai_go.errors import DataError

    given = {"board_size": size, "rules": rules, "komi": komi, "suicide": False}
    given |= dict(parse_assignment(text) for text in settings or [])
    known = [option for parameter in context.command.params for option in parameter.opts]
    plan, served = _plan(given, context.args, known, seed=seed, opening_plies=opening_plies)
    tally, rows = _sit(
        plan, out, games, _count(workers), size=games_a_shard, sgf=sgf, served=served, aside=as_json
    )
    if as_json:
        print(json.dumps({**tally.as_dict(), "servers": rows}, indent=2))
    else:
        _print(tally, rows, out, games)
    if tally.lost:
        numbers = ", ".join(map(str, sorted(tally.lost)[:10]))
        raise DataError(
            f"{len(tally.lost)} games could not be played, among them {numbers}: see above and "
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
    """Return the plan of the games, and whether a player uses the inference server.

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
                f"--{player.player}: name an agent; `miai list agents --game go` lists them"
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
    aside: bool,
) -> tuple[SelfPlayTally, list[dict[str, Any]]]:
    """Play the games; return their tally and the statistics of the inference server.

    Raises:
      KeyboardInterrupt: a signal asked to stop; finished games are written.
      MiaiError: a player is unavailable, or the games cannot be written.
    """
    from miai.files import removed_if_refused
    from miai.progress import make_progress
    from miai_go.learning.game_folder import SCAFFOLDING, GameFolder
    from miai_go.learning.selfplay import ServerWatch, Sitting, selfplay_pool

    def warn(text: str) -> None:
        print(f"miai: {text}", file=sys.stderr, flush=True)

    watch = ServerWatch() if served else None
    rows: list[dict[str, Any]] = []
    board_size = plan.game["board_size"]
    with (
        removed_if_refused(out, SCAFFOLDING),
        _stop_signals() as stopped,
        GameFolder(out, plan, size=board_size, games_a_shard=size) as folder,
    ):
        if folder.torn:
            warn(f"{out}: dropped a game whose writing was interrupted")
        view = make_progress("Self-play", unit="games", aside=aside or not sys.stdout.isatty())
        done = folder.have(games)
        view.begin(done=done, total=games)
        with selfplay_pool(plan, workers=workers, logs=out / "logs", sgf=sgf) as pool:
            sitting = Sitting(folder, pool, games=games, workers=workers, tell=warn)
            try:
                sitting.play(
                    stop=lambda: bool(stopped),
                    progress=lambda: view.reach(
                        done + sitting.tally.games,
                        f"{sitting.tally.as_dict()['games_per_hour']:.0f} games/h",
                        every=_LINE_SECONDS,
                    ),
                )
                rows = watch.since() if watch is not None else []
            finally:
                view.close()
        have = folder.have(games)
    if stopped and have < games:
        raise KeyboardInterrupt(
            f"interrupted: {have} of {games} games are in {out}; the same command resumes"
        )
    return sitting.tally, rows


@contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """Collect Ctrl-C and SIGTERM in a list, so that no file is interrupted."""
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
    from miai.process.processors import available_processors

    if workers == "auto":
        return available_processors()
    if not workers.isdecimal() or not 1 <= int(workers) <= _MOST_WORKERS:
        raise ConfigError(
            f"--workers {workers}: expected a number from 1 to {_MOST_WORKERS}, or auto"
        )
    return int(workers)


def _print(tally: SelfPlayTally, rows: list[dict[str, Any]], out: Path, games: int) -> None:
    if not tally.games:
        print(f"{out}: already has {games} games; increase --games for more")
        return
    row = tally.as_dict()
    results = ", ".join(f"{name} {count}" for name, count in row["results"].items())
    print(
        f"{tally.games} games, {tally.moves} moves, {row['seconds']:.1f} s, "
        f"{row['games_per_hour']:.0f} games/h: {results}"
    )
    print(f"{tally.targets} moves have policy targets (visits of a tree search)")
    if len(tally.names) < tally.games:
        print(
            f"only {len(tally.names)} of them are distinct; increase --opening-plies or a policy's "
            "temperature for more variety"
        )
    for served in rows:
        print(
            f"inference server: {Path(served['path']).name}: {served['positions']:.0f} positions, "
            f"mean batch {served['mean_batch']:.1f}, "
            f"queue wait {1000 * served['queue_wait']:.2f} ms"
        )
    print(f"written to {out}")
