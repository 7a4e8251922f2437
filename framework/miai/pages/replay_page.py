"""One game as a page: every position, what each player knew, and what its search recorded."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import atan2, degrees, hypot
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from miai.analysis.analysis import Analysis, Outlook
from miai.analysis.notes import line_texts, lost_text, summary_texts
from miai.api import record_format, recorded_game, renderer_for
from miai.errors import ConfigError, MiaiError, RecordError
from miai.game import Game, GameInfo
from miai.information import PlayerView
from miai.markup import number, tag
from miai.pages import charts
from miai.pages.document import Column, Table, printable_block
from miai.pages.document_page import table_markup
from miai.pages.layout import Assets, environment, inlined, name, text
from miai.pages.replay_frames import (
    ESTIMATE,
    MOST_DRAWN,
    TRUTH,
    WORLDS,
    Candidate,
    Frame,
    FrameView,
    ReplayDecision,
    ShownBelief,
    decision_of,
    definitions,
    frames_of,
    truth_of,
)
from miai.playing.replay import state_at
from miai.plugins.loader import registry
from miai.record import GameRecord, MoveRecord, Termination, ending_text
from miai.render import Clickable, ExplainedRenderer, action_text, estimate_of
from miai.values import Evaluation, ValueScale, ValueUnit


class PackedPositions:
    """The positions of a page, which its script shows one at a time.

    They are kept as pieces of HTML, each once, in a compressed text. A whole game then takes a
    tenth of its size as markup, and a browser builds the elements of one position only.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}
        self._frames: list[tuple[list[int], int, int]] = []

    def add(self, position: Sequence[Markup], decision: Markup, back: int) -> None:
        """Add a position, in pieces; what was recorded about it; and which one is before it."""
        pieces = [self._number(piece) for piece in position]
        self._frames.append((pieces, self._number(decision), back))

    def packed(self) -> str:
        """Return all positions as base64 of a zlib stream of JSON, which contains no markup."""
        document = {"pieces": list(self._numbers), "frames": self._frames}
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii")

    def _number(self, piece: str) -> int:
        return self._numbers.setdefault(str(piece), len(self._numbers))


def decision_markup(decision: ReplayDecision, info: GameInfo) -> Markup:
    """Return what an agent recorded about a decision: value, line, candidates, figures."""
    parts: list[Markup] = []
    if decision.evaluation is not None:
        value = tag("b", decision.evaluation.text(info))
        parts.append(tag("p", value, " for the player who moved"))
    if decision.line:
        line = text(" ".join(decision.line), 400)
        parts.append(tag("p", "expected: ", line, class_="line-of-play"))
    if decision.candidates:
        parts.append(_candidates(decision.candidates, decision.unit, info))
    if decision.figures:
        figures = "; ".join(f"{key} {value}" for key, value in decision.figures)
        parts.append(tag("p", text(figures, 1000), class_="note"))
    return tag("div", *parts, class_="said") if parts else Markup()


def _candidates(candidates: Sequence[Candidate], unit: ValueUnit, info: GameInfo) -> Markup:
    values = [None if c.value is None else Evaluation(c.value, unit) for c in candidates]
    scales = {value.scale(info).name for value in values if value is not None}
    figures = [
        ("visits", ["" if c.visits is None else f"{c.visits:g}" for c in candidates]),
        (
            scales.pop() if len(scales) == 1 else "value",
            ["" if v is None else v.number_text(info) for v in values],
        ),
        ("prior", ["" if c.prior is None else f"{c.prior:.3f}" for c in candidates]),
    ]
    figures = [(header, cells) for header, cells in figures if any(cells)]
    columns = (Column("considered", align="left"), *(Column(header) for header, _ in figures))
    texts = [text(candidate.text, 40) for candidate in candidates]
    rows = tuple(zip(texts, *(cells for _, cells in figures), strict=True))
    return table_markup(Table("Considered", columns, rows, sortable=False))


PAGE: Final = "page"
"""The name of this page among the formats of a server's files."""
LARGEST = 1_000_000
"""Maximum size of a file in a page, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """The game as a file in one record format.

    Attributes:
      format: the record format.
      file: name of the file.
      uri: its address, or a ``data:`` address with its content; empty if it cannot be written.
      why: reason why it cannot be written.
    """

    format: str
    file: str
    uri: str = ""
    why: str = ""


def downloads(record: GameRecord, stem: str, *, live: str = "") -> list[Download]:
    """Return a game in every record format for it, the framework's own last.

    Args:
      stem: the files' name without suffix.
      live: as of `replay_values`; a server has this page as a file, too.
    """
    if live:
        names, game = format_names(record.game), record.game
        files = {name: record_format(name, game).suffix for name in names} | {PAGE: ".html"}
        return [
            Download(format=name, file=stem + suffix, uri=f"{live}/files/{name}")
            for name, suffix in files.items()
        ]
    return [_download(record, name, stem) for name in format_names(record.game)]


def format_names(game: str) -> list[str]:
    """Return the record formats for a game, the framework's own last."""
    components = registry().components("record-format", game=game)
    return sorted({c.name for c in components}, key=lambda name: (name == "jsonl", name))


def _download(record: GameRecord, name: str, stem: str) -> Download:
    written = record_format(name, record.game)
    file = f"{stem}{written.suffix}"
    try:
        content = written.write(record).encode("utf-8")
    except MiaiError as error:  # what a format cannot express, such as a game in which black begins
        return Download(format=name, file=file, why=str(error))
    if len(content) > LARGEST:
        # The page would have the file twice, as positions and as a download.
        return Download(format=name, file=file, why=f"{len(content)} bytes, more than {LARGEST}")
    coded = base64.b64encode(content).decode("ascii")
    return Download(format=name, file=file, uri=f"data:application/octet-stream;base64,{coded}")


_WIDTH, _HEIGHT = 350.0, 134.0


@dataclass(frozen=True, slots=True)
class GraphPoint:
    """A player's value of the position before an action.

    Attributes:
      frame: number of the frame that the action led to.
      player: whose estimate it is.
      value: the first player's value, as it is shown.
    """

    frame: int
    player: int
    value: float


def value_graph(points: Sequence[GraphPoint], frames: int, scale: ValueScale) -> Markup:
    """Return the values of one scale over the plies.

    The axis spans the scale's bounds, or the ordinary values themselves if it has none or some are
    outside. Values beyond the axis are triangles at its edge, with the value as their title. The
    page's script moves the element of class ``cursor``.
    """
    low, high = _bounds([point.value for point in points], scale)
    players = sorted({point.player for point in points})
    # One mark a player: values of two players are two opinions, not one curve.
    panel = charts.Plot(
        title="",
        x=charts.Axis(within=(0.0, float(max(1, frames - 1))), space=0.0, whole=True, grid=False),
        y=charts.Axis(within=(low, high), space=0.0),
        marks=[_Values([p for p in points if p.player == n], low, high, scale) for n in players],
        height=_HEIGHT,
        width=_WIDTH,
    )
    return charts.plot_chart(
        panel,
        tag("line", class_="cursor", x1=0, x2=0, y1=0, y2=_HEIGHT),
        style="graph",
        label=f"The players' values ({scale.name}) over the plies of the game",
        data_left=0,
        data_right=_WIDTH,
    )


def _bounds(values: Sequence[float], scale: ValueScale) -> tuple[float, float]:
    # A scale without bounds, or with values beyond them, is fitted to the ordinary values: that of
    # a captured king would flatten all others.
    low, high = scale.low, scale.high
    if low is None or high is None or min(values) < low or max(values) > high:
        ordinary = scale.ordinary
        return charts.widened([v for v in values if ordinary is None or abs(v) <= ordinary] + [0.0])
    return low, high


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of one player, those beyond the axis as triangles at its edge."""

    points: Sequence[GraphPoint]
    low: float
    high: float
    scale: ValueScale
    label: str = ""

    def values(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return nothing: the axes have their ends."""
        return (), ()

    def draw(self, x: Callable[[float], float], y: Callable[[float], float]) -> Markup:
        """Return the line with a dot for each value."""
        places = [(number(x(p.frame)), number(y(p.value))) for p in self.points]
        line = " ".join(f"{across},{up}" for across, up in places)
        inside = [self.low <= p.value <= self.high for p in self.points]
        shown = compress(places, inside)
        beyond = (p for p, within in zip(self.points, inside, strict=True) if not within)
        return tag(
            "g",
            tag("polyline", class_="line", points=line),
            tag("path", class_="dots", d="".join(f"M{across} {up}h0" for across, up in shown)),
            *(self._triangle(p, number(x(p.frame)), number(y(p.value))) for p in beyond),
            class_=charts.series_class(self.points[0].player),
        )

    def sign(self) -> Markup:
        """Return nothing: the legend names the players."""
        return Markup()

    def _triangle(self, point: GraphPoint, x: str, y: str) -> Markup:
        height = 7 if point.value > self.high else -7
        title = f"{point.value:+g}{self.scale.suffix} after ply {point.frame}"
        return tag("path", tag("title", title), class_="fill", d=f"M{x} {y}l-4 {height}h8z")


def replay_page(
    record: GameRecord,
    game_id: str,
    *,
    worlds: int = WORLDS,
    report: str = "",
    links: Mapping[str, str] | None = None,
    analysis: Analysis | None = None,
    analyse: str = "",
    assets: Assets | None = None,
) -> str:
    """Return a recorded game as a page of HTML.

    Without its script the page shows the last position and the list of moves.

    Args:
      game_id: identity of the game.
      worlds: maximum size of a player's belief; 0 for no beliefs.
      report: relative path of the tournament's report; empty for none.
      links: addresses by text, for the heading.
      analysis: of the game, whose curve, mistakes and summary are shown; `record` is then that of
        `miai.analysis.notes.annotated`.
      analyse: address that tells where the analysis stands and lets it go on, for the script of
        `assets`; empty for none.
      assets: styles and scripts; None for those of a page on disk.

    Raises:
      RecordError: the record contradicts its game, or the game cannot be loaded.
      ConfigError: the game is a program that may not run, see `miai.api.recorded_game`.
    """
    addresses = ({"The tournament's report": report} if report else {}) | dict(links or {})
    values = replay_values(record, game_id, worlds=worlds, links=addresses, analysis=analysis)
    assets = assets or inlined(styles=("page.css", "replay.css"), scripts=("replay.js",))
    values["analyse"] = analyse
    return environment().get_template("replay.html").render(assets=assets, **values)


def replay_values(
    record: GameRecord,
    game_id: str,
    *,
    worlds: int = WORLDS,
    links: Mapping[str, str] | None,
    analysis: Analysis | None,
    live: str = "",
) -> dict[str, Any]:
    """Return the variables of the template ``replay.html``, as `replay_page`.

    Args:
      live: address of the record at a server, which writes its files and draws its variations when
        they are asked for; empty for a page on disk.
    """
    game = recorded_game_of(record)
    drawn = 0 if live else MOST_DRAWN
    outlooks = {} if analysis is None else analysis.outlooks
    frames = list(_shown_frames(record, game, worlds=worlds, drawn=drawn, outlooks=outlooks))
    backs = [0, *range(len(record.moves)), *(position for position, _ in record.variations)]
    notes = _notes(record, [frame.move for frame in frames])
    positions = PackedPositions()
    for frame, note, back in zip(frames, notes, backs, strict=False):
        positions.add(frame.position, note + frame.decision, back)
    count = len(record.moves) + 1
    players = [
        Markup("%s (%s)") % (name(player.name), _actor_name(seat, game.info))
        for seat, player in enumerate(record.players)
    ]
    if analysis is None:
        graphs = graph_sections(record.moves, game, players=players)
    else:
        graphs = analysis_sections(record, analysis, players)
    return {
        "title": text(game_id, 80),
        "definitions": Markup(definitions(game)),  # noqa: S704 - by an installed renderer
        "heading": _heading(record, game_id, game, links or {}, players),
        "live": live,
        "analyse": live and f"{live}/analysis",
        # The last ply at which the game is not over by its rules.
        "open_plies": len(record.moves) - (record.termination is Termination.TERMINAL),
        "single": game.info.perfect_information,
        "controls": _controls(count, game, estimate=bool(outlooks)),
        "position": Markup().join(frames[count - 1].position),
        "decision": notes[count - 1] + frames[count - 1].decision,
        "positions": positions.packed(),
        "graphs": graphs,
        "moves": moves_markup(record.moves, game.info),
        "asides": [*_legend(game), _files(record, game_id, live)],
        "about": _about(record),
    }


class _ShownFrame(NamedTuple):
    """A frame as markup: its position in pieces, what led to it, and what that player thought."""

    position: list[Markup]
    decision: Markup
    move: MoveRecord | None


def _shown_frames(
    record: GameRecord, game: Game, *, worlds: int, drawn: int, outlooks: Mapping[int, Outlook]
) -> Iterator[_ShownFrame]:
    marks = _marks(record, game)
    frames = frames_of(record, game, worlds=worlds, drawn=drawn, outlooks=outlooks)
    for ply, frame in enumerate(frames):
        decision = Markup()
        if frame.move is not None and frame.before is not None:
            recorded = decision_of(frame.move.statistics, frame.before)
            decision = decision_markup(recorded, game.info)
        position = _position(ply, frame, record, game, marks.get(ply, Markup()))
        yield _ShownFrame(position if frame.views else [_NOT_DRAWN], decision, frame.move)


def branch_position(record: GameRecord, game: Game, number: int) -> Markup:
    """Return a position of a variation, as it is shown. Raises `RecordError`."""
    before, action = record.variations[number - len(record.moves) - 1]
    state = state_at(record, game, before)
    move = MoveRecord(
        ply=len(state.history()),
        actor=int(state.next_actor()),
        action=action,
        text=action_text(state, action),
    )
    views = (truth_of(renderer_for(game), state.child(action)),)
    frame = Frame(move=move, before=None, views=views)
    marks = _marks(record, game).get(number, Markup())
    return Markup().join(_position(number, frame, record, game, marks))


def recorded_game_of(record: GameRecord) -> Game:
    """Return the game of a record, which has to be of the installed version.

    Raises:
      RecordError: the game cannot be loaded, or is of another version.
      ConfigError: the game is a program that may not run, see `miai.api.recorded_game`.
    """
    try:
        game = recorded_game(record.game, record.game_parameters)
    except ConfigError:
        raise
    except (MiaiError, TypeError) as error:
        raise RecordError(f"the game of the record cannot be loaded: {error}") from error
    if game.info.version != record.game_version:
        raise RecordError(
            f"recorded with {record.game} version {record.game_version}, installed is version "
            f"{game.info.version}; install the recorded version"
        )
    return game


# -- the top ----------------------------------------------------------------------------------


def _warnings(record: GameRecord) -> list[Markup]:
    """Return what the reader of a file said of it."""
    warnings = record.tags.get("warnings")
    if not isinstance(warnings, list) or not warnings:
        return []
    said = "; ".join(map(str, warnings))
    return [tag("p", "The file: ", text(said, 600), class_="dim")]


def _heading(
    record: GameRecord, title: str, game: Game, links: Mapping[str, str], players: Sequence[Markup]
) -> list[Markup]:
    result = text(ending_text(record, game), 300)
    if record.termination is not Termination.UNFINISHED:
        result += f"; returns {', '.join(f'{value:g}' for value in record.returns)}"
    between = Markup(" against ") if len(players) == 2 else Markup(", ")
    lines = [
        tag("h1", between.join(players)),
        tag(
            "p",
            text(f"{record.game}, game {title}", 160),
            tag("br"),
            result,
            class_="dim",
        ),
        *_warnings(record),
    ]
    lines += [tag("p", tag("a", words, href=address)) for words, address in links.items()]
    return lines


def _controls(frames: int, game: Game, *, estimate: bool) -> Markup:
    buttons = [
        tag("button", sign, type="button", data_go=go, title=label, aria_label=label)
        for sign, go, label in (
            ("\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}", "first", "first position (Home)"),
            ("\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", "back", "one back (left arrow)"),
            ("play", "play", "play and pause (space)"),
            ("\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}", "on", "one on (right arrow)"),
            ("\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}", "last", "last position (End)"),
        )
    ]
    slider = tag(
        "input", type="range", id="slider", min=0, max=frames - 1, value=0, aria_label="position"
    )
    place = tag("output", "", id="place", for_="slider")
    parts = [tag("div", *buttons, slider, place, class_="keys")]
    names: list[tuple[str, Markup | str]] = []
    if not game.info.perfect_information:
        names = [("all", "all"), (TRUTH, TRUTH)]
        names += [(str(p), _actor_name(p, game.info)) for p in range(game.num_players())]
    elif estimate:
        names = [(TRUTH, "position"), (ESTIMATE, text(estimate_of(renderer_for(game)), 24))]
    if names:
        views = [
            tag("button", label, type="button", data_view=view, aria_pressed="false")
            for view, label in names
        ]
        parts.append(tag("div", "view: ", *views, class_="keys", role="group", aria_label="view"))
    return tag("div", *parts, id="controls", hidden=True)


# -- a position -------------------------------------------------------------------------------


_NOT_DRAWN: Final = tag("p", "This page does not draw the position.", class_="note not-drawn")


def _position(
    number: int, frame: Frame, record: GameRecord, game: Game, marks: Markup
) -> list[Markup]:
    """Return a position in pieces, which other positions may share.

    Args:
      marks: what is drawn over the truth.
    """
    style = "views single" if len(frame.views) == 1 else "views"
    return [
        _caption(number, frame.move, game, record),
        Markup('<div class="%s">') % style,
        *(_view(view, game, marks if view.name == TRUTH else Markup()) for view in frame.views),
        Markup("</div>"),
    ]


def _caption(number: int, move: MoveRecord | None, game: Game, record: GameRecord) -> Markup:
    if move is None:
        return tag("h2", "Before the first action")
    parts: list[str] = [
        f"{move.ply + 1}. ",
        _actor_name(move.actor, game.info),
        " ",
        tag("b", text(move.text, 60)),
    ]
    if number > len(record.moves):
        parts.append(tag("small", " in a variation"))
    elif move.opening:
        parts.append(tag("small", " from the opening"))
    elif move.seconds is not None:
        parts.append(tag("small", f" {_duration(move.seconds)}"))
    heading = tag("h2", *parts)
    if number == len(record.moves):
        ending = f"The game ends: {ending_text(record, game)}"
        if record.termination is Termination.UNFINISHED:
            ending = "The game is unfinished"
        return heading + tag("p", text(ending, 300), class_="ending")
    return heading


def _marks(record: GameRecord, game: Game) -> dict[int, Markup]:
    """Return the marks of positions as groups of SVG, for pictures with regions of their names."""
    renderer = renderer_for(game)
    if not record.marks or not isinstance(renderer, Clickable):
        return {}
    regions = renderer.clicks(PlayerView(game, 0)).regions
    boxes = {region.name: region.box for region in regions}
    drawn: dict[int, list[Markup]] = {}
    for position, place, sign in record.marks:
        if place in boxes:
            drawn.setdefault(position, []).append(_mark(sign, boxes[place], boxes.get(sign[1:])))
    return {position: tag("g", *each, class_="marks") for position, each in drawn.items()}


_PATHS: Final[Mapping[str, str]] = {
    "triangle": "M0-.3L.28.2H-.28z",
    "square": "M-.24-.24h.48v.48h-.48z",
    "circle": "M-.26 0a.26.26 0 1 0 .52 0a.26.26 0 1 0-.52 0z",
    "cross": "M-.22-.22l.44.44m0-.44l-.44.44",
    "dark": "M-.14-.14h.28v.28h-.28z",
    "light": "M-.14-.14h.28v.28h-.28z",
}
"""Signs round the middle of a region of size 1."""


def _mark(sign: str, box: Sequence[float], target: Sequence[float] | None) -> Markup:
    x, y, width, height = box
    size = min(width, height)
    place = f"translate({x + width / 2:g} {y + height / 2:g})scale({size:g})"
    if target is not None and sign[0] in ">-":
        across, down = (target[i] + target[i + 2] / 2 - box[i] - box[i + 2] / 2 for i in (0, 1))
        head = "m-.3-.2l.3.2l-.3.2" if sign[0] == ">" else ""
        turned = f"{place}rotate({degrees(atan2(down, across)):g})"
        line = f"M0 0H{hypot(across, down) / size:g}{head}"
        return tag("path", d=line, transform=turned, class_="mark")
    if sign in _PATHS:
        return tag("path", d=_PATHS[sign], transform=place, class_=f"mark {sign}")
    label = text(sign.removeprefix("="), 8)
    return tag("text", label, y=".2", transform=place, class_="mark")


def _view(view: FrameView, game: Game, marks: Markup) -> Markup:
    single = game.info.perfect_information
    if view.name == ESTIMATE:
        label = text(": ".join(filter(None, [estimate_of(renderer_for(game)), view.lead])), 80)
    elif view.name == TRUTH:
        label = "the position" if single else TRUTH
    else:
        label = f"{_actor_name(int(view.name), game.info)} knows"
    parts = [] if single and view.name == TRUTH else [tag("figcaption", label)]
    picture, end, behind = view.picture.rpartition("</svg>")
    picture = "".join((picture, str(marks), end, behind))
    parts.append(_drawn(picture, view.text, label=label))
    if view.worlds is not None:
        parts.append(_worlds(view.worlds))
    style = None if view.worlds is None else "believing"
    return tag("figure", *parts, data_view=view.name, class_=style)


_MOST_LISTED, _MOST_BRANCHES = 12, 50  # actions of a variation, and variations, where they begin
_SVG: Final = re.compile(r"<svg\b")


def _drawn(picture: str, lines: str, *, label: str) -> Markup:
    """Return a position with a label that is read aloud."""
    if picture:
        start = Markup('<svg aria-label="{}"').format(label)
        return Markup(_SVG.sub(lambda _: start, picture, count=1))  # noqa: S704 - a renderer's
    return tag("pre", printable_block(lines), tabindex="0")


def _worlds(worlds: ShownBelief) -> Markup:
    if worlds.count is None:
        return tag("p", "Belief: ", text(worlds.note, 200), class_="worlds")
    size = f"{worlds.count:,} possible world{'' if worlds.count == 1 else 's'}"
    label = size if worlds.complete else f"a sample of {size}"
    parts: list[Markup] = [
        tag("p", "Belief: ", label, class_="worlds", data_worlds=str(worlds.count))
    ]
    if worlds.picture:
        parts.append(_drawn(worlds.picture, "", label="Belief"))
    elif worlds.certain and worlds.count > 1:
        parts.append(tag("pre", printable_block(worlds.certain), class_="certain", tabindex="0"))
    return tag("div", *parts, class_="belief")


def comment_markup(said: str) -> Markup:
    """Return what somebody said of a position."""
    return tag("p", printable_block(said), class_="comment", dir="auto")


def branch_markup(number: int, words: Sequence[str]) -> Markup:
    """Return a link to the position that a variation's first action leads to, and its actions."""
    first, *rest = (text(word, 40) for word in words)
    link = tag("a", first, href=f"#p{number}")
    return tag("p", "variation: ", link, " ", " ".join(rest), class_="line-of-play")


def _notes(record: GameRecord, actions: Sequence[MoveRecord | None]) -> list[Markup]:
    """Return for each frame what was said of it, with links to the variations that begin there.

    Args:
      actions: what led to each frame.
    """
    notes: list[list[Markup]] = [[] for _ in actions]
    for position, comment in record.comments:
        if position < len(notes):
            notes[position].append(comment_markup(comment))
    behind: dict[int, list[int]] = {}
    for here, (position, _) in enumerate(record.variations, len(record.moves) + 1):
        behind.setdefault(position, []).append(here)
    for position, numbers in behind.items():
        # The first one within a variation is part of a line that is listed where it begins.
        branches = numbers if position <= len(record.moves) else numbers[1:]
        for here in branches[:_MOST_BRANCHES]:
            line = [here]
            while len(line) < _MOST_LISTED and line[-1] in behind:
                line.append(behind[line[-1]][0])
            words = [move.text for each in line if (move := actions[each]) is not None]
            notes[position].append(branch_markup(here, words))
        if (more := len(branches) - _MOST_BRANCHES) > 0:
            said = f"and {more} more: go to one of these, then down with the arrow key"
            notes[position].append(tag("p", said, class_="note"))
    return [Markup().join(parts) for parts in notes]


# -- the side ---------------------------------------------------------------------------------


def _duration(seconds: float) -> str:
    if seconds < 0.001:
        return "under 1 ms"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def graph_sections(
    moves: Sequence[MoveRecord], game: Game, *, players: Sequence[Markup], heading: str = "h2"
) -> list[Markup]:
    """Return a `value_graph` for each scale of the agents' values, with a heading and a legend.

    Args:
      players: the players' names for the legend.
      heading: tag of the heading, which says whose values they are.
    """
    values = [
        (ply, move.actor, value.of_first_player(move.actor, game.info))
        for ply, move in enumerate(moves, start=1)
        if move.actor >= 0 and (value := Evaluation.from_statistics(move.statistics)) is not None
    ]
    return _graphs(values, len(moves) + 1, game.info, players, heading)


def _graphs(
    values: Sequence[tuple[int, int, Evaluation]],
    frames: int,
    info: GameInfo,
    players: Sequence[Markup],
    heading: str = "h2",
    whose: str = "",
) -> list[Markup]:
    """Return the graphs of values at frames, of players, the first player's where comparable."""
    points: dict[ValueScale, list[GraphPoint]] = {}
    for frame, player, value in values:
        scale = value.scale(info)
        point = GraphPoint(frame, player, scale.number(value.value))
        points.setdefault(scale, []).append(point)
    comparable = info.num_players == 2 and info.utility_sum is not None
    whose = whose or (f"for {_actor_name(0, info)}" if comparable else "each for its own player")
    sections = []
    for scale, row in points.items():
        unit = f" in{scale.suffix}" if scale.suffix else ""
        title = tag(heading, f"{scale.name.capitalize()}{unit}, {whose}")
        legends = [charts.legend(players)] if players else []
        sections.append(tag("section", title, value_graph(row, frames, scale), *legends))
    return sections


def analysis_sections(
    record: GameRecord, analysis: Analysis, players: Sequence[Markup]
) -> list[Markup]:
    """Return an analysis for the side of a page: curve, mistakes and the players' summaries.

    Better lines are links to the variations of the annotated record.
    """
    info, frames = analysis.game.info, len(analysis.record.moves) + 1
    one = info.perfect_information and info.num_players == 2 and info.utility_sum is not None
    # One opinion is one curve; of a hidden game each player has its own.
    curve = [(ply, 0 if one else player, value) for ply, player, value in analysis.curve]
    truth = [(ply, 0, value) for ply, _, value in analysis.truth]
    whose = f"in the true position, for {_actor_name(0, info)}"
    graphs = _graphs(curve, frames, info, [] if one else players)
    graphs += _graphs(truth, frames, info, [], whose=whose)
    better = {judged.ply: texts for judged, texts in line_texts(analysis)}
    shown = {begin: frame for frame, begin in enumerate(record.variations, start=frames)}
    items = []
    for judged in analysis.mistakes():
        move = record.moves[judged.ply]
        link = tag("a", f"{judged.ply + 1}. {text(move.text, 40)}", href=f"#p{judged.ply + 1}")
        line: Markup | str = text(" ".join(better[judged.ply]), 200)
        if frame := shown.get((judged.ply, judged.assessment.line[0])):
            line = tag("a", line, href=f"#p{frame}")
        items.append(tag("li", link, f" {lost_text(judged, info)}; better: ", line))
    mistakes = tag("ol", *items) if items else tag("p", "none", class_="note")
    summaries = [
        tag("li", player, f": {', '.join(summary_texts(analysis, number))}")
        for number, player in enumerate(players)
    ]
    by = tag("p", "Judged by ", text(analysis.analyst, 200), class_="note")
    failure = [tag("p", text(analysis.failure, 400), class_="note")] if analysis.failure else []
    return [
        *graphs,
        tag("section", tag("h2", "Largest mistakes"), mistakes),
        tag("section", tag("h2", "Players"), tag("ul", *summaries), by, *failure),
    ]


def moves_markup(moves: Sequence[MoveRecord], info: GameInfo) -> Markup:
    """Return the moves as a table: a numbered row for each round, a column for each player.

    What a player does in one turn, such as to sense and to move, is one cell. Links lead to the
    position after the move, ``#p1`` for the first.
    """
    actors = [*([-1] if any(move.actor < 0 for move in moves) else []), *range(info.num_players)]
    rows: list[dict[int, list[Markup]]] = []
    last = -1
    for ply, move in enumerate(moves, start=1):
        actor = max(move.actor, -1)
        if actor < last or not rows:
            rows.append({})
        rows[-1].setdefault(actor, []).append(tag("a", text(move.text, 40), href=f"#p{ply}"))
        last = actor
    styles = ["chance" if actor < 0 else charts.series_class(actor) for actor in actors]
    heads = [
        tag("th", _actor_name(actor, info), scope="col", class_=style)
        for actor, style in zip(actors, styles, strict=True)
    ]
    start = tag("a", "start", href="#p0")
    lines = [tag("tr", tag("th", "0", scope="row"), tag("td", start, colspan=len(actors)))]
    for turn, row in enumerate(rows, start=1):
        cells = (tag("td", Markup(" ").join(row.get(actor, []))) for actor in actors)
        lines.append(tag("tr", tag("th", str(turn), scope="row"), *cells))
    head = tag("thead", tag("tr", tag("th", "#", scope="col"), *heads))
    return tag("table", head, tag("tbody", *lines))


def _actor_name(actor: int, info: GameInfo) -> str:
    return "chance" if actor < 0 else text(info.player_names[actor], 24)


def legend(game: Game) -> Markup:
    """Return a list of the signs in a game's pictures; empty if its renderer explains none."""
    renderer = renderer_for(game)
    if not isinstance(renderer, ExplainedRenderer):
        return Markup()
    items = [
        tag("li", Markup(sample), text(meaning, 120))  # noqa: S704 - by an installed renderer
        for sample, meaning in renderer.legend()
    ]
    return tag("ul", *items, class_="signs")


def _legend(game: Game) -> list[Markup]:
    signs = legend(game)
    return [tag("section", tag("h2", "Legend"), signs)] if signs else []


def _files(record: GameRecord, game_id: str, live: str) -> Markup:
    items = []
    for file in downloads(record, text(game_id, 200), live=live):
        if file.uri:
            link = tag("a", file.file, href=file.uri, download=file.file)
            items.append(tag("li", link, f" ({file.format})"))
        else:
            items.append(tag("li", f"{file.format}: ", text(file.why, 200), class_="note"))
    return tag("section", tag("h2", "Files"), tag("ul", *items, class_="files"))


def _about(record: GameRecord) -> list[str]:
    versions = ", ".join(f"{package} {version}" for package, version in record.versions.items())
    agents = "; ".join(
        f"{p.name}: {p.agent} {p.version}".rstrip() for p in record.players if p.agent
    )
    begun = f"Begun {record.started}, seed {record.seed}." if record.started else ""
    facts = " ".join(filter(None, [begun, agents and f"{agents}."]))
    return [text(line, 400) for line in (facts, versions) if line]
