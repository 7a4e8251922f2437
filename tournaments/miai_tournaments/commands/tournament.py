"""``miai tournament``: the commands. They import what they need when they are called."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from miai_tournaments.report.report import TournamentReport
    from miai_tournaments.running.run import Options, RunEnding
    from miai_tournaments.store.store import Store


INTERRUPTED = 130
"""Exit status of a run that was stopped before its end, in whatever way."""

FAILED = 2
"""Exit status of a run that ended because games were void."""

app = typer.Typer(help="Run tournaments, look at them and report.", no_args_is_help=True)

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="The config file, TOML.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The tournament's folder.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Override the config; rounds=20 or players[0].x=1."
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, max=1024, help="Worker processes; default: one a processor.")
]
ExecutorName = Annotated[
    str | None, typer.Option("--executor", metavar="serial|processes|ray", help="Who plays.")
]
Address = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Of a Ray cluster: HOST:PORT; default: one of its own."),
]
Records = Annotated[
    list[str] | None,
    typer.Option(metavar="FORMAT", help="Also write each game to DIR/records; may be repeated."),
]


@app.command()
def run(
    config: Config,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder; default: runs/NAME.")
    ] = None,
    workers: Workers = None,
    settings: Settings = None,
    executor: ExecutorName = None,
    address: Address = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Keep a new run in a database: postgresql://..."),
    ] = None,
    records: Records = None,
) -> None:
    """Play the tournament of a config file; where DIR exists, extend and resume it."""
    from miai_tournaments.config.load import load_tournament
    from miai_tournaments.running import run as sitting

    options = replace(_options(workers, executor, address, records), store=store)
    tournament = load_tournament(config, settings or [])
    folder = out or Path("runs") / tournament.config.tournament.name
    _conclude(sitting.run(tournament, folder, options), folder)


@app.command()
def resume(
    folder: Folder,
    workers: Workers = None,
    executor: ExecutorName = None,
    address: Address = None,
    records: Records = None,
) -> None:
    """Play what is left of a tournament."""
    from miai_tournaments.running import run as sitting

    _conclude(sitting.resume(folder, _options(workers, executor, address, records)), folder)


@app.command()
def check(config: Config, settings: Settings = None) -> None:
    """Start every player, let it play two moves, and say what is wrong."""
    from miai_tournaments.config.load import load_tournament
    from miai_tournaments.running.check import check_players

    check_players(load_tournament(config, settings or []), show=print)


@app.command()
def openings(
    config: Config,
    count: Annotated[
        int, typer.Option(metavar="N", min=1, max=100_000, help="Random openings to draw.")
    ] = 20,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write them as a file of openings.")
    ] = None,
    settings: Settings = None,
) -> None:
    """Show the openings of a config, with their values where they are balanced."""
    from miai_tournaments.commands import openings as book_command
    from miai_tournaments.config.load import load_tournament

    tournament = load_tournament(config, settings or [])
    lines = book_command.book(tournament, count=count)
    if out is None:
        print("\n".join(lines))
    else:
        book_command.write_book(tournament, lines, out)
        print(f"{out}: {len(lines) - 1} openings")


@app.command()
def status(
    folder: Folder, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Tell how far a tournament is, and whether somebody runs it."""
    import json

    from miai_tournaments.report.live import read_status

    found = read_status(folder)
    print(json.dumps(found.to_json(), indent=2) if as_json else found.to_text())


@app.command()
def report(
    folder: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    anchor: Annotated[
        str | None, typer.Option(metavar="PLAYER", help="Whose rating is held; default: the mean.")
    ] = None,
    anchor_elo: Annotated[float, typer.Option(metavar="ELO", help="At which rating.")] = 0.0,
    superiority: Annotated[
        bool, typer.Option("--superiority", help="Also who is likely stronger than whom.")
    ] = False,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Also check the intervals by N resamplings.")
    ] = 0,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT", help="Write a file: text, html, markdown, csv, json or parquet."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Where to; default: in DIR/report.")
    ] = None,
    replays: Annotated[
        str | None,
        typer.Option(metavar="N|all", help="Write replays of N games, or of all, with the page."),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Write the page (html) and show it in a browser.")
    ] = False,
) -> None:
    """Print ratings, crosstable and statistics of a tournament, or write them as files."""
    import json

    from miai_tournaments.commands import report as report_command
    from miai_tournaments.store.store import Store

    request = report_command.parse_request(
        as_json=as_json, format=format, out=out, replays=replays, open_page=open_page
    )
    with Store.read(folder) as store:
        made = report_command.build(
            store,
            anchor=anchor,
            anchor_elo=anchor_elo,
            superiority=superiority,
            bootstrap=bootstrap,
            details=request is not None,
        )
        if request is not None:
            report_command.write(store, made, request)
        elif as_json:
            print(json.dumps(made.to_json(), indent=2))
        else:
            _print_report(made)


@app.command()
def replay(
    folder: Folder,
    game_id: Annotated[str, typer.Argument(metavar="GAME_ID", help="The game.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to; default: DIR/report/replays/GAME_ID.html."),
    ] = None,
    worlds: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=1_000_000, help="Most worlds of a belief; 0 for no beliefs."
        ),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Show it in a browser.")] = False,
) -> None:
    """Write a game as a page: every position, what players knew, and what their searches said."""
    from miai_tournaments.commands import report as report_command
    from miai_tournaments.store.store import Store

    with Store.read(folder) as store:
        report_command.write_replay(store, game_id, out=out, worlds=worlds, open_page=open_page)


@app.command()
def watch(
    folder: Folder,
    once: Annotated[bool, typer.Option("--once", help="Print it once and end.")] = False,
) -> None:
    """Show a tournament while it goes on, from another terminal; Ctrl-C ends only the showing."""
    from miai_tournaments.report.watch import watch as show

    show(folder, once=once)


@app.command()
def stop(folder: Folder) -> None:
    """Ask whoever runs a tournament to finish the running games and end."""
    from miai_tournaments.store.folder import ask_to_stop
    from miai_tournaments.store.store import Store

    with Store.read(folder):
        runner = ask_to_stop(folder)
    if runner is None:
        print(f"nobody runs {folder}; nothing to stop")
    else:
        print(f"asked {runner} to finish its running games and end")


def _options(
    workers: int | None, executor: str | None, address: str | None, records: list[str] | None
) -> Options:
    from miai.errors import ConfigError, near_matches
    from miai_tournaments.report.live import make_reporter
    from miai_tournaments.running.run import Options
    from miai_tournaments.workers.executor import NAMES

    if executor is not None and executor not in NAMES:
        raise ConfigError(f"--executor {executor}: unknown. {near_matches(executor, NAMES)}")
    return Options(
        workers=workers,
        executor=executor,
        address=address,
        records=None if records is None else tuple(records),
        make_reporter=make_reporter,
        say=partial(print, flush=True),
    )


def _conclude(ending: RunEnding, folder: Path) -> None:
    """Print the table and where the report is, or how to go on."""
    from miai_tournaments.store.folder import has_store
    from miai_tournaments.store.store import Store

    if not has_store(folder):
        print(f"{ending.reason} before the first game; nothing was written")
        raise typer.Exit(INTERRUPTED)
    with Store.read(folder) as store:
        counts = store.counts()
        if counts["done"]:
            _show_report(store)
    if ending.kind == "complete":
        return
    told = sys.stderr if ending.kind == "failed" else sys.stdout
    print(f"miai: {ending.reason}", file=told)
    print(f"{counts['done']} of {sum(counts.values())} games are done. Continue with:", file=told)
    print(f"  miai tournament resume {shlex.quote(str(folder))}", file=told)
    raise typer.Exit(INTERRUPTED if ending.kind == "stopped" else FAILED)


def _show_report(store: Store) -> None:
    """Print the report and write it beside the store."""
    import json

    from miai_tournaments.report.report import build_report
    from miai_tournaments.store.export import write_whole

    made = build_report(store)
    _print_report(made)
    text = store.folder / "report.txt"
    write_whole(text, made.to_text())
    write_whole(text.with_suffix(".json"), json.dumps(made.to_json(), indent=2) + "\n")
    print(f"Report: {text} (again with: miai tournament report {shlex.quote(str(store.folder))})")


def _print_report(report: TournamentReport) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(report.render(console.width))
