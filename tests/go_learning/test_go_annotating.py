"""Annotations of recorded games: against slow trees, by hand, and through the command."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.go.positions import go
from tests.go_learning.go_commands import run
from tests.go_learning.go_data_games import random_game, sgf_of, write_set
from tests.go_learning.go_forest_slow import Judged, SlowTree, random_judge

from miai.errors import WeightsError
from miai_go.errors import DataError
from miai_go.learning.data.annotating import AnnotationPlan, annotate, final_owners
from miai_go.learning.data.batches import Batch
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.shards import Shard, open_shards
from miai_go.learning.data.stored_games import StoredGame
from miai_go.learning.training.supervised import lesson_of, root_sharpness
from miai_go.nets.encoders import ZeroEncoder
from miai_go.search.forest import TreeSettings

SIZE = 5
PASS = SIZE * SIZE


def games_of(count: int, *, length: int = 12) -> list[StoredGame]:
    return [random_game(seed, size=SIZE, length=length + seed) for seed in range(count)]


def plan_of(data: GoDataset, **settings: float) -> AnnotationPlan:
    values = {"simulations": 20, "every": 1, "mix": 0.0, "leaves": 3, **settings}
    return AnnotationPlan(games=data.digest(), weights="judge", **values)  # type: ignore[arg-type]


def test_a_position_has_the_value_of_a_slow_tree(tmp_path: Path) -> None:
    passing = replace(games_of(1)[0], moves=np.array([12, PASS, 7, 11, PASS, 6], np.int16))
    data = GoDataset.of_games([*games_of(3), passing])
    judge = random_judge(SIZE, seed=5)
    annotate(data, plan_of(data), [Judged(judge)], tmp_path)
    tree = TreeSettings(c_puct=1.0)
    (shard,) = open_shards(tmp_path)
    for number in range(len(data)):
        game = shard.game(number)
        assert game.root_value is not None
        assert (game.moves == data.game(number).moves).all()
        state = go(board_size=SIZE, ko="simple", suicide=False, komi=7.5).new_initial_state()
        for ply, move in enumerate(game.moves.tolist()):
            slow = SlowTree(state, tree, judge, leaves=3)
            slow.search(20)
            expected = {"won": -1.0, "lost": 1.0}.get(slow.root.status, -slow.root.q())
            assert game.root_value[ply] == pytest.approx(expected, abs=1e-3), (number, ply)
            if state.passes and move == PASS:
                break  # the recorded games go on after two passes
            state.apply_action(move)


def test_positions_in_between_lie_between_and_lead_to_the_result(tmp_path: Path) -> None:
    data = GoDataset.of_games([replace(game, result=-1) for game in games_of(4)])
    judge = random_judge(SIZE, seed=5)
    annotate(data, plan_of(data), [Judged(judge)], tmp_path / "all")
    annotate(data, plan_of(data, every=3), [Judged(judge)], tmp_path / "third")
    (every,), (third,) = open_shards(tmp_path / "all"), open_shards(tmp_path / "third")
    for number in range(len(data)):
        whole, sparse = every.game(number).root_value, third.game(number).root_value
        assert whole is not None
        assert sparse is not None
        side = np.where(np.arange(len(whole)) % 2 == 0, 1.0, -1.0)
        black, known = sparse * side, np.arange(number % 3, len(whole), 3)
        assert black[known] == pytest.approx((whole * side)[known], abs=1e-3)
        for ply in known[:-1].tolist():
            a, b = float(black[ply]), float(black[ply + 3])
            expected = [a + (b - a) / 3, a + (b - a) * 2 / 3]
            assert black[ply + 1 : ply + 3] == pytest.approx(expected, abs=2e-3)
        last, end = int(known[-1]), len(whole)
        for ply in range(last, end):
            toward = black[last] + (-1 - black[last]) * (ply - last) / (end - last)
            assert black[ply] == pytest.approx(float(toward), abs=2e-3)


def batch_of(game: StoredGame) -> Batch:
    """Return the positions of a game, in order."""
    (batch,) = GoDataset.of_games([game], encoder=ZeroEncoder(SIZE)).batches(64, shuffle=False)
    return batch


def test_the_value_is_part_of_the_target() -> None:
    game = replace(random_game(1, size=SIZE, search=True), result=1)
    batch = batch_of(game)
    side = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    root = np.asarray(game.root_value, np.float32)
    for share in (0.0, 0.25, 1.0):
        expected = share * root + (1 - share) * side
        assert lesson_of(batch, root_share=share).value == pytest.approx(expected, abs=1e-6)
    plain = batch_of(replace(game, root_value=None))
    assert lesson_of(plain, root_share=0.7).value == pytest.approx(side)


LATE = 1.4


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.2])
def test_values_of_searches_are_sharpened_to_fit_the_results(factor: float) -> None:
    """Results are drawn with the chances that sharpened values give; a fine grid finds as much."""
    rng, games, blacks = np.random.default_rng(4), [], []
    game = random_game(1, size=SIZE, length=12)
    for number in range(1500):
        black = rng.uniform(-0.9, 0.9)
        chance = 1 / (1 + ((1 - black) / (1 + black)) ** factor)
        side = np.where(np.arange(12) % 2 == 0, 1.0, -1.0)
        late = (1 - black) / (1 + black)  # the last two plies have values that need another factor
        shown = np.where(np.arange(12) < 10, black, 2 / (1 + late ** (factor / LATE)) - 1)
        root = (shown * side).astype(np.float16)
        root[number % 11] = np.nan
        blacks.append(black)
        games.append(replace(game, result=1 if rng.random() < chance else -1, root_value=root))
    by_ply = root_sharpness(*GoDataset.of_games(games).searched())
    assert (by_ply[:10] == by_ply[0]).all()
    assert by_ply[10:] == pytest.approx(np.full(10, LATE), rel=0.15)
    found = by_ply[0]
    assert found == pytest.approx(factor, rel=0.15)
    values = np.array(blacks)
    results = np.array([g.result for g in games])
    grid = np.arange(0.25, 4, 0.01)
    odds = (1 - values) / (1 + values)
    errors = [((2 / (1 + odds**k) - 1 - results) ** 2).mean() for k in grid]
    assert found == pytest.approx(float(grid[int(np.argmin(errors))]), abs=0.06)

    game = random_game(1, size=SIZE, search=True)
    for lacking in (replace(game, root_value=None), replace(game, result=2)):
        assert root_sharpness(*GoDataset.of_games([lacking]).searched()).tolist() == [1.0] * 10


def test_the_sharpened_value_is_the_target() -> None:
    game = replace(random_game(1, size=SIZE, search=True), result=1)
    root = np.asarray(game.root_value, np.float64)
    factors = np.array([0.5, 2.5, 1.5])
    each = factors[np.minimum(np.arange(len(root)), 2)]
    expected = 2 / (1 + ((1 - root) / (1 + root)) ** each) - 1
    found = lesson_of(batch_of(game), root_share=1.0, sharpness=factors).value
    assert found == pytest.approx(expected, abs=2e-3)


def finished(picture: str, *, margin: float, tail: tuple[int, ...] = (PASS, PASS)) -> StoredGame:
    """Return a game that sets up a drawn board, highest row first, and passes twice."""
    rows = [[".XO".index(mark) for mark in row] for row in reversed(picture.split())]
    stones = np.array(rows, np.int8).reshape(-1)
    moves = np.array(tail, np.int16)
    return StoredGame(size=SIZE, moves=moves, half_komi=1, margin=margin, stones=stones, result=1)


ALIVE = ".XXO. XXXOO .XXO. XXXOO .XXO."
DEAD = ".X.XO XXXX. .X.X. XXXXX .X.X."


@pytest.mark.parametrize(
    ("picture", "margin", "black"),
    [
        (ALIVE, 4.5, 15),  # the left three columns, 15 points, against the right two, 10
        (ALIVE, 3.5, None),  # another margin than the area's
        (DEAD, 24.5, 25),  # the white stone is dead
        (DEAD, 19.5, None),  # neither with nor without it
    ],
)
def test_owners_agree_with_the_margin(picture: str, margin: float, black: int | None) -> None:
    owners = final_owners(finished(picture, margin=margin))
    assert (None if owners is None else int((owners == 1).sum())) == black
    if picture == ALIVE and owners is not None:
        assert owners.reshape(SIZE, SIZE).tolist() == [[1, 1, 1, -1, -1]] * SIZE
    assert final_owners(finished(picture, margin=margin, tail=(PASS,))) is None
    assert final_owners(finished(picture, margin=float("nan"))) is None


def test_owners_are_those_of_the_last_position_whoever_began() -> None:
    """White begins, and both fill their columns; the captured stone is not there any more."""
    moves = [3, 2, 8, 7, 13, 12, 18, 17, 23, 22, 4, 1, PASS, 0, PASS, PASS]
    ending: Any = {"half_komi": 1, "result": 1, "margin": 4.5, "first": 2}
    game = StoredGame(size=SIZE, moves=np.array(moves, np.int16), **ending)
    owners = final_owners(game)
    assert owners is not None
    assert owners.reshape(SIZE, SIZE).tolist() == [[1, 1, 1, -1, -1]] * SIZE
    assert final_owners(replace(game, first=1, margin=-5.5)) is not None, "colours swapped"


def test_games_without_a_searched_position_are_kept(tmp_path: Path) -> None:
    none = replace(random_game(1, size=SIZE, length=3), moves=np.zeros(0, np.int16), result=2)
    one = replace(random_game(2, size=SIZE, length=1), result=-1, first=2)
    data = GoDataset.of_games([none, one, *games_of(1)])
    plan = plan_of(data, every=2, games_a_shard=1)
    assert annotate(data, plan, [Judged(random_judge(SIZE, seed=1))], tmp_path) == 3
    shards = open_shards(tmp_path)
    assert [len(shard.columns["moves"]) for shard in shards] == [0, 1, 12]
    assert shards[1].columns["root_value"].tolist() == [1.0], "White won, and is to move"


def test_an_interrupted_run_goes_on_with_the_same_annotations(tmp_path: Path) -> None:
    data = GoDataset.of_games(games_of(7))
    plan = plan_of(data, mix=0.5, games_a_shard=2)
    judge = random_judge(SIZE, seed=5)
    two = [Judged(judge), Judged(judge)]
    assert annotate(data, plan, two, tmp_path / "whole") == 7

    class StoppedError(Exception):
        pass

    def stop(games: int) -> None:
        if games >= 4:
            raise StoppedError

    with pytest.raises(StoppedError):
        annotate(data, plan, two, tmp_path / "parts", progress=stop)
    assert annotate(data, plan, [Judged(judge)], tmp_path / "parts") == 3
    pairs = zip(open_shards(tmp_path / "whole"), open_shards(tmp_path / "parts"), strict=True)
    assert all(_same(a, b) for a, b in pairs)
    other = plan.model_copy(update={"simulations": 21})
    with pytest.raises(DataError, match=r"simulations differ.*--out"):
        annotate(data, other, [Judged(judge)], tmp_path / "whole")
    shutil.rmtree(tmp_path / "whole" / "000001")
    with pytest.raises(DataError, match="a shard is missing"):
        annotate(data, plan, two, tmp_path / "whole")


def _same(a: Shard, b: Shard) -> bool:
    return a.columns.keys() == b.columns.keys() and all(
        np.array_equal(a.columns[name], b.columns[name], equal_nan=name != "names")
        for name in a.columns
    )


@pytest.mark.slow
def test_the_command_annotates_sgf(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    for seed in range(3):
        moves = [*random_game(seed, length=20).moves.tolist(), 81, 81]
        (folder / f"{seed}.sgf").write_bytes(sgf_of(moves, seed=seed))
    words = ["data", "annotate", folder, "--out", tmp_path / "out", "--simulations", 4]
    words += ["--workers", 1, "--precision", "fp32"]
    assert "3  annotated" in run(*words)
    assert "0  annotated" in run(*words)
    assert "beside moves and results: root_value" in run("data", "stats", tmp_path / "out")
    with pytest.raises(DataError, match="precision differ"):
        run(*words, "--precision", "int8")
    with pytest.raises(WeightsError):
        run(*words, "--weights", "nowhere")
    words[2] = write_set(tmp_path / "small", [random_game(1, size=SIZE)])
    with pytest.raises(Exception, match="weights for 7x7 to 13x13, not for 5x5"):
        run(*words)
