"""A teacher's answers in the targets of lessons, against sums made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.go_learning.go_training_games import SIZE, rollout_games

from miai_go.errors import TrainingError
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.shards import Shard
from miai_go.learning.training.config_sections import (
    EncoderSection,
    NetworkSection,
    TrainingRunSection,
)
from miai_go.learning.training.initial_network import make_network
from miai_go.learning.training.learner import Lesson
from miai_go.learning.training.resident import ResidentLessons
from miai_go.learning.training.supervised import endless_streams, lesson_of
from miai_go.learning.training.teacher import Teacher, TeacherSection
from miai_go.nets.encoder import Encoder
from miai_go.nets.encoders import AlphaGoEncoder, ZeroEncoder
from miai_go.nets.network import Outputs, save_weights
from miai_go.nets.network_parameters import AlphaGoEncoderParameters

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
    plain = [
        replace(g, policy=None, weight=None, root_value=None, ownership=None) for g in recorded
    ]
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

    monkeypatch.setattr("miai_go.learning.training.resident._AT_ONCE", 4)
    data = games_of_both_kinds(Late(SIZE))
    resident = ResidentLessons(data, lesson_of, device=torch.device("cpu"))
    (stream,) = islice(endless_streams(data, 200, seed=1), 1)
    assert_same(resident.lesson(stream.rows(0)), lesson_of(stream.batch(0)))
