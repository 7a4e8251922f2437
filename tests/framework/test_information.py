"""Views, and enumerated beliefs against brute force."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.framework.histories import seen_by

import miai
from miai import EnumeratedBelief, Game, Observation, Player, PlayerView, State
from miai.errors import BeliefTooLargeError, EmptyBeliefError, HiddenInformationError
from miai.plugins.loader import registry
from miai_classics.phantom_tic_tac_toe import PhantomTicTacToe, PhantomTicTacToeState

KUHN = miai.load_game("kuhn_poker")
PHANTOM = miai.load_game("phantom_tic_tac_toe")


def histories(game: Game, *, stop: int) -> Iterator[State]:
    """Yield every state of a game that is reached within `stop` actions."""
    frontier = [game.new_initial_state()]
    while frontier:
        state = frontier.pop()
        yield state
        if state.move_number() < stop:
            frontier.extend(state.child(action) for action in state.legal_actions())


def believe(game: Game, player: int, observations: list[Observation]) -> EnumeratedBelief:
    belief = EnumeratedBelief(game, player)
    for observation in observations:
        belief.observe(observation)
    return belief


def random_state(game: Game, rng: random.Random, plies: int) -> State:
    state = game.new_initial_state()
    while not state.is_terminal() and (state.is_chance_node() or state.move_number() < plies):
        state.apply_action(rng.choice(state.legal_actions()))
    return state


# -- views ------------------------------------------------------------------------------------


def test_a_view_of_perfect_information_follows_the_state() -> None:
    game = miai.load_game("tic_tac_toe")
    state = game.new_initial_state()
    view = PlayerView(game, 1)
    for action in (4, 0, 8):
        told_first = state.observation(1)
        assert told_first is not None
        if not view.observations:
            view.observe(told_first)
        state.apply_action(action)
        observation = state.observation(1)
        assert observation is not None
        view.observe(observation)
        assert view.state.key() == state.key()
        assert view.state is not state
    assert view.legal_actions == (1, 2, 3, 5, 6, 7)


def test_a_view_of_hidden_information_has_no_state() -> None:
    with pytest.raises(HiddenInformationError, match="use a belief"):
        _ = PlayerView(PHANTOM, 0).state
    with pytest.raises(HiddenInformationError, match="follows from observations"):
        PlayerView.at(PHANTOM.new_initial_state(), 0)


def test_a_view_at_a_state_has_its_legal_actions_and_a_copy() -> None:
    state = miai.load_game("tic_tac_toe").new_initial_state()
    state.apply_action(0)
    view = PlayerView.at(state, 1)
    view.state.apply_action(1)
    assert view.legal_actions == tuple(range(1, 9))
    assert state.history() == [0]


# -- beliefs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("player", [0, 1])
def test_kuhn_beliefs_are_all_worlds_of_the_information_state(player: int) -> None:
    worlds: dict[str, set[Hashable]] = defaultdict(set)
    tellings: dict[str, list[Observation]] = {}
    for state in histories(KUHN, stop=9):
        text = state.information_state_string(player)
        if text:
            worlds[text].add(state.key())
            tellings[text] = seen_by(KUHN, player, state.history())
    assert len(worlds) == 3 * (1 + 2 + 4 + 2)  # the card, and the betting so far
    for text, keys in worlds.items():
        assert {world.key() for world in believe(KUHN, player, tellings[text])} == keys, text


@pytest.mark.parametrize("player", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_phantom_beliefs_are_all_worlds_of_the_information_state(player: int) -> None:
    """Against every history of up to 5 actions, where nothing longer is in the same state."""
    worlds: dict[tuple[str, ...], set[Hashable]] = defaultdict(set)
    reach: dict[tuple[str, ...], State] = {}
    for state in histories(PHANTOM, stop=5):
        if state.observation(player) is None:
            continue  # a belief is of the moment just after something was told
        words = tuple(state.information_state_string(player).split())
        worlds[words].add(state.key())
        reach[words] = state
    rng = random.Random(player)
    short = [words for words in worlds if _longest(words) <= 5]
    assert len(short) > 50
    for words in rng.sample(short, 40):
        belief = believe(PHANTOM, player, seen_by(PHANTOM, player, reach[words].history()))
        assert {world.key() for world in belief} == worlds[words], words


def _longest(words: tuple[str, ...]) -> int:
    """Return the most actions of any history in an information state of phantom tic-tac-toe.

    The opponent's every placement may have come after bumping into each of the player's marks.
    """
    own = [word for word in words[1:] if word != "."]
    stood = sum(not word.endswith("?") for word in own)
    hidden = words.count(".")
    return len(own) + hidden + (stood if hidden else 0)


@given(seed=st.integers(0, 2**32), plies=st.integers(1, 12), player=st.integers(0, 1))
@settings(max_examples=25, deadline=None)
def test_every_world_has_the_same_observations_and_one_is_true(
    seed: int, plies: int, player: int
) -> None:
    state = random_state(PHANTOM, random.Random(seed), plies)
    while state.observation(player) is None:
        state.apply_action(state.legal_actions()[-1])
    observations = seen_by(PHANTOM, player, state.history())
    belief = believe(PHANTOM, player, observations)
    assert state in belief
    assert len({world.key() for world in belief}) == len(belief)
    for world in list(belief)[::5]:
        assert seen_by(PHANTOM, player, world.history()) == observations
        assert world.information_state_string(player) == state.information_state_string(player)


def test_sampling_is_uniform_and_hands_out_copies() -> None:
    state = KUHN.new_initial_state()
    for action in (2, 4):
        state.apply_action(action)
    belief = believe(KUHN, 0, seen_by(KUHN, 0, state.history()))
    rng = random.Random(1)
    counts = Counter(str(belief.sample(rng).key()) for _ in range(2000))
    assert set(counts) == {"JQ", "JK"}
    assert abs(counts["JQ"] - 1000) < 5 * (2000 / 4) ** 0.5  # five standard deviations
    belief.sample(rng).apply_action(1)
    assert {world.key() for world in belief} == {"JQ", "JK"}


def test_invalid_explanations_are_refused_and_change_nothing() -> None:
    belief = EnumeratedBelief(PHANTOM, 1)
    with pytest.raises(EmptyBeliefError, match="observed nothing yet"):
        belief.sample(random.Random(0))
    false = Observation(1, actor=0, action=4, legal_actions=(0,))
    with pytest.raises(EmptyBeliefError, match="no world explains"):
        belief.observe(false)
    for observation in seen_by(PHANTOM, 1, [4]):
        belief.observe(observation)
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


class PhantomWithTuples(PhantomTicTacToe):
    def new_initial_state(self) -> PhantomTicTacToeState:
        return PhantomWithTuplesState(self)


class PhantomWithTuplesState(PhantomTicTacToeState):
    def observation(self, player: int) -> Observation | None:
        observation = super().observation(player)
        return observation and replace(observation, data={"turns": (1, (2,))})


def test_observations_that_crossed_a_process_are_understood() -> None:
    """JSON has lists only, whatever the game told."""
    game = PhantomWithTuples()
    belief = EnumeratedBelief(game, 0)
    for observation in seen_by(game, 0, [4, 4, 0]):
        crossed = replace(observation, data=json.loads(json.dumps(observation.data)))
        assert crossed != observation
        belief.observe(crossed)
    assert len(belief) == 16  # o in one of eight cells, having bumped into x or not


def test_chance_is_among_the_actors_of_a_belief() -> None:
    (first,) = seen_by(KUHN, 1, [4, 2])
    assert first.actor == Player.CHANCE
    assert {world.key() for world in believe(KUHN, 1, [first])} == {"QJ", "KJ"}
