"""The pages and what they ask the server for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from anyio import to_thread
from markupsafe import Markup
from sse_starlette import EventSourceResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from miai.agent import Decision
from miai.api import game_names
from miai.errors import ConfigError, MiaiError, UnknownComponentError
from miai.pages.replay_page import replay_page
from miai.plain import dumps, loads, one_line
from miai.plugins.kinds import AGENT, GAME
from miai.plugins.loader import registry
from miai.web.guard import Browsers, enter
from miai.web.lobby import (
    FormError,
    agents_of,
    entered_in,
    fields_of,
    form_page,
    picture_of,
    players_of,
    setting_of,
    title_of,
)
from miai.web.tables import GameTable, TableSet, described
from miai.web.templating import TYPES, assets, page

_HOUR = 3600


class Pages:
    """The server's pages.

    Args:
      tables: the games.
      browsers: those that are known; guests are added.
    """

    def __init__(self, tables: TableSet, browsers: Browsers) -> None:
        self._tables, self._browsers = tables, browsers
        self.routes = [
            Route("/", self.lobby),
            Route("/assets/{name}", assets("miai.web", "miai.pages")),
            Route("/games/{game}", self.new_game, methods=["GET", "POST"]),
            Route("/games/{game}/picture.svg", self.picture),
            Route("/games/{game}/players/{player:int}/{agent}", self.agent_fields),
            Route("/invitations/{table}/{key}", self.accept, methods=["GET", "POST"]),
            Route("/tables/{table}", self.table),
            Route("/tables/{table}/events", self.events),
            Route("/tables/{table}/answers", self.answer, methods=["POST"]),
            Route("/tables/{table}/hints", self.hint, methods=["POST"]),
            Route("/tables/{table}/analysis", self.analysis),
            Route("/tables/{table}/estimate", self.estimate),
            Route("/tables/{table}/pace", self.pace, methods=["POST"]),
            Route("/tables/{table}/invitations/{player:int}", self.invite, methods=["POST"]),
            Route("/tables/{table}/replay", self.replay),
        ]

    # -- the lobby -----------------------------------------------------------------------------

    async def lobby(self, request: Request) -> Response:
        """Show the installed games and the latest tables."""
        latest = await to_thread.run_sync(self._tables.latest)
        # Games of other frameworks, whose names begin with that of the framework, come last.
        names = await to_thread.run_sync(game_names)
        games = sorted(names, key=lambda name: (":" in name, name))
        found = [registry().get(GAME, name) for name in games]
        played = {table.setting.game for table in latest}
        own = request.state.browser
        return page(
            "lobby.html",
            scripts=["lobby.js"],
            games=[
                {
                    "name": game.name,
                    "title": title_of(game.name),
                    "summary": game.summary,
                    "plugin": game.plugin,
                    "lately": game.name in played,
                }
                for game in found
            ],
            plugins=sorted({game.plugin for game in found}),
            going=[
                _summary(table)
                for table in latest
                if table.player_of(own) >= 0 and table.stage not in ("over", "failed")
            ],
            tables=[_summary(table) for table in latest],
        )

    async def picture(self, request: Request) -> Response:
        """Send the beginning of a game as a picture."""
        name = _game(request)
        svg = await to_thread.run_sync(picture_of, name)
        return Response(svg, media_type=TYPES["svg"], headers={"cache-control": f"max-age={_HOUR}"})

    async def new_game(self, request: Request) -> Response:
        """Show the form of a new game; make the table if it is sent."""
        game = _game(request)
        entered: dict[str, str] = {}
        mistakes: dict[str, str] = {}
        if request.method == "POST":
            entered = await entered_in(request)
            try:
                table = await to_thread.run_sync(self._make, game, entered, request.state.browser)
                return RedirectResponse(f"/tables/{table.id}", 303)
            except FormError as error:
                mistakes = error.mistakes
            except (MiaiError, OSError) as error:
                mistakes = {"": one_line(str(error))}
        programs = self._tables.programs
        return await to_thread.run_sync(form_page, game, entered, mistakes, programs)

    def _make(self, game: str, entered: dict[str, str], browser: str) -> GameTable:
        programs = self._tables.programs
        return self._tables.new(setting_of(game, entered, browser=browser, programs=programs))

    async def agent_fields(self, request: Request) -> Response:
        """Send the fields of an agent's parameters, for the form."""
        game, agent = _game(request), request.path_params["agent"]
        try:
            component = registry().get(AGENT, agent, game=game)
            prefix = f"players.{request.path_params['player']}"
            programs = self._tables.programs
            if agent not in {known.name for known in agents_of(game, programs=programs)}:
                raise ConfigError(f"{agent} has no form without --allow-programs")
            fields = await to_thread.run_sync(fields_of, component, game, prefix, {}, {}, programs)
        except MiaiError as error:
            return page("fields.html", fields=[], problem=one_line(str(error)), status=404)
        return page("fields.html", fields=fields, problem="")

    # -- a table -------------------------------------------------------------------------------

    async def accept(self, request: Request) -> Response:
        """Show an invitation, which a preview of the link leaves alone, or sit down by it."""
        table = await self._find(request)
        if table.player_of(request.state.browser) >= 0:
            return RedirectResponse(f"/tables/{table.id}", 303)
        player = table.invited(request.path_params["key"])
        if player < 0 or request.method == "GET":
            name = players_of(table.game)[player] if player >= 0 else ""
            values = {"table": table.id, "game": table.setting.game, "player": name}
            return page("invitation.html", owner=False, status=200 if name else 410, **values)
        table.setting.chairs[player].invitation = ""  # before anybody else has a turn
        cookie, browser = self._browsers.admit(request.state.cookie, table=table.id)
        await to_thread.run_sync(table.sit, player, browser)
        return enter(cookie, f"/tables/{table.id}")

    async def table(self, request: Request) -> Response:
        """Show a game: to a player its own side, to others what everybody may see."""
        name, browser = request.path_params["table"], request.state.browser
        values = await to_thread.run_sync(self._tables.stored_page, name, browser)
        if values is None:
            table = await self._find(request)
            values = await to_thread.run_sync(table.page, table.player_of(browser))
        for key in ("definitions", "legend", "picture"):
            values[key] = Markup(values[key])  # noqa: S704 - by an installed renderer
        return page(
            "table.html",
            scripts=["board.js", "table.js"],
            table=name,
            owner=request.state.owner,
            **values,
        )

    async def events(self, request: Request) -> Response:
        """Send what happens at a table as server-sent events."""
        table = await self._find(request)
        seat = table.player_of(request.state.browser)
        await to_thread.run_sync(self._go_on, table)
        return EventSourceResponse(_events(table, seat), ping=15)

    async def answer(self, request: Request) -> Response:
        """Take a player's move, its resignation, or its wish to take a move back."""
        table = await self._find(request)
        player, said = table.player_of(request.state.browser), await _said(request)
        if player < 0:
            return _refused("you only look on here", 403)
        if table.seat(player) is None:
            return _refused("the game does not go on", 409)
        if said is None:
            return _refused("send an object of JSON", 400)
        try:
            await to_thread.run_sync(_answer, table, player, said)
        except ConfigError as error:
            return _refused(str(error), 409)
        return JSONResponse({})

    async def hint(self, request: Request) -> Response:
        """Send a hint to a player on its turn."""
        table = await self._find(request)
        if table.player_of(request.state.browser) < 0:
            return _refused("you only look on here", 403)
        return await self._told(request, GameTable.advise)

    async def analysis(self, request: Request) -> Response:
        """Send the values over a game and what an agent thought last."""
        return await self._told(request, GameTable.analyse)

    async def estimate(self, request: Request) -> Response:
        """Send what a player may infer from its observations."""
        return await self._told(request, GameTable.estimate)

    async def _told(
        self, request: Request, ask: Callable[[GameTable, int], Mapping[str, Any]]
    ) -> Response:
        table = await self._find(request)
        try:
            seat = table.player_of(request.state.browser)
            return JSONResponse(await to_thread.run_sync(ask, table, seat))
        except MiaiError as error:
            return _refused(one_line(str(error)), 409)

    async def pace(self, request: Request) -> Response:
        """Pause a game between agents, let it make one move, or let it go on."""
        table = await self._find(request)
        if not request.state.owner:
            return _refused("you only look on here", 403)
        kind = (await _said(request) or {}).get("kind")
        if kind not in ("pause", "step", "continue"):
            return _refused("say pause, step or continue", 400)
        try:
            await to_thread.run_sync(
                lambda: table.set_pace(paused=kind != "continue", step=kind == "step")
            )
        except ConfigError as error:
            return _refused(str(error), 409)
        return JSONResponse({})

    async def invite(self, request: Request) -> Response:
        """Return the address by which somebody else can sit down."""
        table = await self._find(request)
        player = request.path_params["player"]
        if not request.state.owner or player not in table.empty_chairs:
            return _refused("there is no empty chair", 409)
        key = await to_thread.run_sync(table.invite, player)
        address = request.url.replace(path=f"/invitations/{table.id}/{key}", query="")
        return JSONResponse({"address": str(address)})

    async def replay(self, request: Request) -> Response:
        """Show a finished game as a page that can be kept."""
        table = await self._find(request)
        record = table.record
        if record is None or request.state.owner:
            return RedirectResponse(f"/{'tables' if record is None else 'records'}/{table.id}", 303)
        links = {"The game": f"/tables/{table.id}"}
        content = await to_thread.run_sync(lambda: replay_page(record, table.id, links=links))
        return Response(content, media_type="text/html", headers={"content-security-policy": ""})

    async def _find(self, request: Request) -> GameTable:
        try:
            table = await to_thread.run_sync(self._tables.get, request.path_params["table"])
        except MiaiError as error:
            raise HTTPException(409, one_line(str(error))) from error
        if table is None:
            raise HTTPException(404, "There is no such game.")
        return table

    def _go_on(self, table: GameTable) -> None:
        try:
            self._tables.resume(table)
        except MiaiError as error:
            table.problem = one_line(str(error))


def _game(request: Request) -> str:
    name: str = request.path_params["game"]
    try:
        component = registry().get(GAME, name)
    except UnknownComponentError as error:
        raise HTTPException(404, one_line(str(error))) from error
    if component.needs_parameters:
        raise HTTPException(404, f"{name} is not played here: use `miai play` or a config")
    return component.name


async def _said(request: Request) -> dict[str, Any] | None:
    """Return the object of JSON that a request sends; None if it sends anything else."""
    try:
        said = loads(await request.body())
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _answer(table: GameTable, player: int, said: dict[str, Any]) -> None:
    """Pass an answer on. Raises `ConfigError` if it cannot be taken."""
    seat, number, action = table.seat(player), said.get("number"), said.get("action")
    if seat is None or type(number) is not int:
        raise ConfigError("the position has changed: look again")
    kind = said.get("kind")
    if kind == "undo":
        table.take_back(player)
    elif kind == "resign":
        seat.answer(number, Decision(-1, resign=True))
    elif kind == "move" and type(action) is int:
        seat.answer(number, Decision(action))
    elif kind == "typed" and isinstance(text := said.get("text"), str):
        raise ConfigError(seat.why_not(text[:80]))
    else:
        raise ConfigError("say a move, resign or undo")


async def _events(table: GameTable, seat: int) -> AsyncIterator[dict[str, str]]:
    with table.channels[seat].listen() as queue:
        news = await to_thread.run_sync(table.news, seat)
        yield {"data": dumps(news)}
        while True:
            yield {"data": await queue.get()}


def _refused(reason: str, status: int) -> Response:
    return JSONResponse({"problem": reason}, status)


def _summary(table: GameTable) -> dict[str, str]:
    players = ", ".join(
        f"{name}: {described(chair.agent)}"
        for name, chair in zip(players_of(table.game), table.setting.chairs, strict=True)
    )
    return {
        "id": table.id,
        "title": title_of(table.setting.game),
        "players": players,
        "stage": "in progress" if table.stage in ("playing", "suspended") else table.stage,
        "created": table.setting.created[:16].replace("T", " "),
    }
