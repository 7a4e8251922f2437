"""Games for learning: policies among themselves, trees against themselves, matches."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from numpy.typing import NDArray
from tests.go.positions import go
from tests.go_learning.go_forest_slow import Judge, Judged, random_judge
from tests.whole_texts import assert_expected
from typer.testing import CliRunner

from miai.errors import MiaiError
from miai_go.commands import add_commands
from miai_go.errors import DataError
from miai_go.kernels import selfplay as kernels
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.shards import open_shards, shard_folders
from miai_go.learning.data.stored_games import (
    BLACK_WON,
    DRAWN,
    WHITE_WON,
    StoredGame,
    finished_game,
)
from miai_go.learning.selfplay.policy_games import PolicyGames
from miai_go.learning.selfplay.tree_games import (
    MatchPlayer,
    MatchResult,
    MatchRules,
    SelfPlayPlan,
    TreeGames,
    TreeSelfPlay,
    play_match,
    play_set,
)
from miai_go.nets.encoder import load_encoder
from miai_go.nets.oracle import Answers
from miai_go.rules.board import Board
from miai_go.rules.chains import fills_eye
from miai_go.search.forest import TreeSettings


def replayed(game: StoredGame, *, ko: str = "positional") -> Board:
    """Play a game by the rules, all of them checked; return the last board.

    The result is that of the game's state, no own eye is filled, and nothing follows two passes.
    """
    ends: dict[str, Any] = {"repetition": "allowed", "dead_stones": "none", "max_moves": 2000}
    rules = go(board_size=game.size, ko=ko, suicide=False, komi=game.half_komi / 2, **ends)
    state = rules.new_initial_state()
    for action in game.moves.tolist():
        assert not state.is_terminal()
        assert state.is_legal(action), f"{action} in\n{state}"
        stones = state.board.stones().ravel().tolist()
        if action < game.size**2:
            assert not fills_eye(stones, action, state.to_move + 1)
        state.apply_action(action)
    if not math.isnan(game.margin):
        assert game.margin == state.score_by_area().margin
        assert game.result == np.sign(game.margin)
        assert game.ownership is not None
        assert game.ownership.tolist() == state.board.owners().ravel().tolist()
    return state.board


def ended(game: StoredGame, max_moves: int) -> bool:
    points = game.size**2
    passed = game.moves[-2:].tolist() == [points, points]
    return passed or len(game.moves) == max_moves


def moves_of(games: list[StoredGame]) -> list[list[int]]:
    return [game.moves.tolist() for game in games]


# -- how a game is counted ------------------------------------------------------------------------


def test_a_finished_game_is_scored_without_removing_stones() -> None:
    board = Board.from_stones([[0, 1, 0], [1, 1, 1], [2, 2, 0]])  # the last row is the highest
    moves = np.arange(3, dtype=np.int16)
    for half_komi, result, margin in ((7, BLACK_WON, 0.5), (8, DRAWN, 0.0), (9, WHITE_WON, -0.5)):
        game = finished_game(board, moves, half_komi=half_komi)
        assert (game.result, game.margin) == (result, margin)
        assert game.ownership is not None
        assert game.ownership.tolist() == [1, 1, 1, 1, 1, 1, -1, -1, 0]
    for loser, result in ((0, WHITE_WON), (1, BLACK_WON)):
        game = finished_game(board, moves, half_komi=7, loser=loser)
        assert (game.result, game.ownership) == (result, None)
        assert math.isnan(game.margin)


# -- whole games ----------------------------------------------------------------------------------


def test_a_seed_makes_the_same_games_and_targets() -> None:
    judge = Judged(random_judge(5, seed=2))
    trees = (
        TreeSettings(forced=2.0),
        TreeSettings(gumbel=4, score_weight=0.2, c_base=50.0),
        TreeSettings(rollouts=1, mix=0.5, depth=6),
    )
    lines: list[str] = []
    game = {"size": 5, "half_komi": 3, "max_moves": 24}
    for tree in trees:
        table_rules: Any = {"simulations": 16, "fast_simulations": 6, "full_share": 0.5}
        table_rules |= {"warm_moves": 4, "resign_below": -0.3, "hold_out": 0.5, "komi_spread": 3}
        rules = TreeGames(**game, tree=tree, **table_rules)
        table = TreeSelfPlay(rules, games=5, at_once=2, seed=4)
        lines += [written(played) for played in table.play(judge)]
        lines.append(f"{table.tally} {table.positions} positions")
    players = [
        MatchPlayer(valuer=Judged(random_judge(5, seed=seed)), tree=trees[seed], simulations=8)
        for seed in (2, 0)
    ]
    result = play_match(players[0], players[1], MatchRules(**game, games=5, opening=3, seed=6))
    lines += [written(played) for played in result.played]
    lines.append(f"{result.wins}-{result.draws}-{result.losses} {result.score} {result.elo()}")
    assert_expected("selfplay/games.txt", "\n".join(lines) + "\n")


def written(game: StoredGame) -> str:
    text = f"komi {game.half_komi / 2} result {game.result} margin {game.margin}\n"
    for name in ("moves", "ownership", "weight", "root_value", "policy"):
        values = getattr(game, name)
        if name == "policy" and values is not None:
            values = values.astype(float) @ np.arange(values.shape[1])  # the mean move
        rows = [] if values is None else values.astype(float).round(2).tolist()
        text += f"  {name}: {rows}\n"
    return text


# -- drawing moves --------------------------------------------------------------------------------


@pytest.mark.parametrize("heat", [0.0, 0.5, 1.0, 2.0])
def test_moves_are_drawn_by_the_softmax_of_what_is_allowed(heat: float) -> None:
    rng = np.random.default_rng(1)
    draws = 4000
    logits = np.tile(rng.normal(0, 1.5, 10).astype(np.float32), (draws, 1))
    allowed = np.ones((draws, 10), np.bool_)
    allowed[:, [2, 5]] = False
    dice = (np.arange(draws) + 0.5) / draws
    out = np.zeros(draws, np.int16)
    kernels.draw_moves(logits, allowed, np.full(draws, heat), dice, out)
    wanted = np.where(allowed[0], logits[0].astype(np.float64), -np.inf)
    if heat == 0:
        assert set(out.tolist()) == {int(wanted.argmax())}
        return
    powers = np.exp(wanted / heat)
    counts = np.bincount(out, minlength=10)
    assert counts == pytest.approx(draws * powers / powers.sum(), abs=1.01)


# -- policies -------------------------------------------------------------------------------------


class Preferring:
    """An oracle that likes the same moves everywhere."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        self._logits = logits
        size = round((len(logits) - 1) ** 0.5)
        self.encoder = load_encoder("zero", size)
        self.has_policy, self.has_value = True, False

    def infer(self, planes: NDArray[np.uint8]) -> Answers:
        return Answers(np.tile(self._logits, (len(planes), 1)), None)

    def statistics(self) -> dict[str, float]:
        return {}


SMALL, LARGE = (Preferring(np.linspace(s, -s, 26).astype(np.float32)) for s in (50, -50))
"""One prefers low numbers, the other high ones, the pass first of all."""


def sides(*numbers: int) -> NDArray[np.int64]:
    return np.array(numbers, np.int64)


def test_each_colour_is_played_by_who_is_said() -> None:
    rules = PolicyGames(size=5, half_komi=1, max_moves=6, temperature=0.0)
    rng = np.random.default_rng(1)
    games = rules.play([SMALL, LARGE], sides(0, 1, 0), sides(1, 0, 0), rng=rng)
    found = moves_of(games)
    assert found[0] == [0, 25, 1, 25, 2, 25]
    assert found[1] == [25, 0, 25, 1, 25, 2]
    assert found[2][0] == 0
    assert 25 not in found[2]
    both = rules.play([LARGE], sides(0), sides(0), rng=rng)
    assert moves_of(both) == [[25, 25]]
    for game in games + both:
        replayed(game)
        assert ended(game, 6)


def test_a_random_move_and_another_player_after_it() -> None:
    """For value networks (Silver et al. 2016): one policy, a random move, then another."""
    rules = PolicyGames(size=5, half_komi=1, max_moves=8, temperature=0.0)
    rng = np.random.default_rng(2)
    count = 60
    zeros = np.zeros(count, np.int64)
    plies = np.arange(count) % 5
    games = rules.play([SMALL, LARGE], zeros, zeros, rng=rng, random_at=plies, after=zeros + 1)
    drawn: set[int] = set()
    for game, ply in zip(games, plies.tolist(), strict=True):
        moves = game.moves.tolist()
        alone = rules.play([SMALL], sides(0), sides(0), rng=rng)[0].moves.tolist()
        assert moves[:ply] == alone[:ply]
        drawn.add(moves[ply])
        assert moves[ply + 1] == 25
        replayed(game)
    assert len(drawn) > 12


def test_policy_games_are_seeded_complete_and_legal() -> None:
    rules = PolicyGames(size=5, half_komi=5, max_moves=120)
    flat = Preferring(np.zeros(26, np.float32))
    zeros = np.zeros(40, np.int64)
    rngs = map(np.random.default_rng, (3, 3, 4))
    games, again, other = (rules.play([flat], zeros, zeros, rng=rng) for rng in rngs)
    assert len(games) == len(other) == 40
    assert moves_of(games) == moves_of(again) != moves_of(other)
    assert len({tuple(moves) for moves in moves_of(games)}) == 40
    for game in games:
        replayed(game, ko="simple")
        assert ended(game, 120)
        assert game.legal_moves() == len(game.moves)


def test_openings_are_drawn_and_the_rest_is_greedy() -> None:
    rules = PolicyGames(size=5, max_moves=10, temperature=0.0, opening=3)
    logits = np.linspace(0.5, 0, 26).astype(np.float32)
    zeros = np.zeros(30, np.int64)
    games = rules.play([Preferring(logits)], zeros, zeros, rng=np.random.default_rng(5))
    assert len({tuple(game.moves[:3].tolist()) for game in games}) > 20
    for game in games:
        if game.moves[:3].max() < 25:
            free = sorted(set(range(25)) - set(game.moves[:3].tolist()))
            assert game.moves[3] == free[0]


# -- trees ----------------------------------------------------------------------------------------

PUCT, GUMBEL = TreeSettings(), TreeSettings(gumbel=6)


def rules_of(**more: Any) -> TreeGames:
    values: dict[str, Any] = {"size": 4, "half_komi": 1, "max_moves": 40, "simulations": 12}
    return TreeGames(**values | more)


def targets_of(game: StoredGame) -> list[Any]:
    """Return policies, weights and values of a game that a search played."""
    targets = [game.policy, game.weight, game.root_value]
    assert all(target is not None for target in targets)
    return targets


def self_played(rules: TreeGames, *, games: int, at_once: int, seed: int) -> list[StoredGame]:
    judged = Judged(random_judge(rules.size, seed=1))
    return list(TreeSelfPlay(rules, games=games, at_once=at_once, seed=seed).play(judged))


@pytest.mark.parametrize("tree", [PUCT, GUMBEL], ids=["puct", "gumbel"])
@pytest.mark.parametrize(("games", "at_once"), [(1, 1), (3, 8), (9, 4)])
def test_as_many_games_as_asked_with_targets(tree: TreeSettings, games: int, at_once: int) -> None:
    rules = rules_of(tree=tree, full_share=0.6, fast_simulations=3)
    played = self_played(rules, games=games, at_once=at_once, seed=2)
    assert len(played) == games
    for game in played:
        replayed(game)
        assert ended(game, 40)
        count = len(game.moves)
        policy, weight, values = targets_of(game)
        assert policy.shape == (count, 17)
        assert policy.sum(axis=1, dtype=np.float64) == pytest.approx(np.ones(count), abs=5e-3)
        assert policy.min() >= 0
        assert set(weight.tolist()) <= {0.0, 1.0}
        assert weight.shape == values.shape == (count,)
        assert np.abs(values).max() <= 1
        board = Board(4)
        for ply, action in enumerate(game.moves.tolist()):
            for point in range(16):
                assert policy[ply, point] == 0 or board.is_legal(ply % 2, point)
            board.play(ply % 2, action)
    weights = np.concatenate([targets_of(game)[1] for game in played])
    assert 0.2 < weights.mean() < 0.95


def test_all_games_have_results_of_their_last_boards_on_the_smallest_boards() -> None:
    """Superko, proven games, and trees that are kept and out of room, all come up here."""
    results = set()
    for tree in (PUCT, GUMBEL):
        for size in (2, 3):
            rules = rules_of(size=size, half_komi=0, simulations=20, tree=tree)
            for game in self_played(rules, games=10, at_once=6, seed=size):
                replayed(game)
                assert ended(game, 40)
                results.add(game.result)
    assert results == {BLACK_WON, WHITE_WON, DRAWN}


def test_the_weight_marks_the_full_searches() -> None:
    rules = rules_of(simulations=30, fast_simulations=4, full_share=0.4, noise_share=0.0)
    play = TreeSelfPlay(rules, games=1, at_once=1, seed=3)
    judged = Judged(random_judge(4, seed=1))
    asked: list[int] = []
    games: list[StoredGame] = []
    while not games:
        before = sum(judged.batches)
        games = play.step(judged)
        asked.append(sum(judged.batches) - before)
    full = targets_of(games[0])[1] > 0
    assert play.positions == len(asked) == len(full)
    assert (np.array(asked) <= np.where(full, 31, 5)).all()
    assert max(np.array(asked)[full]) > 20
    all_full = self_played(rules_of(full_share=1.0), games=2, at_once=2, seed=1)
    assert all(targets_of(game)[1].all() for game in all_full)


def gloomy(size: int, player: int) -> Judge:
    """Return a judge that holds the game for lost by one player, wherever it stands."""
    random = random_judge(size, seed=2)

    def judge(stones: bytes, color: int, last: int) -> tuple[NDArray[np.float32], float]:
        return random(stones, color, last)[0], -0.95 if color == player else 0.95

    return judge


@pytest.mark.parametrize("loser", [0, 1])
def test_resigning_loses_and_leaves_the_area_unknown(loser: int) -> None:
    rules = rules_of(size=5, resign_below=-0.8, hold_out=0.0, simulations=6)
    play = TreeSelfPlay(rules, games=5, at_once=2, seed=1)
    games = list(play.play(Judged(gloomy(5, loser))))
    assert len(games) == 5
    for game in games:
        assert len(game.moves) == loser  # on the first move that is theirs
        assert game.result == (WHITE_WON if loser == 0 else BLACK_WON)
        assert math.isnan(game.margin)
        assert game.ownership is None
        assert targets_of(game)[0].shape == (loser, 26)
    assert (play.tally.held_out, play.tally.wrong) == (0, 0)


def test_games_held_out_tell_how_often_resigning_was_wrong() -> None:
    for loser in (0, 1):
        rules = rules_of(size=3, resign_below=-0.8, hold_out=1.0, simulations=6, half_komi=6)
        play = TreeSelfPlay(rules, games=20, at_once=5, seed=1)
        games = list(play.play(Judged(gloomy(3, loser))))
        lost = WHITE_WON if loser == 0 else BLACK_WON
        wrong = sum(game.result != lost for game in games)
        first = [game.root_value[loser] for game in games if game.root_value is not None]
        assert max(first) < -0.8
        assert all(ended(game, 40) for game in games)
        assert (play.tally.held_out, play.tally.wrong) == (20, wrong)
    half = rules_of(size=5, resign_below=-0.8, hold_out=0.5, simulations=4, max_moves=12)
    play = TreeSelfPlay(half, games=40, at_once=10, seed=1)
    games = list(play.play(Judged(gloomy(5, 0))))
    assert play.tally.held_out == sum(len(game.moves) > 0 for game in games)
    assert 8 < play.tally.held_out < 32


# -- matches --------------------------------------------------------------------------------------


def player(seed: int, *, size: int = 4, simulations: int = 6, **tree: Any) -> MatchPlayer:
    judged = Judged(random_judge(size, seed=seed))
    return MatchPlayer(valuer=judged, tree=TreeSettings(**tree), simulations=simulations)


def test_pairs_share_their_opening_and_swap_colours() -> None:
    rules = MatchRules(size=4, half_komi=0, max_moves=40, games=12, opening=3, seed=4)
    result = play_match(player(1), player(2), rules)
    assert result.games == len(result.played) == 12
    openings = [tuple(game.moves[:3].tolist()) for game in result.played]
    assert openings[::2] == openings[1::2]
    assert len(set(openings)) > 3
    wins = 0
    for number, game in enumerate(result.played):
        replayed(game)
        assert ended(game, 40)
        wins += game.result == (BLACK_WON if number % 2 == 0 else WHITE_WON)
    draws = sum(game.result == DRAWN for game in result.played)
    assert (result.wins, result.draws, result.losses) == (wins, draws, 12 - wins - draws)
    assert result.score == (wins + draws / 2) / 12
    swapped = play_match(player(1), player(1), rules)
    assert (swapped.wins, swapped.losses) == (swapped.losses, swapped.wins)
    assert moves_of(list(swapped.played[::2])) == moves_of(list(swapped.played[1::2]))


def elo_of(wins: int, draws: int, losses: int) -> tuple[float, float]:
    return MatchResult(wins, draws, losses, ()).elo()


def test_elo_numbers() -> None:
    assert elo_of(50, 0, 50)[0] == elo_of(0, 7, 0)[0] == 0
    lead, half = elo_of(640, 0, 360)
    assert lead == pytest.approx(100, abs=1)  # 64 % is a lead of 100
    assert half == pytest.approx(22.4, abs=0.5)
    assert elo_of(909, 0, 91)[0] == pytest.approx(400, abs=2)  # ten to one
    assert elo_of(30, 4, 10)[0] == pytest.approx(-elo_of(10, 4, 30)[0])
    assert elo_of(30, 4, 10)[1] == pytest.approx(elo_of(10, 4, 30)[1])
    assert math.isfinite(elo_of(20, 0, 0)[0])
    assert elo_of(20, 0, 0)[0] > elo_of(19, 0, 1)[0] > 0
    assert elo_of(400, 0, 400)[1] == pytest.approx(elo_of(100, 0, 100)[1] / 2, rel=0.01)


# -- sets of games ---------------------------------------------------------------------------------


SIZE = 4


def plan_of(**settings: object) -> SelfPlayPlan:
    values: dict[str, object] = {"size": SIZE, "komi": 0.5, "max_moves": 30, "simulations": 12}
    values |= {"full_share": 0.4, "warm_moves": 3, "seed": 5, "games_a_shard": 3}
    return SelfPlayPlan.model_validate({"weights": "judge", **values, **settings})


def judges(count: int, *sizes: int) -> list[dict[int, Judged]]:
    wanted = sizes or (SIZE,)
    return [{size: Judged(random_judge(size, seed=1)) for size in wanted} for _ in range(count)]


def test_moves_of_fast_searches_have_no_targets(tmp_path: Path) -> None:
    assert play_set(plan_of(), 7, judges(1), tmp_path) == 9, "whole shards"
    shares = []
    for index in range(9):
        policy, weight, values = targets_of(GoDataset(tmp_path).game(index))
        full = weight > 0
        shares.append(full.mean())
        np.testing.assert_array_equal(policy.any(1), full)
        np.testing.assert_array_equal(~np.isnan(values), full)
    assert 0.2 < np.mean(shares) < 0.6


def test_komi_is_drawn_from_the_spread(tmp_path: Path) -> None:
    play_set(plan_of(komi=3.0, komi_spread=1.0, games_a_shard=40), 40, judges(1), tmp_path)
    (shard,) = open_shards(tmp_path)
    assert set(shard.columns["half_komi"].tolist()) == {4, 5, 6, 7, 8}


@pytest.mark.slow
def test_a_failing_worker_stops_the_others(tmp_path: Path) -> None:
    calls: list[int] = []

    class Counting(Judged):
        def value_leaves(self, leaves):  # type: ignore[no-untyped-def]
            calls.append(len(leaves))
            return super().value_leaves(leaves)

    class Failing(Judged):
        def value_leaves(self, leaves):  # type: ignore[no-untyped-def]
            while not calls:
                time.sleep(0.001)
            raise DataError("broken")

    plan = plan_of(games_a_shard=20, simulations=40, full_share=1.0)
    counting = Counting(random_judge(SIZE, seed=1))
    play_set(plan, 20, [{SIZE: counting}], tmp_path / "whole")
    whole = len(calls)
    calls.clear()
    failing = Failing(random_judge(SIZE, seed=1))
    workers: list[dict[int, Judged]] = [{SIZE: counting}, {SIZE: failing}]
    with pytest.raises(DataError, match="broken"):
        play_set(plan, 40, workers, tmp_path / "failed")
    assert not shard_folders(tmp_path / "failed")
    assert len(calls) < whole / 2, "the other worker did not stop"


def test_folders_that_are_no_sets_are_refused_before_a_game(tmp_path: Path) -> None:
    play_set(plan_of(), 3, judges(1), tmp_path / "set")
    for name in ("000007", "mine"):
        shard = (tmp_path / "set" / "000000").replace(tmp_path / name)
        with pytest.raises(DataError, match="is a shard itself"):
            play_set(plan_of(), 3, judges(1), shard)
        shard.replace(tmp_path / "set" / "000000")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="file"):
        play_set(plan_of(), 3, judges(1), tmp_path / "file")


def test_a_folder_of_other_things_is_not_made_a_set(tmp_path: Path) -> None:
    (tmp_path / "games").mkdir()
    for sizes in ([4], [4, 5]):
        with pytest.raises(DataError, match="is not a set of games, it contains games; name a new"):
            play_set(plan_of(size=sizes), 3, judges(1, *sizes), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["games"]
    (tmp_path / "games").rmdir()
    (tmp_path / "4x4").mkdir()  # an interrupted run may leave one
    assert play_set(plan_of(size=[4, 5]), 3, judges(1, 4, 5), tmp_path) > 0


def test_numbers_beyond_reason_are_refused() -> None:
    wrong = {"komi": 1e6, "komi_spread": 1e9, "simulations": 10**12, "size": 30}
    for name, number in wrong.items():
        with pytest.raises(ValueError, match=name):
            plan_of(**{name: number})


def test_the_command_plays_and_resumes(tmp_path: Path) -> None:
    app, out = typer.Typer(), tmp_path / "own"
    add_commands(app)
    words = ["go", "data", "play", "--out", str(out), "--games", "2", "--games-a-shard", "2"]
    words += ["--simulations", "2", "--fast-simulations", "1", "--workers", "1", "--sizes", "9"]
    assert "2  games played" in CliRunner().invoke(app, words).stdout
    assert "0  games played" in CliRunner().invoke(app, words).stdout
    (shard,) = open_shards(out)
    assert shard.size == 9
    refused = CliRunner().invoke(app, [*words, "--komi-spread", "0.3"]).exception
    assert isinstance(refused, MiaiError)
    assert str(refused) == "--komi-spread: 0.3 is not a multiple of 0.5; use 0 or 0.5"
