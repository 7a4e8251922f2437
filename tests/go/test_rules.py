"""Go's rules as states play them, against OpenSpiel, rules written plainly and known positions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.go.positions import go, play, position

from miai.errors import IllegalActionError, InvalidActionError
from miai_go.rules.game import GoGame, GoState

EMPTY, BLACK_STONE, WHITE_STONE = 0, 1, 2
Stones = tuple[int, ...]
KO_RULES = ("simple", "positional", "situational")

SNAPBACK = ".... XX.. OOX. ..X."  # Black throws in one stone; taking it costs White three
UNDER_THE_STONES = "..... ..... XXX.. OOXX. O.OX."  # the taker plays where taken stones lay
NO_SUICIDE = ".... OO.. XXO. .XO."  # a move without a liberty of its own is legal when it takes


@cache
def around(size: int) -> tuple[tuple[int, ...], ...]:
    """Neighbours of every point."""
    return tuple(
        tuple(
            r * size + c
            for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1))
            if 0 <= r < size and 0 <= c < size
        )
        for row in range(size)
        for col in range(size)
    )


class PlainGame:
    """The Logical Rules of Go, read aloud: whole positions, kept for ever, compared for equality.

    `ko` is what a play may not recreate: a position ("positional"), a position with the same
    player to move ("situational"), or the position before the last play ("simple").
    """

    def __init__(self, size: int, *, ko: str, suicide: bool) -> None:
        self.size, self.ko, self.suicide = size, ko, suicide
        self.stones: Stones = (EMPTY,) * (size * size)
        self.player = 0
        self.passes = 0
        self.prisoners = [0, 0]
        self.earlier: list[tuple[Stones, int]] = [(self.stones, 0)]
        self.before_last: Stones | None = None

    def chain(self, stones: Stones, point: int) -> tuple[set[int], bool]:
        """Points of a chain, and whether it has a liberty."""
        near, found, frontier, free = around(self.size), {point}, [point], False
        while frontier:
            for other in near[frontier.pop()]:
                if stones[other] == stones[point]:
                    if other not in found:
                        found.add(other)
                        frontier.append(other)
                elif stones[other] == EMPTY:
                    free = True
        return found, free

    def after(self, point: int) -> tuple[Stones, int, int]:
        """Position after a play, hostile stones taken, own stones taken."""
        own = self.player + 1
        stones = list(self.stones)
        stones[point] = own
        taken: set[int] = set()
        for other in around(self.size)[point]:
            if stones[other] == 3 - own and other not in taken:
                chain, free = self.chain(tuple(stones), other)
                if not free:
                    taken |= chain
        for other in taken:
            stones[other] = EMPTY
        lost: set[int] = set()
        if not taken:
            chain, free = self.chain(tuple(stones), point)
            lost = set() if free else chain
        for other in lost:
            stones[other] = EMPTY
        return tuple(stones), len(taken), len(lost)

    def is_legal(self, point: int) -> bool:
        if self.stones[point] != EMPTY:
            return False
        stones, taken, lost = self.after(point)
        if lost and not self.suicide:
            return False
        if self.ko == "simple":
            return not (taken == 1 and stones == self.before_last)
        if self.ko == "positional":
            return all(stones != earlier for earlier, _ in self.earlier)
        return (stones, 1 - self.player) not in self.earlier

    def legal(self) -> list[int]:
        points = [p for p in range(self.size**2) if self.is_legal(p)]
        return [*points, self.size**2]

    def apply(self, action: int) -> None:
        if action == self.size**2:
            self.passes += 1
            self.before_last = None
        else:
            self.passes = 0
            self.before_last = self.stones
            self.stones, taken, lost = self.after(action)
            self.prisoners[self.player] += taken
            self.prisoners[1 - self.player] += lost
        self.player = 1 - self.player
        self.earlier.append((self.stones, self.player))

    def regions(self) -> Iterator[tuple[set[int], set[int]]]:
        """Empty regions with the colours that they touch."""
        left = {p for p, stone in enumerate(self.stones) if stone == EMPTY}
        while left:
            region, _ = self.chain(self.stones, left.pop())
            left -= region
            touched = {self.stones[n] for p in region for n in around(self.size)[p]} - {EMPTY}
            yield region, touched

    def territory(self) -> int:
        counts = {frozenset({BLACK_STONE}): 1, frozenset({WHITE_STONE}): -1}
        return sum(
            counts.get(frozenset(touched), 0) * len(region) for region, touched in self.regions()
        )

    def area(self) -> int:
        return self.territory() + self.stones.count(BLACK_STONE) - self.stones.count(WHITE_STONE)


def flat(state: GoState) -> Stones:
    return tuple(state.board.stones().reshape(-1).tolist())


def play_out(size: int, seed: int, ko: str, *, suicide: bool, scoring: str, passes: float) -> None:
    """Play one random game on both; everything must agree before every move and at the end."""
    rng = random.Random(seed)
    ends = {"scoring": scoring, "dead_stones": "none", "repetition": "allowed"}
    game = go(board_size=size, komi=0.5, ko=ko, suicide=suicide, rules="tromp-taylor", **ends)
    state = game.new_initial_state()
    plain = PlainGame(size, ko=ko, suicide=suicide)
    while not state.is_terminal():
        where = f"size {size}, seed {seed}, {ko}, suicide {suicide}\n{state}"
        legal = plain.legal()
        probe = rng.randrange(size * size)
        assert state.clone().is_legal(probe) == (probe in legal), f"{probe} {where}"
        assert state.legal_actions() == legal, where
        assert state.is_legal(probe) == (probe in legal), f"{probe} {where}"
        action = legal[-1] if rng.random() < passes else rng.choice(legal)
        state.apply_action(action)
        plain.apply(action)
        assert flat(state) == plain.stones, where
        assert list(state.board.captures) == plain.prisoners, where
    where = f"size {size}, seed {seed}, {ko}, suicide {suicide}, {state.history()}"
    assert plain.passes >= 2 or state.move_number() == game.max_moves, where
    points = plain.area()
    if scoring == "territory" and plain.passes >= 2:
        points = plain.territory() + plain.prisoners[0] - plain.prisoners[1]
    assert state.score().margin == points - 0.5, where
    assert state.returns() == ((1.0, -1.0) if points > 0 else (-1.0, 1.0)), where


GAMES = {3: 1000, 4: 300, 5: 150, 6: 50, 7: 25, 8: 12, 9: 10, 11: 9, 13: 6, 19: 3}
"""Random games against the plain rules, by size; OpenSpiel's are more."""


@pytest.mark.slow
@pytest.mark.parametrize("size", GAMES)
def test_random_games_agree_with_plain_rules(size: int) -> None:
    for number in range(GAMES[size]):
        ko = ("simple", "positional", "situational")[number % 3]
        scoring, passes = ("area", "territory")[number % 5 == 0], 0.05 * (number % 4 == 0)
        more: Any = {"suicide": number % 2 == 0, "scoring": scoring, "passes": passes}
        play_out(size, 1000 * size + number, ko, **more)


SPIEL_GAMES = {
    3: 5500, 4: 2000, 5: 800, 6: 300, 7: 200, 8: 40, 9: 100, 11: 30, 13: 16, 15: 6, 17: 4, 19: 4
}  # fmt: skip


def test_enough_random_games_are_played() -> None:
    assert sum(GAMES.values()) + sum(SPIEL_GAMES.values()) >= 10_000


@pytest.mark.slow
@pytest.mark.parametrize("size", SPIEL_GAMES)
def test_random_games_agree_with_open_spiel(size: int) -> None:
    """Simple ko, no suicide, area: there the rules of both are one.

    OpenSpiel ends a game as a draw when any position of stones recurs; here it is one with the same
    player to move. A game that OpenSpiel ends so is followed no further.
    """
    pyspiel = pytest.importorskip("pyspiel", reason="pip install open_spiel")
    longest = min(10_000, 30 * size * size)
    same = {"board_size": size, "komi": 6.5}
    theirs = pyspiel.load_game("go", {**same, "max_game_length": longest + 1})
    rules = {"rules": "chinese", "ko": "simple", "dead_stones": "none"}
    mine = go(**same, **rules, max_moves=longest)
    for number in range(SPIEL_GAMES[size]):
        play_both(mine, theirs, random.Random(size * 100_000 + number), f"{size}, {number}")


def play_both(mine: GoGame, theirs: Any, rng: random.Random, where: str) -> None:
    state, other = mine.new_initial_state(), theirs.new_initial_state()
    positions = {flat(state)}
    while not other.is_terminal():
        assert state.current_player() == other.current_player(), where
        assert not state.is_terminal(), f"{where}\n{state}"
        legal = state.legal_actions()
        assert legal == other.legal_actions(), f"{where}\n{state}\n{other}"
        action = rng.choice(legal)
        repeated = action != legal[-1]
        state.apply_action(action)
        other.apply_action(action)
        repeated = repeated and flat(state) in positions
        positions.add(flat(state))
        if repeated:
            assert other.is_terminal(), where
            assert other.returns() == [0.0, 0.0], where
            if state.is_terminal():
                assert state.returns() == (0.0, 0.0), where
                assert state.result_to_string() == "Void", where
            return
    assert state.is_terminal() or state.move_number() > mine.max_moves, f"{where}\n{state}"
    assert list(state.returns()) == other.returns(), f"{where}\n{state}\n{other}"


# -- single rules ---------------------------------------------------------------------------------


KO = """
    .XO.
    XO.O
    .XO.
    ....
"""


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
def test_a_ko_may_not_be_retaken_at_once(ko: str) -> None:
    state = play(position(KO, ko=ko), "C3")
    with pytest.raises(InvalidActionError, match=r"retake the ko|repeat an earlier position"):
        state.string_to_action("B3")
    play(state, "A1 D1")
    assert state.is_legal(state.string_to_action("B3")), "after a threat and its answer it may be"


def test_a_pass_is_a_threat_under_simple_ko_but_not_under_positional_superko() -> None:
    simple = play(position(KO, ko="simple"), "C3 pass A1")
    assert simple.is_legal(simple.string_to_action("B3"))
    assert not play(position(KO, ko="positional"), "C3 pass pass").is_legal(9)


def test_illegal_actions_are_refused_with_the_position() -> None:
    state = position(KO, ko="simple", suicide=False)
    with pytest.raises(IllegalActionError) as caught:
        state.apply_action(8)
    assert "A B C D" in caught.value.position
    with pytest.raises(InvalidActionError, match="num_distinct_actions = 17, got 17"):
        state.apply_action(17)
    with pytest.raises(InvalidActionError):
        state.apply_action(True)


def test_suicide_of_several_stones_is_a_matter_of_the_rules() -> None:
    corner = ".OX.. OOX.. XX... ..... ....."
    allowed = play(position(corner, to_move="white", suicide=True), "A5")
    assert flat(allowed).count(WHITE_STONE) == 0
    assert allowed.board.captures == (4, 0), "the suicide's stones are Black's prisoners"
    refused = position(corner, to_move="white", suicide=False)
    with pytest.raises(InvalidActionError, match="suicide"):
        refused.string_to_action("A5")


@pytest.mark.parametrize("ko", ["positional", "situational"])
def test_suicide_of_one_stone_repeats_the_position(ko: str) -> None:
    state = position(".X... XX... ..... ..... .....", to_move="white", suicide=True, ko=ko)
    # White to move again on the same stones is another situation, but the same position.
    assert state.is_legal(20) == (ko == "situational")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["tromp-taylor", "chinese", "japanese", "aga"]))
def test_equal_keys_mean_equal_futures(seed: int, rules: str) -> None:
    """Two random ways through a small game that meet in one key allow the same and end the same."""
    rng = random.Random(seed)
    game = go(board_size=2, rules=rules, dead_stones="none", max_moves=14)
    met: dict[object, tuple[list[int], tuple[float, ...]]] = {}
    for _ in range(25):
        state = game.new_initial_state()
        while not state.is_terminal():
            facts = (state.legal_actions(), state.returns())
            assert met.setdefault(state.key(), facts) == facts, f"seed {seed}"
            state.apply_action(rng.choice(state.legal_actions()))
        facts = ([], state.returns())
        assert met.setdefault(state.key(), facts) == facts, f"seed {seed}"


# -- known positions ------------------------------------------------------------------------------


@pytest.mark.parametrize("ko", KO_RULES)
@pytest.mark.parametrize(
    ("picture", "to_move", "played", "corner"),
    [
        (SNAPBACK, "black", {"A1 B1": (0, 1), "A1": (3, 1)}, 1),
        (UNDER_THE_STONES, "black", {"B1": (4, 0), "A1": (4, 0)}, 2),
        (NO_SUICIDE, "white", {"A1": (0, 3)}, 2),
    ],
    ids=["snapback", "under the stones", "no suicide"],
)
def test_stones_are_taken(
    ko: str, picture: str, to_move: str, played: dict[str, tuple[int, int]], corner: int
) -> None:
    state = position(picture, to_move=to_move, ko=ko, suicide=False)
    for moves, captures in played.items():
        play(state, moves)
        assert state.board.captures == captures
        assert state.board.ko_point is None
    assert state.board.color_at(0) == corner


SENDING_TWO = """
    ....
    XXO.
    XXOO
    .O.O"""
# White sends two by A1, Black takes them by C1, White retakes the taker by B1: the stones are as
# they were, but it is Black's turn. After a pass of Black's the whole situation is back.


def test_sending_two_returning_one_under_simple_ko_ends_without_result() -> None:
    state = play(position(SENDING_TWO, to_move="white", ko="simple"), "A1 C1 B1 pass")
    assert not state.is_terminal()
    assert state.board.captures == (2, 1), "White loses two for one each time round"
    play(state, "A1")
    assert state.is_terminal()
    assert state.returns() == (0.0, 0.0)
    assert state.result_to_string() == "Void"


def test_sending_two_returning_one_goes_on_where_repetition_is_allowed() -> None:
    state = position(SENDING_TWO, to_move="white", ko="simple", repetition="allowed")
    play(state, "A1 C1 B1 pass " * 5)
    assert state.board.captures == (10, 5)


@pytest.mark.parametrize(
    ("ko", "moves", "forbidden"),
    [("positional", "A1 C1", "B1"), ("situational", "A1 C1 B1 pass", "A1")],
)
def test_sending_two_returning_one_ends_by_superko(ko: str, moves: str, forbidden: str) -> None:
    """At once, or a round later."""
    state = play(position(SENDING_TWO, to_move="white", ko=ko), moves)
    with pytest.raises(InvalidActionError, match=f"{ko} superko"):
        state.string_to_action(forbidden)


TRIPLE_KO = """
    .XO....
    XO.O...
    .XO....
    XO.O...
    .XO....
    X.XO...
    .XO...."""
ROUND = "C6 B2 C4 B6 C2"


def test_triple_ko_under_simple_ko_ends_without_result() -> None:
    state = play(position(TRIPLE_KO, ko="simple"), ROUND)
    assert not state.is_terminal()
    play(state, "B4")
    assert state.result_to_string() == "Void"
    assert state.returns() == (0.0, 0.0)


@pytest.mark.parametrize("ko", ["positional", "situational"])
def test_triple_ko_under_superko_forbids_the_last_retaking(ko: str) -> None:
    state = play(position(TRIPLE_KO, ko=ko), ROUND)
    with pytest.raises(InvalidActionError, match=f"{ko} superko"):
        state.string_to_action("B4")
    play(state, "G7 G1")
    assert not state.is_terminal()


@pytest.mark.parametrize("ko", KO_RULES)
def test_double_ko(ko: str) -> None:
    """Each side holds one ko; who takes the other's is answered by the loss of its own."""
    double = """
        .XO..
        XO.O.
        .XO..
        X.XO.
        .XO.."""
    state = play(position(double, ko=ko), "C4 B2")
    with pytest.raises(InvalidActionError, match=r"retake the ko|repeat"):
        state.string_to_action("C2")
    play(state, "E5 B4")
    assert state.board.captures == (1, 2)


SEKI = """
    .O.OX.X
    OOOOXXX
    .O.OX.X
    OOOOXXX
    OOOOXXX
    XXXXOOO
    .XX.OO."""


@pytest.mark.parametrize(("first", "second", "taken"), [("black", "A1", "X"), ("white", "G1", "O")])
def test_seki_who_plays_first_loses(first: str, second: str, taken: str) -> None:
    """Each group has one eye and they share D1: who fills it is taken."""
    state = play(position(SEKI, to_move=first), "D1")
    before = int((state.board.stones() == ".XO".index(taken)).sum())
    play(state, second)
    after = int((state.board.stones() == ".XO".index(taken)).sum())
    assert before - after == (7 if taken == "X" else 6)


@pytest.mark.parametrize(
    ("scoring", "seki_territory", "black", "white"),
    [
        ("area", True, 22, 26),  # 19 stones and 3 points; 21 stones and 5 points
        ("territory", True, 3, 5),
        ("territory", False, 2, 4),  # the eyes of the groups in seki do not count
    ],
)
def test_seki_is_counted(scoring: str, seki_territory: bool, black: int, white: int) -> None:
    rules: Any = {"scoring": scoring, "seki_territory": seki_territory, "dead_stones": "none"}
    score = play(position(SEKI, komi=0, **rules), "pass pass").score()
    assert (score.black, score.white) == (black, white)
    assert score.owners[0, 3] == 0, "the shared liberty is nobody's"


def test_five_by_five_is_blacks() -> None:
    """Black opens in the centre of 5x5 and takes all of it (van der Werf, 2002)."""
    state = position("..... ..... ..X.. ..... .....", to_move="white", komi=0)
    assert state.truncated_returns() == (1.0, -1.0)
    assert state.score_by_area().margin == 25
