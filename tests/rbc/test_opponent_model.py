"""The opponent model: features against python-chess, carried weights against brute force."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.rbc.games import Boards, chess_move, children_of, follow, key, pushed, rbc, taken_moves
from tests.rbc.test_pictures import Captured, command

import miai
from miai.errors import RecordError, WeightsError
from miai.tensors import TrainingRecord
from miai_rbc.agents.belief_agents import StrongAgent
from miai_rbc.agents.choice import CHECK, Scorer, make_engine, opponent_weights
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.belief.weighted import (
    MAX_STYLES,
    SHIPPED,
    OpponentHeader,
    OpponentModel,
    PieceAges,
    WeightedBoards,
    blend,
    load_model,
    phase_of,
)
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.kernels.opponent import FEATURES, SLOTS, describe_moves
from miai_rbc.learning.opponent_model import (
    EDGES,
    Likelihood,
    MoveExamples,
    examples_of,
    measure,
    read_histories,
    train,
)
from miai_rbc.pictures.moments import steps_of
from miai_rbc.rbc_parameters import ModelWeights, OpponentTraining, StrongParameters
from miai_rbc.reconchess.histories import ReconchessRecords
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.game import RbcGame
from miai_rbc.rules.observations import Event, Moved, OpponentMoved, Sensed
from miai_rbc.rules.rows import kernel_move, row_of_board


def random_model(seed: int, *, styles: int = 2, units: int = 5) -> OpponentModel:
    """Return a model of random numbers: moves differ widely in probability."""
    rng = np.random.default_rng(seed)
    tensors = {
        "table": rng.normal(0, 0.7, (FEATURES, units)).astype(np.float32),
        "styles": rng.normal(0, 1, (styles, units)).astype(np.float32),
    }
    tensors["table"][0] = 0
    tensors["table"].flags.writeable = False  # as those of a file, for which kernels are compiled
    return OpponentModel.of_tensors(tensors, tuple(f"player {i}" for i in range(styles)))


# -- features -------------------------------------------------------------------------------------


def least(board: chess.Board, squares: chess.SquareSet) -> int:
    """Return the kind of the least piece on some squares, 0 for none."""
    return min((board.piece_type_at(square) or 0 for square in squares), default=0)


def described(
    board: chess.Board, move: chess.Move | None, ages: NDArray[np.uint8], phase: int
) -> set[Any]:
    """Return the features of a move in words, by python-chess."""
    us, king = board.turn, board.king(board.turn)
    checked = king is not None and board.is_attacked_by(not us, king)
    facts: set[Any] = {("board", phase, checked)}
    if move is None:
        return facts | {"pass"} | ({("escape", False)} if checked else set())
    start, end = move.from_square, move.to_square
    kind = board.piece_type_at(start)
    assert kind is not None
    seen = (lambda square: square) if us else chess.square_mirror
    facts |= {("from", kind, seen(start)), ("to", move.promotion or kind, seen(end))}
    passes = board.is_en_passant(move)
    target = end - (8 if us else -8) if passes else end
    if board.piece_type_at(target):
        facts.add(("capture", kind, board.piece_type_at(target), int(ages[target])))
    gone = board.copy(stack=False)
    gone.remove_piece_at(start)
    threats = least(board, gone.attackers(not us, end))
    facts.add(("attacked", kind, threats, bool(gone.attackers(us, end))))
    chased = least(board, board.attackers(not us, start))
    facts.add(("left", kind, chased, bool(gone.attackers(us, start))))
    after = gone.copy(stack=False)
    after.set_piece_at(end, chess.Piece(move.promotion or kind, us))
    enemy = board.king(not us)
    if enemy is not None:
        if enemy != end and enemy in after.attacks(end):
            facts.add(("check", move.promotion or kind, threats > 0))
        facts.add(("distance", kind, chess.square_distance(end, enemy)))
    if move.promotion:
        facts.add(("promotes", move.promotion))
    elif passes:
        facts.add("en passant")
    elif kind == chess.PAWN and abs(end - start) == 16:
        facts.add("double")
    elif kind == chess.KING and abs(end - start) == 2:
        facts.add("short" if end > start else "long")
    if checked:
        child = board.copy(stack=False)
        child.push(move)
        own = child.king(us)
        assert own is not None
        facts.add(("escape", not child.is_attacked_by(not us, own)))
    return facts


def positions(seed: int, count: int) -> list[chess.Board]:
    """Return boards of games of random moves, kings left in check included."""
    rng, board = random.Random(seed), chess.Board()
    boards: list[chess.Board] = []
    while len(boards) < count:
        board.push(rng.choice([*taken_moves(board), chess.Move.null()]))
        if board.kings.bit_count() < 2 or len(board.move_stack) > 120:
            board = chess.Board()
        elif rng.random() < 0.2:
            boards.append(board.copy(stack=False))
    return boards


def test_equal_numbers_are_equal_facts() -> None:
    """Each feature of the kernel stands for one fact that python-chess finds, and each fact for it.

    The numbers are not repeated here: over many moves they and the facts must be in one-to-one
    relation, move by move.
    """
    rng = np.random.default_rng(3)
    facts_of: dict[int, set[Any]] = {}
    numbers_of: dict[Any, set[int]] = {}
    moves = np.empty(MAX_MOVES + 1, np.int64)
    features = np.empty((MAX_MOVES + 1, SLOTS), np.int16)
    boards = positions(1, 120)
    fens = ["r3k2r/pPp2ppp/8/3pP3/4b3/8/P1P2PpP/R3K2R w KQkq d6 0 1"]
    fens += ["r3k2r/pPp2ppp/8/4P3/3pP3/8/P1P2PpP/R3K2R b KQkq e3 0 1"]
    fens += ["4k3/8/8/8/8/5n2/8/R3K2R w KQ - 0 1", "8/P6k/8/8/8/8/p6K/8 b - - 0 1"]
    boards += map(chess.Board, fens)
    for board in boards:
        ages, phase = rng.integers(0, 5, 64).astype(np.uint8), int(rng.integers(5))
        n = describe_moves(row_of_board(board), ages, phase, moves, features)
        named = {m.uci(): m for m in taken_moves(board)}
        assert n == len(named) + 1
        for move, numbers in zip(moves[:n].tolist(), features[:n], strict=True):
            taken = chess_move(move)
            assert taken is None or taken.uci() in named
            present = {int(number) for number in numbers if number}
            facts = described(board, taken, ages, phase)
            assert len(present) == len(facts), (board.fen(), taken, present, facts)
            for number in present:
                facts_of[number] = facts_of.get(number, facts) & facts
            for fact in facts:
                numbers_of[fact] = numbers_of.get(fact, present) & present
    assert max(facts_of) < FEATURES
    assert all(facts_of.values())
    assert all(numbers_of.values())
    certain = [next(iter(facts)) for facts in facts_of.values() if len(facts) == 1]
    assert len(certain) == len(set(certain)) > 500


def test_ages_of_pieces() -> None:
    ages = PieceAges()
    assert not ages.ages().any()
    ages.add(moved("e2e4"))
    assert nonzero(ages) == {chess.E4: 1}
    ages.add(moved("d2d4"))
    assert nonzero(ages) == {chess.E4: 3, chess.D4: 1}
    ages.add(moved("e4d5", captured=chess.D5))
    assert nonzero(ages) == {chess.D5: 2, chess.D4: 3}
    ages.add(Moved(0, 0, None))
    assert nonzero(ages) == {chess.D5: 3, chess.D4: 4}
    ages.add(moved("g1f3"))
    assert nonzero(ages) == {chess.D5: 4, chess.D4: 4, chess.F3: 1}


def moved(uci: str, captured: int | None = None) -> Moved:
    move = chess.Move.from_uci(uci)
    number = move.from_square | move.to_square << 6
    return Moved(number, number, captured)


def nonzero(ages: PieceAges) -> dict[int, int]:
    return {int(square): int(ages.ages()[square]) for square in np.flatnonzero(ages.ages())}


def test_parts_of_a_game() -> None:
    assert [phase_of(turn) for turn in (0, 3, 4, 7, 8, 15, 16, 31, 32, 500)] == [
        *(0, 0, 1, 1, 2, 2, 3, 3, 4, 4)
    ]


# -- weights against brute force ------------------------------------------------------------------


class BruteForce:
    """The weights of a belief by Bayes' rule, one board after another, with python-chess."""

    def __init__(self, board: chess.Board, model: OpponentModel, noise: float) -> None:
        self.model, self.noise = model, noise
        styles = len(model.styles)
        self.boards: Boards = {key(board): board}
        self.weights = {key(board): np.full(styles, 1 / styles)}
        self.pieces, self.turn = PieceAges(), 0

    def observe(self, event: Event) -> None:
        from reconchess.utilities import capture_square_of_move, revise_move

        boards: Boards = {}
        weights: dict[Any, Any] = defaultdict(float)
        for board in self.boards.values():
            weight = self.weights[key(board)]
            if isinstance(event, OpponentMoved):
                children = self._opponent(board, event)
            else:
                sure = children_of(board, event, revise_move, capture_square_of_move)
                children = [(child, 1.0) for child in sure]
            for child, chance in children:
                boards[key(child)] = child
                weights[key(child)] = weights[key(child)] + weight * chance
        total = sum(weight.sum() for weight in weights.values())
        self.boards, self.weights = boards, {k: w / total for k, w in weights.items()}
        if isinstance(event, Moved):
            self.pieces.add(event)
        self.turn += isinstance(event, OpponentMoved)

    def _opponent(self, board: chess.Board, event: OpponentMoved) -> list[tuple[chess.Board, Any]]:
        from reconchess.utilities import capture_square_of_move

        moves, chances = self.model.chances(row_of_board(board), self.pieces.ages(), self.turn)
        assert chances.sum(axis=1) == pytest.approx(np.ones(len(chances)))
        children = []
        for move, chance in zip(moves.tolist(), chances.T, strict=True):
            taken = chess_move(move)
            if capture_square_of_move(board, taken) == event.captured:
                chance = (1 - self.noise) * chance + self.noise / len(moves)
                children.append((pushed(board, taken), chance))
        return children


def as_dict(weighted: WeightedBoards) -> dict[Any, NDArray[np.float64]]:
    boards = weighted.boards.boards()
    return {key(b): w for b, w in zip(boards, weighted.by_style, strict=True)}


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_carried_weights_are_those_of_bayes(seed: int) -> None:
    game, rng = rbc(), random.Random(seed)
    model, noise = random_model(seed), (0.0, 0.1)[seed % 2]
    start = game.start
    weighted: list[WeightedBoards] = []
    brute: list[BruteForce] = []
    done = [0, 0]
    for played in follow(game, rng, 60):
        if not weighted:
            for _ in played.beliefs:
                boards = BoardSet(row_of_board(start)[None])
                weighted.append(WeightedBoards(boards, model, capacity=10**6, noise=noise, seed=0))
                brute.append(BruteForce(start.copy(), model, noise))
        for player, belief in enumerate(played.beliefs):
            if len(belief) > 1500:
                return
            for event in belief.events[done[player] :]:
                weighted[player].observe(event, belief.boards)
                brute[player].observe(event)
            done[player] = len(belief.events)
            mine, exact = as_dict(weighted[player]), brute[player].weights
            assert mine.keys() == exact.keys() == {key(b) for b in belief.boards.boards()}
            assert weighted[player].styles == pytest.approx(sum(exact.values()), rel=1e-5)
            for name, weight in exact.items():
                assert mine[name] == pytest.approx(weight, rel=1e-5, abs=1e-12)


def test_boards_begin_again_from_the_belief_when_all_are_contradicted() -> None:
    boards = BoardSet.of_boards([chess.Board()])
    other = BoardSet.of_fens(["rnbqkbnr/pppppppp/8/8/8/P7/1PPPPPPP/RNBQKBNR w KQkq - 0 1"])
    weighted = WeightedBoards(boards, random_model(1), capacity=10, noise=0.0, seed=0)
    window = 1 << chess.A3
    weighted.observe(Sensed(window, other.rows[0, :7] & np.uint64(window)), other)
    assert weighted.boards.rows.tolist() == other.rows.tolist()
    assert weighted.weights.tolist() == [1.0]


@pytest.mark.parametrize("ends", [False, True])
def test_a_capture_that_ends_the_game_was_the_king_s(ends: bool) -> None:
    """A rook captures on d8, where one board has the king and the other a queen."""
    fens = ["3k4/8/8/q7/8/8/8/3R2K1 w - - 0 1", "3q4/8/8/k7/8/8/8/3R2K1 w - - 0 1"]
    boards = BoardSet.of_fens(fens)
    weighted = WeightedBoards(boards, random_model(1), capacity=10, noise=0.0, seed=0)
    capture = kernel_move(chess.Move.from_uci("d1d8"))
    belief = boards.copy().moved(capture, capture, chess.D8, ends=ends)
    weighted.observe(Moved(capture, capture, chess.D8, ends=ends), belief)
    assert weighted.boards.rows.tolist() == belief.rows.tolist()
    assert len(weighted.boards) == 1


def test_drawn_boards_keep_the_weight_of_every_group() -> None:
    model = random_model(2)
    start = BoardSet.of_boards([chess.Board()]).after_opponent(None)[0]
    rows = start.rows.copy()
    rows[:, 7] ^= np.uint64(1)
    exact = WeightedBoards(BoardSet(rows), model, capacity=10**6, noise=0.02, seed=0)
    exact._expand(-1)
    groups = np.array([int(row[0]) % 7 % 3 for row in exact.boards.rows])
    expected = [exact.weights[groups == group].sum() for group in range(3)]
    sums = []
    for seed in range(400):
        drawn = WeightedBoards(BoardSet(rows), model, capacity=30, noise=0.02, seed=seed)
        drawn._expand(-1)
        assert len(drawn.boards) == 30
        groups = np.array([int(row[0]) % 7 % 3 for row in drawn.boards.rows])
        sums.append([drawn.weights[groups == group].sum() for group in range(3)])
    errors = np.std(sums, axis=0) / len(sums) ** 0.5
    assert (np.abs(np.mean(sums, axis=0) - expected) < 4 * errors).all()


def test_doubt_spreads_weight_over_the_belief() -> None:
    boards = BoardSet.of_boards(positions(9, 3)[:1])
    weighted = WeightedBoards(boards, random_model(1), capacity=10, noise=0.0, seed=0)
    belief = BoardSet(np.repeat(boards.rows, 4, axis=0))
    assert blend(weighted, belief, 0.2) == pytest.approx([0.8 + 0.2 / 4])


def test_carried_boards_share_the_doubt_where_the_belief_is_smaller() -> None:
    """A belief beyond its limit is a sample, without some of the boards that are carried."""
    carried, _ = BoardSet.of_boards([chess.Board()]).after_opponent(None)
    weighted = WeightedBoards(carried, random_model(1), capacity=100, noise=0.0, seed=0)
    belief = BoardSet(carried.rows[:3])
    for doubt in (0.0, 0.3, 1.0):
        assert blend(weighted, belief, doubt) == pytest.approx(weighted.weights)


# -- files ----------------------------------------------------------------------------------------


def test_the_shipped_model_is_small_and_beats_chance() -> None:
    assert SHIPPED.stat().st_size < 4 << 20
    model = load_model()
    moves, chances = model.chances(row_of_board(chess.Board()), np.zeros(64, np.uint8), 0)
    assert len(model.names) + 1 == len(model.styles) == len(chances)
    assert chances[-1] == pytest.approx(np.full(len(moves), 1 / len(moves)))
    pawns = [chess.parse_square(name) for name in ("e2", "d2")]
    first = np.isin(moves & 63, pawns) & (moves != 0)
    rank = np.isin(moves & 63, [chess.A2, chess.H2]) & (moves != 0)
    assert chances[:-1, first].sum() > chances[:-1, rank].sum()


def tensors(**changed: Any) -> dict[str, Any]:
    whole = {name: np.zeros((n, 4), np.float32) for name, n in (("table", FEATURES), ("styles", 2))}
    return {name: tensor for name, tensor in (whole | changed).items() if tensor is not None}


@pytest.mark.parametrize(
    "changed",
    [
        {"table": None},
        {"styles": None},
        {"more": np.zeros(1, np.float32)},
        {"table": np.zeros((FEATURES - 1, 4), np.float32)},
        {"table": np.zeros((FEATURES, 0), np.float32), "styles": np.zeros((2, 0), np.float32)},
        {"table": np.zeros(FEATURES, np.float32)},
        {"styles": np.zeros((3, 4), np.float32)},
        {"styles": np.zeros((2, 5), np.float32)},
        {"styles": np.zeros((2, 4), np.int64)},
        {"table": np.zeros((FEATURES, 300), np.float32), "styles": np.zeros((2, 300), np.float32)},
    ],
)
def test_other_tensors_are_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    path = tmp_path / "model.safetensors"
    OpponentHeader(styles=("a", "b")).write(path, tensors(**changed))
    with pytest.raises(WeightsError, match="this miai-rbc reads float32 table"):
        load_model(path)


def test_a_model_is_read_as_it_was_written(tmp_path: Path) -> None:
    model = random_model(3)
    model.write(tmp_path / "a.safetensors", TrainingRecord(command="by hand"))
    again = load_model(tmp_path / "a.safetensors")
    assert again.names == model.names
    assert (again.table == model.table).all()
    assert (again.styles == model.styles).all()
    data = bytearray((tmp_path / "a.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "b.safetensors").write_bytes(data)
    with pytest.raises(WeightsError, match="digest does not fit"):
        load_model(tmp_path / "b.safetensors")
    with pytest.raises(ValueError, match="styles"):
        OpponentHeader(styles=("x",) * (MAX_STYLES + 1))
    with pytest.raises(WeightsError, match=r"^weights\.file: nothing\.safetensors: cannot"):
        miai.make_agent("rbc-strong", rbc(), weights={"file": "nothing.safetensors"})


# -- the agent ------------------------------------------------------------------------------------

BUDGET: dict[str, Any] = {"evaluations": 60, "samples": 10, "considered": 20}


class Weighing(StrongAgent):
    """Notes the weights of boards, and how many boards the belief and the model have."""

    def __init__(self, game: RbcGame, **parameters: Any) -> None:
        super().__init__(game, StrongParameters(**BUDGET, **parameters))
        self.notes: list[tuple[NDArray[np.float64], int, int]] = []

    def weigh(
        self, boards: BoardSet, deadline: float | None
    ) -> tuple[BoardSet, NDArray[np.float64]]:
        assert self._weighted is not None
        drawn, weights = super().weigh(boards, deadline)
        self.notes.append((weights, len(boards), len(self._weighted.boards)))
        return drawn, weights


@pytest.mark.parametrize(
    ("limit", "carried", "doubt"), [(512, 5000, 0.1), (100_000, 300, 0.0), (100_000, 300, 0.1)]
)
def test_an_agent_s_weights_are_probabilities(limit: int, carried: int, doubt: float) -> None:
    game = rbc(full_turn_limit=9)
    agent = Weighing(game, limit=limit, weights={"carried": carried, "doubt": doubt})
    miai.play(game, [agent, miai.make_agent("rbc-random", game)], seed=2)
    agent.close()
    assert any(more > boards if limit == 512 else more < boards for _, boards, more in agent.notes)
    for weights, *_ in agent.notes:
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1.0)


# -- training and measuring, from Python and by the commands ---------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Histories of short games: `attacker` against `rbc-random`."""
    path = tmp_path_factory.mktemp("histories")
    for number in range(8):
        short_game(path, f"{number:02}", turns=10, seed=number, swapped=number % 2 == 0)
    return path


def short_game(
    folder: Path, name: str = "short", *, turns: int = 2, seed: int = 3, swapped: bool = False
) -> Path:
    """Write the history of a game of `attacker` against `rbc-random`."""
    game = rbc(full_turn_limit=turns)
    agents = [miai.make_agent(name, game) for name in ("attacker", "rbc-random")]
    record = miai.play(game, agents[:: -1 if swapped else 1], seed=seed)
    for agent in agents:
        agent.close()
    path = folder / f"{name}.json"
    path.write_text(ReconchessRecords().write(record))
    return path


def log_likelihood(model: OpponentModel, examples: MoveExamples, style: str) -> float:
    """Return the mean log-likelihood of a player's moves, by the definition of the model."""
    starts = np.concatenate([[0], np.cumsum(examples.counts)])
    total, boards = 0.0, 0
    for i in np.flatnonzero(examples.styles == examples.names.index(style)):
        rows = model.table[examples.features[starts[i] : starts[i + 1]]].sum(axis=1)
        hidden = np.concatenate([rows[:, :1], np.maximum(rows[:, 1:], 0)], axis=1)
        logits = hidden @ model.styles[model.names.index(style)]
        total += logits[examples.taken[i]] - math.log(np.exp(logits).sum())
        boards += 1
    return total / boards


Trained = tuple[OpponentModel, list[float]]


@pytest.fixture(scope="module")
def trained(folder: Path) -> Trained:
    """A model that has learnt the moves of both, and its losses."""
    losses: list[float] = []
    model = train(
        examples_of(read_histories([folder])),
        OpponentTraining(units=8, epochs=100, seed=1),
        progress=lambda _, loss: losses.append(loss),
    )
    return model, losses


@pytest.mark.slow
def test_training_learns_the_moves_of_each_player(folder: Path, trained: Trained) -> None:
    examples = examples_of(read_histories([folder]))
    assert examples.names == ("attacker", "rbc-random")
    model, losses = trained
    assert losses[-1] < losses[0]
    uniform = -float(np.log(examples.counts).mean())
    assert log_likelihood(model, examples, "attacker") > uniform + 1.0


def test_one_bad_history_of_a_folder_is_left_out_and_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = (folder / "00.json").read_text()
    for name, text in (("a", good), ("b", good[:-40]), ("c", good)):
        (tmp_path / f"{name}.json").write_text(text)
    assert len(list(read_histories([tmp_path]))) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path}: 1 of 3 histories are left out, the first: {tmp_path / 'b.json'}" in said
    with pytest.raises(RecordError, match=r"b\.json"):
        list(read_histories([tmp_path / "b.json"]))
    for name in ("a", "c"):
        (tmp_path / f"{name}.json").unlink()
    with pytest.raises(RecordError, match=r"b\.json"):
        list(read_histories([tmp_path]))


def test_training_repeats_itself_by_the_seed(folder: Path) -> None:
    examples = examples_of(read_histories([folder]))
    first, again, other = (
        train(examples, OpponentTraining(units=8, epochs=4, seed=seed)) for seed in (1, 1, 2)
    )
    assert (again.table == first.table).all()
    assert (other.table != first.table).any()


@pytest.mark.slow
def test_measuring_compares_three_ways(folder: Path, trained: Trained) -> None:
    model, _ = trained
    some = sorted(folder.iterdir())[:3]
    result = measure(read_histories(some), model, limit=10_000)
    assert result.model > result.even + 0.5
    assert result.bins.shape == (len(EDGES) - 1, 3)
    nothing = OpponentModel.of_tensors(tensors(), ("nobody", "somebody"))
    alike = ModelWeights(doubt=1.0)
    flat = measure(read_histories(some), nothing, limit=10_000, weights=alike)
    assert flat.model == pytest.approx(flat.even)
    assert flat.beliefs == result.beliefs
    true = (result.bins[:, 0] * result.bins[:, 2]).sum()
    assert true == pytest.approx(result.beliefs)
    weight = (result.bins[:, 0] * result.bins[:, 1]).sum()
    assert weight == pytest.approx(result.beliefs)
    assert (result.bins[:, 1] <= np.array(EDGES[1:]) + 1e-12).all()


def test_a_measurement_is_that_of_all_boards_one_by_one(tmp_path: Path) -> None:
    """In a game so short that no board is left out; and what is learned from it."""
    (history,) = read_histories([short_game(tmp_path)])
    model, scorer = load_model(), Scorer(make_engine(StrongParameters()))
    logs, pieces, features = [], (PieceAges(), PieceAges()), []
    moves, found = np.empty(600, np.int64), np.empty((600, SLOTS), np.int16)
    steps = [(step, player) for player in (0, 1) for step in steps_of(history, player)]
    for player in (0, 1):
        belief = RbcBelief(history.game, player)
        weighted = WeightedBoards(belief.boards, model, capacity=10_000, seed=0)
        for step in (step for step, whose in steps if whose == player):
            count, truth = len(belief.events), step.state.boards.rows[0]
            belief.observe(step.observation)
            for event in belief.events[count:]:
                weighted.observe(event, belief.boards)
            if isinstance(step.event, Sensed) and len(belief) > 1:
                assert len(belief) <= 300
                values = opponent_weights(belief.boards.rows, scorer, check=CHECK)
                mixed = blend(weighted, belief.boards, ModelWeights().doubt)
                values = values[(belief.boards.rows == truth).all(axis=1)] / values.sum()
                mixed = mixed[(weighted.boards.rows == truth).all(axis=1)]
                logs.append(np.log([1 / len(belief), *values, *mixed]))
    scorer.engine.close()
    result = measure([history], model, limit=512)
    assert result.beliefs == len(logs) > 2
    assert (result.even, result.value, result.model) == pytest.approx(np.mean(logs, axis=0))
    for step, player in sorted(steps, key=lambda s: s[0].state.move_number()):
        if isinstance(step.event, Sensed):  # a move follows
            row, ages = step.state.boards.rows[0], pieces[1 - player].ages()
            n = describe_moves(row, ages, phase_of(step.turn), moves, found)
            features.append(found[:n].copy())
        elif isinstance(step.event, Moved):
            pieces[player].add(step.event)
    examples = examples_of([history])
    assert (examples.features == np.concatenate(features)).all()
    assert examples.counts.tolist() == list(map(len, features))
    assert [examples.names[style] for style in examples.styles] == ["attacker", "rbc-random"] * 2


def test_a_measurement_in_words() -> None:
    bins = np.zeros((len(EDGES) - 1, 3))
    bins[2], bins[8] = (10, 0.02, 0.05), (4, 0.5, 0.75)  # 0.2 and 2 of weight, 0.03 and 0.25 apart
    lines = Likelihood(3, -1.0, -0.5, -0.25, bins).to_text().splitlines()
    assert lines[:4] == [
        "3 beliefs; mean log-likelihood of the true board (nats):",
        "  equal weights -1.000, by value -0.500, model -0.250",
        "calibration error 0.230",
        "   probability    boards    mean    true",
    ]
    assert lines[6] == " 0.010 - 0.050        10   0.020   0.050"
    assert lines[12:] == [
        " 0.500 - 0.600         4   0.500   0.750",
        *(f" 0.{n}00 - {(n + 1) / 10:.3f}         0   0.000   0.000" for n in (6, 7, 8, 9)),
    ]


def test_the_commands_learn_and_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    history, file = short_game(tmp_path), tmp_path / "model.safetensors"
    words = ("--output", file, "--units", 4, "--epochs", 3, "--seed", 2)
    assert command(monkeypatch, "train-opponent", history, *words) == 0
    *epochs, last = capsys.readouterr().out.splitlines()
    assert [line.split(".")[0] for line in epochs] == [f"[{n}/3] loss 3" for n in (1, 2, 3)]
    assert last == f"4 moves of 2 players learned, written to {file}"
    header, _ = OpponentHeader.read_all(file)
    assert header.styles == ("attacker", "rbc-random")
    (learned,) = header.history
    data = "4 moves of attacker, rbc-random"
    expected = TrainingRecord(command="miai rbc train-opponent", data=data, steps=3, seed=2)
    assert learned.model_copy(update={"date": expected.date}) == expected
    assert command(monkeypatch, "measure-opponent", history, "--model", file) == 0
    measured = measure(read_histories([history]), load_model(file), limit=50_000)
    assert capsys.readouterr().out == f"{measured.to_text()}\n"


def test_bad_input_gives_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.json").write_text("{")
    output = ("--output", tmp_path / "x.safetensors")
    for words, message in [
        (["train-opponent", tmp_path / "empty", *output], "empty: has no histories of reconchess"),
        (["train-opponent", tmp_path / "bad.json", *output], "bad.json"),
        (["train-opponent", tmp_path / "none.json", *output], "none.json"),
        (["train-opponent", folder, "--output", tmp_path / "x.npz"], "its name in .safetensors"),
        (["train-opponent", folder, "--output", tmp_path / "no" / "x.safetensors"], "no folder"),
        (["measure-opponent", folder, "--model", tmp_path / "bad.json"], "bad.json"),
        (["measure-opponent", tmp_path / "empty"], "empty: has no histories of reconchess"),
    ]:
        assert command(monkeypatch, *words) == 2
        error = capsys.readouterr().err
        assert error.startswith("miai: ")
        assert message in error
        assert error.count("\n") == 1


def test_too_many_players_are_refused(folder: Path) -> None:
    (history, *_) = read_histories([folder / "00.json"])
    histories = [
        type(history)((f"a{i}", f"b{i}"), history.game, history.actions, None, "")
        for i in range(MAX_STYLES // 2 + 1)
    ]
    with pytest.raises(RecordError, match="at most 31 styles"):
        examples_of(histories)
