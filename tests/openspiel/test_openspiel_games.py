"""Games of OpenSpiel in miai: what loads, the rules, what stays hidden, pictures and clicks."""

from __future__ import annotations

import json
import random
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyspiel
import pytest
from tests.plugins.test_clicks_of_games import decisions
from tests.seeds import seed_of_test
from tests.slow import with_slow

import miai
from miai.cli.play import game_of
from miai.errors import ConformanceError, InvalidActionError, ParameterError
from miai.game import Player
from miai.plugins.kinds import GAME
from miai.plugins.registry import Registry
from miai.public import private_part, public_state
from miai.scenes import Cards, Grid, Scene
from miai.squares import PAPER
from miai.testing import check_game, check_renderer
from miai_openspiel import loading, plugin
from miai_openspiel.boards import LOOKS, SpielRenderer
from miai_openspiel.catalogue import ask_openspiel, games, parameters_of
from miai_openspiel.games import OpenSpielGame, OpenSpielState

QUICK = (
    "2048",  # one player
    "backgammon",  # chance that all see
    "bargaining",
    "blotto",  # one simultaneous choice
    "connect_four",
    "coop_box_pushing",  # simultaneous, hidden, rewards on the way, one team
    "dark_hex",
    "goofspiel",  # simultaneous choices and chance
    "hearts",  # four players
    "laser_tag",  # simultaneous choices, chance and rewards
    "kuhn_poker",
    "leduc_poker",
    "matrix_pd",  # not of constant sum
    "phantom_ttt",
    "python_dynamic_routing",  # five players at once; written in Python
    "tiny_hanabi",  # cooperative
)
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


def load(name: str, **parameters: Any) -> OpenSpielGame:
    return OpenSpielGame(name, parameters_of(name)(**parameters))


FAULTY = {
    "chat_game": "has more legal actions than its number of distinct actions",
    "python_hangman": "fails when it is asked for its number of chance outcomes",
}
"""Games that break a rule, by a fault in OpenSpiel; docs/openspiel.md has reproductions."""


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", games())
def test_every_game_keeps_the_rules(name: str) -> None:
    if name in FAULTY:
        with pytest.raises(ConformanceError):
            check_game(load(name), games=1, max_plies=12, worlds=20, seed=1)
    else:
        check_game(load(name), games=1, max_plies=12, worlds=20, seed=1)


def test_the_catalogue_is_that_of_openspiel() -> None:
    asked = ask_openspiel()
    assert asked["games"] == games()
    assert len(games()) + len(asked["left_out"]) == len(pyspiel.registered_names())
    assert len(games()) >= 100


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_game_keeps_the_rules(name: str) -> None:
    check_game(load(name), games=2, max_plies=25, worlds=100, seed=seed_of_test())


@pytest.mark.parametrize("name", QUICK)
def test_a_game_goes_as_in_openspiel(name: str) -> None:
    """The same actions, by another way through OpenSpiel, end the game with the same returns."""
    game, rng = load(name), random.Random(seed_of_test())
    state = game.new_initial_state()
    for _ in range(2000):
        if state.is_terminal():
            break
        actions = state.legal_actions()
        state.apply_action(rng.choice(actions))
    twin = game.inner.deserialize_state(state.inner.serialize())
    assert twin.is_terminal() == state.is_terminal()
    if state.is_terminal():
        assert state.returns() == tuple(twin.returns())
    chance = game.chance_offset
    moves = zip(state.history(), state.actors(), strict=True)
    history = [action - chance * (actor < 0) for action, actor in moves]
    assert history == twin.history()


def test_chance_has_the_probabilities_of_the_rules() -> None:
    """In 2048 a new tile is a two nine times in ten, on each free cell alike."""
    chances = sorted(chance for _, chance in load("2048").new_initial_state().chance_outcomes())
    assert chances == pytest.approx([0.1 / 16] * 16 + [0.9 / 16] * 16)


@pytest.fixture(scope="module")
def registry() -> Registry:
    registry = Registry().for_plugin("openspiel")
    plugin.miai_register(registry)
    return registry


def test_all_games_register_under_their_names(registry: Registry) -> None:
    names = [component.name for component in registry.components(GAME)]
    assert len(names) == len(games()) + 1
    game = registry.build(GAME, "openspiel:leduc_poker", values={"players": 3})
    assert game.info.num_players == 3
    assert game.info.name == "openspiel:leduc_poker"
    misere = registry.build(GAME, "openspiel", values={"game": "misere(game=tic_tac_toe())"})
    assert misere.info.name == "openspiel"
    assert misere.new_initial_state().legal_actions() == list(range(9))


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("leduc_poker", {"players": 99}, "num_players_ <= kGameType.max_num_players"),
        ("blotto", {"fields": 0}, "'blotto': nobody has a legal action at its start"),
        ("blotto", {"players": 99}, "'blotto': it is for 2 to 10 players, not for 99"),
        ("openspiel", {"game": "goofspiel(num_cards=0)"}, "chance has no outcomes at its start"),
        ("openspiel", {"game": "misere(game=nosuch())"}, "'misere(game=nosuch())': Unknown game"),
        ("leduc_poker", {"players": "two"}, "players"),
        ("hex", {"board_size": 10_000_000}, "10000000 is too large"),
        ("leduc_poker", {"player": 2}, "unknown parameter. Did you mean 'players'"),
        ("openspiel", {"game": "no_such_game"}, "has no game 'no_such_game'"),
        ("openspiel", {"game": "mfg_garnet"}, "mean-field game"),
        ("openspiel", {"game": "negotiation"}, "draws its chance by itself"),
        ("openspiel", {"game": "misere(game=efg_game(filename=/x))"}, "names a file, which only"),
        ("openspiel", {"game": "crossword(puzzles_root=/x)"}, "names a file, which only"),
        ("bargaining", {"instances_file": "/x"}, "instances_file names a file, which only"),
        ("colored_trails", {"boards_file": "/x"}, "boards_file names a file, which only"),
    ],
)
def test_what_openspiel_refuses_is_said_in_one_line(
    registry: Registry, name: str, parameters: Any, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    full = name if name == "openspiel" else f"openspiel:{name}"
    with pytest.raises(ParameterError) as error:
        registry.build(GAME, full, values=parameters)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert capfd.readouterr() == ("", "")


def test_a_command_line_may_name_a_file(registry: Registry, tmp_path: Path) -> None:
    tree = 'p "" 1 1 "" { "a" "b" } 0\nt "" 1 "" { 3 -3 }\nt "" 2 "" { 3 -3 }\n'
    (tmp_path / "x.efg").write_text(f'EFG 2 R "x" {{ "A" "B" }}\n{tree}')
    name, parameters = game_of("openspiel", [f"game=efg_game(filename={tmp_path}/x.efg)"])
    assert registry.build(GAME, name, values=parameters).info.max_utility == 3


def test_a_game_that_does_not_begin_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSpiel lists the 26 billion ways to divide 100 coins in code that nothing can stop."""
    monkeypatch.setattr(loading, "TRIAL_SECONDS", 0.3)
    with pytest.raises(ParameterError, match=r"it does not begin a game within 0.3 s"):
        OpenSpielGame("blotto(coins=100,fields=8)")


def test_names_of_actions_are_looked_up_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    """OpenSpiel prints a line in C++ for each text that it does not give."""
    assert load("sheriff").action_text(0) == "0"
    assert capfd.readouterr() == ("", "")


# -- what is hidden -------------------------------------------------------------------------------


def test_notations_of_hidden_games_do_not_tell_who_acts() -> None:
    game = load("phantom_ttt")
    state = game.new_initial_state()
    assert state.action_to_string(4) == "(1,1)"
    assert state.string_to_action(" (1,1) ") == 4
    texts = [load("kuhn_poker").action_text(n) for n in range(4)]
    assert texts == ["Pass", "Bet", "chance 0", "chance 1"]
    assert load("oh_hell").action_text(1) == "1"  # its texts are right in some positions only
    state = load("connect_four").new_initial_state()
    assert (state.action_to_string(3), state.action_to_string(7)) == ("x3", "chance 0")
    assert state.string_to_action(" X3") == 3
    with pytest.raises(InvalidActionError, match="connect_four: no legal action is written 'o3'"):
        state.string_to_action("o3")
    assert [state.legal_actions_of(player) for player in (0, 1)] == [[*range(7)], []]
    for _ in range(6):
        state.apply_action(3)
    assert state.action_to_string(3) == "3"  # the column is full


def test_an_information_state_is_all_that_was_observed() -> None:
    """Asked on the way or at the end only; the other's card is no part of it, one's own is."""
    texts = []
    for cards, asked in (((4, 2), True), ((4, 2), False), ((4, 3), False), ((3, 2), False)):
        state = load("kuhn_poker").new_initial_state()
        for action in (*cards, 0, 1):
            state.apply_action(action)
            if asked:
                assert state.child(state.legal_actions()[0]).information_state_string(0)
                assert state.information_state_string(0)
        texts.append(state.information_state_string(0))
    assert texts[0] == texts[1] == texts[2] != texts[3]
    assert texts[0][32:] == " 2pb"


def test_a_game_that_is_cut_short_is_worth_what_is_possible() -> None:
    worth = {"cliff_walking": (-9.0,), "kuhn_poker": (0.0, 0.0), "coop_box_pushing": (-0.1, -0.1)}
    for name, values in worth.items():
        state = load(name).new_initial_state()
        while name == "coop_box_pushing" and len(state.history()) < 5:  # a round costs a tenth
            state.apply_action(state.legal_actions()[0])
        assert state.truncated_returns() == pytest.approx(values), name


# -- players who act at once ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["matrix_pd", "coop_box_pushing"])
def test_nobody_learns_of_a_choice_before_all_are_made(name: str) -> None:
    game = load(name)
    states = [game.new_initial_state() for _ in range(2)]
    for choice, state in enumerate(states):
        start = [state.information_state_string(player) for player in (0, 1)]
        state.apply_action(choice)
        assert state.next_actor() == 1
        assert [state.observation(player) for player in (0, 1)] == [None, None]
        assert [state.information_state_string(player) for player in (0, 1)] == start
        state.apply_action(1)
        seen = state.observation(1)
        assert seen is not None
        assert (seen.actor, seen.action) == (Player.SIMULTANEOUS, 1)
        assert seen.actions == (() if name == "coop_box_pushing" else (choice, 1))


@pytest.mark.parametrize("name", ["coop_box_pushing", "cribbage", "laser_tag", "pathfinding"])
def test_rewards_are_those_of_openspiel(name: str) -> None:
    """OpenSpiel counts those since the last decision; here they follow from the returns."""
    game, rng = load(name), random.Random(seed_of_test())
    state = game.new_initial_state()
    assert game.info.intermediate_rewards
    due = np.zeros(game.info.num_players)
    for _ in range(200):
        if state.is_terminal():
            break
        if state.is_chance_node():
            state.apply_action(miai.game.sample_chance(state, rng))
        else:
            assert state.inner.rewards() == pytest.approx(due, abs=1e-9)
            players = state.acting_players()
            state.apply_actions({p: rng.choice(state.legal_actions_of(p)) for p in players})
            due = np.zeros(game.info.num_players)
        due += state.rewards()
        assert state.returns() == tuple(state.inner.returns())


def test_players_with_equal_utilities_are_one_team() -> None:
    assert load("tiny_hanabi").info.teams == (0, 0)
    assert load("tiny_hanabi").resignation_returns(1) == (0.0, 0.0)
    assert load("leduc_poker").info.teams == ()


def test_a_tensor_of_a_game_in_python_is_that_of_its_state_alone() -> None:
    """OpenSpiel's observer of this game keeps the rows that other states wrote."""
    game = load("python_dynamic_routing")
    first, other = game.new_initial_state(), game.new_initial_state()
    before = first.observation_tensor(0)
    while not other.is_terminal():
        other.apply_action(other.legal_actions()[-1])
        other.observation_tensor(0)
    assert (first.observation_tensor(0) == before).all()
    assert (other.observation_tensor(0) != before).any()


def test_in_leduc_poker_the_table_is_public() -> None:
    # Cards 1 and 5; the first player calls, the second raises, the first calls; card 2 is turned.
    states = [OpenSpielGame("leduc_poker").new_initial_state()]
    for action in (4, 8, 1, 2, 1, 5):
        states.append(states[-1].child(action))
    table = [json.loads(part) for part in public_state(states[-1])]
    bets = [re.findall(r"Pot: (\d+)|Public: (\d)|Round1: ([12 ]*)\]", text) for text in table]
    shown = ["".join(" ".join(found).strip() + ";" for found in row) for row in bets]
    assert shown == ["2;;", "2;;", "2;1;", "4;1 2;", "6;1 2 1;", "6;2;1 2 1;"]
    assert not any("Private" in text for text in table)
    for player, card in enumerate("15"):
        private = private_part(states[4], player)
        assert isinstance(private, dict)
        assert private["data"] == f"[Observer: {player}][Private: {card}]"


# -- boards ---------------------------------------------------------------------------------------


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
