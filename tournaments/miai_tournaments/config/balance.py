"""Balanced openings: an evaluator or a search says which of them are near enough to equal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from miai.errors import ConfigError
from miai.game import Game
from miai.plugins.loader import registry
from miai.search.evaluators import Appraiser, Kind, refuse_seconds, require_suitable_game
from miai.seeds import derive_seed
from miai_tournaments.config.entrants import check_named
from miai_tournaments.config.schema import BalanceSection

_PATH = "openings.balance"


class Balance:
    """What values openings, and how far from equal they may be.

    Values are the first player's advantage, in the game's utilities: `miai.search.evaluators`.

    Attributes:
      kind, name: the component.
      parameters: those of its parameters that are given.
      within: the largest distance from 0 that is balanced.
      tries: random openings that are drawn until one is balanced.
      watch: is called before each valuation; may raise to end them.
    """

    def __init__(
        self,
        *,
        kind: Kind,
        name: str,
        parameters: Mapping[str, Any],
        within: float,
        tries: int,
    ) -> None:
        self.kind, self.name, self.parameters = kind, name, parameters
        self.within, self.tries = within, tries
        self.watch: Callable[[], None] = lambda: None
        self._made: tuple[Game, Appraiser] | None = None

    def value(self, game: Game, actions: Iterable[int], *, seed: int) -> float:
        """Return the first player's advantage after an opening: a function of all that is given.

        Raises:
          MiaiError: the component cannot be made, or the position is not for it.
        """
        self.watch()
        state = game.new_initial_state()
        for action in actions:
            state.apply_action(action)
        drawn = derive_seed(seed, "balance", *state.history())
        return self._appraiser(game).advantage(state, seed=drawn)

    def holds(self, value: float) -> bool:
        """Return whether a value is near enough to equal."""
        return abs(value) <= self.within

    def title(self) -> str:
        """Return what is asked, in a few words."""
        return f"within {self.within:g} of equal by {self.name}"

    def to_plain(self) -> dict[str, Any]:
        """Return all that openings depend on; how often is tried decides about failure alone."""
        return {
            self.kind: self.name,
            "parameters": dict(self.parameters),
            "within": self.within,
        }

    def close(self) -> None:
        """Release what the component holds, and its watch; it is made anew when asked again."""
        self.watch = lambda: None
        self._release()

    def _release(self) -> None:
        if self._made is not None:
            self._made[1].close()
            self._made = None

    def _appraiser(self, game: Game) -> Appraiser:
        """Return the component in a game; that of the last game is kept."""
        if self._made is None or self._made[0] is not game:
            self._release()
            made = Appraiser(game, self.kind, self.name, self.parameters, where=_PATH)
            self._made = game, made
        return self._made[1]


def check_balance(section: BalanceSection, game: Game) -> Balance:
    """Return what the table ``[openings.balance]`` asks for; nothing is made yet.

    Raises:
      MiaiError: there is no such component, its parameters are wrong, or the game is not for it.
    """
    kind: Kind = "search" if section.search is not None else "evaluator"
    name = section.search or section.evaluator or ""
    component = registry().get(kind, name, game=game.info.name)
    filled = component.fill(section.parameters, where=_PATH)
    refuse_seconds(filled, where=_PATH)
    check_named(filled, game.info.name, where=_PATH)
    require_suitable_game(game, kind, name)
    return Balance(
        kind=kind,
        name=name,
        parameters=filled.model_dump(mode="json", exclude_unset=True),
        within=section.within,
        tries=section.tries,
    )


def none_found(balance: Balance, plies: int, nearest: float) -> ConfigError:
    """Return the error of random openings none of which is balanced."""
    return ConfigError(
        f"{_PATH}: of {balance.tries} openings of {plies} random plies none is {balance.title()}; "
        f"the nearest has {nearest:+.3f} for the first player. Raise within or tries, or draw "
        "another number of plies"
    )
