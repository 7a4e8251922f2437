"""Mini-RBC keeps the contract of games, and agents play it."""

from __future__ import annotations

from typing import Any

import pytest

import miai
from miai.testing import check_game

VARIANTS: dict[str, dict[str, Any]] = {
    "no decoy": {"max_turns": 6},
    "decoy": {"size": 4, "window": 2, "decoy": True, "max_turns": 4},
    "one decoy start": {"decoy": True, "starts": ["e5d4", "d4e5"], "max_turns": 2},
}


@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
def test_it_keeps_its_contract(values: dict[str, Any]) -> None:
    report = check_game(miai.load_game("mini_rbc", **values), games=2)
    assert report.beliefs > 7
    assert report.skipped == ()
