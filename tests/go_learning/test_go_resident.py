"""Lessons made on the device are those that processors make, array for array."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from itertools import islice

import numpy as np
import pytest
import torch
from tests.go_learning.go_training_games import SIZE, rollout_games

from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.shards import Shard
from miai_go.learning.training.learner import Lesson
from miai_go.learning.training.resident import ResidentLessons
from miai_go.learning.training.supervised import endless_streams, lesson_of
from miai_go.nets.encoder import Encoder
from miai_go.nets.encoders import AlphaGoEncoder, ZeroEncoder
from miai_go.nets.network_parameters import AlphaGoEncoderParameters


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
