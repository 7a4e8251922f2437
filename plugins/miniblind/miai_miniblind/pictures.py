"""Texts and pictures of mini-RBC, made from the player's observations alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from miai import BeliefState, EnumeratedBelief, Game, Observation, Parameters, PlayerView, State
from miai.information import world_weights
from miai.markup import number, tag
from miai.render import Clicks, styled_board
from miai.squares import FOG, GREEN, INK, LIGHT, Box, SquareBoard
from miai_miniblind.boards import board_text
from miai_miniblind.mini_rbc import MiniRbc, MiniRbcState

if TYPE_CHECKING:
    from rich.text import Text

_LAST: Final = "#fbe8b8"
_GROUNDS: Final = ("#8796a3", "#76848f")
_SIGNS: Final = {
    "K": ("♔", "bold #ffffff"),
    "R": ("♖", "bold #ffffff"),
    "k": ("♚", "bold #101418"),
    ".": ("·", "#c5ccd2"),
    "?": ("?", "#c5ccd2"),
}
_PUBLIC: Final = ".KR"  # letters of empty squares and of White's pieces
_NOTHING: Final = "nothing was observed yet"


_PIECES: Final = {  # in 40 by 40 units
    "king": "M18 4h4v4h4v4h-4v5c3-4 12-4 12 4 0 5-5 8-5 11h-18c0-3-5-6-5-11 0-8 9-8 12-4v-5h-4v-4"
    "h4zM10 33h20v4h-20z",
    "rook": "M9 6h6v4h3v-4h4v4h3v-4h6v8l-4 3v12l3 3h-20l3-3v-12l-4-3zM8 33h24v4h-24z",
    "decoy": "M20 7a6 6 0 0 1 4 10.5c3 2.5 4.5 7 5 13.5h-18c.5-6.5 2-11 5-13.5a6 6 0 0 1 4-10.5z"
    "M10 33h20v4h-20z",
}
_PIECE_OF: Final = {"K": "king", "R": "rook", "k": "king", "d": "decoy"}


class MiniRbcRenderer:
    """Shows the pieces, the window sensed last and where a move ended.

    Where the player's worlds differ a square is ``?``, or grey.
    """

    def __init__(self, game: Game, parameters: Parameters) -> None:
        assert isinstance(game, MiniRbc)
        self._columns, self._side = game.parameters.size, game.parameters.window
        self._numbers, self._black, self._squares = game.problem.numbers, game.black, game.squares
        self._namer = game.new_initial_state()
        size = self._columns
        self._board = SquareBoard("mini_rbc", rows=size, columns=size, lines=2)

    def render(self, view: PlayerView) -> str:
        """Return the board, the top row first, and the number of worlds."""
        boards = [world.letters() for world in self._worlds(view)]
        if not boards:
            return _NOTHING
        letters = (stack[0] if len(set(stack)) == 1 else "?" for stack in zip(*boards, strict=True))
        return f"{board_text(''.join(letters), self._columns)}\n{_count(boards)}"

    def styled(self, view: PlayerView, marks: Mapping[int, str] | None = None) -> Text:
        """Return the board in signs and colours; actions have no place of their own."""
        text = self.render(view)
        rows = range(text.count("\n"))
        return styled_board(text, _SIGNS, rows=rows, cells=self._columns, grounds=_GROUNDS)

    def svg(self, view: PlayerView) -> str:
        """Return the board as the player knows it, the latest event and the number of worlds.

        A square is grey if a piece may stand there.
        """
        boards = [world.letters() for world in self._worlds(view)]
        if not boards:
            return self._board.picture(captions=[_NOTHING])
        stacks = ["".join(sorted(set(stack))) for stack in zip(*boards, strict=True)]
        uncertain = [square for square, stack in enumerate(stacks) if len(stack) > 1]
        foggy = [square for square in uncertain if "." in stacks[square]]
        parts = [self._fog(foggy), *self._marks(view)]
        for square, stack in enumerate(stacks):
            if "." not in stack:
                parts.append(self._shape(square, stack))
        captions = [self._latest(view), "" if view.player else _count(boards)]
        return self._board.picture(*parts, captions=captions)

    def svg_state(self, state: State) -> str:
        """Return the whole board."""
        assert isinstance(state, MiniRbcState)
        return self._board.picture(
            *self._pieces(state.letters()), captions=[state.result_to_string()]
        )

    def svg_belief(
        self, belief: BeliefState[State], view: PlayerView, truth: State | None = None
    ) -> str:
        """Return the true board, on squares as orange as a piece of Black there is probable.

        Nothing is hidden from Black.
        """
        worlds = [world.letters() for world in belief if isinstance(world, MiniRbcState)]
        stacks = [] if view.player else zip(*worlds, strict=True)
        weights = world_weights(belief)
        shares = {
            square: sum(w for x, w in zip(stack, weights, strict=True) if x not in _PUBLIC)
            for square, stack in enumerate(stacks)
        }
        parts = self._board.heat(shares)
        if truth is not None:
            assert isinstance(truth, MiniRbcState)
            parts += self._pieces(truth.letters())
        return self._board.picture(*parts, captions=[_count(worlds)])

    def legend(self) -> list[tuple[str, str]]:
        """Return the signs of knowledge and of beliefs with their meanings."""
        signs = {
            "a hidden piece may stand here": self._fog([0]),
            "White's last move ended here": self._board.shade([0], _LAST, opacity=0.8),
            "window of White's last sense": self._sensed(self._board.box(0)),
            "belief: the stronger the orange, the more probable a hidden piece": Markup().join(
                self._board.heat({0: 0.6})
            ),
        }
        return [(self._board.sample(sign), meaning) for meaning, sign in signs.items()]

    def _fog(self, squares: Iterable[int]) -> Markup:
        return self._board.shade(squares, FOG, opacity=0.5)

    def _pieces(self, letters: str) -> list[Markup]:
        return [self._shape(square, x) for square, x in enumerate(letters) if x != "."]

    def _latest(self, view: PlayerView) -> str:
        """Return the result, or what White's last action revealed."""
        for observation in reversed(view.observations):
            data = observation.data
            if isinstance(data, Mapping):
                parts = [self._news(observation, data), str(data.get("result", ""))]
                return "; ".join(filter(None, parts))
        return ""

    def _worlds(self, view: PlayerView) -> list[MiniRbcState]:
        belief = EnumeratedBelief(view.game, view.player)
        for observation in view.observations:
            belief.observe(observation)
        return [world for world in belief if isinstance(world, MiniRbcState)]

    def svg_definitions(self) -> str:
        """Return the empty board and the pieces."""
        shapes = (tag("path", d=path, id=f"mini_rbc-{name}") for name, path in _PIECES.items())
        return self._board.definition(dark="#e3e3e3") + Markup().join(shapes)

    def _shape(self, square: int, letters: str) -> Markup:
        letter = letters[0]
        fill, stroke = (LIGHT, INK) if letter.isupper() else (INK, LIGHT)
        x, y, width, _ = self._board.box(square)
        return tag(
            "use",
            href=f"#mini_rbc-{_PIECE_OF[letter]}",
            transform=f"translate({number(x)} {number(y)}) scale({number(width / 40, 3)})",
            fill=fill,
            stroke=stroke,
            stroke_width=1.4,
        )

    def _marks(self, view: PlayerView) -> list[Markup]:
        parts = []
        if (ended := _latest_data(view, "ended")) is not None:
            squares = [s for s in range(self._squares) if self._board.name(s) == ended[1]]
            parts.append(self._board.shade(squares, _LAST, opacity=0.8))
        if (sensed := _latest_data(view, "seen")) is not None:
            parts.append(self._sensed(self._window(sensed[0])))
        return parts

    def _sensed(self, window: Box) -> Markup:
        return self._board.frame(window, GREEN, width=4)

    def _news(self, observation: Observation, data: Mapping[str, Any]) -> str:
        if "seen" in data:
            names = {"k": "king", "d": "decoy"}
            seen = [f"{names[piece[0]]} on {piece[1:]}" for piece in data["seen"]]
            return f"sensed: {', '.join(seen) or 'nothing'}"
        if "ended" not in data or observation.action is None:
            return ""
        text = self._namer.action_to_string(observation.action)
        if text != "pass" and text[1:] != data["ended"]:
            text += f", ended on {data['ended']}"
        return f"{text}{', captured' if data['captured'] else ''}"

    def _window(self, sense: int) -> Box:
        row, column = divmod(sense, self._columns - self._side + 1)
        low = row * self._columns + column
        return self._board.span((low, low + (self._side - 1) * (self._columns + 1)))

    def clicks(self, view: PlayerView) -> Clicks:
        """Return a region for each square: one click senses, from square to square is a move.

        A window is sensed by its middle, or the lower left of its four middle squares. The pass is
        a button.
        """
        board, legal = self._board, view.legal_actions
        if legal and legal[0] < self._numbers.windows:
            middles = {sense: self._middle(sense) for sense in legal}
            halos = {square: self._window(sense) for sense, square in middles.items()}
            paths = {sense: (board.name(square),) for sense, square in middles.items()}
            return Clicks(regions=board.regions(halos=halos), actions=paths)
        letters = next((world.letters() for world in self._worlds(view)), "")
        moves = {a: self._from_to(a, letters) for a in legal if a != self._numbers.pass_}
        names = {a: (board.name(start), board.name(end)) for a, (start, end) in moves.items()}
        return Clicks(regions=board.regions(), actions=names)

    def _middle(self, sense: int) -> int:
        row, column = divmod(sense, self._columns - self._side + 1)
        inner = (self._side - 1) // 2
        return (row + inner) * self._columns + column + inner

    def _from_to(self, action: int, letters: str) -> tuple[int, int]:
        """Return the squares of a move on a board on which the player knows its own pieces."""
        if action >= self._black:
            decoy, square = divmod(action - self._black, self._squares)
            return letters.index("kd"[decoy]), square
        king, square = divmod(action - self._numbers.rook, self._squares)
        return letters.index("RK"[king]), square


def _count(worlds: Sequence[object]) -> str:
    return "1 world" if len(worlds) == 1 else f"{len(worlds)} worlds"


def _latest_data(view: PlayerView, key: str) -> tuple[int, Any] | None:
    """Return White's last action that revealed something under a key, and what it was."""
    for observation in reversed(view.observations):
        data = observation.data
        if isinstance(data, Mapping) and key in data and observation.action is not None:
            return observation.action, data[key]
    return None
