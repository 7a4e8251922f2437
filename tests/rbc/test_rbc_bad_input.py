"""What is false or malformed: positions, limits, observations, bots and histories."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rbc.games import rbc
from tests.rbc.test_rbc_agents import SMALL
from tests.rbc.test_reconchess import play_bot, process, write_bot
from tests.whole_texts import assert_expected

import miai
from miai import ClockReading, Json, Observation, TimeControl
from miai.errors import InvalidStateError, ParameterError
from miai_rbc.agents.belief_agents import BeliefAgent
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.belief.fallback import impose
from miai_rbc.kernels.board import NOTHING
from miai_rbc.rules.actions import PASS, SENSE_NOTHING, action_of, move_name, square_name
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.game import window
from miai_rbc.rules.observations import (
    BadObservationError,
    Event,
    Moved,
    OpponentMoved,
    event_of,
    move_of_name,
)

CLOCK = ClockReading(control=TimeControl(kind="per-move", seconds=0.03), main=0.03, limit=0.03)
"""Captures of sixteen queens a side are not searched to their end."""

# -- positions ------------------------------------------------------------------------------------

ILLEGAL = {
    "": "not a FEN",
    "garbage": "not a FEN",
    "\x00\x1b[31m": "not a FEN",
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR x KQkq - 0 1": "not a FEN",
    "rnbqkbnr/pppppppp/8/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1": "not a FEN",
    "4k3/9/8/8/8/8/8/4K3 w - - 0 1": "not a FEN",
    "4k3/8/8/8/8/8/8/3KK3 w - - 0 1": "white has 2 kings",
    "4k3/8/8/8/8/8/8/8 w - - 0 1": "white has 0 kings",
    "8/8/8/8/8/8/8/4K3 w - - 0 1": "black has 0 kings",
    "8/8/8/8/8/8/8/8 w - - 0 1": "kings",
    "4k2P/8/8/8/8/8/8/4K3 w - - 0 1": "a pawn stands on",
    "4k3/8/8/8/QQQQQQQQ/QQQQQQQQ/8/4K3 w - - 0 1": "white has 17 pieces",
    "4k~3/8/8/8/8/8/8/4K3 w - - 0 1": "promoted|not a FEN",
    "4k3/8/3P4/2PN4/8/8/8/4K3 w - d6 0 1": "no pawn can just have moved two squares past d6",
    f"4k3/8/8/8/8/8/8/4K3 w - - 0 {'9' * 22}": "a clock is beyond|not a FEN",
    "1" * 100_000: "at most 120 characters",
}


@pytest.mark.parametrize("fen", ILLEGAL, ids=lambda fen: repr(fen[:24]))
def test_positions_that_the_game_does_not_have_are_refused(fen: str) -> None:
    with pytest.raises(InvalidStateError, match=ILLEGAL[fen]) as output:
        BoardSet.of_fens([chess.STARTING_FEN, fen])
    assert len(str(output.value)) < 500
    with pytest.raises((InvalidStateError, ParameterError)) as refusal:  # too long a parameter
        rbc(fen=fen)
    assert len(str(refusal.value)) < 500


def test_a_game_whose_clock_has_run_out_is_over_as_in_reconchess() -> None:
    state = rbc(fen="4k3/8/8/8/8/8/8/4K3 w - - 150 90").new_initial_state()
    assert state.is_terminal()
    assert state.result_to_string() == "1/2-1/2 move limit"


@given(st.text(max_size=130))
@settings(max_examples=50, deadline=None)
def test_any_text_is_refused_or_a_position_with_two_kings(text: str) -> None:
    wrong: Any = (None, 3, [text], text.encode("utf-8", "replace"))
    for fen in wrong:
        with pytest.raises(InvalidStateError, match="a FEN is a text"):
            BoardSet.of_fens([fen])
    try:
        boards = BoardSet.of_fens([text])
    except InvalidStateError:
        return
    assert [board.kings.bit_count() for board in boards.boards()] == [2]


# -- observations that are none -------------------------------------------------------------------

MALFORMED: list[Any] = [
    None,
    3,
    [],
    {},
    {"captured": "z9"},
    {"captured": ["e", "4"]},
    {"captured": 12},
    {"sensed": None},
    {"sensed": {"a1": "P"}},
    {"sensed": [["a1"]]},
    {"sensed": [["a1", "P", "P"]]},
    {"sensed": [["a1", 7]]},
    {"sensed": [["a1", "\u212a"]]},  # the kelvin sign, a k in lower case
    {"sensed": [["a1", ["P"]]]},
    {"sensed": [["a2", None], ["a2", "P"]]},
    {"sensed": [["a2", "K"], ["b2", "K"]]},
    {"sensed": [["h1", "p"]]},
    {"sensed": [["a2", None]] * 10},
    {"requested": "e2e4", "captured": None},
    {"requested": "e2e4", "taken": None},
    {"requested": 5, "taken": None, "captured": None},
    {"requested": "e7e8k", "taken": None, "captured": None},
    {"requested": "e2e9", "taken": None, "captured": None},
    {"requested": None, "taken": "x", "captured": None},
]


@pytest.mark.parametrize("data", MALFORMED, ids=repr)
def test_a_malformed_observation_changes_nothing(data: Any) -> None:
    belief = RbcBelief(rbc(), 0)
    belief.observe(Observation(0, data={"captured": None}, legal_actions=(0,)))
    with pytest.raises(BadObservationError, match="is not an observation of the game") as output:
        belief.observe(Observation(0, 0, 5, data))
    assert len(str(output.value)) < 500
    assert (len(belief), len(belief.events)) == (1, 0)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
told_things = st.dictionaries(
    st.sampled_from(["captured", "sensed", "requested", "taken"]),
    plain | st.lists(st.tuples(plain | st.just("e4"), plain | st.sampled_from("PkN")), max_size=3),
    max_size=4,
)


@given(plain | told_things)
@settings(max_examples=50, deadline=None)
def test_invalid_data_raises_no_other_error(data: Any) -> None:
    with contextlib.suppress(BadObservationError):  # and nothing else
        event_of(Observation(0, 0, 5, data), pawns=0xFF00)


# -- observations that lie ------------------------------------------------------------------------


squares = st.integers(0, 63)
pieces = st.sampled_from([None, None, *"PNBRQpnbrq"])
kings = st.sampled_from(["", "", "", "K", "k", "Kk"])
windows = st.tuples(squares, st.lists(pieces, min_size=9, max_size=9), kings)


def forged_sense(centre: int, contents: list[str | None], royal: str) -> Observation:
    """Return a well-formed result of a sense, true or not."""
    seen: list[Json] = []
    royals = [*royal]
    for square, piece in zip(window(centre), contents, strict=False):
        ends = piece in ("P", "p") and not 8 <= square < 56
        shown = royals.pop() if royals and square % 3 == 0 else None if ends else piece
        seen.append([square_name(square), shown])
    return Observation(0, 0, centre, {"sensed": seen})


def forged_move(requested: int, taken: int, captured: int | None) -> Observation:
    data: dict[str, Json] = {
        "requested": None if requested == NOTHING else move_name(requested),
        "taken": None if taken == NOTHING else move_name(taken),
        "captured": None if captured is None else square_name(captured),
    }
    return Observation(0, 0, action_of(requested), data)


turns = st.lists(
    st.tuples(
        st.none() | squares,  # what the opponent is said to have captured
        windows,
        st.integers(0, 200),  # which of our moves is asked for
        st.sampled_from(["as asked", "not", "shorter", "another"]),
        st.none() | squares,
    ),
    min_size=1,
    max_size=7,
)


@pytest.mark.slow
@given(turns, st.sampled_from([0, 1]))
@settings(max_examples=25, deadline=None)
def test_no_well_formed_lie_empties_a_belief(output: list[Any], player: int) -> None:
    """Or makes boards that are none: two kings, at most sixteen pieces a side, own ones alike."""
    belief = RbcBelief(rbc(), player, limit=512, stash_bytes=0)
    belief.observe(Observation(player, data={"captured": None}, legal_actions=(0,) * (1 - player)))
    for number, (lost, seen, asked, how, captured) in enumerate(output):
        if number or player:
            square = None if lost is None else square_name(lost)
            belief.observe(Observation(player, 1 - player, None, {"captured": square}))
            _check(belief)
        belief.observe(forged_sense(*seen))
        _check(belief)
        requests = belief.boards.requests()
        requested = requests[asked % len(requests)] if requests else NOTHING
        taken = {
            "as asked": requested,
            "not": NOTHING,
            "shorter": requested & 63 | (requested >> 6 & 63 ^ 1) << 6,
            "another": requests[captured or 0] if len(requests) > (captured or 0) else NOTHING,
        }[how]
        belief.observe(forged_move(requested, taken, captured))
        _check(belief)


def _check(belief: RbcBelief) -> None:
    assert 1 <= len(belief) <= 1000
    own = set()
    for board in belief.boards.boards():
        assert (board.kings & board.occupied_co[True]).bit_count() == 1, board.fen()
        assert (board.kings & board.occupied_co[False]).bit_count() == 1, board.fen()
        assert max(side.bit_count() for side in board.occupied_co) <= 16, board.fen()
        assert not board.pawns & chess.BB_BACKRANKS, board.fen()
        assert not board.occupied_co[True] & ~board.occupied
        own.add(board.occupied_co[belief.player == 0])
    assert len(own) == 1


@given(squares, st.lists(pieces, min_size=9, max_size=9), kings, st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_rebuilt_boards_agree_with_the_sense(
    centre: int, contents: list[str | None], royal: str, seed: int
) -> None:
    observation = forged_sense(centre, contents, royal)
    event = event_of(observation, pawns=0)
    fens = ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", "k7/8/2q5/8/8/2Q5/8/7K w - - 0 1")
    boards = BoardSet.of_fens([chess.STARTING_FEN, *fens])
    output: Any = observation.data
    for board in impose(boards, event).boards():
        for name, piece in output["sensed"]:
            found = board.piece_at(chess.parse_square(str(name)))
            assert (found and found.symbol()) == piece, board.fen()


def test_made_up_boards_are_those_that_were_read() -> None:
    """Of a middle game and of one with sixteen pieces a side, before each side's move."""
    lines = []
    for pieces in ("r3k2r/pPp2ppp/8/3pP3/4b3/8/P1P2PpP/R3K2R", chess.STARTING_FEN.split()[0]):
        for turn in "wb":
            boards = BoardSet.of_fens([f"{pieces} {turn} - - 0 1"])
            events: list[Event] = [OpponentMoved(square) for square in (None, *range(0, 64, 3))]
            names = ("e1g1", "e8c8", "g2h1", "b7b8n", "a2a3", "e5d6", None)
            moves = map(move_of_name, names)
            events += [Moved(move, move, square) for move in moves for square in (None, 35)]
            seen = ["P", None, "q", "n", None, "B", "r", None, "p"]
            senses = [forged_sense(square, seen, k) for square in (9, 28, 60) for k in "Kk"]
            events += [event_of(sense, pawns=0) for sense in senses]
            for number, event in enumerate(events):
                (board,) = impose(boards, event).boards()
                lines.append(f"{pieces} {turn} {number}: {board.fen()}\n")
    assert_expected("rbc/made_up.txt", "".join(lines))


def test_a_king_that_is_not_where_it_was_comes_to_stand_outside_what_was_seen() -> None:
    boards = BoardSet.of_fens(["4k3/8/8/8/8/8/8/4K3 w - - 0 1"])
    event = event_of(forged_sense(chess.E8, [None] * 9, ""), pawns=0)
    (board,) = impose(boards, event).boards()
    king = board.king(chess.BLACK)
    assert king is not None
    assert chess.square_distance(king, chess.E8) == 2


@pytest.mark.parametrize("name", ["rbc-seed", "rbc-strong"])
@given(st.lists(st.tuples(windows, st.none() | squares), min_size=2, max_size=3))
@settings(max_examples=4, deadline=None)
def test_agents_answer_any_observation(name: str, output: list[Any]) -> None:
    game = rbc()
    agent = miai.make_agent(name, game, **{**SMALL[name], "limit": 512})
    assert isinstance(agent, BeliefAgent)
    agent.new_game(1, player=0)
    senses = tuple(range(SENSE_NOTHING + 1))
    agent.observe(Observation(0, data={"captured": None}, legal_actions=senses))
    for seen, lost in output:
        assert agent.act(CLOCK).action in senses
        sensed = forged_sense(*seen)
        moves = (PASS, *sorted(map(action_of, agent.belief.boards.requests())))
        agent.observe(Observation(0, 0, sensed.action, sensed.data, moves))
        action = agent.act(CLOCK).action
        assert action in moves
        text = None if action == PASS else game.new_initial_state().action_to_string(action)
        data: Json = {"requested": text, "taken": None, "captured": None}
        agent.observe(Observation(0, 0, action, data))
        captured = None if lost is None else square_name(lost)
        agent.observe(Observation(0, 1, None, {"captured": captured}, senses))
    agent.close()


# -- bots -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_bot_may_change_all_that_it_is_handed(tmp_path: Path) -> None:
    """Boards, lists, and the history at the end; the game is as if it had not."""
    keeps = """
        def __init__(self):
            self.drawn = random.Random(5)

        def choose_sense(self, sense_actions, move_actions, seconds_left):
            choice = self.drawn.choice(sense_actions)
            self.spoil(sense_actions, move_actions)
            return choice

        def choose_move(self, move_actions, seconds_left):
            choice = self.drawn.choice(move_actions)
            self.spoil(move_actions)
            return choice

        def spoil(self, *lists):
            pass
        """
    spoils = """

        def handle_game_start(self, color, board, opponent_name):
            board.clear()

        def handle_sense_result(self, sense_result):
            sense_result[:] = [(0, None)] * 20

        def handle_game_end(self, winner_color, win_reason, game_history):
            game_history.__dict__.clear()

        def spoil(self, *lists):
            for each in lists:
                each[:] = [None, "x"]
        """
    records = []
    for number, body in enumerate((keeps, keeps + spoils)):
        bot = write_bot(tmp_path, body.replace("\n        ", "\n"), name=f"bot_{number}")
        records.append(play_bot(process(bot)))
    first, second = records
    assert second.termination is first.termination, second.detail
    assert len(first.moves) > 20
    assert [move.action for move in first.moves] == [move.action for move in second.moves]
