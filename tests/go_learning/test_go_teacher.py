"""A teacher's answers in the targets of lessons, against sums made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter
from tests.go_learning.go_commands import run
from tests.go_learning.go_training_games import SIZE, config_text, rollout_games

from miai.errors import RecordError
from miai.record_reader import read_record
from miai_go.errors import TrainingError
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.importing import read_record_game
from miai_go.learning.data.shards import Shard, open_shards
from miai_go.learning.data.stored_games import UNKNOWN, StoredGame
from miai_go.learning.training.config_sections import (
    EncoderSection,
    NetworkSection,
    TrainingRunSection,
)
from miai_go.learning.training.initial_network import make_network
from miai_go.learning.training.learner import Lesson
from miai_go.learning.training.supervised import (
    ResidentLessons,
    Teacher,
    TeacherSection,
    endless_streams,
    lesson_of,
)
from miai_go.nets.encoder import Encoder
from miai_go.nets.encoders import AlphaGoEncoder, ZeroEncoder
from miai_go.nets.network import Outputs, save_weights
from miai_go.nets.network_parameters import AlphaGoEncoderParameters
from miai_tournaments.api import run_tournament

Arrays: TypeAlias = dict[str, NDArray[Any]]

ENCODER = EncoderSection(name="zero")
HEADS = {"height": 1, "width": 8, "value": "pooled", "ownership": True, "score": True}


def teacher_of(folder: Path, share: float) -> tuple[Teacher, Encoder, torch.nn.Module]:
    network = NetworkSection(name="tower", parameters=HEADS)
    built, encoders, header = make_network(SIZE, ENCODER, network, seed=3)
    path = folder / "teacher.safetensors"
    save_weights(path, built, header)
    section = TeacherSection(weights=str(path), share=share)
    teacher = Teacher(section, encoders, header, TrainingRunSection())
    return teacher, encoders[SIZE], built.eval()


def answers_to(network: torch.nn.Module, lesson: Lesson) -> Arrays:
    with torch.no_grad():
        given: Outputs = network(torch.as_tensor(lesson.planes).float())
    assert given.policy is not None
    return arrays(given._asdict() | {"policy": torch.softmax(given.policy, 1)})


def arrays(columns: Mapping[str, Any]) -> Arrays:
    return {name: np.asarray(values) for name, values in columns.items() if values is not None}


def columns_of(lesson: Lesson) -> Arrays:
    return arrays({field.name: getattr(lesson, field.name) for field in fields(lesson)})


def test_targets_are_mixed_where_both_are_known(tmp_path: Path) -> None:
    teacher, _, network = teacher_of(tmp_path, 0.25)
    rng = np.random.default_rng(1)
    planes = rng.integers(0, 2, (4, 18, SIZE, SIZE)).astype(np.uint8)
    nan = np.nan
    owners = rng.choice(np.array([-1, 1], np.int8), (4, SIZE, SIZE))
    owners[1] = 0
    lesson = Lesson(
        planes=planes,
        action=np.array([3, 25, 0, 7]),
        weight=np.array([1, 0, 2, 1], np.float32),
        value=np.array([1, -1, nan, 0], np.float32),
        ownership=owners,
        score=np.array([nan, 10, -3, 0], np.float32),
    )
    own = answers_to(network, lesson)
    taught = columns_of(teacher.taught(lesson))
    moves = own["policy"]
    for row, action in ((0, 3), (2, 0), (3, 7)):
        expected = 0.25 * moves[row] + 0.75 * np.eye(26)[action]
        np.testing.assert_allclose(taught["policy"][row], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(taught["policy"][1], moves[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(taught["weight"], [1, 0.25, 2, 1])
    value, score = own["value"], own["score"]
    expected_values = [0.75 + value[0] / 4, -0.75 + value[1] / 4, value[2], value[3] / 4]
    np.testing.assert_allclose(taught["value"], expected_values, rtol=1e-5)
    expected_scores = [score[0], 7.5 + score[1] / 4, -2.25 + score[2] / 4, score[3] / 4]
    np.testing.assert_allclose(taught["score"], expected_scores, rtol=1e-5)
    mixed = 0.75 * owners + own["ownership"] / 4
    mixed[1] = own["ownership"][1]
    np.testing.assert_allclose(taught["ownership"], mixed, rtol=1e-5, atol=1e-6)
    bare = teacher.taught(replace(lesson, value=None, ownership=None, score=None))
    for name in ("value", "ownership", "score"):
        np.testing.assert_allclose(columns_of(bare)[name], own[name], rtol=1e-5)


@pytest.mark.slow
def test_resident_positions_are_taught_unturned(tmp_path: Path) -> None:
    teacher, encoder, network = teacher_of(tmp_path, 0.25)
    data = GoDataset.of_games(rollout_games()[:10], encoder=encoder)
    device = torch.device("cpu")
    resident = ResidentLessons(data, lesson_of, device=device, taught=teacher.taught)
    stream = next(endless_streams(data, 40, seed=2, symmetries=False))
    batch = lesson_of(stream.batch(1))
    lesson, plain = columns_of(resident.lesson(stream.rows(1))), columns_of(batch)
    own = answers_to(network, batch)
    np.testing.assert_array_equal(lesson["planes"], plain["planes"])
    full = plain["weight"] > 0
    mixed = np.where(full[:, None], 0.75 * plain["policy"] + own["policy"] / 4, own["policy"])
    np.testing.assert_allclose(lesson["policy"], mixed, atol=1e-3)
    np.testing.assert_allclose(lesson["weight"], np.where(full, plain["weight"], 0.25))
    np.testing.assert_allclose(lesson["value"], 0.75 * plain["value"] + own["value"] / 4, atol=1e-5)
    owners = 0.75 * plain["ownership"] + own["ownership"] / 4
    np.testing.assert_allclose(lesson["ownership"], owners, atol=1e-3)
    np.testing.assert_array_equal(lesson["action"], plain["action"])


def test_a_teacher_with_another_encoder_is_refused(tmp_path: Path) -> None:
    teacher_of(tmp_path, 0.5)
    section = TeacherSection(weights=str(tmp_path / "teacher.safetensors"))
    other = EncoderSection(name="alphago")
    _, encoders, header = make_network(SIZE, other, NetworkSection(parameters=HEADS), seed=1)
    with pytest.raises(TrainingError, match=r"teacher.weights: weights for the encoder 'zero'"):
        Teacher(section, encoders, header, TrainingRunSection())


# -- lessons from positions in memory --------------------------------------------------------------


def games_of_both_kinds(encoder: Encoder) -> GoDataset:
    """Return games with policies, values and owners after games with nothing but moves."""
    searched, recorded = rollout_games()[:20], rollout_games()[20:40]
    nothing: Any = dict.fromkeys(("policy", "weight", "root_value", "ownership"))
    plain = [replace(game, **nothing) for game in recorded]
    rare_komi = [replace(game, half_komi=number) for number, game in enumerate(searched)]
    return GoDataset.of_shards([Shard.of(plain), Shard.of(rare_komi)], encoder=encoder)


@pytest.mark.parametrize(
    "encoder",
    [ZeroEncoder(SIZE), AlphaGoEncoder(SIZE, AlphaGoEncoderParameters(komi=True))],
    ids=["planes of bits", "planes of bits and bytes"],
)
def test_lessons_are_those_of_batches(encoder: Encoder) -> None:
    data = games_of_both_kinds(encoder)
    lesson = partial(lesson_of, root_share=0.5, sharpness=np.array([1.5]))
    resident = ResidentLessons(data, lesson, device=torch.device("cpu"))
    seen = 0
    for stream in islice(endless_streams(data, 64, seed=5, first=3), 2):
        for number in range(stream.next_batch, len(stream)):
            assert_same(resident.lesson(stream.rows(number)), lesson(stream.batch(number)))
            seen += 1
    assert seen > data.positions // 64


def assert_same(made: Lesson, expected: Lesson) -> None:
    for field in fields(Lesson):
        one, other = getattr(made, field.name), getattr(expected, field.name)
        if other is None:
            assert one is None
            continue
        assert one.shape == other.shape, field.name
        np.testing.assert_array_equal(one.numpy(), other, err_msg=field.name)


def test_planes_of_more_than_bits_may_come_late(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(ZeroEncoder):
        def encode(self, positions, out=None):  # type: ignore[no-untyped-def]
            planes = super().encode(positions, out)
            full = planes[:, :6].sum((1, 2, 3)) > SIZE * SIZE // 2
            planes[full] *= 3
            return planes

    monkeypatch.setattr("miai_go.learning.training.supervised._AT_ONCE", 4)
    data = games_of_both_kinds(Late(SIZE))
    resident = ResidentLessons(data, lesson_of, device=torch.device("cpu"))
    (stream,) = islice(endless_streams(data, 200, seed=1), 1)
    assert_same(resident.lesson(stream.rows(0)), lesson_of(stream.batch(0)))


# -- records of tournaments as games to learn from, with the visits of searches as targets --------


_VISITS = TypeAdapter(list[tuple[int, int]])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three players, whose games were imported to ``set``."""
    folder = tmp_path_factory.mktemp("agents")
    (folder / "agents.toml").write_text(config_text("agents"))
    records = ('run.records=["jsonl", "sgf"]', "limits.isolation=none")
    run_tournament(folder / "agents.toml", folder / "run", overrides=records, executor="serial")
    run("data", "import", folder / "run" / "records", "--out", folder / "set", "--size", "7")
    return folder


@pytest.mark.slow
def test_visits_values_results_and_owners_are_those_of_the_records(played: Path) -> None:
    paths = sorted((played / "run" / "records").glob("*.jsonl"))
    records = [read_record(path.read_text()) for path in paths]
    games = [shard.game(i) for shard in open_shards(played / "set") for i in range(shard.games)]
    assert len(games) == len(records) == 6
    targets = 0
    for game, record in zip(games, records, strict=True):
        assert game.moves.tolist() == [move.action for move in record.moves]
        assert f"{game.margin:+g}".replace("+", "B+").replace("-", "W+") == record.detail
        assert game.result == record.returns[0]
        assert game.ownership is not None
        assert game.ownership.sum() == game.margin + 7
        for ply, move in enumerate(record.moves):
            agent = record.players[move.actor].agent
            visits = dict(_VISITS.validate_python(move.statistics.get("visits", [])))
            searched = bool(move.statistics.get("top"))
            assert bool(visits) == (searched and agent == "mcts")
            assert game.weight is not None
            assert game.weight[ply] == bool(visits)
            value = move.statistics["value"] if searched else np.nan
            assert root_value_of(game, ply) == pytest.approx(value, abs=1e-3, nan_ok=True)
            if visits:
                assert game.policy is not None
                expected = np.zeros(50)
                expected[list(visits)] = list(visits.values())
                np.testing.assert_allclose(game.policy[ply], expected / expected.sum(), atol=1e-3)
                targets += 1
    assert targets > 20


def root_value_of(game: StoredGame, ply: int) -> float:
    return float("nan") if game.root_value is None else float(game.root_value[ply])


def changed(played: Path, change: Callable[[list[Any]], None]) -> bytes:
    """Return the lines of the first record after a change."""
    path = min((played / "run" / "records").glob("*.jsonl"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "result"),
    [("resignation", -1), ("time", -1), ("crash", UNKNOWN), ("illegal-action", UNKNOWN)],
)
def test_a_game_that_an_error_decides_has_no_result(played: Path, ending: str, result: int) -> None:
    def end(lines: list[Any]) -> None:
        del lines[-5:-1]
        lines[-1] |= {"termination": ending, "loser": 0, "returns": [-1.0, 1.0]}

    game = read_record_game(changed(played, end), "x.jsonl").game
    assert game.result == result
    assert np.isnan(game.margin)
    assert game.ownership is None


def moved(**values: Any) -> Callable[[list[Any]], None]:
    return lambda lines: lines[4].update(values)


def visited(pairs: object) -> Callable[[list[Any]], None]:
    return lambda lines: lines[5]["statistics"].update(visits=pairs)


def headed(**values: Any) -> Callable[[list[Any]], None]:
    return lambda lines: lines[0].update(values)


def cut(lines: list[Any]) -> None:
    del lines[-7:-1]


def occupied(lines: list[Any]) -> None:
    lines[5]["statistics"]["visits"] = [[lines[1]["action"], 3]]


def suicide(lines: list[Any]) -> None:
    lines[0]["game_parameters"]["suicide"] = True
    # White fills the last liberty of two stones in the corner.
    moves = {"B1": 1, "A1": 0, "A3": 14, "G6": 41, "B2": 8, "A2": 7}
    for line, (text, action) in zip(lines[1:7], moves.items(), strict=True):
        line |= {"action": action, "text": text, "statistics": {}}
    del lines[7:-1]
    lines[-1] |= {"termination": "resignation", "loser": 0, "returns": [-1.0, 1.0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (headed(game="chess"), "a record of chess, not of go"),
        (headed(game_version=9), "recorded from go version 9, "),
        (lambda lines: lines[0]["game_parameters"].update(board_size=5), "ply [0-9]+: "),
        (moved(action=10**6), "ply 3: "),
        (moved(actor=-1), "ply 3: player -1 acted"),
        (cut, "ended by 'terminal', but the position is not terminal"),
        (lambda lines: lines[-1]["returns"].reverse(), "the record gives returns "),
        (suicide, r"move 6, A2, is suicide, .* suicide = false"),
        (visited("many"), "visits of ply 4: "),
        (visited([[3, 10**400]]), "visits of ply 4: "),
        (visited([[3, True]]), "visits of ply 4: "),
        (visited([["7", 3]]), "visits of ply 4: "),
        (visited([[50, 3]]), "visits of ply 4 are of an action that is not legal"),
        (occupied, "visits of ply 4 are of an action that is not legal"),
        (visited([[49, 3], [49, 4]]), "visits of ply 4 name an action twice"),
    ],
)
def test_a_bad_record_is_refused_with_its_reason(
    played: Path, change: Callable[[list[Any]], None], message: str
) -> None:
    with pytest.raises(RecordError, match=message) as refused:
        read_record_game(changed(played, change), "x.jsonl")
    assert "\n" not in str(refused.value)


def test_games_beside_bad_records_are_imported(played: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(changed(played, moved(action=10**6)))
    (tmp_path / "good.jsonl").write_bytes(changed(played, lambda lines: None))
    output = run("data", "import", tmp_path, "--out", tmp_path / "set", "--size", "7")
    assert "1  bad:" in output
    assert "1  written to" in output


def test_without_searches_a_record_has_no_policy_targets(played: Path) -> None:
    def plain(lines: list[Any]) -> None:
        for line in lines[1:-1]:
            line["statistics"] = {}

    game = read_record_game(changed(played, plain), "x.jsonl").stored(komi=7)
    from_sgf = replace(game, weight=None)
    targets = GoDataset.of_games([game, from_sgf]).targets()
    assert targets.tolist() == np.repeat([False, True], len(game.moves)).tolist()
