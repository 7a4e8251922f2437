"""Thousands of tiny zones, each exhausted: the prover says the same of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tsumego.exhaustion import compare

from miai_go.tsumego.shipped import ORDERING
from miai_go.tsumego.solver.ordering_net import OrderingNet


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "zones"),
    [(0, 30), *(pytest.param(n, 250, marks=pytest.mark.soak) for n in range(1, 21))],
)
@pytest.mark.timeout(1800)
def test_every_verdict_is_that_of_exhaustion(seed: int, zones: int) -> None:
    print(f"seed {seed}")
    rng = np.random.default_rng([1, seed])
    *_, found = compare(rng, zones, places=3, network=OrderingNet.read(ORDERING))
    print(found)
    assert not found.wrong, found.wrong[0]
    assert found.zones == zones
    assert found.comparisons == found.advised == 6 * zones
    # Neither answer is rare, so that agreement means something.
    assert 0.3 < found.unsafe / found.comparisons < 0.9
    assert found.critical > zones // 10
    assert found.ko > 0
