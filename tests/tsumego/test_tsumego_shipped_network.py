"""The network of life and death that comes with the distribution."""

from __future__ import annotations

import hashlib

from miai_go.tsumego.networks.net_files import NetHeader
from miai_go.tsumego.networks.predictor import Predictor
from miai_go.tsumego.problem_sgf import shipped_problems
from miai_go.tsumego.shipped import NETWORK
from miai_go.tsumego.zones import find_zone


def test_the_shipped_file_is_reproduced() -> None:
    output, name = (NETWORK.parent / "SHA256SUMS").read_text().split()
    assert name == NETWORK.name
    assert hashlib.sha256(NETWORK.read_bytes()).hexdigest() == output
    assert NETWORK.stat().st_size < 400_000
    header = NetHeader.read(NETWORK)
    assert header.bits == 5
    assert all("/" not in record.command for record in header.history)


def test_it_knows_most_of_the_shipped_problems() -> None:
    predictor = Predictor(NETWORK)
    right = []
    for problem in shipped_problems()[::10]:
        if problem.first is None or problem.safe is None:
            continue
        zone = find_zone(problem.stones, problem.target)
        chances, _logits = predictor.evaluate(zone)
        defends = problem.first == zone.defender
        right.append((chances[int(defends)] > 0.5) == problem.safe)
    print(f"{sum(right)} of {len(right)}")
    assert len(right) > 150
    assert sum(right) > 0.65 * len(right)  # they were chosen to be hard
