"""Pictures of the games; those of hidden games are made from the player's observations alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from miai import BeliefState, Game, Parameters, PlayerView, State
from miai.information import world_weights
from miai.markup import Attribute, tag
from miai.render import Clicks, styled_board
from miai.scenes import Cards, Scene, SceneRenderer
from miai.squares import BLUE, FOG, VERMILLION, SquareBoard
from miai_classics.kuhn_poker import betting_text
from miai_classics.pig import ACTIONS, ROLL, Pig, PigState
from miai_classics.tic_tac_toe import CELLS, FULL, LINES, NAMES, board_text, cell_name

if TYPE_CHECKING:
    from rich.text import Text

# -- tic-tac-toe -----------------------------------------------------------------------------------

_LAST: Final = "#fbe8b8"
_COLOURS: Final = (BLUE, VERMILLION)
_SIGNS: Final = {"x": ("✕", "bold #10243a"), "o": ("○", "bold #ffffff"), ".": ("·", "#c5ccd2")}
_THREE: Final[dict[str, Attribute]] = {"stroke_width": 5, "stroke_linecap": "round", "opacity": 0.5}


class TicTacToeRenderer:
    """Shows the board, the last mark and three in a row."""

    def __init__(self, game: Game, parameters: Parameters, *, captions: int = 0) -> None:
        self._board = SquareBoard(game.info.name, rows=3, columns=3, lines=captions)

    def render(self, view: PlayerView) -> str:
        """Return the board as three lines."""
        return str(view.state)

    def styled(self, view: PlayerView, marks: Mapping[int, str] | None = None) -> Text:
        """Return the board in signs and colours, with marks in the cells that a hint names."""
        letters = list(self.render(view))
        for cell, mark in (marks or {}).items():
            letters[4 * (cell // 3) + cell % 3] = mark
        return styled_board("".join(letters), _SIGNS, rows=range(3), cells=3)

    def svg_definitions(self) -> str:
        """Return the empty board."""
        return self._board.definition()

    def svg(self, view: PlayerView) -> str:
        """Return the board as a picture."""
        return self.svg_state(view.state)

    def svg_state(self, state: State) -> str:
        """Return the board as a picture."""
        return self._board.picture(*_true_marks(self._board, state, last=_last(state)))

    def legend(self) -> list[tuple[str, str]]:
        """Return the sign of the last mark."""
        return [_last_sign(self._board)]

    def clicks(self, view: PlayerView) -> Clicks:
        """Return a region for each cell."""
        actions = {cell: (cell_name(cell),) for cell in view.legal_actions}
        return Clicks(regions=self._board.regions(map(_square, range(9))), actions=actions)


def _last_sign(board: SquareBoard) -> tuple[str, str]:
    return board.sample(board.shade([0], _LAST)), "last mark"


def _true_marks(board: SquareBoard, state: State, *, last: int | None = None) -> list[Markup]:
    letters = "".join(str(state).split())
    marks = [sum(1 << cell for cell in range(9) if letters[cell] == name) for name in NAMES]
    return _marks(board, marks, last=last)


def _last(state: State) -> int | None:
    return state.history()[-1] if state.history() else None


def _marks(board: SquareBoard, marks: Sequence[int], *, last: int | None) -> list[Markup]:
    """Return the marks of both players, the last one and three in a row highlighted."""
    parts = [] if last is None else [board.shade([_square(last)], _LAST)]
    parts += [board.cross(_square(cell), BLUE) for cell in CELLS[marks[0]]]
    parts += [board.ring(_square(cell), VERMILLION) for cell in CELLS[marks[1]]]
    for colour, cells in zip(_COLOURS, marks, strict=True):
        for line in LINES:
            if cells & line == line:
                first, *_, final = map(_square, CELLS[line])
                (x, y), (to_x, to_y) = board.centre(first), board.centre(final)
                path = f"M{x} {y}L{to_x} {to_y}"
                parts.append(tag("path", d=path, stroke=colour, **_THREE))
    return parts


def _square(cell: int) -> int:
    """Return the number on a `SquareBoard`, whose rows begin below."""
    row, column = divmod(cell, 3)
    return 3 * (2 - row) + column


# -- phantom tic-tac-toe ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Phantom:
    """What a player knows of a game of phantom tic-tac-toe.

    Attributes:
      marks: the cells of x and of o that it knows, as sets of bits.
      hidden: number of the opponent's marks that it has not found.
      refused: the cell, if its last placement was refused; else None.
      last: the cell of its last mark; None before it.
      result: who won; empty before the end.
    """

    marks: list[int] = field(default_factory=lambda: [0, 0])
    hidden: int = 0
    refused: int | None = None
    last: int | None = None
    result: str = ""

    @classmethod
    def of(cls, view: PlayerView) -> _Phantom:
        """Return what a view's observations say."""
        known = cls()
        for observation in view.observations:
            data = observation.data if isinstance(observation.data, Mapping) else {}
            known.result = str(data.get("result", ""))
            if observation.action is not None and "stood" in data:
                holder = view.player if data["stood"] else 1 - view.player
                known.marks[holder] |= 1 << observation.action
                known.refused = None if data["stood"] else observation.action
                known.last = observation.action if data["stood"] else known.last
            elif observation.actor is not None:
                known.hidden += 1
        known.hidden -= known.marks[1 - view.player].bit_count()
        return known


class PhantomRenderer(TicTacToeRenderer):
    """Shows the player's marks, and those of the opponent that it bumped into."""

    def __init__(self, game: Game, parameters: Parameters) -> None:
        super().__init__(game, parameters, captions=1)

    def render(self, view: PlayerView) -> str:
        """Return the board as far as the player knows it, and how many marks it does not see."""
        known = _Phantom.of(view)
        return f"{board_text(known.marks)}\n{_out_of_sight(known, view)}"

    def svg(self, view: PlayerView) -> str:
        """Return the board as far as the player knows it; a refused placement is framed.

        Where a mark of the opponent may be out of sight, the cell is grey.
        """
        board, known = self._board, _Phantom.of(view)
        parts = []
        if known.hidden:
            unknown = CELLS[FULL & ~(known.marks[0] | known.marks[1])]
            parts.append(self._fog(map(_square, unknown)))
        parts += _marks(board, known.marks, last=known.last)
        caption = _out_of_sight(known, view)
        if known.refused is not None:
            parts.append(self._refusal(_square(known.refused)))
            caption = f"{cell_name(known.refused)} was refused; {caption}"
        if known.result:
            caption = f"{known.result}; {caption}"
        return board.picture(*parts, captions=[caption])

    def svg_state(self, state: State) -> str:
        """Return all marks as a picture."""
        parts = _true_marks(self._board, state, last=_last(state))
        return self._board.picture(*parts, captions=[state.result_to_string()])

    def svg_belief(
        self, belief: BeliefState[State], view: PlayerView, truth: State | None = None
    ) -> str:
        """Return all marks, on cells as orange as a mark of the opponent there is probable."""
        # By their texts, so that any belief over states of this game will do.
        worlds = ["".join(str(world).split()) for world in belief]
        theirs, weighted = (
            NAMES[1 - view.player],
            [*zip(worlds, world_weights(belief), strict=True)],
        )
        shares = {
            _square(cell): sum(weight for world, weight in weighted if world[cell] == theirs)
            for cell in range(9)
        }
        parts = self._board.heat(shares)
        if truth is not None:
            parts += _true_marks(self._board, truth)
        count = "1 world" if len(worlds) == 1 else f"{len(worlds)} worlds"
        return self._board.picture(*parts, captions=[count])

    def legend(self) -> list[tuple[str, str]]:
        """Return the signs of knowledge and of beliefs with their meanings."""
        board = self._board
        heat = Markup().join(board.heat({0: 0.6}))
        return [
            (_last_sign(board)[0], "the player's last mark; in the truth, the last one of both"),
            (board.sample(self._fog([0])), "a mark of the opponent may be out of sight here"),
            (board.sample(self._refusal(0)), "refused: the opponent's mark was there"),
            (board.sample(heat), "belief: the stronger the orange, the more probable a mark"),
        ]

    def _fog(self, squares: Iterable[int]) -> Markup:
        return self._board.shade(squares, FOG, opacity=0.4)

    def _refusal(self, square: int) -> Markup:
        return self._board.frame(self._board.box(square), VERMILLION, width=5)


def _out_of_sight(known: _Phantom, view: PlayerView) -> str:
    return f"{NAMES[1 - view.player]} out of sight: {known.hidden}"


# -- Kuhn poker ------------------------------------------------------------------------------------


class KuhnRenderer(SceneRenderer):
    """Shows the player's card, the betting and the pot."""

    def seen(self, view: PlayerView) -> Scene:
        """Return the player's card and the betting; a line before the deal."""
        card, bets = _hand(view)
        if not card:
            return Scene(blocks=["the cards are not dealt yet"])
        return Scene(blocks=[Cards(faces=card, title="your card"), betting_text(bets)])

    def whole(self, state: State) -> Scene:
        """Return both cards and the betting."""
        key = str(state.key())  # both cards, then the betting
        hands = zip(self.game.info.player_names, key[:2], strict=False)
        cards = [Cards(faces=card, title=name) for name, card in hands]
        return Scene(blocks=[*cards, betting_text(key[2:])])


def _hand(view: PlayerView) -> tuple[str, str]:
    """Return the player's card, empty before the deal, and the betting, ``p`` or ``b`` each."""
    card, bets = "", ""
    for observation in view.observations:
        if isinstance(observation.data, Mapping):
            card = str(observation.data["card"])
        if observation.action is not None:
            bets += "pb"[observation.action]
    return card, bets


# -- pig -------------------------------------------------------------------------------------------

_BAR: Final = 24  # letters


class PigRenderer(SceneRenderer):
    """Shows what the players have, what was rolled in this turn, and the die."""

    def render(self, view: PlayerView) -> str:
        """Return a line for each player."""
        return str(view.state)

    def whole(self, state: State) -> Scene:
        """Return the die and the players' ways to the goal."""
        assert isinstance(state, PigState)
        assert isinstance(self.game, Pig)
        step, lines = self.game.parameters.goal / _BAR, []
        for player, name in enumerate(self.game.info.player_names):
            rolled = state.rolled if state.turn_of == player else 0
            kept, points = state.points[player], f" + {rolled}" if rolled else ""
            bar = f"{'█' * int(kept / step):▒<{int((kept + rolled) / step)}}"[:_BAR]
            lines.append(f"{name:6} {bar:·<{_BAR}} {kept}{points}")
        moves = zip(state.history(), state.actors(), strict=True)
        faces = [ACTIONS[action] for action, actor in moves if actor < 0]
        face = "?" if state.is_chance_node() or not faces else faces[-1]
        die = Cards(faces=[face], names=["die"], title="the die", dice=True)
        return Scene(blocks=[die, "\n".join(lines)])

    def seen(self, view: PlayerView) -> Scene:
        """Return all of it; the die is rolled by a click, hold is a button."""
        roll = {ROLL: ("die",)} if ROLL in view.legal_actions else {}
        return replace(self.whole(view.state), actions=roll)
