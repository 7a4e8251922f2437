"""The pictures of OpenSpiel's games: what is drawn, where people click, words of buttons."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.plugins.test_clicks_of_games import decisions

from miai import PlayerView
from miai.scenes import Cards, Grid
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
    "go": "pass",
    "kuhn_poker": "Pass|Bet",
    "leduc_poker": "Fold|Call|Raise",
    "liars_dice": r"bid \d \W \d|liar!",
    "ultimate_tic_tac_toe": r"Choose local board \d",
}
"""What cannot be clicked in a picture."""

DRAWN = sorted({*BOARDS, *BUTTONS, "hearts"})
SHORT = {"backgammon": 6, "chess": 12, "go": 3, "havannah": 6, "hex": 6, "quoridor": 6}
SMALL = {"go": {"board_size": 5}, "havannah": {"board_size": 4}, "quoridor": {"board_size": 5}}


def cards_of(name: str, state: OpenSpielState, player: int) -> list[str]:
    """Return the cards or dice that a player holds, from pyspiel's text of the whole position."""
    text = str(state)
    if name in ("kuhn_poker", "liars_dice"):
        number = text.split()[player]
        return ["JQK"[int(number)] if name == "kuhn_poker" else number]
    if name == "leduc_poker":
        *_, number = re.findall(r"player_1\): \S+ (\d) (\d)", text)[0][: player + 1]
        return ["JQK"[int(number) // 2] + "sh"[int(number) % 2]]
    if name == "blackjack":
        return [card[1] + card[0].lower() for card in text.partition("0: Cards: ")[2].split()[:-1]][
            : len(re.findall(r"\w\w", text.partition("0: Cards: ")[2].partition("\n")[0]))
        ]
    if name == "gin_rummy":
        return re.findall(r"[2-9TJQKA][shdc]", text.partition(f"Player{player}")[2].split("+")[2])
    rows = re.findall(r"^(?: {8})?([SHDC] .*)$", text, re.M)[:12]
    sides = [rows[:4], [row[16:] for row in rows[4:8]], rows[8:], [row[:16] for row in rows[4:8]]]
    found = (re.findall(r"[SHDC](?: (\w*))?", row)[0] for row in sides[player])
    hands = dict(zip("SHDC", found, strict=True))
    return [rank + suit for suit, hand in hands.items() for rank in hand if hand != "none"]


def drawn_in(svg: str) -> Iterator[tuple[float, float, tuple[str | None, ...]]]:
    """Yield where the middle of each element of a picture is, and how it looks."""
    for element in ElementTree.fromstring(svg.replace(' href="#', ' link="#')):
        get = element.attrib.get
        if get("fill") == PAPER or (element.tag == "path" and "m" not in get("d", "")[1:]):
            continue  # the ground and the marks
        x, y = float(get("cx", get("x", "0"))), float(get("cy", get("y", "0")))
        if element.tag == "path":
            x, y = map(float, re.findall(r"[\d.]+", get("d", ""))[:2])
        x, y = x + float(get("width", "0")) / 2, y + float(get("height", "0")) / 2
        yield x, y, (element.tag, get("fill"), get("stroke"), element.text)


def check_board(name: str, grid: Grid, svg: str, state: OpenSpielState, looks: Any) -> None:
    """Compare a grid with pyspiel's text, and its picture with the grid."""
    contents = [content for row in grid.cells for content in row if (content or "").strip()]
    if name in BOARDS:
        pieces, cut = BOARDS[name]
        wanted = [*re.findall(pieces, cut(str(state.inner)))]
        assert [content for content in contents if re.fullmatch(pieces, content)] == wanted
        shown = Counter(grid.text().split()) - Counter(grid.columns) - Counter(grid.rows)
        assert all(shown[piece] == wanted.count(piece) for piece in set(wanted))
    else:
        mover = max(0, state.inner.current_player())
        for number in range(1, 25):
            at = number - 1 if mover else 24 - number
            (content,) = {
                c
                for row, names in zip(grid.cells, grid.names, strict=True)
                for c, other in zip(row, names, strict=True)
                if other == str(number) and c is not None and not c.isdigit()
            }
            counts = tuple(state.inner.board(player, at) for player in (0, 1))
            assert (content.count("x"), content.count("o")) == counts
    elements = [*drawn_in(svg)]
    for r, row in enumerate(grid.cells):
        for c, content in enumerate(row):
            x, y, width, height = grid.box((r, c), 0.0)
            if content is not None:
                inside = (e for u, v, e in elements if x < u < x + width and y < v < y + height)
                looks[re.sub("[-|]", "+", content.strip())].add(tuple(sorted(inside, key=str)))


def play(name: str, seed: int, plies: int) -> None:
    game = OpenSpielGame(name, _parameters(name))
    renderer, looks = SpielRenderer(game), defaultdict[str, set[Any]](set)
    for state, view in decisions(game, seed, plies=plies):
        assert isinstance(state, OpenSpielState)
        scene, clicks, svg = renderer.seen(view), renderer.clicks(view), renderer.svg(view)
        first = scene.blocks[name == "gin_rummy"]
        if isinstance(first, Grid):
            check_board(name, first, svg, state, looks)
        else:
            assert isinstance(first, Cards)
            assert sorted(first.faces) == sorted(cards_of(name, state, view.player))
            assert first.text() in renderer.render(view)
        check_actions(name, state, view, renderer)
        assert set(clicks.actions) <= set(view.legal_actions) == set(clicks.labels)
    assert all(len(signs) == 1 for signs in looks.values())
    assert len({*map(str, looks.values())}) == len(looks)


def _parameters(name: str) -> Any:
    from miai_openspiel.catalogue import parameters_of

    return parameters_of(name)(**SMALL.get(name, {}))


def check_actions(
    name: str, state: OpenSpielState, view: PlayerView, renderer: SpielRenderer
) -> None:
    """Choose every action by its clicks or its button, and see what it changes."""
    clicks, before = renderer.clicks(view), renderer.seen(view).blocks[0]
    places = defaultdict(list)
    for action in view.legal_actions:
        word, path = clicks.labels[action], clicks.actions.get(action, ())
        if not path:
            assert re.fullmatch(BUTTONS.get(name, "nothing"), word)
        places[path or word].append(word)
    assert all(len(set(words)) == len(words) for words in places.values())
    promotions = sum(len(words) > 1 for words in places.values())
    assert not promotions or name in ("chess", "backgammon")
    action = random.Random(len(state.history())).choice([*clicks.actions, *view.legal_actions])
    if name not in BOARDS or name == "amazons" or not (path := clicks.actions.get(action)):
        return
    assert isinstance(before, Grid)
    after = renderer.whole(state.child(action)).blocks[0]
    assert isinstance(after, Grid)
    changed = {before.names[r][c] for r, c in after.changes(before)}
    assert set(path) <= changed


@pytest.mark.parametrize("name", DRAWN)
def test_a_game_is_played_by_clicks_and_words(name: str) -> None:
    play(name, 1, SHORT.get(name, 12))


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_whole_games_are_played_by_clicks_and_words(name: str) -> None:
    for seed in range(2, 6):
        play(name, seed, 400)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(games()))
def test_every_game_is_shown_by_the_rules_of_renderers(name: str) -> None:
    game = OpenSpielGame(name)
    check_renderer(game, SpielRenderer, games=1, max_plies=10)
    for _, view in decisions(game, 3, plies=6):
        assert all(SpielRenderer(game).clicks(view).labels.values())
        assert not re.search(
            r"Player: \d|\x1b|State\(|Terminal\?", SpielRenderer(game).render(view)
        )


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "phantom_ttt"])
def test_hidden_games_show_what_was_observed_alone(name: str) -> None:
    check_renderer(OpenSpielGame(name), SpielRenderer, games=4, seed=2)


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
