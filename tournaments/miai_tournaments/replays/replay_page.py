"""A game as one page: slider, keys, everybody's view, and what the agents said."""

from __future__ import annotations

from collections.abc import Sequence

from miai.api import load_game
from miai.errors import MiaiError, RecordError
from miai.game import Game
from miai.record import GameRecord, MoveRecord
from miai_tournaments.pages.document import document
from miai_tournaments.pages.markup import Markup, block, join, name, tag, text
from miai_tournaments.replays.album import Album
from miai_tournaments.replays.beliefs import WORLDS, Worlds
from miai_tournaments.replays.decisions import decision
from miai_tournaments.replays.downloads import downloads
from miai_tournaments.replays.frames import TRUTH, Frame, View, definitions, frames_of
from miai_tournaments.replays.graph import Point, first_players, value_graph
from miai_tournaments.replays.statistics import Said, said


def replay_page(record: GameRecord, game_id: str, *, worlds: int = WORLDS, report: str = "") -> str:
    """Return a recorded game as a page of HTML.

    Args:
      game_id: what it is called.
      worlds: most worlds of a player's belief that is shown; 0 for no beliefs.
      report: where the tournament's report is, as the page sees it; empty for none.

    Raises:
      RecordError: the record contradicts its game, or the game cannot be loaded.
    """
    game = _game(record)
    frames: list[Markup] = []
    points: list[Point] = []
    moves: list[Markup] = []
    album = Album()
    for number, frame in enumerate(frames_of(record, game, worlds=worlds)):
        found = None
        if frame.move is not None and frame.before is not None:
            found = said(frame.move, frame.before)
            if found.value is not None and frame.move.actor >= 0:
                value = first_players(found.value, frame.move.actor, game.info)
                points.append(Point(number, frame.move.actor, value))
        frames.append(_frame(number, frame, found, record, game, album))
        moves.append(_move_link(number, frame.move, game))
    graph = value_graph(points, len(frames), game.info)
    title = f"{text(game_id, 80)} \N{EN DASH} replay"
    return document(
        title,
        tag("svg", tag("defs", Markup(definitions(game))), class_="defs", aria_hidden="true"),
        tag("header", *_heading(record, game_id, game, report)),
        tag(
            "main",
            tag("div", _controls(len(frames), game), *frames, id="board"),
            tag("aside", _graph(graph, record, game), _moves(moves), *_files(record, game_id)),
            class_="replay",
        ),
        tag("footer", *_about(record)),
        styles=("page.css", "replay.css"),
        scripts=("replay.js",),
    )


def _game(record: GameRecord) -> Game:
    try:
        game = load_game(record.game, **record.game_parameters)
    except (MiaiError, TypeError) as error:
        raise RecordError(f"the game of the record cannot be loaded: {error}") from error
    if game.info.version != record.game_version:
        raise RecordError(
            f"recorded from {record.game} version {record.game_version}, shown with version "
            f"{game.info.version}: install the version of then"
        )
    return game


# -- the top ----------------------------------------------------------------------------------


def _heading(record: GameRecord, game_id: str, game: Game, report: str) -> list[Markup]:
    players = [
        join((name(player.name), " (", _side(game, seat), ")"))
        for seat, player in enumerate(record.players)
    ]
    result = f"{record.termination}"
    if record.detail:
        result += f": {record.detail}"
    returns = ", ".join(f"{value:g}" for value in record.returns)
    lines = [
        tag("h1", join(players, " against ")),
        tag(
            "p",
            text(f"{record.game}, game {game_id}", 160),
            tag("br"),
            text(result, 300),
            f"; returns {returns}",
            class_="dim",
        ),
    ]
    if report:
        lines.append(tag("p", tag("a", "The tournament's report", href=report)))
    return lines


def _side(game: Game, seat: int) -> str:
    return text(game.info.player_names[seat], 24)


def _controls(frames: int, game: Game) -> Markup:
    buttons = [
        tag("button", sign, type="button", data_go=go, title=told, aria_label=told)
        for sign, go, told in (
            ("\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}", "first", "first position (Home)"),
            ("\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", "back", "one back (left arrow)"),
            ("play", "play", "play and pause (space)"),
            ("\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}", "on", "one on (right arrow)"),
            ("\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}", "last", "last position (End)"),
        )
    ]
    slider = tag(
        "input",
        type="range",
        id="slider",
        min=0,
        max=frames - 1,
        value=0,
        aria_label="position",
    )
    place = tag("output", "", id="place", for_="slider")
    parts = [tag("div", *buttons, slider, place, class_="keys")]
    if not game.info.perfect_information:
        names = [("all", "all"), (TRUTH, TRUTH)]
        names += [(str(p), _side(game, p)) for p in range(game.num_players())]
        views = [
            tag("button", told, type="button", data_view=view, aria_pressed="false")
            for view, told in names
        ]
        parts.append(tag("div", "view: ", *views, class_="keys", role="group", aria_label="view"))
    return tag("div", *parts, id="controls", hidden=True)


# -- a position -------------------------------------------------------------------------------


def _frame(
    number: int,
    frame: Frame,
    found: Said | None,
    record: GameRecord,
    game: Game,
    album: Album,
) -> Markup:
    views = tag("div", *(_view(view, game, album) for view in frame.views), class_="views")
    return tag(
        "section",
        _caption(number, frame.move, game, record),
        views,
        *([decision(found)] if found is not None else []),
        class_="frame",
        id=f"p{number}",
    )


def _caption(number: int, move: MoveRecord | None, game: Game, record: GameRecord) -> Markup:
    if move is None:
        return tag("h2", "Before the first action")
    parts: list[str] = [f"{number}. ", _actor(move, game), " ", tag("b", text(move.text, 60))]
    if move.opening:
        parts.append(tag("small", " from the opening"))
    elif move.seconds is not None:
        parts.append(tag("small", f" {move.seconds:.3g} s"))
    heading = tag("h2", *parts)
    if number == len(record.moves):
        return join((heading, tag("p", text(_ending(record), 300), class_="ending")))
    return heading


def _ending(record: GameRecord) -> str:
    told = f"The game ends: {record.termination}"
    return f"{told}, {record.detail}" if record.detail else told


def _actor(move: MoveRecord, game: Game) -> str:
    return "chance" if move.actor < 0 else _side(game, move.actor)


def _view(view: View, game: Game, album: Album) -> Markup:
    single = game.info.perfect_information
    label = TRUTH if view.name == TRUTH else f"{_side(game, int(view.name))} knows"
    parts = [] if single else [tag("figcaption", label)]
    parts.append(_position(view.picture, view.text, album))
    if view.worlds is not None:
        parts.append(_worlds(view.worlds, album))
    return tag("figure", *parts, data_view=view.name)


def _position(picture: str, lines: str, album: Album) -> Markup:
    return album.picture(picture) if picture else tag("pre", block(lines), tabindex="0")


def _worlds(worlds: Worlds, album: Album) -> Markup:
    if worlds.count is None:
        return tag("p", "Belief: ", text(worlds.note, 200), class_="worlds")
    size = f"{worlds.count:,} possible world{'' if worlds.count == 1 else 's'}"
    told = size if worlds.complete else f"a sample of {size}"
    parts: list[Markup] = [
        tag("p", "Belief: ", told, class_="worlds", data_worlds=str(worlds.count))
    ]
    if worlds.picture:
        parts.append(album.picture(worlds.picture))
    elif worlds.certain and worlds.count > 1:
        parts.append(tag("pre", block(worlds.certain), class_="certain", tabindex="0"))
    return tag("div", *parts, class_="belief")


# -- the side ---------------------------------------------------------------------------------


def _graph(graph: Markup | None, record: GameRecord, game: Game) -> Markup:
    if graph is None:
        return Markup("")
    whose = (
        f"for {_side(game, 0)}" if game.info.utility_sum is not None else "each for whoever said it"
    )
    names = [
        tag(
            "li",
            tag(
                "svg",
                tag("line", class_="line", x1=0, x2=34, y1=6, y2=6),
                viewBox="0 0 34 12",
                class_=f"s{seat}",
                aria_hidden="true",
            ),
            name(player.name, 24),
        )
        for seat, player in enumerate(record.players)
    ]
    legend = tag("ul", *names, class_="legend")
    return tag("section", tag("h2", f"Values, {whose}"), graph, legend)


def _move_link(number: int, move: MoveRecord | None, game: Game) -> Markup:
    told = "start" if move is None else text(move.text, 40)
    side = "" if move is None else f"a{move.actor}" if move.actor >= 0 else "chance"
    title = None if move is None else _actor(move, game)
    return tag("a", told, href=f"#p{number}", class_=side or None, title=title)


def _moves(moves: Sequence[Markup]) -> Markup:
    items = [tag("li", move) for move in moves]
    return tag("section", tag("h2", "Moves"), tag("ol", *items, id="moves", start="0"))


def _files(record: GameRecord, game_id: str) -> list[Markup]:
    items = []
    for file in downloads(record, text(game_id, 200)):
        if file.uri:
            link = tag("a", file.file, href=file.uri, download=file.file)
            items.append(tag("li", link, f" ({file.format})"))
        else:
            items.append(tag("li", f"{file.format}: ", text(file.why, 200), class_="note"))
    return [tag("section", tag("h2", "Files"), tag("ul", *items, class_="files"))]


def _about(record: GameRecord) -> list[Markup]:
    versions = ", ".join(f"{package} {version}" for package, version in record.versions.items())
    agents = "; ".join(f"{p.name}: {p.agent} {p.version}".rstrip() for p in record.players)
    return [
        tag("p", text(f"Begun {record.started}, seed {record.seed}. {agents}.", 400)),
        tag("p", text(versions, 400)),
    ]
