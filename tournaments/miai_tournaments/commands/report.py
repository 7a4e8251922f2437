"""Implementation of ``miai tournament report`` and ``replay``, after their options are parsed."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miai.errors import ConfigError, near_matches
from miai_tournaments.report.report import build_report
from miai_tournaments.report.report_files import FOLDER, FORMATS, write_report
from miai_tournaments.store.export import write_whole

if TYPE_CHECKING:
    from miai_tournaments.report.report import TournamentReport
    from miai_tournaments.store.store import Store


_SHOW_FROM = 10  # replays: fewer are written without progress lines


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """The files to write.

    Attributes:
      format: one of `FORMATS`.
      out: path of the file; None for the default.
      replays: number of replays; None for all.
      open_page: whether to open the page in a browser.
    """

    format: str
    out: Path | None
    replays: int | None
    open_page: bool


def parse_request(
    *, as_json: bool, format: str | None, out: Path | None, replays: str | None, open_page: bool
) -> ReportRequest | None:
    """Return the files to write; None to print the report.

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
        raise ConfigError(f"{option}: works with pages only; leave out --format {name}")
    if replays is not None and out is not None:
        raise ConfigError("--replays: are written beside the page in DIR/report; leave out --out")
    return ReportRequest(format=name, out=out, replays=_count(replays), open_page=open_page)


def build(store: Store, **options: Any) -> TournamentReport:
    """Return the report; a `ConfigError` names the faulty option."""
    with option_named():
        return build_report(store, **options)


@contextmanager
def option_named() -> Iterator[None]:
    """Name the option instead of the argument with which a `ConfigError` begins."""
    try:
        yield
    except ConfigError as error:
        name, _, message = str(error).partition(":")
        raise ConfigError(f"--{name.replace('_', '-')}:{message}") from None


def write(store: Store, report: TournamentReport, request: ReportRequest) -> None:
    """Write the requested files, print their path, and open the page on request."""
    from miai_tournaments.report.replays import chosen, present, write_replays

    folder = store.folder / FOLDER
    if request.replays != 0:
        picked = chosen(report.rows, request.replays)
        shown = sys.stderr if len(picked) >= _SHOW_FROM else None
        write_replays(store, picked, folder, progress=shown)
    linked = present(report.rows, folder) if request.out is None else []
    path = write_report(report, store.folder, request.format, out=request.out, replays=linked)
    print(f"Report: {path}")
    if request.open_page:
        show(path)


def write_replay(
    store: Store, game_id: str, *, out: Path | None, worlds: int | None, open_page: bool
) -> None:
    """Write the replay of a game, print its path, and open it on request."""
    from miai.pages.replay_frames import WORLDS
    from miai_tournaments.report.replays import FOLDER as REPLAYS
    from miai_tournaments.report.replays import replay_of

    page = replay_of(store, game_id, worlds=WORLDS if worlds is None else worlds)
    path = out or store.folder / FOLDER / REPLAYS / f"{game_id}.html"
    write_whole(path, page)
    print(f"Replay: {path}")
    if open_page:
        show(path)


def show(path: Path) -> None:
    """Open a page in a browser; without one, print where it is."""
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
