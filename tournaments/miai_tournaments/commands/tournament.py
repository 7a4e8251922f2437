"""``miai tournament``: the commands. They import what they need when they are called."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miai.cli.options import AsJson, ConfigPath, Options, add_command

if TYPE_CHECKING:
    from miai_tournaments.config.schema import RunOverrides
    from miai_tournaments.running.tournament_run import RunEnding, RunOptions
    from miai_tournaments.store.store import Store


INTERRUPTED = 130
"""Exit status of a run that was stopped before its end."""

FAILED = 2
"""Exit status of a run that ended because games were void."""

app = typer.Typer(
    help="Run tournaments, follow them and report their results.", no_args_is_help=True
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the tournament.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Override a key of the config, e.g. rounds=20 or players[0].x=1.",
    ),
]
_OVERRIDES = Options("miai_tournaments.config.schema:RunOverrides")


def run(
    config: ConfigPath,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the run (default: runs/NAME).")
    ] = None,
    settings: Overrides = None,
    *,
    overrides: RunOverrides,
    store: Annotated[
        str | None,
        typer.Option(metavar="URL|NAME", help="Where to keep a new run, such as postgresql://..."),
    ] = None,
) -> None:
    """Play the tournament of a config file. An existing DIR is extended and resumed."""
    from miai_tournaments.config.load import load_tournament
    from miai_tournaments.running.tournament_run import play_tournament

    _prepare_process("miai tournament run")
    options = replace(_options(overrides), store=store)
    tournament = load_tournament(config, settings or [])
    folder = out or Path("runs") / tournament.config.tournament.name
    _conclude(play_tournament(tournament, folder, options), folder)


add_command(app, "run", run, overrides=_OVERRIDES)


def resume(folder: Folder, *, overrides: RunOverrides) -> None:
    """Play the remaining games of a tournament, or let a paused one go on."""
    from miai_tournaments.running.tournament_run import resume_tournament
    from miai_tournaments.store.folder import end_pause

    if (runner := end_pause(folder)) is not None:
        print(f"resumed {folder}, run by {runner}")
        return
    _prepare_process("miai tournament resume")
    _conclude(resume_tournament(folder, _options(overrides)), folder)


add_command(app, "resume", resume, overrides=_OVERRIDES)


@app.command()
def check(config: ConfigPath, settings: Overrides = None) -> None:
    """Check a config: start every player and let it play two moves."""
    from miai_tournaments.config.load import load_tournament
    from miai_tournaments.running.check import check_players

    check_players(load_tournament(config, settings or []), show=print)


@app.command()
def openings(
    config: ConfigPath,
    count: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=100_000, help="Number of random openings to draw."),
    ] = 20,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the openings to a file.")
    ] = None,
    settings: Overrides = None,
) -> None:
    """Show the openings of a config, and their values if they are balanced."""
    from miai_tournaments.commands import opening_book as book_command
    from miai_tournaments.config.load import load_tournament

    tournament = load_tournament(config, settings or [])
    lines = book_command.book(tournament, count=count)
    if out is None:
        print("\n".join(lines))
    else:
        book_command.write_book(tournament, lines, out)
        print(f"{out}: {len(lines) - 1} openings")


@app.command()
def status(folder: Folder, as_json: AsJson = False) -> None:
    """Show the progress of a tournament and whether it is running."""
    import json

    from miai_tournaments.report.live import read_status

    found = read_status(folder)
    print(json.dumps(found.to_json(), indent=2) if as_json else found.to_text())


@app.command()
def report(
    folder: Folder,
    as_json: AsJson = False,
    anchor: Annotated[
        str | None,
        typer.Option(metavar="PLAYER", help="Player whose rating is fixed (default: the mean is)."),
    ] = None,
    anchor_elo: Annotated[float, typer.Option(metavar="ELO", help="Rating of the anchor.")] = 0.0,
    superiority: Annotated[
        bool, typer.Option("--superiority", help="Add the likelihood of superiority.")
    ] = False,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Check the intervals with N bootstrap samples.")
    ] = 0,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT", help="Write a file: text, html, markdown, csv, json or parquet."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Output path (default: in DIR/report).")
    ] = None,
    replays: Annotated[
        str | None,
        typer.Option(metavar="N|all", help="Write replays of N games, or of all, with the page."),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Write the page (html) and open it in a browser.")
    ] = False,
) -> None:
    """Print ratings, crosstable and statistics of a tournament, or write them as files."""
    import json

    from miai_tournaments.commands import report as report_command
    from miai_tournaments.report.printing import print_at_width
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
            print_at_width(made.render)


@app.command()
def replay(
    folder: Folder,
    game_id: Annotated[str, typer.Argument(metavar="GAME_ID", help="Identity of the game.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Output file (default: DIR/report/replays/GAME_ID.html)."
        ),
    ] = None,
    worlds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=1_000_000,
            help="Maximum worlds shown per belief; 0 hides beliefs.",
        ),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Write a game as a page: each position, the players' beliefs and their searches."""
    from miai_tournaments.commands import report as report_command
    from miai_tournaments.store.store import Store

    with Store.read(folder) as store:
        report_command.write_replay(store, game_id, out=out, worlds=worlds, open_page=open_page)


@app.command()
def analyze(
    folder: Folder,
    game_id: Annotated[str, typer.Argument(metavar="GAME_ID", help="Identity of the game.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Page, analysis or game, as of `miai analyze`."),
    ] = None,
) -> None:
    """Judge each move of a game as `miai analyze` does.

    DIR/report/replays/GAME_ID.jsonl is the game, for more options of that command.
    """
    from miai.cli.analyze import analyze as judge
    from miai_tournaments.report.replays import FOLDER, record_of
    from miai_tournaments.store.export import write_whole
    from miai_tournaments.store.store import Store

    with Store.read(folder) as store:
        record = record_of(store, game_id)
        file = store.folder / "report" / FOLDER / f"{game_id}.jsonl"
    write_whole(file, record.to_json_lines())
    judge(file, out)


@app.command()
def watch(
    folder: Folder,
    once: Annotated[bool, typer.Option("--once", help="Print once and exit.")] = False,
) -> None:
    """Follow a tournament from another terminal, or wait for it. Ctrl-C ends only the display."""
    from miai_tournaments.report.watch import watch as show

    show(folder, once=once)


@app.command()
def stop(folder: Folder) -> None:
    """Ask a running tournament to finish its current games and stop."""
    _ask(folder, "stop")


@app.command()
def pause(folder: Folder) -> None:
    """Ask a running tournament to finish its current games and wait for `resume`."""
    _ask(folder, "pause")


def _ask(folder: Path, request: str) -> None:
    from miai_tournaments.store.folder import ask
    from miai_tournaments.store.store import Store

    with Store.read(folder):  # names what is wrong with another folder
        runner = ask(folder, request)
    if runner is None:
        print(f"{folder} is not running; nothing to {request}")
    else:
        print(f"asked {runner} to finish its running games and {request}")


def _prepare_process(title: str) -> None:
    """Hide the command line, which may name a seed or a config, and adopt what agents leave."""
    import os

    from setproctitle import setproctitle

    from miai.process.child import adopt_orphans

    os.environ.setdefault("SPT_NOENV", "1")  # the environment stays readable to tools
    setproctitle(title)
    adopt_orphans()


def _options(overrides: RunOverrides) -> RunOptions:
    from miai.errors import ConfigError, UnknownComponentError
    from miai.plugins.loader import registry
    from miai_tournaments.kinds import EXECUTOR
    from miai_tournaments.report.live import make_reporter
    from miai_tournaments.running.tournament_run import RunOptions

    try:
        if overrides.executor is not None:
            registry().get(EXECUTOR, overrides.executor)
    except UnknownComponentError as error:
        raise ConfigError(f"--executor {overrides.executor}: {error}") from None
    return RunOptions(
        workers=overrides.workers,
        executor=overrides.executor,
        address=overrides.address,
        records=overrides.records or None,
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
    stream = sys.stderr if ending.kind == "failed" else sys.stdout
    print(f"miai: {ending.reason}", file=stream)
    print(f"{counts['done']} of {sum(counts.values())} games are done. Continue with:", file=stream)
    print(f"  miai tournament resume {shlex.quote(str(folder))}", file=stream)
    raise typer.Exit(INTERRUPTED if ending.kind == "stopped" else FAILED)


def _show_report(store: Store) -> None:
    """Print the report and write it beside the store."""
    import json

    from miai_tournaments.report.printing import print_at_width
    from miai_tournaments.report.report import build_report
    from miai_tournaments.store.export import write_whole

    made = build_report(store)
    print_at_width(made.render)
    text = store.folder / "report.txt"
    write_whole(text, made.to_text())
    write_whole(text.with_suffix(".json"), json.dumps(made.to_json(), indent=2) + "\n")
    print(f"Report: {text}")
    again = f"miai tournament report {shlex.quote(str(store.folder))}"
    print(f"Again: {again}; as a page with charts, in the browser: {again} --open")
