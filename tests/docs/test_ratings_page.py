"""The page on ratings: its code runs, and what it tells of the prior is so."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
import scipy

from miai_tournaments.ratings.ratings import ELO, PRIOR_GAMES
from miai_tournaments.ratings.sprt import Sprt

PAGE = (Path(__file__).parents[2] / "docs" / "ratings.md").read_text(encoding="utf-8")


def test_the_prior_spreads_players_as_it_says() -> None:
    spreads = dict(zip((0.5, 1.0), re.findall(r"(?:by|of) (\d+) Elo", PAGE), strict=False))
    for games, output in spreads.items():

        def density(x: float, games: float = games) -> float:
            return float((2 * np.cosh(x / 2)) ** -games)

        total = scipy.integrate.quad(density, -200, 200)[0]
        second = scipy.integrate.quad(lambda x: x * x * density(x), -200, 200)[0]
        assert ELO * math.sqrt(second / total) == pytest.approx(int(output), abs=1)
    assert len(spreads) == 2
    assert PRIOR_GAMES == 0.5


def test_the_bounds_are_those_configured() -> None:
    sprt = Sprt(0, 20)
    assert f"±{sprt.upper:.2f}" in PAGE
    assert sprt.lower == -sprt.upper
