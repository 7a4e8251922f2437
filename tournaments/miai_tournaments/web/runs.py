"""The section ``runs`` of `miai web`: tournaments and comparisons that the command line named."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from anyio import to_thread
from markupsafe import Markup
from sse_starlette import EventSourceResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from miai.api import recorded_game, renderer_for
from miai.errors import ConfigError, MiaiError
from miai.files import open_plain
from miai.game import Game
from miai.markup import svg_document, tag
from miai.pages.charts import picture
from miai.pages.document import Figure, Paragraph, Section, Table, printable, printable_block
from miai.pages.document_page import section_markup
from miai.plain import dumps, one_line
from miai.record import GameRecord
from miai.render import DrawingRenderer
from miai.web.sections import Site
from miai.web.templating import TYPES, assets, page
from miai_tournaments.report.outline import report_document
from miai_tournaments.report.replays import chosen, record_of
from miai_tournaments.report.report import build_report
from miai_tournaments.report.watch import MOST_BOARDS, RunReading
from miai_tournaments.running.stored_run import expect_games
from miai_tournaments.store.folder import (
    COMPARISON,
    PAUSE,
    STOP,
    ask,
    end_pause,
    has_store,
    runner_of,
)
from miai_tournaments.store.rows import GameRow, RunInfo
from miai_tournaments.store.store import Store
from miai_tournaments.workers.game_runner import LiveSnapshot, SeatViews

REFRESH_SECONDS: Final = 1.0
"""Time between two looks at a run that somebody watches."""

_MOST_RUNS = 500
_MOST_REPLAYS = 200
_QUIET_SECONDS = 15
_RELOAD_SECONDS = 10  # of the page of a comparison that is not complete
_logger = logging.getLogger("miai.web")


class Runs:
    """The pages; see `miai.web.sections.WebSection`."""

    def __init__(self, site: Site, parameters: object) -> None:
        self._paths, self._show, self._programs = site.paths, site.show, site.programs
        self._watched: dict[Path, WatchedRun] = {}
        self._numbers: dict[Path, int] = {}  # of every run seen so far, as in its address
        self._lock = threading.Lock()
        self.routes = [
            Route("/", self.overview),
            Route("/assets/{name}", assets(__package__)),
            Route("/{number:int}/", self.run),
            Route("/{number:int}/events", self.events),
            Route("/{number:int}/replays/{game}", self.replay),
            Route("/{number:int}/boards/{game}/{player:int}.svg", self.board),
            Route("/{number:int}/{request}", self.ask, methods=["GET", "POST"]),
        ]

    def shows(self, path: Path) -> bool:
        """Return whether a path is the folder of a run, or holds such folders."""
        return path.is_dir() and bool(_runs_in([path]))

    def close(self) -> None:
        """Do nothing: runs that were resumed go on."""

    # -- pages ---------------------------------------------------------------------------------

    async def overview(self, request: Request) -> Response:
        """Show all runs."""
        return await to_thread.run_sync(self._overview)

    def _overview(self) -> Response:
        rows = [(number, *run_summary(folder)) for folder, number in self._folders().items()]
        return page("runs.html", package=__package__, runs=rows)

    async def run(self, request: Request) -> Response:
        """Show a run."""
        folder = await to_thread.run_sync(self._find, request)
        return await to_thread.run_sync(self._page, request.path_params["number"], folder)

    def _page(self, number: int, folder: Path) -> Response:
        try:
            if (folder / COMPARISON.file_name).exists():
                return _comparison_page(folder)
            watched = self._of(folder)
            fragments = watched.fragments()
        except Exception as error:  # of a foreign run
            raise HTTPException(409, _problem(folder, error)) from error
        return page(
            "run.html",
            package=__package__,
            styles=["/runs/assets/runs.css"],
            scripts=["sort.js", "/runs/assets/run.js"],
            number=number,
            title=folder.name,
            parts={name: Markup(part) for name, part in fragments.items()},  # noqa: S704 - made below
        )

    async def events(self, request: Request) -> Response:
        """Send the parts of a run's page that have changed, as server-sent events."""
        folder = await to_thread.run_sync(self._find, request)
        try:
            watched = await to_thread.run_sync(self._of, folder)
        except Exception as error:  # of a foreign run
            raise HTTPException(409, _problem(folder, error)) from error
        return EventSourceResponse(watched.changes(), ping=_QUIET_SECONDS)

    async def replay(self, request: Request) -> Response:
        """Show a finished game."""
        folder = await to_thread.run_sync(self._find, request)
        game = request.path_params["game"].removesuffix(".html")
        links = {"The tournament's report": f"/runs/{request.path_params['number']}/"}
        return await self._show(lambda: _record(folder, game), links)

    async def board(self, request: Request) -> Response:
        """Show a board of a running game."""
        folder = await to_thread.run_sync(self._find, request)
        return await to_thread.run_sync(self._board, request, folder)

    def _board(self, request: Request, folder: Path) -> Response:
        game, player = request.path_params["game"], request.path_params["player"]
        try:
            picture = self._of(folder).boards.picture(game, player)
        except Exception as error:  # of a foreign run
            raise HTTPException(409, _problem(folder, error)) from error
        if picture is None:
            raise HTTPException(404, "This game is not being played.")
        return Response(picture, media_type=TYPES["svg"])

    async def ask(self, request: Request) -> Response:
        """Ask whether to stop, pause or resume a run, and do it."""
        folder = await to_thread.run_sync(self._find, request)
        number, word = request.path_params["number"], request.path_params["request"]
        if word not in _REQUESTS:
            raise HTTPException(404, "This page does not exist.")
        consequence, act = _REQUESTS[word]
        if request.method == "GET":
            return page(
                "question.html",
                package=__package__,
                number=number,
                action=word,
                name=folder.name,
                consequence=consequence,
            )
        try:
            if word == "resume" and not self._programs and runner_of(folder) is None:
                raise ConfigError("resume it by `miai tournament`, or `miai web --allow-programs`")
            await to_thread.run_sync(act, folder)
        except (MiaiError, OSError) as error:
            raise HTTPException(409, one_line(str(error))) from error
        return RedirectResponse(f"/runs/{number}/", 303)

    # -- the rest ------------------------------------------------------------------------------

    def _folders(self) -> dict[Path, int]:
        """Return the runs with their numbers, in the order of their paths.

        A run keeps its number when others begin beside it: an open page, with its link that stops
        the run, still means the same one.
        """
        with self._lock:
            return {
                folder: self._numbers.setdefault(folder, len(self._numbers))
                for folder in _runs_in(self._paths)
            }

    def _find(self, request: Request) -> Path:
        number = int(request.path_params["number"])
        for folder, own in self._folders().items():
            if own == number:
                return folder
        raise HTTPException(404, "There is no such run.")

    def _of(self, folder: Path) -> WatchedRun:
        with self._lock:
            if folder not in self._watched:
                self._watched[folder] = WatchedRun(folder)
            return self._watched[folder]


class WatchedRun:
    """A tournament that somebody looks at; it is read once for all who do.

    Attributes:
      boards: of the running games.
      spectators: number of browsers that receive changes.

    Raises `StoreError` if there is no run in the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        with Store.read(folder) as store:
            self._reading = RunReading(store)
        self.boards = LiveBoards(self._reading.info)
        self._read_at = -REFRESH_SECONDS
        self._made_for: tuple[object, ...] = ()
        self._parts: dict[str, str] = {}
        self._versions: dict[str, int] = {}
        self._version = self._messages_of = 0
        self._messages: dict[int, str] = {}
        self._news = asyncio.Condition()
        self._poll: asyncio.Task[None] | None = None
        self.spectators = 0

    def fragments(self) -> Mapping[str, str]:
        """Return the parts of the page as HTML, not older than `REFRESH_SECONDS`.

        Raises `StoreError` if the store cannot be read.
        """
        with self._lock:
            if time.monotonic() - self._read_at >= REFRESH_SECONDS:
                self._read()
                self._read_at = time.monotonic()
            return dict(self._parts)

    async def changes(self) -> AsyncIterator[dict[str, str]]:
        """Yield the parts of the page as they change, as data of server-sent events."""
        self.spectators += 1
        if self._poll is None or self._poll.done():
            self._poll = asyncio.create_task(self._look())
        known = 0
        try:
            while True:
                async with self._news:
                    await self._news.wait_for(lambda: self._version > known)  # noqa: B023
                known, text = self._message(known)
                yield {"data": text}
        finally:
            self.spectators -= 1

    async def _look(self) -> None:
        """Read the run again and again while anybody watches it."""
        while self.spectators:
            before = self._version
            try:
                await to_thread.run_sync(self.fragments)
            except Exception as error:  # of a foreign run; the stream outlives it
                with self._lock:
                    self._put(
                        "state", str(tag("p", _problem(self._folder, error), class_="mistake"))
                    )
            if self._version != before or before:
                async with self._news:
                    self._news.notify_all()
            await asyncio.sleep(REFRESH_SECONDS)

    def _message(self, known: int) -> tuple[int, str]:
        """Return the latest version, and the parts that are newer than the known one as JSON."""
        with self._lock:
            # All spectators who know the same version get the same text, so it is made once for all
            # of them.
            if self._messages_of != self._version:
                self._messages, self._messages_of = {}, self._version
            if known not in self._messages:
                newer = {n: self._parts[n] for n, made in self._versions.items() if made > known}
                self._messages[known] = dumps(newer)
            return self._version, self._messages[known]

    def _read(self) -> None:
        with Store.read(self._folder) as store:  # anew: a store belongs to its thread
            self._update(store)

    def _update(self, store: Store) -> None:
        reading = self._reading
        reading.update(store)
        self._put("progress", _progress(reading))
        self._put("state", _state(reading))
        self._put("boards", self.boards.update(reading.boards()))
        made_for = (len(reading.rows), reading.complete, reading.total)
        if made_for != self._made_for:
            self._made_for = made_for
            self._put("report", _report(store, reading))

    def _put(self, name: str, part: str) -> None:
        if self._parts.get(name) != part:
            self._version += 1
            self._parts[name], self._versions[name] = part, self._version


def _runs_in(paths: Sequence[Path]) -> list[Path]:
    """Return the folders of runs among paths and directly below them, in order."""
    found: list[Path] = []
    for path in paths:
        if _is_run(path):
            found.append(path)
        elif path.is_dir():
            try:
                below = sorted(each for each in path.iterdir() if each.is_dir())
            except OSError:
                continue
            found += [each for each in below if _is_run(each)]
    return found[:_MOST_RUNS]


def _is_run(folder: Path) -> bool:
    return has_store(folder) or (folder / COMPARISON.file_name).exists()


def run_summary(folder: Path) -> tuple[str, str, str, str]:
    """Return a run's folder, name, kind and state."""
    from miai_tournaments.compare.results import ComparisonStore

    try:
        if (folder / COMPARISON.file_name).exists():
            with ComparisonStore.open(folder, alone=False) as comparison:
                return folder.name, comparison.info().name, "comparison", ""
        with Store.read(folder) as store:
            expect_games(store)
            info, counts, gaps = store.info(), store.counts(), store.gaps()
        runner = runner_of(folder)
        done, total = counts["done"], sum(counts.values())
        state = "running" if runner else "complete" if done == total and not gaps else "stopped"
        return folder.name, f"{info.name} ({info.game})", "tournament", f"{state}, {done}/{total}"
    except Exception as error:  # of a foreign run
        return folder.name, folder.name, "", _problem(folder, error)


def _problem(folder: Path, error: Exception) -> str:
    """Return what is wrong with a run in a line; errors that nobody foresaw are logged."""
    if isinstance(error, (MiaiError, OSError)):
        return one_line(str(error))
    _logger.error("%s", folder, exc_info=error)
    return one_line(f"{folder.name} cannot be shown: {type(error).__name__}: {error}")


def _progress(reading: RunReading) -> str:
    bar = tag("progress", value=reading.done, max=max(1, reading.total), aria_label="games")
    return str(tag("p", bar, " ", reading.progress_text()))


def _state(reading: RunReading) -> str:
    if reading.complete:
        return str(tag("p", "The run is complete.", class_="note"))
    if reading.over:
        text, words = "Nobody runs it now.", ["resume"]
    elif reading.paused:
        text, words = f"Paused by request, run by {reading.runner}.", ["resume", "stop"]
    else:
        text, words = f"Run by {reading.runner}.", ["pause", "stop"]
    links = [part for word in words for part in (" ", tag("a", f"{word} …", href=word))]
    return str(tag("p", text, *links, class_="note"))


class LiveBoards:
    """The boards of a run's running games: pictures, drawn when a browser asks for them, or text.

    Args:
      info: facts of the run.
    """

    def __init__(self, info: RunInfo) -> None:
        self._info = info
        self._lock = threading.Lock()
        self._boards: dict[str, LiveSnapshot] = {}
        self._pictures: dict[tuple[str, int], str] = {}

    def update(self, boards: Sequence[LiveSnapshot]) -> str:
        """Take the present boards and return their part of the page."""
        with self._lock:
            before, self._boards = self._boards, {b.game_id: b for b in boards[:MOST_BOARDS]}
            same = {name for name, board in self._boards.items() if before.get(name) == board}
            self._pictures = {key: made for key, made in self._pictures.items() if key[0] in same}
        parts = [self._figure(board) for board in boards[:MOST_BOARDS]]
        if len(boards) > MOST_BOARDS:
            parts.append(tag("p", f"and {len(boards) - MOST_BOARDS} more", class_="note"))
        return "".join(parts)

    def _figure(self, board: LiveSnapshot) -> Markup:
        players = " - ".join(printable(name, 20) for name in board.players)
        caption = tag("figcaption", f"{players}, ply {board.ply}")
        game = self._game(board)
        if game is None or not isinstance(renderer_for(game), DrawingRenderer):
            text = "\n".join(printable_block(line) for line in board.lines)
            return tag("figure", caption, tag("pre", text, tabindex="0"))
        open_ = game.info.perfect_information
        views = [""] if open_ else [f"{printable(n, 20)} sees" for n in game.info.player_names]
        pictures = [
            tag(
                "img",
                src=f"boards/{board.game_id}/{player}.svg?ply={board.ply}",
                alt=f"{view or 'board'}, ply {board.ply}",
                title=view,
                loading="lazy",
            )
            for player, view in enumerate(views)
        ]
        return tag("figure", caption, *pictures)

    def picture(self, game_id: str, player: int) -> str | None:
        """Return a board as an SVG document; None if the game is not being played.

        Raises `MiaiError` or `ValueError` if the board's file does not describe a position.
        """
        with self._lock:
            board = self._boards.get(game_id)
            if board is None:
                return None
            key = (game_id, player)
            if key not in self._pictures:
                self._pictures[key] = self._draw(board, player)
            return self._pictures[key]

    def _draw(self, board: LiveSnapshot, player: int) -> str:
        game = self._game(board)
        renderer = None if game is None else renderer_for(game)
        if game is None or not isinstance(renderer, DrawingRenderer):
            raise ValueError("the game draws no picture")
        views, state = SeatViews(), game.new_initial_state()
        for action in board.actions:
            state.apply_action(action)
            views.follow(state)
        shown = views.current()
        if player >= len(shown):
            raise ValueError(f"no player {player}")
        return svg_document(renderer.svg(shown[player]), renderer.svg_definitions())

    def _game(self, board: LiveSnapshot) -> Game | None:
        if not board.actions:
            return None
        try:
            return recorded_game(self._info.game, {**self._info.game_parameters, **board.settings})
        except MiaiError:
            return None


def _report(store: Store, reading: RunReading) -> str:
    report = reading.report
    if reading.complete:
        report = build_report(store, details=True)
    assert report is not None, "it has been read"
    replays: list[GameRow] = chosen(reading.rows, _MOST_REPLAYS)
    document = report_document(report, replays=replays)
    return "".join(map(section_markup, document.sections))


def _comparison_page(folder: Path) -> Response:
    """Return the results of a comparison. Raises `MiaiError`."""
    from miai_tournaments.compare.config import load_comparison
    from miai_tournaments.compare.output import blocks
    from miai_tournaments.compare.plots import ablation
    from miai_tournaments.compare.results import ComparisonStore
    from miai_tournaments.compare.summary import summarize

    with ComparisonStore.open(folder, alone=False) as store:
        info, searches = store.info(), store.searches()
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "comparison.toml"
        path.write_text(info.config_text, encoding="utf-8")
        comparison = load_comparison(path)
    rows = summarize(comparison.blocks, comparison.arms, searches, baseline=comparison.baseline)
    done, total = len(searches), sum(block.count for block in comparison.blocks)
    verdict, *others = blocks(comparison, rows) or [Paragraph(("No searches yet.",))]
    chart = ablation(rows, baseline=comparison.baseline)
    plot = (Figure(picture(chart, "Speed-up of each arm")),) if chart else ()
    sections = [Section("verdict", "Verdict", (verdict, *plot), wide=True)]
    for number, block in enumerate(others):
        title = block.title if isinstance(block, Table) else "Notes"
        sections.append(Section(f"results-{number}", title, (block,), wide=True))
    shown = page(
        "comparison.html",
        package=__package__,
        styles=["/runs/assets/runs.css"],
        scripts=["sort.js"],
        title=info.name,
        done=done,
        total=total,
        report=Markup().join(map(section_markup, sections)),
        machine=info.machine,
        created=info.created,
    )
    if done < total:
        shown.headers["refresh"] = str(_RELOAD_SECONDS)
    return shown


def _record(folder: Path, game: str) -> GameRecord:
    """Return the record of a finished game. Raises `HTTPException` if there is none."""
    try:
        with Store.read(folder) as store:
            return record_of(store, game)
    except Exception as error:  # of a foreign run
        raise HTTPException(404, _problem(folder, error)) from error


def _resume(folder: Path) -> None:
    """Let a paused run go on, or resume one that nobody runs in a process of its own."""
    if end_pause(folder) is not None or runner_of(folder) is not None:
        return
    # A process of its own: a run inside the server would end with it, and its signals are the
    # server's.
    command = [sys.executable, "-m", "miai", "tournament", "resume", str(folder)]
    descriptor = open_plain(folder / "resume.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with os.fdopen(descriptor, "ab") as log:
        process = subprocess.Popen(  # it may outlive this one
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=dict(os.environ),
        )
    threading.Thread(target=process.wait, name="resumed run", daemon=True).start()  # reaps it


_REQUESTS: Final[Mapping[str, tuple[str, Callable[[Path], object]]]] = {
    "stop": (
        "Games that are being played are finished first. The run can be resumed.",
        partial(ask, request=STOP),
    ),
    "pause": (
        "Games that are being played are finished; the players stay ready.",
        partial(ask, request=PAUSE),
    ),
    "resume": (
        "It goes on in a process of its own, even when this server ends.",
        _resume,
    ),
}
"""What each request leads to, and the action."""
