"""What ``miai tournament report`` and ``replay`` do once their options are read."""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miai.errors import ConfigError, near_matches
from miai_tournaments.report.files import FOLDER, FORMATS, write_report
from miai_tournaments.report.report import build_report
from miai_tournaments.store.export import write_whole

if TYPE_CHECKING:
    from miai_tournaments.report.report import TournamentReport
    from miai_tournaments.store.store import Store


_TOLD_FROM = 10  # replays: fewer are written in silence


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be written.

    Attributes:
      format: one of `FORMATS`.
      out: where to; None for the usual place.
      replays: how many replays; None for all, 0 for none.
      open_page: whether to show the page.
    """

    format: str
    out: Path | None
    replays: int | None
    open_page: bool


def wanted(
    *,
    as_json: bool,
    format: str | None,
    out: Path | None,
    replays: str | None,
    open_page: bool,
) -> Wanted | None:
    """Return what is to be written; None where the report is to be printed.

    Raises:
      ConfigError: the options contradict each other, or one is unknown.
    """
    paged = open_page or replays is not None
    if format is None and out is None and not paged:
        return None
    if as_json:
        raise ConfigError("--json: prints the report; to write a file give --format json instead")
    name = format or "html"
    if name not in FORMATS:
        raise ConfigError(f"--format {name}: unknown. {near_matches(name, FORMATS)}")
    if paged and name != "html":
        option = "--open" if open_page else "--replays"
        raise ConfigError(f"{option}: is for pages; leave out --format {name}")
    if replays is not None and out is not None:
        raise ConfigError("--replays: lie beside the page in DIR/report; leave out --out")
    return Wanted(format=name, out=out, replays=_count(replays), open_page=open_page)


def build(store: Store, **options: Any) -> TournamentReport:
    """Return the report; a `ConfigError` names the option that is at fault."""
    try:
        return build_report(store, **options)
    except ConfigError as error:  # begins with the argument's name
        name, _, told = str(error).partition(":")
        raise ConfigError(f"--{name.replace('_', '-')}:{told}") from None


def write(store: Store, report: TournamentReport, wanted: Wanted) -> None:
    """Write what is wanted, say where, and show the page where that is wanted too."""
    from miai_tournaments.report.replay_page import chosen, present, write_replays

    folder = store.folder / FOLDER
    if wanted.replays != 0:
        picked = chosen(report.rows, wanted.replays)
        write_replays(store, picked, folder, tell=_told if len(picked) >= _TOLD_FROM else _silent)
    linked = present(report.rows, folder) if wanted.out is None else []
    path = write_report(report, store.folder, wanted.format, out=wanted.out, replays=linked)
    print(f"Report: {path}")
    if wanted.open_page:
        show(path)


def write_replay(
    store: Store, game_id: str, *, out: Path | None, worlds: int | None, open_page: bool
) -> None:
    """Write the replay of a game, say where, and show it where that is wanted."""
    from miai_tournaments.report.replay import WORLDS
    from miai_tournaments.report.replay_page import FOLDER as REPLAYS
    from miai_tournaments.report.replay_page import replay_of

    page = replay_of(store, game_id, worlds=WORLDS if worlds is None else worlds)
    path = out or store.folder / FOLDER / REPLAYS / f"{game_id}.html"
    write_whole(path, page)
    print(f"Replay: {path}")
    if open_page:
        show(path)


def show(path: Path) -> None:
    """Show a page in a browser; where there is none, say how to see it."""
    try:
        shown = webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        shown = False
    if not shown:
        print(f"miai: no browser was found here; open {path} in one", file=sys.stderr)


def _count(replays: str | None) -> int | None:
    if replays is None:
        return 0
    if replays == "all":
        return None
    if replays.isascii() and replays.isdigit() and len(replays) < 10:
        return int(replays)
    raise ConfigError(f"--replays {replays[:40]}: give a number of games, or all")


def _told(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _silent(line: str) -> None:
    """Say nothing."""
