"""Batches show the positions of the games, turned alike, in an order that seeds alone decide."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sgfmill.boards import Board as SgfmillBoard
from tests.go_learning.go_data_games import random_game, random_moves, sgf_of, turned, write_set

from miai_go.errors import DataError
from miai_go.kernels import trail
from miai_go.learning.data.batches import Batch
from miai_go.learning.data.dataset import GoDataset, Prefetcher, in_split, shards_of
from miai_go.learning.data.stored_games import StoredGame
from miai_go.nets.encoder import Positions
from miai_go.nets.encoders import ZeroEncoder
from miai_go.nets.network_parameters import ZeroEncoderParameters
from miai_go.rules.board import Board
from miai_go.rules.symmetry import inverse, point_tables, turned_planes, turned_policy


def stones(size: int = 9) -> ZeroEncoder:
    """Return an encoder whose first planes are the own stones and theirs."""
    return ZeroEncoder(size, ZeroEncoderParameters(history=1))


def test_shards_without_targets_have_their_moves_beside_shards_with_them(tmp_path: Path) -> None:
    sets = [tmp_path / "recorded", tmp_path / "searched"]
    games = [random_game(seed, length=20, search=seed > 3) for seed in range(8)]
    for folder, portion in zip(sets, (games[:4], games[4:]), strict=True):
        write_set(folder, portion)
    data = GoDataset(sets)
    batch = next(data.batches(len(games) * 20, seed=1))
    assert batch.policy is not None
    assert batch.weight is not None
    recorded = batch.game < 4
    assert (batch.weight[recorded] == 1).all()
    assert (batch.policy[recorded].argmax(1) == batch.action[recorded]).all()
    assert (batch.policy[recorded].sum(1) == 1).all()
    output = np.concatenate([game.weight for game in games[4:] if game.weight is not None])
    assert batch.weight[~recorded].sum() == output.sum()
    assert (batch.policy[~recorded].max(1) < 1).all()


@cache
def recorded() -> list[StoredGame]:
    return [random_game(seed, length=20 + seed, search=seed % 3 > 0) for seed in range(12)]


@pytest.fixture
def data(tmp_path: Path) -> GoDataset:
    folder = write_set(tmp_path / "set", recorded(), games_a_shard=5)
    return GoDataset(folder, encoder=stones())


def equal(a: Batch, b: Batch) -> bool:
    for name in ("planes", "action", "result", "policy", "ply", "game", "ownership", "symmetry"):
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            return False
    return True


def test_planes_and_policies_turn_and_turn_back() -> None:
    rng = np.random.default_rng(1)
    planes = rng.integers(0, 256, (20, 3, 7, 7)).astype(np.uint8)
    policy = rng.random((20, 50)).astype(np.float32)
    which = rng.integers(0, 8, 20).astype(np.uint8)
    out, moved = turned_planes(planes, which), turned_policy(policy, which)
    for row in range(20):
        for plane in range(3):
            assert (out[row, plane] == turned(planes[row, plane], which[row])).all()
        points = turned(policy[row, :-1].reshape(7, 7), which[row])
        assert (moved[row, :-1].reshape(7, 7) == points).all()
    assert (moved[:, -1] == policy[:, -1]).all()
    assert (turned_planes(out, inverse(which)) == planes).all()
    assert (turned_policy(moved, inverse(which)) == policy).all()


def test_an_epoch_shows_every_position_once_as_it_was(data: GoDataset) -> None:
    """Against sgfmill's board, each row turned by numpy."""
    seen = set()
    for batch in data.batches(32, seed=3):
        assert batch.planes is not None
        for row in range(len(batch)):
            g, ply, s = int(batch.game[row]), int(batch.ply[row]), int(batch.symmetry[row])
            seen.add((g, ply))
            game = recorded()[g]
            board = SgfmillBoard(9)
            for t, move in enumerate(game.moves[:ply].tolist()):
                if move < 81:
                    board.play(*divmod(move, 9), "bw"[t % 2])
            mover = "bw"[ply % 2]
            content = np.array([[board.get(r, c) or "" for c in range(9)] for r in range(9)])
            own, theirs = content == mover, (content != mover) & (content != "")
            assert (batch.planes[row, 0] == turned(own, s)).all()
            assert (batch.planes[row, 1] == turned(theirs, s)).all()
            sign = 1 if mover == "b" else -1
            assert batch.action[row] == point_tables(9)[s, game.moves[ply]]
            assert batch.result[row] == sign * game.result
            assert batch.score[row] == sign * game.margin
            check_search(batch, row, game, ply, s, sign)
    assert seen == {(g, ply) for g, game in enumerate(recorded()) for ply in range(len(game.moves))}


def check_search(batch: Batch, row: int, game: StoredGame, ply: int, s: int, sign: int) -> None:
    names = ("policy", "weight", "root_value", "ownership")
    policy, weight, root_value, ownership = (getattr(batch, name)[row] for name in names)
    if game.policy is None:
        assert weight == 1
        assert policy.argmax() == batch.action[row]
        assert policy.sum() == 1
        assert np.isnan(root_value)
        return
    stored: list[Any] = [getattr(game, name) for name in names]
    target = stored[0][ply].astype(np.float32)
    assert (policy[:-1].reshape(9, 9) == turned(target[:-1].reshape(9, 9), s)).all()
    assert (policy[-1], weight, root_value) == (target[-1], stored[1][ply], stored[2][ply])
    assert (ownership == sign * turned(stored[3].reshape(9, 9), s)).all()


def test_positions_are_those_of_a_trail_followed_move_by_move() -> None:
    games = [random_game(seed, size=5, length=60) for seed in range(6)]
    stones = np.zeros(25, np.int8)
    stones[[6, 18]] = 1, 2
    board = Board.from_stones(stones.reshape(5, 5))
    moves = np.array(random_moves(9, size=5, length=30, board=board.copy()), np.int16)
    games.append(StoredGame(size=5, moves=moves, half_komi=-3, stones=stones))
    for batch in GoDataset.of_games(games).batches(50, symmetries=False, with_positions=True):
        found = batch.positions
        assert found is not None
        for row in range(len(batch)):
            game, ply = games[batch.game[row]], int(batch.ply[row])
            expected = Positions.room(5, 1)
            if game.stones is not None:
                expected.words[0] = board.words
            trail.begin_trail(expected.words[0], expected.trails[0], 1, game.half_komi)
            words, row_trail = expected.words[0], expected.trails[0]
            played = trail.extend_trail(words, row_trail, game.moves[:ply], False)
            assert played == ply
            assert (found.board(row).stones() == expected.board(0).stones()).all()
            assert found.board(row).ko_point == expected.board(0).ko_point
            assert found.komi()[row] == game.half_komi / 2
            assert (found.colors()[row], found.plies()[row]) == (1 + ply % 2, ply)
            assert (found.ages()[row] == expected.ages()[0]).all()
            assert (found.trails[row] == row_trail).all()


def test_the_same_seeds_give_the_same_batches_and_others_do_not(data: GoDataset) -> None:
    one, two = list(data.batches(16, seed=5, epoch=2)), list(data.batches(16, seed=5, epoch=2))
    assert all(equal(a, b) for a, b in zip(one, two, strict=True))
    for other in (data.batches(16, seed=6, epoch=2), data.batches(16, seed=5, epoch=3)):
        assert not equal(one[0], next(other))
    plain = list(data.batches(16, shuffle=False, symmetries=False))
    counts = [len(game.moves) for game in recorded()]
    assert (np.concatenate([b.game for b in plain]) == np.repeat(range(12), counts)).all()
    assert not any(b.symmetry.any() for b in plain)
    turns = np.concatenate([b.symmetry for b in one])
    assert (np.bincount(turns, minlength=8) > 10).all()


def test_a_stream_goes_on_from_any_batch(data: GoDataset) -> None:
    whole = list(data.batches(32, seed=1, epoch=4))
    rest = list(data.batches(32, seed=1, epoch=4, start=3))
    assert len(rest) == len(whole) - 3
    assert all(equal(a, b) for a, b in zip(rest, whole[3:], strict=True))


def test_batches_made_ahead_are_the_same(data: GoDataset) -> None:
    whole = list(data.batches(16, seed=2))
    with Prefetcher(data.batches(16, seed=2), depth=3) as batches:
        ahead = [next(batches) for _ in range(4)]
    assert all(equal(a, b) for a, b in zip(ahead, whole, strict=False))
    with Prefetcher(data.batches(16, seed=2)) as batches:
        assert len(list(batches)) == len(batches) == len(whole)
        assert next(batches, None) is None
        assert batches.waited > 0


def test_an_error_of_a_batch_made_ahead_is_raised_where_it_is_taken() -> None:
    broken = StoredGame(size=9, moves=np.array([5, 5, 6], np.int16), half_komi=0)
    data = GoDataset.of_games([broken], encoder=stones())
    with Prefetcher(data.batches(3)) as batches, pytest.raises(DataError, match="cannot be played"):
        list(batches)


@pytest.mark.parametrize("moves", [[5, 5, 6], [82, 1, 2], [-1, 0, 1], [30_000, 1, 2]])
def test_moves_that_no_board_takes_are_refused(moves: list[int]) -> None:
    game = StoredGame(size=9, moves=np.zeros(3, np.int16), half_komi=0)
    data = GoDataset.of_games([game], encoder=stones())
    columns = dict(data.shards[0].columns)
    columns["moves"] = np.array(moves, np.int16)
    columns["moves"].flags.writeable = False
    object.__setattr__(data.shards[0], "columns", columns)
    with pytest.raises(DataError, match="cannot be played"):
        list(data.batches(3, symmetries=False))


def test_only_positions_with_targets_when_asked(data: GoDataset) -> None:
    expected = {
        (g, ply)
        for g, game in enumerate(recorded())
        for ply in range(len(game.moves))
        if game.weight is None or game.weight[ply]
    }
    batches = list(data.batches(16, targets_only=True))
    found = [(int(g), int(p)) for b in batches for g, p in zip(b.game, b.ply, strict=True)]
    assert sorted(found) == sorted(expected)
    without_weights = GoDataset.of_games(recorded()[:1])
    (batch,) = without_weights.batches(64, targets_only=True)
    assert sorted(batch.ply.tolist()) == list(range(len(recorded()[0].moves)))
    fast = replace(recorded()[1], weight=np.zeros(len(recorded()[1].moves), np.float16))
    with pytest.raises(DataError, match="no position"):
        GoDataset.of_games([fast]).batches(4, targets_only=True)


def test_last_batches_may_be_left_out(data: GoDataset) -> None:
    count, rest = divmod(data.positions, 32)
    assert rest
    assert [len(b) for b in data.batches(32)] == [32] * count + [rest]
    assert [len(b) for b in data.batches(32, drop_last=True)] == [32] * count
    with pytest.raises(DataError, match="there is no batch"):
        data.batches(32, start=count + 2)
    for size, seed, epoch in ((0, 0, 0), (32, -1, 0), (32, 0, -1)):
        with pytest.raises(DataError, match="at least 1, 0 and 0"):
            data.batches(size, seed=seed, epoch=epoch)


def test_splits_part_games_once_and_for_all() -> None:
    games = [random_game(seed, length=6) for seed in range(400)]
    parts = {
        split: GoDataset.of_shards(shards_of(games), split=split, fractions=(0.5, 0.3, 0.2))
        for split in ("train", "validation", "test")
    }
    names = {split: {n.tobytes() for n in part.names()} for split, part in parts.items()}
    assert sum(map(len, names.values())) == len(set.union(*names.values())) == 400
    assert 160 < len(names["train"]) < 240
    assert 80 < len(names["validation"]) < 160
    turned_games = [
        StoredGame(size=9, moves=point_tables(9)[i % 8][game.moves], half_komi=3)
        for i, game in enumerate(reversed(games))
    ]
    more = turned_games + [random_game(seed, length=7) for seed in range(50)]
    later = GoDataset.of_shards(shards_of(more), split="test", fractions=(0.5, 0.3, 0.2))
    found = {name.tobytes() for name in later.names()}
    assert names["test"] <= found
    assert not names["train"] & found
    with pytest.raises(DataError, match="sum to 1"):
        in_split(parts["test"].names(), "train", (0.5, 0.5, 0.5))
    with pytest.raises(DataError, match="unknown split"):
        in_split(parts["test"].names(), "tests")


def test_games_can_be_few() -> None:
    games = [random_game(seed, length=6) for seed in range(60)]
    few = GoDataset.of_shards(shards_of(games), games=20, seed=4)
    assert len(few) == 20
    again = GoDataset.of_shards(shards_of(games[::-1]), games=20, seed=4)
    chosen = {n.tobytes() for n in few.names()}
    assert {n.tobytes() for n in again.names()} == chosen
    other = GoDataset.of_shards(shards_of(games), games=20, seed=5)
    assert {n.tobytes() for n in other.names()} != chosen


def test_sgf_serves_batches_without_shards(tmp_path: Path) -> None:
    for seed in range(5):
        data = sgf_of(random_moves(seed, length=10), RE="?" if seed else "B+1")
        (tmp_path / f"{seed}.sgf").write_bytes(data)
    (tmp_path / "bad.sgf").write_bytes(b"(;GM[6])")
    games = GoDataset(tmp_path, encoder=stones())
    assert len(games) == 1
    assert games.report is not None
    assert games.report.bad == 1
    assert games.report.dropped["result unknown"] == 4
    batch = next(games.batches(10))
    assert len(batch) == 10
    assert (batch.policy, batch.weight, batch.ownership) == (None, None, None)
    assert games.game(0).moves.tolist() == random_moves(0, length=10)
    with pytest.raises(DataError, match=r"5 dropped \(another board size\); 1 bad, .*bad.sgf"):
        GoDataset(tmp_path, encoder=stones(13))


def test_unknown_results_are_nan() -> None:
    game = StoredGame(size=9, moves=np.array([1, 2], np.int16), half_komi=0)
    batch = next(GoDataset.of_games([game]).batches(2))
    assert np.isnan(batch.result).all()
    assert np.isnan(batch.score).all()
    assert batch.planes is None


def test_sizes_must_fit(data: GoDataset, tmp_path: Path) -> None:
    write_set(tmp_path / "small", [random_game(1, size=7, length=5)])
    with pytest.raises(DataError, match="encoder is for 7x7"):
        GoDataset(tmp_path / "set", encoder=stones(7))
    both = GoDataset([tmp_path / "set", tmp_path / "small"])
    assert both.sizes == (7, 9)
    with pytest.raises(DataError, match="games of 7x7 and 9x9, where one size"):
        _ = both.size
    with pytest.raises(DataError, match="no such file"):
        GoDataset(tmp_path / "gone")
