"""Balanced openings: an evaluator or a search decides which openings are close to equal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from miai.errors import ConfigError
from miai.game import Game
from miai.plugins.loader import registry
from miai.search.evaluators import Appraisal, Appraiser, refuse_seconds, require_suitable_game
from miai.seeds import derive_seed
from miai_tournaments.config.schema import BalanceSection

_PATH = "openings.balance"


@dataclass(eq=False, kw_only=True)
class Balance:
    """The component that values openings, and the accepted range of values.

    Values are the first player's advantage, in the game's utilities: `miai.search.evaluators`.

    Attributes:
      kind, name: kind and name of the component.
      parameters: its parameters in the config.
      within: maximum distance from 0 of a balanced opening.
      tries: maximum number of random openings to draw until one is balanced.
      watch: called before each valuation; may raise an exception to stop.
    """

    kind: Appraisal
    name: str
    parameters: Mapping[str, Any]
    within: float
    tries: int
    watch: Callable[[], None] = lambda: None
    _current: tuple[Game, Appraiser] | None = None

    def value(self, game: Game, actions: Iterable[int], *, seed: int) -> float:
        """Return the first player's advantage after an opening; deterministic.

        Raises:
          MiaiError: the component cannot be built, or does not support the position.
        """
        self.watch()
        state = game.new_initial_state()
        for action in actions:
            state.apply_action(action)
        own_seed = derive_seed(seed, "balance", *state.history())
        return self._appraiser(game).advantage(state, seed=own_seed)

    def holds(self, value: float) -> bool:
        """Return whether a value is close enough to equal."""
        return abs(value) <= self.within

    def none_within(self, openings: str, nearest: float, advice: str) -> ConfigError:
        """Return the error if none of some openings is balanced."""
        return ConfigError(
            f"{_PATH}: none of {openings} is {self.title()}; the nearest has {nearest:+.3f} for "
            f"the first player. {advice}"
        )

    def title(self) -> str:
        """Return the condition in a few words."""
        return f"within {self.within:g} of equal by {self.name}"

    def to_plain(self) -> dict[str, Any]:
        """Return everything that openings depend on; `tries` only decides about failure."""
        return {self.kind: self.name, "parameters": dict(self.parameters), "within": self.within}

    def close(self) -> None:
        """Release the component and the watch; the component is built again when needed."""
        self.watch = lambda: None
        self._release()

    def _release(self) -> None:
        if self._current is not None:
            self._current[1].close()
            self._current = None

    def _appraiser(self, game: Game) -> Appraiser:
        """Return the component for a game; it is reused until another game is valued."""
        if self._current is None or self._current[0] is not game:
            self._release()
            appraiser = Appraiser(game, self.kind, self.name, self.parameters, where=_PATH)
            self._current = game, appraiser
        return self._current[1]


def check_balance(section: BalanceSection, game: Game) -> Balance:
    """Return the balance of the table ``[openings.balance]``, without building the component.

    Raises:
      MiaiError: the component does not exist, has wrong parameters or does not suit the game.
    """
    kind: Appraisal = "search" if section.search is not None else "evaluator"
    name = section.search or section.evaluator or ""
    component = registry().get(kind, name, game=game.info.name)
    filled = component.fill(section.parameters, where=_PATH)
    refuse_seconds(filled, where=_PATH)
    registry().check_named(filled, game.info.name, where=_PATH)
    require_suitable_game(game, kind, name)
    return Balance(
        kind=kind,
        name=name,
        parameters=filled.model_dump(mode="json", exclude_unset=True),
        within=section.within,
        tries=section.tries,
    )
