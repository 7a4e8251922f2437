"""How games of OpenSpiel look: scenes made from the texts that OpenSpiel writes of positions.

A game in `LOOKS` is drawn, with cells and cards to click. Any other game, and a text that a look
does not understand, is shown as text without what is for debugging. All other actions are buttons
in words. What a player of a game that hides information sees is made from what it observed.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, Final

import pyspiel

from miai import PlayerView, State
from miai.scenes import CHEQUERED, Cards, Grid, Piece, Scene, SceneRenderer
from miai.squares import BLUE, INK, LIGHT, ORANGE, PAPER, VERMILLION
from miai_openspiel.games import OpenSpielGame, OpenSpielState

Blocks = list[Grid | Cards | str]
_DEBUGGING: Final = re.compile(
    r"\x1b\[[\d;]*m|^(?:\w*State\(.*\)|Terminal\?.*|(?:Move number|Repeated move):.*"
    r"|(?:History|Row actions|Col actions|Previous player|Extra turn):.*|[Cc]urrent [Pp]layer: .*"
    r"|Normal form game .*?, (?=\w)|Terminal State:|\w*(?:Observer|StatePlayer): \d|\d+) *$",
    re.M,
)
_PREFIX: Final = re.compile(
    r"^(?:Player: \d+ )?(?:Action: )?(?:\d+ - (?=[\dB])|p\d (?=tile)|[BW] (?=PASS))?"
)


def clean(text: str) -> str:
    """Return a text without codes of terminals, empty lines, and lines for debugging."""
    fields = re.sub(r"(?m)^\[(\w+[: ].*)\]$", lambda m: re.sub(r"\]\s*\[", "\n", m[1]), text)
    lines = (line.rstrip() for line in _DEBUGGING.sub("", fields).split("\n"))
    return "\n".join(filter(None, lines)) or "nothing to see yet"


def _worded(name: str) -> str:
    return _PREFIX.sub("", name)


def _pairs(name: str) -> tuple[str, ...]:
    """Return the cells that an action names: ``a7b6*``, ``B c3``, ``x(0,1)``, ``O To (2, 3)``."""
    return tuple(re.findall(r"[a-z]\d+|\d+,\d+", name.replace(", ", ",")))


@dataclass(frozen=True)
class Look:
    """How a game is drawn.

    Attributes:
      draw: returns a scene's blocks for a text; `ValueError`, `LookupError` if it does not fit.
      sides: what the players are called, in their order.
      path: the names to click for an action of a name; empty for a button.
      word: the text of an action's button.
    """

    draw: Callable[[str, OpenSpielGame], Blocks]
    sides: Sequence[str] = ()
    path: Callable[[str], tuple[str, ...]] = _pairs
    word: Callable[[str], str] = _worded


# -- boards of cells -------------------------------------------------------------------------------

_X, _O = Piece(colour=BLUE, shape="cross"), Piece(colour=VERMILLION, shape="ring")
_MARKS: Final = {"x": _X, "o": _O}
_BLACK, _WHITE = Piece(colour=INK), Piece(colour=LIGHT)
_DISCS: Final = {"x": Piece(colour=BLUE), "o": Piece(colour=ORANGE)}
_GO: Final = "abcdefghjklmnopqrst"
_CHESS: Final = {
    letter: Piece(colour=INK, shape="sign", sign=f"{sign}\ufe0e")
    for letter, sign in zip("KQRBNPkqrbnp", "♔♕♖♗♘♙♚♛♜♝♞♟", strict=True)
}


@dataclass(frozen=True, kw_only=True)
class TextBoard:
    """Draws the lines of a text that are rows of cells as a grid, the others below it.

    Attributes:
      row: the pattern of a row; group 1 has the cells.
      look: the grid without cells; letters that are not pieces are empty cells.
      letters: of the columns; none if cells are named ``row,column``.
      first: number of the first row, and of the first column without letters.
      upward: whether rows are counted from below.
      fallen: whether a column is chosen, not a cell.
      before: changes the text first.
    """

    row: str
    look: Grid
    letters: str = string.ascii_lowercase
    first: int = 1
    upward: bool = False
    fallen: bool = False
    before: Callable[[str], str] = str

    def __call__(self, text: str, game: OpenSpielGame) -> Blocks:
        """Return the board and what else the text says."""
        lines, look = clean(self.before(text)).split("\n"), self.look
        matches = [re.fullmatch(self.row, line) for line in lines]
        found = [match[1].replace(" ", "") for match in matches if match]
        wide = len(found[0]) if found else 0
        if not found or (not look.slope and {*map(len, found)} != {wide}):
            raise ValueError("no board")
        cells: list[list[str | None]] = []
        for number, row in enumerate(found):
            missing = max(0, number + 1 - wide) if look.slope < 0 else 0
            cells.append([None] * missing + [c if c in look.pieces else "" for c in row])
        height, width = len(cells), max(map(len, cells))
        columns = [self.letters[c] if self.letters else str(c + self.first) for c in range(width)]
        rows = [str(height - r if self.upward else r + self.first) for r in range(height)]
        written = "{1}" if self.fallen else "{1}{0}" if self.letters else "{0},{1}"
        names = [[written.format(row, column) for column in columns] for row in rows]
        grid = replace(look, cells=cells, names=names, columns=columns, rows=rows)
        letters = "".join(columns)
        others = [line for line, match in zip(lines, matches, strict=True) if not match]
        others = [x for x in others if not letters.startswith(x.replace(" ", "").lower())]
        return [grid, "\n".join(others)] if others else [grid]


def _pieces(pieces: Mapping[str, Piece], **more: Any) -> Grid:
    return Grid(cells=(), pieces=pieces, **more)


def _fen(text: str) -> str:
    """Return the rows of a FEN as lines."""
    return re.sub(r"\d", lambda digit: "." * int(digit[0]), text.split(" ")[0]).replace("/", "\n")


def _local(name: str) -> tuple[str, ...]:
    """Return the cell of ultimate tic-tac-toe: ``Local board 3: x(0,1)``."""
    board, *cell = map(int, re.findall(r"\d+", name))
    return (f"{board // 3 * 3 + cell[0]},{board % 3 * 3 + cell[1]}",) if cell else ()


_PALE: Final = "#e3e7e5"
_TILE: Final = ((LIGHT,) * 3 + (_PALE,) * 3,) * 3
_NINE: Final = (*_TILE, *(row[::-1] for row in _TILE))
_THREE: Final = TextBoard(row=r"(?:P\d )?([.xo]+)", look=_pieces(_MARKS), letters="", first=0)
_HEXES: Final = _pieces(_DISCS, look="hexagons", slope=0.5)
_STONES: Final = _pieces({"X": _BLACK, "O": _WHITE}, look="points")
_CROSSINGS: Final = TextBoard(row=r" *\d+ ([XO+]+)", look=_STONES, upward=True, letters=_GO)


def _squares(letters: str, pieces: Mapping[str, Piece], **more: Any) -> TextBoard:
    look = _pieces(pieces, grounds=CHEQUERED)
    return TextBoard(row=rf"[1-9]?([.{letters}]+)", look=look, upward=True, **more)


# -- boards with lines and points ------------------------------------------------------------------

_EDGES: Final = str.maketrans("┌┬┐├┼┤└┴┘─│", "+" * 9 + "-|")
_LINE: Final = Piece(colour=INK, shape="block")
_BARS: Final = dict.fromkeys("+-|", _LINE)
_OWNERS: Final = {"1": Piece(colour=BLUE, sign="1"), "2": Piece(colour=ORANGE, sign="2")}
_BOXES: Final = _pieces(
    _BARS | _OWNERS,
    grounds=((INK, _PALE), (_PALE, LIGHT)),
    widths=(0.28, 1.0),
    heights=(0.28, 1.0),
)
_PAWNS: Final = {"0": _WHITE, "@": _BLACK, "#": Piece(colour=BLUE), "%": Piece(colour=ORANGE)}
_WALLS: Final = _pieces(
    _BARS | _PAWNS,
    grounds=((LIGHT, _PALE), (_PALE, _PALE)),
    widths=(1.0, 0.35),
    heights=(1.0, 0.35),
)


def _dots(text: str, game: OpenSpielGame) -> Blocks:
    """Draw dots, lines and boxes, which are cells of their own."""
    lines = [line.translate(_EDGES)[::2] for line in text.split("\n") if line]
    if not all(re.fullmatch(r"[-+| 12]+", line) for line in lines):
        raise ValueError("no board")
    names = [
        [f"{'vh'[c % 2]},{r // 2},{c // 2}" if (r + c) % 2 else "" for c in range(len(line))]
        for r, line in enumerate(lines)
    ]
    return [replace(_BOXES, cells=lines, names=names)]


def _quoridor(text: str, game: OpenSpielGame) -> Blocks:
    """Draw cells and the gaps between them, where walls stand."""
    size, walls = re.findall(r"size: (\d+), walls: (.*)", text)[0]
    tracks = range(2 * int(size) - 1)
    lines = [line[3::2][: len(tracks)] for line in text.split("\n")[2 : 2 + len(tracks)]]
    columns = ["" if place % 2 else string.ascii_lowercase[place // 2] for place in tracks]
    rows = ["" if place % 2 else str(place // 2 + 1) for place in tracks]
    names = [
        [f"{columns[c - c % 2]}{rows[r - r % 2]}{kinds[c % 2]}" for c in tracks]
        for r, kinds in zip(tracks, (("", "v"), ("h", "-")) * len(tracks), strict=False)
    ]
    cells = [["" if letter == "." else letter for letter in line] for line in lines]
    board = replace(_WALLS, cells=cells, names=names, columns=columns, rows=rows)
    return [board, f"walls left: {walls}"]


def _mancala(text: str, game: OpenSpielGame) -> Blocks:
    """Draw pits by their numbers of seeds, with the stores at the ends."""
    upper, (left, right), lower = (re.findall(r"\d+", line) for line in text.split("\n")[:3])
    cells = [[None, *upper, None], [left, *[None] * 6, right], [None, *lower, None]]
    names = [["", *map(str, range(13, 7, -1)), ""], [""] * 8, ["", *map(str, range(1, 7)), ""]]
    return [Grid(cells=cells, names=names)]


def _backgammon(text: str, game: OpenSpielGame) -> Blocks:
    """Draw points with their checkers, the bar, and what was borne off.

    Points are numbered as the player on turn counts them.
    """
    lines = [line.replace("|", "") for line in text.split("\n")]
    facts = dict(re.findall(r"^([^:\n]+): ?(.*)$", text, re.M))
    off = {side.lower(): int(count) for side, count in re.findall(r"([XO]): (\d+)", text)}

    def stacks(rows: Sequence[str], side: str) -> list[str]:
        """Return what is in a half of the board: columns may begin with the number of checkers."""
        columns = ["".join(column).rstrip(".") for column in zip(*rows, strict=True)]
        found = [re.findall(r"(\d*)([xo]?)", column)[0] for column in columns]
        sizes = zip(columns, found, strict=True)
        points = [letter * int(count or len(column)) for column, (count, letter) in sizes]
        return [*points[:6], side * facts["Bar"].count(side), *points[6:], side * off[side]]

    upper, lower = stacks(lines[1:6], "o"), stacks(lines[11:6:-1], "x")
    above, below = [*map(str, range(12, 0, -1))], [*map(str, range(13, 25))]
    if facts["Turn"] == "o":
        above, below = below, above
    above, below = ([*p[:6], "Bar", *p[6:], "Off"] for p in (above, below))
    cells: list[Any] = [above, upper, [None] * 14, lower, below]
    grid = Grid(
        cells=cells,
        pieces={"x": _WHITE, "o": Piece(colour=BLUE)},
        names=[[""] * 14, above, below, below, [""] * 14],
        heights=[0.6, 5, 0.6, 5, 0.6],
        grounds=((PAPER,), ("#f3e3c3", "#d9b98c"), (PAPER,), ("#d9b98c", "#f3e3c3"), (PAPER,)),
    )
    return [grid, Cards(faces=facts["Dice"].strip(), title="dice", dice=True)]


def _journey(name: str) -> tuple[str, ...]:
    """Return the points to click for two moves of checkers: from, to, from, to."""
    moves = re.findall(r"([^ (]+)(?:\((\d)\))?", name.partition(" - ")[2].replace("*", ""))
    steps = ([*pairwise(points.split("/"))] * int(times or 1) for points, times in moves)
    return tuple(chain(*chain(*steps)))


# -- cards and dice --------------------------------------------------------------------------------


_FACE: Final = re.compile(r"[2-9TJQKA][shdc]")


def _rank(number: int, ranks: int) -> str:
    return "JQKA"[number] if ranks <= 4 else str(number + 1)


def _kuhn(text: str, game: OpenSpielGame) -> Blocks:
    """Draw a player's card; the text is its number and the letters of the bets."""
    number, bets = re.findall(r"^(\d*)([pb]*)$", text)[0]
    ranks = game.info.num_players + 1
    said = ", ".join({"p": "pass", "b": "bet"}[bet] for bet in bets)
    cards = Cards(faces=[_rank(int(number), ranks) if number else "?"], title="your card")
    return [cards, f"bets: {said or 'none'}\npot: {ranks - 1 + bets.count('b')}"]


def _leduc(text: str, game: OpenSpielGame) -> Blocks:
    """Draw a player's card and the public one."""
    facts = dict(re.findall(r"\[(\w+):? ?([^\]]*)\]", text))
    ranks = game.info.num_players + 1
    suits = 1 if game.inner.get_parameters()["suit_isomorphism"] else 2

    def face(number: int) -> str:
        suit = "sh"[number % 2] if suits == 2 else ""
        return "?" if number < 0 else _rank(number // suits, ranks) + suit

    words = {"0": "fold", "1": "call", "2": "raise"}
    rounds = ([words[bet] for bet in facts[f"Round{n}"].split()] for n in (1, 2))
    bets = [f"round {n}: {', '.join(said)}" for n, said in enumerate(rounds, 1)]
    own = Cards(faces=[face(int(facts["Private"]))], title="your card")
    table = Cards(faces=[face(int(facts.get("Public", -1)))], title="on the table")
    return [own, table, "\n".join([f"pot: {facts['Pot']}, money: {facts['Money']}", *bets])]


def _liars_dice(text: str, game: OpenSpielGame) -> Blocks:
    """Draw a player's dice and write the bids."""
    dice, bids, liar = re.findall(r"^(\d*)((?: \d+-\d+)*)( Liar)?$", text)[0]
    said = [*map(_bid, bids.split()), *(["liar!"] if liar else [])]
    cards = Cards(faces=dice, title="your dice", dice=True)
    return [cards, "\n".join(["bids:", *said]) if said else "no bids yet"]


def _bid(name: str) -> str:
    count, _, face = name.partition("-")
    return f"bid {count} \u00d7 {face}" if face else "liar!"


def _gin(text: str, game: OpenSpielGame) -> Blocks:
    """Draw a hand, the upcard, the stock and the discards."""
    facts = dict(re.findall(r"(Phase|Upcard|Stock size|Discard pile|Knock card): *(\w*)", text))
    hands = re.findall(r"Deadwood=(\d+)(.*?)\+-+\+\n\n", text + "\n\n", re.S)
    found = ((_FACE.findall(hand.partition("+")[2]), deadwood) for deadwood, hand in hands)
    upcard = [] if facts["Upcard"] == "XX" else [facts["Upcard"]]
    laid = re.findall(r"(?:Layed melds|Layoffs): .*", text)
    return [
        "\n".join([f"{facts['Phase']}, knock at {facts['Knock card']}", *laid]),
        *(Cards(faces=f, names=f, title=f"your hand, deadwood {points}") for f, points in found),
        Cards(faces=upcard, names=["upcard"], title="upcard"),
        Cards(faces="?", names=["stock"], title=f"stock of {facts['Stock size']}"),
        Cards(faces=_FACE.findall(facts["Discard pile"]), title="discards"),
    ]


def _hearts(text: str, game: OpenSpielGame) -> Blocks:
    """Draw a hand and the trick on the table, and write the tricks and points."""
    hand = r"^([SHDC]) (none|[2-9TJQKA]+)$"
    suits = dict(re.findall(hand, text, re.M))
    cards = [rank + suit for suit in "SHDC" for rank in suits[suit].replace("none", "")]
    blocks: Blocks = [Cards(faces=cards, names=cards, title="your hand")]
    tricks = re.search(r"^N  E  S  W.*\n((?:.*[2-9TJQKA][SHDC].*\n)+)", text, re.M)
    if tricks:
        last = tricks[1].rstrip("\n").split("\n")[-1]
        played = [(m[0], "NESW"[m.start() // 3 % 4]) for m in re.finditer(r"\w\w", last)]
        seats = " ".join(seat for _, seat in played)
        blocks.append(Cards(faces=[card for card, _ in played], title=f"trick: {seats}"))
    return [*blocks, clean(re.sub(hand + "|^Hand: ", "", text, flags=re.M))]


def _blackjack(text: str, game: OpenSpielGame) -> Blocks:
    """Draw the player's cards and the dealer's; 0 and 1 between them are hits and the stand."""
    if "Dealer:" in text:  # the whole truth
        own, dealer = (
            [card[1] + card[0] for card in re.findall(r"[SHDC][2-9TJQKA]", line)]
            for line in re.findall(r"Cards:(.*)", text)
        )
    else:
        deal = r"^(\d*) ?(\d*) ?(\d*)((?: 0(?: \d+)?)*)((?: 1(?: \d+)*)?)$"
        first, second, upcard, hits, later = re.findall(deal, text)[0]
        own = [_face(n) for n in (first, second, *hits.split()[1::2]) if n]
        dealer = ["?", *(_face(n) for n in (upcard, *later.split()[1:]) if n)]
    return [Cards(faces=own, title="your cards"), Cards(faces=dealer, title="dealer")]


def _face(number: str) -> str:
    return "A23456789TJQK"[int(number) % 13] + "cdhs"[int(number) // 13]


def _card(name: str) -> tuple[str, ...]:
    """Return the card to click: one of the hand, or what is drawn."""
    name = _worded(name)
    one = re.fullmatch(r"\w{2}|Draw (\w+)", name)
    return (one[1] or name,) if one else ()


# -- all games -------------------------------------------------------------------------------------

_XO: Final = ("x (blue)", "o (orange)")
_WB: Final = ("Black", "White")
_TOUCHED: Final = Look(_squares("xo", _DISCS), _XO)
_TIC: Final = Look(_THREE, ("x", "o"))
_DARK: Final = Look(TextBoard(row=r"(?:P\d )?([.xo]+)", look=_HEXES))
_HAVANNAH: Final = TextBoard(
    row=r" *\d+ ((?:[.O@] *)+)[a-z]?",
    look=_pieces({"O": _WHITE, "@": _BLACK}, look="hexagons", slope=-0.5),
    before=lambda text: re.sub(r"[\[\]]", " ", text),
)
_MEN: Final = {"o": _WHITE, "+": _BLACK, "8": replace(_WHITE, sign="K")}
_MEN["*"] = replace(_BLACK, sign="K")
_AMAZONS: Final = _pieces({"X": _BLACK, "O": _WHITE, "#": _LINE}, grounds=CHEQUERED)
_OTHELLO: Final = TextBoard(row=r"\d ((?:[-xo] )+)\d", look=_pieces({"x": _BLACK, "o": _WHITE}))
_COLUMNS: Final = TextBoard(row=r"([.xo]+)", look=_pieces(_DISCS), letters="", first=0, fallen=True)
_NINES: Final = TextBoard(
    row=r"((?:[.xo]{3} ?){3})", look=_pieces(_MARKS, grounds=_NINE), letters="", first=0
)

LOOKS: Final[Mapping[str, Look]] = {
    "amazons": Look(
        TextBoard(row=r"([.XO#]+)", look=_AMAZONS, letters=""), ("X (black)", "O (white)")
    ),
    "backgammon": Look(_backgammon, ("x (white)", "o (blue)"), _journey),
    "blackjack": Look(_blackjack),
    "breakthrough": Look(_squares("wb", {"w": _WHITE, "b": _BLACK}), _WB),
    "checkers": Look(_squares("o+8*", _MEN), ("o (white)", "+ (black)")),
    "chess": Look(_squares("".join(_CHESS), _CHESS, before=_fen), _WB),
    "connect_four": Look(_COLUMNS, _XO, lambda name: (name[1:],)),
    "dots_and_boxes": Look(_dots, ("1 (blue)", "2 (orange)"), lambda name: (name[3:-1],)),
    "gin_rummy": Look(_gin, path=_card),
    "go": Look(_CROSSINGS, _WB),
    "havannah": Look(_HAVANNAH, ("O (white)", "@ (black)")),
    "hearts": Look(_hearts, path=_card),
    "hex": Look(TextBoard(row=r" *((?:[.xo] ?)+)", look=_HEXES), _XO),
    "kuhn_poker": Look(_kuhn),
    "leduc_poker": Look(_leduc),
    "liars_dice": Look(_liars_dice, word=_bid),
    "mancala": Look(_mancala, ("the lower row", "the upper row"), lambda name: (name,)),
    "othello": Look(_OTHELLO),
    "phantom_go": Look(_CROSSINGS),
    "quoridor": Look(_quoridor, ("0 (white)", "@ (black)"), lambda name: (name,)),
    "ultimate_tic_tac_toe": Look(_NINES, ("x", "o"), _local),
    **dict.fromkeys(("clobber", "lines_of_action"), _TOUCHED),
    **dict.fromkeys(("dark_hex", "dark_hex_ir"), _DARK),
    **dict.fromkeys(("latent_ttt", "mnk", "phantom_ttt", "phantom_ttt_ir"), _TIC),
    **dict.fromkeys(("python_tic_tac_toe", "tic_tac_toe"), _TIC),
}
"""The games that are drawn, by OpenSpiel's short names."""

_TEXT: Final = Look(lambda text, _: [clean(text)], path=lambda _: ())


class SpielRenderer(SceneRenderer):
    """Shows a game of OpenSpiel by its look, or as text."""

    game: OpenSpielGame

    @property
    def look(self) -> Look:
        """The game's look."""
        return LOOKS.get(self.game.short_name, _TEXT)

    def blocks(self, text: str) -> Blocks:
        """Return the blocks for a text of OpenSpiel; lines of text if it does not fit the look."""
        try:
            return self.look.draw(text, self.game)
        except (ValueError, LookupError):
            return [clean(text)]

    def whole(self, state: State) -> Scene:
        """Return the whole position; of cards, what each player knows."""
        assert isinstance(state, OpenSpielState)
        inner, game = state.inner, self.game
        blocks = self.blocks(str(inner))
        if game.info.perfect_information:
            player, sides = inner.current_player(), self.look.sides
            turn = [f"{sides[player]} to move"] if 0 <= player < len(sides) else []
            return Scene(blocks=[*self._marked(blocks, inner), *turn])
        if self.look is _TEXT or not isinstance(blocks[0], str):
            return Scene(blocks=blocks)
        blocks = []
        for player, name in enumerate(game.info.player_names):
            blocks += [f"what {name} knows:", *self.blocks(game.text_for(inner, player))]
        return Scene(blocks=blocks)

    def seen(self, view: PlayerView) -> Scene:
        """Return what the player knows, and how it chooses its actions."""
        game, look = self.game, self.look
        if game.info.perfect_information:
            state = view.state
            assert isinstance(state, OpenSpielState)
            scene = self.whole(state)
            names = {action: state.action_to_string(action) for action in view.legal_actions}
        else:
            texts = [seen.data for seen in view.observations if isinstance(seen.data, str)]
            scene = Scene(blocks=self.blocks(texts[-1] if texts else ""))
            names = {action: game.action_text(action) for action in view.legal_actions}
        words: dict[str, int] = {}  # the same two moves of checkers may be two actions
        for action, name in names.items():
            word = f"action {name}" if name.isdecimal() else look.word(name)
            words[f"{word} (other order)" if word in words else word] = action
        if game.short_name == "chess" and isinstance(state := view.state, OpenSpielState):
            board = state.inner.board()  # its own names, such as Nf3, do not say from where
            names = {a: pyspiel.chess.action_to_move(a, board).to_lan() for a in names}
        actions = {action: look.path(name) for action, name in names.items()}
        return replace(scene, actions=actions, labels={a: word for word, a in words.items()})

    def _marked(self, blocks: Blocks, inner: Any) -> Blocks:
        """Return the blocks with the cells marked that the last action of a player changed."""
        history = inner.full_history()
        last = max((n for n, entry in enumerate(history) if entry.player >= 0), default=-1)
        if last < 0 or not isinstance(blocks[0], Grid):
            return blocks
        before = self.game.inner.new_initial_state()
        for entry in history[:last]:
            before.apply_action(entry.action)
        earlier = self.blocks(str(before))[0]
        changes = blocks[0].changes(earlier) if isinstance(earlier, Grid) else ()
        marks = [(row, column) for row, column in changes if blocks[0].names[row][column]]
        return [replace(blocks[0], marks=marks), *blocks[1:]]
