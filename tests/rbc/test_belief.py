"""Beliefs: the truth is in them, brute force agrees, and no limit loses what can be kept."""

from __future__ import annotations

import gc
import itertools
import math
import random
import time
from collections import Counter, defaultdict
from functools import cache
from typing import Literal

import chess
import numpy as np
import pytest
from tests.rbc.games import brute_force, follow, key, rbc
from tests.seeds import seed_of_test
from tests.slow import with_slow

from miai import Json, Observation
from miai_rbc.belief import scans
from miai_rbc.belief.belief import RbcBelief, Stash
from miai_rbc.kernels import expansion
from miai_rbc.kernels.bitboards import Words
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.rules.board_set import BoardSet, Expansion
from miai_rbc.rules.buffers import BufferPool
from miai_rbc.rules.game import window
from miai_rbc.rules.observations import BadObservationError, OpponentMoved
from miai_rbc.rules.rows import piece_at

STARTS = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "4k3/P6P/8/2Pp4/8/8/p6p/R3K2R w KQ d6 0 1",
]


@pytest.mark.parametrize("fen", STARTS)
def test_the_truth_is_in_every_belief(fen: str) -> None:
    for seed in range(2):
        print("seed", seed)
        for played in follow(rbc(fen=fen), random.Random(seed), 24, limit=60_000):
            for belief in played.beliefs:
                truth = played.state.boards.rows[0] in belief.boards
                assert truth or not belief.complete, played.state.history()


@pytest.mark.parametrize("fen", with_slow(STARTS[2:4], STARTS[3]))
def test_a_belief_equals_brute_force(fen: str) -> None:
    """Board for board, with nothing but python-chess and the revision of reconchess."""
    for seed in range(3):
        print("seed", seed)
        output: list[int] = [0, 0]
        plain = [{key(chess.Board(fen)): chess.Board(fen)} for _ in range(2)]
        for played in follow(rbc(fen=fen), random.Random(seed), 10):
            for player, belief in enumerate(played.beliefs):
                for event in belief.events[output[player] :]:
                    plain[player] = brute_force(plain[player], event)
                output[player] = len(belief.events)
                ours = {key(board) for board in belief.boards.boards()}
                assert ours == set(plain[player]), played.state.history()
                assert len(ours) == len(belief)
            if max(map(len, played.beliefs)) > 800:
                break


def test_stashed_boards_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A belief of little room ends with the same boards as one without a limit.

    Also where the time was over in the middle of an update.
    """
    for seed in (0, 4):
        print("seed", seed)
        wide = [p.beliefs for p in follow(rbc(), random.Random(seed), 22)][-1]
        sizes = []
        for played in follow(rbc(), random.Random(seed), 22, limit=1000):
            sizes += [len(belief) for belief in played.beliefs]
        assert max(sizes) <= 1000
        assert any(belief.stashed for belief in played.beliefs)
        for belief, whole in zip(played.beliefs, wide, strict=True):
            if entry := belief._stash.take():
                with monkeypatch.context() as patched:
                    patched.setattr(time, "monotonic", itertools.count().__next__)
                    assert len(belief._updated(*entry, ends=0.5)) == 0
            recall(belief)
            assert belief.complete
            assert len(belief) == len(whole) == len(whole.boards.union(belief.boards))


def recall(belief: RbcBelief) -> None:
    """Update all stashed boards without a limit."""
    belief.limit, sets = None, [belief.boards]
    while (entry := belief._stash.take()) is not None:
        sets.append(belief._updated(*entry, ends=math.inf))
    belief.boards = sets[0].union(*sets[1:])


def test_an_emptied_belief_goes_on_with_stashed_boards() -> None:
    """At every point something lives, or the stash was full; the truth lives or is stashed."""
    for seed in range(3):
        print("seed", seed)
        for played in follow(rbc(), random.Random(seed), 40, limit=MAX_MOVES):
            for belief in played.beliefs:
                assert len(belief) > 0
                assert belief.rebuilt == 0 or belief.dropped > 0


@pytest.mark.parametrize(("order", "turns"), [("earliest", (2, 3)), ("latest", (3, 2))])
def test_a_full_stash_drops_the_oldest_and_says_so(
    order: Literal["earliest", "latest"], turns: tuple[int, int]
) -> None:
    stash = Stash(64 * 20, order)
    sets = [BoardSet(np.full((8, 8), n, np.uint64)) for n in range(4)]
    for turn, boards in enumerate(sets):
        stash.add(turn, boards)
    assert stash.dropped == 16
    assert len(stash) == 16
    first, last = stash.take(), stash.take()
    assert first is not None
    assert last is not None
    assert (first[0], last[0]) == turns
    assert (first[1].rows == turns[0]).all()
    assert stash.take() is None
    for turn, size in enumerate((8, 8, 100)):
        stash.add(turn, BoardSet(np.full((size, 8), turn, np.uint64)))
    assert 10 <= len(stash) <= 20  # of a set that is too large half the room is filled


def test_searches_cut_by_time_are_made_later() -> None:
    """Without patience boards are made up; with it again true ones come from the stash."""
    for seed in range(12):
        print("seed", seed)
        *_, played = follow(rbc(), random.Random(seed), 22, limit=MAX_MOVES)
        state, belief = played.state, played.beliefs[1]
        if not belief.stashed or not isinstance(belief.events[-1], OpponentMoved):
            continue
        false = next(iter(belief.boards.boards()))
        false.remove_piece_at(next(iter(false.pieces(chess.PAWN, chess.WHITE))))
        belief.boards, belief.patience = BoardSet(belief.boards.rows[:0]), -1.0
        belief._previous = BoardSet.of_boards([false])
        nothing: Json = {"sensed": []}
        belief.observe(Observation(1, 1, 64, nothing))
        assert belief.rebuilt == 1
        assert len(belief) > 0
        belief.patience, stashed = None, belief.stashed
        state.apply_action(64)
        state.apply_action(65)
        belief.observe(Observation(1, 1, 65, PASSED))
        assert belief.rebuilt == 1
        whole = belief.boards.union()
        exact = RbcBelief(rbc(), 1)
        for event in belief.events:
            exact.take_in(event)
        assert len(exact.boards.union(whole)) == len(exact), "a board that was made up is left"
        recall(belief)
        assert belief.stashed == 0 < stashed
        assert len(belief) >= len(whole)
        return
    raise AssertionError("no belief was cut short")


def test_a_false_observation_rebuilds_the_belief() -> None:
    belief = RbcBelief(rbc(), 0)
    belief.observe(Observation(0, data={"captured": None}, legal_actions=(0,)))
    lie: Json = [["a8", "Q"], ["b8", None], ["c8", "k"]]
    belief.observe(Observation(0, 0, 49, {"sensed": lie}))
    assert (belief.rebuilt, belief.complete) == (1, False)
    for captured in (None, "e2", "d4"):
        with pytest.raises(BadObservationError, match="cannot follow"):
            belief.observe(Observation(0, 1, None, {"captured": captured}))
        belief.observe(Observation(0, 0, 65, PASSED))
        belief.observe(Observation(0, 1, None, {"captured": captured}))
        assert len(belief) > 0
        belief.observe(Observation(0, 0, 64, {"sensed": []}))


@pytest.mark.parametrize("limit", [0, -1, MAX_MOVES - 1])
def test_a_limit_has_room_for_one_board_s_successors(limit: int) -> None:
    with pytest.raises(ValueError, match="at least 512 boards"):
        RbcBelief(rbc(), 0, limit=limit)
    with pytest.raises(ValueError, match="at least 512 boards"):
        BoardSet.of_boards([chess.Board()]).after_opponent(None, limit=limit)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 60_000])
def test_large_sets_are_expanded_by_threads_whose_tables_grow(
    limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Expansion] = []
    grown: list[int] = []
    monkeypatch.setattr("miai_rbc.rules.board_set._FEW", 1000)  # tables begin small
    monkeypatch.setattr("miai_rbc.rules.board_set._LISTED", 20_000)  # and there are many rounds
    run, move = Expansion.run, expansion.move_tables

    def noting_run(self: Expansion) -> None:
        seen.append(self)
        run(self)

    def noting_growth(tables: Words, larger: Words) -> None:
        grown.append(larger.shape[1])
        move(tables, larger)

    monkeypatch.setattr(Expansion, "run", noting_run)
    monkeypatch.setattr("miai_rbc.rules.board_set.move_tables", noting_growth)
    boards = BoardSet.of_boards([chess.Board()])
    for _ in range(4):
        found, _ = boards.after_opponent(None)
        boards = passed(found)
    whole = {row.tobytes() for row in boards.after_opponent(None)[0].rows}
    seen.clear()
    for threads in (1, 3):
        twice = []
        for _ in range(2):
            given = boards.copy()
            rng = np.random.default_rng(7)
            found, left = given.after_opponent(None, limit=limit, threads=threads, rng=rng)
            rows = {row.tobytes() for row in found.rows}
            assert len(rows) == len(found), "a board comes out twice"
            rest, _ = left.after_opponent(None)
            assert rows | {row.tobytes() for row in rest.rows} == whole
            if limit is not None:
                assert limit - threads * MAX_MOVES <= len(found) <= limit
            twice.append(found.rows)
        assert (twice[0] == twice[1]).all(), "the same seed and threads give the same order"
    assert {e.threads for e in seen} == {1, 3}
    assert grown


@pytest.mark.parametrize(("longest", "room", "listed"), [(30, 9999, 2), (400, 50, 2), (400, 63, 3)])
def test_listing_ends_where_a_list_or_room_is_full(longest: int, room: int, listed: int) -> None:
    """Each of these boards has 20 moves and a pass; the board that fills a list is its last."""
    board = passed(BoardSet.of_boards([chess.Board()]).after_opponent(None)[0]).rows[:1]
    rows, counts = np.repeat(board, 20, axis=0), np.zeros(1, np.int64)
    heads = np.zeros((1, MAX_MOVES + longest), np.uint64)
    changes = np.zeros(heads.shape, np.int32)
    each = expansion.count_successors(board, -1)
    done = expansion.list_successors(rows, 0, 20, -1, room, heads, changes, counts)
    assert (done, counts.tolist()) == (listed, [listed * each])
    assert each == 21


def test_a_limit_keeps_a_uniform_sample_and_leaves_the_rest() -> None:
    """Over many draws each board is expanded about equally often."""
    boards, _ = BoardSet.of_boards([chess.Board()]).after_opponent(None)
    boards, _ = passed(boards).after_opponent(None)
    boards = passed(boards)
    whole, _ = boards.after_opponent(None)
    counts = {row.tobytes(): 0 for row in boards.rows}
    for seed in range(100):
        found, left = boards.after_opponent(None, limit=1000, rng=np.random.default_rng(seed))
        assert len(found) <= 1000
        again, _ = left.after_opponent(None)
        assert len(found.union(again)) == len(whole)
        for row in left.rows:
            counts[row.tobytes()] += 1
    share = np.array(list(counts.values())) / 100
    assert abs(share - share.mean()).max() < 6 * np.sqrt(0.25 / 100)


def passed(boards: BoardSet) -> BoardSet:
    """Return the boards with the other side to move."""
    after = boards.copy()
    after.rows[:, 7] ^= np.uint64(1)
    return after


PASSED: Json = {"requested": None, "taken": None, "captured": None}


def test_an_opponent_that_captures_our_king_ends_the_game() -> None:
    """Where the game is said to go on all the same, no board is left, and some are made up."""
    fen = "4k3/8/8/8/8/8/4r3/4K3 b - - 0 1"
    for ends in (True, False):
        belief = RbcBelief(rbc(fen=fen), 0)
        belief.observe(Observation(0, data={"captured": None}))
        belief.take_in(OpponentMoved(chess.E1, ends))
        assert belief.rebuilt == (not ends)
        (board,) = belief.boards.boards()
        assert (board.king(chess.WHITE) is None) == ends
        assert (board.piece_at(chess.E1), board.turn) == (chess.Piece.from_symbol("r"), chess.WHITE)


# -- memory that is used again never belongs to two arrays at once ---------------------------------


def test_memory_is_handed_out_again_once_no_view_is_left() -> None:
    pool = BufferPool(limit=1 << 20)
    first = pool.take(10_000)
    place, view = first.ctypes.data, first[5:50].reshape(5, 9)
    del first
    second = pool.take(10_000)
    assert second.ctypes.data != place  # the view still holds it
    view[:] = 7
    second[:] = 3
    assert (view == 7).all()
    del view
    assert pool.kept() == 10_000
    assert pool.take(9_000).ctypes.data == place
    small = BufferPool(limit=25_000)
    arrays = [small.take(10_000) for _ in range(4)]
    arrays.clear()
    assert small.kept() == 20_000, "more than the limit is given back"


def test_the_garbage_collector_may_give_memory_back_at_any_time() -> None:
    """An array in a reference cycle is freed in the middle of whatever the pool does."""
    pool = BufferPool(limit=1 << 22)

    class Frame:
        def __init__(self) -> None:
            self.me, self.array = self, pool.take(5000)

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(2000):
            Frame()
            pool.take(6000)
    finally:
        gc.set_threshold(*before)
    assert pool.kept() <= 1 << 22


def test_no_array_is_ever_shared() -> None:
    seed = seed_of_test()
    rng = random.Random(seed)
    pool = BufferPool(limit=1 << 18)
    held: dict[int, np.ndarray[tuple[int, ...], np.dtype[np.uint64]]] = {}
    for number in range(300):
        array = pool.take(rng.randrange(1, 30_000))
        array[:] = number
        held[number] = array
        for victim in rng.sample(sorted(held), min(len(held), rng.randrange(3))):
            del held[victim]
        array = array[:0]
        assert all((kept == mark).all() for mark, kept in held.items())


# -- scans -----------------------------------------------------------------------------------------


@cache
def middle_games() -> list[tuple[BoardSet, int]]:
    """Return beliefs of both players that have a few hundred to a few thousand boards."""
    found = []
    for seed in range(2):
        for played in follow(rbc(), random.Random(seed), 16, limit=1000):
            for player, belief in enumerate(played.beliefs):
                if len(belief) > 200:
                    found.append((belief.boards.copy(), player))
    return found[:: max(1, len(found) // 6)]


@pytest.mark.parametrize(
    "number", [0, 1, *(pytest.param(n, marks=pytest.mark.soak) for n in range(2, 6))]
)
def test_outcomes_equal_a_count_by_hand(number: int) -> None:
    boards, player = middle_games()[number]
    weights = np.random.default_rng(number).random(len(boards))
    plain, weighted = (scans.outcomes(boards, player, w) for w in (scans.NO_WEIGHTS, weights))
    assert plain.total == len(boards)
    for index, centre in enumerate(scans.CENTRES):
        counts: Counter[tuple[str | None, ...]] = Counter()
        sums: defaultdict[tuple[str | None, ...], float] = defaultdict(float)
        for row, weight in zip(boards.rows, weights, strict=True):
            seen = tuple(piece_at(row, square) for square in window(centre))
            counts[seen] += 1
            sums[seen] += weight
        assert sorted(plain.sums[index]) == sorted(map(float, counts.values()))
        assert np.allclose(sorted(weighted.sums[index]), sorted(sums.values()))


def test_strategies_keep_their_promises() -> None:
    """Entropy from its definition; equal weights are no weights."""
    for boards, player in middle_games():
        found = scans.outcomes(boards, player)
        entropies = scans.entropy(boards, player)
        for index, sums in enumerate(found.sums):
            share = sums / len(boards)
            assert entropies[index] == pytest.approx(-(share * np.log2(share)).sum())
        equal = scans.weighted(boards, player, np.full(len(boards), 0.25))
        assert np.allclose(equal, entropies)


def test_the_partition_looks_at_the_square_whose_commonest_content_is_rarest() -> None:
    for boards, player in middle_games()[:2]:
        values = scans.partition(boards, player)
        for index, centre in enumerate(scans.CENTRES):
            contents = Counter(piece_at(row, centre) for row in boards.rows)
            assert values[index] == -max(contents.values())


def test_tables_that_grow_hold_the_same_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    boards, player = middle_games()[0]
    for _ in range(2):
        boards, _ = passed(boards).after_opponent(None, limit=20_000)
    weights = np.random.default_rng(1).random(len(boards))
    whole = scans.outcomes(boards, player, weights)
    monkeypatch.setattr(scans, "_FIRST_TABLE", 1 << 10)  # for 512 outcomes
    found = scans.outcomes(boards, player, weights)
    assert max(map(len, found.sums)) > 512
    for sums, expected in zip(found.sums, whole.sums, strict=True):
        assert sorted(sums) == sorted(expected)
