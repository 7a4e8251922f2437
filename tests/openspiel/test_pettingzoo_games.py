"""The classic games of PettingZoo: each has a game of miai, and the rules are the same."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pettingzoo
import pytest
from tests.seeds import seed_of_test

import miai
from miai_openspiel.games import OpenSpielGame

PAGE = (Path(__file__).parents[2] / "docs" / "openspiel.md").read_text("utf-8")
TABLE = dict(re.findall(r"^\| `(\w+_v\d)` \| `([^`]+)`", PAGE, re.M))


def game_of(name: str) -> miai.Game:
    """The game of a row of the page's table."""
    game, _, text = TABLE[name].partition(" --set game=")
    if game.startswith("openspiel"):
        return OpenSpielGame(text.strip("'") or game.removeprefix("openspiel:"))
    return miai.load_game(game)


def test_the_table_has_all_classic_games() -> None:
    names = (Path(pettingzoo.__file__).parent / "classic" / "all_modules.py").read_text()
    assert set(TABLE) == set(re.findall(r'"classic/(\w+)"', names))


@pytest.mark.parametrize("name", TABLE)
def test_a_classic_game_can_be_played(name: str) -> None:
    rng = random.Random(seed_of_test())
    state = game_of(name).new_initial_state()
    for _ in range(20):
        if state.is_terminal():
            break
        actions = state.legal_actions()
        state.apply_action(rng.choice(actions))
    assert state.history()


@pytest.mark.parametrize("name", ["connect_four_v3", "tictactoe_v3", "chess_v6"])
def test_a_game_goes_as_in_pettingzoo(name: str) -> None:
    """The same number of choices and, where actions have the same numbers, the same ends."""
    from importlib import import_module

    environment = import_module(f"pettingzoo.classic.{name}").raw_env()
    game, rng = game_of(name), random.Random(seed_of_test())
    for _ in range(3):
        environment.reset()
        state = game.new_initial_state()
        while not state.is_terminal() and state.move_number() < 60:
            seen = environment.observe(environment.agent_selection)
            mask = [n for n, legal in enumerate(seen["action_mask"]) if legal]
            if name == "chess_v6":
                assert len(mask) == len(state.legal_actions())
                action = rng.choice(state.legal_actions())
                play_chess(environment, mask, state.action_to_string(action))
                state.apply_action(action)
                continue
            assert mask == state.legal_actions()
            action = rng.choice(mask)
            environment.step(action)
            state.apply_action(action)
        if name != "chess_v6":
            assert state.is_terminal()
            rewards = [environment.rewards[agent] for agent in environment.possible_agents]
            assert tuple(rewards) == state.returns()


def play_chess(environment: Any, mask: list[int], text: str) -> None:
    """Play the move of a text in PettingZoo's game, which numbers moves in another way."""
    from pettingzoo.classic.chess import chess_utils

    board = environment.board
    move, mover = board.parse_san(text), 0 if board.turn else 1
    environment.step(next(a for a in mask if chess_utils.action_to_move(board, a, mover) == move))


def test_rock_paper_scissors_goes_as_in_pettingzoo() -> None:
    from pettingzoo.classic import rps_v2

    environment = rps_v2.raw_env(max_cycles=1)
    game = game_of("rps_v2")
    for choices in product(range(3), repeat=2):
        environment.reset()
        for choice in choices:
            environment.step(choice)
        state = game.new_initial_state()
        state.apply_actions(dict(enumerate(choices)))
        rewards = [environment.rewards[agent] for agent in environment.possible_agents]
        assert tuple(rewards) == state.returns() == state.rewards()


# -- hold'em, by rules of its own -----------------------------------------------------------------


def value(cards: list[int]) -> tuple[int, ...]:
    """The value of five cards, rank * 4 + suit: the kind of hand, then ranks by count and size."""
    counts = Counter(card // 4 for card in cards)
    ranks = sorted(counts, key=lambda rank: (-counts[rank], -rank))
    flush = len({card % 4 for card in cards}) == 1
    if ranks == [12, 3, 2, 1, 0]:
        ranks = [3, 2, 1, 0, -1]  # the ace is low
    straight = len(ranks) == 5 and ranks[0] - ranks[4] == 4
    shape = tuple(sorted(counts.values(), reverse=True))
    kinds = {(1,) * 5: 0, (2, 1, 1, 1): 1, (2, 2, 1): 2, (3, 1, 1): 3, (3, 2): 6, (4, 1): 7}
    kind = max(kinds[shape], 4 * straight, 5 * flush, 8 * (straight and flush))
    return (kind, *ranks)


def best(cards: list[int]) -> tuple[int, ...]:
    return max(value(list(five)) for five in combinations(cards, 5))


class Table:
    """Money and turns of hold'em for two, in which the second player has the small blind."""

    def __init__(self, *, limit: bool) -> None:
        self.limit = limit
        self.paid = [2, 1]
        self.round, self.mover, self.acted = 0, 1, 0
        self.folded: int | None = None

    @property
    def over(self) -> bool:
        return self.folded is not None or self.round == 4

    @property
    def all_in(self) -> bool:
        return not self.limit and self.paid == [100, 100]

    def act(self, name: str) -> None:
        me, most = self.mover, max(self.paid)
        pot = 2 * most  # after a call
        self.acted += 1
        if name == "Fold":
            self.folded = me
            return
        self.paid[me] = {
            "Call": most,
            "AllIn": 100,
            "Bet": most + ((2, 2, 4, 4)[self.round] if self.limit else pot),
            "HalfPot": most + pot // 2,
        }[name]
        self.mover = 1 - me
        if self.acted > 1 and self.paid[0] == self.paid[1]:
            self.round, self.mover, self.acted = self.round + 1, 0, 0
            if self.all_in:
                self.round = 4


@pytest.mark.parametrize("name", ["texas_holdem_v4", "texas_holdem_no_limit_v6"])
def test_hold_em_pays_what_its_rules_say(name: str) -> None:
    game, rng = game_of(name), random.Random(seed_of_test())
    assert isinstance(game, OpenSpielGame)
    showdowns = 0
    for _ in range(150):
        state, table = game.new_initial_state(), Table(limit=name == "texas_holdem_v4")
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(rng.choice(state.legal_actions()))
                continue
            assert state.current_player() == table.mover
            names = {a: state.action_to_string(a).rpartition("=")[2] for a in state.legal_actions()}
            weights = [0.1 if each == "Fold" else 1.0 for each in names.values()]
            action = rng.choices(list(names), weights)[0]
            state.apply_action(action)
            table.act(names[action])
        assert table.over
        cards = [a - game.chance_offset for a in state.history() if a >= game.chance_offset]
        assert len(set(cards)) == len(cards)
        if table.folded is not None:
            gain = table.paid[table.folded] * (1 if table.folded == 1 else -1)
        else:
            showdowns += 1
            assert len(cards) == 9
            hands = [best([*cards[begin : begin + 2], *cards[4:]]) for begin in (0, 2)]
            gain = table.paid[1] * ((hands[0] > hands[1]) - (hands[0] < hands[1]))
        assert state.returns() == (gain, -gain)
    assert showdowns > 40


def test_a_hand_is_valued_as_poker_does() -> None:
    """The numbers of hands of each kind among all five cards are well known."""
    rng = random.Random(1)
    counts = Counter(value(rng.sample(range(52), 5))[0] for _ in range(20_000))
    expected = {0: 1302540, 1: 1098240, 2: 123552, 3: 54912, 4: 10200, 5: 5108, 6: 3744}
    for kind, count in expected.items():
        share = count / 2598960
        assert counts[kind] / 20_000 == pytest.approx(share, abs=4 * (share / 20_000) ** 0.5)
    assert value([48, 0, 4, 8, 12]) < value([0, 4, 8, 12, 16])  # ace to five, two to six
