"""Openings: the moves that the referee plays before the agents, one opening per pair of games.

A pairing or an opening may have settings: parameters of the game that differ from the tournament's.
Of balanced openings an evaluator or a search decides which are close to equal.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from miai.errors import ConfigError, ParameterError, UnknownComponentError
from miai.game import Game
from miai.playing.openings import Opening, OpeningReader, player_plies, random_opening
from miai.plugins.kinds import GAME
from miai.plugins.loader import registry
from miai.search.evaluators import Appraisal, Appraiser, refuse_seconds, require_suitable_game
from miai.seeds import derive_seed
from miai_tournaments.config.schema import BalanceSection, OpeningsSection
from miai_tournaments.store.row_checks import is_int, is_list

_PATH = "openings.balance"


def game_with_settings(game: Game, settings: Mapping[str, Any], *, where: str = "") -> Game:
    """Return the game with other parameters.

    Args:
      where: path of the settings in the config, for messages.

    Raises:
      MiaiError: the game lacks such parameters, or they contradict each other.
    """
    if not settings:
        return game
    values = {**game.parameters.model_dump(mode="json", exclude_unset=True), **settings}
    built: Game = registry().get(GAME, game.info.name).build(values=values, where=where)
    if built.num_players() != game.num_players():
        raise ParameterError(
            f"{where + ': ' if where else ''}makes {game.info.title} a game of "
            f"{built.num_players()} players, and the tournament's has {game.num_players()}"
        )
    return built


def with_settings(openings: Openings, settings: Mapping[str, Any], *, where: str = "") -> Openings:
    """Return openings for the game with settings. Raises as `game_with_settings`."""
    return replace(openings, game=game_with_settings(openings.game, settings, where=where))


def check_settings(openings: Openings, settings: Mapping[str, Any], *, where: str) -> None:
    """Raise `MiaiError` unless the game with settings exists and the openings are legal in it."""
    other = with_settings(openings, settings, where=where)
    for line in other.lines:
        for name in settings.keys() & line.settings.keys():
            raise ParameterError(f"{where}.{name}: is also set by the openings; leave it out")
        player_plies(game_with_settings(other.game, line.settings, where=where), line.actions)
    if other.random_plies:
        replace(other, balance=None).opening(1, 0)


@dataclass(frozen=True, slots=True)
class Openings:
    """The source of openings.

    Attributes:
      game: the game.
      random_plies: number of random moves; 0 for none.
      lines: openings from a file, in the order of use; empty for none.
      balance: condition on their values; None for no condition.
      kept: numbers of the balanced lines, from 0; None before `judged`, or for all.
      values: values of the balanced lines; empty if they were not valued.
    """

    game: Game
    random_plies: int = 0
    lines: tuple[Opening, ...] = ()
    balance: Balance | None = None
    kept: tuple[int, ...] | None = None
    values: tuple[float, ...] = ()

    def opening(self, round_number: int, seed: int) -> Opening:
        """Return the opening of a pair of games.

        Args:
          round_number: from 1; all pairings of a round use the same line of a file (a listed
            pairing with a weight uses the next line each time), starting again after the last.
          seed: seed of the pair.

        Raises:
          ConfigError: no drawn opening is balanced.
        """
        if self.lines:
            numbers = range(len(self.lines)) if self.kept is None else self.kept
            return self.lines[numbers[(round_number - 1) % len(numbers)]]
        return self.drawn(derive_seed(seed, "opening"))[0] if self.random_plies else Opening()

    def used_lines(self) -> list[Opening]:
        """Return the lines of the file that are used."""
        return list(self.lines) if self.kept is None else [self.lines[n] for n in self.kept]

    def drawn(self, seed: int) -> tuple[Opening, float | None]:
        """Return a random opening, and its value if it must be balanced.

        Raises:
          ConfigError: no drawn opening is balanced.
        """
        if self.balance is None:
            return self._random(seed), None
        nearest = math.inf
        for number in range(self.balance.tries):
            # The first try has the seed of openings that need no balance: where it is balanced, the
            # game is the same with and without the condition.
            opening = self._random(derive_seed(seed, "try", number) if number else seed)
            value = self.balance.value(self.game, opening.actions, seed=seed)
            if self.balance.holds(value):
                return opening, value
            nearest = min(nearest, value, key=abs)
        openings = f"{self.balance.tries} openings of {self.random_plies} random plies"
        advice = "Raise within or tries, or change random_plies"
        raise self.balance.none_within(openings, nearest, advice)

    def judged(self, seed: int) -> Openings:
        """Return the openings restricted to the balanced lines of the file.

        Args:
          seed: seed of the run.

        Raises:
          ConfigError: no line is balanced.
        """
        if self.balance is None or not self.lines or self.kept is not None:
            return self
        values = [
            self.balance.value(
                game_with_settings(self.game, line.settings), line.actions, seed=seed
            )
            for line in self.lines
        ]
        # The values are decided once, and stored: an evaluator that changes must not change the
        # openings of a run that has begun.
        kept = tuple(n for n, value in enumerate(values) if self.balance.holds(value))
        if not kept:
            raise self.balance.none_within(
                f"{len(values)} openings", min(values, key=abs), "Raise within, or use another file"
            )
        return replace(self, kept=kept, values=tuple(values[n] for n in kept))

    def to_plain(self) -> dict[str, Any]:
        """Return everything that openings depend on, as plain data without empty parts."""
        plain: dict[str, Any] = {
            "random_plies": self.random_plies,
            "lines": [list(line.actions) for line in self.lines],
        }
        if any(line.settings for line in self.lines):
            plain["settings"] = [dict(line.settings) for line in self.lines]
        if any(line.name for line in self.lines):
            plain["names"] = [line.name for line in self.lines]
        if self.balance is not None:
            plain["balance"] = self.balance.to_plain()
        return plain

    def judgement(self) -> dict[str, Any]:
        """Return the balanced lines and their values as plain data; empty if not valued."""
        if self.kept is None:
            return {}
        return {"kept": list(self.kept), "values": [round(value, 6) for value in self.values]}

    def _random(self, seed: int) -> Opening:
        return Opening(tuple(random_opening(self.game, plies=self.random_plies, seed=seed)))


def plain_lines(plain: Mapping[str, Any]) -> tuple[Opening, ...] | None:
    """Return the lines of `Openings.to_plain`; None if they are malformed."""
    lines = plain.get("lines")
    if not is_list(lines, lambda line: is_list(line, is_int)):
        return None
    settings = plain.get("settings", [{}] * len(lines))
    names = plain.get("names", [""] * len(lines))
    valid = is_list(settings, lambda item: isinstance(item, dict)) and is_list(
        names, lambda item: isinstance(item, str)
    )
    if not valid or not len(lines) == len(settings) == len(names):
        return None
    return tuple(map(Opening, map(tuple, lines), settings, names))


def random_openings(plies: int, game: Game, move_limit: int | None) -> Openings:
    """Return openings of random moves.

    Args:
      plies: number of moves; 0 for none.
      move_limit: plies after which a game is stopped, including the opening.

    Raises:
      ConfigError: they would leave nothing to play.
    """
    name, longest = game.info.name, game.max_game_length()
    if plies >= longest:
        raise ConfigError(
            f"{plies} random moves leave nothing to play: {name} lasts at most {longest} plies; "
            "use fewer"
        )
    if move_limit is not None and plies >= move_limit:
        raise ConfigError(
            f"{plies} random moves leave nothing to play: tournament.move_limit stops games after "
            f"{move_limit} plies; use fewer, or raise it"
        )
    if plies and player_plies(game, random_opening(game, plies=plies, seed=0)) < plies:
        raise ConfigError(f"{plies} random moves end {name} before anybody plays; use fewer")
    return Openings(game, plies)


def file_openings(
    path: Path, reader: OpeningReader, game: Game, move_limit: int | None
) -> Openings:
    """Return the openings of a file.

    Args:
      move_limit: plies after which a game is stopped, including the opening.

    Raises:
      MiaiError: the reader refuses the file, or an opening leaves nothing to play.
    """
    lines = tuple(reader.read(path))
    if not lines or not all(line.actions or line.settings for line in lines):
        raise ConfigError(f"{path}: contains an opening without moves; remove it")
    for line in lines:
        other = game_with_settings(game, line.settings, where=str(path))
        plies = player_plies(other, line.actions)
        if move_limit is not None and plies >= move_limit:
            raise ConfigError(
                f"{path}: contains an opening of {plies} plies, but tournament.move_limit stops "
                f"games after {move_limit}; raise it, or shorten the opening"
            )
    return Openings(game, lines=lines)


def in_order(openings: Openings, section: OpeningsSection, seed: int) -> Openings:
    """Return a file's openings in the order of use.

    Args:
      seed: seed of the run, for a random order.

    Raises:
      ConfigError: `section.start` is out of range.
    """
    lines = list(openings.lines)
    if section.order == "random":
        random.Random(derive_seed(seed, "order of openings")).shuffle(lines)
    if section.start > len(lines):
        raise ConfigError(f"is {section.start}, but the file contains {len(lines)} openings")
    first = section.start - 1
    return replace(openings, lines=(*lines[first:], *lines[:first]))


def opening_reader(section: OpeningsSection, game: Game) -> OpeningReader:
    """Return the reader of the openings' file.

    Raises:
      MiaiError: the game has no such reader, or its parameters are wrong.
    """
    find, name = registry().get, section.reader
    suffix = Path(section.file or "").suffix.removeprefix(".").lower()
    try:
        component = find("opening-reader", name or suffix, game=game.info.name)
    except UnknownComponentError:
        # A file with the suffix of another game's reader is not a list of moves.
        if name is not None or suffix in {c.name for c in registry().components("opening-reader")}:
            raise
        component = find("opening-reader", "moves")
    reader: OpeningReader = component.build(game, values=section.parameters, where="openings")
    return reader


# -- balanced openings ----------------------------------------------------------------------------


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
