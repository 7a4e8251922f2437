"""The pictures of OpenSpiel's games: what is drawn, where people click, words of buttons."""

from __future__ import annotations

import random
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.plugins.test_clicks_of_games import decisions
from tests.slow import with_slow

from miai.scenes import Cards, Grid, Scene
from miai.squares import PAPER
from miai.testing import check_renderer
from miai_openspiel.boards import LOOKS, SpielRenderer
from miai_openspiel.catalogue import games
from miai_openspiel.games import OpenSpielGame, OpenSpielState

BOARDS: dict[str, tuple[str, Callable[[str], str]]] = {
    "amazons": ("[XO#]", str),
    "breakthrough": ("[wb]", lambda text: text.partition("\n a")[0]),
    "checkers": ("[o+8*]", lambda text: re.sub("^.", "", text, flags=re.M)),
    "chess": ("[a-zA-Z]", lambda text: text.partition(" ")[0]),
    "connect_four": ("[xo]", str),
    "dots_and_boxes": ("[-|12]", lambda text: text.replace("───", "-").replace("│", "|")),
    "go": ("[XO]", lambda text: text.partition("\n\n")[2].partition("ABC")[0]),
    "havannah": ("[O@]", str),
    "hex": ("[xo]", str),
    "mancala": (r"\d+", lambda text: text.partition("Current")[0]),
    "othello": ("[xo]", lambda text: text.partition("\n")[2]),
    "quoridor": ("[-@0|+]", lambda text: text.split("\n", 2)[2].replace("---", "-")),
    "tic_tac_toe": ("[xo]", str),
    "ultimate_tic_tac_toe": ("[xo]", lambda text: text.partition("Current")[0]),
}
"""The pieces in pyspiel's text of a position, in reading order, after what is no board is cut."""

BUTTONS = {
    "backgammon": "Pass",
    "blackjack": "Hit|Stand",
    "gin_rummy": r"Pass|Knock|(?:\w[shdc]){3,5}",
    "go": "PASS",
    "kuhn_poker": "Pass|Bet",
    "leduc_poker": "Fold|Call|Raise",
    "othello": "pass",
    "liars_dice": r"bid \d \W \d|liar!",
    "ultimate_tic_tac_toe": r"Choose local board \d",
}
"""What cannot be clicked in a picture."""

DRAWN = sorted({*BOARDS, *BUTTONS, "hearts"})
LONG = ("backgammon", "gin_rummy", "go", "hearts", "quoridor")


def cards_of(name: str, text: str, player: int) -> list[str]:
    """Return the cards or dice that a player holds, from pyspiel's text of the whole position."""
    if name in ("kuhn_poker", "liars_dice"):
        number = text.split()[player]
        return [number if name == "liars_dice" else "JQK"[int(number)]]
    if name == "leduc_poker":
        card = int(re.findall(r"player_1\): \S+ (\d) (\d)", text)[0][player])
        return ["JQK"[card // 2] + "sh"[card % 2]]
    if name == "blackjack":
        (own,) = re.findall("0: Cards: (.*)", text)
        return [card[1] + card[0].lower() for card in own.split()]
    if name == "gin_rummy":
        return re.findall(r"[2-9TJQKA][shdc]", text.partition(f"Player{player}")[2].split("+")[2])
    rows = re.findall(r"^(?: {8})?([SHDC] .*)$", text, re.M)[:12]  # of hearts: N, W and E, S
    sides = [rows[:4], [row[16:] for row in rows[4:8]], rows[8:], [row[:16] for row in rows[4:8]]]
    found = (re.findall(r"[SHDC](?: (\w*))?", row)[0] for row in sides[player])
    return [rank + suit for suit, hand in zip("SHDC", found, strict=True) for rank in hand]


def drawn_in(svg: str) -> Iterator[tuple[float, float, tuple[str | None, ...]]]:
    """Yield where the middle of each element of a picture is, and how it looks."""
    for element in ElementTree.fromstring(svg.replace(' href="#', ' link="#')):
        get = element.attrib.get
        if get("fill") == PAPER or (element.tag == "path" and "m" not in get("d", "")[1:]):
            continue  # the ground and the marks
        start = re.findall(r"[\d.]+", get("d", "0 0"))
        x, y = float(get("cx", get("x", start[0]))), float(get("cy", get("y", start[1])))
        x, y = x + float(get("width", "0")) / 2, y + float(get("height", "0")) / 2
        yield x, y, (element.tag, get("fill"), get("stroke"), element.text)


def check_board(name: str, grid: Grid, state: OpenSpielState) -> None:
    """Compare a grid with pyspiel's text."""
    if name == "backgammon":
        cells = zip(chain(*grid.names), chain(*grid.cells), strict=True)
        points = {at: content for at, content in cells if at.isdigit() and content != at}
        mover = max(0, state.inner.current_player())
        for at in range(24):
            content = points[str(at + 1 if mover else 24 - at)] or ""
            counts = [state.inner.board(player, at) for player in (0, 1)]
            assert [content.count("x"), content.count("o")] == counts
        return
    pieces, cut = BOARDS[name]
    contents = [content or "" for row in grid.cells for content in row]
    wanted = [*re.findall(pieces, cut(str(state.inner)))]
    assert [content for content in contents if re.fullmatch(pieces, content)] == wanted
    if name == "havannah":  # with its coordinates
        text = re.sub(r"[\[\]]", " ", str(state.inner).replace("] ", " ")).rstrip()
        assert textwrap.dedent(grid.text()) == textwrap.dedent(re.sub(" +$", "", text, flags=re.M))
    shown = Counter(grid.text().split()) - Counter(grid.columns) - Counter(grid.rows)
    assert all(shown[piece] == wanted.count(piece) for piece in set(wanted))


def play(name: str, seed: int, plies: int) -> None:
    game = OpenSpielGame(name)
    renderer, looks = SpielRenderer(game), defaultdict[str, set[Any]](set)
    for state, view in decisions(game, seed, plies=plies):
        assert isinstance(state, OpenSpielState)
        scene = renderer.seen(view)
        first = scene.blocks[name == "gin_rummy"]
        if isinstance(first, Grid):
            check_board(name, first, state)
            elements = [*drawn_in(renderer.svg(view))]
            for at, content in first.existing():
                x, y, width, height = first.box(at, 0.0)
                inside = [e for u, v, e in elements if x < u < x + width and y < v < y + height]
                looks[re.sub("[-|]", "+", content.strip())].add(str(sorted(inside, key=str)))
        else:
            assert isinstance(first, Cards)
            assert sorted(first.faces) == sorted(cards_of(name, str(state), view.player))
        assert first.text() in renderer.render(view)
        check_actions(name, scene, state, renderer)
    assert [len(signs) for signs in looks.values()] == [1] * len(looks)
    assert len(set.union(set(), *looks.values())) == len(looks)


def check_actions(name: str, scene: Scene, state: OpenSpielState, renderer: SpielRenderer) -> None:
    """Choose an action by its clicks or its button, and see what it changes."""
    clicks, legal = scene.clicks(), state.legal_actions()
    assert set(clicks.actions) <= set(legal) == set(clicks.labels)
    places = defaultdict(list)
    for action in legal:
        places[clicks.actions.get(action)].append(clicks.labels[action])
    assert all(re.fullmatch(BUTTONS.get(name, ""), word) for word in places.pop(None, []))
    assert all(len({*words}) == len(words) for words in places.values())
    assert all(len(words) == 1 for words in places.values()) or name in ("chess", "backgammon")
    path = clicks.actions.get(action := random.Random(len(legal)).choice(legal))
    board, after = scene.blocks[0], renderer.whole(state.child(action)).blocks[0]
    if path and name in BOARDS and name != "amazons":
        assert isinstance(board, Grid)
        assert isinstance(after, Grid)
        assert set(path) <= {board.names[row][column] for row, column in after.changes(board)}


@pytest.mark.parametrize("name", with_slow(DRAWN, *LONG))
def test_a_game_is_played_by_clicks_and_words(name: str) -> None:
    for seed in range(4 if name in ("blackjack", "kuhn_poker", "leduc_poker") else 1):
        play(name, seed, 4 if name in BOARDS else 57)  # hearts has dealt after 53
    check_renderer(OpenSpielGame(name), SpielRenderer, games=1, max_plies=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_whole_games_are_played_by_clicks_and_words(name: str) -> None:
    for seed in range(2, 4):
        play(name, seed, 400)


@pytest.mark.slow
@pytest.mark.parametrize("name", games())
def test_every_game_is_shown_as_its_player_observed_it(name: str) -> None:
    renderer = SpielRenderer(game := OpenSpielGame(name))
    check_renderer(game, SpielRenderer, games=2, max_plies=10)
    for _, view in decisions(game, 3, plies=6):
        assert all(renderer.clicks(view).labels.values())
        assert not re.search(r"Action: |\x1b|State\(|Terminal\?", renderer.render(view))


@pytest.mark.parametrize("name", sorted(LOOKS))
def test_a_text_that_does_not_fit_is_shown_as_text(name: str) -> None:
    renderer = SpielRenderer(OpenSpielGame(name))
    state = renderer.game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    text = renderer.game.text_for(state.inner, 0) if games()[name]["hides"] else str(state)
    for cut in range(0, len(text), 1 + len(text) // 20):
        for broken in (text[:cut], text[cut:], text[:cut] + "?" + text[cut:]):
            assert renderer.blocks(broken)
    assert renderer.blocks("what\nis this? {}") == ["what\nis this? {}"]
