"""The folder of self-play and its journal: whatever interrupts them, each game is there once."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from miai.files import Journal
from miai_go.errors import DataError
from miai_go.learning.agent_games import GamesPlan, PlayedGame, PlayerPlan, pack, unpack
from miai_go.learning.game_folder import GameFolder
from miai_go.learning.games import StoredGame
from miai_go.learning.shards import ShardWriter, open_shards

PLAN = GamesPlan(
    game={"board_size": 5}, black=PlayerPlan(agent="mcts"), white=PlayerPlan(agent="mcts")
)


def game_of(number: int) -> PlayedGame:
    """Return a game that tells its number."""
    rng = np.random.default_rng(number)
    moves = np.array([number // 26, number % 26, 25], np.int16)
    policy = rng.random((3, 26)).astype(np.float16)
    game = StoredGame(
        size=5,
        moves=moves,
        half_komi=14,
        result=int(rng.integers(-1, 3)),
        margin=float("nan") if number % 3 else 2.5,
        policy=policy if number % 2 else None,
        weight=np.array([1, 0, 1], np.float16) if number % 2 else None,
        root_value=np.array([0.5, np.nan, -1], np.float16),
        ownership=rng.integers(-1, 2, 25).astype(np.int8),
    )
    return PlayedGame(game, f"(;C[{number}])")


def numbers(folder: Path) -> list[int]:
    """Return the numbers of the games of all shards, in their order."""
    shards = open_shards(folder / "games")
    games = [shard.game(index) for shard in shards for index in range(shard.games)]
    return [int(game.moves[0]) * 26 + int(game.moves[1]) for game in games]


def test_a_packed_game_is_the_game() -> None:
    for number in range(6):
        one, other = game_of(number), unpack(pack(game_of(number)))
        assert one.sgf == other.sgf
        for name in StoredGame.__slots__:
            np.testing.assert_array_equal(getattr(one.game, name), getattr(other.game, name), name)
    damaged = pack(game_of(1))
    damaged["arrays"]["policy"] = damaged["arrays"]["policy"][:-8]
    for wrong in (damaged, {}, {**pack(game_of(0)), "result": 7}):
        with pytest.raises(DataError):
            unpack(wrong)


class Died(BaseException):
    """In place of a SIGKILL, after which the folder is as it is."""


class Fate:
    """Lets methods die before or after their work, from time to time."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.chance = 0.0

    def mortal(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def dying(*arguments: Any) -> Any:
            self.strike()
            result = method(*arguments)
            self.strike()
            return result

        return dying

    def strike(self) -> None:
        if self.rng.random() < self.chance:
            raise Died


@pytest.mark.parametrize("seed", range(8))
def test_games_in_any_order_and_deaths_at_any_time(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    games, shard = 40, rng.choice((1, 3, 7, 100))
    fate = Fate(rng)
    for owner, name in (
        (Journal, "replace"),
        (GameFolder, "_write_sgf"),
        (ShardWriter, "flush"),
    ):
        monkeypatch.setattr(owner, name, fate.mortal(getattr(owner, name)))
    played: list[int] = []
    lives = deaths = 0
    while True:
        lives += 1
        fate.chance = 0.0 if lives > 200 else 0.04
        folder = GameFolder(tmp_path, PLAN, size=5, games_a_shard=shard)
        try:
            folder.__enter__()
            assert folder.torn in (0, 5)
            left = list(folder.missing(games))
            assert folder.have(games) == games - len(left)
            rng.shuffle(left)
            for number in left[: rng.randint(1, 12)]:
                played.append(number)  # what `add` does first cannot die here
                folder.add({number: game_of(number)})
            if not left:
                folder.__exit__(None, None, None)
                break
        except Died:
            deaths += 1
        if rng.random() < 0.5:
            with (tmp_path / "journal").open("ab") as file:
                file.write(b"12345")
        folder._lock.close()  # as its death would
    print(f"seed {seed}: {games} games, {shard} a shard, {lives} lives, {deaths} deaths")
    assert sorted(played) == list(range(games))
    assert numbers(tmp_path) == list(range(games))
    files = sorted((tmp_path / "sgf").rglob("*.sgf"))
    assert [file.read_text() for file in files] == [f"(;C[{n}])" for n in range(games)]


def test_an_abandoned_game_is_skipped_unless_nothing_else_is_left(
    tmp_path: Path,
) -> None:
    with GameFolder(tmp_path, PLAN, size=5) as folder:
        folder.add({0: game_of(0), 2: game_of(2)})
        folder.lose(1, "it died")
        folder.lose(3, "it died")
    assert numbers(tmp_path) == [0, 2]
    with GameFolder(tmp_path, PLAN, size=5) as folder:
        assert list(folder.missing(5)) == [3, 4]


def test_games_of_another_origin_are_not_mixed(tmp_path: Path) -> None:
    with GameFolder(tmp_path / "one", PLAN, size=5) as folder:
        folder.add({0: game_of(0)})
        with pytest.raises(DataError, match="another process"):
            GameFolder(tmp_path / "one", PLAN, size=5).__enter__()
    other = PLAN.model_copy(update={"seed": 1})
    with pytest.raises(DataError, match=r"another plan \(seed differ"):
        GameFolder(tmp_path / "one", other, size=5).__enter__()
    (tmp_path / "one" / "selfplay.json").unlink()
    with pytest.raises(DataError, match="holds games but no"):
        GameFolder(tmp_path / "one", PLAN, size=5).__enter__()


def test_weights_that_changed_are_another_plan(tmp_path: Path) -> None:
    weights = tmp_path / "w"
    weights.write_bytes(b"1")
    player = PlayerPlan(agent="policy", parameters={"weights": str(weights)})
    plan = PLAN.model_copy(update={"black": player})
    with GameFolder(tmp_path / "run", plan, size=5):
        pass
    with GameFolder(tmp_path / "run", plan, size=5):
        pass
    weights.write_bytes(b"2")
    with pytest.raises(DataError, match="files differ"):
        GameFolder(tmp_path / "run", plan, size=5).__enter__()
