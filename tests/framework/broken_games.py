"""Games with one defect each, and the rule that each of them breaks.

Every one is a small subclass of a good game. The conformance kit must name the right rule.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from miai import EnumeratedBelief, Game, Json, Observation, State
from miai.errors import ConformanceError
from miai.information import Worlds
from miai_classics.kuhn_poker import KuhnPoker, KuhnPokerState
from miai_classics.matrix_games import MatrixState, PrisonersDilemma, RepeatedGameParameters
from miai_classics.phantom_tic_tac_toe import PhantomTicTacToe, PhantomTicTacToeState
from miai_classics.pig import Pig, PigState
from miai_classics.tic_tac_toe import TicTacToe, TicTacToeState, cell_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Broken:
    """A broken game, the rule that it breaks and what to hand to the check beside it."""

    make: Callable[[], Game]
    rule: str
    options: Mapping[str, Any] = field(default_factory=dict)


BROKEN: dict[str, Broken] = {}


def in_states(base: type[Game], states: Callable[[Any], State], **more: Any) -> type[Any]:
    """Return a game like another, but with other states, and with other attributes."""
    return type(f"{base.__name__}InStates", (base,), {"new_initial_state": states, **more})


def finding(error: ConformanceError, rule: str) -> str:
    """Return what an error says of a rule, without places in memory and in files."""
    messages = [f"{v.message}\n{list(v.actions)}\n" for v in error.violations if v.rule == rule]
    return re.sub(r"0x\w+|\(\w+\.py:\d+\)", "", "".join(messages))


def broken(
    rule: str, *bases: type[Game], games: int = 3, **info: Any
) -> Callable[[type[State]], type[State]]:
    """Enter a state class as the states of a game that breaks `rule`."""
    (base,) = bases or (TicTacToe,)

    def enter(state: type[State]) -> type[State]:
        more = {"info": replace(base.info, **info)} if info else {}
        make = in_states(base, lambda game: state(game), **more)
        BROKEN[state.__name__] = Broken(make, rule, {"games": games})
        return state

    return enter


# -- copies and texts of states ---------------------------------------------------------------


@broken("clone")
class ClonesShareTheirMarks(TicTacToeState):
    def _copy_to(self, other: Self) -> None:
        other._marks = self._marks


@broken("clone", PhantomTicTacToe)
class ClonesForgetRefusals(PhantomTicTacToeState):
    def _copy_to(self, other: Self) -> None:
        super()._copy_to(other)
        other._bumps = [0, 0]


@broken("child")
class ChildrenAreTheirParents(TicTacToeState):
    def child(self, action: int) -> Self:
        self.apply_action(action)
        return self


@broken("serialise", PhantomTicTacToe)
class SerialisesWithoutRefusals(PhantomTicTacToeState):
    def serialize(self) -> str:
        seen: set[int] = set()
        stood = [a for a in self._history if not (a in seen or seen.add(a))]  # type: ignore[func-returns-value]  # add returns None
        return json.dumps(stood)


@broken("key", PhantomTicTacToe)
class KeysForgetRefusals(PhantomTicTacToeState):
    def key(self) -> int:
        return self._marks[0] | self._marks[1] << 9 | self._to_move << 18


# -- actions ----------------------------------------------------------------------------------


@broken("illegal-action")
class AcceptsTakenCells(TicTacToeState):
    def apply_action(self, action: int) -> None:
        self.apply_unchecked(action)


@broken("illegal-action")
class MovesBeforeItRefuses(TicTacToeState):
    def apply_action(self, action: int) -> None:
        legal = self.is_legal(action)
        if 0 <= action < 9:
            self._marks[1] |= 1 << action
        if not legal:
            self._refuse(action, self.current_player())
        self._marks[1] &= ~(1 << action)
        self.apply_unchecked(action)


@broken("illegal-action")
class RefusesWithAnAssertion(TicTacToeState):
    def _refuse(self, action: int, actor: int) -> None:
        raise AssertionError(action)


@broken("legal-actions")
class ListsActionsDownwards(TicTacToeState):
    def legal_actions(self) -> list[int]:
        return super().legal_actions()[::-1]


@broken("legal-actions")
class GoesOnAfterTheEnd(TicTacToeState):
    def legal_actions(self) -> list[int]:
        return [cell for cell in range(9) if not (self._marks[0] | self._marks[1]) >> cell & 1]


@broken("legal-actions")
class HoldsTheCentreForLegal(TicTacToeState):
    def is_legal(self, action: int) -> bool:
        return action == 4 or super().is_legal(action)


@broken("legal-actions", num_distinct_actions=8)
class HasMoreActionsThanItSays(TicTacToeState):
    pass


@broken("legal-actions")
class OpensOnTakenCells(TicTacToeState):
    def opening_actions(self) -> list[int]:
        return list(range(9))


@broken("legal-actions")
class OpensNowhere(TicTacToeState):
    def opening_actions(self) -> list[int]:
        return []


@broken("action-text")
class NamesColumnsOnly(TicTacToeState):
    def action_to_string(self, action: int) -> str:
        return cell_name(action)[0]


@broken("action-text")
class ReadsAnythingAsTheFirstCell(TicTacToeState):
    def string_to_action(self, text: str) -> int:
        named = [a for a in self.legal_actions() if cell_name(a) == text]
        return named[0] if named else 0


@broken("action-text", PhantomTicTacToe)
class NamesCellsByTheMover(PhantomTicTacToeState):
    def action_to_string(self, action: int) -> str:
        return f"{'xo'[self._to_move]}({cell_name(action)})"


@broken("deterministic")
class PutsMarksAnywhere(TicTacToeState):
    def _apply(self, action: int) -> None:
        super()._apply(random.SystemRandom().choice(self.legal_actions()))


@broken("raises")
class CannotShowFullBoards(TicTacToeState):
    def __str__(self) -> str:
        return super().__str__() if self.move_number() < 4 else [""][self.move_number()]


# -- length, value and chance -----------------------------------------------------------------


@broken("game-length", max_game_length=6)
class LastsLongerThanItSays(TicTacToeState):
    pass


@broken("legal-actions", KuhnPoker, max_chance_outcomes=0)
class ForgetsThatItHasChance(KuhnPokerState):
    pass


@broken("returns", games=8)
class PaysBothForADraw(TicTacToeState):
    def returns(self) -> tuple[float, ...]:
        draw = self.is_terminal() and super().returns() == (0.0, 0.0)
        return (0.5, 0.5) if draw else super().returns()


@broken("returns")
class PaysBeforeTheEnd(TicTacToeState):
    def returns(self) -> tuple[float, ...]:
        lead = self._marks[0].bit_count() - self._marks[1].bit_count()
        return super().returns() if self.is_terminal() else (float(lead), float(-lead))


@broken("returns", KuhnPoker, max_utility=1.0, min_utility=-1.0)
class PaysMoreThanItSays(KuhnPokerState):
    pass


@broken("returns")
class PaysOnePlayerOnly(TicTacToeState):
    def returns(self) -> tuple[float, ...]:
        return super().returns()[:1]


Outcomes: TypeAlias = list[tuple[int, float]]


def game_dealt_by(deal: Callable[[Outcomes], Outcomes]) -> Game:
    """Return Kuhn poker with other probabilities of the cards that are left."""

    class Dealer(KuhnPokerState):
        def legal_actions(self) -> list[int]:
            return [card for card, _ in super().chance_outcomes()] or super().legal_actions()

        def chance_outcomes(self) -> Outcomes:
            return deal(right) if (right := super().chance_outcomes()) else []

    game: Game = in_states(KuhnPoker, lambda game: Dealer(game))()
    return game


MOODS = itertools.cycle([0.2, 0.3, 0.4, 0.5])
WRONG_CHANCES: dict[str, Callable[[Outcomes], Outcomes]] = {
    "DealsWithoutProbabilities": lambda cards: [],
    "DealsWithMissingProbability": lambda cards: [(card, 0.3) for card, _ in cards],
    "DealsWhatIsImpossible": lambda cards: [(c, float(c == cards[0][0])) for c, _ in cards],
    "DealsWithNegativeProbability": lambda cards: [(2, 1.5), *((c, -0.25) for c, _ in cards[1:])],
    "LeavesACardOut": lambda cards: [(card, 1 / (len(cards) - 1)) for card, _ in cards[1:]],
    "DealsACardThatIsNotThere": lambda cards: [(card, 1 / 3) for card in (2, 3, 4)],
    "DealsACardTwice": lambda cards: [(card, p / 2) for card, p in cards for _ in range(2)],
    "ChangesItsMind": lambda cards: [(card, next(MOODS)) for card, _ in cards],
}
for name, deal in WRONG_CHANCES.items():
    rule = "deterministic" if name == "ChangesItsMind" else "chance"
    BROKEN[name] = Broken(partial(game_dealt_by, deal), rule)


@broken("key", Pig)
class LoadsTheDie(PigState):
    """Its faces are equally probable in every other position, whatever the key."""

    def chance_outcomes(self) -> Outcomes:
        faces, load = super().chance_outcomes(), 0.01 * (self.move_number() % 4 // 2)
        return [(face, p + load * (n - 2.5)) for n, (face, p) in enumerate(faces)]


@broken("info", player_names=("x",))
class NamesOnePlayerOnly(TicTacToeState):
    pass


# -- what players are told --------------------------------------------------------------------


@broken("perfect-information")
class HidesTheCorners(TicTacToeState):
    def observation(self, player: int) -> Observation | None:
        output = super().observation(player)
        assert output is not None
        hidden = output.actor != player and output.action in (0, 2, 6, 8)
        return replace(output, action=None) if hidden else output


@broken("observation-plain", PhantomTicTacToe)
class TellsTheStateItself(PhantomTicTacToeState):
    def observation(self, player: int) -> Observation | None:
        output = super().observation(player)
        return output and replace(output, data={"state": self})  # type: ignore[dict-item]  # the defect


@broken("observation-plain", PhantomTicTacToe)
class TellsItsOwnList(PhantomTicTacToeState):
    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._numbers = [1]

    def _copy_to(self, other: Self) -> None:
        super()._copy_to(other)
        other._numbers = self._numbers.copy()

    def observation(self, player: int) -> Observation | None:
        output = super().observation(player)
        return output and replace(output, data=self._numbers)


@broken("observation", PhantomTicTacToe)
class KeepsSilentAboutTheTurn(PhantomTicTacToeState):
    def observation(self, player: int) -> Observation | None:
        output = super().observation(player)
        return output if output is None or output.actor == player else None


@broken("observation", PhantomTicTacToe)
class HidesOwnActions(PhantomTicTacToeState):
    def observation(self, player: int) -> Observation | None:
        output = super().observation(player)
        return output and replace(output, action=None)


@broken("observation-leak", PhantomTicTacToe)
class TellsTheHiddenMove(PhantomTicTacToeState):
    def observation(self, player: int) -> Observation | None:
        output = super().observation(player)
        return output and replace(output, action=self._history[-1] if self._history else None)


@broken("observation-leak", PhantomTicTacToe)
class ForgetsRefusalsInTheString(PhantomTicTacToeState):
    def information_state_string(self, player: int) -> str:
        return " ".join(word for word in self._views[player].split() if not word.endswith("?"))


@broken("information-string-leak", PhantomTicTacToe)
class WritesTheHiddenMove(PhantomTicTacToeState):
    def information_state_string(self, player: int) -> str:
        return f"{self._views[player]} {self._marks[1 - player] & 1}"


@broken("legal-actions-leak", PhantomTicTacToe)
class ListsEmptyCellsOnly(PhantomTicTacToeState):
    def legal_actions(self) -> list[int]:
        taken = self._marks[0] | self._marks[1]
        return [cell for cell in super().legal_actions() if not taken >> cell & 1]


@broken("legal-actions-leak", PhantomTicTacToe)
class BarsACellBesideHiddenMarks(PhantomTicTacToeState):
    """a2 may be named unless the opponent holds a1 and a3: seldom met in play, never told."""

    def legal_actions(self) -> list[int]:
        actions, hidden = super().legal_actions(), self._marks[1 - self._to_move]
        barred = hidden & 0b1000001 == 0b1000001 and len(actions) > 1
        return [cell for cell in actions if not (barred and cell == 3)]


class BarringState(BarsACellBesideHiddenMarks):
    """The same, but its information states have what the list of actions tells: none is broken."""

    def _apply(self, action: int) -> None:
        super()._apply(action)
        known = self._marks[self._to_move] | self._bumps[self._to_move]
        if not self.is_terminal() and 3 not in self.legal_actions() and not known >> 3 & 1:
            self._views[self._to_move] += " (not a2)"


TellsWhatIsBarred = in_states(PhantomTicTacToe, lambda game: BarringState(game))
"""A good game in which a cell may be barred."""


@broken("public-part", KuhnPoker)
class PublishesTheCards(KuhnPokerState):
    def public_part(self) -> Json:
        return self.key()

    private_part = KuhnPokerState.information_state_string


@broken("private-part", KuhnPoker)
class LosesTheCards(KuhnPokerState):
    def public_part(self) -> Json:
        return self._bets or None

    def private_part(self, player: int) -> Json:
        return None


@broken("tensor-leak", PhantomTicTacToe)
class ShowsRefusalsInTheTensor(PhantomTicTacToeState):
    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        tensor = super().observation_tensor(player)
        tensor[0, 0, 0] += self._bumps[1 - player].bit_count()
        return tensor


@broken("tensor")
class MakesTensorsOfDoubles(TicTacToeState):
    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        return super().observation_tensor(player).astype("float64")


@broken("tensor")
class MakesFlatTensors(TicTacToeState):
    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        return super().observation_tensor(player).ravel()


# -- rewards, and players who act at once ------------------------------------------------------


def broken_rounds(rule: str, **info: Any) -> Callable[[type[State]], type[State]]:
    """Enter a state class as the states of a game in rounds that breaks `rule`."""

    class Rounds(PrisonersDilemma):
        def __init__(self) -> None:
            super().__init__(RepeatedGameParameters(rounds=2))
            self.info = replace(self.info, **info)

    return broken(rule, Rounds)


@broken_rounds("rewards")
class RewardsTheSumEachTime(MatrixState):
    def rewards(self) -> tuple[float, ...]:
        return self.returns() if not self._pending else (0.0, 0.0)


@broken_rounds("rewards")
class RewardsBeforeAllHaveActed(MatrixState):
    def rewards(self) -> tuple[float, ...]:
        return (1.0, 0.0) if self._pending else super().rewards()


@broken("rewards")
class RewardsNobody(TicTacToeState):
    def rewards(self) -> tuple[float, ...]:
        return (0.0, 0.0)


@broken_rounds("returns", intermediate_rewards=False)
class DoesNotDeclareRewards(MatrixState):
    pass


@broken_rounds("returns", teams=(0, 0))
class PaysPartnersDifferently(MatrixState):
    pass


@broken_rounds("info", teams=(0, 0, 1))
class HasATeamTooMany(MatrixState):
    pass


@broken_rounds("simultaneous", simultaneous=False)
class DoesNotDeclareThatPlayersActAtOnce(MatrixState):
    pass


@broken_rounds("simultaneous")
class ListsTheOthersActions(MatrixState):
    def legal_actions(self) -> list[int]:
        return super().legal_actions()[:1]


@broken_rounds("simultaneous")
class TakesActionsTheWrongWayRound(MatrixState):
    def apply_actions(self, actions: Mapping[int, int]) -> None:
        super().apply_actions({player: actions[1 - player] for player in actions})


@broken_rounds("simultaneous")
class NamesNobodyWhoActs(MatrixState):
    def acting_players(self) -> tuple[int, ...]:
        return super().acting_players()[::-1]


@broken_rounds("observation")
class TellsTheFirstChoice(MatrixState):
    def observation(self, player: int) -> Observation | None:
        if not self._pending:
            return super().observation(player)
        return Observation(player, 0, self._pending[0], None, self._legal_for(player))


@broken_rounds("observation")
class SwapsTheChoices(MatrixState):
    def _observation(self, player: int) -> Observation | None:
        output = super()._observation(player)
        return output and replace(output, actions=output.actions[::-1])


@broken_rounds("key")
class ForgetsWhoHasChosenInTheKey(MatrixState):
    def key(self) -> Any:
        return self._key()


# -- games and beliefs ------------------------------------------------------------------------


class RemembersItsStates(PhantomTicTacToe):
    """A game through which everybody reaches every state."""

    def __init__(self) -> None:
        super().__init__()
        self.states: list[State] = []

    def new_initial_state(self) -> PhantomTicTacToeState:
        state = super().new_initial_state()
        self.states.append(state)
        return state


class Spy(PhantomTicTacToe):
    """A good game, but for a place where cheats find the state that the referee holds."""

    truth: State | None = None

    def new_initial_state(self) -> PhantomTicTacToeState:
        return SpiedState(self)


class SpiedState(PhantomTicTacToeState):
    """Leaves itself in `Spy.truth` when it is serialised, which worlds are not."""

    def serialize(self) -> str:
        Spy.truth = self
        return super().serialize()


def alike(worlds: list[State]) -> Worlds:
    return {world.key(): (world, 1.0) for world in worlds}


class LosesWorlds(EnumeratedBelief):
    """A belief that keeps the worlds with a mark of the opponent in the first cell only."""

    def observe(self, observation: Observation) -> None:
        super().observe(observation)
        kept = [w for w in self if str(w).startswith(("x", "o")) or w.move_number() < 2]
        self._hold(alike(kept or list(self)[:1]))


class KeepsImpossibleWorlds(EnumeratedBelief):
    """A belief that keeps the empty board for ever."""

    def observe(self, observation: Observation) -> None:
        super().observe(observation)
        self._hold(alike([*self, self.game.new_initial_state()]))


class WeighsWorldsTwice(EnumeratedBelief):
    """A belief whose weights sum to two."""

    def observe(self, observation: Observation) -> None:
        super().observe(observation)
        self.weights = [2 * weight for weight in self.weights]


class SamplesTheTruth(EnumeratedBelief):
    """A belief that holds the right worlds, and always draws the true one."""

    def sample(self, rng: random.Random) -> State:
        assert Spy.truth is not None
        return Spy.truth.clone()


class HandsOutTheTruth(EnumeratedBelief):
    """A belief that draws the true state itself, not a copy."""

    def sample(self, rng: random.Random) -> State:
        assert Spy.truth is not None
        return Spy.truth


class DrawsFromAnywhere(EnumeratedBelief):
    """A belief that holds the right worlds, and draws from others."""

    def sample(self, rng: random.Random) -> State:
        return self.game.new_initial_state()


BROKEN |= {
    "RemembersItsStates": Broken(RemembersItsStates, "state-reachable"),
    "HandsOutTheTruth": Broken(Spy, "resampling-leak", {"belief": HandsOutTheTruth}),
    "SamplesTheTruth": Broken(Spy, "resampling-leak", {"belief": SamplesTheTruth}),
    "DrawsFromAnywhere": Broken(PhantomTicTacToe, "resampling", {"belief": DrawsFromAnywhere}),
    "WeighsWorldsTwice": Broken(PhantomTicTacToe, "belief", {"belief": WeighsWorldsTwice}),
    "LosesWorlds": Broken(PhantomTicTacToe, "belief", {"belief": LosesWorlds}),
    "KeepsImpossibleWorlds": Broken(PhantomTicTacToe, "belief", {"belief": KeepsImpossibleWorlds}),
}
