"""Records of games: files are opened, shown as replays, kept, and played on from any position.

A file is read by the installed record formats (`miai.record.ReadableFormat`), chosen by its suffix,
and played again by the rules before it is kept. Its name is shown and never used as a path. Games
that name programs, files or weights of this machine are refused.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from miai.analysis.notes import annotated
from miai.api import load_game, recorded_game
from miai.errors import ConfigError, MiaiError
from miai.files import write_text
from miai.game import State
from miai.pages.document import counted, printable
from miai.pages.layout import linked
from miai.pages.replay_page import replay_page
from miai.plain import Json, listed, one_line
from miai.playing.record_files import formats, read_records
from miai.record import GameRecord, ending_text
from miai.record_reader import read_record
from miai.web.game_analyses import GameAnalyses
from miai.web.lobby import FormError, entered_in, form_page, players_of, setting_of
from miai.web.tables import GameTable, TableSet, kept_file, refuse_opened
from miai.web.templating import page

MOST_RECORDS: Final = 500
"""Maximum number of records that are kept."""
MOST_FILES: Final = 20
"""Maximum number of files that are opened at once."""
_PAGES = 8  # rendered replays in memory
_AT_ONCE = 2  # files read, or replays made, at the same time
_LABEL = "miai.web"
_NAME = 120  # cells of a file's name
_ASSETS = linked(
    styles=("/assets/page.css", "/assets/replay.css"),
    scripts=("/assets/replay.js", "/assets/analysis.js"),
)


# -- reading --------------------------------------------------------------------------------------


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

    def add(self, records: Iterable[GameRecord], file: str) -> list[str]:
        """Keep records, and return their names.

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
            return [self._add(record, file) for record in new]

    def _add(self, record: GameRecord, file: str) -> str:
        name = secrets.token_hex(6)
        label: dict[str, Json] = {
            "file": printable(file, _NAME),
            "moves": len(record.moves),
            "result": ending_text(record, recorded_game(record.game, record.game_parameters)),
            "opened": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        kept = replace(record, tags={**record.tags, _LABEL: label})
        path = self._folder / f"{name}.jsonl"
        write_text(path, kept.to_json_lines())
        path.chmod(0o600)
        return name

    def get(self, name: str) -> GameRecord | None:
        """Return a record by name; None if there is none. Raises `RecordError` if it is damaged."""
        path = kept_file(self._folder, name)
        if path is None:
            return None
        record = read_record(path.read_text(encoding="utf-8"))
        record.tags = {key: value for key, value in record.tags.items() if key != _LABEL}
        return record

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


class Records:
    """The pages of records, and of the replays and analyses of finished tables.

    Args:
      folder: where records are kept, and analyses.
      tables: makes the tables of games that are played on, and has finished games.
    """

    def __init__(self, folder: Path, tables: TableSet) -> None:
        self._shelf, self._tables = Shelf(folder), tables
        self.analyses = GameAnalyses(folder)
        # A record never changes, and its page takes seconds where beliefs are followed.
        self._replays: OrderedDict[tuple[str, bool, int], str] = OrderedDict()
        self._changing = threading.Lock()
        # Reading and replaying keep a processor busy, which the games need as well.
        self._limiter = CapacityLimiter(_AT_ONCE)
        self.routes = [
            Route("/records/", self.overview, methods=["GET", "POST"]),
            Route("/records/{record}", self.show),
            Route("/records/{record}/analysis", self.analysis, methods=["GET", "POST"]),
            Route("/tables/{record}/replay", self.show),
            Route("/tables/{record}/replay/analysis", self.analysis, methods=["GET", "POST"]),
            Route("/records/{record}/remove", self.remove, methods=["POST"]),
            Route("/records/{record}/play", self.play, methods=["GET", "POST"]),
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
        """Show a record, or a finished game of a table, as a replay."""
        path, name = request.url.path, request.path_params["record"]
        try:
            content = await to_thread.run_sync(
                self._replay, name, path, request.state.owner, limiter=self._limiter
            )
        except HTTPException as error:
            if error.status_code != 404 or not path.startswith("/tables/"):
                raise
            return RedirectResponse(f"/tables/{name}", 303)  # not finished yet, or not there
        return Response(content, media_type="text/html")

    def _replay(self, name: str, path: str, owner: bool) -> str:
        """Return a replay. Raises `HTTPException` if there is no such record."""
        record = self._record(name)
        analysis = self.analyses.of(name, record)
        key = path, owner, 0 if analysis is None else analysis.judged
        with self._changing:
            content = self._replays.get(key, "")
        if not content:
            content = replay_page(
                record if analysis is None else annotated(analysis),
                name,
                links={"Records": "/records/"} if path.startswith("/records/") else {},
                play_on=f"/records/{name}/play" if owner else "",
                analysis=analysis,
                analyse=f"{path}/analysis",
                assets=_ASSETS,
            )
            with self._changing:
                self._replays[key] = content
                while len(self._replays) > _PAGES:
                    self._replays.popitem(last=False)
        return content

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
        return RedirectResponse("/records/", 303)

    async def play(self, request: Request) -> Response:
        """Let people play on from a position of a record that is kept, or of a finished table."""
        name = request.path_params["record"]
        return await self.play_on(request, lambda: self._record(name))

    async def play_on(self, request: Request, find: Callable[[], GameRecord]) -> Response:
        """Show the form for playing on from a position; make the table if it is sent.

        See `miai.web.sections.PlayOn`.
        """
        entered = await entered_in(request) if request.method == "POST" else None
        return await to_thread.run_sync(self._play, request, find, entered)

    def _play(
        self, request: Request, find: Callable[[], GameRecord], sent: dict[str, str] | None
    ) -> Response:
        record = find()
        state, moves = _position(record, request.query_params.get("ply", ""))
        mistakes: dict[str, str] = {}
        if sent is not None:
            try:
                table = self._table(record, len(moves), sent, request.state.browser)
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
            action=f"{request.url.path}?ply={len(moves)}",
            heading=f"Play on: {record.game}",
            notes=notes,
        )

    def _table(
        self, record: GameRecord, plies: int, entered: Mapping[str, str], browser: str
    ) -> GameTable:
        own = {key: value for key, value in entered.items() if not key.startswith("game.")}
        parameters = dict(record.game_parameters)
        programs = self._tables.programs
        setting = setting_of(
            record.game, own, browser=browser, programs=programs, parameters=parameters
        )
        return self._tables.new(setting, earlier=record.moves[:plies])

    def _record(self, name: str) -> GameRecord:
        """Return a record, or a finished game of a table. Raises `HTTPException` for neither."""
        try:
            record = self._shelf.get(name)
            if record is None and (table := self._tables.get(name)) is not None:
                record = table.record
        except MiaiError as error:
            raise HTTPException(409, one_line(str(error))) from error
        if record is None:
            raise HTTPException(404, "There is no such record.")
        return record


def _position(record: GameRecord, ply: str) -> tuple[State, list[Any]]:
    """Return the state after a number of plies, and the moves that led to it.

    Raises `HTTPException` if there is no such position, or the game is over there.
    """
    if not (ply.isascii() and ply.isdigit() and len(ply) < 8) or int(ply) > len(record.moves):
        raise HTTPException(
            404, f"There is no such position; give a ply from 0 to {len(record.moves)}."
        )
    moves = record.moves[: int(ply)]
    try:
        refuse_opened("game", record.game, record.game_parameters, record.game, "parameters")
        state = load_game(record.game, **record.game_parameters).new_initial_state()
        for move in moves:
            state.apply_action(move.action)
    except (MiaiError, ValueError) as error:
        raise HTTPException(409, one_line(str(error))) from error
    if pending := len(state.pending_actions()):  # nobody may learn what another chooses
        return _position(record, str(len(moves) - pending))
    if state.is_terminal():
        raise HTTPException(
            409, f"The game is over after ply {len(moves)}: play on from an earlier position."
        )
    return state, moves
