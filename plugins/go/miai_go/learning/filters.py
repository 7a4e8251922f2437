"""Which games of a source are taken into a data set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Self

from pydantic import field_validator, model_validator

from miai.parameters import Parameters, parameter
from miai_go.learning.games import UNKNOWN
from miai_go.learning.reading import ReadGame, preset_of, rating_of
from miai_go.rules.coordinates import MAX_SIZE
from miai_go.rules.parameters import MAX_KOMI

_RANK = re.compile(r"([1-9][0-9]?) ?([kdp])(?:yu|an|ro)?[?*]?", re.IGNORECASE)
_GRADES: Final[Mapping[str, tuple[int, int]]] = {"k": (1, -1), "d": (0, 1), "p": (9, 1)}
"""Where each grade begins, in ranks above 1 kyu, and whether greater numbers are stronger."""


class GameFilters(Parameters):
    """Which games are taken. What is not told passes, but for ranks and ratings that are asked."""

    size: int = parameter(9, ge=1, le=MAX_SIZE, unit="points", help="Points on a side")
    komi_min: float = parameter(-MAX_KOMI, unit="points", help="Least komi")
    komi_max: float = parameter(MAX_KOMI, unit="points", help="Greatest komi")
    default_komi: float | None = parameter(
        None,
        ge=-MAX_KOMI,
        le=MAX_KOMI,
        multiple_of=0.5,
        unit="points",
        help="Komi of games that tell none; without it they are dropped",
    )
    min_moves: int = parameter(1, ge=0, unit="plies", help="Least length")
    max_moves: int | None = parameter(None, ge=0, unit="plies", help="Greatest length")
    min_rank: str | None = parameter(
        None, help="Least rank of both players: 5k, 1d or 1p; kyu below dan below professional"
    )
    min_rating: float | None = parameter(
        None, unit="Elo", help="Least rating of both players, where BR and WR are numbers"
    )
    rules: tuple[str, ...] = parameter(
        (), help="Names of rule sets, such as chinese; default: any, told or not"
    )
    known_results: bool = parameter(True, help="Whether games without a result are dropped")
    setups: bool = parameter(False, help="Whether handicap and set-up games are taken")
    duplicates: bool = parameter(
        False, help="Whether games are taken again that differ by a symmetry at most"
    )

    @field_validator("min_rank")
    @classmethod
    def _is_rank(cls, rank: str | None) -> str | None:
        if rank is not None and rank_of(rank) is None:
            raise ValueError(f"{rank!r} is no rank such as 5k, 1d or 1p")
        return rank

    @field_validator("rules")
    @classmethod
    def _are_rules(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if preset_of(name) is None:
                raise ValueError(f"{name!r} is none of tromp-taylor, chinese, japanese, aga")
        return names

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.komi_min > self.komi_max:
            raise ValueError("komi_min is greater than komi_max")
        if self.max_moves is not None and self.max_moves < self.min_moves:
            raise ValueError("max_moves is less than min_moves")
        return self

    def refuses(self, game: ReadGame) -> str | None:
        """Return why a game is not taken, in few words that many games share; None: it is."""
        if game.size != self.size:
            return "another board size"
        if not self.setups and (game.handicap or game.stones is not None or game.first != 1):
            return "handicap or set-up"
        length = len(game.actions)
        if length < self.min_moves or (self.max_moves is not None and length > self.max_moves):
            return "too short" if length < self.min_moves else "too long"
        if self.known_results and game.result == UNKNOWN:
            return "result unknown"
        return self._komi_refuses(game.komi) or self._players_refuse(game)

    def komi(self, game: ReadGame) -> float:
        """Return the komi of a game that is taken."""
        komi = self.default_komi if game.komi is None else game.komi
        assert komi is not None, "a game without komi is refused"
        return komi

    def _komi_refuses(self, komi: float | None) -> str | None:
        komi = self.default_komi if komi is None else komi
        if komi is None:
            return "no komi told"
        if abs(komi) > MAX_KOMI or komi % 0.5:
            return "komi is no multiple of 0.5"
        return None if self.komi_min <= komi <= self.komi_max else "another komi"

    def _players_refuse(self, game: ReadGame) -> str | None:
        if self.min_rating is not None:
            ratings = (rating_of(game.black_rank), rating_of(game.white_rank))
            if not all(rating >= self.min_rating for rating in ratings):
                return "rating too low or unknown"
        if self.min_rank is not None:
            least = rank_of(self.min_rank)
            for rank in (rank_of(game.black_rank), rank_of(game.white_rank)):
                if rank is None or least is None or rank < least:
                    return "rank too low or unknown"
        if self.rules and preset_of(game.rules) not in {preset_of(name) for name in self.rules}:
            return "other rules"
        return None


def rank_of(text: str) -> int | None:
    """Return a rank as a number, the higher the stronger, 1 kyu being 0; None for no rank.

    >>> rank_of("2k"), rank_of("1d"), rank_of("1p"), rank_of("2500")
    (-1, 1, 10, None)
    """
    match = _RANK.fullmatch(text.strip())
    if match is None:
        return None
    begin, sign = _GRADES[match[2].lower()]
    return begin + sign * int(match[1])
