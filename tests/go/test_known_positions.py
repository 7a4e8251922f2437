"""Positions that every player knows, with the outcomes that the rules give them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.go.positions import play, position

from miai.errors import InvalidActionError

KO_RULES = ("simple", "positional", "situational")

SNAPBACK = ".... XX.. OOX. ..X."  # Black throws in one stone; taking it costs White three
UNDER_THE_STONES = "..... ..... XXX.. OOXX. O.OX."  # the taker plays where taken stones lay
NO_SUICIDE = ".... OO.. XXO. .XO."  # a move without a liberty of its own is legal when it takes


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
