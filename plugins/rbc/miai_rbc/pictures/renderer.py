"""The renderer of Reconnaissance Blind Chess: what a player knows, as text and as pictures."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, cast

import chess
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from miai import BeliefState, Game, PlayerView, State
from miai.markup import Attribute, tag
from miai.render import Clicks, Region, styled_board
from miai.squares import BLUE, FOG, INK, ORANGE, VERMILLION
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.kernels.board import NOTHING
from miai_rbc.pictures.board import (
    FRAME,
    PIECES,
    SIZE,
    SQUARE,
    box_round,
    corner,
    draw_board,
    frame,
    outline_of,
    shape_of,
    shapes,
)
from miai_rbc.rules.actions import (
    FIRST_UNDERPROMOTION,
    PASS,
    SENSE_NOTHING,
    action_name,
    move_name,
    move_of,
    square_name,
)
from miai_rbc.rules.game import BoardGame, BoardState, window
from miai_rbc.rules.knowledge import UNKNOWN, DarkKnowledge, Knowledge
from miai_rbc.rules.rows import piece_at

if TYPE_CHECKING:
    from rich.text import Text


# -- small pictures for pages: shapes are defined once and referred to -----------------------------

_STALE: Final = 0.45
"""The opacity of a piece that may have moved since it was seen."""
_FOG: Final[dict[str, Attribute]] = {"fill": FOG, "opacity": 0.75}
_BOARD: Final = "rbc-board-{}"


def draw_knowledge(knowledge: Knowledge) -> str:
    """Return what a player knows, its side below.

    Fog lies on squares that the opponent may have touched since they were seen; its pieces there
    are pale, with the number of the turn in which they were seen last, the first being 0. A cross
    is a piece of unknown kind. The window of the last sense is framed. The squares of the player's
    last move are blue, pale if the move was refused or cut short and they are those of the request.
    A ring is where the player lost a piece last.
    """
    player, board = knowledge.player, knowledge.own.board
    mine = board.occupied_co[player == 0]
    foggy = [s for s in chess.SQUARES if not mine >> s & 1 and s not in knowledge.fresh]
    parts = [tag("path", d=_path(foggy, player), **_FOG)] if foggy else []
    parts += _last_move(knowledge)
    if knowledge.lost:
        parts.append(_ring(*corner(player, knowledge.lost[-1][1])))
    parts += _pieces_of(board, mine, player)
    dates = []
    for square, sighting in knowledge.theirs.items():
        fresh = square in knowledge.fresh
        parts.append(_sighting(sighting.piece, square, player, None if fresh else _STALE))
        if not fresh:
            dates.append(_date(sighting.turn, *corner(player, square)))
    if dates:
        parts.append(tag("g", *dates, **_DATES))
    if knowledge.sensed is not None and (window := knowledge.sensed[0].window):
        parts.append(frame(player, chess.SquareSet(window)))
    return _svg(player, parts)


_DATES: Final[dict[str, Attribute]] = {
    "class_": "seen",
    "font_family": "sans-serif",
    "font_size": 12,
    "font_weight": "bold",
    "text_anchor": "end",
    "fill": INK,
}


def _date(turn: int, x: int, y: int) -> Markup:
    """Return a turn's number in the upper right corner of the square at x and y."""
    return tag("text", str(turn), x=x + SQUARE - 2, y=y + 11)


_REQUESTED, _TAKEN = 0.2, 0.45  # opacities of the squares of a move


def _last_move(knowledge: Knowledge) -> list[Markup]:
    """Return the squares of the player's last move, and pale ones if another was requested."""
    if knowledge.moved is None:
        return []
    requested, taken = knowledge.moved.requested, knowledge.moved.taken
    parts = []
    for move, name, opacity in ((requested, "requested", _REQUESTED), (taken, "moved", _TAKEN)):
        if move != NOTHING:
            path = _path((move & 63, move >> 6 & 63), knowledge.player)
            parts.append(tag("path", class_=name, d=path, fill=BLUE, opacity=opacity))
    return parts if requested != taken else parts[-1:]


def _ring(x: int, y: int) -> Markup:
    place = {"cx": x + SQUARE / 2, "cy": y + SQUARE / 2, "r": SQUARE / 2 - 2}
    return tag("circle", class_="lost", **place, fill="none", stroke=VERMILLION, stroke_width=3)


def _svg(player: int, parts: list[Markup]) -> str:
    board = tag("use", href=f"#{_BOARD.format(player)}")
    return str(tag("svg", board, *parts, viewBox=f"0 0 {SIZE} {SIZE}", role="img"))


def _pieces_of(board: chess.Board, squares: int, player: int) -> list[Markup]:
    pieces = board.piece_map(mask=squares)
    return [_shape(shape_of(piece.symbol()), square, player) for square, piece in pieces.items()]


def _shape(name: str, square: int, player: int, **attributes: Attribute) -> Markup:
    x, y = corner(player, square)
    return tag("use", href=f"#{name}", x=x, y=y, **attributes)


def _sighting(piece: str, square: int, player: int, opacity: float | None) -> Markup:
    if piece != UNKNOWN:
        return _shape(shape_of(piece), square, player, opacity=opacity)
    return _cross(*corner(player, square), opacity)


def _cross(x: int, y: int, opacity: float | None) -> Markup:
    """Return the sign of a piece of unknown kind."""
    path = f"M{x + 13.5} {y + 13.5}l18 18m0-18l-18 18"
    return tag("path", d=path, stroke=VERMILLION, stroke_width=5, opacity=opacity)


def _heat(occupied: NDArray[np.float64], player: int) -> list[Markup]:
    """Return a shape for each tenth of probability, of the squares that have it."""
    tenths = np.rint(10 * occupied).astype(int)
    return [
        tag(
            "path",
            d=_path(np.flatnonzero(tenths == tenth).tolist(), player),
            fill=ORANGE,
            opacity=tenth / 10,
        )
        for tenth in np.unique(tenths[tenths > 0]).tolist()
    ]


def _path(squares: Iterable[int], player: int) -> str:
    corners = (corner(player, square) for square in squares)
    return "".join(f"M{x} {y}h{SQUARE}v{SQUARE}h-{SQUARE}z" for x, y in corners)


# -- the renderer ----------------------------------------------------------------------------------

_KEY: Final = "p: seen now, p': seen before, x: kind unknown, .: seen empty now, ?: not seen"
_STYLED_KEY: Final = "♟: seen now, ♟': seen before, ✕: kind unknown, ?: not seen"
_WIDTH = 80
_GROUNDS: Final = ("#9a8a78", "#7d6d5c")
_SIGNS: Final = {
    **{name: (sign, "bold #ffffff") for name, sign in zip("KQRBNP", "♔♕♖♗♘♙", strict=True)},
    **{name: (sign, "bold #101418") for name, sign in zip("kqrbnp", "♚♛♜♝♞♟", strict=True)},
    UNKNOWN: ("✕", "bold #ffd21f"),
    ".": (" ", ""),
    "?": ("?", "#c9bfb2"),
}
"""Signs and colours of what stands on a square, for terminals."""


_OF_SENSES: Final = re.compile("sense|refused")
"""What only blind chess has, in the legend."""


class RbcRenderer:
    """The renderer of Reconnaissance Blind Chess; it reads the player's observations alone."""

    KNOWLEDGE: ClassVar = Knowledge

    def __init__(self, game: Game, parameters: object = None) -> None:
        self.game = cast("BoardGame", game)
        self._followed: dict[int, tuple[PlayerView, int, Knowledge]] = {}

    def render(self, view: PlayerView) -> str:
        """Return the board as the player knows it, and the news of senses, moves and captures."""
        knowledge = self._knowledge(view)
        lines = [_headline(knowledge, view), *_board_lines(knowledge), _KEY]
        for news in self._news(knowledge):
            lines += textwrap.wrap(news, _WIDTH)
        return "\n".join(lines)

    def styled(self, view: PlayerView, marks: Mapping[int, str] | None = None) -> Text:
        """Return the same with chessmen on a chequered board; marks are not drawn."""
        text = self.render(view).replace(_KEY, _STYLED_KEY)
        return styled_board(
            text, _SIGNS, rows=range(2, 10), cells=8, first=2, width=3, grounds=_GROUNDS
        )

    def news(self, view: PlayerView) -> str:
        """Return what the last turn of each player brought: captures, refusals, what was sensed."""
        knowledge = self._knowledge(view)
        lines = [_capture_line(knowledge), _move_line(knowledge)]
        if knowledge.sensed is not None:
            lines.append(_sense_line(knowledge))
        return "\n".join(filter(None, lines))

    def hint(self, view: PlayerView) -> str:
        """Return what can be typed in this half of the turn; empty if it is the opponent's turn."""
        legal = view.legal_actions
        if SENSE_NOTHING in legal:
            return "Sense first: the middle of a 3x3 window, such as sense e5; sense - for nothing."
        if not legal:
            return ""
        example = action_name(legal[len(legal) // 2])
        hint = f"Now move, such as {example}, or pass. A blocked move is cut short or not made."
        promotions = [action for action in legal if action >= FIRST_UNDERPROMOTION]
        if promotions:
            name = action_name(promotions[0])
            hint += f"\nA pawn becomes a queen unless its move ends with n, b or r: {name}."
        return hint

    def svg_definitions(self) -> str:
        """Return the pieces and the empty boards as definitions."""
        boards = (tag("g", draw_board(player), id=_BOARD.format(player)) for player in (0, 1))
        return str(shapes(outlines=True) + Markup().join(boards))

    def svg(self, view: PlayerView) -> str:
        """Return the board as the player knows it as a picture."""
        return draw_knowledge(self._knowledge(view))

    def clicks(self, view: PlayerView) -> Clicks:
        """Return a region for each square: one click senses, from square to square is a move.

        The halo of a square to sense is the window. Sensing nothing and the pass are buttons.
        """
        player, legal = view.player, view.legal_actions
        senses = SENSE_NOTHING in legal
        regions = [
            Region(
                name=square_name(square),
                box=box_round(player, (square,)),
                halo=box_round(player, window(square)) if senses else None,
            )
            for square in chess.SQUARES
        ]
        paths = {
            action: _path_of_clicks(action)
            for action in legal
            if action not in (SENSE_NOTHING, PASS)
        }
        return Clicks(regions=regions, actions=paths, labels={SENSE_NOTHING: "sense nothing"})

    def svg_state(self, state: State) -> str:
        """Return the true board as a picture, White below."""
        board = cast("BoardState", state).board()
        return _svg(0, _pieces_of(board, board.occupied, 0))

    def svg_belief(
        self, belief: BeliefState[State], view: PlayerView, truth: State | None = None
    ) -> str:
        """Return a belief as a picture, the opponent's true pieces outlined.

        A square is as orange as it is probable that the opponent stands there; the piece on it is
        the most probable one, as opaque as it is probable. Both in tenths; all boards count the
        same.

        Raises:
          TypeError: not a belief of this plugin.
        """
        if not isinstance(belief, RbcBelief):
            raise TypeError(
                f"{self.game.info.name} draws its own beliefs, not {type(belief).__name__}"
            )
        player, own = view.player, self._knowledge(view).own.board
        chances = belief.boards.occupancy()[:, :, :12].reshape(64, 12)
        theirs = slice(6, 12) if player == 0 else slice(0, 6)
        parts = _heat(chances[:, theirs].sum(axis=1), player)
        for square in range(64):
            kind = theirs.start + int(chances[square, theirs].argmax())
            chance = round(float(chances[square, kind]), 1)
            if chance:
                opacity = None if chance >= 1 else chance
                parts.append(_shape(shape_of(PIECES[kind]), square, player, opacity=opacity))
        parts += _pieces_of(own, own.occupied_co[player == 0], player)
        if truth is not None:
            board = cast("BoardState", truth).board()
            hidden = board.piece_map(mask=board.occupied_co[player == 1])
            parts += [_shape(outline_of(p.symbol()), where, player) for where, p in hidden.items()]
        return _svg(player, parts)

    def legend(self) -> list[tuple[str, str]]:
        """Return the signs of knowledge and of beliefs with their meanings."""
        pawn, truth = (f"#{name}" for name in (shape_of("p"), outline_of("P")))
        square: dict[str, Attribute] = {"width": SQUARE, "height": SQUARE}
        window: dict[str, Attribute] = {"x": 3, "y": 3, "width": SQUARE - 6, "height": SQUARE - 6}
        fog = tag("rect", **square, **_FOG)
        signs = (
            ("fog: not seen since the opponent may have moved there", fog),
            (
                "in the fog: seen there before, and in which turn",
                fog + tag("use", href=pawn, opacity=_STALE) + tag("g", _date(3, 0, 0), **_DATES),
            ),
            ("an opponent's piece of unknown kind", _cross(0, 0, None)),
            ("window of the last sense", tag("rect", **window, **FRAME)),
            ("the player's last move", tag("rect", **square, fill=BLUE, opacity=_TAKEN)),
            (
                "a move that was requested and refused or cut short",
                tag("rect", **square, fill=BLUE, opacity=_REQUESTED),
            ),
            ("the player lost a piece here last", _ring(0, 0)),
            (
                "belief: the stronger the orange, the more probable an opponent's piece",
                tag("rect", **square, fill=ORANGE, opacity=0.6),
            ),
            ("belief: the paler the piece, the less probable", tag("use", href=pawn, opacity=0.3)),
            ("truth, over a belief: an opponent's piece", tag("use", href=truth)),
        )
        box = f"0 0 {SQUARE} {SQUARE}"
        return [(str(tag("svg", sample, viewBox=box)), meaning) for meaning, sample in signs]

    def _news(self, knowledge: Knowledge) -> list[str]:
        """Return what the last turns brought, and all captures, a line each."""
        lines = [_capture_line(knowledge), *self._senses(knowledge), _move_line(knowledge)]
        return [*filter(None, [*lines, _losses_line(knowledge)]), _opponent_line(knowledge)]

    def _senses(self, knowledge: Knowledge) -> list[str]:
        return [_sense_line(knowledge)]

    def _knowledge(self, view: PlayerView) -> Knowledge:
        """Return the knowledge of a view, updated if the view has grown since the last call."""
        last_view, count, knowledge = self._followed.get(view.player, (None, 0, None))
        if knowledge is None or last_view is not view or count > len(view.observations):
            count, knowledge = 0, self.KNOWLEDGE(self.game.start, view.player)
        for observation in view.observations[count:]:
            knowledge.observe(observation)
        self._followed[view.player] = (view, len(view.observations), knowledge)
        return knowledge


class DarkRenderer(RbcRenderer):
    """The renderer of dark chess: fog lies on what the player does not see, and on what it saw."""

    KNOWLEDGE = DarkKnowledge

    def _senses(self, knowledge: Knowledge) -> list[str]:
        return []

    def hint(self, view: PlayerView) -> str:
        """Return what can be typed; empty if it is the opponent's turn."""
        return super().hint(view).replace(", or pass. A blocked move is cut short or not made", "")

    def legend(self) -> list[tuple[str, str]]:
        """Return the signs that pictures of dark chess have, with their meanings."""
        return [(sign, text) for sign, text in super().legend() if not _OF_SENSES.search(text)]


def _path_of_clicks(action: int) -> tuple[str, ...]:
    """Return the square of a sense, or both squares of a move."""
    if action < SENSE_NOTHING:
        return (square_name(action),)
    move = move_of(action, pawn=False)
    return square_name(move & 63), square_name(move >> 6 & 63)


def _headline(knowledge: Knowledge, view: PlayerView) -> str:
    name = view.game.info.player_names[knowledge.player]
    if knowledge.result:
        return f"You are {name}. {knowledge.result}"
    legal = view.legal_actions
    task = "sense" if SENSE_NOTHING in legal else "move" if legal else "wait for the opponent"
    return f"You are {name}, turn {knowledge.turn}: {task}."


def _board_lines(knowledge: Knowledge) -> list[str]:
    ranks = range(7, -1, -1) if knowledge.player == 0 else range(8)
    files = range(8) if knowledge.player == 0 else range(7, -1, -1)
    header = "   " + " ".join(f"{'abcdefgh'[file]} " for file in files).rstrip()
    lines = [header]
    for rank in ranks:
        cells = " ".join(f"{_cell(8 * rank + file, knowledge):2}" for file in files)
        lines.append(f"{rank + 1}  {cells} {rank + 1}")
    return [*lines, header]


def _cell(square: int, knowledge: Knowledge) -> str:
    own = knowledge.own.board.piece_at(square)
    if own is not None:
        return own.symbol()
    fresh = square in knowledge.fresh
    sighting = knowledge.theirs.get(square)
    if sighting is None:
        return "." if fresh else "?"
    return sighting.piece if fresh else f"{sighting.piece}'"


def _capture_line(knowledge: Knowledge) -> str:
    if knowledge.last_loss is None:
        has_begun = knowledge.lost or knowledge.turn
        return "In its last turn the opponent captured nothing." if has_begun else ""
    symbol, square = knowledge.last_loss
    piece = _piece_name(symbol)
    return f"In its last turn the opponent captured your {piece} on {square_name(square)}."


def _piece_name(piece: str) -> str:
    return "piece" if piece == "?" else chess.piece_name(chess.Piece.from_symbol(piece).piece_type)


def _sense_line(knowledge: Knowledge) -> str:
    if knowledge.sensed is None:
        return "You have not sensed yet."
    sensed, turn = knowledge.sensed
    when = "this turn" if turn == knowledge.turn else f"in turn {turn}"
    squares = list(chess.SquareSet(sensed.window))
    if not squares:
        return f"Sensed last, {when}: nothing."
    pieces = [(piece_at(sensed.pieces, square), square) for square in squares]
    theirs = [
        f"{piece}{square_name(square)}"
        for piece, square in pieces
        if piece is not None and piece.isupper() == (knowledge.player == 1)
    ]
    window = f"{square_name(squares[0])} to {square_name(squares[-1])}"
    return f"Sensed last, {when}, {window}: {' '.join(theirs) or 'no enemy pieces'}."


def _move_line(knowledge: Knowledge) -> str:
    move = knowledge.moved
    if move is None:
        return ""
    if move.requested == NOTHING:
        return "Your last move: a pass."
    text = move_name(move.requested)
    if move.taken == NOTHING:
        return f"Your last move: {text} was requested and not made."
    if move.taken != move.requested:
        text += f", cut short to {move_name(move.taken)}"
    captured = "" if move.captured is None else f"; it captured on {square_name(move.captured)}"
    return f"Your last move: {text}{captured}."


def _losses_line(knowledge: Knowledge) -> str:
    if not knowledge.lost:
        return ""
    losses = [
        f"{_piece_name(piece)} {square_name(square)} (turn {turn})"
        for piece, square, turn in knowledge.lost
    ]
    return f"You have lost: {', '.join(losses)}."


def _opponent_line(knowledge: Knowledge) -> str:
    remaining = knowledge.count - len(knowledge.captured)
    line = f"The opponent has {remaining} of {knowledge.count} pieces"
    if knowledge.captured:
        squares = [f"{square_name(square)} (turn {turn})" for square, turn in knowledge.captured]
        line += f"; you captured on {', '.join(squares)}"
    kings = [
        (s, sighting.turn) for s, sighting in knowledge.theirs.items() if sighting.piece in "kK"
    ]
    if kings and not knowledge.result:
        line += f"; its king was last known on {square_name(kings[0][0])}, turn {kings[0][1]}"
    return f"{line}."
