"""Views, beliefs against brute force, and what all players learn alike."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, TypeVar

import pytest
from tests.framework.broken_games import in_states
from tests.framework.histories import TTT, seen_by, state_after, view_of
from tests.slow import with_slow

import miai
from miai import EnumeratedBelief, Game, Observation, Player, PlayerView, State
from miai.clock import ClockReading, TimeControl
from miai.errors import BeliefTooLargeError, EmptyBeliefError, HiddenInformationError
from miai.game import sample_chance
from miai.information import Policy, SampledBelief, world_weights
from miai.plugins.loader import registry
from miai.public import private_part, public_part, public_state
from miai_classics.phantom_tic_tac_toe import PhantomTicTacToe, PhantomTicTacToeState

KUHN = miai.load_game("kuhn_poker")
PHANTOM = miai.load_game("phantom_tic_tac_toe")
BeliefT = TypeVar("BeliefT", bound=EnumeratedBelief)


def followed(belief: BeliefT, observations: list[Observation]) -> BeliefT:
    for observation in observations:
        belief.observe(observation)
    return belief


# -- views ------------------------------------------------------------------------------------


def test_a_view_of_perfect_information_follows_the_state() -> None:
    state = TTT.new_initial_state()
    for action in (4, 0, 8):
        state.apply_action(action)
        view = view_of(TTT, 1, state.history())
        assert view.state.key() == state.key()
        assert view.state is not state
    assert view.legal_actions == (1, 2, 3, 5, 6, 7)


def test_a_view_of_hidden_information_has_no_state() -> None:
    with pytest.raises(HiddenInformationError, match="use a belief"):
        _ = PlayerView(PHANTOM, 0).state
    with pytest.raises(HiddenInformationError, match="follows from observations"):
        PlayerView.at(PHANTOM.new_initial_state(), 0)


def test_a_view_at_a_state_has_its_legal_actions_and_a_copy() -> None:
    state = state_after(TTT, 0)
    view = PlayerView.at(state, 1)
    view.state.apply_action(1)
    assert view.legal_actions == tuple(range(1, 9))
    assert state.history() == [0]


# -- beliefs ----------------------------------------------------------------------------------


def test_invalid_explanations_are_refused_and_change_nothing() -> None:
    belief = EnumeratedBelief(PHANTOM, 1)
    with pytest.raises(EmptyBeliefError, match="observed nothing"):
        belief.sample(random.Random(0))
    false = Observation(1, actor=0, action=4, legal_actions=(0,))
    with pytest.raises(EmptyBeliefError, match="no world explains"):
        belief.observe(false)
    followed(belief, seen_by(PHANTOM, 1, [4]))
    before = {world.key() for world in belief}
    assert len(before) == 9
    with pytest.raises(EmptyBeliefError, match="a belief needs all observations, in order"):
        belief.observe(false)
    assert {world.key() for world in belief} == before


def test_too_many_worlds_are_refused_and_change_nothing() -> None:
    component = registry().get("belief", "enumerated", game="phantom_tic_tac_toe")
    belief = component.build(PHANTOM, 1, values={"limit": 8})
    start, turn = seen_by(PHANTOM, 1, [4])
    belief.observe(start)
    with pytest.raises(BeliefTooLargeError, match="more than 8 worlds"):
        belief.observe(turn)
    assert len(belief) == 1


class PhantomWithTuplesState(PhantomTicTacToeState):
    def observation(self, player: int) -> Observation | None:
        observation = super().observation(player)
        return observation and replace(observation, data={"turns": (1, (2,))})


def test_observations_that_crossed_a_process_are_understood() -> None:
    """JSON has lists only, whatever the game told."""
    game = in_states(PhantomTicTacToe, lambda game: PhantomWithTuplesState(game))()
    belief = EnumeratedBelief(game, 0)
    for observation in seen_by(game, 0, [4, 4, 0]):
        crossed = replace(observation, data=json.loads(json.dumps(observation.data)))
        assert crossed != observation
        belief.observe(crossed)
    assert len(belief) == 16  # o in one of eight cells, having bumped into x or not


# -- probabilities -------------------------------------------------------------------------------


class Hidden(Game):
    """Chance moves from place to place by a table of (probability, next place, what is seen).

    A place without a row is one whose last digit is guessed by player 0.
    """

    info = replace(KUHN.info, num_players=1, player_names=("guesser",), utility_sum=None)

    def __init__(self, **table: Sequence[tuple[float, str, str]]) -> None:
        super().__init__()
        self.table = table

    def new_initial_state(self) -> HiddenState:
        return HiddenState(self)


class HiddenState(State):
    game: Hidden
    place, seen, gain = "start", "", 0.0

    def current_player(self) -> int:
        return Player.TERMINAL if self.gain else -1 if self.place in self.game.table else 0

    def legal_actions(self) -> list[int]:
        guesses = [] if self.gain else [0, 1]
        return [action for action, _ in self.chance_outcomes()] or guesses

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(n, p) for n, (p, _, _) in enumerate(self.game.table.get(self.place, ()))]

    def _apply(self, action: int) -> None:
        if self.is_chance_node():
            _, self.place, self.seen = self.game.table[self.place][action]
        else:
            self.gain = 1.0 if self.place[-1] == str(action) else -1.0

    def observation(self, player: int) -> Observation | None:
        if self.is_chance_node() and not self.seen:
            return None
        guess = self.history()[-1] if self.gain else None
        return Observation(player, None, guess, self.seen, self._legal_for(player))

    def returns(self) -> tuple[float, ...]:
        return (self.gain,)

    def _copy_to(self, other: Self) -> None:
        other.place, other.seen, other.gain = self.place, self.seen, self.gain

    def key(self) -> Hashable:
        return self.place if not self.gain else (self.place, self.gain)

    def __str__(self) -> str:
        return self.place


def posterior(game: Game, player: int, observations: Sequence[Observation]) -> dict[Any, float]:
    """Return the probability of each world, from all histories one by one.

    Chance acts by its probabilities, the others at random, and the player as it observed.
    """
    sums: dict[Any, float] = defaultdict(float)

    def walk(state: State, count: int, probability: float) -> None:
        if count == len(observations):
            sums[state.key()] += probability
            return
        actions = state.legal_actions()
        share = 1.0 if state.next_actor() == player else 1 / max(1, len(actions))
        for action, p in state.chance_outcomes() or [(action, share) for action in actions]:
            child = state.child(action)
            seen = child.observation(player)
            if seen is None or seen == observations[count]:
                walk(child, count + (seen is not None), probability * p)

    start = game.new_initial_state()
    walk(start, int(start.observation(player) is not None), 1.0)
    return {key: weight / sum(sums.values()) for key, weight in sums.items()}


def told(game: Game, player: int, count: int, seed: int) -> list[Observation]:
    """Return a player's first observations in a random game."""
    state, rng = game.new_initial_state(), random.Random(seed)
    while not state.is_terminal():
        random_action = rng.choice(state.legal_actions())
        state.apply_action(sample_chance(state, rng) if state.is_chance_node() else random_action)
    return seen_by(game, player, state.history())[:count]


def weights_by_key(belief: Any) -> dict[Hashable, float]:
    keys = [world.key() for world in belief]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, world_weights(belief), strict=True))


def agrees(counts: Counter[Hashable], expected: Mapping[Hashable, float]) -> bool:
    """Chi-square, at p = 0.001 by Wilson and Hilferty; rare worlds are counted together."""
    cells: dict[Hashable, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for key, share in expected.items():
        cell = cells[key if share * counts.total() >= 5 else "rare"]
        cell[0], cell[1] = cell[0] + counts[key], cell[1] + share * counts.total()
    free = max(1, len(cells) - 1)
    limit = free * (1 - 2 / (9 * free) + 3.09 * (2 / (9 * free)) ** 0.5) ** 3
    return bool(sum((seen - due) ** 2 / due for seen, due in cells.values()) <= limit)


COINS = {
    "start": [(0.9, "a", "go"), (0.1, "b", "go")],
    "a": [(0.1, "a 0", "tick"), (0.2, "a 0", "tick"), (0.4, "a 0", "tock"), (0.3, "a 1", "tick")],
    "b": [(0.2, f"b {n}", "tick") for n in range(5)],
}
GAMES: dict[str, tuple[int, int, dict[str, Any] | None]] = {
    "hidden": (2, 0, COINS),
    "goofspiel": (5, 1, {"num_cards": 4, "imp_info": True, "points_order": "random"}),
    "kuhn_poker": (5, 1, {}),
    "mini_rbc": (4, 0, {}),
    "phantom_tic_tac_toe": (4, 0, {}),
    "dark_hex(board_size=2)": (5, 1, None),
    "first_sealed_auction()": (4, 0, None),
    "hanabi(players=2,colors=2,ranks=3,hand_size=2)": (4, 0, None),
    "kuhn_poker(players=3)": (4, 0, None),
    "leduc_poker()": (5, 1, None),
    "leduc_poker(suit_isomorphism=True)": (5, 0, None),
    "liars_dice()": (4, 0, None),
    "phantom_ttt()": (3, 0, None),
    "tiny_bridge_2p()": (4, 0, None),
}
"""Observations and whose; parameters, or None for a game of OpenSpiel."""


LONG = [name for name in GAMES if name.startswith(("hanabi", "phantom_ttt", "tiny"))]


@pytest.mark.parametrize("name", with_slow(GAMES, *LONG))
def test_worlds_are_as_frequent_as_in_all_histories(name: str) -> None:
    count, player, values = GAMES[name]
    game: Game
    if values is None:
        pytest.importorskip("pyspiel")
        from miai_openspiel.games import OpenSpielGame

        game = OpenSpielGame(name)
    else:
        game = Hidden(**values) if name == "hidden" else miai.load_game(name, **values)
    rng = random.Random(1)
    for seed in (1, 2):
        belief, observations = EnumeratedBelief(game, player), told(game, player, count, seed)
        for number, observation in enumerate(observations):
            belief.observe(observation)
            expected = posterior(game, player, observations[: number + 1])
            assert weights_by_key(belief) == pytest.approx(expected)
    assert agrees(Counter(belief.sample(rng).key() for _ in range(300)), expected)
    drawn: Counter[Hashable] = Counter()
    for seed in range(100):
        limit = max(2, len(expected) * 2 // 3)
        sampled = followed(SampledBelief(game, player, limit=limit, seed=seed), observations)
        assert len(sampled) <= limit
        assert set(weights_by_key(sampled)) <= set(expected)
        drawn[sampled.sample(rng).key()] += 1
    assert agrees(drawn, expected)


def test_a_biased_coin_is_guessed_in_all_seeds() -> None:
    for name, likely in (("ismcts", 0), ("ismcts", 1), ("pimc", 0), ("pimc", 1)):
        game = Hidden(start=[(0.1, f"side {1 - likely}", ""), (0.9, f"side {likely}", "")])
        (turn,) = told(game, 0, 1, seed=1)
        for seed in range(40):
            agent = miai.make_agent(name, game, simulations=60)
            agent.new_game(seed, player=0)
            agent.observe(turn)
            assert agent.act(ClockReading(control=TimeControl())).action == likely, (name, seed)


@pytest.mark.parametrize("kind", [EnumeratedBelief, SampledBelief])
def test_what_nobody_notices_may_go_in_circles(kind: Any) -> None:
    """Three ways to end each time, of 0.3, 0.1 and 0.6 x 0.5; else it begins again."""
    game = Hidden(
        start=[(0.3, "at 0", ""), (0.1, "at 1", ""), (0.6, "again", "")],
        again=[(0.5, "start", ""), (0.5, "late 1", "")],
    )
    belief = followed(kind(game, 0), told(game, 0, 1, seed=1))
    expected = {"at 0": 3 / 7, "at 1": 1 / 7, "late 1": 3 / 7}
    assert weights_by_key(belief) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [EnumeratedBelief, SampledBelief])
def test_improbable_observations_do_not_make_weights_vanish(kind: Any) -> None:
    """300 ticks of probability 0.002 and 0.002 / 1.01: less than the smallest float."""
    rate = {"slow": 0.002 / 1.01, "fast": 0.002}
    table = {x: [(p, x, "tick"), (1 - p, f"{x} 0", "")] for x, p in rate.items()}
    game = Hidden(start=[(0.5, "slow", "go"), (0.5, "fast", "go")], **table)
    ticks = [Observation(0, None, None, text) for text in ["go", *["tick"] * 300]]
    found = weights_by_key(followed(kind(game, 0), ticks))
    assert found["slow"] == pytest.approx(1 / (1 + 1.01**300))


def test_a_policy_of_the_others_weighs_worlds() -> None:
    """In Kuhn poker one bets on the king only: a bet tells it, but for 2 % of random actions."""
    game = miai.load_game("kuhn_poker")
    bets: Policy = lambda state: (0.0, 1.0) if str(state.key())[0] == "K" else (1.0, 0.0)  # noqa: E731
    observations = seen_by(game, 1, [2, 3, 1])
    for kind in (EnumeratedBelief, SampledBelief):
        found = weights_by_key(followed(kind(game, 1, policy=bets), observations))
        assert found == pytest.approx({"JQb": 0.01, "KQb": 0.99})
    component = registry().get("belief", "sampled", game="kuhn_poker")
    belief = component.build(game, 1, values={"policy": "zero"})  # its priors are uniform
    assert weights_by_key(followed(belief, observations)) == pytest.approx({"JQb": 0.5, "KQb": 0.5})


@pytest.mark.parametrize("limit", [20, 60])
def test_a_pruned_belief_is_complete_again_when_all_worlds_fit(limit: int) -> None:
    game, pruned, again = miai.load_game("phantom_tic_tac_toe"), 0, 0
    for seed in range(5):
        player, was_pruned = seed % 2, False
        full, belief = EnumeratedBelief(game, player), SampledBelief(game, player, limit=limit)
        for observation in told(game, player, 99, seed):
            full.observe(observation)
            belief.observe(observation)
            assert belief.complete == (len(full) <= limit)
            if belief.complete:
                assert weights_by_key(belief) == pytest.approx(weights_by_key(full))
            again += was_pruned and belief.complete
            pruned += not belief.complete
            was_pruned |= not belief.complete
    assert min(pruned, again) > 5


def test_in_kuhn_poker_the_bets_are_public_and_the_cards_private() -> None:
    state = state_after("kuhn_poker", 4, 2, 0)  # K and J; the first player passes
    assert list(map(json.loads, public_state(state))) == [{"actor": -1}, {"actor": 0, "action": 0}]
    dealt = state_after("kuhn_poker", 4, 2)
    assert private_part(dealt, 0) == {"data": {"card": "K"}, "legal_actions": [0, 1]}
    assert private_part(dealt, 1) == {"data": {"card": "J"}, "legal_actions": []}


def test_in_phantom_tic_tac_toe_a_refusal_is_not_public() -> None:
    # x takes b2; o names it and is refused, then takes a3; x completes the row with a2 and c2.
    state = state_after("phantom_tic_tac_toe", 4, 4, 0, 3, 8, 5)
    x, o, end = {"actor": 0}, {"actor": 1}, {"actor": 0, "data": {"result": "x wins"}}
    assert list(map(json.loads, public_state(state))) == [x, o, x, o, end]
    refused = state_after("phantom_tic_tac_toe", 4, 4)
    assert (public_part(refused), private_part(refused, 0)) == (None, None)
    legal = [0, 1, 2, 3, 5, 6, 7, 8]
    own = {"actor": 1, "action": 4, "data": {"stood": False}, "legal_actions": legal}
    assert private_part(refused, 1) == own


def histories(state: State) -> Iterator[State]:
    yield state
    for action in state.legal_actions():
        yield from histories(state.child(action))


def test_whoever_cannot_tell_two_states_apart_has_one_public_state() -> None:
    """Brute force: all histories of Kuhn poker, by each player's information state."""
    seen: dict[tuple[int, str], tuple[str, ...]] = {}
    for state in histories(state_after("kuhn_poker")):
        for player in range(2):
            key = player, state.information_state_string(player)
            assert seen.setdefault(key, public_state(state)) == public_state(state)
    assert len(set(seen.values())) == 10  # 9 of betting, and the start
