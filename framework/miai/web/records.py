"""Records of games: files are opened, shown as replays, kept, and played on from any position.

A file is read by the installed record formats (`miai.record.ReadableFormat`), chosen by its suffix,
and played again by the rules before it is kept. Its name is shown and never used as a path. Games
that name programs, files or weights of this machine are refused. Finished games are analysed in
the background.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

from anyio import CapacityLimiter, to_thread
from pydantic import Field, ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from miai.analysis.analysis import Analysis, analyze
from miai.analysis.notes import annotated
from miai.api import analyst_of, load_game, record_format, recorded_game
from miai.errors import ConfigError, MiaiError, RecordError
from miai.files import write_text
from miai.game import State
from miai.pages.document import counted, printable
from miai.pages.layout import linked
from miai.pages.replay_page import (
    PAGE,
    branch_markup,
    branch_position,
    comment_markup,
    format_names,
    recorded_game_of,
    replay_page,
    replay_values,
)
from miai.parameters import StrictModel, wording
from miai.plain import Json, listed, one_line
from miai.playing.record_files import formats, read_records
from miai.playing.replay import add_line, line_to, state_at
from miai.process.compilations import compilation_text
from miai.process.kernel_caches import prepare_kernels
from miai.process.processors import available_processors
from miai.progress import Progress
from miai.record import GameRecord, MoveRecord, ending_text
from miai.record_reader import MAX_VARIATIONS, read_record
from miai.render import action_text
from miai.web.frames import choices_at
from miai.web.lobby import FormError, entered_in, form_page, players_of, setting_of
from miai.web.tables import GameTable, TableSet, kept_file, refuse_opened
from miai.web.templating import page

MOST_RECORDS: Final = 500
"""Maximum number of records that are kept."""
MOST_FILES: Final = 20
"""Maximum number of files that are opened at once."""
MOST_CHARACTERS: Final = 10_000
"""Maximum length of a comment that a page adds."""
_PAGES = 8  # rendered replays in memory
_AT_ONCE = 2  # files read, or replays made, at the same time
_LABEL = "miai.web"
_NAME = 120  # cells of a file's name
_ASSETS = linked(
    styles=("/assets/page.css", "/assets/replay.css"),
    scripts=("/assets/replay.js", "/assets/analysis.js"),
)


# -- reading --------------------------------------------------------------------------------------
TASK_SECONDS: Final = 120.0
"""Maximum time for a task of the analyst: one position, or a few of a game that hides something."""
_STOP_SECONDS = 10.0
_logger = logging.getLogger("miai.web")


def read_file(name: str, data: bytes) -> list[GameRecord]:
    """Return the games of a file, each of which its rules allow; see `read_records`.

    Raises `RecordError`, also for a record that names a program, a file or weights.
    """

    def check(record: GameRecord) -> None:
        refuse_opened("game", record.game, record.game_parameters, record.game, "parameters")

    return read_records(name, data, shown=printable(name, _NAME), check=check)


# -- keeping --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSummary:
    """A line of the list of records.

    Attributes:
      id: its name in addresses.
      game, players: the game, and the players' names.
      file: name of the file that it came from.
      moves: number of actions.
      result: how it ended.
      opened: when the file was opened, such as ``2026-11-23 23:30``, in UTC.
    """

    id: str
    game: str
    players: str
    file: str
    moves: int
    result: str
    opened: str


class Shelf:
    """The records that are kept, a file each.

    Args:
      folder: where they are; made on first use, for this user alone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def add(self, records: Iterable[GameRecord], file: str, *, name: str = "") -> list[str]:
        """Keep records, and return their names: `name` for one that has a name already.

        Raises:
          ConfigError: too many are kept.
          OSError: they cannot be written.
        """
        new = list(records)
        with self._lock:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            kept = len(list(self._folder.glob("*.jsonl")))
            if kept + len(new) > MOST_RECORDS:
                raise ConfigError(
                    f"{counted(kept, 'record')} are kept, and at most {MOST_RECORDS}; remove some"
                )
            return [self._add(record, file, name or secrets.token_hex(6)) for record in new]

    def _add(self, record: GameRecord, file: str, name: str) -> str:
        label: dict[str, Json] = {
            "file": printable(file, _NAME),
            "moves": len(record.moves),
            "result": ending_text(record, recorded_game(record.game, record.game_parameters)),
            "opened": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self._write(name, replace(record, tags={**record.tags, _LABEL: label}))
        return name

    def _write(self, name: str, record: GameRecord) -> None:
        path = self._folder / f"{name}.jsonl"
        write_text(path, record.to_json_lines())
        path.chmod(0o600)

    def keep(self, name: str, record: GameRecord) -> None:
        """Keep a copy of a record, and `MOST_RECORDS` of the latest. Raises `OSError`."""
        with self._lock:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._write(name, record)
            copies = sorted(self._folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
            for path in copies[:-MOST_RECORDS]:
                path.unlink(missing_ok=True)

    def get(self, name: str) -> GameRecord | None:
        """Return a record by name; None if there is none. Raises `RecordError` if it is damaged."""
        record = self._read(name)
        if record is not None:
            record.tags = {key: value for key, value in record.tags.items() if key != _LABEL}
        return record

    def _read(self, name: str) -> GameRecord | None:
        path = kept_file(self._folder, name)
        return None if path is None else read_record(path.read_text(encoding="utf-8"))

    def annotate(self, name: str, record: GameRecord, file: str) -> None:
        """Keep the comments and variations of a record, which may not have been kept before.

        Raises as `add`, and `RecordError` if what is kept is damaged.
        """
        kept = self._read(name)
        if kept is None:
            self.add([record], file, name=name)
        else:
            kept.comments, kept.variations = record.comments, record.variations
            self._write(name, kept)

    def remove(self, name: str) -> None:
        """Remove a record, if it is there."""
        if path := kept_file(self._folder, name):
            path.unlink(missing_ok=True)

    def latest(self) -> list[RecordSummary]:
        """Return all records, those opened last first; damaged ones are left out."""
        found = []
        for path in self._folder.glob("*.jsonl"):
            with path.open(encoding="utf-8") as file:
                head = file.readline()
            try:
                found.append(_summary(path.stem, json.loads(head)))
            except (KeyError, TypeError, ValueError):
                continue
        return sorted(found, key=lambda summary: (summary.opened, summary.id), reverse=True)


def _summary(name: str, head: Mapping[str, Any]) -> RecordSummary:
    label = head["tags"][_LABEL]
    return RecordSummary(
        id=name,
        game=str(head["game"]),
        players=listed([printable(player["name"], 24) for player in head["players"]]),
        file=str(label["file"]),
        moves=int(label["moves"]),
        result=printable(str(label["result"]) or "-", 80),
        opened=printable(str(label["opened"])[:16].replace("T", " "), 16),
    )


# -- pages ----------------------------------------------------------------------------------------


class _Addition(StrictModel):
    """What a page adds to a position of a record: an action, a comment behind it, or both."""

    position: Annotated[int, Field(ge=0)]
    action: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None
    comment: Annotated[str, Field(max_length=MOST_CHARACTERS)] = ""


class Records:
    """The pages of records, and of the replays and analyses of finished tables.

    Args:
      folder: where records are kept, and analyses.
      tables: makes the tables of games that are played on, and has finished games.
    """

    def __init__(self, folder: Path, tables: TableSet) -> None:
        self._shelf, self._tables = Shelf(folder), tables
        self._found = Shelf(folder / "found")  # copies of what is kept elsewhere
        self.analyses = GameAnalyses(folder)
        tables.ended = self._keep_branch
        # A page takes seconds where beliefs are followed.
        self._replays: OrderedDict[tuple[str, int], dict[str, Any]] = OrderedDict()
        self._links: dict[str, Mapping[str, str]] = {}  # of records that are kept elsewhere
        self._changing, self._adding = threading.Lock(), threading.Lock()
        # Reading and replaying keep a processor busy, which the games need as well.
        self._limiter = CapacityLimiter(_AT_ONCE)
        self.routes = [
            Route("/records/", self.overview, methods=["GET", "POST"]),
            Route("/records/{record}", self.show),
            Route("/records/{record}/analysis", self.analysis, methods=["GET", "POST"]),
            Route("/tables/{record}/replay", self.show_ended),
            Route("/tables/{record}/replay/analysis", self.analysis, methods=["GET", "POST"]),
            Route("/records/{record}/remove", self.remove, methods=["POST"]),
            Route("/records/{record}/play", self.play, methods=["GET", "POST"]),
            Route("/records/{record}/positions/{number:int}", self.position),
            Route("/records/{record}/additions", self.add, methods=["POST"]),
            Route("/records/{record}/files/{format}", self.file),
        ]

    async def overview(self, request: Request) -> Response:
        """List the records; open the files that are sent."""
        names: list[str] = []
        mistakes: list[str] = []
        if request.method == "POST":
            try:
                names, mistakes = await self._open(request)
            except (HTTPException, MultiPartException) as error:
                if getattr(error, "status_code", 400) != 400:
                    raise
                reason = getattr(error, "detail", "") or getattr(error, "message", "")
                mistakes = [f"the files were not received: {one_line(reason)}"]
            if len(names) == 1 and not mistakes:
                return RedirectResponse(f"/records/{names[0]}", 303)
            if not mistakes:
                return RedirectResponse("/records/", 303)
        records = await to_thread.run_sync(self._shelf.latest)
        return page(
            "records.html",
            scripts=["records.js", "sort.js"],
            records=records,
            mistakes=mistakes,
            opened=len(names),
            suffixes=sorted({format_.suffix for format_ in formats()}),
            max_bytes=request.app.state.most_body,
        )

    async def _open(self, request: Request) -> tuple[list[str], list[str]]:
        """Return the names of new records, and what is wrong with other files."""
        names: list[str] = []
        mistakes: list[str] = []
        async with request.form(max_files=MOST_FILES, max_fields=5) as form:
            files = [file for file in form.getlist("files") if isinstance(file, UploadFile)]
            for file in files:
                name, data = file.filename or "", await file.read()
                if not name:
                    continue
                try:
                    names += await to_thread.run_sync(self._keep, name, data, limiter=self._limiter)
                except (MiaiError, OSError) as error:
                    mistakes.append(one_line(str(error)))
        if not names and not mistakes:
            mistakes.append("choose a file")
        return names, mistakes

    def _keep(self, name: str, data: bytes) -> list[str]:
        return self._shelf.add(read_file(name, data), name)

    async def show(self, request: Request) -> Response:
        """Show a record as a replay."""
        return await self._page(request.path_params["record"])

    async def show_ended(self, request: Request) -> Response:
        """Show a finished game of a table: to its owner as a record, to guests as a page."""
        path, name = request.url.path, request.path_params["record"]
        try:
            record = await to_thread.run_sync(self._record, name)
        except HTTPException as error:
            if error.status_code != 404:
                raise
            return RedirectResponse(f"/tables/{name}", 303)  # not finished yet, or not there
        if request.state.owner:
            return RedirectResponse(f"/records/{name}", 303)

        def draw() -> str:
            analysis = self.analyses.of(name, record)
            return replay_page(
                record if analysis is None else annotated(analysis),
                name,
                links={"The game": f"/tables/{name}"},
                analysis=analysis,
                analyse=f"{path}/analysis",
                assets=_ASSETS,
            )

        content = await to_thread.run_sync(draw, limiter=self._limiter)
        return Response(content, media_type="text/html")

    async def show_found(
        self, find: Callable[[], GameRecord], links: Mapping[str, str]
    ) -> Response:
        """Show a record that is kept elsewhere; see `miai.web.sections.ShowRecord`."""

        def keep() -> str:
            record = find()
            name = hashlib.sha256(record.to_json_lines().encode()).hexdigest()[:12]
            self._found.keep(name, record)
            if self._links.get(name) != links:
                self._links[name] = links
                self._forget(name)
            return name

        try:
            name = await to_thread.run_sync(keep, limiter=self._limiter)
        except (MiaiError, OSError) as error:
            raise HTTPException(409, one_line(str(error))) from error
        return await self._page(name)

    async def _page(self, name: str) -> Response:
        values = await to_thread.run_sync(self._replay, name, limiter=self._limiter)
        scripts = ["board.js", "replay.js", "tree.js", "analysis.js"]
        return page("record.html", styles=["replay.css"], scripts=scripts, **values)

    def _replay(self, name: str) -> dict[str, Any]:
        """Return the variables of a page. Raises `HTTPException` if there is no such record."""
        record = self._record(name)
        analysis = self.analyses.of(name, record)
        key = name, 0 if analysis is None else analysis.judged
        with self._changing:
            values = self._replays.get(key)
        if values is None:
            values = replay_values(
                record if analysis is None else annotated(analysis),
                name,
                links=self._links.get(name),
                analysis=analysis,
                live=f"/records/{name}",
            )
            values["longest"] = MOST_CHARACTERS
            with self._changing:
                self._replays[key] = values
                while len(self._replays) > _PAGES:
                    self._replays.popitem(last=False)
        return values

    def _forget(self, name: str) -> None:
        with self._changing:
            for key in [key for key in self._replays if key[0] == name]:
                del self._replays[key]

    async def analysis(self, request: Request) -> Response:
        """Say where the analysis of a game stands; begin, pause or continue it if this is sent."""
        name, sent = request.path_params["record"], await request.body()
        record = await to_thread.run_sync(self._record, name)
        if b"start" in sent:
            self.analyses.start(name, record)
        elif b"pause" in sent:
            self.analyses.pause(name)
        return JSONResponse(await to_thread.run_sync(self.analyses.news, name, record))

    async def remove(self, request: Request) -> Response:
        """Remove a record."""
        name = request.path_params["record"]
        await to_thread.run_sync(self._shelf.remove, name)
        await to_thread.run_sync(self.analyses.remove, name)
        self._forget(name)
        return RedirectResponse("/records/", 303)

    async def play(self, request: Request) -> Response:
        """Let people play on from a position of a record that is kept, or of a finished table."""
        entered = await entered_in(request) if request.method == "POST" else None
        return await to_thread.run_sync(self._play, request, entered)

    def _play(self, request: Request, sent: dict[str, str] | None) -> Response:
        name = request.path_params["record"]
        record = self._as_shown(name)
        state, moves = _position(record, request.query_params.get("ply", ""))
        mistakes: dict[str, str] = {}
        if sent is not None:
            try:
                table = self._table(record, moves, sent, request.state.browser, name)
                return RedirectResponse(f"/tables/{table.id}", 303)
            except FormError as error:
                mistakes = error.mistakes
            except (MiaiError, OSError) as error:
                mistakes = {"": one_line(str(error))}
        info = state.game.info
        after = f"after ply {len(moves)}, {moves[-1].text}" if moves else "from the start"
        names = players_of(state.game)
        to_move = listed([names[player] for player in state.acting_players()] or names[:1])
        verb = "are" if len(state.acting_players()) > 1 else "is"
        notes = [f"The game goes on {printable(after, 80)}; {to_move} {verb} next to act."]
        if not info.perfect_information:
            notes.append(
                "Each player is told what it observed up to here, and no more. You may have seen "
                "in the record what is hidden from your side."
            )
        return form_page(
            record.game,
            sent or {},
            mistakes,
            self._tables.programs,
            me=max(0, int(state.next_actor())),
            parameters=record.game_parameters,
            action=f"{request.url.path}?ply={request.query_params['ply']}",
            heading=f"Play on: {record.game}",
            notes=notes,
        )

    def _table(
        self,
        record: GameRecord,
        earlier: list[MoveRecord],
        entered: Mapping[str, str],
        browser: str,
        origin: str,
    ) -> GameTable:
        own = {key: value for key, value in entered.items() if not key.startswith("game.")}
        parameters = dict(record.game_parameters)
        programs = self._tables.programs
        setting = setting_of(
            record.game, own, browser=browser, programs=programs, parameters=parameters
        )
        setting.origin = origin
        return self._tables.new(setting, earlier=earlier)

    # -- the tree ------------------------------------------------------------------------------

    async def position(self, request: Request) -> Response:
        """Send a position of a record, and the actions that may be added there."""
        name, number = request.path_params["record"], request.path_params["number"]
        return await self._told(lambda: self._position_of(name, number))

    def _position_of(self, name: str, number: int) -> dict[str, Any]:
        record = self._as_shown(name)
        game = recorded_game_of(record)
        areas, moves = choices_at(state_at(record, game, number))
        variation = number > len(record.moves)
        drawn = branch_position(record, game, number) if variation else ""
        return {"position": drawn, "areas": areas, "moves": moves}

    async def add(self, request: Request) -> Response:
        """Add an action or a comment to a position of a record, for all who see it."""
        try:
            said = _Addition.model_validate_json(await request.body())
        except ValidationError as error:
            return JSONResponse({"problem": wording(error.errors()[0])}, 400)
        return await self._told(lambda: self._add(request.path_params["record"], said))

    def _add(self, name: str, said: _Addition) -> dict[str, Any]:
        with self._adding:
            record, shown = self._record(name), self._as_shown(name)
            game = recorded_game_of(record)
            state = state_at(shown, game, said.position)
            known = len(record.variations)
            actions = [] if said.action is None else [said.action]
            number = add_line(record, game, 0, [*line_to(shown, said.position), *actions])
            notes: list[tuple[int, str]] = []
            if len(record.variations) > known and actions:
                link = branch_markup(number, [action_text(state, actions[0])])
                notes.append((said.position, link))
            if comment := said.comment.strip():
                if len(record.comments) >= MAX_VARIATIONS:
                    raise RecordError(f"a record has at most {MAX_VARIATIONS} comments")
                record.comments = [*record.comments, (number, comment)]
                notes.append((number, comment_markup(comment)))
            if notes or len(record.variations) > known:
                self._shelf.annotate(name, record, "played here")
                self._forget(name)
        if len(shown.variations) > known:  # an analysis's lines, which come after the record's own
            return {"number": number, "reload": True}
        drawn = branch_position(record, game, number) if number > len(record.moves) else ""
        return {"number": number, "position": drawn, "notes": notes}

    def _keep_branch(self, table: GameTable) -> None:
        """Add the moves of a finished game to the record from which it was played on."""
        # Without the record, or room for it, the table's own record remains.
        with self._adding, suppress(MiaiError, OSError, HTTPException):
            record = self._record(table.setting.origin)
            known = len(record.variations)
            assert table.record is not None, "the game is finished"
            add_line(record, table.game, 0, [move.action for move in table.record.moves])
            if len(record.variations) > known:
                self._shelf.annotate(table.setting.origin, record, "played here")
                self._forget(table.setting.origin)

    async def file(self, request: Request) -> Response:
        """Send a record as a file of one format, or as a page that can be kept."""
        name, format_ = request.path_params["record"], request.path_params["format"]

        def written() -> tuple[str, str]:
            record = self._record(name)
            analysis = self.analyses.of(name, record)
            record = record if analysis is None else annotated(analysis)
            if format_ == PAGE:
                return replay_page(record, name, analysis=analysis), ".html"
            if format_ not in format_names(record.game):
                raise HTTPException(404, "There is no such format.")
            chosen = record_format(format_, record.game)
            return chosen.write(record), chosen.suffix

        try:
            content, suffix = await to_thread.run_sync(written, limiter=self._limiter)
        except MiaiError as error:  # what a format cannot express
            raise HTTPException(409, one_line(str(error))) from error
        return Response(
            content,
            media_type="application/octet-stream",
            headers={"content-disposition": f'attachment; filename="{name}{suffix}"'},
        )

    async def _told(self, ask: Callable[[], dict[str, Any]]) -> Response:
        try:
            return JSONResponse(await to_thread.run_sync(ask, limiter=self._limiter))
        except (MiaiError, OSError) as error:
            return JSONResponse({"problem": one_line(str(error))}, 409)
        except HTTPException as error:
            return JSONResponse({"problem": error.detail}, error.status_code)

    def _as_shown(self, name: str) -> GameRecord:
        """Return a record with the lines of its analysis, by which its page counts positions."""
        record = self._record(name)
        analysis = self.analyses.of(name, record)
        return record if analysis is None else annotated(analysis)

    def _record(self, name: str) -> GameRecord:
        """Return a record, or a finished game of a table. Raises `HTTPException` for neither."""
        try:
            record = self._shelf.get(name)
            if record is None and (table := self._tables.get(name)) is not None:
                record = copy(table.record)
            record = record or self._found.get(name)
        except MiaiError as error:
            raise HTTPException(409, one_line(str(error))) from error
        if record is None:
            raise HTTPException(404, "There is no such record.")
        return record


def _position(record: GameRecord, ply: str) -> tuple[State, list[MoveRecord]]:
    """Return the state at a position, and the moves that lead to it.

    Raises `HTTPException` if there is no such position, or the game is over there.
    """
    count = len(record.moves) + len(record.variations)
    if not (ply.isascii() and ply.isdigit() and len(ply) < 8) or int(ply) > count:
        raise HTTPException(404, f"There is no such position; give a ply from 0 to {count}.")
    moves: list[MoveRecord] = []
    try:
        refuse_opened("game", record.game, record.game_parameters, record.game, "parameters")
        state = load_game(record.game, **record.game_parameters).new_initial_state()
        for number, action in enumerate(line_to(record, int(ply))):
            actor, text = int(state.next_actor()), action_text(state, action)
            moves.append(MoveRecord(ply=number, actor=actor, action=action, text=text))
            state.apply_action(action)
        if pending := len(state.pending_actions()):  # nobody may learn what another chooses
            state = state.game.new_initial_state()
            del moves[-pending:]
            for move in moves:
                state.apply_action(move.action)
    except (MiaiError, ValueError) as error:
        raise HTTPException(409, one_line(str(error))) from error
    if state.is_terminal():
        raise HTTPException(
            409, f"The game is over after ply {len(moves)}: play on from an earlier position."
        )
    return state, moves


# -- analyses -------------------------------------------------------------------------------------


class _Work(Progress):
    """An analysis in a thread: how far it is, whether it should stop, and why it failed."""

    thread: threading.Thread
    stopping, failure = False, ""

    def note(self, line: str) -> None:
        """Print nothing: pages ask."""


class GameAnalyses:
    """The analyses of a server: one at a time, on the processors that it may use; others wait.

    Args:
      folder: where what was judged is kept, beside the records.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._works: dict[str, _Work] = {}
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def start(self, name: str, record: GameRecord) -> None:
        """Begin the analysis of a record, or let it go on."""
        with self._lock:
            if not self._running(name):
                work, run = _Work(), self._run
                work.thread = threading.Thread(target=run, args=(name, record, work), daemon=True)
                work.thread.start()
                self._works[name] = work

    def pause(self, *names: str, wait: float = 0.0) -> None:
        """Let analyses stop within a second, for which this waits; what is judged is kept."""
        works = [self._works[name] for name in names if name in self._works]
        for work in works:
            work.stopping = True
        for work in works:
            work.thread.join(wait)

    def remove(self, name: str) -> None:
        """Stop an analysis and forget what was judged."""
        self.pause(name, wait=_STOP_SECONDS)
        self._works.pop(name, None)
        self._path(name).unlink(missing_ok=True)

    def close(self) -> None:
        """Stop all analyses."""
        self.pause(*self._works, wait=_STOP_SECONDS)

    def of(self, name: str, record: GameRecord) -> Analysis | None:
        """Return what is judged of a record; None for nothing, and while more is judged."""
        with self._lock:  # reading repairs a journal, which nothing may write meanwhile
            if self._running(name) or not self._path(name).exists():
                return None
            try:
                kept = analyze(record, journal=self._path(name), stopped=lambda: True)
            except MiaiError as error:  # an analyst that is not installed any more
                _logger.warning("%s", error)
                return None
            return kept if kept.judged else None

    def news(self, name: str, record: GameRecord) -> dict[str, Json]:
        """Return where the analysis of a record stands.

        `text` says it; `kind` is what can be asked for, ``start``, ``pause`` or nothing, and
        `button` the words for that; `judged` is a number of positions, and `running` says whether
        it grows.
        """
        work = self._works.get(name)
        if work is not None and self._running(name):
            count = f"{work.done} of {work.total} positions are judged" if work.total else ""
            said = "; ".join(filter(None, (count, compilation_text()))) or "waiting"
            text = "Pausing …" if work.stopping else f"Analysing: {said}."
            kind = "" if work.stopping else "pause"
            return {"text": text, "kind": kind, "button": kind, "judged": 0, "running": True}
        kept, failure = self.of(name, record), "" if work is None else work.failure
        judged, total = (0, 1) if kept is None else (kept.judged, kept.total)
        count = f"{judged} of {total} positions are judged" if 0 < judged < total else ""
        return {
            "text": "; ".join(filter(None, (failure, count))),
            "kind": "start" if judged < total else "",
            "button": "go on" if judged else "analyse this game",
            "judged": judged,
            "running": False,
        }

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.analysis"

    def _running(self, name: str) -> bool:
        return name in self._works and self._works[name].thread.is_alive()

    def _run(self, name: str, record: GameRecord, work: _Work) -> None:
        while not self._turn.acquire(timeout=0.5):
            if work.stopping:
                return
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            analyst = analyst_of(recorded_game(record.game, record.game_parameters))
            prepare_kernels(record.game, analyst.agent, analyst.parameters)
            analysis = analyze(
                record,
                analyst=analyst,
                journal=self._path(name),
                workers=available_processors(),
                progress=work,
                deadline=TASK_SECONDS,
                stopped=lambda: work.stopping,
            )
            work.failure = analysis.failure
        except Exception as error:  # also of the game's plugin
            _logger.error("analysis of %s", name, exc_info=error)
            work.failure = one_line(str(error)) or type(error).__name__
        finally:
            self._turn.release()
